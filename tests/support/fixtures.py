"""The fixtures of all tests.

    pg            a fresh migrated database of the shared cluster, with the handlers of handlers.sql; queries on it
    database      makes further ones: database(), or database(migrated=False) for an empty one
    cluster       a PostgreSQL of the test's own, to stop, kill and reconfigure; own_pg is a database in it
    inboxd        makes daemons: inboxd(providers={"h": {"on": "sql:t.fail"}}, workers=2, faults="...") on `pg`;
                  inboxd(pg=own_pg), inboxd(database=relay.conninfo(pg)), inboxd(start=False)
    inboxctl      runs inboxctl with a configuration for `pg`: inboxctl("status", "--json")
    relay         a Relay in front of the shared cluster; make_relay(cluster) for another
    build         the preset under test (pytest --build dev|asan|tsan|release)

When a test fails, its daemons' logs are shown and kept.
"""

import itertools

import pytest

from support.cluster import Cluster
from support.daemon import Inboxd, run_ctl, write_config
from support.places import BUILDS, free_port
from support.relay import Relay


def pytest_addoption(parser):
    parser.addoption("--build", default="dev", choices=BUILDS, help="preset under test")


def pytest_collection_modifyitems(config, items):
    """Benchmarks run only when they are asked for with -m bench, and long lists of inputs not under ThreadSanitizer."""
    out = [] if "bench" in (config.option.markexpr or "") else ["bench"]
    out += ["data"] if config.option.build == "tsan" else []
    left = [item for item in items if any(item.get_closest_marker(name) for name in out)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not any(item.get_closest_marker(name) for name in out)]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and call.when == "call":
        for daemon in getattr(item, "inboxd_daemons", []):
            # The secrets of the tests stand in their configurations, of which the daemon warns.
            lines = [line for line in daemon.log_text().splitlines() if "configuration warning" not in line]
            tail = "\n".join(lines[-60:])
            report.sections.append((f"inboxd log, whole in {daemon.log_file}", tail))


@pytest.fixture(scope="session")
def build(pytestconfig):
    return pytestconfig.getoption("--build")


@pytest.fixture(scope="session")
def shared_cluster():
    cluster = Cluster().start()
    yield cluster
    cluster.remove()


@pytest.fixture
def database(shared_cluster):
    made = []

    def make(migrated=True):
        made.append(shared_cluster.database(migrated))
        return made[-1]

    yield make
    for pg in made:
        shared_cluster.drop(pg)


@pytest.fixture
def pg(database):
    return database()


@pytest.fixture
def make_cluster():
    made = []

    def make(bare=False, **settings):
        made.append(Cluster(bare, **settings))
        return made[-1].start()

    yield make
    for cluster in made:
        cluster.remove()


@pytest.fixture
def cluster(make_cluster):
    return make_cluster()


@pytest.fixture
def own_pg(cluster):
    pg = cluster.database()
    yield pg
    pg.close()


@pytest.fixture
def make_relay():
    made = []

    def make(cluster):
        made.append(Relay(("127.0.0.1", cluster.port), free_port()))
        return made[-1]

    yield make
    for relay in made:
        relay.close()


@pytest.fixture
def relay(make_relay, shared_cluster):
    return make_relay(shared_cluster)


@pytest.fixture
def inboxd(request, build, tmp_path, database, make_cluster, make_relay):
    """Takes up database, make_cluster and make_relay so that its daemons end before what they use."""
    daemons = []
    request.node.inboxd_daemons = daemons
    numbers = itertools.count(1)

    def make(pg=None, start=True, **options):
        if "config" not in options and "database" not in options:
            options["database"] = (pg or request.getfixturevalue("pg")).conninfo()
        folder = tmp_path / f"inboxd{next(numbers)}"
        folder.mkdir()
        daemon = Inboxd(folder, build, **options)
        daemons.append(daemon)
        return daemon.start() if start else daemon

    yield make
    errors = []
    for daemon in daemons:
        try:
            daemon.close()
        except AssertionError as error:
            errors.append(str(error))
        if reports := daemon.sanitizer_reports():
            errors.append(f"{reports[0]}: see {daemon.log_file}")
    assert not errors, "\n".join(errors)


@pytest.fixture
def inboxctl(request, build, tmp_path):
    """Runs inboxctl against `pg` (or another `pg=`) as superuser, with the standard providers."""

    def run(*args, pg=None, providers=None, **options):
        if "config" not in options:
            file = tmp_path / "inboxctl.conf"
            database = (pg or request.getfixturevalue("pg")).conninfo("postgres")
            write_config(file, {"database": database}, providers)
            options["config"] = file
        return run_ctl(build, *args, **options)

    return run

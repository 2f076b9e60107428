"""The numbered migrations: from nothing, by an owner without privileges, and what their heads say."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.cluster import migrate
from support.places import ROOT

FILES = sorted((ROOT / "sql").glob("[0-9][0-9][0-9]_*.sql"))

OBJECTS = """
select 'relation ' || c.oid::regclass || ' ' || c.relkind::text from pg_class c where relnamespace = 'inboxd'::regnamespace
union all
select 'function ' || p.oid::regprocedure || ' ' || p.prosecdef::text from pg_proc p where pronamespace = 'inboxd'::regnamespace
union all
select 'column ' || attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod)
  from pg_attribute join pg_class c on c.oid = attrelid where relnamespace = 'inboxd'::regnamespace and attnum > 0
order by 1
"""


def test_migrations_are_numbered_without_a_gap():
    assert [int(file.name[:3]) for file in FILES] == list(range(1, len(FILES) + 1))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_migration_names_the_oldest_daemon_first_and_opens_no_transaction(file):
    text = file.read_text()
    oldest = re.match(r"-- min-daemon: (\d+)\n", text)
    assert oldest and 1 <= int(oldest[1]) <= int(file.name[:3])
    code = re.sub(r"--.*", "", text)
    assert not re.search(r"(?im)^\s*(begin|commit|rollback)\s*;", code)


def test_everything_lies_in_the_schema(database):
    pg = database(migrated=False)
    pg.migrate()
    assert pg.value("select count(*) from pg_class where relnamespace = 'public'::regnamespace") == 0
    assert len(pg.column(OBJECTS)) > 150


def test_two_migrators_at_once_apply_each_file_once(inboxctl, database):
    """The second waits for the first, and finds nothing to do."""
    pg = database(migrated=False)
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(inboxctl, "migrate", pg=pg) for _ in range(3)]
        for run in runs:
            run.result()
    assert pg.column("select version from schema_migration order by 1") == list(range(1, len(FILES) + 1))


@pytest.mark.parametrize("done", range(len(FILES)))
def test_migration_goes_on_from_every_earlier_state(inboxctl, database, done):
    whole, part = database(migrated=False), database(migrated=False)
    inboxctl("migrate", pg=whole)
    part.execute((ROOT / "sql/query/migration_table.sql").read_text())
    for number, file in enumerate(FILES[:done], 1):
        part.execute(file.read_text())
        part.execute("insert into schema_migration (version, name, min_daemon) values (%s, %s, 1)", number, file.stem[4:])
    inboxctl("migrate", pg=part)
    assert part.column(OBJECTS) == whole.column(OBJECTS)
    inboxctl("migrate", pg=part)
    assert part.value("select count(*) from schema_migration") == len(FILES)


def test_functions_with_the_owners_rights_fix_their_search_path_and_are_closed(pg):
    rows = pg.rows(
        "select p.oid::regprocedure::text, array_to_string(p.proconfig, ';'),"
        " exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)"
        " from pg_proc p where p.pronamespace = 'inboxd'::regnamespace and p.prosecdef"
    )
    assert len(rows) > 20
    for name, settings, public in rows:
        assert "search_path=pg_catalog, pg_temp" in (settings or ""), name
        assert not public, name


def test_p12_text_that_is_compared_has_the_c_collation(pg):
    """Equality by bytes, on every machine: a new C library does not reorder the keys."""
    rows = pg.rows(
        "select a.attrelid::regclass::text, a.attname::text from pg_attribute a join pg_index i on i.indexrelid = a.attrelid"
        " join pg_class c on c.oid = i.indrelid join pg_collation l on l.oid = a.attcollation"
        " where c.relnamespace = 'inboxd'::regnamespace and l.collname <> 'C'"
        " and c.relname <> 'daemon'"
    )
    assert rows == []


def test_an_owner_who_may_not_make_roles_can_migrate(make_cluster):
    """On a cluster without the roles: a notice, no failure."""
    cluster = make_cluster(bare=True)
    cluster.execute("create role plain login")
    cluster.execute("create database mine owner plain")
    migrate(cluster.conninfo("mine", "plain"))
    assert cluster.accepts()
    cluster.execute("select inboxd.make_partitions(3)", "mine")
    cluster.execute("do $$ begin assert not exists (select from pg_roles where rolname = 'inboxd_daemon'); end $$")


def test_roles_that_exist_are_taken_as_they_are(make_cluster):
    cluster = make_cluster(bare=True)
    cluster.execute("create role plain login")
    cluster.execute("create role inboxd_daemon; create role inboxd_ops")
    cluster.execute("create database mine owner plain")
    migrate(cluster.conninfo("mine", "plain"))
    cluster.execute(
        "do $$ begin assert has_table_privilege('inboxd_daemon', 'inboxd.work', 'delete');"
        " assert has_function_privilege('inboxd_ops', 'inboxd.replay(bigint, text)', 'execute');"
        " assert not has_table_privilege('inboxd_ops', 'inboxd.work', 'delete'); end $$", "mine"
    )  # fmt: skip

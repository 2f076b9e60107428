import pytest

from support.feed import Feed


@pytest.fixture
def feed(build, request, shared_cluster, database, make_cluster, make_relay):
    """Makes writers without HTTP: feed(threads=1) on `pg`, or feed(conninfo=...)."""
    feeds = []

    def make(conninfo=None, **options):
        conninfo = conninfo or request.getfixturevalue("pg").conninfo()
        feeds.append(Feed(build, conninfo, **options))
        return feeds[-1]

    yield make
    try:
        for one in feeds:
            one.end()
    finally:
        for one in feeds:
            one.close()

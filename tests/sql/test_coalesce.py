"""lane_newest.sql: what is superseded at once, and what is left to whoever has claimed it."""

import pytest

from sql.statements import literal, run
from sql.test_lanes import put, take


@pytest.fixture
def key(pg):
    """Ten events of one key, ids 1 to 10; 4 has another type."""
    put(pg, *((f"e{n:02}", "k") for n in range(1, 11)))
    pg.execute("update work set event_type = case id when 4 then 'u' else 't' end")
    return pg


def look(pg, rows, token=None, most=100):
    session = pg.session()
    token = token or pg.value("select token from lane")
    found = run(session, "lane_newest", "h", ["k"] * len(rows), ["t"] * len(rows), rows, token, most)
    session.commit()
    return found


def done(pg):
    return pg.column("select id from outcome order by id")


def test_what_nobody_has_claimed_is_done_as_superseded(key):
    key.execute("update work set class = 'leased'")
    taken = take(key)[1]
    assert [row["id"] for row in taken] == [1]
    assert look(key, [1]) == [(1, 10)]
    assert done(key) == [2, 3, 5, 6, 7, 8, 9]
    assert key.column("select distinct last_error from outcome") == ["superseded by 10"]
    assert key.column("select id from work order by id") == [1, 4, 10]


def test_what_was_claimed_with_it_is_left(key):
    """A claim of several runs in several transactions: the rows of the later ones stay."""
    taken = [row["id"] for row in take(key, limit=2)[1]]
    assert taken == [1, 2, 3, 4]
    look(key, [1, 2])
    assert done(key) == [5, 6, 7, 8, 9]
    assert key.column("select id from work order by id") == [1, 2, 3, 4, 10]


def test_who_lost_the_lease_ends_nothing(key):
    key.execute("update work set class = 'leased'")
    take(key)
    token = key.value("select token from lane")
    key.execute("update lane set token = token + 1")
    assert look(key, [1], token=token) == [(1, 10)]
    assert done(key) == []


def test_a_lane_that_is_being_claimed_by_another_is_waited_for(key):
    key.execute("update work set class = 'leased'")
    take(key)
    token = key.value("select token from lane")
    other = key.session()
    other.do("update lane set token = token + 1")
    mine = key.session()
    waiting = mine.start(literal(mine, "lane_newest", "h", ["k"], ["t"], [1], token, 100))
    mine.wait_blocked()
    other.commit()
    waiting.result()
    mine.commit()
    assert done(key) == []


def test_a_look_is_bounded(key):
    key.execute("update work set class = 'leased'")
    take(key)
    look(key, [1], most=3)
    assert done(key) == [2, 3]      # and 1, which is about to run


def test_what_stepped_aside_is_superseded_too(key):
    key.execute("update work set class = 'leased'; update work set aside = 'retry', run_at = now() + interval '1 h' where id in (2, 4)")
    take(key)
    look(key, [1])
    assert done(key) == [2, 3, 5, 6, 7, 8, 9]

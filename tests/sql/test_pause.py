"""pause and resume as functions of the database: what they stop, refuse, record and show."""

import psycopg2.errors
import pytest

from sql.statements import claim, event, finish, run, store
from sql.test_lanes import ids, put, take


def due(pg, *providers):
    return [row[1:3] for row in run(pg, "due_providers", list(providers), ["sql"] * len(providers), ["-infinity"] * len(providers), [0] * len(providers))]


def test_nothing_of_a_paused_provider_is_due_or_claimed_and_another_is(pg):
    store(pg, event("a"), event("b"), event("c", provider="i"))
    pg.execute("update work set suspect = true where id = 2")
    assert pg.value("select pause('h', 'their API is down')") == (
        "provider h is paused; events that wait: 2; what runs now ends as usual"
    )
    assert due(pg, "h", "i") == [(False, False), (True, False)]
    assert claim(pg) == []
    assert run(pg, "suspect_claim", "h", 3, 60, "w", "sql") == []
    assert finish(pg, provider="i") == [3]
    assert pg.value("select resume('h')").startswith("provider h goes on after ")
    assert due(pg, "h", "i") == [(True, True), (False, False)]
    assert finish(pg) == [1]
    assert [row[0] for row in run(pg, "suspect_claim", "h", 3, 60, "w", "sql")] == [2]


def test_nothing_leased_of_a_paused_provider_is_claimed(pg):
    store(pg, "a", "b")
    pg.execute("update work set class = 'leased', suspect = id = 2")
    pg.value("select pause('h')")
    assert run(pg, "lease_claim", "h", "-infinity", 0, 50, 15) == []
    assert run(pg, "suspect_claim", "h", 3, 60, "w", "leased") == []
    pg.value("select resume('h')")
    assert [row[0] for row in run(pg, "lease_claim", "h", "-infinity", 0, 50, 15)] == [1]
    assert [row[0] for row in run(pg, "suspect_claim", "h", 3, 60, "w", "leased")] == [2]


def test_no_key_of_a_paused_provider_is_claimed(pg):
    put(pg, ("a", "k"), ("b", "j"))
    pg.value("select pause('h')")
    lanes = (["h"], ["lane"], ["-infinity"], [0])
    assert [row[1] for row in run(pg, "due_providers", *lanes)] == [False]
    found, rows = take(pg)
    assert (found["lanes"], rows) == (0, [])
    pg.value("select resume('h')")
    assert [row[1] for row in run(pg, "due_providers", *lanes)] == [True]
    found, rows = take(pg)
    assert (found["lanes"], sorted(ids(rows))) == (2, [1, 2])


def test_a_pause_takes_what_comes_in(pg):
    store(pg, "a")
    pg.value("select pause('h')")
    assert store(pg, "b", "a") == [None, 3]
    assert claim(pg) == []


def test_the_views_say_that_it_is_paused_by_whom_and_why(pg):
    store(pg, event("a"), event("b"), event("c", provider="i"))
    pg.execute("update work set run_at = now() + interval '1 hour' where id = 2")
    pg.execute("insert into daemon (instance, host, pid, version, workers, providers) values ('x', 'x', 1, '1', 1, '{h,i}')")
    pg.value("select pause('h', 'their API is down')")
    assert pg.rows("select provider, ready, paused_since = (select since from paused) from backlog order by 1") == [
        ("h", 1, True), ("i", 1, None),
    ]  # fmt: skip
    [(number, why)] = pg.rows("select id, why from stuck")
    assert number == 1 and why.startswith("the provider is paused since ") and why.endswith(" by postgres: their API is down")
    pg.value("select resume('h')")
    assert pg.rows("select id from stuck") == []


def test_events_of_a_provider_that_no_daemons_file_names_wait_and_are_stuck(pg):
    store(pg, event("a"), event("b", provider="i"))
    pg.execute("insert into daemon (instance, host, pid, version, workers, providers) values ('x', 'x', 1, '1', 1, '{i}')")
    assert pg.rows("select id, why from stuck") == [(1, "no living daemon works for this provider")]
    pg.execute("update daemon set providers = '{h,i}', workers = 0")  # it only accepts
    assert pg.column("select id from stuck order by 1") == [1, 2]
    pg.execute("update daemon set workers = 1, seen_at = now() - interval '1 minute'")
    assert pg.column("select id from stuck order by 1") == [1, 2]


def test_again_is_said_and_changes_nothing(pg):
    store(pg, "a")
    pg.value("select pause('h', 'one')")
    assert pg.value("select pause('h', 'two')").endswith(" by postgres: one")
    pg.value("select resume('h')")
    assert pg.value("select resume('h')") == "provider h is not paused"
    assert pg.rows("select action, provider, who from audit order by at") == [
        ("pause", "h", "postgres"), ("resume", "h", "postgres"),
    ]  # fmt: skip
    assert pg.column("select detail from audit where action = 'pause'") == ["one"]


def test_a_provider_that_nobody_knows_is_refused(pg):
    with pytest.raises(psycopg2.errors.NoDataFound, match='there is no provider "strip"'):
        pg.value("select pause('strip')")
    pg.execute("insert into daemon (instance, host, pid, version, providers) values ('x', 'x', 1, '1', '{strip}')")
    assert pg.value("select pause('strip')").startswith("provider strip is paused; events that wait: 0;")


def test_only_operators_may(pg):
    store(pg, "a")
    daemon = pg.session(user="inboxd_test")
    for call in ("pause('h')", "resume('h')"):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            daemon.do("select inboxd." + call)
        daemon.rollback()
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        daemon.do("insert into inboxd.paused (provider) values ('h')")

"""replay, replay_dead, discard: what they do, refuse and record."""

import json

import psycopg2.errors
import pytest

from sql.statements import claim, event, finish, lease, run, store
from sql.test_lanes import ids, lane, put, take, work_off


def test_replay_of_a_dead_event_makes_work_and_moves_the_outcome(pg):
    store(pg, event("e1", event_type="a.b"))
    pg.execute("update work set attempt = 11")
    finish(pg, "dead", error="never")
    assert pg.value("select replay(1)") == "event 1 was dead and is due now; attempts so far: 12"
    row = pg.row("select * from work")
    assert (row["attempt"], row["attempt_base"], row["event_type"], row["class"]) == (12, 12, "a.b", "sql")
    assert row["received_at"] == pg.value("select received_at from ledger")
    assert pg.value("select count(*) from outcome") == 0
    assert pg.rows("select attempt, kind, error from attempt_log order by at, kind desc") == [
        (12, "replay", "was dead: never"), (12, "dead", "never"),
    ]  # fmt: skip
    assert pg.rows("select who, action, id, detail, why, counts->>'replayed' from audit") == [
        ("postgres", "replay", 1, '{"ids": [1]}', None, "1"),
    ]  # fmt: skip
    assert pg.value("select status from webhook_inbox") == 0
    finish(pg)
    assert pg.rows("select status, attempt from outcome") == [(2, 13)]


def test_replay_of_a_done_event(pg):
    store(pg, "e1")
    finish(pg)
    assert "was done" in pg.value("select replay(1)")
    assert pg.value("select count(*) from processed_events") == 0
    assert finish(pg) == [1]
    assert pg.rows("select status, attempt from outcome") == [(2, 2)]


def test_replay_of_an_event_whose_content_is_gone_is_refused_and_changes_nothing(pg):
    store(pg, "e1")
    finish(pg)
    pg.execute("delete from event_store")
    with pytest.raises(psycopg2.errors.NoDataFound, match="cannot replay event 1: its content is gone"):
        pg.value("select replay(1)")
    assert pg.value("select count(*) from outcome") == 1
    assert pg.value("select count(*) from work") + pg.value("select count(*) from audit") == 0


def test_replay_of_a_waiting_event_makes_it_due(pg):
    store(pg, "e1")
    assert pg.value("select replay(1)") == "event 1 is due already"
    finish(pg, "retry", delay=3600)
    assert pg.value("select replay(1)") == "event 1 was waiting and is due now"
    assert pg.value("select run_at <= now() from work")
    assert pg.rows("select attempt, attempt_base from work") == [(1, 0)]


def test_replay_of_a_running_event_is_refused_without_waiting(pg):
    store(pg, "e1")
    finish(pg, "retry", delay=0)
    worker = pg.session()
    claim(worker)
    with pytest.raises(psycopg2.errors.ObjectInUse, match="is being processed now"):
        pg.value("select replay(1)")


def test_replay_of_nothing_is_refused(pg):
    with pytest.raises(psycopg2.errors.NoDataFound, match="there is no event 7"):
        pg.value("select replay(7)")


def test_two_replays_at_once_make_one_work_row(pg):
    store(pg, "e1")
    finish(pg, "dead")
    first, second = pg.session(), pg.session()
    first.do("select replay(1)")
    waiting = second.start("select replay(1)")
    second.wait_blocked()
    first.commit()
    assert waiting.result() == [("event 1 is due already",)]
    second.commit()
    assert pg.value("select count(*) from work") == 1


def dead(pg, provider, error, *names):
    store(pg, *(event(name, provider=provider) for name in names))
    finish(pg, "dead", provider=provider, error=error)


def test_replay_dead_is_a_set(pg):
    dead(pg, "h", "timeout after 30 s", "a", "b")
    dead(pg, "h", "bad currency", "c")
    dead(pg, "i", "timeout after 30 s", "d")
    pg.execute("update outcome set processed_at = now() - interval '2 days' where id = 1")
    assert pg.value("select replay_dead('h', error_like => 'timeout%')") == 2
    assert pg.column("select id from work order by id") == [1, 2]
    assert pg.value("select replay_dead('h', now() + interval '1 s')") == 0
    assert pg.value("select replay_dead(null)") == 2
    assert pg.value("select count(*) from outcome") == 0
    assert pg.value("select count(*) from attempt_log where kind = 'replay'") == 4
    who, action, provider, detail, counts = pg.rows("select who, action, provider, detail, counts from audit order by at")[0]
    assert (who, action, provider, counts["found"], counts["replayed"]) == ("postgres", "replay", "h", 2, 2)
    assert json.loads(detail)["error_like"] == "timeout%"
    finish(pg, "dead", provider="i")
    pg.execute("update outcome set processed_at = now() - interval '2 days'")
    assert pg.value("select replay_dead('i', now() - interval '1 day')") == 0
    assert pg.value("select replay_dead('i', now() - interval '3 days')") == 1


def test_every_replay_says_who_why_what_and_how_many(pg):
    dead(pg, "h", "timeout", "a", "b", "c")
    pg.value("select replay(1, 'one')")
    pg.value("select replay_dead('h', error_like => 't%', why => 'all')")
    finish(pg, "dead")
    pg.value("select replay_where('h', most => 2, why => 'some')")
    rows = pg.rows("select who, action, why, counts from audit order by number")
    assert [(who, action, why, counts["found"], counts["replayed"]) for who, action, why, counts in rows] == [
        ("postgres", "replay", "one", 1, 1), ("postgres", "replay", "all", 2, 2), ("postgres", "replay", "some", 2, 2),
    ]  # fmt: skip


def test_replay_dead_gives_each_event_its_lane_and_class(pg):
    store(pg, event("a", ordering_key="k"), event("b", "p"))
    for provider in "hp":
        finish(pg, "dead", provider=provider)
    pg.execute(
        'insert into provider_policy (provider, class, "order", attempts, backoff_base, backoff_cap, defer, defer_limit, timeout)'
        " select p, c, o, 3, '1s', '1s', '1s', '1s', '1s' from (values ('h', 'sql', 'serial'), ('p', 'pull', 'none')) as v (p, c, o)"
    )
    assert pg.value("select replay_dead(null)") == 2
    assert pg.rows("select id, class, lane, aside from work order by id") == [(1, "sql", "k", "retry"), (2, "pull", None, None)]


def test_replay_dead_leaves_done_events_alone(pg):
    store(pg, "a")
    finish(pg)
    assert pg.value("select replay_dead('h')") == 0


@pytest.mark.parametrize("how", ["waiting", "dead"])
def test_discard_gives_an_event_up(pg, how):
    store(pg, "e1")
    finish(pg, "retry" if how == "waiting" else "dead", delay=3600, error="no luck")
    assert pg.value("select discard(1, 'test data')") == "event 1 is discarded"
    row = pg.row("select * from webhook_inbox")
    assert (row["status"], row["attempt"], row["last_error"]) == (2, 1, "discarded: test data")
    assert pg.value("select count(*) from processed_events") == 0
    assert pg.value("select count(*) from dead_letters") + pg.value("select count(*) from work") == 0
    assert pg.rows("select kind, error from attempt_log order by at desc limit 1") == [("discard", "no luck")]
    assert pg.rows("select action, id, detail from audit") == [("discard", 1, "test data")]
    assert store(pg, "e1") == [None]
    pg.value("select replay(1)")
    assert finish(pg) == [1]
    assert pg.value("select count(*) from processed_events") == 1


def test_discard_refuses_what_runs_is_done_or_is_not_there(pg):
    store(pg, "a", "b")
    finish(pg, at_most=1)
    worker = pg.session()
    claim(worker)
    for number, error in (
        (1, psycopg2.errors.ObjectNotInPrerequisiteState),
        (2, psycopg2.errors.ObjectInUse),
        (3, psycopg2.errors.NoDataFound),
    ):
        with pytest.raises(error):
            pg.value("select discard(%s, 'x')", number)
    assert pg.value("select count(*) from audit") == 0


ORDERED = """
    insert into provider_policy (provider, class, "order", attempts, backoff_base, backoff_cap, defer, defer_limit, timeout)
    values ('h', 'sql', 'serial', 3, '1s', '1s', '1s', '1s', '1s')
"""


@pytest.mark.parametrize("how", ["done", "dead"])
def test_a_replayed_keyed_event_comes_first_and_alone_in_its_key(pg, how):
    pg.execute(ORDERED)
    put(pg, ("a", "k"))
    rows = take(pg)[1]
    work_off(pg, rows, done=[1]) if how == "done" else work_off(pg, rows, aside=[1], what="dead")
    assert pg.value("select count(*) from lane") == 0
    put(pg, ("b", "k"), ("c", "k"))
    pg.value("select replay(1)")
    assert pg.rows("select id, lane, aside, attempt from work order by id") == [(1, "k", "retry", 1), (2, "k", None, 0), (3, "k", None, 0)]
    _, rows = take(pg)
    assert [(row["id"], row["alone"]) for row in rows] == [(1, True)]
    assert take(pg)[0]["lanes"] == 0
    work_off(pg, rows, done=[1])
    assert ids(take(pg)[1]) == [2, 3]


def test_a_replay_makes_the_lane_of_a_key_that_has_none(pg):
    pg.execute(ORDERED)
    put(pg, ("a", "k"))
    work_off(pg, take(pg)[1], aside=[1], what="dead")
    assert pg.value("select count(*) from lane") == 0
    pg.value("select replay_dead('h')")
    assert lane(pg)["ready"]
    assert ids(take(pg)[1]) == [1]


def test_a_replay_beside_a_running_key_waits_for_its_end(pg):
    """The lease stays whose it is, and what it covers runs once."""
    pg.execute(ORDERED)
    put(pg, ("a", "k"))
    work_off(pg, take(pg)[1], aside=[1], what="dead")
    put(pg, ("b", "k"))
    _, running = take(pg)
    pg.value("select replay(1)")
    assert take(pg)[0]["lanes"] == 0
    work_off(pg, running, done=[2])
    assert ids(take(pg)[1]) == [1]


def test_replay_and_discard_of_a_keyed_event_that_runs_are_refused(pg):
    put(pg, ("a", "k"), ("b", "k"))
    _, rows = take(pg)
    for sql in ("select replay(1)", "select discard(2, 'x')"):
        with pytest.raises(psycopg2.errors.ObjectInUse, match="is being processed now"):
            pg.value(sql)
    work_off(pg, rows, done=[1, 2])


@pytest.mark.parametrize("how", ["leased", "leased alone", "pull"])
def test_replay_and_discard_of_an_event_under_a_lease_are_refused_until_it_is_over(pg, how):
    """Nobody has locked its row; made due, it would run a second time beside itself."""
    pg.execute(ORDERED.replace("'sql'", "'pull'"))
    store(pg, event("a", **{"class": how.split()[0]}))
    if how == "pull":
        pg.rows("select * from claim('h', 1, '1 hour')")
    elif how == "leased":
        lease(pg)
    else:
        pg.execute("update work set suspect = true")
        run(pg, "suspect_claim", "h", 3, 3600.0, "w", "leased")
    before = pg.rows("select * from work")
    assert pg.value("select status from webhook_inbox") == 1
    for sql in ("select replay(1)", "select discard(1, 'x')"):
        with pytest.raises(psycopg2.errors.ObjectInUse, match="is being processed now\\nHINT:  Its lease lasts until 20"):
            pg.value(sql)
    assert pg.rows("select * from work") == before
    assert pg.value("select count(*) from audit") == 0
    pg.execute("update work set run_at = now() - interval '1 s'")
    assert pg.value("select discard(1, 'x')") == "event 1 is discarded"


def test_replay_of_a_keyed_event_that_waits_makes_its_lane_due(pg):
    put(pg, ("a", "k"), ("b", "k"))
    work_off(pg, take(pg)[1], aside=[1], done=[2])
    assert not lane(pg)["ready"]
    assert pg.value("select replay(1)") == "event 1 was waiting and is due now"
    assert lane(pg)["ready"]
    assert ids(take(pg)[1]) == [1]


@pytest.mark.parametrize("serial", [True, False])
def test_discard_of_a_keyed_event_lets_the_others_go_on(pg, serial):
    put(pg, ("a", "k"), ("b", "k"))
    rows = take(pg, serial=serial)[1]
    if serial:
        work_off(pg, rows, aside=[1], done=[2])
    else:
        work_off(pg, rows[:1], aside=[1], aside_as=None, end={"k": 0})
    put(pg, ("c", "k"))
    pg.value("select discard(1, 'no use')")
    assert ids(take(pg, serial=serial)[1]) == ([3] if serial else [2, 3])
    assert pg.rows("select status, last_error from outcome where id = 1") == [(2, "discarded: no use")]


def test_discard_of_the_last_event_of_a_key_leaves_no_lane(pg):
    put(pg, ("a", "k"))
    work_off(pg, take(pg)[1], aside=[1])
    pg.value("select discard(1, 'no use')")
    _, rows = take(pg)
    assert ids(rows) == []
    session = pg.session()
    run(session, "lane_next", "h", ["k"], [0])
    session.commit()
    assert pg.value("select count(*) from lane") == 0


def test_skip_gives_up_what_a_key_waits_for_and_nothing_else(pg):
    put(pg, ("a", "k"), ("b", "k"), ("c", "other"))
    rows = take(pg, serial=False)[1]
    work_off(pg, [row for row in rows if row["key"] == "other"], aside=[3], aside_as="retry")
    work_off(pg, rows[:1], aside=[1], aside_as=None, end={"k": 0})
    for number in (2, 3, 9):
        with pytest.raises(psycopg2.errors.ObjectNotInPrerequisiteState, match=f"cannot skip event {number}: no key waits for it"):
            pg.value("select skip(%s, 'x')", number)
    assert pg.value("select skip(1, 'closed')") == "event 1 is discarded; key 'k' goes on, events that waited: 1"
    assert pg.value("select count(*) from blocked_keys") == 0
    assert ids(take(pg, serial=False)[1]) == [2]
    assert pg.rows("select action, id, detail from audit") == [("discard", 1, "closed")]
    assert pg.value("select count(*) from processed_events") == 0


def test_only_operators_may_call_them_and_the_caller_is_recorded(pg, shared_cluster):
    shared_cluster.execute(
        "do $$ begin create role ops_test login in role inboxd_ops; exception when duplicate_object then null; end $$"
    )
    dead(pg, "h", "x", "a")
    daemon = pg.session(user="inboxd_test")
    for call in ("replay(1)", "replay_dead('h')", "discard(1, 'x')"):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            daemon.do("select inboxd." + call)
        daemon.rollback()
    ops = pg.session(user="ops_test")
    ops.do("select inboxd.replay(1)")
    ops.commit()
    assert pg.column("select who from audit") == ["ops_test"]


@pytest.mark.parametrize("start", [3_000_000_000, 2**53 + 1])
def test_b09_ids_beyond_32_and_53_bits_go_through_everything(pg, start):
    pg.execute("alter sequence event_id_seq restart with %s", start)
    pg.execute("alter sequence token_seq restart with %s", start)
    assert pg.value("select make_partitions(1)") == 2
    assert store(pg, "a", "b", "c") == [start, start + 1, start + 2]
    assert store(pg, "a") == [None]
    session = pg.session()
    rows = claim(session, at_most=1)
    assert claim(session, at_most=1, run_at=rows[0]["run_at"], after_id=rows[0]["id"])[0]["id"] == start + 1
    session.rollback()
    finish(pg, at_most=1)
    finish(pg, "retry", at_most=1, delay=0)
    finish(pg, "dead", at_most=1)
    assert pg.value("select (load_event(%s, 1)).id", start) == start
    assert sorted(pg.column("select id from webhook_inbox")) == [start, start + 1, start + 2]
    for number in pg.column("select id from outcome"):
        pg.value("select replay(%s)", number)
    assert pg.value("select count(*) from work") == 3
    pg.value("select discard(%s, 'x')", start)
    finish(pg)
    assert pg.value("select sum(done) from counters") == 3
    pg.execute("update ledger set received_at = now() - interval '2 years'")
    pg.execute("update event_store set received_at = now() - interval '2 years'")
    pg.execute("update outcome set processed_at = now() - interval '2 years'")
    assert pg.rows("select * from purge_finished('30 days', 2)") == [(2, start + 1)]
    assert pg.rows("select * from purge_ledger('400 days', 2, %s)", start) == [(2, start + 2)]

"""Lanes: claiming, settling, what happens to the key, and interleavings of sessions."""

import psycopg2.errors
import pytest

from sql.statements import event, literal, run, store

CLAIM = ("lanes", "lapsed", "ready_at", "number", "now")
TAKE = (
    "key", "token", "id", "attempt", "attempt_base", "event_type", "run_at", "received_at", "deferred_since", "class",
    "aside", "alone", "counted", "dead", "now",
)  # fmt: skip


def put(where, *pairs, provider="h", **more):
    """Stores events (event_id, key), lanes first, as the daemon does; returns the ids."""
    keys = sorted({key for _, key in pairs})
    run(where, "store_lanes", [provider] * len(keys), keys)
    return store(where, *(event(id, provider, ordering_key=key, lane=key, **more) for id, key in pairs))


def take(where, limit=50, lease=15.0, attempts=3, due_again=60.0, serial=True, provider="h", after=("-infinity", 0),
         suspects=50, events=None):  # fmt: skip
    """Claims and, of a Pg, commits; returns (what was found, rows)."""
    session = where if hasattr(where, "connection") else where.session()
    found = dict(zip(CLAIM, run(session, "lane_claim", provider, *after, limit, lease)[0]))
    taken = run(session, "lane_take", provider, lease, limit, attempts, due_again, serial, "test", suspects, events or limit * limit)
    rows = [dict(zip(TAKE, row)) for row in taken]
    if session is not where:
        session.commit()
        session.close()
    return found, rows


def ids(rows):
    return [row["id"] for row in rows if row["id"] is not None]


def settle(where, rows, done=(), aside=(), end=None, provider="h", what="retry", delay=3600.0, aside_as="retry"):
    """The end of a transaction: `done` and `aside` are ids of rows; `end`: {key: last id} (default: all are done with)."""
    keys = sorted({row["key"] for row in rows})
    by_id = {row["id"]: row for row in rows}
    run(where, "lane_settle", provider, keys, rows[0]["token"], [*done, *aside], sorted({by_id[id]["key"] for id in done}))
    if done:
        run(where, "settle_done", provider, list(done), [by_id[id]["attempt"] + 1 for id in done])
    n, failed = len(aside), [by_id[id] for id in aside]
    if failed:
        run(where, "settle_failed", provider, "test", list(aside), [what] * n, [r["attempt"] + 1 for r in failed],
            [r["attempt_base"] for r in failed], [delay] * n, ["no"] * n, [False] * n, [None] * n,
            [r["received_at"] for r in failed], [r["deferred_since"] for r in failed], [0.1] * n, [None] * n, ["sql"] * n,
            [r["key"] for r in failed], [aside_as if aside_as else None] * n)  # fmt: skip
    last = {key: max([row["id"] or 0 for row in rows if row["key"] == key and not row["aside"]], default=0) for key in keys}
    last.update(end or {})
    return run(where, "lane_next", provider, keys, [last[key] for key in keys])[0]


def work_off(pg, rows, **more):
    session = pg.session()
    next = settle(session, rows, **more)
    session.commit()
    session.close()
    return next


def lane(pg, key="k"):
    return pg.row("select *, ready_at <= now() as ready from lane where key = %s", key)


def test_p06_a_lane_gives_its_events_in_order_and_to_one_worker_only(pg):
    put(pg, ("e1", "k"), ("e2", "k"), ("e3", "k"))
    found, rows = take(pg)
    assert (found["lanes"], found["lapsed"], ids(rows)) == (1, 0, [1, 2, 3])
    assert take(pg)[0]["lanes"] == 0
    assert work_off(pg, rows, done=[1, 2, 3]) == (None, False)
    assert pg.value("select count(*) from lane") == 0
    assert pg.rows("select id, status, attempt from outcome order by id") == [(1, 2, 1), (2, 2, 1), (3, 2, 1)]


def test_p06_what_is_stored_while_the_lane_runs_comes_after_it(pg):
    put(pg, ("e1", "k"))
    _, rows = take(pg)
    put(pg, ("e2", "k"))
    assert take(pg)[0]["lanes"] == 0
    next = work_off(pg, rows, done=[1])
    assert next[1] is True
    assert ids(take(pg)[1]) == [2]


def test_p06_what_commits_while_a_completion_waits_for_the_lane_is_seen_by_it(pg):
    """lane_next is a statement of its own for this: its snapshot is younger than the lock."""
    put(pg, ("e1", "k"))
    _, rows = take(pg)
    storing, ending = pg.session(), pg.session()
    put(storing, ("e2", "k"))
    waiting = ending.start(
        "select fence(true) from lane where key = 'k' for update"  # what lane_settle waits for
    )
    ending.wait_blocked()
    storing.commit()
    waiting.result()
    settle(ending, rows, done=[1])
    ending.commit()
    assert lane(pg)["ready"] and lane(pg)["taken_id"] == 0
    assert ids(take(pg)[1]) == [2]


@pytest.mark.parametrize("known", [False, True])
def test_b16_ids_of_a_key_grow_in_the_order_of_commits(pg, known):
    """The second one waits for the lane before it draws its id, be the key new or not."""
    if known:
        run(pg, "store_lanes", ["h"], ["k"])
    first, second = pg.session(), pg.session()
    run(first, "store_lanes", ["h"], ["k"])
    waiting = second.start(literal(second, "store_lanes", ["h"], ["k"]))
    second.wait_blocked()
    store(first, event("e1", ordering_key="k", lane="k"))
    first.commit()
    waiting.result()
    store(second, event("e2", ordering_key="k", lane="k"))
    second.commit()
    assert pg.rows("select l.event_id from work w join ledger l using (id) order by w.id") == [("e1",), ("e2",)]


def test_p06_a_claim_never_sees_what_the_last_holder_has_finished(pg):
    """The claim's first snapshot is older than the completion; its second is not."""
    put(pg, ("e1", "k"), ("e2", "k"))
    work_off(pg, take(pg)[1], aside=[1], done=[2], delay=0.0)
    _, rows = take(pg)
    assert [(r["id"], r["aside"], r["alone"]) for r in rows] == [(1, "retry", True)]
    put(pg, ("e3", "k"))
    ending = pg.session()
    settle(ending, rows, done=[1])
    claiming = pg.session()
    run(claiming, "lane_claim", "h", "-infinity", 0, 50, 15.0)  # skips the lane: it is locked
    ending.commit()
    assert run(claiming, "lane_take", "h", 15.0, 50, 3, 60.0, True, "test", 50, 2500) == []
    claiming.commit()
    assert ids(take(pg)[1]) == [3]


def test_serial_goes_on_past_a_failed_event_which_comes_first_when_it_is_due(pg):
    put(pg, ("e1", "k"), ("e2", "k"))
    next = work_off(pg, take(pg)[1], aside=[1], done=[2])
    assert next[0] is not None and next[1] is False
    assert (lane(pg)["ready"], lane(pg)["blocked"]) == (False, False)
    put(pg, ("e3", "k"))
    assert lane(pg)["ready"]
    _, rows = take(pg)
    assert ids(rows) == [3]
    pg.execute("update work set run_at = now() where id = 1")
    put(pg, ("e4", "k"))
    assert take(pg)[0]["lanes"] == 0  # it is taken
    work_off(pg, rows, done=[3])
    _, rows = take(pg)
    assert [(r["id"], r["attempt"], r["alone"]) for r in rows] == [(1, 1, True)]
    work_off(pg, rows, done=[1])
    assert ids(take(pg)[1]) == [4]


def test_strict_waits_for_a_failed_event_and_blocked_keys_says_so(pg):
    put(pg, ("e1", "k"), ("e2", "k"))
    work_off(pg, take(pg, serial=False)[1][:1], aside=[1], aside_as=None, end={"k": 0})
    assert (lane(pg)["ready"], lane(pg)["blocked"]) == (False, True)
    put(pg, ("e3", "k"))
    assert (lane(pg)["ready"], lane(pg)["blocked"]) == (False, True)
    assert pg.rows("select provider, key, id, event_id, attempt, waiting, last_error from blocked_keys") == [
        ("h", "k", 1, "e1", 1, 2, "no")
    ]
    assert pg.rows("select ready, scheduled from backlog where provider = 'h'") == [(0, 3)]
    pg.execute("update work set run_at = now() where id = 1")
    pg.execute("update lane set ready_at = now()")
    _, rows = take(pg, serial=False)
    assert ids(rows) == [1, 2, 3]
    assert pg.value("select count(*) from blocked_keys") == 0


def test_blocked_keys_says_for_what_a_key_waits_and_not_what_was_deferred_before_it(pg):
    put(pg, ("e1", "k"), ("e2", "k"), ("e3", "k"))
    work_off(pg, take(pg, serial=False)[1][:1], aside=[1], what="defer", aside_as="defer", end={"k": 1})
    _, rows = take(pg, serial=False)
    assert ids(rows) == [2, 3]
    work_off(pg, rows[:1], aside=[2], aside_as=None, end={"k": 1})
    assert pg.rows("select id, event_id, waiting from blocked_keys") == [(2, "e2", 1)]


@pytest.mark.parametrize("serial", [True, False])
def test_p07_a_done_event_makes_the_deferred_ones_of_its_key_due_at_once(pg, serial):
    put(pg, ("e1", "k"), ("e2", "k"), ("x1", "other"), ("x2", "other"))
    _, rows = take(pg, serial=serial)
    work_off(pg, rows, aside=[1, 3], done=[2, 4], what="defer", aside_as="defer")
    assert pg.value("select count(*) from work where run_at > now() + interval '59 minutes'") == 2
    put(pg, ("e5", "k"))
    _, rows = take(pg, serial=serial)
    key = rows[0]["key"]
    assert ids(rows) == [5] and key == "k"
    assert work_off(pg, rows, done=[5])[1] is True
    assert pg.column("select id from work where run_at <= now()") == [1]
    _, rows = take(pg, serial=serial)
    assert [(r["id"], r["aside"]) for r in rows] == [(1, "defer")]


def test_p07_a_failure_wakes_nobody(pg):
    put(pg, ("e1", "k"), ("e2", "k"))
    _, rows = take(pg)
    work_off(pg, rows, aside=[1], what="defer", aside_as="defer", end={"k": 1})
    _, rows = take(pg)
    work_off(pg, rows, aside=[2])
    assert pg.value("select count(*) from work where run_at > now()") == 2


def test_p04_a_lane_whose_lease_ran_out_is_free_again_and_what_ran_in_it_runs_alone(pg):
    put(pg, ("e1", "k"), ("e2", "k"))
    old = take(pg)[1]
    put(pg, ("e3", "k"))
    pg.execute("update lane set ready_at = now() - interval '1 ms'")
    found, rows = take(pg)
    assert (found["lanes"], found["lapsed"], rows) == (1, 1, [])
    assert pg.rows("select id, suspect, attempt from work order by id") == [(1, True, 0), (2, True, 0), (3, False, 0)]
    _, rows = take(pg)
    assert [(r["id"], r["alone"], r["counted"]) for r in rows] == [(1, True, True)]
    assert pg.rows("select attempt, token > 0, aside from work where id = 1") == [(1, True, "retry")]
    late = pg.session()
    with pytest.raises(psycopg2.Error) as raised:
        settle(late, old, done=[1, 2])
    assert raised.value.pgcode == "IBX04"
    late.rollback()
    work_off(pg, rows, done=[1])
    assert pg.rows("select id, status, attempt from outcome") == [(1, 2, 1)]
    assert ids(take(pg)[1]) == [2]


def refused(pg, rows, done=()):
    late = pg.session()
    with pytest.raises(psycopg2.Error) as raised:
        run(late, "lane_settle", "h", ["k"], rows[0]["token"], list(done), ["k"])
    late.rollback()
    return raised.value.pgcode == "IBX04"


def test_p04_nothing_is_settled_that_is_not_held(pg):
    """Each on its own: the lane is another's (even if nothing ran), it has been given back, a row that ran is gone."""
    put(pg, ("e1", "k"), ("e2", "k"))
    old = take(pg)[1]
    pg.execute("update lane set ready_at = now() - interval '1 ms'")
    take(pg)
    mine = take(pg)[1]
    assert refused(pg, old)
    work_off(pg, mine, done=[1])
    assert refused(pg, mine)
    mine = take(pg)[1]
    assert ids(mine) == [2]
    assert refused(pg, mine, done=[1, 2])
    work_off(pg, mine, done=[2])
    assert pg.rows("select id, status from outcome order by id") == [(1, 2), (2, 2)]


def test_p04_a_frozen_worker_whose_lane_nobody_claimed_yet_may_still_end(pg):
    put(pg, ("e1", "k"))
    _, rows = take(pg)
    pg.execute("update lane set ready_at = now() - interval '1 hour'")
    work_off(pg, rows, done=[1])
    assert pg.value("select count(*) from lane") == 0


def test_p05_a_killer_is_dead_at_its_bound_and_the_others_lose_nothing(pg):
    put(pg, ("e1", "k"), ("e2", "k"))
    take(pg)
    for attempt in (1, 2):
        pg.execute("update lane set ready_at = now() - interval '1 ms'")
        pg.execute("update work set run_at = now() where id = 1")
        assert take(pg, attempts=2)[0]["lapsed"] == 1
        _, rows = take(pg, attempts=2)
        assert [(r["id"], r["dead"]) for r in rows] == [(1, False)]
        assert pg.value("select attempt from work where id = 1") == attempt
    pg.execute("update lane set ready_at = now() - interval '1 ms'")
    pg.execute("update work set run_at = now() where id = 1")
    take(pg, attempts=2)
    _, rows = take(pg, attempts=2)
    assert [(r["id"], r["dead"]) for r in rows] == [(1, True)]
    work_off(pg, rows)
    assert pg.rows("select id, status, attempt from outcome") == [(1, 3, 2)]
    assert pg.column("select kind from attempt_log where id = 1 order by at, kind desc") == ["lost", "lost", "dead"]
    _, rows = take(pg)
    assert ids(rows) == [2]
    assert pg.value("select attempt from work where id = 2") == 1


@pytest.mark.parametrize("serial", [True, False])
def test_b14_a_claim_begins_no_more_suspects_than_it_may(pg, serial):
    """The others lose no attempt if it ends the process; their keys are free again in a moment."""
    put(pg, ("a", "k1"), ("b", "k2"), ("c", "k3"), ("d", "k4"))
    pg.execute("update work set suspect = true where id <> 3")
    found, rows = take(pg, serial=serial, suspects=1)
    assert found["lanes"] == 4
    assert [(r["id"], r["counted"]) for r in rows] == [(1, True), (3, False)]
    assert pg.column("select attempt from work order by id") == [1, 0, 0, 0]
    assert pg.column("select token > 0 from work order by id") == [True, False, False, False]
    assert pg.rows("select key, taken_id, ready_at - now() < interval '1 s' from lane order by key") == [
        ("k1", 1, False), ("k2", 0, True), ("k3", 3, False), ("k4", 0, True),
    ]  # fmt: skip
    pg.execute("update lane set ready_at = now() where taken_id = 0")
    assert take(pg, serial=serial, suspects=0)[1] == []
    pg.execute("update lane set ready_at = now() where taken_id = 0")
    assert ids(take(pg, serial=serial, suspects=2)[1]) == [2, 4]


def test_a_killer_under_serial_lets_the_others_go_on_meanwhile(pg):
    put(pg, ("e1", "k"), ("e2", "k"))
    pg.execute("update work set suspect = true where id = 1")
    assert ids(take(pg, serial=True)[1]) == [1]
    pg.execute("update lane set ready_at = now() - interval '1 ms'")
    assert take(pg)[0]["lapsed"] == 1
    assert ids(take(pg)[1]) == [2]


def test_a_killer_under_strict_does_not(pg):
    put(pg, ("e1", "k"), ("e2", "k"))
    pg.execute("update work set suspect = true where id = 1")
    assert ids(take(pg, serial=False)[1]) == [1]
    pg.execute("update lane set ready_at = now() - interval '1 ms'")
    assert take(pg, serial=False)[0]["lapsed"] == 1
    found, rows = take(pg, serial=False)
    assert (found["lanes"], ids(rows)) == (1, [])
    work_off(pg, rows, end={"k": 0})
    assert lane(pg)["blocked"]


def test_a_lane_without_events_comes_back_empty_and_is_removed(pg):
    """A duplicate upserts its lane and stores nothing (field report B16's kind: it must not hold up the key)."""
    put(pg, ("e1", "k"))
    work_off(pg, take(pg)[1], done=[1])
    put(pg, ("e1", "k"))
    found, rows = take(pg)
    assert (found["lanes"], [(r["key"], r["id"]) for r in rows]) == (1, [("k", None)])
    work_off(pg, rows)
    assert pg.value("select count(*) from lane") == 0


def test_release_gives_back_what_is_ours_and_marks_the_suspects(pg):
    put(pg, ("e1", "k"), ("e2", "k"), ("x1", "l"))
    _, rows = take(pg)
    token = rows[0]["token"]
    pg.execute("update lane set token = token + 1 where key = 'l'")
    assert run(pg, "lane_release", "h", ["k", "l"], token, [0, 0], [1, 3]) == [(1,)]
    assert pg.rows("select id, suspect from work order by id") == [(1, True), (2, False), (3, False)]
    assert lane(pg, "k")["taken_id"] == 0 and lane(pg, "l")["taken_id"] != 0
    assert ids(take(pg)[1]) == [1]


def test_a_renewal_is_for_the_holder_alone(pg):
    put(pg, ("e1", "k"), ("x1", "l"))
    _, rows = take(pg)
    token = rows[0]["token"]
    pg.execute("update lane set token = token + 1 where key = 'l'")
    assert run(pg, "lane_renew", "h", ["k", "l"], token, 3600.0) == [("k",)]
    assert pg.column("select key from lane where ready_at > now() + interval '59 minutes'") == ["k"]


def test_b02_lanes_give_no_more_than_they_were_asked_for(pg):
    put(pg, *((f"e{n}", f"k{n % 10}") for n in range(400)))
    found, rows = take(pg, limit=3)
    assert found["lanes"] == 3 and len(rows) == 9
    assert sorted({r["key"] for r in rows}) == ["k0", "k1", "k2"]
    found, rows = take(pg, limit=1)
    assert found["lanes"] == 1 and len(rows) == 1
    found, rows = take(pg, limit=50)
    assert found["lanes"] == 6 and len(rows) == 240


def test_a_claim_that_cannot_run_all_takes_from_each_lane_in_turn(pg):
    put(pg, *((f"a{n}", "a") for n in range(6)), ("b1", "b"), *((f"c{n}", "c") for n in range(4)))
    _, rows = take(pg, events=8)
    assert [sum(row["key"] == key for row in rows) for key in "abc"] == [4, 1, 3]
    assert work_off(pg, rows, done=ids(rows))[1] is True
    assert [row["key"] for row in take(pg, events=8)[1]] == ["a", "a", "c"]


def test_views_say_processing_of_what_a_lease_covers(pg):
    put(pg, ("e1", "k"), ("e2", "k"))
    take(pg)
    put(pg, ("e3", "k"))
    assert pg.rows("select id, status from webhook_inbox order by id") == [(1, 1), (2, 1), (3, 0)]
    assert pg.rows("select ready, processing from backlog where provider = 'h'") == [(1, 2)]
    pg.execute("update lane set ready_at = now() - interval '1 ms'")
    assert pg.column("select status from webhook_inbox order by id") == [0, 0, 0]


def test_nothing_of_a_paused_provider_is_claimed(pg):
    put(pg, ("e1", "k"))
    pg.execute("insert into paused (provider) values ('h')")
    assert take(pg)[0]["lanes"] == 0
    assert run(pg, "due_providers", ["h"], ["lane"], ["-infinity"], [0])[0][1] is False
    pg.execute("delete from paused")
    assert run(pg, "due_providers", ["h"], ["lane"], ["-infinity"], [0])[0][1] is True

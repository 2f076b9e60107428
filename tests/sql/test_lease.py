"""Leases: a committed claim whose token fences whatever its holder writes later (P4, P5)."""

import pytest

from sql.statements import claim, event, lease, run, settle_done, settle_failed, store, tokens

LEASED = {"class": "leased"}


def put(pg, *names, **more):
    return store(pg, *(event(name, **LEASED, **more) for name in names))


def expire(pg, *ids):
    pg.execute("update work set run_at = now() - interval '1 s' where id = any (%s)", list(ids))


def take(where, rows):
    return sorted(row[0] for row in run(where, "lease_take", *tokens(rows)))


def alone(where, attempts=3, seconds=60.0, provider="h"):
    names = ("id", "token", "attempt", "attempt_base", "event_type", "received_at", "deferred_since", "dead", "now")
    return [dict(zip(names, row)) for row in run(where, "suspect_claim", provider, attempts, seconds, "test", "leased")]


def test_a_claim_is_committed_and_keeps_others_away(pg):
    put(pg, "a", "b", "c")
    rows = lease(pg, at_most=2)
    assert [(r["id"], r["lapsed"], r["attempt"]) for r in rows] == [(1, False, 0), (2, False, 0)]
    assert rows[0]["token"] == rows[1]["token"] != 0
    assert [r["id"] for r in lease(pg)] == [3]
    assert lease(pg) == []
    assert claim(pg) == []  # nor does the other class have them
    assert pg.rows("select id, status from webhook_inbox order by id") == [(1, 1), (2, 1), (3, 1)]
    assert pg.value("select processing from backlog where provider = 'h'") == 3


def test_claims_take_what_is_due_oldest_first_of_one_provider_without_a_lane(pg):
    put(pg, "a", "b", "c", "d")
    store(pg, "s", event("x", provider="i", **LEASED), event("k", lane="k", **LEASED))
    pg.execute("update work set run_at = now() - interval '1 hour' where id = 3")
    pg.execute("update work set run_at = now() + interval '1 hour' where id = 1")
    pg.execute("update work set suspect = true where id = 2")
    rows = lease(pg)
    assert [r["id"] for r in rows] == [3, 4]
    assert rows[0]["due_at"] < rows[1]["due_at"]


def test_two_workers_never_have_the_same_event_and_never_wait(pg):
    put(pg, "a", "b", "c")
    first, second = pg.session(), pg.session(lock_timeout="100ms")
    assert [r["id"] for r in lease(first, at_most=2)] == [1, 2]
    assert [r["id"] for r in lease(second)] == [3]


def test_p04_b11_a_lease_that_ran_out_is_found_and_runs_alone(pg):
    put(pg, "a", "b")
    lease(pg, seconds=0.0)
    rows = lease(pg)
    assert [(r["id"], r["lapsed"], r["token"]) for r in rows] == [(1, True, 0), (2, True, 0)]
    assert pg.rows("select id, token, suspect, attempt from work order by id") == [(1, 0, True, 0), (2, 0, True, 0)]
    assert pg.rows("select id, kind, attempt from attempt_log order by id") == [(1, "lost", 0), (2, "lost", 0)]
    assert lease(pg) == []
    assert [r["id"] for r in alone(pg)] == [1]
    assert [r["id"] for r in alone(pg)] == [2]


def test_p05_b14_an_attempt_counts_even_if_it_kills_its_worker(pg):
    put(pg, "a")
    lease(pg, seconds=0.0)
    lease(pg)
    for attempt in (1, 2, 3):
        rows = alone(pg, seconds=0.0)
        assert [(r["id"], r["attempt"], r["dead"]) for r in rows] == [(1, attempt, False)]
    assert [(r["id"], r["dead"]) for r in alone(pg)] == [(1, True)]
    assert pg.rows("select status, attempt from outcome") == [(3, 3)]
    assert sorted(pg.column("select kind from attempt_log where id = 1")) == ["dead"] + ["lost"] * 4


def test_p04_b12_a_lease_is_renewed_by_its_holder_only(pg):
    put(pg, "a", "b")
    rows = lease(pg, seconds=1.0)
    assert sorted(r[0] for r in run(pg, "lease_renew", *tokens(rows), [3600.0, 7200.0])) == [1, 2]
    assert pg.rows("select round(extract(epoch from run_at - now()) / 3600)::int from work order by id") == [(1,), (2,)]
    assert run(pg, "lease_renew", [1, 2], [rows[0]["token"] + 1, 0], [9.0, 9.0]) == []


def test_b13_a_renewal_never_waits_for_a_row_that_is_being_settled(pg):
    put(pg, "a", "b")
    rows = lease(pg)
    holder, keeper = pg.session(), pg.session(lock_timeout="100ms")
    assert run(holder, "lease_hold", rows[0]["id"], rows[0]["token"]) == [(1,)]
    assert [r[0] for r in run(keeper, "lease_renew", *tokens(rows), [60.0, 60.0])] == [2]


def test_a_held_row_is_claimed_by_nobody_even_when_its_lease_is_over(pg):
    put(pg, "a")
    rows = lease(pg)
    expire(pg, 1)
    holder = pg.session()
    run(holder, "lease_hold", rows[0]["id"], rows[0]["token"])
    assert lease(pg) == []
    holder.rollback()
    assert [r["lapsed"] for r in lease(pg)] == [True]


def lapsed_and_found(pg):
    expire(pg, 1)
    lease(pg)


def lapsed_and_running_again(pg):
    expire(pg, 1)
    lease(pg)
    alone(pg)


def done_elsewhere(pg):
    pg.execute("delete from work where id = 1")


@pytest.mark.parametrize("what", [lapsed_and_found, lapsed_and_running_again, done_elsewhere])
def test_p04_b12_whoever_lost_the_lease_changes_nothing(pg, what):
    put(pg, "a", "b")
    rows = lease(pg)
    what(pg)
    before = pg.rows("select * from work where id = 1")
    assert [r[0] for r in run(pg, "lease_renew", *tokens(rows), [60.0, 60.0])] == [2]
    assert run(pg, "lease_hold", rows[0]["id"], rows[0]["token"]) == []
    assert [r[0] for r in run(pg, "lease_release", *tokens(rows[:1]), False, False)] == []
    assert take(pg, rows) == [2]
    assert pg.rows("select * from work where id = 1") == before


def test_a_lease_that_ran_out_but_was_not_found_may_still_settle(pg):
    put(pg, "a")
    rows = lease(pg, seconds=0.0)
    assert take(pg, rows) == [1]


def test_done_and_failed_events_are_settled_in_one_transaction(pg):
    put(pg, "a", "b", "c")
    rows = lease(pg)
    session = pg.session()
    assert take(session, rows) == [1, 2, 3]
    settle_done(session, rows[:1])
    settle_failed(session, rows[1:2], "retry", delay=60.0, work_class="leased")
    settle_failed(session, rows[2:], "dead", work_class="leased")
    session.commit()
    assert pg.rows("select id, status, attempt from outcome order by id") == [(1, 2, 1), (3, 3, 1)]
    assert pg.rows("select id, class, token, suspect, attempt, last_error from work") == [
        (2, "leased", 0, False, 1, "it failed")]
    assert lease(pg) == []
    expire(pg, 2)
    assert [(r["id"], r["lapsed"], r["attempt"]) for r in lease(pg)] == [(2, False, 1)]


def test_b26_what_did_not_run_is_given_back_at_once(pg):
    put(pg, "a", "b")
    rows = lease(pg)
    assert sorted(r[0] for r in run(pg, "lease_release", *tokens(rows), False, False)) == [1, 2]
    assert pg.rows("select id, token, suspect, attempt from work order by id") == [(1, 0, False, 0), (2, 0, False, 0)]
    assert pg.value("select count(*) from attempt_log") == 0
    assert [(r["id"], r["lapsed"]) for r in lease(pg)] == [(1, False), (2, False)]


def test_b26_an_attempt_that_a_shutdown_interrupts_is_given_back(pg):
    put(pg, "a")
    pg.execute("update work set suspect = true")
    rows = alone(pg)
    assert [r[0] for r in run(pg, "lease_release", *tokens(rows), False, True)] == [1]
    assert pg.rows("select token, suspect, attempt from work") == [(0, True, 0)]
    assert [r["attempt"] for r in alone(pg)] == [1]


def test_what_may_have_killed_its_session_runs_alone(pg):
    put(pg, "a", "b")
    rows = lease(pg)
    run(pg, "lease_release", *tokens(rows), True, False)
    assert pg.rows("select id, token, suspect from work order by id") == [(1, 0, True), (2, 0, True)]
    assert lease(pg) == []


def test_the_cursor_goes_on_behind_lapsed_rows_too(pg):
    put(pg, *"abcd")
    lease(pg, at_most=2, seconds=0.0)
    pg.execute("update work set run_at = now() - interval '1 hour' where token <> 0")
    rows = lease(pg, at_most=3)
    assert [(r["id"], r["lapsed"]) for r in rows] == [(1, True), (2, True), (3, False)]
    assert [r["id"] for r in lease(pg, run_at=rows[-1]["due_at"], after_id=rows[-1]["id"])] == [4]


def test_rows_for_applications_that_nobody_asks_for_any_more_go_to_workers(pg):
    store(pg, event("a", **{"class": "pull"}), event("b", **{"class": "pull"}), event("c", provider="i", **{"class": "pull"}))
    put(pg, "d")
    assert run(pg, "pull_reclass", ["h", "x"], 1) == [(1,)]
    assert run(pg, "pull_reclass", ["h", "x"], 10) == [(1,)]
    assert run(pg, "pull_reclass", ["h", "x"], 10) == [(0,)]
    assert pg.rows("select id, class from work order by id") == [(1, "sql"), (2, "sql"), (3, "pull"), (4, "leased")]


def test_content_is_loaded_in_order_up_to_a_size(pg):
    ids = store(pg, *(event(f"e{n}", body=b'{"n": %d, "x": "%s"}' % (n, b"x" * 1000), event_type="t", ordering_key="k")
                      for n in range(5)))
    order = [ids[3], ids[0], ids[4], ids[1]]

    def load(max_bytes, payloads=True):
        return run(pg, "lease_load", order, max_bytes, payloads)

    rows = load(2500)
    assert [(r[0], r[1], r[2], r[3], r[4]) for r in rows] == [
        (1, True, "e3", "t", "k"), (2, True, "e0", "t", "k"), (3, True, "e4", "t", "k")]
    assert bytes(rows[0][7]).startswith(b'{"n": 3,') and rows[0][8].startswith('{"n": 3,')
    assert rows[0][6] == '{"host": "example.com"}'
    assert len(load(1)) == 1 and len(load(0)) == 1
    assert [r[8] for r in load(10**6, payloads=False)] == [None] * 4


def test_content_that_is_gone_or_kept_elsewhere(pg):
    store(pg, "a", "b", "c")
    pg.execute("insert into event_kept select * from event_store where id in (1, 2)")
    pg.execute("delete from event_store where id in (1, 3)")
    rows = run(pg, "lease_load", [1, 2, 3], 10**6, True)
    assert [(r[0], r[1], r[2]) for r in rows] == [(1, True, "a"), (2, True, "b"), (3, False, None)]

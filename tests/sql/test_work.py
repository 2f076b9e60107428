"""Claiming, settling, and events that run alone: interleavings of two sessions."""

import psycopg2.errors
import pytest

from sql.statements import claim, event, finish, run, settle_done, settle_failed, store


def test_a_claim_is_a_delete_that_a_rollback_undoes(pg):
    store(pg, "e1", "e2", "e3")
    worker = pg.session()
    assert [row["id"] for row in claim(worker, at_most=2)] == [1, 2]
    worker.rollback()
    assert pg.column("select id from work order by id") == [1, 2, 3]


def test_two_workers_never_have_the_same_event_and_never_wait(pg):
    store(pg, "e1", "e2", "e3")
    first, second = pg.session(), pg.session(lock_timeout="100ms")
    assert [row["id"] for row in claim(first, at_most=2)] == [1, 2]
    assert [row["id"] for row in claim(second)] == [3]
    assert claim(pg) == []
    first.rollback()
    assert [row["id"] for row in claim(pg)] == [1, 2]


def test_p04_a_worker_that_dies_leaves_its_events_at_once(pg):
    store(pg, "e1")
    worker = pg.session()
    assert claim(worker)
    pg.execute("select pg_terminate_backend(%s)", worker.pid)
    pg.wait_until("select count(*) from pg_stat_activity where pid = %s", worker.pid, equals=0)
    assert [row["id"] for row in claim(pg)] == [1]


def test_the_cursor_of_a_claim_goes_on_behind_the_last_row(pg):
    store(pg, *(f"e{n}" for n in range(5)))
    session = pg.session()
    first = claim(session, at_most=2)
    second = claim(session, at_most=2, run_at=first[-1]["run_at"], after_id=first[-1]["id"])
    assert [row["id"] for row in first + second] == [1, 2, 3, 4]
    session.rollback()


def test_claims_take_what_is_due_oldest_first_of_one_provider_and_class(pg):
    store(pg, "a", "b", "c", "d", event("x", provider="i"), event("l", **{"class": "leased"}), event("k", lane="k"))
    pg.execute("update work set run_at = now() - interval '1 hour' where id = 3")
    pg.execute("update work set run_at = now() + interval '1 hour' where id = 1")
    pg.execute("update work set suspect = true where id = 2")
    ids = {row[1]: row[0] for row in pg.rows("select id, event_id from ledger")}
    assert [row["id"] for row in claim(pg)] == [3, ids["d"]]
    assert [row["id"] for row in claim(pg, "i")] == [ids["x"]]


def test_done_is_one_row_and_one_count(pg):
    store(pg, "e1", "e2")
    finish(pg)
    assert pg.rows("select id, status, attempt, last_error from outcome order by id") == [(1, 2, 1, None), (2, 2, 1, None)]
    assert pg.value("select count(*) from work") == 0
    assert pg.value("select count(*) from attempt_log") == 0
    assert pg.value("select sum(done) from counters") == 2


def test_a_retry_keeps_what_the_row_knew(pg):
    store(pg, event("e1", event_type="a.b"))
    before = pg.row("select received_at from work")
    session = pg.session()
    run_at = settle_failed(session, claim(session), "retry", delay=3600, error="no luck")
    session.commit()
    row = pg.row("select * from work")
    assert row["received_at"] == before["received_at"] and row["event_type"] == "a.b"
    assert (row["attempt"], row["last_error"], row["suspect"], row["deferred_since"]) == (1, "no luck", False, None)
    assert row["run_at"] == run_at
    assert pg.value("select run_at between now() + interval '59 minutes' and now() + interval '1 hour' from work")
    assert pg.rows("select id, attempt, kind, error, worker from attempt_log") == [(1, 1, "retry", "no luck", "test")]
    assert pg.value("select extract(epoch from took)::float8 from attempt_log") == 0.25
    assert pg.value("select sum(failed) from counters") == 1


@pytest.mark.parametrize("delay, seconds", [(-5.0, 0), (float("nan"), 315360000), (float("inf"), 315360000),
                                            (1e300, 315360000), (0.5, 0.5), (3600.0, 3600)])  # fmt: skip
def test_b10_any_delay_gives_a_time(pg, delay, seconds):
    store(pg, "e1")
    session = pg.session()
    settle_failed(session, claim(session), "retry", delay=delay)
    session.commit()
    assert pg.value("select abs(extract(epoch from run_at - received_at)::float8 - %s) < 60 from work", seconds)


@pytest.mark.parametrize("attempt", [31, 62, 63, 310, 1023, 1100, 2_000_000_000])
def test_b10_any_attempt_number_is_kept(pg, attempt):
    store(pg, "e1")
    pg.execute("update work set attempt = %s", attempt)
    finish(pg, "retry", delay=10)
    assert pg.value("select attempt from work") == attempt + 1


def test_a_deferral_starts_its_clock_once_and_costs_no_attempt(pg):
    store(pg, "e1")
    finish(pg, "defer", counts=False, error="too early")
    since = pg.value("select deferred_since from work")
    assert since is not None
    finish(pg, "defer", counts=False, error="too early")
    finish(pg, "retry")
    assert pg.rows("select attempt, deferred_since from work") == [(1, since)]
    assert pg.column("select kind from attempt_log order by at") == ["defer", "defer", "retry"]
    assert pg.value("select sum(failed) from counters") == 1


def test_a_shutdown_or_deadlock_costs_nothing_and_is_not_logged(pg):
    store(pg, "e1")
    finish(pg, "again", counts=False, error=None)
    assert pg.rows("select attempt, last_error from work") == [(0, None)]
    assert pg.value("select count(*) from attempt_log") == 0
    assert pg.value("select coalesce(sum(failed), 0) from counters") == 0


def test_dead_is_an_outcome_with_its_error(pg):
    store(pg, "e1")
    finish(pg, "dead", error="never")
    assert pg.rows("select status, attempt, last_error from outcome") == [(3, 1, "never")]
    assert pg.value("select count(*) from work") == 0
    assert pg.column("select kind from attempt_log") == ["dead"]


def test_an_error_of_twenty_megabytes_is_stored(pg):
    """Field report B15: whoever cuts it, the statement must not be what fails."""
    store(pg, "e1")
    finish(pg, "retry", error="\u20ac" * 7_000_000)
    assert pg.value("select length(last_error) from work") == 7_000_000
    assert pg.value("select length(error) from top_errors") == 200


def test_due_providers_tells_what_can_be_claimed_and_when_the_next_can(pg):
    store(pg, "e1", event("e2", provider="i"), event("e3", provider="j"))
    pg.execute("update work set run_at = now() + interval '1 hour' where provider = 'i'")
    pg.execute("update work set suspect = true where provider = 'j'")
    store(pg, event("l", provider="l", **{"class": "leased"}))
    at = [("h", "sql"), ("i", "sql"), ("j", "sql"), ("none", "sql"), ("h", "sql"), ("l", "sql"), ("l", "leased"), ("h", "leased")]
    times = ["-infinity"] * 4 + ["infinity"] + ["-infinity"] * 3
    rows = sorted(run(pg, "due_providers", [p for p, _ in at], [q for _, q in at], times, [0] * len(at)))
    assert [row[:3] for row in rows] == [
        (1, True, False), (2, False, False), (3, False, True), (4, False, False), (5, False, False),
        (6, False, False), (7, True, False), (8, False, False),
    ]  # fmt: skip
    assert rows[1][3] > rows[1][4] and rows[0][3] <= rows[0][4]
    assert rows[3][3] is None and rows[4][3] is None


# Events that run alone ----------------------------------------------------------------------------


def suspect_claim(where, attempts=3, delay=60.0, provider="h", work_class="sql"):
    names = ("id", "token", "attempt", "attempt_base", "event_type", "received_at", "deferred_since", "dead")
    rows = run(where, "suspect_claim", provider, attempts, delay, "test", work_class)
    assert len(rows) <= 1
    return dict(zip(names, rows[0])) if rows else None


def make_suspect(pg, *events):
    ids = store(pg, *events)
    assert sorted(row[0] for row in run(pg, "suspect_mark", ids)) == ids
    return ids


def test_suspects_leave_the_normal_claim_and_run_one_at_a_time(pg):
    make_suspect(pg, "e1", "e2")
    assert claim(pg) == []
    one, two = suspect_claim(pg), suspect_claim(pg)
    assert (one["id"], two["id"]) == (1, 2) and one["token"] != two["token"]
    assert one["attempt"] == 1 and not one["dead"]
    assert suspect_claim(pg) is None


def test_marking_leaves_alone_what_runs_elsewhere(pg):
    ids = store(pg, "e1", "e2")
    worker, marker = pg.session(), pg.session(lock_timeout="100ms")
    claim(worker, at_most=1)
    assert run(marker, "suspect_mark", ids) == [(2,)]
    marker.commit()
    worker.rollback()
    assert pg.rows("select id, suspect from work order by id") == [(1, False), (2, True)]
    assert run(pg, "suspect_mark", ids) == [(1,)]


def test_b14_an_attempt_counts_even_if_it_kills_its_worker(pg):
    make_suspect(pg, "e1")
    for attempt in (1, 2, 3):
        started = suspect_claim(pg, delay=0)
        assert (started["attempt"], started["dead"]) == (attempt, False)
        worker = pg.session()
        assert run(worker, "suspect_take", started["id"], started["token"]) == [(1,)]
        assert suspect_claim(pg) is None  # while it runs nobody else gets it
        worker.rollback()  # the worker died
    ended = suspect_claim(pg)
    assert ended["dead"] and ended["id"] == 1
    assert pg.rows("select status, attempt from outcome") == [(3, 3)]
    assert "did not finish" in pg.value("select last_error from outcome")
    assert pg.rows("select attempt, kind from attempt_log order by at, attempt, kind desc") == [
        (1, "lost"), (2, "lost"), (3, "lost"), (3, "dead"),
    ]  # fmt: skip
    assert pg.value("select sum(failed) from counters") == 3


def test_a_worker_that_lost_its_suspect_gets_nothing(pg):
    make_suspect(pg, "e1")
    first = suspect_claim(pg, delay=0)
    second = suspect_claim(pg, delay=0)
    assert second["attempt"] == 2
    assert run(pg, "suspect_take", first["id"], first["token"]) == []
    assert run(pg, "suspect_take", second["id"], second["token"]) == [(1,)]


def test_a_suspect_that_fails_properly_is_a_normal_retry(pg):
    make_suspect(pg, event("e1", event_type="t"))
    row = suspect_claim(pg)
    worker = pg.session()
    run(worker, "suspect_take", row["id"], row["token"])
    settle_failed(worker, [row], "retry", counts=False)
    worker.commit()
    assert pg.rows("select attempt, suspect, token, last_error, event_type from work") == [(1, False, 0, "it failed", "t")]
    assert finish(pg) == [1]
    assert pg.rows("select status, attempt from outcome") == [(2, 2)]


def test_p05_a_suspect_that_succeeds_is_done_once(pg):
    make_suspect(pg, "e1")
    row = suspect_claim(pg)
    worker = pg.session()
    run(worker, "suspect_take", row["id"], row["token"])
    settle_done(worker, [{"id": row["id"], "attempt": row["attempt"] - 1}])
    worker.commit()
    assert pg.rows("select status, attempt from outcome") == [(2, 1)]
    assert run(pg, "suspect_take", row["id"], row["token"]) == []


def test_the_bound_of_a_replayed_event_counts_anew(pg):
    make_suspect(pg, "e1")
    pg.execute("update work set attempt = 12, attempt_base = 12")
    assert suspect_claim(pg, attempts=1, delay=0)["attempt"] == 13
    assert suspect_claim(pg, attempts=1, delay=0)["dead"]


# Handlers -----------------------------------------------------------------------------------------


def test_a_handler_gets_the_event(pg):
    store(pg, event("e1", event_type="a.b", ordering_key="k"))
    e = pg.row("select (e).* from load_event(1, 7) e")
    assert (e["id"], e["provider"], e["event_id"], e["event_type"], e["ordering_key"]) == (1, "h", "e1", "a.b", "k")
    assert e["attempt"] == 7 and e["payload"] == {"id": "e1"} and bytes(e["body"]) == b'{"id": "e1"}'
    assert e["received_at"] == pg.value("select received_at from ledger")
    pg.execute("insert into event_kept select * from event_store; delete from event_store")
    assert pg.value("select (load_event(1, 1)).event_id") == "e1"
    pg.execute("delete from event_kept")
    with pytest.raises(psycopg2.Error, match="is gone") as error:
        pg.value("select load_event(1, 1)")
    assert error.value.pgcode == "IBX02"


def test_loading_an_event_leaves_the_sessions_settings_alone(pg):
    store(pg, "e1")
    session = pg.session()
    session.do("select inboxd.load_event(1, 1)")
    assert session.do("select current_setting('enable_seqscan'), current_setting('plan_cache_mode')") == [("on", "auto")]


@pytest.mark.parametrize("call, state, message, detail", [
    ("defer('too early')", "IBX01", "too early", None),
    ("defer('100% %s', interval '1 day 90.5 seconds')", "IBX01", "100% %s", "86490.500000"),
    ("defer(null)", "IBX01", "deferred", None),
    ("reject('bad % currency')", "IBX02", "bad % currency", None),
    ("reject(null)", "IBX02", "rejected", None),
])  # fmt: skip
def test_defer_and_reject_raise_their_own_states(pg, call, state, message, detail):
    with pytest.raises(psycopg2.Error) as error:
        pg.session().do("select inboxd." + call)
    assert error.value.pgcode == state
    assert error.value.diag.message_primary == message
    assert (error.value.diag.message_detail or None) == detail

"""The pull API: claim, complete, fail, postpone, renew, with and without an order; who lost its lease changes nothing."""

import psycopg2.errors
import pytest

from sql.statements import event, store

POLICY = """insert into provider_policy (provider, class, "order", attempts, backoff_steps, defer, defer_limit, timeout)
            values ('h', 'pull', %s, 3, '{1 minute,1 hour}', '10 minutes', '1 day', '30 s')
            on conflict (provider) do update set "order" = excluded."order" """


@pytest.fixture
def pull(pg):
    pg.execute(POLICY, "serial")
    return pg


def put(pg, *ids, key=None):
    """Stores events as the daemon does, the lane first."""
    for name in ids:
        if key:
            pg.execute("select ready_lanes(array['h'], array[%s])", key)
        store(pg, event(name, **{"class": "pull", "lane": key, "ordering_key": key}))


def claim(where, n=10, lease="1 minute"):
    return [(row[0], row[1]) for row in where.rows("select id, token from claim('h', %s, %s) order by id", n, lease)]


def ids(pg):
    return {row[1]: row[0] for row in pg.rows("select id, event_id from ledger")}


def lapse(pg):
    pg.execute("update work set run_at = now() - interval '1 s' where token <> 0")
    pg.execute("update lane set ready_at = now() - interval '1 s' where taken_id <> 0")
    pg.execute("delete from pull_cursor")  # leases end in the past only here


def test_claim_hands_out_what_is_due_with_its_content(pull):
    put(pull, "e1", "e2", "e3")
    row = pull.row("select * from claim('h')")
    assert list(row) == ["id", "token", "attempt", "event_id", "event_type", "ordering_key", "received_at", "headers", "payload", "body"]
    assert (row["event_id"], row["attempt"], row["payload"], bytes(row["body"])) == ("e1", 1, {"id": "e1"}, b'{"id": "e1"}')
    assert row["received_at"] == pull.value("select received_at from ledger where event_id = 'e1'")
    assert pull.value("select status from webhook_inbox where event_id = 'e1'") == 1
    assert [i for i, _ in claim(pull)] == [ids(pull)["e2"], ids(pull)["e3"]]
    assert claim(pull) == []


def test_complete_is_done_once(pull):
    put(pull, "e1")
    [(id_, token)] = claim(pull)
    assert pull.value("select complete(%s, %s)", id_, token) is True
    assert pull.value("select complete(%s, %s)", id_, token) is False
    assert pull.rows("select status, attempt, last_error from outcome") == [(2, 1, None)]
    assert pull.value("select count(*) from work") == 0 and pull.value("select sum(done) from counters") == 1
    assert pull.column("select event_id from processed_events") == ["e1"]


def test_complete_takes_arrays(pull):
    put(pull, "e1", "e2")
    put(pull, "k1", key="b")
    put(pull, "k2", key="a")
    claimed = claim(pull)
    assert len(claimed) == 4
    assert pull.value("select complete_many(%s, %s)", [i for i, _ in claimed] + [99], [t for _, t in claimed] + [1]) == 4
    assert pull.value("select count(*) from outcome where status = 2") == 4
    assert pull.value("select count(*) from lane") == 0


def test_b12_who_lost_its_lease_changes_nothing(pull):
    put(pull, "e1")
    [(id_, old)] = claim(pull)
    lapse(pull)
    [(again, new)] = claim(pull)
    assert again == id_ and new != old
    before = pull.rows("select * from work")
    assert pull.value("select complete(%s, %s)", id_, old) is False
    assert pull.value("select fail(%s, %s, 'x')", id_, old) is None
    assert pull.value("select postpone(%s, %s, 'x')", id_, old) is None
    assert pull.value("select renew(%s, %s)", id_, old) is None
    assert pull.rows("select * from work") == before
    assert pull.rows("select attempt, kind from attempt_log") == [(1, "lost")]
    assert pull.value("select complete(%s, %s)", id_, new) is True
    assert pull.rows("select status, attempt from outcome") == [(2, 2)]


def test_a_lease_that_is_over_and_nobody_elses_still_counts(pull):
    put(pull, "e1")
    [(id_, token)] = claim(pull)
    lapse(pull)
    assert pull.value("select complete(%s, %s)", id_, token) is True


def test_b14_what_never_finishes_is_dead_at_its_bound(pull):
    put(pull, "e1")
    put(pull, "k1", "k2", key="k")
    for _ in range(3):
        assert len(claim(pull)) == 2
        lapse(pull)
    claim(pull)  # finds both used up
    assert pull.rows("select l.event_id, o.attempt, o.last_error from outcome o join ledger l using (id) where status = 3 order by 1") == [
        (name, 3, "attempt 3 did not finish: its application died, or took longer than the lease") for name in ("e1", "k1")
    ]  # fmt: skip
    assert pull.value("select count(*) from attempt_log where kind = 'lost'") == 6
    assert [i for i, _ in claim(pull)] == [ids(pull)["k2"]]


def test_fail_retries_by_the_backoff_and_ends_dead(pull):
    put(pull, "e1")
    for attempt, (answer, seconds) in enumerate([("retry", 60), ("retry", 3600)], 1):
        [(id_, token)] = claim(pull)
        assert pull.value("select fail(%s, %s, 'no luck')", id_, token) == answer
        assert pull.value("select extract(epoch from run_at - now()) between %s and %s from work", seconds - 5, seconds)
        assert pull.rows("select attempt, token, last_error from work") == [(attempt, 0, "no luck")]
        assert claim(pull) == []
        pull.execute("update work set run_at = now()")
    [(id_, token)] = claim(pull)
    assert pull.value("select fail(%s, %s, 'no luck')", id_, token) == "dead"
    assert pull.rows("select status, attempt, last_error from outcome") == [(3, 3, "no luck")]
    assert pull.value("select sum(failed) from counters") == 3


def test_fail_for_good(pull):
    put(pull, "e1")
    [(id_, token)] = claim(pull)
    assert pull.value("select fail(%s, %s, 'never', true)", id_, token) == "dead"
    assert pull.rows("select status, attempt, last_error from outcome") == [(3, 1, "never")]


def test_b10_exponential_backoff_has_no_overflow(pull):
    pull.execute("update provider_policy set attempts = 2000, backoff_steps = null, backoff_base = '2 s', backoff_cap = '1 hour'")
    put(pull, "e1")
    for attempt in (0, 1, 30, 61, 62, 63, 310, 1022, 1023, 1100):
        pull.execute("update work set run_at = now(), attempt = %s", attempt)
        [(id_, token)] = claim(pull)
        assert pull.value("select fail(%s, %s, 'x')", id_, token) == "retry"
        assert pull.value("select run_at - now() between '0' and '1 hour' from work")
        if attempt == 0:
            assert pull.value("select run_at - now() <= '2 s' from work")


def test_b15_a_long_error_is_cut(pull):
    put(pull, "e1")
    [(id_, token)] = claim(pull)
    pull.value("select fail(%s, %s, %s)", id_, token, "\U0001f600" * 500000)
    assert pull.value("select last_error from work") == "\U0001f600" * 2000 + " [cut, 2000000 bytes in all]"


@pytest.mark.parametrize("reason", [None, ""])
def test_postponed_without_a_reason_is_no_failure(pull, reason):
    put(pull, "e1")
    [(id_, token)] = claim(pull)
    assert pull.value("select postpone(%s, %s, %s)", id_, token, reason) == "defer"
    assert pull.rows("select last_error from work") == [("deferred",)]
    assert pull.rows("select kind, error from attempt_log") == [("defer", "deferred")]


def test_postpone_costs_no_attempt_and_is_bounded(pull):
    put(pull, "e1")
    [(id_, token)] = claim(pull)
    assert pull.value("select postpone(%s, %s, 'too early')", id_, token) == "defer"
    assert pull.rows("select attempt, token, last_error, deferred_since is not null from work") == [(0, 0, "too early", True)]
    assert pull.value("select extract(epoch from run_at - now()) between 595 and 600 from work")
    pull.execute("update work set run_at = now(), deferred_since = now() - interval '23 hours 59 minutes 30 seconds'")
    [(id_, token)] = claim(pull)
    assert pull.value("select postpone(%s, %s, 'too early')", id_, token) == "defer"
    assert pull.value("select run_at - now() between '20 s' and '30 s' from work")
    pull.execute("update work set run_at = now(), deferred_since = now() - interval '1 day'")
    [(id_, token)] = claim(pull)
    assert pull.value("select postpone(%s, %s, 'too early')", id_, token) == "dead"
    assert pull.value("select last_error from outcome") == "deferred for longer than defer_limit (86400 s): too early"


def test_renew_moves_the_end_of_the_lease(pull):
    put(pull, "e1")
    put(pull, "k1", key="k")
    for id_, token in claim(pull):
        assert pull.value("select renew(%s, %s, '1 hour') - now() between '59 minutes' and '1 hour'", id_, token)
    assert pull.value("select bool_and(run_at > now() + interval '50 minutes') from work")
    assert pull.value("select ready_at > now() + interval '50 minutes' from lane")


def test_p06_keys_are_handed_out_one_at_a_time_in_order(pull):
    put(pull, "a1", "a2", "a3", key="a")
    put(pull, "b1", key="b")
    names = {number: name for name, number in ids(pull).items()}
    first = claim(pull)
    assert [names[i] for i, _ in first] == ["a1", "b1"]
    assert claim(pull) == []
    for id_, token in first:
        assert pull.value("select complete(%s, %s)", id_, token)
    second = claim(pull)
    assert [names[i] for i, _ in second] == ["a2"]
    pull.value("select fail(%s, %s, 'x')", *second[0])
    third = claim(pull)  # serial: the failed one stepped aside
    assert [names[i] for i, _ in third] == ["a3"]
    pull.execute("update work set run_at = now() where aside = 'retry'")
    assert claim(pull) == []
    assert pull.value("select complete(%s, %s)", *third[0])
    assert [names[i] for i, _ in claim(pull)] == ["a2"]


def test_p06_strict_waits_for_the_failed_one(pull):
    pull.execute(POLICY, "strict")
    put(pull, "a1", "a2", key="a")
    [(id_, token)] = claim(pull)
    assert pull.value("select fail(%s, %s, 'x')", id_, token) == "retry"
    assert claim(pull) == []
    assert pull.rows("select id, waiting from blocked_keys") == [(id_, 1)]
    pull.execute("update work set run_at = now() where id = %s", id_)
    pull.execute("update lane set ready_at = now()")
    [(again, token)] = claim(pull)
    assert again == id_
    assert pull.value("select fail(%s, %s, 'x', true)", id_, token) == "dead"
    assert [i for i, _ in claim(pull)] == [ids(pull)["a2"]]


def test_p07_a_done_event_wakes_the_postponed_ones_of_its_key(pull):
    put(pull, "a1", "a2", key="a")
    put(pull, "b1", key="b")
    names = {number: name for name, number in ids(pull).items()}
    for id_, token in claim(pull):
        assert pull.value("select postpone(%s, %s, 'too early', '1 hour')", id_, token) == "defer"
    [(id_, token)] = claim(pull)
    assert names[id_] == "a2" and pull.value("select complete(%s, %s)", id_, token)
    assert [names[i] for i, _ in claim(pull)] == ["a1"]


def test_two_applications_never_have_the_same_event_and_never_wait(pull):
    put(pull, "e1", "e2")
    put(pull, "a1", "a2", key="a")
    first = pull.session()
    assert len(first.do("select * from inboxd.claim('h', 2)")) == 2
    second = pull.session(lock_timeout="100ms")
    assert len(second.do("select * from inboxd.claim('h', 10)")) == 1
    first.rollback()
    second.commit()
    pull.wait_until("select count(*) from claim('h', 10)", equals=2)


def cursor(pg):
    return pg.row("select * from pull_cursor order by number desc, token desc limit 1")


def test_b01_a_sweep_finds_what_came_to_be_due_long_before_the_cursor(pull):
    """Rolled back, committed late, or given an old time by hand: nothing stays behind."""
    put(pull, "e1", "e2")
    put(pull, "k1", key="k")
    pull.execute("update work set run_at = now() - interval '1 hour'; update lane set ready_at = now() - interval '1 hour'")
    gone = pull.session()
    assert len(gone.do("select * from inboxd.claim('h', 10)")) == 3
    put(pull, "e3")
    assert [i for i, _ in claim(pull)] == [ids(pull)["e3"]]
    gone.rollback()
    pull.wait_until("select count(*) from claim('h', 10)", equals=3)


def test_what_is_committed_late_is_found_by_a_claim_that_sweeps_nothing(pull):
    put(pull, "e1")
    assert len(claim(pull)) == 1
    late = pull.session()
    late.do("insert into work (id, provider, class, received_at) select 77, 'h', 'pull', now()")
    late.do("insert into ledger (provider, event_id, id, body_sha256) values ('h', 'late', 77, '')")
    put(pull, "e2")
    pull.execute("update pull_cursor set swept_at = now(), took = '1 day'")
    assert len(claim(pull)) == 1
    late.commit()
    pull.wait_until("select count(*) from claim('h', 10)", equals=1)
    assert cursor(pull)["took"] == pull.value("select interval '1 day'")


def test_a_clock_that_was_set_back_makes_the_next_claim_a_sweep(pull):
    put(pull, "e1")
    claim(pull)
    pull.execute("update pull_cursor set run_at = now() + interval '1 day', made_at = now() + interval '1 day', swept_at = now() + interval '1 day'")
    put(pull, "e2")
    assert len(claim(pull)) == 1


def test_the_cursor_leaves_few_rows_and_waits_for_nobody(pull):
    """Beside a claim in a transaction that stays open, too, and in transactions with one snapshot."""
    put(pull, *(f"e{n}" for n in range(120)))
    open_one = pull.session()
    assert len(open_one.do("select * from inboxd.claim('h')")) == 1
    other = pull.session(lock_timeout="100ms")
    for n in range(100):
        if n % 10 == 0:
            other.connection.set_session(isolation_level="SERIALIZABLE" if n % 20 else "READ COMMITTED")
        assert len(other.do("select * from inboxd.claim('h')")) == 1
        other.commit()
        pull.execute("update pull_cursor set made_at = made_at - interval '1 s'")
    open_one.commit()
    assert pull.value("select count(*) from pull_cursor") <= 25
    assert cursor(pull)["number"] >= 90


def test_an_application_that_finds_nothing_writes_at_its_sweeps_only(pull):
    assert claim(pull) == []
    pull.execute("update pull_cursor set took = '1 day', made_at = made_at - interval '1 h'")
    before = pull.rows("select * from pull_cursor")
    assert claim(pull) == [] and pull.rows("select * from pull_cursor") == before and len(before) == 1


def test_b02_never_more_than_asked(pull):
    put(pull, *(f"e{n}" for n in range(20)))
    for n in range(20):
        put(pull, f"k{n}", key=f"k{n}")
    for setting in ("enable_hashjoin", "enable_mergejoin", "enable_hashagg", "enable_sort", "enable_material"):
        pull.execute(f"alter database {pull.name} set {setting} = off")
    session = pull.session()
    assert [len(session.do(f"select * from inboxd.claim('h', {n})")) for n in (1, 7, 25, 100)] == [1, 7, 25, 7]


def test_neither_a_backlog_with_keys_nor_one_without_keeps_the_other_waiting(pull):
    """Which comes first is drawn for each claim: that one of them is not drawn 64 times happens to nobody."""
    put(pull, *(f"free{n}" for n in range(200)))
    for n in range(200):
        put(pull, f"key{n}", key=f"k{n}")
    assert {pull.value("select event_id from claim('h')")[:3] for _ in range(64)} == {"fre", "key"}


def test_nothing_is_handed_out_of_a_paused_provider(pull):
    put(pull, "e1")
    pull.execute("insert into paused (provider) values ('h')")
    assert claim(pull) == []
    pull.execute("delete from paused")
    assert len(claim(pull)) == 1


def test_events_of_other_classes_and_providers_are_left_alone(pull):
    store(pull, event("s", **{"class": "sql"}), event("l", **{"class": "leased"}), event("p", provider="i", **{"class": "pull"}))
    assert claim(pull) == []


@pytest.mark.parametrize("call, text", [
    ("claim('typo')", 'no daemon has a provider "typo" in its configuration'), ("claim('h', 0)", "n has to be from 1 to 1000"),
    ("claim('h', 1001)", "n has to be from 1 to 1000"), ("claim('h', null)", "n has to be"),
    ("claim('h', 1, '0 s')", "lease has to be from 1 second to 1 day"), ("claim('h', 1, '2 days')", "lease has to be"),
    ("renew(1, 1, null)", "lease has to be"),
])  # fmt: skip
def test_mistakes_are_said(pull, call, text):
    with pytest.raises(psycopg2.Error, match=text):
        pull.rows(f"select * from {call}")


def test_b09_ids_beyond_two_to_the_31(pull):
    for start in (3_000_000_000, 2**53 + 1):
        pull.execute("select setval('event_id_seq', %s)", start)
        pull.execute("select setval('token_seq', %s)", start)
        pull.execute("select make_partitions(1)")
        put(pull, f"e{start}")
        put(pull, f"k{start}", key="k")
        for id_, token in claim(pull):
            assert id_ > start and token > start
            assert pull.value("select complete(%s, %s)", id_, token)


def test_an_application_needs_nothing_but_the_functions(pull):
    put(pull, "e1")
    pull.execute("create role pull_app login in role inboxd_app")
    try:
        session = pull.session()
        session.do("set role pull_app")
        [row] = session.do("select id, token from inboxd.claim('h')")
        assert session.do(f"select inboxd.complete({row[0]}, {row[1]})") == [(True,)]
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            session.do("select * from inboxd.work")
        session.rollback()
    finally:
        pull.execute("drop role pull_app")

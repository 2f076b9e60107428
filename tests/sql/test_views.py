"""The views tell the truth, with the names, columns and codes of the articles."""

import contextlib
import re
import threading

import pytest

from sql.statements import claim, event, finish, run, settle_failed, store

READY, PROCESSING, DONE, DEAD = 0, 1, 2, 3

# The operator queries of the articles, verbatim.
OPERATOR_QUERIES = [
    "select count(*) from webhook_inbox where status = 0 and next_attempt_at <= now();",
    "select count(*) from webhook_inbox where status = 1;",
    "select left(last_error, 200) as err, count(*) from webhook_inbox where status in (0,3) and last_error is not null"
    " group by 1 order by 2 desc limit 20;",
    "select now() - min(received_at) as oldest_age from webhook_inbox where status in (0,1);",
]


def status(pg):
    return dict(pg.rows("select event_id, status from webhook_inbox"))


def test_the_columns_of_the_articles(pg):
    columns = pg.column(
        "select column_name::text from information_schema.columns"
        " where table_schema = 'inboxd' and table_name = 'webhook_inbox' order by ordinal_position"
    )
    assert columns == [
        "id", "provider", "event_id", "received_at", "headers", "payload", "status", "attempt", "next_attempt_at",
        "last_error", "processed_at", "deferred_since", "event_type", "ordering_key", "payload_repaired", "body",
        "signature_verified", "source_ip", "event_time",
    ]  # fmt: skip
    assert pg.column(
        "select column_name::text from information_schema.columns"
        " where table_schema = 'inboxd' and table_name = 'processed_events' order by ordinal_position"
    ) == ["provider", "event_id", "processed_at"]  # fmt: skip


def test_an_event_through_its_life(pg):
    store(pg, event("e1", event_type="a.b", ordering_key="k", source_ip="192.0.2.1"))
    row = pg.row("select * from webhook_inbox")
    assert (row["id"], row["provider"], row["event_id"], row["status"], row["attempt"]) == (1, "h", "e1", READY, 0)
    assert row["next_attempt_at"] == row["received_at"] and row["processed_at"] is None and row["last_error"] is None
    assert (row["headers"], row["payload"], bytes(row["body"])) == ({"host": "example.com"}, {"id": "e1"}, b'{"id": "e1"}')
    assert (row["event_type"], row["ordering_key"], row["source_ip"]) == ("a.b", "k", "192.0.2.1")
    assert row["signature_verified"] is True and row["payload_repaired"] is False

    worker = pg.session()
    rows = claim(worker)
    assert status(pg) == {"e1": PROCESSING}
    settle_failed(worker, rows, "retry", error="no luck", delay=3600)
    assert status(pg) == {"e1": PROCESSING}
    worker.commit()
    again = pg.row("select * from webhook_inbox")
    assert (again["status"], again["attempt"], again["last_error"]) == (READY, 1, "no luck")
    assert again["next_attempt_at"] > again["received_at"]

    pg.execute("update work set run_at = now()")
    finish(pg)
    done = pg.row("select * from webhook_inbox")
    assert (done["status"], done["attempt"], done["last_error"], done["next_attempt_at"]) == (DONE, 2, None, None)
    assert done["processed_at"] is not None
    for column in ("id", "event_id", "received_at", "payload", "event_type", "ordering_key", "source_ip"):
        assert done[column] == row[column]
    assert pg.rows("select * from processed_events") == [("h", "e1", done["processed_at"])]


def test_dead_events_and_their_content_in_event_kept(pg):
    store(pg, event("e1", event_type="a.b"))
    finish(pg, "dead", error="never")
    pg.execute("insert into event_kept select * from event_store; delete from event_store")
    row = pg.row("select * from webhook_inbox")
    assert (row["status"], row["last_error"], row["payload"], row["event_type"]) == (DEAD, "never", {"id": "e1"}, "a.b")
    assert pg.value("select count(*) from processed_events") == 0
    letter = pg.row("select * from dead_letters")
    assert (letter["event_id"], letter["event_type"], letter["attempt"], letter["last_error"]) == ("e1", "a.b", 1, "never")


def test_an_event_that_is_in_both_places_is_one_row(pg):
    store(pg, "e1")
    pg.execute("insert into event_kept select * from event_store")
    assert pg.rows("select event_id, payload from webhook_inbox") == [("e1", {"id": "e1"})]


def test_recent_events_are_the_rows_of_webhook_inbox(pg):
    store(pg, *"abcdefgh")
    finish(pg, at_most=2)
    finish(pg, "dead", at_most=2)
    finish(pg, "retry", at_most=2)
    worker = pg.session()
    claim(worker, at_most=1)
    inbox = pg.column("select to_jsonb(i) from webhook_inbox i order by id")
    assert len(inbox) == 8
    assert pg.column("select to_jsonb(i) from recent_events i order by id") == inbox


def test_done_events_outlive_their_content(pg):
    store(pg, "e1")
    finish(pg)
    pg.execute("delete from event_store")
    row = pg.row("select * from webhook_inbox")
    assert (row["event_id"], row["status"], row["payload"], row["headers"]) == ("e1", DONE, None, None)


def test_processing_is_what_a_running_transaction_holds(pg):
    store(pg, "e1", "e2", "e3", "e4")
    one, two, three = pg.session(), pg.session(), pg.session()
    claim(one, at_most=1)
    two.do("select 1")
    two.do("savepoint s")  # a claim below a savepoint has a transaction id of its own
    claim(two, at_most=1)
    claim(three, at_most=1)
    three.rollback()
    assert status(pg) == {"e1": PROCESSING, "e2": PROCESSING, "e3": READY, "e4": READY}
    assert pg.value("select count(*) from webhook_inbox where status = 1") == 2
    assert pg.value("select count(*) from webhook_inbox where status = 0 and next_attempt_at <= now()") == 2
    pg.execute("select pg_terminate_backend(%s)", one.pid)
    pg.wait_until("select count(*) from webhook_inbox where status = 1", equals=1)


def test_no_event_is_missed_or_counted_twice_while_it_changes(pg):
    """Claims begin and end at any instant of a query; at every one of them each event has one status."""
    ready(pg, 400)
    stop = threading.Event()

    def claim_and_give_back():
        with contextlib.closing(pg.connect()) as connection, connection.cursor() as cursor:
            while not stop.is_set():
                cursor.execute("delete from inboxd.work where id in (select id from inboxd.work limit 300)")
                connection.rollback()

    claimer = threading.Thread(target=claim_and_give_back)
    claimer.start()
    try:
        counts = {pg.value("select count(*) from webhook_inbox") for _ in range(400)}
    finally:
        stop.set()
        claimer.join()
    assert counts == {400}


def test_processing_is_what_a_live_lane_lease_has_taken(pg):
    run(pg, "store_lanes", ["h"], ["k"])
    store(pg, *(event(f"e{n}", ordering_key="k", lane="k") for n in (1, 2, 3)))
    pg.execute("update lane set ready_at = now() + interval '15 s', taken_id = 2")
    assert status(pg) == {"e1": PROCESSING, "e2": PROCESSING, "e3": READY}
    pg.execute("update lane set ready_at = now() - interval '1 s'")
    assert status(pg) == {"e1": READY, "e2": READY, "e3": READY}


def test_operator_queries_count_right(pg):
    store(pg, "e1", "e2", "e3", "e4", "e5")
    finish(pg, at_most=1)
    finish(pg, "dead", at_most=1, error="x" * 300)
    finish(pg, "retry", at_most=1, error="x" * 300, delay=0)
    finish(pg, "retry", at_most=1, error="y", delay=3600)
    worker = pg.session()
    claim(worker, at_most=1)
    ready, processing, errors, oldest = (pg.rows(query) for query in OPERATOR_QUERIES)
    assert (ready, processing) == ([(1,)], [(1,)])
    assert errors == [("x" * 200, 2), ("y", 1)]
    assert oldest[0][0] is not None


def test_backlog_has_a_row_a_provider(pg):
    store(pg, *"abcdef", event("x", provider="i"))
    run(pg, "daemon_seen", "d1", "host", 1, "0", 4, ["h", "idle"], 0)
    finish(pg, at_most=1)
    finish(pg, "dead", at_most=1)
    finish(pg, "retry", at_most=1, delay=3600)
    finish(pg, "defer", at_most=1, delay=3600)
    worker = pg.session()
    claim(worker, at_most=1)
    rows = {row[0]: row[1:] for row in pg.rows(
        "select provider, ready, scheduled, deferred, processing, dead, done_last_hour, failed_last_hour from backlog"
    )}  # fmt: skip
    assert rows == {"h": (1, 1, 1, 1, 1, 1, 2), "i": (1, 0, 0, 0, 0, 0, 0), "idle": (0,) * 7}
    h = pg.row("select oldest_age > '0' as old, drain_estimate from backlog where provider = 'h'")
    assert h["old"] and h["drain_estimate"].total_seconds() == 600
    assert pg.value("select drain_estimate from backlog where provider = 'i'") is None
    assert pg.value("select drain_estimate from backlog where provider = 'idle'").total_seconds() == 0


def test_stuck_says_why(pg):
    store(pg, "a", "b", event("x", provider="unserved"), event("y", provider="late"))
    run(pg, "daemon_seen", "d1", "host", 1, "0", 4, ["h"], 0)
    run(pg, "daemon_seen", "d2", "host", 1, "0", 0, ["unserved"], 0)  # it only accepts
    run(pg, "daemon_seen", "d3", "host", 1, "0", 4, ["late"], 0)
    pg.execute("update daemon set seen_at = now() - interval '1 minute' where instance = 'd3'")
    assert pg.rows("select provider, event_id, why from stuck order by 1") == [
        ("late", "y", "no living daemon works for this provider"),
        ("unserved", "x", "no living daemon works for this provider"),
    ]
    pg.execute("update work set run_at = now() - interval '2 minutes' where provider = 'h'")
    assert pg.rows("select event_id, why from stuck where provider = 'h' order by 1") == [
        ("a", "due for more than a minute: the workers are behind, or stopped"),
        ("b", "due for more than a minute: the workers are behind, or stopped"),
    ]
    worker = pg.session()
    claim(worker, at_most=1)
    assert pg.column("select event_id from stuck where provider = 'h'") == ["b"]


def test_daemons_come_and_go(pg):
    run(pg, "daemon_seen", "d1", "host", 1, "1.0", 4, ["h"], 0)
    pg.execute("update daemon set seen_at = now() - interval '2 hours', started_at = now() - interval '3 hours'")
    run(pg, "daemon_seen", "d2", "host", 2, "1.0", 4, ["h"], 0)
    assert pg.column("select instance from daemon") == ["d2"]
    run(pg, "daemon_seen", "d2", "host", 2, "1.0", 2, ["h", "i"], 0)
    assert pg.rows("select workers, providers from daemon") == [(2, ["h", "i"])]
    run(pg, "daemon_gone", "d2")
    assert pg.value("select count(*) from daemon") == 0


def test_top_errors_duplicates_throughput(pg):
    store(pg, "a", "b", "c")
    store(pg, "a")
    finish(pg, "dead", at_most=1, error="e" * 300)
    finish(pg, "retry", at_most=2, error="e" * 300)
    assert pg.rows("select provider, error, events, dead from top_errors") == [("h", "e" * 200, 3, 1)]
    assert pg.row("select * from duplicates") | {"share": None} == {
        "provider": "h", "stored": 3, "duplicate": 1, "differing": 0, "share": None,
    }  # fmt: skip
    assert float(pg.value("select share from duplicates")) == 0.25
    assert pg.rows("select provider, sum(stored), sum(duplicate), sum(failed) from throughput group by 1") == [("h", 3, 1, 3)]


def test_horizon_shows_the_oldest_snapshot(pg):
    reader = pg.session()
    reader.connection.set_session(isolation_level="REPEATABLE READ")
    reader.do("select count(*) from work")
    store(pg, "a")
    store(pg, "b")
    assert pg.rows("select kind, state, age >= 2 from horizon where pid = %s", reader.pid) == [
        ("session", "idle in transaction", True)
    ]
    reader.rollback()
    assert pg.rows("select 1 from horizon where pid = %s", reader.pid) == []


def test_an_operator_sees_the_views_and_may_write_no_table(pg, shared_cluster):
    shared_cluster.execute(
        "do $$ begin create role ops_test login in role inboxd_ops; exception when duplicate_object then null; end $$"
    )
    store(pg, "a")
    ops = pg.session(user="ops_test")
    views = pg.column("select table_name::text from information_schema.views where table_schema = 'inboxd'")
    assert {"webhook_inbox", "processed_events", "backlog", "stuck", "top_errors", "dead_letters", "duplicates",
            "repeated_bodies", "throughput", "horizon", "secret_use"} <= set(views)  # fmt: skip
    for view in views:
        ops.do(f"select * from inboxd.{view}")
    for query in OPERATOR_QUERIES:
        ops.do(query)
    assert ops.do("select replay(1)")
    ops.commit()
    for statement in ("delete from work", "update event_store set payload = null", "insert into outcome values (1)"):
        with pytest.raises(Exception, match="permission denied"):
            ops.do(statement)
        ops.rollback()


# Cost ---------------------------------------------------------------------------------------------


def finished(pg, n, first=1):
    """Events that are done, n of them, with small payloads."""
    pg.execute(
        "with e as (select id from generate_series(%s, %s) id), l as ("
        " insert into ledger (provider, event_id, id, received_at, body_sha256)"
        " select 'p' || id %% 5, 'evt_' || id, id, now() - interval '1 day', '\\x00' from e), o as ("
        " insert into outcome (id, provider, status, attempt, processed_at)"
        " select id, 'p' || id %% 5, 2, 1, now() - interval '1 day' from e)"
        " insert into event_store (id, provider, event_id, received_at, headers, payload_repaired, signature_verified)"
        " select id, 'p' || id %% 5, 'evt_' || id, now() - interval '1 day', '{}', false, true from e",
        first, first + n - 1,
    )  # fmt: skip
    pg.execute("select setval('event_id_seq', %s)", first + n - 1)


def ready(pg, n):
    pg.execute(
        "with e as (select nextval('event_id_seq') as id from generate_series(1, %s)), l as ("
        " insert into ledger (provider, event_id, id, body_sha256) select 'p' || id %% 5, 'evt_' || id, id, '\\x00' from e)"
        " insert into work (id, provider, class, received_at, last_error)"
        " select id, 'p' || id %% 5, 'sql', now(), case when id %% 10 = 0 then 'error ' || id %% 7 end from e", n,
    )  # fmt: skip


VIEWS = [
    f"select * from {view}"
    for view in ("backlog", "stuck", "top_errors", "dead_letters", "duplicates", "repeated_bodies",
                 "throughput", "horizon")
]
POINT = [
    "select * from webhook_inbox where id = 500",
    "select * from webhook_inbox where provider = 'p0' and event_id = 'evt_500'",
    "select * from processed_events where provider = 'p0' and event_id = 'evt_500'",
]
NEWEST = [
    "select * from recent_events order by id desc limit 20",
    "select id, event_id, status from recent_events where provider = 'p3' order by id desc limit 20",
]


def plan_of(pg, query):
    return "\n".join(pg.column("explain (analyze, buffers) " + query))


def pages(plan):
    """Pages that the statement touched: a measure of its cost that no other load changes."""
    return sum(int(n) for n in re.findall(r"(?:hit|read)=(\d+)", plan.split("\n")[1]))


def check_cost(pg):
    for queries, most in ((OPERATOR_QUERIES, 1_500), (VIEWS, 60_000), (POINT, 200), (NEWEST, 2_000)):
        for query in queries:
            plan = plan_of(pg, query)
            assert not re.search(r"Seq Scan on (outcome|ledger|event_store_0)", plan), plan
            assert queries is not NEWEST or "Sort" not in plan, plan
            assert pages(plan) < most, plan
            assert "JIT" not in plan, plan


def test_b04_operator_queries_do_not_look_at_finished_rows(pg):
    finished(pg, 20_000)
    ready(pg, 500)
    finish(pg, "dead", provider="p1", at_most=20, error="bad")
    pg.execute("vacuum analyze inboxd.outcome, inboxd.work, inboxd.ledger, inboxd.event_store")
    check_cost(pg)


@pytest.mark.slow
def test_p12_operator_queries_beside_a_million_finished_rows(pg):
    finished(pg, 1_000_000)
    ready(pg, 10_000)
    pg.execute("vacuum analyze inboxd.outcome, inboxd.work, inboxd.ledger, inboxd.event_store")
    check_cost(pg)
    for query in OPERATOR_QUERIES + VIEWS + POINT + NEWEST:
        plan = plan_of(pg, query)
        print(re.search(r"Execution Time: .*", plan)[0], "|", query[:100])

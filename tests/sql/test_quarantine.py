"""The quarantine's table, bounds, functions and rights."""

import hashlib

import psycopg2.errors
import pytest

from sql.statements import prepare, run
from support import wait_until


def put(where, *rows, provider="h"):
    """Keeps rows of (source_ip, body) as a daemon does, without the bounds."""
    count = len(rows)
    bodies = [body for _, body in rows]
    run(
        where, "quarantine_put", [provider] * count, [0.0] * count, ["bad signature"] * count, [source for source, _ in rows],
        ["POST"] * count, ["/webhooks/h"] * count, ["{}"] * count, [b"POST /webhooks/h\nX: \0\n"] * count, [b"s" * 16] * count,
        [b"h" * 32] * count, bodies, [hashlib.sha256(body).digest() for body in bodies], [len(body) for body in bodies],
        [None] * count,
    )  # fmt: skip


def sources(pg):
    return dict(pg.rows("select host(source_ip), count(*) from quarantine group by 1"))


def test_the_newest_of_the_noisiest_goes_first(pg):
    put(pg, *[("192.0.2.1", b"a%d" % n) for n in range(8)], ("192.0.2.2", b"b"), *[("192.0.2.3", b"c%d" % n) for n in range(4)])
    assert pg.value("select trim_quarantine('h', 13, 1000)") == 0
    assert pg.value("select trim_quarantine('h', 10, 1000)") == 3
    assert sources(pg) == {"192.0.2.1": 5, "192.0.2.2": 1, "192.0.2.3": 4}
    assert pg.value("select trim_quarantine('h', 7, 1000)") == 3
    assert sources(pg) == {"192.0.2.1": 3, "192.0.2.2": 1, "192.0.2.3": 3}
    assert [bytes(body) for body in pg.column("select body from quarantine where source_ip = '192.0.2.1' order by id")] == [b"a0", b"a1", b"a2"]
    assert pg.value("select sum(quarantine_dropped) from throughput") == 6
    assert pg.value("select sum(quarantined) from throughput") == 13


def test_bytes_count_by_source_too(pg):
    put(pg, *[("192.0.2.1", b"a" * 100) for _ in range(5)], ("192.0.2.2", b"b" * 90), ("192.0.2.2", b"b" * 90))
    assert pg.value("select trim_quarantine('h', 100, 500)") == 2
    assert sources(pg) == {"192.0.2.1": 3, "192.0.2.2": 2}
    assert pg.value("select sum(bytes) from quarantine") == 480


def test_a_source_is_an_ipv4_address_or_an_ipv6_64(pg):
    rows = [("2001:db8:1:1::%x" % n, b"x") for n in range(5)] + [("2001:db8:1:2::1", b"y"), (None, b"z"), ("::ffff:1.2.3.4", b"v")]
    put(pg, *rows)
    assert pg.value("select trim_quarantine('h', 5, 1000)") == 3
    kept = pg.column("select body from quarantine order by id")
    assert sorted(bytes(body) for body in kept) == [b"v", b"x", b"x", b"y", b"z"]


def test_what_is_old_or_can_be_done_without_gives_way(pg):
    put(pg, *[(f"192.0.2.{n}", b"%d" % n) for n in range(1, 9)])
    pg.execute("update quarantine_store set received_at = now() - interval '4 days' where id in (1, 2)")
    pg.execute("update quarantine_store set reason = 'different duplicate' where id in (3, 4)")
    pg.execute("update quarantine_store set released_at = now(), outcome = 'stored' where id = 5")
    left = []
    for rows in (7, 6, 5, 4, 3, 2):
        pg.value("select trim_quarantine('h', %s, 1000)", rows)
        left.append("".join(str(i) for i in pg.column("select id from quarantine order by id")))
    assert left == ["1234678", "123678", "12678", "1678", "678", "67"]
    put(pg, ("192.0.2.9", b"9"))
    assert pg.value("select trim_quarantine('h', 3, 2)") == 1
    assert pg.column("select id from quarantine order by id") == [6, 7]


def test_bounds_are_a_providers_own_and_spare_what_is_being_released(pg):
    put(pg, *[("192.0.2.1", b"%d" % n) for n in range(5)])
    put(pg, ("192.0.2.1", b"other"), provider="g")
    pg.value("select release(max(id)) from quarantine where provider = 'h'")
    assert pg.value("select trim_quarantine('h', 2, 1000)") == 2
    assert pg.rows("select provider, state, count(*) from quarantine group by 1, 2 order by 1, 2") == [
        ("g", "kept", 1), ("h", "kept", 2), ("h", "marked", 1),
    ]  # fmt: skip


def test_two_daemons_that_trim_at_once_keep_the_bound(pg):
    first, second = pg.session(), pg.session()
    for session, source in ((first, "192.0.2.1"), (second, "192.0.2.2")):
        put(session, *[(source, b"%d" % n) for n in range(6)])
    first.do("select trim_quarantine('h', 6, 1000)")
    waiting = second.start("select trim_quarantine('h', 6, 1000)")
    second.wait_blocked()
    first.commit()
    assert waiting.result() == [(6,)]
    second.commit()
    assert sources(pg) == {"192.0.2.1": 3, "192.0.2.2": 3}


def test_purge(pg):
    put(pg, *[("192.0.2.1", b"%d" % n) for n in range(5)])
    pg.execute("update quarantine_store set received_at = now() - interval '2 days' where id <= 4")
    assert pg.value("select purge_quarantine('1 day', 3)") == 3
    assert pg.value("select purge_quarantine('1 day', 3)") == 1
    assert pg.value("select purge_quarantine('1 day', 3)") == 0
    assert [bytes(body) for body in pg.column("select body from quarantine")] == [b"4"]


def test_release_only_marks_and_records_who(pg):
    put(pg, ("192.0.2.1", b"1"))
    assert pg.value("select release(1)") == "1 is marked, a daemon takes it from here"
    assert pg.value("select release(1, true)") == "1 is marked, a daemon takes it from here"
    assert pg.rows("select state, released_by, unverified, released_at <= now(), result from quarantine") == [
        ("marked", "postgres", True, True, None)
    ]
    assert pg.rows("select who, action, id, detail from audit order by at") == [
        ("postgres", "release", 1, "bad signature"), ("postgres", "release unverified", 1, "bad signature"),
    ]  # fmt: skip
    with pytest.raises(psycopg2.errors.NoDataFound, match="there is no refused request 4711"):
        pg.value("select release(4711)")


def test_what_was_refused_again_may_be_released_again_and_what_was_stored_not(pg):
    put(pg, ("192.0.2.1", b"1"), ("192.0.2.1", b"2"))
    pg.value("select release(id) from quarantine")
    run(pg, "quarantine_settle", 1, "refused", "refused: bad signature", None, False)
    run(pg, "quarantine_settle", 2, "stored", "stored as event 7", 7, True)
    assert pg.rows("select state, result, event, body is null, bytes from quarantine order by id") == [
        ("refused", "refused: bad signature", None, False, 1), ("stored", "stored as event 7", 7, True, 1),
    ]  # fmt: skip
    assert pg.rows("select head is null, salt is null, concealed is null from quarantine_store order by id") == [(False,) * 3, (True,) * 3]
    pg.value("select release(1)")
    assert pg.value("select release(2)") == "2 was released before: stored as event 7"
    assert pg.rows("select state, result from quarantine order by id") == [("marked", None), ("stored", "stored as event 7")]


def test_a_different_duplicate_is_not_released(pg):
    put(pg, ("192.0.2.1", b"1"))
    pg.execute("update quarantine_store set reason = 'different duplicate', event = 7")
    with pytest.raises(psycopg2.errors.ObjectNotInPrerequisiteState, match="its id is taken by event 7"):
        pg.value("select release(1)")


def test_drop(pg):
    put(pg, ("192.0.2.1", b"1"), ("192.0.2.1", b"2"))
    holder = pg.session()
    holder.do("select from quarantine_store where id = 2 for update")
    assert pg.value("select drop_quarantined(1, 'a test')") == "1 is dropped"
    with pytest.raises(psycopg2.errors.NoDataFound):
        pg.value("select drop_quarantined(1)")
    with pytest.raises(psycopg2.errors.ObjectInUse, match="a daemon is releasing it now"):
        pg.value("select drop_quarantined(2)")
    assert pg.rows("select action, id, detail from audit") == [("drop_quarantined", 1, "a test")]


def test_two_daemons_take_different_rows(pg):
    put(pg, *[("192.0.2.1", b"%d" % n) for n in range(3)], provider="h")
    put(pg, ("192.0.2.1", b"other"), provider="g")
    pg.value("select release(id) from quarantine order by id")
    first, second = pg.session(), pg.session()
    assert [row[0] for row in run(first, "quarantine_take", ["h", "n"], 0)] == [1]
    assert [row[0] for row in run(second, "quarantine_take", ["h", "n"], 0)] == [2]
    third = pg.session()
    assert [row[0] for row in run(third, "quarantine_take", ["h"], 3)] == []
    assert [row[0] for row in run(third, "quarantine_take", ["g"], 0)] == [4]


def test_taking_reads_only_what_is_marked(pg):
    put(pg, *[("192.0.2.1", b"%d" % n) for n in range(500)])
    pg.execute("analyze quarantine_store")
    plan = prepare(pg.session(), "quarantine_take", enable_seqscan="off")("null", "null")
    assert "quarantine_marked" in plan and "Seq Scan" not in plan and "Sort" not in plan


def test_counters_fold_with_what_the_quarantine_counts(pg):
    pg.execute(
        "insert into counters (provider, minute, quarantined, quarantine_dropped)"
        " select 'h', date_trunc('minute', now()) - interval '5 minutes', 2, 3 from generate_series(1, 4)"
    )
    assert pg.value("select fold_counters()") == 3
    assert pg.rows("select quarantined, quarantine_dropped, folded from counters") == [(8, 12, True)]
    assert pg.rows("select quarantined, quarantine_dropped from throughput") == [(8, 12)]


def test_operators_see_no_hashes_and_the_daemon_decides_nothing(pg):
    put(pg, ("192.0.2.1", b"1"))
    pg.execute("do $$ begin create role q_ops login; exception when duplicate_object then null; end $$; grant inboxd_ops to q_ops")
    ops, daemon = pg.session("q_ops"), pg.session("inboxd_test")
    assert ops.do("select id, state from quarantine") == [(1, "kept")]
    ops.do("select release(1)")
    ops.commit()
    assert pg.value("select released_by from quarantine") == "q_ops"
    for session, sql in (
        (ops, "select concealed from quarantine_store"), (ops, "delete from quarantine_store"), (daemon, "select release(1)"),
        (daemon, "select drop_quarantined(1)"),
    ):  # fmt: skip
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            session.do(sql)
        session.rollback()
    assert daemon.do("select id from quarantine_store") == [(1,)]
    wait_until(lambda: pg.value("select count(*) from audit where who = 'q_ops'") == 1, 5)
    columns = pg.column("select column_name from information_schema.columns where table_schema = 'inboxd' and table_name = 'quarantine'")
    assert not {"head", "salt", "concealed"} & set(columns)

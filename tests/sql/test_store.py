"""Storing: once per (provider, event_id), whole batches, what the bytes were."""

import json

import psycopg2.errors
import pytest

from sql.statements import event, finish, literal, run, store, store_args


def test_a_batch_is_stored_in_four_tables(pg):
    ids = store(pg, event("e1", event_type="a.b", ordering_key="k", source_ip="2001:db8::1"), event("e2"))
    assert ids == [1, 2]
    assert pg.rows("select provider, event_id, id from ledger order by id") == [("h", "e1", 1), ("h", "e2", 2)]
    row = pg.row("select * from event_store where id = 1")
    assert (row["event_type"], row["ordering_key"], row["source_ip"]) == ("a.b", "k", "2001:db8::1")
    assert bytes(row["body"]) == b'{"id": "e1"}' and row["payload"] == {"id": "e1"}
    assert row["headers"] == {"host": "example.com"}
    assert not row["payload_repaired"] and row["signature_verified"]
    assert pg.rows("select id, class, attempt, event_type, lane from work order by id") == [
        (1, "sql", 0, "a.b", None),
        (2, "sql", 0, None, None),
    ]
    assert pg.rows("select provider, stored, duplicate from counters") == [("h", 2, 0)]
    assert pg.value(
        "select count(distinct t) from (select received_at t from ledger union select received_at from event_store"
        " union select received_at from work union select run_at from work) x"
    ) == 1  # fmt: skip


def test_a_duplicate_has_no_id_and_makes_no_work(pg):
    assert store(pg, "e1") == [1]
    finish(pg)
    assert store(pg, "e1", event("e1", provider="other"), "e2")[0] is None
    assert pg.value("select count(*) from work where provider = 'h'") == 1
    assert pg.value("select count(*) from event_store where event_id = 'e1' and provider = 'h'") == 1
    assert pg.rows("select provider, sum(stored), sum(duplicate) from counters group by 1 order by 1") == [
        ("h", 2, 1),
        ("other", 1, 0),
    ]


def test_the_time_that_the_sender_gives(pg):
    store(pg, event("a", event_time="2023-11-14 22:13:20.5+00"), event("b"))
    rows = pg.rows("select event_id, event_time = '2023-11-14 22:13:20.5+00' from webhook_inbox order by event_id")
    assert rows == [("a", True), ("b", None)]
    assert pg.rows("select event_id, event_time is null from recent_events order by id") == [("a", False), ("b", True)]


def test_the_payload_is_the_body_or_the_repaired_document_or_nothing(pg):
    store(
        pg,
        event("a", body=b'{"n": 1e400, "z": 1}', repaired='{"n": "1e400", "z": 1}', is_repaired=True),
        event("b", body=b"\xff\x00 not json", usable=False),
        event("c", body=b'{"big": 123456789012345678901234567890}'),
    )
    rows = pg.rows("select payload::text, payload_repaired, body from event_store order by event_id")
    assert rows[0][:2] == ('{"n": "1e400", "z": 1}', True) and bytes(rows[0][2]) == b'{"n": 1e400, "z": 1}'
    assert rows[1][:2] == (None, False) and bytes(rows[1][2]) == b"\xff\x00 not json"
    assert rows[2][0] == '{"big": 123456789012345678901234567890}'


def test_identities_compare_by_bytes(pg):
    """No collation makes two ids one, or one two: not case, not composed characters, not blanks."""
    ids = ["a", "A", "\u00e9", "e\u0301", "a ", "a\u200b", "\u00df", "ss"]
    assert None not in store(pg, *ids)
    assert store(pg, *ids) == [None] * len(ids)


def test_rows_enter_the_ledger_in_the_order_of_the_arrays(pg):
    """Two batches that share ids never deadlock only because both lock in the same order."""
    names = [f"e{n:04}" for n in range(500)]
    store(pg, *names)
    assert pg.column("select event_id from ledger order by ctid") == names
    assert pg.column("select event_id from ledger order by id") == names


def test_a_batch_without_a_partition_says_so_and_runs_again(pg):
    pg.execute("select setval('event_id_seq', 2000000)")
    with pytest.raises(psycopg2.errors.CheckViolation, match="no partition"):
        store(pg, "e1")
    assert pg.value("select make_partitions(0)") == 1
    assert store(pg, "e1") == [2000002]


def test_a20_one_bad_document_fails_its_batch_only_until_it_is_stored_without(pg):
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(psycopg2.Error):
        store(pg, "a", event("b", body=deep))
    assert pg.value("select count(*) from ledger") == 0
    assert None not in store(pg, "a", event("b", body=deep, usable=False))


def test_large_bodies_and_keys(pg):
    """Field report B08: a megabyte, 512 characters of four bytes, a provider name of 63."""
    key, provider = "\U0001f600" * 512, "p" * 63
    body = json.dumps({"x": "y" * 1_000_000}).encode()
    assert store(pg, event(key, provider=provider, body=body, ordering_key=key)) == [1]
    assert store(pg, event(key, provider=provider, body=body)) == [None]
    assert pg.value("select octet_length(body) from event_store") == len(body)


def test_duplicates_with_other_bytes_are_told_and_counted(pg):
    store(pg, event("e1", body=b'{"v": 1}'), event("e2", body=b'{"v": 1}'))
    args = store_args(event("e1", body=b'{"v": 1}'), event("e2", body=b'{"v": 2}'), event("e3"))
    assert run(pg, "duplicate_check", args[0], args[1], args[12]) == [(1, False, None, 1), (2, True, None, 2)]
    assert pg.value("select sum(differing) from counters") == 1


def test_a_duplicate_is_known_to_have_the_same_bytes_where_the_first_is_visible(pg):
    store(pg, event("e1", body=b'{"v": 1}'), event("e2", body=b'{"v": 1}'))
    args = store_args(event("e1", body=b'{"v": 1}'), event("e2", body=b'{"v": 2}'), event("e3"))
    assert [(row[1] is None, row[3]) for row in sorted(run(pg, "store_batch", *args), key=lambda row: row[0])] == [
        (True, True), (True, False), (False, None),
    ]  # fmt: skip


def test_a30_redeliveries_of_dead_events_are_told_and_noted(pg):
    store(pg, "a-done", "b-dead", "c-undone")
    pg.execute("insert into outcome (id, provider, status, attempt) values (1, 'h', 2, 1), (2, 'h', 3, 12)")
    pg.execute("delete from work where id < 3")
    args = store_args(*(event(event_id) for event_id in ("a-done", "b-dead", "c-undone", "d-new")))
    for _ in range(2):
        assert [row[::2] for row in run(pg, "duplicate_check", args[0], args[1], args[12])] == [(1, None), (2, 2), (3, None)]
    noted = [(2, 12, "redelivered", "sent again while dead, which runs nothing: select inboxd.replay(2) does")]
    assert pg.rows("select id, attempt, kind, error from attempt_log") == noted  # two in a minute are one row
    assert pg.rows("select id, redelivered_at = at from dead_letters join attempt_log using (id)") == [(2, True)]
    pg.execute("update attempt_log set at = at - interval '1 minute'")
    run(pg, "duplicate_check", args[0], args[1], args[12])
    assert pg.value("select count(*) from attempt_log") == 2
    # A copy that came before it died again is no news.
    pg.execute("update outcome set processed_at = clock_timestamp() where id = 2")
    assert pg.value("select redelivered_at from dead_letters") is None


def test_b20_a_duplicate_waits_for_its_uncommitted_twin_only_as_long_as_lock_timeout(pg):
    first, second = pg.session(), pg.session(lock_timeout="100ms")
    store(first, "e1")
    with pytest.raises(psycopg2.errors.LockNotAvailable):
        store(second, "e1", "e2")
    second.rollback()
    assert store(second, "e2") != [None]
    second.commit()
    first.rollback()
    assert store(second, "e1") != [None]
    second.commit()


def test_a_twin_that_commits_makes_a_duplicate(pg):
    first, second = pg.session(), pg.session()
    store(first, "e1")
    waiting = second.start(literal(second, "store_batch", *store_args(event("e1"), event("e2"))))
    second.wait_blocked()
    first.commit()
    assert [row[1] is None for row in sorted(waiting.result())] == [True, False]
    second.commit()


def test_lanes_are_upserted_and_lock_their_key(pg):
    first, second = pg.session(), pg.session(lock_timeout="100ms")
    run(first, "store_lanes", ["h", "h"], ["k1", "k2"])
    run(second, "store_lanes", ["h", "i"], ["k3", "k1"])
    with pytest.raises(psycopg2.errors.LockNotAvailable):
        run(second, "store_lanes", ["h"], ["k2"])
    second.rollback()
    store(first, event("e1", ordering_key="k1", lane="k1"))
    first.commit()
    assert pg.rows("select provider, key from lane order by 1, 2") == [("h", "k1"), ("h", "k2")]
    assert pg.value("select lane from work") == "k1"
    assert run(pg, "store_lanes", ["h"], ["k1"]) == [(pg.value("select ready_at from lane where provider = 'h' and key = 'k1'"),)]


def test_counts_of_the_daemon_alone(pg):
    run(pg, "count", ["h", "i"], [3, 0], [0, 5])
    assert pg.rows("select provider, duplicate, refused from counters order by 1") == [("h", 3, 0), ("i", 0, 5)]

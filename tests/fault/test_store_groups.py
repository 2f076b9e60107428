"""Events that came in one request are stored all or none, whatever happens to the batch that they are in."""

import time

import pytest

from fault.test_store_rows import GATHER, ids, refuse_documents, stored_once
from support.wait import wait_until


def stored_ids(pg):
    return pg.column("select event_id from inboxd.ledger order by id")


@pytest.fixture
def hold(pg):
    """Another transaction that has stored an event and does not end: hold("e1")."""

    def begin(event_id):
        other = pg.session()
        other.do(f"insert into inboxd.ledger (provider, event_id, body_sha256) values ('p', '{event_id}', '\\x00')")
        return other

    return begin


def test_the_ids_of_a_group_follow_the_order_received(pg, feed):
    one = feed(threads=1, faults=GATHER)
    names = ["z", "a", "m", "B", "a", "ä", "1"]
    one.put("first")
    one.put_group(names)
    one.put("last")
    assert one.wait_for(9) == {"stored": 8, "duplicate": 1}
    assert stored_ids(pg) == ["first", "z", "a", "m", "B", "ä", "1", "last"]
    assert sorted(one.results("a")) == ["duplicate", "stored"]
    assert pg.column("select event_id from inboxd.work join inboxd.ledger using (id) order by id") == stored_ids(pg)


def test_the_ids_of_a_batch_follow_the_order_received(pg, feed):
    one = feed(threads=1, faults=GATHER)
    one.put("warm")
    one.wait_for(1)
    one.put_all(["c", "a", "d", "b", "a"])
    assert one.wait_for(6) == {"stored": 5, "duplicate": 1}
    assert stored_ids(pg) == ["warm", "c", "a", "d", "b"]


def test_a_group_is_one_transaction(pg, feed):
    one = feed(faults=GATHER)
    one.put_group(ids("e", 2000))
    assert one.wait_for(2000) == {"stored": 2000}
    stored_once(pg, ids("e", 2000))
    assert pg.value("select count(distinct xmin::text) from inboxd.ledger") == 1
    assert stored_ids(pg) == ids("e", 2000)


def test_groups_and_others_share_a_batch(pg, feed):
    one = feed(threads=1, faults="store.before_send=wait:500")
    one.put("gate")
    one.put_group(["a", "b"])
    one.put("b")
    one.put_group(["b", "c", "a"])
    one.put("c")
    assert one.wait_for(8) == {"stored": 4, "duplicate": 4}
    stored_once(pg, ["gate", "a", "b", "c"])
    assert pg.value("select count(distinct xmin::text) from inboxd.ledger where event_id <> 'gate'") == 1
    pg.wait_until("select sum(stored) || ' ' || sum(duplicate) from inboxd.counters", equals="4 4")


@pytest.mark.parametrize("bad", [[0], [199], [57, 58, 130]])
def test_p8_a_document_that_postgresql_refuses_costs_its_group_nothing(pg, feed, bad):
    names = ids("e", 200)
    one = feed(threads=1, faults=GATHER)
    one.put_all(["x1", "x2"])
    one.put_group(names, {name: "{no json" if number in bad else '{"a":1}' for number, name in enumerate(names)})
    one.put("x3")
    assert one.wait_for(203) == {"stored": 203}
    stored_once(pg, [*names, "x1", "x2", "x3"])
    without = pg.column("select event_id from inboxd.event_store where payload is null order by 1")
    assert without == [names[number] for number in bad]
    assert pg.value("""select count(*) from inboxd.event_store where payload = '{"a": 1}'""") == 200 - len(bad)
    assert pg.value("select count(distinct xmin::text) from inboxd.ledger where event_id like 'e%'") == 1


def test_p8_headers_that_postgresql_refuses_are_left_out_last(pg, feed):
    refuse_documents(pg)
    one = feed(threads=1)
    one.put_group(["a", "bad", "c"], '{"a":1}', headers={"bad": '{"x-bad":"1"}', "c": '{"x-good":"1"}'})
    assert one.wait_for(3) == {"stored": 3}
    assert pg.rows("select event_id, headers, payload from inboxd.event_store order by id") == [
        ("a", {}, {"a": 1}),
        ("bad", {}, None),
        ("c", {"x-good": "1"}, {"a": 1}),
    ]


def test_an_event_that_cannot_be_stored_at_all_is_a_503_for_its_group_only(pg, feed):
    refuse_documents(pg)
    one = feed(threads=1, faults=GATHER)
    one.put_all(["x1", "x2"])
    one.put_group(["a", "never", "b"])
    one.put_group(["c", "d"])
    one.put("x3")
    assert one.wait_for(8) == {"stored": 5, "unavailable": 3}
    stored_once(pg, ["x1", "x2", "x3", "c", "d"])
    wait_until(lambda: "could not store event" in one.log)
    assert one.results("a") == ["unavailable"]


def test_b20_an_uncommitted_twin_delays_its_group_and_nothing_else(pg, feed, hold):
    other = hold("b")
    one = feed(threads=1, ack_timeout_ms=60000, faults=GATHER)
    one.put_all(ids("x", 20))
    one.put_group(["a", "b", "c"])
    one.put_group(["d", "e"])
    assert one.wait_for(22) == {"stored": 22}
    # More that comes now passes by, also events of the waiting group and other groups.
    one.put_group(["f", "d"])
    one.put("a")
    assert one.wait_for(25) == {"stored": 24, "duplicate": 1}
    assert pg.value("select count(*) from inboxd.ledger where event_id = 'c'") == 0
    # A copy of the whole group waits too.
    one.put_group(["c", "b", "a"])
    other.rollback()
    assert one.wait_for(31) == {"stored": 26, "duplicate": 5}
    stored_once(pg, [*ids("x", 20), "a", "b", "c", "d", "e", "f"])


def test_b20_a_twin_that_commits_is_a_duplicate_in_its_group(pg, feed, hold):
    other = hold("b")
    one = feed(ack_timeout_ms=60000)
    one.put_group(["a", "b", "c"])
    one.put("other")
    one.wait_for(1)
    other.commit()
    assert one.wait_for(4) == {"stored": 3, "duplicate": 1}
    assert one.results("b") == ["duplicate"]


def test_b20_a_twin_that_stays_open_is_a_503_for_the_group(pg, feed, hold):
    other = hold("b")
    one = feed(ack_timeout_ms=1000)
    one.put_group(["a", "b", "c"])
    assert one.wait_for(3) == {"unavailable": 3}
    assert pg.value("select count(*) from inboxd.ledger") == 0
    other.rollback()
    one.put_group(["a", "b", "c"])
    assert one.wait_for(6) == {"unavailable": 3, "stored": 3}


@pytest.mark.parametrize("which", ["a", "b"])
def test_b20_an_abandoned_group_is_not_waited_for(pg, feed, hold, which):
    other = hold("b")
    one = feed(ack_timeout_ms=60000)
    one.put_group(["a", "b", "c"])
    one.put("other")
    one.wait_for(1)
    one.abandon(which)
    assert one.wait_for(4) == {"stored": 1, "unavailable": 3}
    other.rollback()
    assert stored_ids(pg) == ["other"]


def test_a_group_that_was_given_up_before_it_began_is_not_stored(pg, feed):
    one = feed(threads=1, faults="store.before_send=wait:300")
    one.put("first")
    one.put_group(["a", "b"])
    one.put("a")
    one.abandon("b")
    assert one.wait_for(4) == {"stored": 2, "unavailable": 2}
    assert stored_ids(pg) == ["first", "a"]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("where", ["store.before_send", "store.after_commit"])
def test_a_connection_lost_at_a_group(pg, feed, where, times):
    one = feed(threads=1, faults=f"{where}=error:{times}")
    one.put_group(["a", "b", "a"])
    first = one.wait_for(3)
    one.wait_stored("c")
    one.put_group(["a", "b", "a"])
    wait_until(lambda: len(one.results("b")) == 2)
    stored_once(pg, ["a", "b", "c"])
    # All of them were answered alike, or as they were stored.
    assert first in ({"stored": 2, "duplicate": 1}, {"duplicate": 3}, {"unavailable": 3})


def test_a_locked_table_is_waited_for_by_groups(pg, feed):
    other = pg.session()
    other.do("lock table inboxd.work in access exclusive mode")
    one = feed(threads=1, ack_timeout_ms=60000, faults=GATHER)
    one.put_all(ids("x", 10))
    one.put_group(ids("e", 10))
    wait_until(lambda: pg.cluster.log_text().count(f"inboxd store {pg.name} ERROR:  canceling statement") > 30)
    other.rollback()
    assert one.wait_for(20) == {"stored": 20}
    stored_once(pg, [*ids("e", 10), *ids("x", 10)])


def test_p2_groups_in_opposite_orders_neither_deadlock_nor_fail(pg, feed):
    pg.show_deadlocks()
    names = ids("e", 400)
    one, two = feed(ack_timeout_ms=60000), feed(ack_timeout_ms=60000)
    for start in range(0, 400, 40):
        one.put_group(names[start : start + 40])
        two.put_group(list(reversed(names[start : start + 40])))
    first, second = one.wait_for(400), two.wait_for(400)
    assert first.get("stored", 0) + second.get("stored", 0) == 400
    assert first.get("duplicate", 0) + second.get("duplicate", 0) == 400
    stored_once(pg, names)
    assert pg.deadlocks() == 0
    # Each piece of forty is of one writer alone.
    for start in range(0, 400, 40):
        results = {one.results(name)[0] for name in names[start : start + 40]}
        assert len(results) == 1


def test_lanes_of_a_group(pg, feed):
    pg.execute("insert into inboxd.lane (provider, key) values ('p', 'busy')")
    other = pg.session()
    other.do("select from inboxd.lane where key = 'busy' for update")
    one = feed(threads=1, ack_timeout_ms=60000, faults=GATHER)
    one.put_group(["k1", "k2"], key="busy")
    one.put_group(["k4", "k3"], key="free")
    assert one.wait_for(2) == {"stored": 2}
    other.rollback()
    assert one.wait_for(4) == {"stored": 4}
    rows = pg.rows("select event_id, lane from inboxd.work w join inboxd.ledger using (id) order by w.id")
    assert rows == [("k4", "free"), ("k3", "free"), ("k1", "busy"), ("k2", "busy")]


def test_a12_a_group_is_one_request_of_those_that_wait(pg, feed):
    other = pg.session()
    other.do("lock table inboxd.work in access exclusive mode")
    one = feed(threads=1, ack_timeout_ms=60000, queue_max=3)
    one.put_group(ids("a", 50))
    one.put_group(ids("b", 50))
    one.put("c")
    one.put_group(["d", "e"])
    assert one.wait_for(2) == {"full": 2}
    other.rollback()
    assert one.wait_for(103) == {"full": 2, "stored": 101}


def test_a28_ten_thousand_events_are_one_commit(pg, feed):
    names = ids("e", 10000)
    one = feed(threads=1)
    one.put("warm")
    one.wait_for(1)
    start = time.monotonic()
    one.put_group(list(reversed(names)), '{"a":"%s"}' % ("x" * 200))
    assert one.wait_for(10001) == {"stored": 10001}
    print(f"{time.monotonic() - start:.2f} s")
    assert pg.value("select count(distinct xmin::text) from inboxd.ledger where event_id <> 'warm'") == 1
    assert stored_ids(pg) == ["warm", *reversed(names)]

"""Rows that cannot be stored as they are, and rows that somebody else holds: only they pay for it."""

import pytest

from support.wait import wait_until

# A pause before each batch, so that what was handed over meanwhile meets in one batch.
GATHER = "store.before_send=wait:30"


def ids(prefix, count):
    return [f"{prefix}{number:04d}" for number in range(count)]


def stored_once(pg, event_ids):
    """Each id is once in every table that an event begins with."""
    for table in ("ledger", "event_store"):
        found = pg.column(f"select event_id from inboxd.{table} order by event_id collate \"C\"")
        assert found == sorted(event_ids), table
    assert pg.value("select count(*) from inboxd.work") == len(event_ids)


def refuse_documents(pg):
    """PostgreSQL refuses what holds certain members: headers "x-bad"; everything of an event named "never"."""
    pg.execute(
        """
        create function inboxd.refuse() returns trigger language plpgsql as $$
        begin
            if new.headers ? 'x-bad' then
                raise exception 'no such headers' using errcode = '22023';
            elsif new.event_id = 'never' then
                raise exception 'no' using errcode = '22023';
            end if;
            return new;
        end $$;
        create trigger refuse before insert on inboxd.event_store for each row execute function inboxd.refuse()
        """
    )


@pytest.mark.parametrize("bad", [0, 57, 199])
def test_p8_a_document_that_postgresql_refuses_costs_its_neighbours_nothing(pg, feed, bad):
    names = ids("e", 200)
    one = feed(threads=1, faults=GATHER)
    one.put_all(names[:bad], '{"a":1}')
    one.put(names[bad], "{no json")
    one.put_all(names[bad + 1 :], '{"a":1}')
    assert one.wait_for(200) == {"stored": 200}
    stored_once(pg, names)
    assert pg.column("select event_id from inboxd.event_store where payload is null") == [names[bad]]
    assert bytes(pg.value("select body from inboxd.event_store where event_id = %s", names[bad])) == b"{no json"
    assert pg.value("""select count(*) from inboxd.event_store where payload = '{"a": 1}'""") == 199


def test_p8_many_refused_documents_in_one_batch(pg, feed):
    names = ids("e", 60)
    one = feed(threads=1, faults=GATHER)
    for number, name in enumerate(names):
        one.put(name, "[1" if number % 3 == 0 else "[1]")
    assert one.wait_for(60) == {"stored": 60}
    stored_once(pg, names)
    assert pg.value("select count(*) from inboxd.event_store where payload is null") == 20


def test_p8_headers_that_postgresql_refuses_are_left_out_last(pg, feed):
    refuse_documents(pg)
    one = feed(threads=1, faults=GATHER)
    one.put("good1", '{"a":1}', headers='{"x-good":"1"}')
    one.put("bad", '{"a":1}', headers='{"x-bad":"1"}')
    one.put("good2", '{"a":1}', headers='{"x-good":"1"}')
    assert one.wait_for(3) == {"stored": 3}
    stored_once(pg, ["bad", "good1", "good2"])
    assert pg.row("select headers, body from inboxd.event_store where event_id = 'bad'") | {"body": None} == {
        "headers": {},
        "body": None,
    }
    assert pg.value("select count(*) from inboxd.event_store where headers = '{\"x-good\": \"1\"}'") == 2


def test_an_event_that_cannot_be_stored_at_all_is_a_503_for_itself_only(pg, feed):
    refuse_documents(pg)
    names = ids("e", 20)
    one = feed(threads=1, faults=GATHER)
    one.put_all(names[:10])
    one.put("never")
    one.put_all(names[10:])
    assert one.wait_for(21) == {"stored": 20, "unavailable": 1}
    assert one.results("never") == ["unavailable"]
    stored_once(pg, names)
    wait_until(lambda: "could not store event" in one.log)


def test_b20_an_uncommitted_twin_delays_only_its_own_copies(pg, feed):
    other = pg.session()
    other.do("insert into inboxd.ledger (provider, event_id, body_sha256) values ('p', 'e0007', '\\x00')")
    names = ids("e", 200)
    one = feed(threads=1, ack_timeout_ms=60000, faults=GATHER)
    one.put_all(names)
    one.wait_for(199)
    assert one.results("e0007") == []
    # Copies that come now wait with it, and more events pass by.
    one.put_all(["e0007", "more1", "e0007", "more2"])
    one.wait_for(201)
    assert one.results("more1") == one.results("more2") == ["stored"]
    assert one.results("e0007") == []
    other.rollback()
    one.wait_for(204)
    assert sorted(one.results("e0007")) == ["duplicate", "duplicate", "stored"]
    stored_once(pg, [*names, "more1", "more2"])


def test_b20_a_twin_that_commits_makes_its_copies_duplicates(pg, feed):
    other = pg.session()
    other.do("insert into inboxd.ledger (provider, event_id, body_sha256) values ('p', 'e1', '\\x00')")
    one = feed(ack_timeout_ms=60000)
    one.put_all(["e1", "e2"])
    one.wait_for(1)
    assert one.answers == [("e2", "stored")]
    other.commit()
    one.wait_for(2)
    assert one.results("e1") == ["duplicate"]


def test_b20_a_twin_that_stays_open_is_a_503_in_the_end(pg, feed):
    other = pg.session()
    other.do("insert into inboxd.ledger (provider, event_id, body_sha256) values ('p', 'e1', '\\x00')")
    one = feed(ack_timeout_ms=1000)
    assert one.store("e1") == "unavailable"
    assert one.store("e2") == "stored"
    other.rollback()
    assert one.wait_stored("e1") == "stored"


def test_b20_an_abandoned_copy_is_not_waited_for(pg, feed):
    other = pg.session()
    other.do("insert into inboxd.ledger (provider, event_id, body_sha256) values ('p', 'e1', '\\x00')")
    one = feed(ack_timeout_ms=60000)
    one.put_all(["e1", "e2"])
    one.wait_for(1)
    one.abandon("e1")
    one.wait_for(2)
    assert one.results("e1") == ["unavailable"]


def test_a_locked_table_is_waited_for_by_all(pg, feed):
    other = pg.session()
    other.do("lock table inboxd.work in access exclusive mode")
    names = ids("e", 100)
    one = feed(threads=1, ack_timeout_ms=60000, faults=GATHER)
    one.put_all(names)
    # Blocked as a whole, in parts, and as a whole again.
    wait_until(lambda: pg.cluster.log_text().count(f"inboxd store {pg.name} ERROR:  canceling statement") > 30)
    assert one.answers == []
    other.rollback()
    assert one.wait_for(100) == {"stored": 100}
    stored_once(pg, names)


def test_a_table_that_stays_locked_is_a_503_for_all(pg, feed):
    other = pg.session()
    other.do("lock table inboxd.work in access exclusive mode")
    one = feed(threads=1, ack_timeout_ms=1000, faults=GATHER)
    one.put_all(ids("e", 50))
    assert one.wait_for(50) == {"unavailable": 50}
    other.rollback()
    assert one.wait_stored("e0000") == "stored"


def test_a_held_lane_delays_only_events_of_its_key(pg, feed):
    pg.execute("insert into inboxd.lane (provider, key) values ('p', 'busy')")
    other = pg.session()
    other.do("select from inboxd.lane where key = 'busy' for update")
    one = feed(threads=1, ack_timeout_ms=60000, faults=GATHER)
    one.put("k1", key="busy")
    one.put("k2", key="free")
    one.put("k3")
    one.wait_for(2)
    assert one.results("k1") == []
    other.rollback()
    assert one.wait_for(3) == {"stored": 3}
    assert pg.rows("select event_id, lane from inboxd.work w join inboxd.ledger using (id) order by 1") == [
        ("k1", "busy"), ("k2", "free"), ("k3", None),
    ]  # fmt: skip


def test_p2_batches_in_opposite_orders_neither_deadlock_nor_fail(pg, feed):
    pg.show_deadlocks()
    names = ids("e", 400)
    one, two = feed(ack_timeout_ms=60000), feed(ack_timeout_ms=60000)
    for start in range(0, 400, 40):
        one.put_all(names[start : start + 40])
        two.put_all(reversed(names[start : start + 40]))
    first, second = one.wait_for(400), two.wait_for(400)
    assert first.get("stored", 0) + second.get("stored", 0) == 400
    assert first.get("duplicate", 0) + second.get("duplicate", 0) == 400
    stored_once(pg, names)
    assert pg.deadlocks() == 0


def test_p2_copies_in_one_batch_are_one_row(pg, feed):
    one = feed(faults=GATHER)
    one.put_all(["e1"] * 200)
    assert one.wait_for(200) == {"stored": 1, "duplicate": 199}
    stored_once(pg, ["e1"])
    pg.wait_until("select sum(stored) || ' ' || sum(duplicate) from inboxd.counters", equals="1 199")


def test_a_duplicate_with_other_bytes_is_counted(pg, feed):
    one = feed(faults=GATHER)
    assert one.store("e1", '{"v":1}') == "stored"
    assert one.store("e1", '{"v":1}') == "duplicate"
    assert one.store("e1", '{"v":2}') == "duplicate"
    one.put("e2", '{"v":1}')
    one.put("e2", '{"v":2}')
    one.wait_for(5)
    pg.wait_until("select sum(differing) from inboxd.counters", equals=2)
    assert pg.value("select payload from inboxd.event_store where event_id = 'e1'") == {"v": 1}
    wait_until(lambda: "other content" in one.log)


@pytest.mark.parametrize("next_id", [999_995, 3_000_000_000, 2**53 + 1])
def test_b09_a_batch_that_meets_no_partition_makes_it(pg, feed, next_id):
    pg.execute("select setval('inboxd.event_id_seq', %s)", next_id)
    names = ids("e", 100)
    one = feed(threads=1, faults=GATHER)
    one.put_all(names)
    assert one.wait_for(100) == {"stored": 100}
    stored_once(pg, names)
    assert pg.value("select min(id) from inboxd.work") > next_id


def test_a_batch_larger_than_a_partition_makes_several(pg, feed):
    pg.execute("update inboxd.setting set partition_rows = 20; select setval('inboxd.event_id_seq', 10000000)")
    names = ids("e", 300)
    one = feed(threads=1, faults=GATHER)
    one.put_all(names)
    assert one.wait_for(300) == {"stored": 300}
    stored_once(pg, names)


def test_a12_what_waits_is_bounded(pg, feed):
    other = pg.session()
    other.do("lock table inboxd.work in access exclusive mode")
    one = feed(threads=1, ack_timeout_ms=60000, queue_max=10)
    one.put_all(ids("e", 25))
    assert one.wait_for(15) == {"full": 15}
    other.rollback()
    assert one.wait_for(25) == {"full": 15, "stored": 10}


def test_the_end_answers_what_waits(pg, feed):
    names = ids("e", 500)
    one = feed(faults=GATHER)
    one.put_all(names)
    one.end()
    assert one.wait_for(500) == {"stored": 500}
    stored_once(pg, names)

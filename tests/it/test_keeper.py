"""The keeper's chores as a running daemon does them: partitions ahead, retention in steps, and its own row."""

import pytest
from support import DEAD, DONE

from it.working import fill, outcomes, wait_done


def body(name):
    return b'{"id":"%s"}' % name.encode()


def age(pg, interval="2 years"):
    """Makes all events, and what was done with them, older."""
    for table, column in (("ledger", "received_at"), ("event_store", "received_at"), ("outcome", "processed_at")):
        pg.execute(f"update {table} set {column} = {column} - interval '{interval}'")


@pytest.fixture
def small(pg):
    """A database whose partitions hold ten ids; the first holds events 1 to 9."""
    pg.execute("drop table event_store_0; drop table event_store_1000000")
    pg.execute("update setting set partition_rows = 10")
    pg.execute("select make_partitions(1)")
    return pg


@pytest.fixture
def finished(small, inboxd):
    """Nine events of long ago: 1 to 7 are done, 8 is dead, 9 waits."""
    fill(small, [*({"fail_below": 0} for _ in range(7)), {"fail_below": 9}])
    with inboxd(providers={"h": {"on": "sql:t.flaky", "attempts": 1}}):
        wait_done(small)
    assert outcomes(small) == {(DONE, 1): 7, (DEAD, 1): 1}
    fill(small, 1, prefix="waits", provider="other")
    small.execute("select setval('event_id_seq', 15)")  # the partition in use is never dropped
    age(small)
    return small


def test_partitions_are_ready_before_ids_reach_them(small, inboxd):
    with inboxd(workers=0):
        small.wait_until("select count(*) from event_partition", equals=3)
    small.execute("select setval('event_id_seq', 25)")
    with inboxd(workers=0):
        small.wait_until("select max(to_id) from event_partition", equals=50)


def test_an_old_partition_goes_and_what_is_undone_or_dead_stays(finished, inboxd):
    with inboxd(workers=0, retain="1h", retain_ids="1000d") as daemon:
        daemon.wait_log("dropped a partition of old events")
        finished.wait_until("select count(*) from event_kept", equals=2)
    assert finished.column("select event_id from event_kept order by id") == ["e00007", "waits00000"]
    assert finished.value("select count(*) from event_store") == 0
    # Whoever was seen is known for `retain_ids`, which is longer.
    assert finished.value("select count(*) from ledger") == 9


def test_an_identity_is_forgotten_after_retain_ids_unless_its_event_is_undone_or_dead(finished, inboxd):
    with inboxd(workers=0, retain="1h", retain_ids="30d") as daemon:
        finished.wait_until("select count(*) from ledger", equals=2)
        assert finished.column("select event_id from ledger order by id") == ["e00007", "waits00000"]
        assert daemon.post("h", body("e00000")).text == "ok"  # forgotten, so it is new
        assert daemon.post("h", body("e00007")).text == "dup"


def test_what_is_not_old_enough_stays(finished, inboxd):
    with inboxd(workers=0, retain="1000d", retain_ids="2000d"):
        finished.wait_until("select count(*) from daemon", equals=1)
        finished.wait_until("select max(to_id) from event_partition", equals=40)
    assert finished.value("select count(*) from event_store") == 9
    assert finished.value("select count(*) from ledger") == 9


def test_a_daemon_says_what_it_works_for_and_takes_leave(pg, inboxd):
    with inboxd(providers={"h": {}}, workers=3):
        pg.wait_until("select workers from daemon", equals=3)
        assert "h" in pg.value("select providers from daemon")
    assert pg.value("select count(*) from daemon") == 0


def test_a_chore_that_fails_is_done_again_and_the_others_go_on(small, inboxd):
    """Somebody holds the table: the partition is made when they let go, and the daemon's row is renewed meanwhile."""
    holder = small.session()
    holder.do("lock table event_store in share mode")
    with inboxd(workers=0) as daemon:
        daemon.wait_log("housekeeping failed")
        small.wait_until("select count(*) from daemon", equals=1)
        assert small.value("select count(*) from event_partition") == 2
        holder.rollback()
        small.wait_until("select count(*) from event_partition", equals=3)

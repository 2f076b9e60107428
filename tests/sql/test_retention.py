"""Partitions and purges: small steps, nothing undone or dead is ever lost, a duplicate stays one for `retain_ids`."""

import psycopg2.errors
import pytest

from sql.statements import claim, finish, settle_done, store

YEARS = "2 years"


def age(pg, interval=YEARS, ids="true"):
    """Makes events, and what was done with them, older."""
    pg.execute(f"update ledger set received_at = received_at - interval '{interval}' where {ids}")
    pg.execute(f"update event_store set received_at = received_at - interval '{interval}' where {ids}")
    pg.execute(f"update outcome set processed_at = processed_at - interval '{interval}' where {ids}")


@pytest.fixture
def small(pg):
    """A database whose partitions hold ten ids, with partitions for the first fifty."""
    pg.execute("drop table event_store_0; drop table event_store_1000000")
    pg.execute("update setting set partition_rows = 10")
    pg.execute("select make_partitions(4)")
    return pg


def partitions(pg):
    return pg.rows("select from_id, to_id from event_partition")


# Partitions ---------------------------------------------------------------------------------------


def test_partitions_are_made_ahead_of_the_next_id(small):
    assert partitions(small) == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)]
    assert small.value("select make_partitions(4)") == 0
    small.execute("select setval('event_id_seq', 38)")
    assert small.value("select make_partitions(2)") == 1
    assert partitions(small)[-1] == (50, 60)


def test_the_first_id_of_a_partition_finds_it_ready(small):
    small.execute("select setval('event_id_seq', 49)")
    assert small.value("select make_partitions(0)") == 1
    assert store(small, "a", "b") == [50, 51]


def test_partitions_of_another_size_fit_between_the_others(small):
    small.execute("update setting set partition_rows = 100")
    assert small.value("select make_partition_for(123)") == 200
    assert small.value("select make_partition_for(77)") == 100
    assert small.value("select make_partition_for(7)") == 10
    assert partitions(small)[-2:] == [(50, 100), (100, 200)]
    small.execute("update setting set partition_rows = 1000")
    assert small.value("select make_partition_for(500)") == 1000
    assert partitions(small)[-1] == (200, 1000)


def test_two_daemons_that_make_the_same_partition_do_it_once(small):
    first, second = small.session(), small.session()
    first.do("select make_partition_for(73)")
    waiting = second.start("select make_partition_for(75)")
    second.wait_blocked()
    first.commit()
    assert waiting.result() == [(80,)]
    second.commit()
    assert partitions(small).count((70, 80)) == 1


def test_ingest_goes_on_while_a_partition_is_made(small):
    maker = small.session()
    maker.do("select make_partition_for(73)")
    other = small.session(lock_timeout="100ms")
    assert store(other, "a") == [1]
    other.commit()
    maker.commit()


def test_a_partition_is_like_the_others(small):
    columns = "select attname::text, attcompression::text, attnotnull from pg_attribute where attrelid = %s::regclass and attnum > 0"
    assert small.rows(columns, "event_store_40") == small.rows(columns, "event_store")
    assert small.value("select count(*) from pg_index where indrelid = 'event_store_40'::regclass and indisprimary") == 1
    assert [c for _, c, _ in small.rows(columns, "event_store")].count("l") == 3


def test_the_daemon_makes_and_drops_partitions_without_ddl_rights(small):
    daemon = small.session(user="inboxd_test")
    daemon.do("select inboxd.make_partitions(9)")
    daemon.commit()
    assert len(partitions(small)) == 10
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        daemon.do("drop table inboxd.event_store_40")
    daemon.rollback()
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        daemon.do("create table inboxd.x ()")
    daemon.rollback()
    daemon.do("select * from inboxd.drop_partitions('30 days')")


# Dropping -----------------------------------------------------------------------------------------


def fill(pg):
    """Twelve events: the first partition and the start of the second. 1 to 6 done, 7 dead, 8 undone, the rest done."""
    store(pg, *(f"e{n:02}" for n in range(1, 13)))
    finish(pg, at_most=6)
    finish(pg, "dead", at_most=1)
    finish(pg, "retry", at_most=1, delay=3600)
    finish(pg)


def test_an_old_partition_is_dropped_and_keeps_what_is_undone_or_dead(small):
    fill(small)
    assert small.rows("select * from drop_partitions('30 days')") == []
    age(small)
    assert small.rows("select * from drop_partitions('30 days')") == [("event_store_0", 2)]
    assert small.column("select id from event_kept order by id") == [7, 8]
    assert small.rows("select * from drop_partitions('30 days')") == []
    assert partitions(small)[0] == (10, 20)
    assert small.value("select (load_event(8, 2)).event_id") == "e08"
    assert "was dead" in small.value("select replay(7)")
    with pytest.raises(psycopg2.errors.NoDataFound):
        small.value("select replay(1)")
    assert store(small, "e01") == [None]


def test_a_partition_with_something_done_lately_stays(small):
    fill(small)
    age(small)
    small.execute("update outcome set processed_at = now() - interval '29 days' where id = 3")
    assert small.rows("select * from drop_partitions('30 days')") == []
    assert small.rows("select * from drop_partitions('28 days')") == [("event_store_0", 2)]


def test_the_partition_in_use_and_those_ahead_are_never_dropped(small):
    fill(small)
    age(small)
    for _ in range(3):
        small.rows("select * from drop_partitions('0')")
    assert partitions(small) == [(10, 20), (20, 30), (30, 40), (40, 50)]


def test_several_old_partitions_go_one_a_call(small):
    store(small, *(f"e{n:02}" for n in range(1, 36)))
    finish(small)
    age(small)
    dropped = [small.rows("select * from drop_partitions('30 days')") for _ in range(4)]
    assert [rows[0][0] if rows else None for rows in dropped] == [
        "event_store_0", "event_store_10", "event_store_20", None,
    ]  # fmt: skip


def test_dropping_waits_for_readers_only_as_long_as_lock_timeout(small):
    fill(small)
    age(small)
    reader = small.session()
    reader.do("select count(*) from event_store")
    keeper = small.session(lock_timeout="100ms")
    with pytest.raises(psycopg2.errors.LockNotAvailable):
        keeper.do("select * from drop_partitions('30 days')")
    keeper.rollback()
    assert small.value("select count(*) from event_kept") == 0
    reader.rollback()
    assert keeper.do("select * from drop_partitions('30 days')")
    keeper.commit()


def test_a_replay_that_has_begun_is_not_lost_to_a_drop(small):
    fill(small)
    age(small)
    operator, keeper = small.session(), small.session()
    operator.do("select replay(2)")
    waiting = keeper.start("select * from drop_partitions('30 days')")
    keeper.wait_blocked()
    operator.commit()
    assert waiting.result() == [("event_store_0", 3)]
    keeper.commit()
    assert small.column("select id from event_kept order by id") == [2, 7, 8]
    assert small.value("select (load_event(2, 1)).event_id") == "e02"


def test_a_replay_that_comes_during_a_drop_is_refused_after_it(small):
    fill(small)
    age(small)
    operator, keeper = small.session(), small.session()
    assert keeper.do("select * from drop_partitions('30 days')")
    waiting = operator.start("select replay(2)")
    operator.wait_blocked()
    keeper.commit()
    with pytest.raises(psycopg2.errors.NoDataFound):
        waiting.result()
    operator.rollback()
    assert small.value("select count(*) from outcome where id = 2") == 1


def test_an_event_that_is_claimed_while_its_partition_goes_is_kept(small):
    fill(small)
    age(small)
    small.execute("update work set run_at = now()")
    worker = small.session()
    assert [row["id"] for row in claim(worker)] == [8]
    assert small.rows("select * from drop_partitions('30 days')") == [("event_store_0", 2)]
    worker.rollback()
    assert small.value("select (load_event(8, 2)).event_id") == "e08"


# Purging ------------------------------------------------------------------------------------------


def purge(pg, call, *args, steps=100):
    """Calls step by step until the end; returns how many were deleted in each."""
    deleted, after = [], 0
    for _ in range(steps):
        n, after = pg.rows(f"select * from {call}", *args, after)[0]
        deleted.append(n)
        if after is None:
            return deleted
    raise AssertionError("the purge has no end")


def test_old_contents_go_in_small_steps_and_nothing_else_does(small):
    fill(small)
    age(small, ids="id <= 9")
    assert purge(small, "purge_finished('30 days', 3, %s)") == [3, 3, 1, 0]
    assert small.column("select id from event_store order by id") == [7, 8, 10, 11, 12]
    assert small.value("select count(*) from outcome") == 11
    assert store(small, "e01") == [None]


def test_contents_stay_a_tenth_longer_than_retain(small):
    fill(small)
    age(small, "31 hours", "id = 1")
    age(small, "34 hours", "id = 2")
    assert purge(small, "purge_finished('30 hours', 100, %s)") == [1]
    assert small.value("select min(id) from event_store") == 1
    age(small, "30 days 12 hours", "id = 3")
    age(small, "31 days 12 hours", "id = 4")
    assert purge(small, "purge_finished('30 days', 100, %s)") == [1]
    assert small.column("select id from event_store where id < 6 order by id") == [1, 3, 5]


def test_kept_events_go_when_they_are_finished_and_old(small):
    fill(small)
    age(small)
    small.rows("select * from drop_partitions('30 days')")
    assert purge(small, "purge_finished('30 days', 100, %s)") == [3]
    assert small.column("select id from event_kept order by id") == [7, 8]
    small.value("select replay(7)")
    finish(small)
    purge(small, "purge_finished('30 days', 100, %s)")
    assert small.column("select id from event_kept order by id") == [7, 8]
    small.execute("update outcome set processed_at = now() - interval '32 days' where id = 7")
    assert purge(small, "purge_finished('30 days', 100, %s)") == [1]
    assert small.column("select id from event_kept") == [8]


def test_a_purge_steps_over_an_event_that_is_being_replayed(small):
    fill(small)
    age(small)
    operator = small.session()
    operator.do("select replay(2)")
    keeper = small.session(lock_timeout="100ms")
    assert keeper.do("select deleted from purge_finished('30 days', 100)") == [(9,)]
    assert keeper.do("select deleted from purge_ledger('400 days', 100)") == [(9,)]
    keeper.commit()
    operator.commit()
    assert small.value("select (load_event(2, 1)).event_id") == "e02"
    assert small.column("select id from ledger order by id") == [2, 7, 8]


def test_a_replay_that_comes_during_a_purge_is_refused_after_it(small):
    fill(small)
    age(small)
    operator, keeper = small.session(), small.session()
    keeper.do("select * from purge_finished('30 days', 100)")
    waiting = operator.start("select replay(2)")
    operator.wait_blocked()
    keeper.commit()
    with pytest.raises(psycopg2.errors.NoDataFound):
        waiting.result()
    operator.rollback()
    assert small.value("select count(*) from outcome where id = 2") == 1


def test_old_identities_go_with_their_outcomes_and_attempts_but_never_undone_or_dead_ones(small):
    fill(small)
    small.execute("insert into attempt_log (id, attempt, kind) select id, 1, 'retry' from outcome")
    age(small, ids="id <= 9")
    assert purge(small, "purge_ledger('400 days', 4, %s)") == [4, 2, 1]
    assert small.column("select id from ledger order by id") == [7, 8, 10, 11, 12]
    assert small.column("select id from outcome order by id") == [7, 10, 11, 12]
    assert small.column("select distinct id from attempt_log order by id") == [7, 8, 10, 11, 12]
    assert store(small, "e07", "e08") == [None, None]
    assert store(small, "e01") == [15]


def test_an_old_event_that_was_done_lately_keeps_its_identity(small):
    fill(small)
    age(small)
    small.execute("update outcome set processed_at = now() where id = 5")
    purge(small, "purge_ledger('400 days', 100, %s)")
    assert small.column("select id from ledger order by id") == [5, 7, 8]


def test_an_event_in_the_middle_of_its_run_keeps_its_identity(small):
    fill(small)
    small.execute("update work set run_at = now()")
    age(small)
    worker = small.session()
    rows = claim(worker)
    assert [row["id"] for row in rows] == [8]
    purge(small, "purge_ledger('400 days', 100, %s)")
    settle_done(worker, rows)
    worker.commit()
    assert small.column("select id from ledger order by id") == [7, 8]
    assert small.value("select event_id from processed_events") == "e08"


def test_processed_events_outlive_the_contents(small):
    fill(small)
    age(small, "40 days")
    small.rows("select * from drop_partitions('30 days')")
    purge(small, "purge_finished('30 days', 100, %s)")
    purge(small, "purge_ledger('400 days', 100, %s)")
    assert small.value("select count(*) from processed_events") == 10


def test_purges_of_an_empty_database_end_at_once(pg):
    assert purge(pg, "purge_finished('30 days', 100, %s)") == [0]
    assert purge(pg, "purge_ledger('400 days', 100, %s)") == [0]
    assert pg.rows("select * from drop_partitions('30 days')") == []
    assert pg.value("select fold_counters()") == 0


def test_a_purge_goes_on_behind_what_it_deleted(pg):
    """Even where a snapshot keeps every deleted row in the way."""
    store(pg, *(f"e{n:04}" for n in range(2000)))
    finish(pg, at_most=2000)
    age(pg)
    reader = pg.session()  # holds every dead row back
    reader.connection.set_session(isolation_level="REPEATABLE READ")
    reader.do("select count(*) from ledger")
    deleted = purge(pg, "purge_ledger('400 days', 500, %s)")
    assert deleted == [500, 500, 500, 500, 0]


# Counters -----------------------------------------------------------------------------------------


def test_counters_fold_to_a_row_a_provider_and_minute_and_keep_their_sums(pg):
    pg.execute(
        "insert into counters (provider, minute, stored, duplicate, differing, refused, done, failed)"
        " select p, date_trunc('minute', now()) - m * interval '1 minute', 1, 2, 3, 4, 5, 6"
        " from unnest(array['h', 'i']) p, generate_series(0, 4) m, generate_series(1, 10)"
    )
    sums = "select provider, minute, sum(stored), sum(duplicate), sum(differing), sum(refused), sum(done), sum(failed)"
    sums += " from counters group by 1, 2 order by 1, 2"
    before = pg.rows(sums)
    assert pg.value("select fold_counters()") == 2 * 3 * 9
    assert pg.rows(sums) == before
    assert pg.value("select count(*) from counters where folded") == 6
    assert pg.value("select count(*) from counters where not folded") == 40
    pg.execute("insert into counters (provider, minute, done) select 'h', min(minute), 100 from counters")
    assert pg.value("select fold_counters()") == 1
    assert pg.value("select count(*) from counters where folded") == 6
    assert pg.value("select max(done) from counters") == 150
    assert pg.value("select fold_counters()") == 0


def test_old_counters_go(pg):
    pg.execute("insert into counters (provider, minute, done) values ('h', now() - interval '3 days', 1)")
    pg.value("select fold_counters()")
    assert pg.value("select fold_counters('1 day')") == 1
    assert pg.value("select count(*) from counters") == 0


def test_one_daemon_folds_at_a_time(pg):
    pg.execute("insert into counters (provider, minute, done) values ('h', now() - interval '1 hour', 1)")
    first = pg.session()
    assert first.do("select fold_counters()") == [(0,)]
    pg.execute("insert into counters (provider, minute, done) values ('h', now() - interval '1 hour', 1)")
    assert pg.value("select fold_counters()") == 0
    first.commit()

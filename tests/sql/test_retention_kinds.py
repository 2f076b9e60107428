"""Retention of dead events, attempts and the record of operators, and what is shown of every kind."""

from datetime import timedelta

import pytest

from sql.statements import event, finish, store


@pytest.fixture
def old(pg):
    """1 done, 2 dead, 3 waits for its next attempt, all two years old and each with attempts; 4 died now."""
    store(pg, "a", "b", "c")
    finish(pg, "retry", delay=0)
    finish(pg, at_most=1)
    finish(pg, "dead", at_most=1, error="never")
    finish(pg, "retry", delay=3600)
    pg.execute("update attempt_log set at = at - interval '2 years'")
    pg.execute("update outcome set processed_at = processed_at - interval '2 years'")
    pg.execute("update ledger set received_at = received_at - interval '2 years'")
    pg.execute("update event_store set received_at = received_at - interval '2 years'")
    store(pg, "d")
    finish(pg, "dead", error="just now")
    return pg


def test_dead_events_are_given_up_only_after_their_horizon(old):
    assert old.value("select purge_dead('3 years', 100)") == 0
    assert old.value("select purge_dead('1 year', 100)") == 1
    assert old.rows("select id, status, last_error from outcome order by id") == [
        (1, 2, None), (2, 2, "discarded: dead for longer than retain_dead; it died of: never"), (4, 3, "just now"),
    ]  # fmt: skip
    assert old.column("select l.id from processed_events p join ledger l using (provider, event_id)") == [1]
    assert old.rows("select kind, error from attempt_log where id = 2 order by at desc limit 1") == [("discard", "never")]
    assert old.rows("select deleted from purge_finished('30 days', 100)") == [(2,)]
    assert old.column("select id from event_store order by id") == [3, 4]
    # A copy is a duplicate still, until `retain_ids`.
    assert store(old, "b") == [None]


def test_dead_events_go_in_steps(pg):
    store(pg, *(f"e{n}" for n in range(7)))
    finish(pg, "dead")
    pg.execute("update outcome set processed_at = processed_at - interval '2 years'")
    assert [pg.value("select purge_dead('1 year', 3)") for _ in range(4)] == [3, 3, 1, 0]


def test_one_that_is_being_replayed_is_stepped_over(old):
    other = old.session()
    other.do("select id from outcome where id = 2 for update")
    assert old.value("select purge_dead('1 year', 100)") == 0
    other.rollback()
    assert old.value("select purge_dead('1 year', 100)") == 1


def test_old_attempts_of_finished_events_go_and_no_others(old):
    before = old.rows("select id, count(*) from attempt_log group by 1 order by 1")
    assert before == [(1, 1), (2, 2), (3, 2), (4, 1)]
    assert old.rows("select * from purge_attempts('3 years', 100)") == [(0, None)]
    assert old.rows("select * from purge_attempts('1 year', 100)") == [(1, None)]
    assert old.rows("select id, count(*) from attempt_log group by 1 order by 1") == before[1:]


def test_attempts_go_in_steps_that_end(pg):
    store(pg, *(f"e{n}" for n in range(7)))
    finish(pg, "retry", delay=0)
    finish(pg)
    pg.execute("update attempt_log set at = at - interval '2 years'")
    after, steps = 0, []
    while after is not None:
        [(deleted, after)] = pg.rows("select * from purge_attempts('1 year', 3, %s)", after)
        steps.append(deleted)
    assert steps == [3, 3, 1]


def test_the_record_of_operators_goes_in_steps(pg):
    pg.execute("insert into audit (at, action) select now() - n * interval '100 days', 'x' from generate_series(1, 5) n")
    daemon = pg.session(user="inboxd_test")
    assert [daemon.do("select inboxd.purge_audit('150 days', 3)")[0][0] for _ in range(3)] == [3, 1, 0]
    daemon.commit()
    assert pg.value("select count(*) from audit") == 1


def test_rows_of_every_class_keep_their_partitions_content(pg):
    """Undone is undone: in a lane, aside, leased or to be pulled."""
    pg.execute("drop table event_store_0; drop table event_store_1000000; update setting set partition_rows = 10")
    pg.execute("select make_partitions(2)")
    store(pg, *(event(f"e{n}", ordering_key="k") for n in range(9)))
    pg.execute("update work set class = 'leased', token = 5, run_at = now() + interval '15 s' where id = 1")
    pg.execute("update work set class = 'pull' where id = 2")
    pg.execute("insert into lane (provider, key) values ('h', 'k')")
    pg.execute("update work set lane = 'k' where id in (3, 4)")
    pg.execute("update work set suspect = true where id = 5")
    pg.execute("delete from work where id > 5")
    pg.execute("insert into outcome (id, provider, status, attempt) select id, 'h', case id when 6 then 3 else 2 end, 1"
               " from event_store where id > 5")  # fmt: skip
    pg.execute("select setval('event_id_seq', 15)")
    pg.execute("update event_store set received_at = received_at - interval '2 years'")
    pg.execute("update ledger set received_at = received_at - interval '2 years'")
    pg.execute("update outcome set processed_at = processed_at - interval '2 years'")
    assert pg.rows("select * from drop_partitions('30 days')") == [("event_store_0", 6)]
    assert pg.column("select id from event_kept order by id") == [1, 2, 3, 4, 5, 6]
    assert pg.rows("select deleted from purge_finished('30 days', 100)") == [(0,)]
    assert pg.rows("select deleted from purge_ledger('400 days', 100)") == [(3,)]
    assert pg.column("select id from ledger order by id") == [1, 2, 3, 4, 5, 6]


def test_people_see_each_kind(old):
    old.execute("select note_purge('done', '30 days', 7); select note_purge('done', '720 hours', 0)")
    old.execute("select note_purge('audit', '0', 0)")
    rows = {row["kind"]: row for row in (old.row("select * from retention where kind = %s", k) for k in
            ("done", "dead", "attempts", "ids", "quarantine", "audit"))}  # fmt: skip
    assert (rows["done"]["horizon"], rows["done"]["removed"]) == (timedelta(days=30), 7)
    assert rows["done"]["removed_at"] is not None and rows["done"]["ran_at"] >= rows["done"]["removed_at"]
    assert (rows["audit"]["horizon"], rows["audit"]["removed_at"], rows["audit"]["oldest"]) == (None, None, None)
    for kind in ("done", "dead", "attempts", "ids"):
        assert rows[kind]["oldest_age"] > timedelta(days=700), kind
    assert rows["dead"]["horizon"] is None and rows["dead"]["ran_at"] is None

"""Events start soon whatever happens to the sessions by which the daemon learns of them (B06), and no commit of an event
waits for a lock that the whole database shares (B07)."""

import os
import re
import signal
import threading

import pytest
from support.wait import wait_until

from it.working import effects, fill, outcomes, wait_done

LOOK = r"work_due and one of work_suspect|with ordinality as u \(provider, queue, at, id, n\)"  # due_providers.sql
FACTS = r"pg_postmaster_start_time"  # worker_facts.sql, which is asked when a session was idle
WORKERS = "application_name like 'inboxd worker%'"


def assert_all_ran_once(pg, count):
    wait_done(pg)
    assert effects(pg) == (count, count)
    assert outcomes(pg) == {(2, 1): count}
    assert pg.value("select count(*) from attempt_log") == 0


# B06 ----------------------------------------------------------------------------------------------


def test_b06_one_session_that_goes_deaf_is_not_waited_for(pg, inboxd, relay):
    """Whoever looks for what others stored hangs: the other workers do it meanwhile."""
    inboxd(database=relay.conninfo(pg), workers=3, shutdown_timeout="1s")
    fill(pg, 1, prefix="a")
    wait_done(pg)
    for statement in (LOOK, FACTS):
        relay.deafen(statement).wait()
        fill(pg, 10, prefix=statement[:4])
        wait_done(pg)
    assert_all_ran_once(pg, 21)


def test_b06_all_sessions_go_deaf(pg, inboxd, relay):
    """As when a firewall forgets them: open at both ends, and nothing arrives. The daemon makes others."""
    daemon = inboxd(database=relay.conninfo(pg), workers=3, ack_timeout="2s", shutdown_timeout="1s")
    fill(pg, 1, prefix="a")
    wait_done(pg)
    before = relay.connections
    relay.deafen()
    fill(pg, 10, prefix="b")
    wait_done(pg, timeout=30)  # less than the minute that a claim may take
    wait_until(lambda: daemon.post("n", {"id": "n"}).status == 200)
    assert relay.connections > before
    assert_all_ran_once(pg, 12)


def test_b06_sessions_that_are_ended_come_back(pg, inboxd):
    inboxd(workers=3)
    fill(pg, 1, prefix="a")
    wait_done(pg)
    for n in range(3):
        assert pg.value(f"select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and {WORKERS}")
        fill(pg, 10, prefix=f"b{n}")
        wait_done(pg)
    assert_all_ran_once(pg, 31)


def test_b06_a_restart_of_the_database_leaves_no_worker_deaf(cluster, own_pg, inboxd):
    daemon = inboxd(own_pg, workers=3)
    fill(own_pg, 1, prefix="a")
    wait_done(own_pg)
    cluster.stop("fast")
    daemon.wait_log("workers cannot use the database")
    cluster.start()
    own_pg.wait_until("select true")
    fill(own_pg, 100, prefix="b")
    assert_all_ran_once(own_pg, 101)


# B07 ----------------------------------------------------------------------------------------------


@pytest.fixture
def notify_blocked(cluster, own_pg):
    """Any commit of a transaction that notifies waits, as behind many others: one stands still just there.

    It waits for a standby that does not exist, with its locks, and is frozen before nobody waits for that any more.
    """
    notifier = own_pg.session()
    cluster.configure(synchronous_standby_names="nobody")
    cluster.reload()
    own_pg.wait_until("select current_setting('synchronous_standby_names')", equals="nobody")
    notifier.do("notify x")
    notifier.do("create table t.written (n int)")
    waiting = notifier.start("commit")
    own_pg.wait_until("select wait_event = 'SyncRep' from pg_stat_activity where pid = %s", notifier.pid)
    os.kill(notifier.pid, signal.SIGSTOP)
    cluster.configure(synchronous_standby_names="")
    cluster.reload()
    own_pg.wait_until("select current_setting('synchronous_standby_names')", equals="")
    other = own_pg.session()
    other.do("notify x")
    other.start("commit")
    own_pg.wait_until("select wait_event_type || ' ' || wait_event from pg_stat_activity where pid = %s", other.pid, equals="Lock object")
    yield
    os.kill(notifier.pid, signal.SIGCONT)
    waiting.result()


def test_b07_neither_accepting_nor_working_needs_the_lock_of_notify(own_pg, notify_blocked, inboxd, inboxctl):
    """Whoever notifies waits here for ever; the daemon accepts, runs, retries, defers, gives up and replays all the same."""
    daemon = inboxd(
        own_pg, providers={"h": {"on": "sql:t.flaky", "attempts": 3, "backoff": "10ms", "order": "strict"}, "n": {"on": "coalesce, sql:t.ok"}}
    )
    answers = daemon.post_many("h", [{"id": f"h{n}", "k": n % 7, "fail_below": 2 + 5 * (n == 50)} for n in range(100)])
    answers += daemon.post_many("n", [{"id": f"n{n}", "k": n % 7} for n in range(100)])
    assert {answer.text for answer in answers} == {"ok"}
    wait_done(own_pg)
    assert own_pg.column("select event_id from dead_letters") == ["h50"]
    inboxctl("replay", "--provider", "h", "--dead", pg=own_pg)
    wait_done(own_pg)
    assert own_pg.value("select count(*) from pg_stat_activity where wait_event = 'object' and application_name like 'inboxd%%'") == 0


def test_b07_ingest_at_full_rate_waits_for_no_lock_of_the_database(pg, inboxd):
    daemon = inboxd(workers=2)
    seen, done = set(), threading.Event()

    def sample():
        with pg.connect() as connection, connection.cursor() as cursor:
            while not done.is_set():
                cursor.execute(
                    "select count(*), wait_event_type, wait_event from pg_stat_activity"
                    " where datname = current_database() and wait_event_type = 'Lock' group by 2, 3"
                )
                seen.update(cursor.fetchall())
                connection.commit()

    watcher = threading.Thread(target=sample)
    watcher.start()
    answers = daemon.post_many("n", [{"id": f"e{n}"} for n in range(3000)], threads=32)
    done.set()
    watcher.join()
    assert {answer.status for answer in answers} == {200}
    assert [waits for waits in seen if waits[2] == "object"] == []


def test_b07_no_function_of_the_schema_notifies(pg):
    sources = pg.column("select prosrc from pg_proc where pronamespace = 'inboxd'::regnamespace")
    assert len(sources) > 30
    assert [source for source in sources if re.search("notify", source, re.IGNORECASE)] == []

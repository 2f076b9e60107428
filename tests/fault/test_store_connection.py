"""The connection goes at every possible moment: nothing is lost or doubled, and it comes back by itself."""

import contextlib
import shutil

import pytest

from support.wait import wait_until

STORE = r"event_id_seq"  # in the text of store_batch.sql and of no other statement
SESSIONS = "from pg_stat_activity where application_name = 'inboxd store'"


def whole(pg, event_id):
    """The event is in all tables of ingest, once."""
    for table in ("ledger", "event_store", "work"):
        by = "event_id = %s" if table != "work" else "id = (select id from inboxd.ledger where event_id = %s)"
        assert pg.value(f"select count(*) from inboxd.{table} where {by}", event_id) == 1, table


def absent(pg, event_id):
    assert pg.value("select count(*) from inboxd.ledger where event_id = %s", event_id) == 0


@pytest.fixture
def relayed(pg, feed, relay):
    """A writer that reaches the database by way of the relay, with everything prepared."""
    one = feed(relay.conninfo(pg), threads=1, ack_timeout_ms=10000)
    assert one.store("first") == "stored"
    return one


@pytest.mark.parametrize("applied", [True, False])
def test_b19_the_reply_to_the_commit_is_lost(pg, relay, relayed, applied):
    lost = relay.swallow(STORE, applied=applied)
    answer = relayed.store("e1")
    lost.wait()
    # The session is made anew and the batch run again at once: rows that are there say so.
    assert answer == ("duplicate" if applied else "stored")
    whole(pg, "e1")
    assert relayed.store("e1") == "duplicate"
    whole(pg, "e1")


@pytest.mark.parametrize("applied", [True, False])
def test_b19_the_reply_to_the_commit_of_a_keyed_event_is_lost(pg, relay, relayed, applied):
    assert relayed.store("keyed", key="k") == "stored"
    lost = relay.swallow(applied=applied)
    answer = relayed.store("e1", key="k")
    lost.wait()
    assert answer == ("duplicate" if applied else "stored")
    whole(pg, "e1")


@pytest.mark.parametrize("applied", [True, False])
def test_b19_the_reply_is_lost_and_the_database_stays_away(pg, relay, relayed, applied):
    lost = relay.swallow(STORE, applied=applied)
    relay.refuse()
    assert relayed.store("e1") == "unavailable"
    lost.wait()
    relay.up()
    assert relayed.wait_stored("e1") == ("duplicate" if applied else "stored")
    whole(pg, "e1")


@pytest.mark.parametrize("direction", ["to_server", "to_client"])
@pytest.mark.parametrize("key", ["-", "k"])
def test_a29_the_connection_is_cut_at_every_message(pg, relay, relayed, direction, key):
    """From the first message to the last, one after the other."""
    for number in range(1, 60):
        if direction == "to_server":
            relay.cut()  # so that connecting and preparing are among the messages
        rule = relay.cut_after(number, direction)
        event_id = f"e{number}"
        answer = relayed.store(event_id, key=key)
        if answer == "unavailable":
            again = relayed.wait_stored(event_id, key=key)
            assert again in ("stored", "duplicate")
        whole(pg, event_id)
        assert relayed.store(event_id, key=key) == "duplicate"
        if not rule.fired.is_set():
            break
    else:
        raise AssertionError("60 messages were not enough to store one event")
    relay.clear()
    assert pg.value("select count(*) from inboxd.ledger") == pg.value("select count(*) from inboxd.work") == number + 1


def test_a29_a_batch_that_was_sent_in_part_leaves_nothing(pg, relay, feed):
    one = feed(relay.conninfo(pg), threads=1)
    assert one.store("first") == "stored"
    relay.swallow(STORE, applied=False)
    relay.refuse()
    assert one.store("e1") == "unavailable"
    absent(pg, "e1")
    relay.up()
    assert one.wait_stored("e1") == "stored"


def test_b29_sessions_killed_while_idle_cost_no_event(pg, feed):
    one = feed()
    one.wait_stored("first")
    for turn in range(5):
        pg.execute(f"select pg_terminate_backend(pid) {SESSIONS}")
        one.put_all([f"e{turn}{number}" for number in range(20)])
    assert one.wait_for(101) == {"stored": 101}


def test_b29_a_restart_while_idle_costs_no_event(cluster, own_pg, feed):
    one = feed(own_pg.conninfo())
    assert one.store("e1") == "stored"
    cluster.restart()
    # Both threads look after their sessions once a second; who saw the outage says so before it connects again.
    own_pg.wait_until(f"select count(*) {SESSIONS} and state = 'idle'", equals=2)
    wait_until(lambda: one.log.count("is not available") == one.log.count("is available"))
    assert one.store("e2") == "stored"


def test_b29_a_refused_connection_for_a_while_is_a_503_and_ends_by_itself(pg, relay, feed):
    one = feed(relay.conninfo(pg))
    assert one.store("e1") == "stored"
    relay.down()
    answers = {one.store(f"down{number}") for number in range(50)}
    assert answers <= {"unavailable", "full"}
    relay.up()
    assert one.wait_stored("e2") == "stored"
    assert one.log.count("database is not available") == 1
    wait_until(lambda: one.log.count("database is available") == 1)


def test_b29_a_network_that_swallows_everything(pg, relay, feed):
    one = feed(relay.conninfo(pg), threads=1, ack_timeout_ms=1000)
    assert one.store("e1") == "stored"
    relay.stall()
    assert one.store("e2") == "unavailable"
    assert one.store("e3") in ("unavailable", "full")
    relay.cut()
    relay.resume()
    assert one.wait_stored("e4") == "stored"
    assert one.wait_stored("e2") in ("stored", "duplicate")
    whole(pg, "e2")


def test_p10_a_database_that_is_not_there_at_the_start(pg, relay, feed):
    relay.down()
    one = feed(relay.conninfo(pg))
    assert one.store("e1") in ("unavailable", "full")
    relay.up()
    assert one.wait_stored("e1") == "stored"


@pytest.mark.parametrize("mode", ["smart", "fast", "immediate"])
def test_p10_a_server_that_stops_under_load(cluster, own_pg, feed, mode):
    one = feed(own_pg.conninfo())
    assert one.store("first") == "stored"
    one.put_all([f"a{number}" for number in range(2000)])
    one.wait_for(100)
    if mode == "smart":  # waits for the sessions to end
        cluster.process.terminate()
        own_pg.close()
        cluster.execute(f"select pg_terminate_backend(pid) {SESSIONS}") if cluster.accepts() else None
        cluster.stop("fast")
    else:
        cluster.stop(mode)
    one.put_all([f"b{number}" for number in range(100)])
    one.wait_for(2101)
    cluster.start()
    one.wait_stored("last")
    acknowledged = {name for name, result in one.answers if result in ("stored", "duplicate")}
    there = set(own_pg.column("select event_id from inboxd.ledger"))
    assert acknowledged <= there
    assert there == set(own_pg.column("select event_id from inboxd.event_store"))
    assert own_pg.value("select count(*) from inboxd.work") == len(there)


def test_p10_a_backend_that_is_killed_under_load(cluster, own_pg, feed):
    one = feed(own_pg.conninfo())
    assert one.store("first") == "stored"
    for turn in range(3):
        pid = own_pg.wait_until(f"select max(pid) > 0 {SESSIONS}") and own_pg.value(f"select max(pid) {SESSIONS}")
        one.put_all([f"e{turn}-{number}" for number in range(1000)])
        cluster.kill_backend(pid)
        assert one.wait_stored(f"after{turn}") in ("stored", "duplicate")
    wait_until(lambda: len(one.answers) >= 3000)
    acknowledged = {name for name, result in one.answers if result in ("stored", "duplicate")}
    assert acknowledged <= set(own_pg.column("select event_id from inboxd.ledger"))
    assert own_pg.value("select count(*) from inboxd.work") == own_pg.value("select count(*) from inboxd.ledger")


def test_b17_read_only_for_a_while(cluster, own_pg, feed):
    one = feed(own_pg.conninfo())
    assert one.store("e1") == "stored"
    cluster.configure(default_transaction_read_only="on")
    cluster.reload()
    own_pg.wait_until("show default_transaction_read_only", equals="on")
    wait_until(lambda: one.store("probe") in ("unavailable", "full"))
    assert one.store("e2") in ("unavailable", "full")
    cluster.configure(default_transaction_read_only="off")
    cluster.reload()
    assert one.wait_stored("e2") == "stored"


@pytest.mark.slow
def test_b17_failover_to_a_standby(make_cluster, feed):
    primary = make_cluster()
    pg = primary.database()
    standby = make_cluster()
    standby.stop()
    shutil.rmtree(standby.data)
    standby.run("pg_basebackup", "-D", standby.data, "-d", primary.conninfo("postgres"), "-R", "-c", "fast")
    standby.configure(unix_socket_directories=standby.dir, port=standby.port)
    standby.start()
    hosts = f"host={primary.dir},{standby.dir} port={primary.port},{standby.port}"
    one = feed(f"{hosts} dbname={pg.name} user=inboxd_test")
    assert one.store("e1") == "stored"
    lsn = pg.value("select pg_current_wal_lsn()::text")
    waiting = "select pg_last_wal_replay_lsn() >= '{}'::pg_lsn"
    with contextlib.closing(pg):
        copy = type(pg)(standby, pg.name)
        copy.wait_until(waiting.format(lsn))
    primary.stop("immediate")
    assert one.store("e2") in ("unavailable", "full")  # the standby only reads, and is passed over
    copy.execute("select pg_promote()")
    assert one.wait_stored("e2") == "stored"
    assert one.store("e1") == "duplicate"
    copy.close()


def test_p10_53300_too_many_connections(make_cluster, feed):
    cluster = make_cluster(max_connections=20, superuser_reserved_connections=3)
    pg = cluster.database()
    taken = []
    with contextlib.suppress(Exception):
        while True:
            taken.append(pg.connect("inboxd_test"))
    one = feed(pg.conninfo())
    assert one.store("e1") in ("unavailable", "full")
    for connection in taken:
        connection.close()
    assert one.wait_stored("e1") == "stored"
    pg.close()


def test_p10_53100_no_room_is_a_503_and_ends_by_itself(pg, feed):
    pg.execute(
        """
        create function inboxd.full() returns trigger language plpgsql as $$
        begin raise exception 'no space left on device' using errcode = '53100'; end $$;
        create trigger full_disk before insert on inboxd.work for each row execute function inboxd.full()
        """
    )
    one = feed()
    one.put_all([f"e{number}" for number in range(50)])
    assert set(one.wait_for(50)) <= {"unavailable", "full"}
    pg.execute("drop trigger full_disk on inboxd.work")
    assert one.wait_stored("e1") == "stored"


def test_b18_prepared_statements_that_are_forgotten(pg, feed):
    """`deallocate all` and a changed table: prepared again by itself, no event is refused."""
    one = feed(threads=1)
    assert one.store("e1") == "stored"
    pg.execute("alter table inboxd.ledger add column extra int")
    assert one.store("e2") == "stored"
    assert one.store("k2", key="k") == "stored"
    pg.execute("alter table inboxd.lane add column extra int")
    assert one.store("k3", key="k") == "stored"


def test_a_cancelled_statement_is_run_again(pg, feed):
    other = pg.session()
    other.do("lock table inboxd.work in access exclusive mode")
    one = feed(threads=1, ack_timeout_ms=60000)
    one.put("e1")
    pg.wait_until(f"select count(pg_cancel_backend(pid)) > 0 {SESSIONS} and wait_event_type = 'Lock'")
    other.rollback()
    one.wait_for(1)
    assert one.results("e1") == ["stored"]


def test_a_schema_that_is_gone_is_a_503_and_said_once(pg, feed):
    pg.execute("alter schema inboxd rename to gone")
    one = feed()
    one.put_all([f"e{number}" for number in range(20)])
    assert set(one.wait_for(20)) == {"unavailable"}
    pg.execute("alter schema gone rename to inboxd")
    assert one.wait_stored("e1") == "stored"
    assert 1 <= one.log.count("could not store events") <= 2  # at most once a thread


def test_missing_rights_are_a_503_at_once(pg, feed):
    pg.execute("revoke insert on inboxd.work from inboxd_daemon")
    one = feed(faults="store.before_send=wait:30")
    one.put_all([f"e{number}" for number in range(100)])
    assert set(one.wait_for(100)) == {"unavailable"}
    pg.execute("grant insert on inboxd.work to inboxd_daemon")
    assert one.wait_stored("e1") == "stored"

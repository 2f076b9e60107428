"""P1: a 200 leaves only after the row is committed, and what was answered 200 is there, whatever is killed."""

import threading

import pytest

from support.http import Response, request_bytes
from support.wait import wait_until

STORE = r"event_id_seq"  # in the text of store_batch.sql and of no other statement


def event(event_id):
    return {"id": event_id, "data": "x" * 200}


class Load:
    """Sends events one after the other on several connections until it is stopped, and notes what was answered 200."""

    def __init__(self, daemon, threads=8):
        self.daemon = daemon
        self.acknowledged = set()
        self.sent = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self, thread):
        number = 0
        while not self._stop.is_set():
            number += 1
            event_id = f"load-{thread}-{number}"
            try:
                answer = self.daemon.post("n", event(event_id))
            except (OSError, ValueError, AssertionError):
                continue  # no daemon at the moment
            with self._lock:
                self.sent += 1
                if answer.status == 200:
                    self.acknowledged.add(event_id)

    def wait_more(self, count=200):
        """Waits until `count` more events were acknowledged."""
        goal = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) >= goal, 60, f"{goal} events to be acknowledged")

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        return self.acknowledged

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()


def assert_all_there(pg, acknowledged):
    """Every acknowledged event is there once, and every event that is there is there as a whole."""
    there = pg.column("select event_id from inboxd.ledger")
    assert acknowledged <= set(there)
    assert len(there) == len(set(there))
    assert sorted(pg.column("select event_id from inboxd.event_store")) == sorted(there)
    # Undone or done, never neither.
    assert pg.value(
        "select count(*) from inboxd.ledger l where not exists (select from inboxd.work w where w.id = l.id)"
        " and not exists (select from inboxd.outcome o where o.id = l.id)"
    ) == 0  # fmt: skip


def test_no_200_before_the_commit_is_known(pg, relay, inboxd):
    """The commit's answer is held back: so is the 200."""
    daemon = inboxd(database=relay.conninfo(pg), workers=0, writers=1)
    assert daemon.post("n", event("first")).status == 200
    relay.stall()
    with daemon.client() as client:
        client.send(request_bytes("POST", "/webhooks/n", event("e1")))
        client.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.read()
        client.socket.settimeout(30)
        relay.resume()
        answer = client.read()
    assert (answer.status, answer.text) == (200, "ok")
    assert pg.value("select count(*) from inboxd.ledger where event_id = 'e1'") == 1


def test_no_200_for_a_commit_that_did_not_happen(pg, relay, inboxd):
    daemon = inboxd(database=relay.conninfo(pg), workers=0, writers=1)
    assert daemon.post("n", event("first")).status == 200
    lost = relay.swallow(STORE, applied=False)
    relay.refuse()
    answer = daemon.post("n", event("e1"))
    lost.wait()
    assert answer.status == 503
    assert answer.headers["retry-after"]
    assert pg.value("select count(*) from inboxd.ledger where event_id = 'e1'") == 0
    relay.up()
    wait_until(lambda: daemon.post("n", event("e1")).status == 200)
    assert pg.value("select count(*) from inboxd.ledger where event_id = 'e1'") == 1


def test_every_session_that_stores_commits_synchronously(pg, inboxd):
    """Whatever the role's or the database's defaults are."""
    pg.execute("alter role inboxd_test set synchronous_commit = off")
    try:
        daemon = inboxd(workers=0)
        pg.execute(
            """
            create table t.seen (setting text);
            grant insert on t.seen to public; grant usage on schema t to public;
            create function t.see() returns trigger language plpgsql as $$
            begin insert into t.seen values (current_setting('synchronous_commit')); return null; end $$;
            create trigger see after insert on inboxd.ledger for each statement execute function t.see()
            """
        )
        assert daemon.post("n", event("e1")).status == 200
        assert pg.column("select distinct setting from t.seen") == ["on"]
    finally:
        pg.execute("alter role inboxd_test reset synchronous_commit")


def test_acknowledged_events_survive_kill_9_of_postgresql(cluster, own_pg, inboxd):
    daemon = inboxd(own_pg)
    with Load(daemon) as load:
        for _ in range(2):
            load.wait_more()
            cluster.kill()
            cluster.start()
        load.wait_more()
    assert_all_there(own_pg, load.acknowledged)


def test_acknowledged_events_survive_an_immediate_stop(cluster, own_pg, inboxd):
    daemon = inboxd(own_pg)
    with Load(daemon) as load:
        load.wait_more()
        cluster.restart("immediate")
        load.wait_more()
    assert_all_there(own_pg, load.acknowledged)


def test_acknowledged_events_survive_kill_9_of_the_daemon(pg, inboxd):
    daemon = inboxd()
    with Load(daemon) as load:
        for _ in range(3):
            load.wait_more()
            daemon.kill()
            daemon.start()
        load.wait_more()
    assert_all_there(pg, load.acknowledged)


def test_acknowledged_events_survive_kill_9_of_backends(cluster, own_pg, inboxd):
    """PostgreSQL ends all sessions and recovers when one backend was killed."""
    daemon = inboxd(own_pg)
    with Load(daemon) as load:
        for _ in range(3):
            load.wait_more()
            pids = own_pg.column("select pid from pg_stat_activity where application_name like 'inboxd%%'")
            if pids:
                cluster.kill_backend(pids[0])
        load.wait_more()
    assert_all_there(own_pg, load.acknowledged)


@pytest.mark.parametrize("point", ["store.before_send", "store.after_commit"])
def test_a29_the_daemon_is_killed_around_the_commit(pg, inboxd, point):
    """No row, and the retry is `ok`; or a row with its work, and the retry is `dup`. Never `dup` without work."""
    daemon = inboxd(faults=f"{point}=kill", workers=0)
    with pytest.raises((OSError, ValueError)):
        daemon.post("n", event("e1"))
    daemon.wait_killed()
    committed = point == "store.after_commit"
    assert pg.value("select count(*) from inboxd.ledger") == committed
    with inboxd(workers=0) as again:
        answer = again.post("n", event("e1"))
    assert (answer.status, answer.text) == (200, "dup" if committed else "ok")
    assert pg.value("select count(*) from inboxd.work") == 1
    assert pg.value("select count(*) from inboxd.event_store") == 1


def test_a29_the_daemon_is_killed_at_every_message_of_ingest(pg, relay, inboxd):
    number = 0
    fired = True
    while fired:
        number += 1
        daemon = inboxd(database=relay.conninfo(pg), workers=0, writers=1)
        daemon.post("n", event(f"warm{number}"))
        rule = relay.cut_after(number)
        killer = threading.Thread(target=lambda rule=rule, daemon=daemon: rule.fired.wait(2) and daemon.kill())
        killer.start()
        try:
            answer = daemon.post("n", event(f"e{number}"))
        except (OSError, ValueError) as error:
            answer = error
        killer.join()
        fired = rule.fired.is_set()
        relay.clear()
        daemon.kill()
        # What the server was sent, it goes on with.
        pg.wait_until("select count(*) from pg_stat_activity where application_name = 'inboxd store'", equals=0)
        there = pg.value("select count(*) from inboxd.ledger where event_id = %s", f"e{number}")
        if isinstance(answer, Response) and answer.status == 200:
            assert there == 1
        with inboxd(workers=0) as again:
            assert again.post("n", event(f"e{number}")).text == ("dup" if there else "ok")
    assert number > 2
    assert pg.value("select count(*) from inboxd.work") == pg.value("select count(*) from inboxd.ledger")
    assert pg.value("select count(*) from inboxd.event_store") == pg.value("select count(*) from inboxd.ledger")

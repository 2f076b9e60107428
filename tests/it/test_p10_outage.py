"""P10: a fault of the database is the sender's retry: 503 with Retry-After, at once, and back by itself.

Where the fault is known the answer must not wait for ack_timeout, so that it is long in those tests: the client
would give up before.
"""

import threading

import pytest

from support.wait import wait_until

PATIENT = "50s"  # longer than the client waits
STORE = r"event_id_seq"  # in the text of store_batch.sql and of no other statement


def event(event_id):
    return {"id": event_id}


def assert_try_again(answer):
    assert (answer.status, answer.text, answer.result) == (503, "try again", "try-again")
    assert int(answer.headers["retry-after"]) >= 1


def back(daemon, event_id="back"):
    """Sends until it is taken, as the sender does; every refusal is a proper 503."""

    def sent():
        answer = daemon.post("n", event(event_id))
        if answer.status != 200:
            assert_try_again(answer)
        return answer.status == 200 and answer.text

    return wait_until(sent, interval=0.1)


def test_a_database_that_is_down_and_comes_back(cluster, own_pg, inboxd):
    daemon = inboxd(own_pg, workers=1, ack_timeout=PATIENT)
    assert daemon.post("n", event("before")).text == "ok"
    cluster.stop("fast")
    for answer in daemon.post_many("n", [event(f"down{number}") for number in range(100)]):
        assert_try_again(answer)
    cluster.start()
    assert back(daemon) == "ok"
    assert daemon.post("n", event("before")).text == "dup"
    own_pg.wait_until("select count(*) from t.effect", equals=2)


def test_a_daemon_that_starts_without_a_database(cluster, own_pg, inboxd):
    cluster.stop("fast")
    daemon = inboxd(own_pg, start=False, ack_timeout=PATIENT).spawn()
    wait_until(lambda: "listening" in daemon.log_text())
    assert_try_again(daemon.post("n", event("e1")))
    cluster.start()
    assert back(daemon, "e1") == "ok"


def test_a_restart_while_idle_does_not_cost_the_next_event(cluster, own_pg, inboxd):  # B29
    daemon = inboxd(own_pg, workers=0)
    assert daemon.post("n", event("e1")).text == "ok"
    cluster.restart()
    own_pg.wait_until(
        "select count(*) from pg_stat_activity where application_name = 'inboxd store' and state = 'idle'", equals=2
    )
    wait_until(lambda: daemon.log_text().count("is not available") == daemon.log_text().count("is available"))
    assert daemon.post("n", event("e2")).text == "ok"


def test_a_database_that_only_reads_for_a_while(cluster, own_pg, inboxd):  # B17
    daemon = inboxd(own_pg, workers=0, ack_timeout=PATIENT)
    assert daemon.post("n", event("e1")).text == "ok"
    cluster.configure(default_transaction_read_only="on")
    cluster.reload()
    own_pg.wait_until("show default_transaction_read_only", equals="on")
    wait_until(lambda: daemon.post("n", event("probe")).status == 503)
    assert_try_again(daemon.post("n", event("e2")))
    cluster.configure(default_transaction_read_only="off")
    cluster.reload()
    assert back(daemon, "e2") == "ok"


def test_too_many_connections(cluster, own_pg, inboxd):
    daemon = inboxd(own_pg, workers=0, ack_timeout=PATIENT)
    assert daemon.post("n", event("e1")).text == "ok"
    cluster.execute("alter role inboxd_test connection limit 0")
    own_pg.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'inboxd_test'")
    wait_until(lambda: daemon.post("n", event("probe")).status == 503)
    assert_try_again(daemon.post("n", event("e2")))
    cluster.execute("alter role inboxd_test connection limit -1")
    assert back(daemon, "e2") == "ok"


def test_a_database_without_room(pg, inboxd):
    daemon = inboxd(workers=0, ack_timeout=PATIENT)
    pg.execute(
        """
        create function inboxd.full() returns trigger language plpgsql as $$
        begin raise exception 'no space left on device' using errcode = '53100'; end $$;
        create trigger full_disk before insert on inboxd.work for each row execute function inboxd.full()
        """
    )
    for number in range(5):
        assert_try_again(daemon.post("n", event(f"e{number}")))
    pg.execute("drop trigger full_disk on inboxd.work")
    assert back(daemon, "e1") == "ok"


@pytest.mark.parametrize("applied", [True, False])
def test_the_reply_to_the_commit_is_lost(pg, relay, inboxd, applied):  # B19
    daemon = inboxd(database=relay.conninfo(pg), workers=0, writers=1)
    assert daemon.post("n", event("first")).text == "ok"
    lost = relay.swallow(STORE, applied=applied)
    answer = daemon.post("n", event("e1"))
    lost.wait()
    if answer.status == 503:
        assert_try_again(answer)
        answer = daemon.post("n", event("e1"))
    assert (answer.status, answer.text) == (200, "dup" if applied else "ok")
    assert pg.value("select count(*) from inboxd.ledger where event_id = 'e1'") == 1
    assert pg.value("select count(*) from inboxd.work") == 2


def test_an_event_that_was_committed_before_its_reply_was_lost_is_run(pg, relay, inboxd):
    daemon = inboxd(database=relay.conninfo(pg), workers=1, writers=1)
    assert daemon.post("n", event("first")).text == "ok"
    pg.wait_until("select count(*) from t.effect", equals=1)
    lost = relay.swallow(STORE)
    wait_until(lambda: daemon.post("n", event("e1")).status == 200)
    lost.wait()
    pg.wait_until("select count(*) from t.effect where event_id = 'e1'", equals=1)


def test_a_database_that_does_not_answer_is_a_503_within_ack_timeout(pg, relay, inboxd):
    daemon = inboxd(database=relay.conninfo(pg), workers=0, ack_timeout="1s")
    assert daemon.post("n", event("e1")).text == "ok"
    relay.stall()
    answers = daemon.post_many("n", [event(f"e{number}") for number in range(2, 52)])
    for answer in answers:
        assert_try_again(answer)
    relay.cut()
    relay.resume()
    assert back(daemon, "e2") in ("ok", "dup")


def test_b20_an_uncommitted_twin_costs_only_its_own_copies(pg, inboxd):
    daemon = inboxd(workers=0, ack_timeout="2s")
    other = pg.session()
    other.do("insert into inboxd.ledger (provider, event_id, body_sha256) values ('n', 'e1', '\\x00')")
    answers = {}
    twin = threading.Thread(target=lambda: answers.update(e1=daemon.post("n", event("e1"))))
    twin.start()
    others = daemon.post_many("n", [event(f"other{number}") for number in range(200)])
    assert {answer.text for answer in others} == {"ok"}
    assert twin.is_alive() or answers["e1"].status == 503
    twin.join()
    assert_try_again(answers["e1"])
    other.rollback()
    # "dup": a copy that was answered 503 meanwhile may be stored all the same.
    assert back(daemon, "e1") in ("ok", "dup")
    assert pg.value("select count(*) from inboxd.ledger where event_id = 'e1'") == 1


def test_what_waits_is_bounded_and_the_rest_refused_at_once(pg, relay, inboxd):
    daemon = inboxd(database=relay.conninfo(pg), workers=0, ack_timeout=PATIENT, queue_max=10)
    assert daemon.post("n", event("first")).text == "ok"
    relay.stall()
    answers = []
    threads = [
        threading.Thread(target=lambda number=number: answers.append(daemon.post("n", event(f"e{number}"))))
        for number in range(30)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(answers) == 20, what="20 of 30 to be refused")
    for answer in answers:
        assert_try_again(answer)
    relay.resume()
    for thread in threads:
        thread.join()
    assert [answer.text for answer in answers[20:]] == ["ok"] * 10

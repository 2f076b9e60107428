"""P2: an event is once in the inbox, however many copies come, wherever and whenever."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from support import http


def event(event_id):
    return {"id": event_id, "data": "x" * 200}


def send(items, threads=50):
    """Posts all items at once; every answer must have come."""
    answers = http.post_many(items, threads)
    lost = [answer for answer in answers if not isinstance(answer, http.Response)]
    assert not lost, lost[:3]
    return answers


def assert_once(pg, event_ids):
    for table in ("ledger", "event_store"):
        assert sorted(pg.column(f"select event_id from inboxd.{table}")) == sorted(event_ids), table


def test_200_copies_at_once_on_two_daemons_are_one_row_and_one_effect(pg, inboxd):
    one, two = inboxd(), inboxd()
    answers = send([(one, two)[turn % 2].item("h", event("e1")) for turn in range(200)])
    assert [answer.status for answer in answers] == [200] * 200
    texts = [answer.text for answer in answers]
    assert (texts.count("ok"), texts.count("dup")) == (1, 199)
    assert {answer.text: answer.result for answer in answers} == {"ok": "stored", "dup": "duplicate"}
    assert_once(pg, ["e1"])
    pg.wait_until("select count(*) from t.effect", equals=1)
    pg.wait_until("select count(*) from inboxd.work", equals=0)
    assert pg.value("select count(*) from t.effect") == 1
    pg.wait_until("select sum(stored) || ' ' || sum(duplicate) from inboxd.counters", equals="1 199")


def test_duplicates_in_opposite_orders_on_two_daemons_give_no_5xx(pg, inboxd):
    pg.show_deadlocks()
    one, two = inboxd(workers=0), inboxd(workers=0)
    names = [f"e{number:04d}" for number in range(600)]
    with ThreadPoolExecutor(2) as pool:
        ahead = pool.submit(send, [one.item("n", event(name)) for name in names], 40)
        back = pool.submit(send, [two.item("n", event(name)) for name in reversed(names)], 40)
        answers = ahead.result() + back.result()
    assert {answer.status for answer in answers} == {200}
    texts = [answer.text for answer in answers]
    assert (texts.count("ok"), texts.count("dup")) == (600, 600)
    assert_once(pg, names)
    assert pg.deadlocks() == 0


def test_a_copy_after_a_restart_is_a_duplicate(pg, inboxd):
    daemon = inboxd()
    assert daemon.post("n", event("e1")).text == "ok"
    daemon.restart()
    assert daemon.post("n", event("e1")).text == "dup"
    pg.wait_until("select count(*) from t.effect", equals=1)
    assert daemon.post("n", event("e1")).text == "dup"
    assert pg.value("select count(*) from inboxd.work") == 0


def test_a_copy_of_a_finished_event_creates_no_work(pg, inboxd):
    daemon = inboxd()
    assert daemon.post("n", event("e1")).text == "ok"
    pg.wait_until("select status from inboxd.webhook_inbox", equals=2)
    assert daemon.post("n", event("e1")).text == "dup"
    assert pg.value("select count(*) from inboxd.work") == 0
    assert pg.column("select event_id from inboxd.processed_events") == ["e1"]
    assert pg.value("select count(*) from t.effect") == 1


def test_the_same_id_of_two_providers_is_two_events(pg, inboxd):
    daemon = inboxd(workers=0)
    assert daemon.post("n", event("e1")).text == "ok"
    assert daemon.post("h", event("e1")).text == "ok"
    assert_once(pg, ["e1", "e1"])


def test_the_first_bytes_stay(pg, inboxd):
    daemon = inboxd(workers=0)
    assert daemon.post("n", {"id": "e1", "v": 1}).text == "ok"
    assert daemon.post("n", {"id": "e1", "v": 2}).text == "dup"
    assert pg.value("select body from inboxd.event_store") == b'{"id":"e1","v":1}'
    pg.wait_until("select sum(differing) from inboxd.counters", equals=1)


@pytest.mark.parametrize("next_id", [3_000_000_000, 2**53 + 1])
def test_b09_ids_beyond_32_and_53_bits(pg, inboxd, next_id):
    pg.execute("select setval('inboxd.event_id_seq', %s)", next_id)
    daemon = inboxd()
    assert [daemon.post("n", event(f"e{number}")).text for number in range(20)] == ["ok"] * 20
    assert [daemon.post("n", event(f"e{number}")).text for number in range(20)] == ["dup"] * 20
    pg.wait_until("select count(*) from t.effect", equals=20)
    assert pg.value("select min(id) from inboxd.outcome") > next_id


def test_b08_a_large_event_a_long_id_and_a_long_key(pg, inboxd):
    daemon = inboxd(workers=0, max_body="2M")
    names = ["x" * 512, "\U0001f600" * 128]
    for name in names:
        body = {"id": name, "k": "\U0001f511" * 128, "data": "y" * 1_000_000}
        assert daemon.post("n", body).text == "ok"
        assert daemon.post("n", body).text == "dup"
    assert_once(pg, names)
    assert pg.column("select distinct length(payload ->> 'data') from inboxd.event_store") == [1_000_000]


def test_a30_the_redelivery_of_a_dead_event_runs_nothing_and_shows(pg, inboxd):
    daemon = inboxd(providers={"h": {"on": "sql:t.fail", "attempts": 1}})
    body = {"id": "a30", "msg": "no such order"}
    assert daemon.post("h", body).text == "ok"
    pg.wait_until("select status from webhook_inbox", equals=3)
    assert pg.value("select redelivered_at from dead_letters") is None
    answer = daemon.post("h", body)
    assert (answer.status, answer.text) == (200, "dup")
    pg.wait_until("select redelivered_at is not null from dead_letters", equals=True)
    assert pg.value("select count(*) from inboxd.work") == 0
    assert pg.row("select status, attempt, last_error from webhook_inbox")["attempt"] == 1
    event_id = pg.value("select id from webhook_inbox")
    daemon.wait_log('msg="a dead event was sent again, which runs nothing; replay it by its id" provider=h event_id=a30')
    shown = daemon.ctl("show", str(event_id)).stdout
    assert f"sent again while dead, which runs nothing: select inboxd.replay({event_id}) does" in shown
    # What it says is what helps.
    pg.execute("create or replace function t.fail(e inboxd.event) returns void language sql as $$ select t.ok(e) $$")
    pg.execute(f"select inboxd.replay({event_id})")
    pg.wait_until("select status from webhook_inbox", equals=2)
    assert pg.column("select event_id from t.effect") == ["a30"]
    assert pg.value("select count(*) from dead_letters") == 0
    assert daemon.post("h", body).text == "dup"


def test_a31_an_id_of_the_attempt_is_warned_of_and_shows(pg, inboxd):
    daemon = inboxd(providers={"h": {"event_id": "header:X-Request-Id"}})
    checked = daemon.ctl("check")
    assert "event_id: header:X-Request-Id names the attempt" in checked.stdout + checked.stderr
    retries = [daemon.post("h", b'{"order":7}', {"X-Request-Id": f"req-{n}"}).text for n in range(4)]
    assert retries == ["ok"] * 4
    for n in range(2):  # other content, or twice only, is no sign
        daemon.post("h", b'{"order":8}', {"X-Request-Id": f"other-{n}"})
        daemon.post("h", b'{"order":%d}' % (10 + n), {"X-Request-Id": f"third-{n}"})
    shown = pg.rows("select provider, events, event_ids, last_id - first_id from repeated_bodies")
    assert shown == [("h", 4, ["req-0", "req-1", "req-2"], 3)]
    # The form that the documentation gives: the same event is the same again.
    with inboxd(providers={"h": {"event_id": "body:/order + header:X-Action"}}) as mended:
        retries = [mended.post("h", b'{"order":7}', {"X-Request-Id": f"m-{n}", "X-Action": "paid"}).text for n in range(4)]
        assert retries == ["ok", "dup", "dup", "dup"]

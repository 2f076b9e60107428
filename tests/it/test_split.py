"""Requests that hold several events, and answers that a sender wants (field reports A26 and A28, promises P1, P2, P8)."""

import gzip
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import http
from support.places import ROOT

LIST = {"verify": "none", "split": "body:", "event_id": "body:/id", "event_type": "body:/type", "on": "sql:t.ok"}
EITHER = {**LIST, "event_id": "body:/id | sha256"}
DONE = 2


def answer_of(daemon, body, headers=None, provider="l"):
    answer = daemon.post(provider, body, headers)
    return answer.status, answer.text, answer.result


def events(*names):
    return [{"id": name} for name in names]


def stored_ids(pg):
    return pg.column("select event_id from inboxd.ledger order by id")


@pytest.fixture
def lists(inboxd):
    return inboxd(providers={"l": LIST, "e": EITHER})


def test_a28_an_array_is_stored_all_or_none(pg, lists):
    body = json.dumps(events("e1", "e1", "e2"))
    assert answer_of(lists, body) == (200, "ok 2 dup 1", "stored")
    assert answer_of(lists, body) == (200, "dup 3", "duplicate")
    assert answer_of(lists, "[]") == (200, "ok 0", "stored")
    assert answer_of(lists, events("e0")) == (200, "ok 1", "stored")
    assert answer_of(lists, events("e0")) == (200, "dup 1", "duplicate")
    refusal = (400, "missing event id in element 1", "missing-event-id")
    assert answer_of(lists, [{"id": "new"}, {"type": "x"}, {"id": "e1"}]) == refusal
    assert answer_of(lists, {"id": "new"}) == (400, "missing events", "missing-events")
    assert answer_of(lists, '[{"id":"new"},') == (400, "invalid json", "invalid-json")
    assert stored_ids(pg) == ["e1", "e2", "e0"]
    pg.wait_until("select count(*) from t.effect", equals=3)
    pg.wait_until("select sum(stored) || ' ' || sum(duplicate) from inboxd.counters", equals="3 5")


def test_a28_ten_thousand_elements_are_one_commit(pg, lists):
    names = [f"e{number:05d}" for number in range(10_000)]
    names = names[5000:] + names[:5000]
    assert answer_of(lists, events(*names)) == (200, "ok 10000", "stored")
    assert stored_ids(pg) == names
    assert pg.value("select count(distinct xmin::text) from inboxd.ledger") == 1
    assert answer_of(lists, events(*names)) == (200, "dup 10000", "duplicate")


def test_a28_too_many_are_413(pg, lists):
    body = "[" + ",".join('{"id":%d}' % number for number in range(20_001)) + "]"
    assert answer_of(lists, body) == (413, "too many events", "too-many-events")
    assert stored_ids(pg) == []


def test_a26_elements_without_an_id_are_known_by_their_digest(pg, lists):
    body = b'[{"id":"x"},{"a":1},{"a":1},{"id":""},{"id":null},{"id":{}},{"id":0},{"id":true}]'
    assert answer_of(lists, body, provider="e") == (200, "ok 7 dup 1", "stored")
    assert answer_of(lists, body, provider="e") == (200, "dup 8", "duplicate")
    ids = stored_ids(pg)
    assert ids[0] == "x" and ids[-2:] == ["0", "true"]
    assert all(re.fullmatch("[0-9a-f]{64}", name) for name in ids[1:-2])
    for value in ('""', "null", "{}", "[]"):
        refusal = (400, "missing event id in element 0", "missing-event-id")
        assert answer_of(lists, '[{"id":%s}]' % value) == refusal


def test_p8_each_event_has_its_own_bytes(pg, lists):
    elements = ['{ "id" : "a", "n":1.0 }', r'{"id":"b","s":"\u0000"}', '{"id":"c","t":"é"}']
    body = f"[{elements[0]},\r\n {elements[1]} , {elements[2]}]".encode()
    assert answer_of(lists, gzip.compress(body), {"Content-Encoding": "gzip"}) == (200, "ok 3", "stored")
    rows = pg.rows("select event_id, body, payload, payload_repaired from webhook_inbox order by id")
    assert [bytes(row[1]).decode() for row in rows] == elements
    assert [row[2] for row in rows] == [{"id": "a", "n": 1.0}, {"id": "b", "s": "\ufffd"}, {"id": "c", "t": "é"}]
    assert [row[3] for row in rows] == [False, True, False]
    pg.wait_until("select count(*) from webhook_inbox where status = %s", DONE, equals=3)


def test_p2_one_array_in_opposite_orders_on_two_daemons(pg, inboxd):
    pg.show_deadlocks()
    one, two = (inboxd(providers={"l": LIST}, workers=0) for _ in range(2))
    pieces = [[f"e{number:04d}" for number in range(start, start + 50)] for start in range(0, 1000, 50)]

    def send(daemon, turn):
        items = [daemon.item("l", events(*(reversed(names) if turn else names))) for names in pieces]
        return http.post_many(items, 10)

    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(send, daemon, turn) for daemon, turn in ((one, 0), (two, 1), (one, 1), (two, 0))]
        answers = [item.result() for item in sent]
    texts = [[answer.text for answer in each] for each in answers]
    # Whoever was first stored the whole of it.
    for each in zip(*texts, strict=True):
        assert sorted(each) == ["dup 50"] * 3 + ["ok 50"]
    assert sorted(stored_ids(pg)) == sorted(name for names in pieces for name in names)
    # In the order of the one that was stored.
    for names in pieces:
        order = pg.column("select event_id from inboxd.ledger where event_id = any(%s) order by id", names)
        assert order in (names, names[::-1])
    assert pg.deadlocks() == 0


def test_p2_arrays_that_overlap_meet_single_events(pg, inboxd):
    one, two = (inboxd(providers={"l": LIST}, workers=0) for _ in range(2))
    items = []
    for number in range(200):
        names = [f"e{(number + step) % 200:03d}" for step in range(5)]
        items += [one.item("l", events(*names)), two.item("l", events(*names[::-1])), one.item("l", events(names[2]))]
    answers = http.post_many(items, 40)
    assert {answer.status for answer in answers} == {200}
    counts = [re.fullmatch(r"(?:ok (\d+))? ?(?:dup (\d+))?", answer.text).groups("0") for answer in answers]
    assert sum(int(stored) for stored, _ in counts) == 200
    assert sum(int(dup) for _, dup in counts) == 200 * 11 - 200
    assert sorted(stored_ids(pg)) == [f"e{number:03d}" for number in range(200)]


def test_p1_an_array_that_waits_too_long_is_503_and_nothing_of_it_is_lost(pg, inboxd):
    daemon = inboxd(providers={"l": LIST}, ack_timeout="1s", workers=0)
    holder = pg.session()
    holder.do("insert into inboxd.ledger (provider, event_id, body_sha256) values ('l', 'b', '\\x00')")
    assert answer_of(daemon, events("a", "b", "c")) == (503, "try again", "try-again")
    assert answer_of(daemon, events("d")) == (200, "ok 1", "stored")
    assert stored_ids(pg) == ["d"]
    holder.rollback()
    assert answer_of(daemon, events("a", "b", "c")) == (200, "ok 3", "stored")


def test_nested_arrays_and_the_whole_document(pg, inboxd):
    keys = {
        "verify": "none",
        "split": "body:/entry/*/changes",
        "event_id": "request:/entry/*/id + body:/field + body:/value/n",
        "event_type": "request:/object + body:/field",
        "key": "request:/entry/*/id",
        "on": "sql:t.ok",
    }
    daemon = inboxd(providers={"m": keys})
    change = '{"value":{"n":%d},"field":"%s"}'
    body = '{"entry":[{"changes":[%s,%s],"id":"1"},{"id":"2","changes":[%s]},{"id":"3","changes":[]}],"object":"page"}'
    body %= (change % (1, "f"), change % (2, "g"), change % (1, "f"))
    assert answer_of(daemon, body, provider="m") == (200, "ok 3", "stored")
    rows = pg.rows("select event_id, event_type, ordering_key from webhook_inbox order by id")
    assert rows == [("1:f:1", "page:f", "1"), ("1:g:2", "page:g", "1"), ("2:f:1", "page:f", "2")]


# Answers that a sender wants ------------------------------------------------------------------------


def test_a_reply_of_ones_own(pg, inboxd):
    plain = {"verify": "none", "event_id": "body:/id", "on": "sql:t.ok"}
    daemon = inboxd(
        providers={
            "text": {**plain, "reply": "200 [accepted]"},
            "xml": {**plain, "reply": "200 text/xml <Response/>"},
            "none": {**plain, "reply": "204"},
            "typed": {**plain, "reply": "204 application/json"},
            "l": {**LIST, "reply": "202 application/json {\"ok\": true}"},
        }
    )
    with daemon.client() as client:
        for name, status, content_type, body in [
            ("text", 200, "text/plain", b"[accepted]"),
            ("xml", 200, "text/xml", b"<Response/>"),
            ("none", 204, "text/plain", b""),
            ("typed", 204, "application/json", b""),
            ("l", 202, "application/json", b'{"ok": true}'),
        ]:
            sent = b'[{"id":1},{"id":2}]' if name == "l" else b'{"id":1}'
            for result in ("stored", "duplicate"):
                # All on one connection: an answer without a body ends where it should.
                answer = client.post(f"/webhooks/{name}", sent)
                assert (answer.status, answer.body, answer.result) == (status, body, result)
                assert answer.headers["content-type"] == content_type
            if status == 204:
                assert "content-length" not in answer.headers
            refused = client.post(f"/webhooks/{name}", b"[{}]" if name == "l" else b"{}")
            assert refused.status == 400 and refused.text.startswith("missing event id")
    assert answer_of(daemon, "[]")[0::2] == (202, "stored")
    assert pg.value("select count(*) from inboxd.ledger") == 6


def test_a_reply_changes_with_the_configuration(inboxd):
    keys = {"verify": "none", "event_id": "body:/id", "on": "sql:t.ok"}
    daemon = inboxd(providers={"r": {**keys, "reply": "200 [accepted]"}})
    assert daemon.post("r", {"id": 1}).body == b"[accepted]"
    daemon.reconfigure(providers={"r": {**keys, "reply": "201 done"}})
    daemon.reload()
    answer = daemon.post("r", {"id": 1})
    assert (answer.status, answer.body) == (201, b"done")


# docs/formats.md --------------------------------------------------------------------------------------


def indented_blocks(text):
    for block in re.findall(r"^(?: {4}.*\n|\n)+", text, re.MULTILINE):
        yield re.sub(r"^ {4}", "", block, flags=re.MULTILINE).strip()


def documented():
    """The sections of docs/formats.md as providers, and its exchanges: target, headers, body, answer."""
    providers, exchanges = {}, []
    for block in indented_blocks((ROOT / "docs/formats.md").read_text()):
        for name, lines in re.findall(r"^\[provider (\w+)\]\n((?:.+\n?)+)", block, re.MULTILINE):
            keys = (re.split(r"\s*=\s*", line, maxsplit=1) for line in lines.strip().splitlines())
            providers[name] = dict(keys)
        for head, body, answer in re.findall(r"^(POST .+(?:\n.+)*)\n\n(.+(?:\n.+)*)\n\n(\d{3} .+)", block, re.MULTILINE):
            first, *headers = head.splitlines()
            headers = dict(line.split(": ", 1) for line in headers)
            exchanges.append((first.split(" ")[1], headers, body, answer))
    return providers, exchanges


def test_the_examples_of_the_page_are_true(inboxd):
    providers, exchanges = documented()
    assert len(providers) >= 6 and len(exchanges) >= 14
    daemon = inboxd(providers=providers)
    with daemon.client() as client:
        for target, headers, body, expected in exchanges:
            answer = client.post(target, body, headers)
            assert f"{answer.status} {answer.text}" == expected, (target, body)

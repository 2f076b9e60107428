"""CloudEvents over HTTP, by the preset: the three modes, the two places of the token, consent by OPTIONS."""

import json

import pytest

TOKEN = "token-of-the-sender-01"
HEAD = {"ce-specversion": "1.0", "ce-id": "e1", "ce-source": "/shop", "ce-type": "order.paid"}
BATCH = {"Content-Type": "application/cloudevents-batch+json"}
SINGLE = {"Content-Type": "application/cloudevents+json"}
NONE = {"verify": "none", "format": "cloudevents", "event_id": "ce:source + ce:id", "event_type": "ce:type", "on": "sql:t.ok"}


def event(event_id, **more):
    return {"specversion": "1.0", "id": event_id, "source": "/shop", "type": "order.paid", **more}


def said(answer):
    return answer.status, answer.text, answer.result


@pytest.fixture
def daemon(inboxd):
    preset = {"verify": "cloudevents", "secret": f"text:{TOKEN}", "on": "sql:t.ok"}
    return inboxd(providers={"ce": preset, "c": NONE})


def test_the_same_event_in_three_modes_is_stored_once(pg, daemon):
    assert said(daemon.post("c", {"n": 1}, HEAD)) == (200, "ok", "stored")
    assert said(daemon.post("c", event("e1", data={"n": 1}), SINGLE)) == (200, "dup", "duplicate")
    assert said(daemon.post("c", [event("e1"), event("e2")], BATCH)) == (200, "ok 1 dup 1", "stored")
    assert pg.column("select event_id from inboxd.ledger order by id") == ["/shop:e1", "/shop:e2"]
    assert pg.column("select event_type from inboxd.event_store order by id") == ["order.paid", "order.paid"]
    # Another source's e1 is another event.
    assert said(daemon.post("c", {"n": 1}, {**HEAD, "ce-source": "/till"})) == (200, "ok", "stored")


def test_binary_data_is_kept_as_it_is(pg, daemon):
    headers = {**HEAD, "Content-Type": "image/png", "ce-subject": "a%20b"}
    assert daemon.post("c", b"\x89PNG\x00", headers).text == "ok"
    ((payload, body, stored),) = pg.rows("select payload, body, headers from inboxd.event_store")
    assert (payload, bytes(body)) == (None, b"\x89PNG\x00")
    assert (stored["ce-subject"], stored["ce-id"]) == ("a%20b", "e1")
    assert daemon.post("c", b"", {**HEAD, "ce-id": "empty", "Content-Type": None}).text == "ok"


def test_a_batch_is_all_or_none(pg, daemon):
    broken = [event("e1"), {"id": "e2", "source": "/shop", "type": "x"}]
    assert said(daemon.post("c", broken, BATCH)) == (400, "invalid cloudevent in element 1", "invalid-cloudevent")
    assert said(daemon.post("c", [], BATCH)) == (200, "ok 0", "stored")
    assert pg.value("select count(*) from inboxd.ledger") == 0


def test_what_is_no_cloudevent_is_refused(pg, daemon):
    assert said(daemon.post("c", event("e1"))) == (400, "invalid cloudevent", "invalid-cloudevent")
    assert said(daemon.post("c", {}, {**HEAD, "ce-datacontenttype": "x"})) == (400, "invalid cloudevent", "invalid-cloudevent")
    avro = {"Content-Type": "application/cloudevents+avro"}
    assert said(daemon.post("c", b"x", avro)) == (415, "unsupported event format", "unsupported-event-format")
    assert pg.value("select count(*) from inboxd.ledger") == 0


def test_the_token_may_stand_in_either_place(pg, daemon):
    with daemon.client() as client:
        answer = client.post("/webhooks/ce", b"{}", {**HEAD, "Authorization": f"Bearer {TOKEN}"})
        assert said(answer) == (200, "ok", "stored")
        answer = client.post(f"/webhooks/ce?access_token={TOKEN}", b"{}", HEAD)
        assert said(answer) == (200, "dup", "duplicate")
        assert client.post("/webhooks/ce", b"{}", HEAD).status == 401
        assert client.post("/webhooks/ce", b"{}", {**HEAD, "Authorization": "Bearer wrong"}).status == 401
    assert TOKEN not in json.dumps(pg.column("select headers from inboxd.event_store"))


def test_consent_is_given_by_options(daemon):
    with daemon.client() as client:
        answer = client.request("OPTIONS", "/webhooks/ce", headers={"WebHook-Request-Origin": "eventgrid.azure.net"})
        assert (answer.status, answer.result, answer.headers["allow"]) == (200, "handshake", "POST")
        assert answer.headers["webhook-allowed-origin"] == "eventgrid.azure.net"
        assert client.request("OPTIONS", "/webhooks/ce").status == 405


def test_inboxctl_send_makes_one(daemon):
    assert daemon.ctl("send", "ce").stdout.startswith("200 stored ok")
    assert daemon.ctl("send", "c").stdout.startswith("200 stored ok")

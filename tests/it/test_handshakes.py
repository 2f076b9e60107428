"""Handshakes: how providers prove an endpoint (docs/handshakes.md); field reports A21 and A22."""

import pytest

SIGNED = {
    "verify": "hmac-sha256",
    "signed": "{body}",
    "signature": "header:X-Sig hex",
    "secret": "text:consumer_secret_example",
    "event_id": "body:/id",
    "on": "sql:t.ok",
}


def provider(handshake, **keys):
    return {"p": {**SIGNED, "handshake": handshake, **keys}}


def shook(answer, status=200):
    """The answer to a handshake that is in order."""
    assert (answer.status, answer.result) == (status, "handshake"), answer
    return answer


def nothing_stored(pg):
    assert pg.value("select count(*) from inboxd.ledger") == 0


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a21_no_handshake_is_405_with_allow(pg, inboxd, method):
    with inboxd() as daemon, daemon.client() as client:
        answer = client.request(method, "/webhooks/n?challenge=x")
        assert (answer.status, answer.result, answer.headers["allow"]) == (405, "method-not-allowed", "POST")
        assert client.post("/webhooks/n", b'{"id":"after"}').text == "ok"


def test_a21_head_is_200_without_a_body(pg, inboxd):
    with inboxd(providers=provider("head-ok")) as daemon, daemon.client() as client:
        for _ in range(3):
            answer = shook(client.request("HEAD", "/webhooks/p"))
            assert answer.headers["content-length"] == "0"
        answer = client.request("GET", "/webhooks/p")
        assert (answer.status, answer.headers["allow"]) == (405, "HEAD, POST")
        nothing_stored(pg)


def test_a22_validation_token(pg, inboxd):
    """The token comes back decoded, whatever the case of the parameter's name, and never as HTML."""
    with inboxd(providers=provider("validation-token")) as daemon, daemon.client() as client:
        token = "Validation%3a+Testing+a%2Bb%3Cscript%3E"
        for method in ("POST", "GET"):
            for name in ("validationToken", "validationtoken"):
                answer = shook(client.request(method, f"/webhooks/p?{name}={token}"))
                assert answer.body == b"Validation: Testing a+b<script>"
                assert answer.headers["content-type"] == "text/plain"
                assert answer.headers["x-content-type-options"] == "nosniff"
        for method in ("POST", "GET"):
            answer = client.request(method, "/webhooks/p?validationToken=")
            assert (answer.status, answer.text) == (400, "bad challenge")
        assert client.request("GET", "/webhooks/p").text == "missing challenge"
        nothing_stored(pg)


def test_a22_a_post_without_the_token_is_an_event(pg, inboxd):
    with inboxd(providers=provider("validation-token", verify="none", secret=None)) as daemon:
        assert daemon.post("p", {"id": "e1"}).text == "ok"
        assert (daemon.post("p", b"").status, daemon.post("p", b"").text) == (400, "invalid json")


def test_echo_query(pg, inboxd):
    with inboxd(providers=provider("echo-query")) as daemon, daemon.client() as client:
        answer = shook(client.request("GET", "/webhooks/p?challenge=a%00%FF%0d%0aX-A:%20b"))
        assert answer.body == b"a\x00\xff\r\nX-A: b"
        assert "x-a" not in answer.headers
        assert shook(client.request("GET", "/webhooks/p/?challenge=1")).body == b"1"
        nothing_stored(pg)


def test_hub(pg, inboxd):
    with inboxd(providers=provider("hub", handshake_token="text:verify-me")) as daemon, daemon.client() as client:
        target = "/webhooks/p?hub.mode=subscribe&hub.verify_token={}&hub.challenge=1158201444"
        assert shook(client.request("GET", target.format("verify-me"))).body == b"1158201444"
        answer = client.request("GET", target.format("verify-you"))
        assert (answer.status, answer.result, answer.text) == (403, "wrong-verify-token", "wrong verify token")
        nothing_stored(pg)
        assert "verify-me" not in daemon.log_text() and "verify-you" not in daemon.log_text()


def test_crc(pg, inboxd):
    with inboxd(providers=provider("crc")) as daemon, daemon.client() as client:
        answer = shook(client.request("GET", "/webhooks/p?crc_token=challenge_string"))
        assert answer.headers["content-type"] == "application/json"
        assert answer.body == b'{"response_token":"sha256=jbXKbME72EP4whP7Jiwf8KJkZpedcmIvi6wGXiUuI/w="}'
        nothing_stored(pg)

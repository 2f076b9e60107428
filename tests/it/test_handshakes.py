"""Handshakes: how providers prove an endpoint (docs/handshakes.md); field reports A21 and A22."""

import json
import time

import pytest
from support import sign

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


def signed(body, secret="consumer_secret_example"):
    return sign.hmac_headers(body if isinstance(body, bytes) else json.dumps(body).encode(), secret)


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
    unsigned = {"verify": "none", "secret": None, "signed": None, "signature": None}
    with inboxd(providers=provider("validation-token", **unsigned)) as daemon:
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


def signed_only(daemon, body, headers=None):
    """A handshake that is answered only where it is signed; returns the answer."""
    answer = daemon.post("p", body, headers, sign=False)
    assert (answer.status, answer.result) == (401, "missing-signature")
    answer = daemon.post("p", body, {**(headers or {}), "X-Sig": "00" * 32}, sign=False)
    assert (answer.status, answer.result) == (401, "bad-signature")
    return shook_any(daemon.post("p", body, {**(headers or {}), **signed(body)}, sign=False))


def shook_any(answer):
    assert answer.result == "handshake", answer
    return answer


def test_slack_url_verification(pg, inboxd):
    with inboxd(providers=provider("json-challenge")) as daemon:
        body = b'{"token":"Jhj5","challenge":"3eZbrw1aBm2rZg","type":"url_verification"}'
        answer = signed_only(daemon, body)
        assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"3eZbrw1aBm2rZg", "text/plain")
        nothing_stored(pg)


def test_monday_challenge_without_a_signature(pg, inboxd):
    with inboxd(providers=provider("json-challenge unsigned")) as daemon:
        answer = shook(daemon.post("p", b'{"challenge":"3eZbrw1a"}', sign=False))
        assert (answer.body, answer.headers["content-type"]) == (b'{"challenge":"3eZbrw1a"}', "application/json")
        assert daemon.post("p", b'{"challenge":"x","id":1}', sign=False).status == 401
        nothing_stored(pg)


def test_twitch_callback_verification(pg, inboxd):
    with inboxd(providers=provider("json-challenge")) as daemon:
        body = b'{"challenge":"pogchamp-kappa","subscription":{"id":"f1c2"}}'
        answer = signed_only(daemon, body, {"Twitch-Eventsub-Message-Type": "webhook_callback_verification"})
        assert (answer.status, answer.body) == (200, b"pogchamp-kappa")
        nothing_stored(pg)


def test_zoom_url_validation(pg, inboxd):
    """The secret that has signed the request makes the answer, be it the older one."""
    secrets = ["text:a-newer-secret-0001", "text:zoom_secret_token_example"]
    with inboxd(providers=provider("zoom", secret=secrets)) as daemon:
        body = b'{"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event":"endpoint.url_validation"}'
        answer = shook(daemon.post("p", body, signed(body, "zoom_secret_token_example"), sign=False))
        assert json.loads(answer.body) == {
            "plainToken": "qgg8vlvZRS6UYooatFL8Aw",
            "encryptedToken": "ab6193e5fc2172ba4a29511700f0cbf2aeabefa44064ef9bf89732e27aa58708",
        }
        assert daemon.post("p", body, sign=False).status == 401
        nothing_stored(pg)


def test_discord_pings(pg, inboxd):
    with inboxd(providers=provider("ping-pong", event_id="body:/id | sha256")) as daemon, daemon.client() as client:
        answer = signed_only(daemon, b'{"id":"1","type":1}')
        assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b'{"type":1}', "application/json")
        body = b'{"version":1,"type":0}'
        answer = shook(client.post("/webhooks/p", body, signed(body)), 204)
        assert (answer.body, answer.headers.get("content-length")) == (b"", None)
        nothing_stored(pg)
        body = b'{"version":1,"type":1,"event":{"type":"APPLICATION_AUTHORIZED"}}'
        assert client.post("/webhooks/p", body, signed(body)).text == "ok"


def test_sns_subscription_is_left_to_a_person(pg, inboxd):
    """The address is logged and not fetched; one that is not AWS's is refused."""
    with inboxd(providers=provider("sns-confirm")) as daemon:
        url = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f"
        signed_only(daemon, json.dumps({"Type": "SubscriptionConfirmation", "SubscribeURL": url}).encode())
        daemon.wait_log(url)
        pg.wait_until("select address from inboxd.confirmation where provider = 'p'", equals=url)
        assert daemon.log_text().count(url) == 1
        body = json.dumps({"Type": "SubscriptionConfirmation", "SubscribeURL": "http://169.254.169.254/"}).encode()
        assert daemon.post("p", body, signed(body), sign=False).text == "bad challenge"
        assert "169.254" not in daemon.log_text()
        nothing_stored(pg)


def test_woocommerce_ping_has_no_signature(pg, inboxd):
    with inboxd(providers=provider("unsigned-ping")) as daemon:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert shook(daemon.post("p", b"webhook_id=42", form, sign=False)).status == 200
        assert daemon.post("p", b"webhook_id=42&a=b", form, sign=False).status == 401
        nothing_stored(pg)


def test_cloudevents_options(pg, inboxd):
    with inboxd(providers=provider("options eventgrid.azure.net")) as daemon, daemon.client() as client:
        ask = {"WebHook-Request-Origin": "eventgrid.azure.net", "WebHook-Request-Rate": "120"}
        answer = shook(client.request("OPTIONS", "/webhooks/p", headers=ask))
        assert answer.headers["allow"] == "POST"
        assert answer.headers["webhook-allowed-origin"] == "eventgrid.azure.net"
        assert answer.headers["webhook-allowed-rate"] == "*"
        for other in ({"WebHook-Request-Origin": "evil.test"}, {}):
            answer = client.request("OPTIONS", "/webhooks/p", headers=other)
            assert (answer.status, answer.headers["allow"]) == (405, "OPTIONS, POST")
            assert "webhook-allowed-origin" not in answer.headers
        nothing_stored(pg)


# By preset --------------------------------------------------------------------------------------------

SECRET = "zoom_secret_token_example"  # of them all
PRESETS = ["dropbox", "intercom", "meta", "microsoft-graph", "monday", "slack", "trello", "whatsapp", "woocommerce", "x", "zoom"]
URL = "https://hooks.example.test/webhooks"


@pytest.fixture
def presets(inboxd):
    def section(name):
        more = {"handshake_token": "text:verify-me"} if name in ("meta", "whatsapp") else {}
        if name in ("trello", "monday"):
            more["public_url"] = f"{URL}/{name}"
        return {"verify": name, "secret": f"text:{SECRET}", "on": "sql:t.ok", **more}

    return inboxd(providers={name: section(name) for name in PRESETS})


def test_presets_answer_what_their_providers_ask(pg, presets):
    def ask(method, target, body=b"", headers=None):
        with presets.client() as client:
            answer = shook(client.request(method, f"/webhooks/{target}", body, headers))
            return answer.headers["content-type"] if answer.body else None, answer.body

    assert ask("GET", "dropbox?challenge=c1") == ("text/plain", b"c1")
    assert ask("HEAD", "intercom") == (None, b"")
    assert ask("HEAD", "trello") == (None, b"")
    hub = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=verify-me"
    assert ask("GET", f"meta?{hub}") == ("text/plain", b"1158201444")
    assert ask("GET", f"whatsapp?{hub}") == ("text/plain", b"1158201444")
    assert ask("POST", "microsoft-graph?validationToken=Validation%3A+1") == ("text/plain", b"Validation: 1")
    assert ask("POST", "monday", b'{"challenge":"c2"}') == ("application/json", b'{"challenge":"c2"}')
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ask("POST", "woocommerce", b"webhook_id=7", form) == ("text/plain", b"ok\n")
    content_type, body = ask("GET", "x?crc_token=c3")
    assert content_type == "application/json" and json.loads(body)["response_token"].startswith("sha256=")

    def ask_signed(target, prefix, time_name, signature_name, body):
        now = str(int(time.time()))
        signature = f"v0={sign.sig(prefix + now.encode() + b':' + body, SECRET)}"
        return ask("POST", target, body, {time_name: now, signature_name: signature})

    challenge = b'{"type":"url_verification","challenge":"c4","token":"t"}'
    headers = ("X-Slack-Request-Timestamp", "X-Slack-Signature")
    assert ask_signed("slack", b"v0:", *headers, challenge) == ("text/plain", b"c4")
    validation = b'{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}'
    _, body = ask_signed("zoom", b"v0:", "x-zm-request-timestamp", "x-zm-signature", validation)
    assert json.loads(body)["encryptedToken"] == "ab6193e5fc2172ba4a29511700f0cbf2aeabefa44064ef9bf89732e27aa58708"
    nothing_stored(pg)

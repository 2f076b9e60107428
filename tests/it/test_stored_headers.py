"""Headers as they are stored: any bytes, very many, very long, repeated; and what is never stored of them (`redact`).

Seen to fail with each of: no names_have() in provider/headers.c, no put_path() in quarantine/refused.c, the body copied
there as it came, the fields of one name linked in no order.
"""

import json

import pytest

from support import sign

LIST = "X-Customer, x-session-name"


def post_raw(daemon, provider, body, headers, target=None):
    """`headers`: pairs of bytes, sent as they are."""
    with daemon.client() as client:
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        head = f"POST {target or f'/webhooks/{provider}'} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n".encode()
        client.send(head + lines + b"\r\n" + body)
        return client.read()


def stored(pg, event_id):
    return pg.value(f"select headers from webhook_inbox where event_id = '{event_id}'")


ANY = [
    (b"caf\xe9", "caf\ufffd"),
    (b"caf\xc3\xa9", "caf\u00e9"),
    (b"\xf0\x9f\x98\x80", "\U0001f600"),
    (b"\xed\xa0\x80\xc0\xaf", "\ufffd" * 5),
    (b"\xf4\x90\x80\x80", "\ufffd" * 4),
    (b"a\tb", "a\tb"),
    (b"\x1b[31m\x07\x7f", "\ufffd[31m\ufffd\ufffd"),
    (b'"\\" \\u0000', '"\\" \\u0000'),
    (b"\xff" * 100, "\ufffd" * 100),
    (b"", ""),
]


@pytest.mark.parametrize("sent, kept", ANY, ids=[repr(sent)[:30] for sent, _ in ANY])
def test_any_bytes_are_made_safe(pg, inboxd, sent, kept):
    daemon = inboxd()
    answer = post_raw(daemon, "n", b'{"id":"e"}', [(b"X-Odd", sent), (b"X-Next", b"next")])
    assert (answer.status, answer.text) == (200, "ok")
    headers = stored(pg, "e")
    assert (headers["x-odd"], headers["x-next"]) == (kept, "next")
    assert post_raw(daemon, "h", b"{}", [(b"X-Odd", sent), (b"X-Sig", b"0" * 64)]).status == 401
    pg.wait_until("select count(*) from quarantine", equals=1)
    assert pg.value("select headers->>'x-odd' from quarantine") == kept


def test_a10_repeated_names_are_joined_in_their_order(pg, inboxd):
    daemon = inboxd()
    pairs = [(b"X-A", b"1"), (b"X-B", b"x"), (b"x-a", b""), (b"X-a", b"3, 4")]
    assert post_raw(daemon, "n", b'{"id":"e"}', pairs).text == "ok"
    headers = stored(pg, "e")
    assert (headers["x-a"], headers["x-b"]) == ("1, , 3, 4", "x")


def test_very_many_and_very_long_headers(pg, inboxd):
    daemon = inboxd(max_header="1M")
    many = [(b"X-%d" % (i // 2), b"%d" % (i % 2)) for i in range(250)]
    assert post_raw(daemon, "n", b'{"id":"many"}', many).text == "ok"
    headers = stored(pg, "many")
    assert [headers[f"x-{i}"] for i in range(125)] == ["0, 1"] * 125
    assert post_raw(daemon, "n", b'{"id":"same"}', [(b"X", b"1")] * 250).text == "ok"
    assert stored(pg, "same")["x"] == ", ".join("1" * 250)
    assert post_raw(daemon, "n", b'{"id":"long"}', [(b"X-Long", b"\xe9" * 300000)]).text == "ok"
    assert stored(pg, "long")["x-long"] == "\ufffd" * 300000


def test_what_redact_lists_is_not_stored(pg, inboxd):
    daemon = inboxd(redact=LIST, providers={"n": {"redact": "X-Only-Here"}})
    sent = {"X-CUSTOMER": ["hidden-a", "hidden-b"], "X-Session-Name": "hidden-c", "X-Only-Here": "hidden-d", "X-Open": "open"}
    for provider in ("n", "h"):
        body = json.dumps({"id": provider}).encode()
        assert daemon.post(provider, body, sent).text == "ok"
    for provider, here in (("n", "[redacted]"), ("h", "hidden-d")):
        headers = stored(pg, provider)
        assert [headers[name] for name in ("x-customer", "x-session-name", "x-only-here", "x-open")] == ["[redacted]", "[redacted]", here, "open"]
    assert daemon.post("n", b"{}", sent).text == "missing event id"
    pg.wait_until("select count(*) from quarantine", equals=1)
    whole = pg.value("select string_agg(q::text || encode(q.head, 'escape'), '') from quarantine_store q")
    assert "hidden" not in whole
    assert pg.value("select headers->>'x-open' from quarantine") == "open"
    daemon.reconfigure(redact=None)
    daemon.reload()
    assert daemon.post("h", b'{"id":"after"}', sent).text == "ok"
    assert stored(pg, "after")["x-customer"] == "hidden-a, hidden-b"


def test_a_redacted_signature_is_verified_and_released_and_shown_to_nobody(pg, inboxd):
    """Also what a section reads its events' ids from."""
    reads = {"redact": "X-Sig, X-Delivery", "event_id": "header:X-Delivery"}
    daemon = inboxd(providers={"h": reads})
    body = b'{"v":1}'
    wrong = sign.hmac_headers(body, "the-next-secret-of-the-sender")
    assert daemon.post("h", body, {**wrong, "X-Delivery": "d1"}, sign=False).text == "bad signature"
    assert daemon.post("h", body, {"X-Delivery": "d2"}).text == "ok"
    assert {stored(pg, "d2")[name] for name in ("x-sig", "x-delivery")} == {"[redacted]"}
    pg.wait_until("select count(*) from quarantine", equals=1)
    assert pg.rows("select headers->>'x-sig', headers->>'x-delivery' from quarantine") == [("[redacted]", "[redacted]")]
    daemon.reconfigure(providers={"h": {**reads, "secret": "text:the-next-secret-of-the-sender"}})
    daemon.reload()
    daemon.ctl("--database", pg.conninfo("postgres"), "quarantine", "release", "--provider", "h", "--all")
    assert stored(pg, "d1")["x-delivery"] == "[redacted]"


def test_who_an_absolute_target_is_for_is_not_kept(pg, inboxd):
    daemon = inboxd()
    target = "http://some-user:some-password@x/webhooks/h?a=1"
    answer = post_raw(daemon, "h", b"{}", [(b"X-Sig", b"0" * 64)], target)
    assert answer.status == 401
    pg.wait_until("select count(*) from quarantine", equals=1)
    assert pg.value("select target from quarantine") == "http://x/webhooks/h?a=1"
    whole = pg.value("select string_agg(q::text || encode(q.head, 'escape'), '') from quarantine_store q")
    assert "some-" not in whole
    assert "some-" not in daemon.log_text()


def test_a_token_that_nobody_waits_for_is_not_kept(pg, inboxd):
    daemon = inboxd()
    token = b'{"verification_token":"secret_of-a-sender-c0ffee"}'
    assert daemon.post("h", token, sign=False).text == "missing signature"
    assert daemon.post("n", token).text == "missing event id"
    pg.wait_until("select count(*) from quarantine", equals=2)
    assert {bytes(row[0]) for row in pg.rows("select body from quarantine")} == {b'{"verification_token":"[redacted]"}'}


def test_a_refused_json_web_token_is_shown_to_nobody(pg, inboxd):
    jwt = {"verify": "jwt", "signature": "header:X-Proof", "algorithms": "HS256", "body_unauthenticated": "yes", "secret": f"text:{sign.K0}{sign.K0}",
           "event_id": "body:/id", "on": "sql:t.ok"}  # fmt: skip
    daemon = inboxd(providers={"j": jwt})
    proof = "eyJhbGciOiJIUzI1NiJ9.e30.QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE"
    assert daemon.post("j", b'{"id":"e"}', {"X-Proof": proof}, sign=False).status == 401
    pg.wait_until("select count(*) from quarantine", equals=1)
    assert pg.value("select headers->>'x-proof' from quarantine") == "[redacted]"

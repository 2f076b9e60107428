"""P9: what is refused with a 4xx is kept within bounds, without delaying the answer, and can be released."""

import base64
import hashlib

import pytest

from support import sign

WRONG = {"X-Sig": "0" * 64}


def kept(pg, columns="reason, body", where="true"):
    return [
        tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
        for row in pg.rows(f"select {columns} from quarantine where {where} order by id")
    ]


def wait_kept(pg, count):
    pg.wait_until("select count(*) from quarantine", equals=count)


REFUSED = [
    ("missing signature", 401, b'{"id":"e1"}', {}),
    ("bad signature", 401, b'{"id":"e1"}', WRONG),
    ("invalid json", 400, b'{"id":"e1"', None),
    ("missing event id", 400, b'{"k":"e1"}', None),
]


@pytest.mark.parametrize("reason, status, body, headers", REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refused_request_is_answered_as_before_and_kept(pg, inboxd, reason, status, body, headers):
    daemon = inboxd()
    response = daemon.post("h", body, headers, sign=headers is None, query="?a=1")
    assert (response.status, response.text) == (status, reason)
    wait_kept(pg, 1)
    row = pg.row("select *, received_at > now() - interval '1 minute' and received_at <= now() as fresh from quarantine")
    assert (row["provider"], row["reason"], row["source_ip"], row["state"]) == ("h", reason, "127.0.0.1", "kept")
    assert (row["method"], row["target"], row["fresh"]) == ("POST", "/webhooks/h?a=1", True)
    assert bytes(row["body"]) == body
    assert bytes(row["body_sha256"]) == hashlib.sha256(body).digest()
    assert row["headers"]["content-type"] == "application/json"
    assert pg.value("select count(*) from ledger") == 0


def test_a_stale_request_is_kept(pg, inboxd):
    daemon = inboxd()
    body = '{"id":"e1"}'
    headers = sign.stripe_headers(body.encode(), sign.STRIPE_SECRET, 1000000000)
    assert daemon.post("s", body, headers, sign=False).text == "stale timestamp"
    wait_kept(pg, 1)
    assert kept(pg) == [("stale timestamp", body.encode())]


def test_a18_bytes_that_are_no_text_are_kept_as_they_came(pg, inboxd):
    daemon = inboxd()
    bodies = [
        b'{"id":"a18","v":"\xff"}', b'{"id":"a18","v":"\xc0\x80"}', b'{"id":"a18","v":"\xed\xa0\x80"}',
        b'{"id":"a18","v":"caf\xe9"}', b'{"id":"a18","v":"\xe2\x82', b"\x00\x01\x02",
    ]  # fmt: skip
    for body in bodies:
        response = daemon.post("h", body, {"X-Odd": "caf\xe9"}, query="?q=\xff")
        assert (response.status, response.text) == (400, "invalid json")
    wait_kept(pg, len(bodies))
    assert kept(pg, "reason, body") == [("invalid json", body) for body in bodies]
    assert kept(pg, "headers->>'x-odd', target")[0] == ("caf\ufffd", "/webhooks/h?q=%FF")
    assert b"X-Odd: caf\xe9\n" in pg.value("select head from quarantine_store limit 1")


def test_other_refusals_and_providers_without_a_quarantine_keep_nothing(pg, inboxd):
    daemon = inboxd(providers={"g": {"quarantine": "off"}, "n": {"max_body": "1K"}})
    assert daemon.post("g", "{}", sign=False).status == 401
    assert daemon.post("unknown", "{}").status == 404
    assert daemon.post("n", b"x" * 2000).status == 413
    with daemon.client() as client:
        assert client.request("GET", "/webhooks/n").status == 405
    assert daemon.post("n", "{").status == 400
    wait_kept(pg, 1)
    assert kept(pg, "provider") == [("n",)]
    assert pg.value("select sum(quarantined) from counters") == 1


def test_credentials_are_kept_as_a_salted_hash_only(pg, inboxd):
    daemon = inboxd()
    secret = "Tok3n-that-opens-something"
    basic = base64.b64encode(f"user:{secret}".encode()).decode()
    headers = {"Authorization": f"Bearer {secret}", "Cookie": f"s={secret}", "X-Api-Key": secret, **WRONG}
    daemon.post("h", "{}", headers, sign=False, query=f"?access_token={secret}&b=2")
    daemon.post("h", "{}", {"Authorization": f"Basic {basic}", **WRONG}, sign=False)
    wait_kept(pg, 2)
    whole = pg.value("select string_agg(q::text || encode(q.head, 'escape'), '') from quarantine_store q")
    for leak in (secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode(), basic, basic.encode().hex()):
        assert leak not in whole
    assert kept(pg, "target, headers->>'authorization'") == [
        ("/webhooks/h?access_token=[redacted]&b=2", "[redacted]"), ("/webhooks/h", "[redacted]"),
    ]  # fmt: skip
    head, salt, hashes = pg.rows("select head, salt, concealed from quarantine_store order by id")[0]
    assert b"\nAuthorization: Bearer \0\n" in bytes(head) and b"?access_token=\0&b=2\n" in bytes(head)
    shown = [secret, secret, f"s={secret}", secret]  # of the query, then the headers in their order
    assert bytes(head).count(b"\0") == len(shown)
    assert bytes(hashes) == b"".join(hashlib.sha256(bytes(salt) + value.encode()).digest() for value in shown)


def test_list_and_show(pg, inboxd):
    daemon = inboxd()
    daemon.post("h", b'{"id":"e1","v":"\xff"}')
    daemon.post("g", b'{"id":"e1"}', sign=False)
    wait_kept(pg, 2)
    lines = daemon.ctl("quarantine", "list").stdout.splitlines()
    assert len(lines) == 3 and lines[0].split() == ["id", "received", "provider", "reason", "from", "bytes", "state", "result"]
    only = daemon.ctl("quarantine", "list", "--provider", "h", "--reason", "invalid-json", "--since", "1h").stdout
    assert len(only.splitlines()) == 2 and "127.0.0.1" in only
    number = pg.value("select id from quarantine where provider = 'h'")
    assert "invalid json" in daemon.ctl("quarantine", "show", number).stdout
    assert daemon.ctl("quarantine", "show", 999, check=False).returncode == 1
    assert daemon.ctl("quarantine", "list", "--limit", "many", check=False).returncode == 64

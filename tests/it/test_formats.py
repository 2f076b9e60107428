"""What a body may be: packed, JSON, a form, any bytes, nothing (field reports A14 to A16)."""

import gzip
import json
import re
import urllib.parse
import zlib

import pytest
from support import http

MIB = 1024 * 1024
FORM = "application/x-www-form-urlencoded"


def raw_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


PACKERS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress}


def row_of(pg, event_id):
    row = pg.row("select * from webhook_inbox where event_id = %s", event_id)
    return {**row, "body": None if row["body"] is None else bytes(row["body"])}


def answer_of(daemon, provider, body, headers=None, **options):
    answer = daemon.post(provider, body, headers, **options)
    assert answer.result == {"ok": "stored", "dup": "duplicate"}.get(answer.text, answer.text.replace(" ", "-"))
    return answer.status, answer.text


# Packed bodies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, pack",
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity, gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
    ],
)
def test_a14_packed_bodies_are_signed_and_kept_as_sent(pg, inboxd, name, pack):
    daemon = inboxd()
    document = {"id": "a14", "k": "é", "n": [1.0, 2]}
    text = json.dumps(document, ensure_ascii=False).encode()
    packed = pack(text)
    assert answer_of(daemon, "h", packed, {"Content-Encoding": name}) == (200, "ok")
    assert answer_of(daemon, "h", packed, {"Content-Encoding": name}) == (200, "dup")
    row = row_of(pg, "a14")
    assert (row["body"], row["payload"], row["payload_repaired"]) == (packed, document, False)
    assert row["headers"]["content-encoding"] == name
    # The handler gets both.
    pg.wait_until("select status from webhook_inbox where event_id = 'a14'", equals=2)


def test_a14_identity_and_what_is_not_decoded(pg, inboxd):
    daemon = inboxd()
    assert answer_of(daemon, "h", '{"id":"plain"}', {"Content-Encoding": "Identity"}) == (200, "ok")
    packed = gzip.compress(b'{"id":"never"}')
    for name in ["br", "gzip, gzip", ["gzip", "gzip"], "zstd", "gzip, deflate"]:
        refusal = (415, "unsupported content encoding")
        assert answer_of(daemon, "h", packed, {"Content-Encoding": name}) == refusal
    assert pg.column("select event_id from ledger") == ["plain"]


def test_a14_a_lying_header_is_400(pg, inboxd):
    daemon = inboxd()
    plain, packed = b'{"id":"lie"}', gzip.compress(b'{"id":"lie"}')
    for name, body in [
        ("gzip", plain),
        ("deflate", plain),
        ("deflate", packed),
        ("gzip", zlib.compress(plain)),
        ("gzip", packed[:-1]),
        ("gzip", packed + b"\n"),
    ]:
        assert answer_of(daemon, "h", body, {"Content-Encoding": name}) == (400, "invalid content encoding")
    assert answer_of(daemon, "h", packed) == (400, "invalid json")
    assert pg.value("select count(*) from ledger") == 0


def peak_memory(daemon):
    """The most that was ever resident, in bytes."""
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def test_a15_a_bomb_is_not_inflated_unsigned_and_413_signed(pg, inboxd, build):
    daemon = inboxd(max_body="1M")
    bomb = gzip.compress(bytes(128 * MIB))
    assert len(bomb) < 200_000
    packed = {"Content-Encoding": "gzip"}
    before = daemon.memory()
    unsigned = http.post_many([daemon.item("h", bomb, packed, sign=False)] * 20, threads=20)
    assert {(answer.status, answer.text) for answer in unsigned} == {(401, "missing signature")}
    answers = http.post_many([daemon.item("h", bomb, packed)] * 20, threads=20)
    assert {(answer.status, answer.text) for answer in answers} == {(413, "body too large")}
    # The sanitizers keep what was freed for a while.
    assert peak_memory(daemon) - before < (40 if build in ("dev", "release") else 400) * MIB
    assert pg.value("select count(*) from ledger") == 0


def test_a15_what_a_body_holds_has_the_limit_of_a_body(pg, inboxd):
    daemon = inboxd(providers={"h": {"max_body": "64K"}})
    packed = {"Content-Encoding": "gzip"}
    text = b'{"id":"full"}'.ljust(64 * 1024)
    assert answer_of(daemon, "h", gzip.compress(text), packed) == (200, "ok")
    assert answer_of(daemon, "h", gzip.compress(text + b" "), packed) == (413, "body too large")
    assert row_of(pg, "full")["payload"] == {"id": "full"}


# Forms --------------------------------------------------------------------------------------------


def test_a16_github_may_send_forms(pg, inboxd):
    daemon = inboxd()
    document = {"a": "1 + 1", "line": "x\r\ny", "é": "%"}
    text = json.dumps(document, ensure_ascii=False)
    for number, body in enumerate(
        [
            "payload=" + urllib.parse.quote_plus(text),
            "payload=" + re.sub("%..", lambda code: code[0].lower(), urllib.parse.quote(text)),
            "x=1&payload=" + urllib.parse.quote_plus(text + "\r\n") + "&y=2&x=3",
        ]
    ):
        body = body.encode()
        headers = {"X-GitHub-Delivery": f"d{number}", "Content-Type": FORM}
        assert answer_of(daemon, "g", body, headers) == (200, "ok")
        assert answer_of(daemon, "g", body, headers) == (200, "dup")
        row = row_of(pg, f"d{number}")
        assert (row["body"], row["payload"], row["payload_repaired"]) == (body, document, False)
    assert answer_of(daemon, "g", text) == (200, "ok")


@pytest.mark.parametrize(
    "body, text",
    [
        ("payloads=%7B%7D", "missing form field"),
        ("", "missing form field"),
        ("payload=%7B%7D&x=%7", "invalid form"),
        ("payload=%7", "invalid form"),
        ("payload=%7B", "invalid json"),
        ("payload=%7B%7D&payload=%7B%7D", "invalid form"),
    ],
)
def test_a16_forms_that_carry_no_event_are_400(pg, inboxd, body, text):
    daemon = inboxd()
    assert answer_of(daemon, "g", body, {"Content-Type": f"{FORM}; charset=utf-8"}) == (400, text)
    assert pg.value("select count(*) from ledger") == 0


def test_a16_fields_become_an_object(pg, inboxd):
    keys = {"verify": "none", "format": "form", "event_id": "body:/Sid + body:/Status", "on": "sql:t.ok"}
    daemon = inboxd(providers={"f": keys})
    body = b"Sid=SM%2B1&Status=sent+now&Media=a&Media=b&Odd=%ff%00"
    # Whatever it calls itself.
    assert answer_of(daemon, "f", body, {"Content-Type": "text/plain"}) == (200, "ok")
    row = row_of(pg, "SM+1:sent now")
    assert row["body"] == body
    assert row["payload"] == {"Sid": "SM+1", "Status": "sent now", "Media": ["a", "b"], "Odd": "\ufffd\ufffd"}
    assert row["payload_repaired"] is True


# Anything, and nothing ----------------------------------------------------------------------------


def test_raw_bodies_of_any_kind(pg, inboxd):
    keys = {"verify": "none", "format": "raw", "event_id": "header:X-Id | sha256", "on": "sql:t.ok"}
    daemon = inboxd(providers={"r": keys})
    multipart = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    for event_id, body, content_type in [
        ("multipart", multipart, "multipart/form-data; boundary=x"),
        ("bytes", bytes(range(256)), "application/octet-stream"),
        ("empty", b"", None),
        ("json", b'{"id":1}', "application/json"),
    ]:
        headers = {"X-Id": event_id, "Content-Type": content_type}
        assert answer_of(daemon, "r", body, headers) == (200, "ok")
        row = row_of(pg, event_id)
        assert (row["body"], row["payload"]) == (body, None)
        pg.wait_until("select status from webhook_inbox where event_id = %s", event_id, equals=2)
    # Without an id of their own two empty requests are the same one.
    assert [answer_of(daemon, "r", b"")[1] for _ in range(2)] == ["ok", "dup"]


def test_an_empty_body_is_no_json_and_an_empty_form(pg, inboxd):
    keys = {"verify": "none", "format": "form", "event_id": "header:X-Id", "on": "sql:t.ok"}
    daemon = inboxd(providers={"f": keys})
    assert answer_of(daemon, "h", b"") == (400, "invalid json")
    assert answer_of(daemon, "h", b"", {"Content-Encoding": "gzip"}) == (400, "invalid json")
    assert answer_of(daemon, "f", b"", {"X-Id": "e"}) == (200, "ok")
    assert row_of(pg, "e")["payload"] == {}


# What is kept -------------------------------------------------------------------------------------

WHOLE, REPAIRED = b'{"id": "whole", "n": 1.0}', b'{"id": "repaired", "t": "a\\u0000b"}'


@pytest.mark.parametrize(
    "store, whole, repaired",
    [
        ("both", (WHOLE, {"id": "whole", "n": 1.0}, False), (REPAIRED, {"id": "repaired", "t": "a\ufffdb"}, True)),
        ("body", (WHOLE, None, False), (REPAIRED, None, False)),
        # The only place where it is whole is its body.
        ("payload", (None, {"id": "whole", "n": 1.0}, False), (REPAIRED, {"id": "repaired", "t": "a\ufffdb"}, True)),
    ],
)
def test_store_says_what_is_kept(pg, inboxd, store, whole, repaired):
    daemon = inboxd(providers={"n": {"store": store}})
    for body, wanted in ((WHOLE, whole), (REPAIRED, repaired)):
        assert answer_of(daemon, "n", body) == (200, "ok")
        assert answer_of(daemon, "n", body) == (200, "dup")
        row = row_of(pg, "whole" if wanted is whole else "repaired")
        assert (row["body"], row["payload"], row["payload_repaired"]) == wanted
    # What differs is told as before, by the digest.
    assert answer_of(daemon, "n", WHOLE + b" ") == (200, "dup")
    pg.wait_until("select sum(differing) from inboxd.counters", equals=1)
    pg.wait_until("select array_agg(status) from webhook_inbox", equals=[2, 2])


def test_store_payload_keeps_what_has_none(pg, inboxd):
    daemon = inboxd(providers={"r": {"verify": "none", "format": "raw", "store": "payload", "event_id": "header:X-Id", "on": "sql:t.ok"}})
    assert answer_of(daemon, "r", b"\x00\xff", {"X-Id": "e"}) == (200, "ok")
    assert (row_of(pg, "e")["body"], row_of(pg, "e")["payload"]) == (b"\x00\xff", None)


def test_store_payload_of_elements(pg, inboxd):
    keys = {"verify": "none", "event_id": "body:/id", "on": "sql:t.ok", "split": "body:/events", "store": "payload"}
    daemon = inboxd(providers={"l": keys})
    assert daemon.post("l", b'{"events": [{"id": "a"}, {"id": "b", "t": "\\ud800"}]}').status == 200
    assert (row_of(pg, "a")["body"], row_of(pg, "a")["payload"]) == (None, {"id": "a"})
    assert row_of(pg, "b")["body"] == b'{"id": "b", "t": "\\ud800"}'

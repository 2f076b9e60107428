"""P9: what is refused with a 4xx is kept within bounds, without delaying the answer, and can be released."""

import base64
import hashlib
import json
import socket
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest

from it.working import wait_done
from support import DONE, http, sign, wait_until

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
    assert daemon.ctl("quarantine", "show", number, "--body", "--json", check=False).returncode == 64
    shown = json.loads(daemon.ctl("quarantine", "show", number, "--json").stdout)
    assert base64.b64decode(shown["body"]) == b'{"id":"e1","v":"\xff"}'
    status = daemon.ctl("status").stdout
    assert "refused requests that are kept" in status and "missing signature" in status
    assert json.loads(daemon.ctl("status", "--json").stdout)["quarantine"] == {"g": 1, "h": 1}


def test_why_it_was_refused(pg, inboxd, tmp_path):
    """What is kept is what `inboxctl verify` looks at."""
    daemon = inboxd(providers={"h": {"secret": "text:a-secret-that-was-mistyped"}})
    body = b'{"id":"e1"}'
    daemon.post("h", body, sign.hmac_headers(body), sign=False)
    wait_kept(pg, 1)
    request = tmp_path / "request"
    shown = daemon.ctl("quarantine", "show", 1, "--request").stdout  # text: its line ends are plain ones
    assert shown.startswith("POST /webhooks/h HTTP/1.1\n") and shown.endswith(f"\n\n{body.decode()}")
    request.write_bytes(shown.replace("\n", "\r\n").encode())
    verify = ["verify", "--provider", "h", "--request", request]
    assert daemon.ctl(*verify, check=False).returncode == 1
    daemon.reconfigure({"h": {"secret": f"text:{sign.K0}"}})
    assert daemon.ctl(*verify).returncode == 0
    assert daemon.ctl("quarantine", "list", "--limit", "many", check=False).returncode == 64


def test_a_duplicate_with_other_bytes_is_kept(pg, inboxd):
    daemon = inboxd(providers={"g": {"quarantine": "off"}})
    first, same, other = b'{"id":"e1","v":1}', b'{"id":"e1","v":1}', b'{"id":"e1","v":2}'
    assert [daemon.post("n", body, {"X-Token": "t0k3n"}).text for body in (first, other, same, other)] == ["ok", "dup", "dup", "dup"]
    daemon.post("g", first)
    assert daemon.post("g", other, sign.github_headers(other, delivery=hashlib.sha1(first).hexdigest()), sign=False).text == "dup"
    wait_kept(pg, 2)
    assert kept(pg, "provider, reason, body, event, headers->>'x-token'") == [("n", "different duplicate", other, 1, "[redacted]")] * 2
    pg.wait_until("select differing from duplicates where provider = 'n'", equals=2)
    pg.wait_until("select differing from duplicates where provider = 'g'", equals=1)
    number = pg.value("select min(id) from quarantine")
    done = daemon.ctl("--database", pg.conninfo("postgres"), "quarantine", "release", number, check=False)
    assert done.returncode == 1 and "its id is taken by event 1" in done.stderr
    assert release(pg, daemon, "--provider", "n", "--all") == ["nothing to release"]


def test_copies_in_one_batch_that_differ_are_kept(pg, inboxd):
    """Folded in memory, or stored while the other waited: whichever is first, the others are kept if they differ."""
    daemon = inboxd(writers=1, workers=0)
    blocker = pg.session()
    blocker.do("lock table ledger in access exclusive mode")
    bodies = [f'{{"id":"e1","v":{n % 4}}}'.encode() for n in range(16)]
    with ThreadPoolExecutor(16) as pool:
        posts = [pool.submit(daemon.post, "n", body) for body in bodies]
        pg.wait_until("select count(*) > 0 from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'inboxd store'")
        blocker.rollback()
        assert sorted(post.result().text for post in posts) == ["dup"] * 15 + ["ok"]
    wait_kept(pg, 12)
    stored = pg.value("select body from event_store")
    assert sorted(body for body, in kept(pg, "body")) == sorted(body for body in bodies if body != stored)


# Bounds -------------------------------------------------------------------------------------------


def post_from(daemon, source, body, headers=WRONG, provider="h"):
    """A request from another loopback address."""
    with socket.create_connection(daemon.address, 30, (source, 0)) as connection:
        connection.sendall(http.request_bytes("POST", f"/webhooks/{provider}", body, headers))
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(4096)
    return int(answer.split()[1])


def dropped(pg, count):
    pg.wait_until("select sum(quarantine_dropped) from throughput", equals=count)


def test_a_flood_from_one_address_does_not_push_out_anothers(pg, inboxd):
    daemon = inboxd(providers={"h": {"quarantine_max": "10 1M"}})
    for n in range(30):
        assert post_from(daemon, "127.0.0.66", f"flood {n}") == 401
    wait_kept(pg, 10)
    assert post_from(daemon, "127.0.0.2", b'{"id":"the one"}') == 401
    dropped(pg, 21)
    for n in range(30):
        assert post_from(daemon, "127.0.0.66", f"more {n}") == 401
    dropped(pg, 51)
    rows = kept(pg, "host(source_ip), body")
    assert rows == [("127.0.0.66", f"flood {n}".encode()) for n in range(9)] + [("127.0.0.2", b'{"id":"the one"}')]


def test_bytes_and_rows_a_minute_are_bounded(pg, inboxd):
    daemon = inboxd(providers={"h": {"quarantine_max": "100 40K 20"}, "g": {"quarantine_max": "100 1M 20"}})
    for _ in range(10):
        assert post_from(daemon, "127.0.0.66", b"x" * 16000) == 401
        assert post_from(daemon, "127.0.0.2", b"y" * 1000) == 401
    assert post_from(daemon, "127.0.0.3", b"z" * 50000) == 401  # cannot be kept at all
    dropped(pg, 10)
    assert dict(pg.rows("select host(source_ip), count(*) from quarantine group by 1")) == {"127.0.0.2": 10, "127.0.0.66": 1}
    assert pg.value("select sum(bytes) from quarantine") <= 40 * 1024
    # 45 in one minute or in two: at most 20 of each are kept.
    for n in range(45):
        assert post_from(daemon, "127.0.0.4", f"{n}", provider="g") == 401
    pg.wait_until("select sum(quarantined + quarantine_dropped) from throughput where provider = 'g'", equals=45)
    assert 20 <= pg.value("select count(*) from quarantine where provider = 'g'") <= 40


def test_without_a_database_the_answer_is_as_quick_and_the_copy_waits(own_pg, cluster, inboxd):
    daemon = inboxd(pg=own_pg)
    daemon.post("h", "{}", WRONG, sign=False)
    wait_kept(own_pg, 1)
    cluster.stop("immediate")
    begin = time.monotonic()
    for n in range(50):
        assert daemon.post("h", f"during {n}", WRONG, sign=False).text == "bad signature"
    assert time.monotonic() - begin < 25  # half of what a second's wait for the database in each would make it
    cluster.start()
    wait_kept(own_pg, 51)
    assert kept(own_pg, "body")[1:] == [(f"during {n}".encode(),) for n in range(50)]
    assert own_pg.value("select max(received_at) < now() from quarantine")


def test_a_database_that_hangs_delays_no_answer_and_memory_is_bounded(pg, inboxd, build):
    daemon = inboxd(providers={"h": {"quarantine_max": "1000 64M 100000"}})
    daemon.post("h", "{}", WRONG, sign=False)
    wait_kept(pg, 1)
    blocker = pg.session()
    blocker.do("lock table quarantine_store in access exclusive mode")
    before = daemon.memory()
    answers = daemon.post_many("h", [b"x" * 200000] * 400, threads=4, sign=False)
    assert {answer.text for answer in answers} == {"missing signature"}
    if build in ("dev", "release"):  # the sanitizers keep freed memory
        assert daemon.memory() - before < 60 << 20
    blocker.rollback()
    pg.wait_until("select sum(quarantined + quarantine_dropped) from throughput", equals=401, timeout=60)
    assert 40 < pg.value("select count(*) from quarantine") < 120


def test_what_waits_at_the_end_is_written_and_what_is_old_is_purged(pg, inboxd):
    daemon = inboxd(retain_quarantine="1h")
    daemon.post("h", "{}", WRONG, sign=False)
    assert daemon.terminate() == 0
    assert pg.value("select count(*) from quarantine") == 1
    pg.execute("update quarantine_store set received_at = now() - interval '2 hours'")
    daemon.start()
    wait_kept(pg, 0)


# Releasing ----------------------------------------------------------------------------------------

MISTAKEN = {"h": {"secret": "text:a-secret-that-was-mistyped"}}
MENDED = {"h": {"secret": f"text:{sign.K0}"}}


def release(pg, daemon, *args, code=0):
    """The lines that an operator sees."""
    done = daemon.ctl("--database", pg.conninfo("postgres"), "quarantine", "release", *args, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_wrong_secret_costs_nothing(pg, inboxd):
    daemon = inboxd(providers=MISTAKEN)
    bodies = [b'{"id":"e1","v":1}', b'{"id":"e2"}', b'{"id":"e1","v":1}']
    for body in bodies:
        assert daemon.post("h", body, sign.hmac_headers(body), sign=False).text == "bad signature"
    assert daemon.post("h", b'{"id":"forged"}', WRONG, sign=False).text == "bad signature"
    wait_kept(pg, 4)
    ids = pg.column("select id from quarantine order by id")
    pg.execute("update quarantine_store set received_at = received_at - interval '3 hours'")
    came = pg.column("select received_at from quarantine order by id")
    assert release(pg, daemon, ids[0], code=1) == [f"{ids[0]}: refused: bad signature"]
    daemon.reconfigure(MENDED)
    daemon.reload()
    assert release(pg, daemon, "--provider", "h", "--all", "--reason", "bad signature", code=1) == [
        f"{ids[0]}: stored as event 1", f"{ids[1]}: stored as event 2", f"{ids[2]}: duplicate of event 1",
        f"{ids[3]}: refused: bad signature",
    ]  # fmt: skip
    pg.wait_until("select count(*) from t.effect", equals=2)
    wait_done(pg)
    assert pg.rows("select event_id, received_at, signature_verified, status from webhook_inbox order by id") == [
        ("e1", came[0], True, DONE), ("e2", came[1], True, DONE),
    ]  # fmt: skip
    assert bytes(pg.value("select body from webhook_inbox where id = 1")) == bodies[0]
    # What is in the inbox need not be kept twice; what was refused again is there for another try.
    assert kept(pg, "state, event, body is null, released_by") == [
        ("stored", 1, True, "postgres"), ("stored", 2, True, "postgres"), ("duplicate", 1, True, "postgres"),
        ("refused", None, False, "postgres"),
    ]  # fmt: skip
    assert release(pg, daemon, ids[0], ids[2]) == [f"{ids[0]}: stored as event 1", f"{ids[2]}: duplicate of event 1"]
    assert release(pg, daemon, "--unverified", ids[3]) == [f"{ids[3]}: stored as event {pg.value('select max(id) from ledger')}"]
    assert pg.rows("select event_id, signature_verified from webhook_inbox order by id desc limit 1") == [("forged", False)]
    pg.wait_until("select count(*) from t.effect", equals=3)
    assert pg.column("select action from audit order by at") == ["release"] * 5 + ["release unverified"]


def test_what_was_stale_is_released_with_its_own_time(pg, inboxd):
    daemon = inboxd()
    body = b'{"id":"evt_1","type":"a.b"}'
    assert daemon.post("s", body, sign.stripe_headers(body, t=1000000000), sign=False).text == "stale timestamp"
    forged = sign.stripe_headers(body, sign.K0, 1000000000)
    assert daemon.post("s", body, forged, sign=False).text == "bad signature"
    wait_kept(pg, 2)
    first, second = pg.column("select id from quarantine order by id")
    assert release(pg, daemon, first, second, code=1) == [
        f"{first}: stored as event 1", f"{second}: refused: bad signature",
    ]  # fmt: skip


@pytest.mark.parametrize("shown", ["header", "prefix", "query", "basic"])
def test_a_credential_is_compared_by_its_hash(pg, inboxd, shown):
    right, old = "today's token+with odd&characters", "yesterday's-token-0000"
    keys = {"verify": "token", "event_id": "body:/id", "on": "sql:t.ok"}
    basic = base64.b64encode(f"user:{right}".encode()).decode()
    headers, query, settings = {
        "header": ({"X-Gitlab-Token": right}, "", {"signature": "header:X-Gitlab-Token"}),
        "prefix": ({"X-Acme": f"key {right}"}, "", {"signature": "header:X-Acme prefix Key"}),
        "query": ({}, f"?a=1&t={urllib.parse.quote_plus(right)}", {"signature": "query:t"}),
        "basic": ({"Authorization": f"Basic {basic}"}, "", {"verify": "basic", "secret": f"text:user:{old}"}),
    }[shown]
    daemon = inboxd(providers={"p": {**keys, "secret": f"text:{old}", **settings}})
    assert daemon.post("p", b'{"id":"e1"}', headers, sign=False, query=query).text == "bad signature"
    wait_kept(pg, 1)
    assert right not in pg.value("select q::text || encode(q.head, 'escape') from quarantine_store q")
    number = pg.value("select id from quarantine")
    assert release(pg, daemon, number, code=1) == [
        f"{number}: refused: bad signature (it showed a credential that is none of today's secrets)"
    ]
    secret = f"user:{right}" if shown == "basic" else right
    daemon.reconfigure({"p": {"secret": f'"text:{secret}"'}})
    daemon.reload()
    assert release(pg, daemon, number) == [f"{number}: stored as event 1"]
    assert pg.rows("select event_id, signature_verified from webhook_inbox") == [("e1", True)]
    assert right not in pg.value("select string_agg(headers::text, '') from event_store")


def test_what_cannot_be_read_is_released_once_the_configuration_can_read_it(pg, inboxd):
    daemon = inboxd()
    daemon.post("h", b'{"other":"e1"}')
    daemon.post("h", b"\xffnot json")
    wait_kept(pg, 2)
    first, second = pg.column("select id from quarantine order by id")
    daemon.reconfigure({"h": {"event_id": "body:/other", "key": None}})
    daemon.reload()
    assert release(pg, daemon, first, second, code=1) == [
        f"{first}: stored as event 1", f"{second}: refused: invalid json",
    ]  # fmt: skip
    assert bytes(pg.value("select body from quarantine where id = %s", second)) == b"\xffnot json"


def test_a_secret_that_a_handshake_brought_counts_as_todays(pg, inboxd):
    keys = {
        "verify": "hmac-sha256", "signed": "{body}", "signature": "header:X-Hook-Signature hex", "handshake": "header-echo",
        "event_id": "body:/id", "on": "sql:t.ok",
    }  # fmt: skip
    secret, body = "b537207f20cbfa02357cf448134da559", b'{"id":"e1"}'
    daemon = inboxd(providers={"p": keys}, capture_key=f"text:{'00ff' * 16}")
    assert daemon.post("p", b"{}", {"X-Hook-Secret": secret}, sign=False).result == "handshake"
    # 503 until the daemon knows what is accepted: nothing.
    wait_until(lambda: daemon.post("p", body, sign.hmac_headers(body, secret, "X-Hook-Signature"), sign=False).text == "bad signature")
    wait_kept(pg, 1)
    number = pg.value("select id from quarantine")
    assert release(pg, daemon, number, code=1) == [f"{number}: refused: bad signature"]
    daemon.ctl("--database", pg.conninfo("postgres"), "secrets", "accept", "1")
    wait_until(lambda: daemon.post("p", b"x", sign.hmac_headers(b"x", secret, "X-Hook-Signature"), sign=False).text == "invalid json")
    assert release(pg, daemon, number) == [f"{number}: stored as event 1"]


def test_a_handshake_is_not_released_as_an_event(pg, inboxd):
    daemon = inboxd(providers={"h": {**MISTAKEN["h"], "handshake": "zoom"}})
    body = b'{"id":"e1","event":"endpoint.url_validation","payload":{"plainToken":"q9ibPhGeRZ6ayx5WTrXjRw"}}'
    assert daemon.post("h", body, sign.hmac_headers(body), sign=False).text == "bad signature"
    wait_kept(pg, 1)
    number = pg.value("select id from quarantine")
    daemon.reconfigure(MENDED)
    daemon.reload()
    assert release(pg, daemon, number, code=1) == [f"{number}: refused: it is a handshake, which is answered and never stored"]
    assert pg.value("select count(*) from ledger") == 0


def test_a_request_of_several_events_is_released_whole(pg, inboxd):
    daemon = inboxd(providers={"h": {**MISTAKEN["h"], "split": "body:"}})
    for body in (b'[{"id":"e1"},{"id":"e2"}]', b'[{"id":"e2"},{"id":"e3"}]', b'[{"id":"e1"},{"id":"e3"}]', b'[{"id":"e4"},{}]'):
        assert daemon.post("h", body, sign.hmac_headers(body), sign=False).text == "bad signature"
    wait_kept(pg, 4)
    daemon.reconfigure(MENDED)
    daemon.reload()
    lines = release(pg, daemon, "--provider", "h", "--all", code=1)
    assert [line.split(": ", 1)[1] for line in lines] == [
        "stored all 2 events, the first is 1",
        f"stored 1 of 2 events, the first is {pg.value('select max(id) from ledger')}; the others were duplicates",
        "all 2 events were duplicates", "refused: missing event id",
    ]  # fmt: skip
    wait_done(pg)
    assert sorted(pg.column("select event_id from t.effect")) == ["e1", "e2", "e3"]
    assert pg.value("select count(*) from quarantine where body is null") == 0
    assert pg.value("select count(*) from quarantine where reason = 'different duplicate'") == 0


def test_two_daemons_and_two_operators_release_once(pg, inboxd):
    daemon = inboxd(providers=MISTAKEN)
    bodies = [f'{{"id":"e{n}"}}'.encode() for n in range(40)]
    for body in bodies:
        daemon.post("h", body, sign.hmac_headers(body), sign=False)
    wait_kept(pg, len(bodies))
    daemon.reconfigure(MENDED)
    daemon.reload()
    other = inboxd()
    with ThreadPoolExecutor(2) as pool:
        work = [pool.submit(release, pg, one, "--provider", "h", "--all") for one in (daemon, other)]
        lines = [line for one in work for line in one.result()]
    assert len([line for line in lines if "stored as event" in line]) >= len(bodies)
    assert pg.value("select count(*) from ledger") == len(bodies)
    wait_done(pg)
    assert pg.rows("select count(*), count(distinct event_id) from t.effect") == [(len(bodies),) * 2]


def test_a_daemon_that_dies_in_a_release_leaves_it_to_the_next(pg, inboxd):
    daemon = inboxd(providers=MISTAKEN)
    body = b'{"id":"e1"}'
    daemon.post("h", body, sign.hmac_headers(body), sign=False)
    wait_kept(pg, 1)
    number = pg.value("select id from quarantine")
    daemon.terminate()
    pg.value("select release(%s)", number)
    dying = inboxd(faults="quarantine.before_settle=kill")
    dying.wait_killed()
    assert pg.rows("select state from quarantine") == [("marked",)]
    other = inboxd()
    pg.wait_until("select state from quarantine", equals="duplicate")
    assert release(pg, other, number) == [f"{number}: duplicate of event 1"]
    wait_done(pg)
    assert pg.value("select count(*) from t.effect") == 1


def test_nobody_there_to_release(pg, inboxd):
    daemon = inboxd(providers=MISTAKEN)
    daemon.post("h", b"{}", WRONG, sign=False)
    wait_kept(pg, 1)
    daemon.terminate()
    number = pg.value("select id from quarantine")
    assert release(pg, daemon, number, "--wait", "200ms", code=69) == []
    assert kept(pg, "state") == [("marked",)]
    assert release(pg, daemon, 4711, code=1) == []
    assert release(pg, daemon, code=64) == release(pg, daemon, "--all", code=64) == release(pg, daemon, "x", code=64) == []
    done = daemon.ctl("--database", pg.conninfo("postgres"), "quarantine", "drop", "--provider", "h", "--all")
    assert done.stdout == f"{number} is dropped\n"
    assert kept(pg) == []
    # The daemon's own role may not decide such things.
    assert "permission denied" in daemon.ctl("quarantine", "release", "1", check=False).stderr

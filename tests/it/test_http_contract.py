"""What a sender sees: the answers of POST /webhooks/PROVIDER, and the odd requests of the field reports."""

import gzip
import json
import socket
import struct
import threading
import time
import urllib.parse

import pytest
from support import sign
from support.http import Client, chunked, head, request_bytes
from support.wait import wait_until

MIB = 1024 * 1024


def event(event_id, size=0, **members):
    """An event's body; with `size`, of exactly so many bytes."""
    body = json.dumps({"id": event_id, **members}).encode()
    if size:
        pad = size - len(body) - len(', "pad": ""')
        body = body[:-1] + b', "pad": "' + b"x" * pad + b'"}'
        assert len(body) == size
    return body


def one_line(answer):
    """Every answer is one line of plain text with a result for machines."""
    assert answer.body.endswith(b"\n") and answer.body.count(b"\n") == 1
    assert answer.headers["content-type"] == "text/plain"
    assert answer.result
    return answer


def count(pg):
    return pg.value("select count(*) from inboxd.ledger")


def until_closed(client):
    """All that comes until the peer closes."""
    data = b""
    try:
        while piece := client.socket.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


def signed_head(body, target="/webhooks/h", length=True, **headers):
    """The header of a correctly signed request for provider h, without its body."""
    ours = {"Host": "x", **sign.hmac_headers(body), **headers}
    if length:
        ours["Content-Length"] = len(body)
    return head("POST", target, ours)


# The table of answers ---------------------------------------------------------------------------------


def test_stored_is_ok_and_a_copy_is_dup(pg, inboxd):
    daemon = inboxd()
    first = one_line(daemon.post("h", event("e1")))
    assert (first.status, first.text, first.result) == (200, "ok", "stored")
    second = one_line(daemon.post("h", event("e1")))
    assert (second.status, second.text, second.result) == (200, "dup", "duplicate")
    assert count(pg) == 1


def test_refusals_have_their_status_text_and_result(pg, inboxd):
    daemon = inboxd()

    def refused(provider, body, headers=None, signed=True):
        answer = one_line(daemon.post(provider, body, headers, sign=signed))
        assert answer.result == answer.text.replace(" ", "-")
        return answer.status, answer.text

    assert refused("h", b"{") == (400, "invalid json")
    assert refused("h", b"") == (400, "invalid json")
    assert refused("h", b"{}") == (400, "missing event id")
    assert refused("h", event("e"), signed=False) == (401, "missing signature")
    assert refused("h", event("e"), {"X-Sig": "00" * 32}) == (401, "bad signature")
    stale = sign.stripe_headers(event("e"), t=int(time.time()) - 3600)
    assert refused("s", event("e"), stale) == (401, "stale timestamp")
    assert refused("nobody", event("e")) == (404, "unknown provider")
    assert refused("h", event("e"), {"Content-Encoding": "gzip"}) == (400, "invalid content encoding")
    assert refused("h", event("e"), {"Content-Encoding": "gzip"}, signed=False) == (401, "missing signature")
    assert refused("h", event("e"), {"Content-Encoding": "br"}) == (415, "unsupported content encoding")
    assert count(pg) == 0
    assert daemon.post("h", event("e"), {"Content-Encoding": "identity"}).status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"])
def test_other_methods_are_405_with_allow(inboxd, method):
    with inboxd() as daemon, daemon.client() as client:
        answer = client.request(method, "/webhooks/n", b"" if method in ("GET", "HEAD") else b"{}")
        assert (answer.status, answer.headers["allow"], answer.result) == (405, "POST", "method-not-allowed")
        # The connection is still good, and no byte of the refused body was taken for a request.
        assert client.post("/webhooks/n", event("after")).text == "ok"


def test_unknown_provider_comes_before_the_method(inboxd):
    with inboxd() as daemon, daemon.client() as client:
        assert client.request("GET", "/webhooks/nobody").status == 404
        assert client.request("GET", "/healthz").text == "not found"
        assert client.post("/", event("e")).text == "not found"


def test_a_wrong_signature_wins_over_age_and_format(inboxd):
    with inboxd() as daemon:
        old = sign.stripe_headers(b"something else", t=int(time.time()) - 3600)
        assert daemon.post("s", b"no json", old).text == "bad signature"
        assert daemon.post("h", b"no json", {"X-Sig": "00" * 32}).text == "bad signature"


def test_503_says_when_to_come_back(inboxd):
    with inboxd(faults="ingest.queue_full=error:2") as daemon, daemon.client() as client:
        for _ in range(2):
            answer = one_line(client.post("/webhooks/n", event("e")))
            assert (answer.status, answer.text, answer.headers["retry-after"]) == (503, "try again", "1")
        assert client.post("/webhooks/n", event("e")).text == "ok"


def test_503_within_ack_timeout_when_the_database_does_not_answer(pg, inboxd, relay):
    """The answer comes by the clock; the event may be stored all the same and then the retry is a duplicate."""
    daemon = inboxd(database=relay.conninfo(pg), ack_timeout="500ms")
    wait_until(lambda: daemon.post("n", event("before")).status == 200)
    relay.stall()
    assert daemon.post("n", event("e")).text == "try again"
    relay.resume()
    wait_until(lambda: daemon.post("n", event("e")).status == 200)
    assert count(pg) == 2


def test_one_connection_too_many_is_told(inboxd):
    with inboxd(max_connections=3) as daemon:
        clients = [daemon.client() for _ in range(3)]
        for number, client in enumerate(clients):
            assert client.post("/webhooks/n", event(f"e{number}")).text == "ok"
        with daemon.client() as late:
            late.send(request_bytes("POST", "/webhooks/n", event("late")))
            answer = one_line(late.read())
            assert (answer.status, answer.closes, answer.headers["retry-after"]) == (503, True, "1")
            assert late.closed()
        clients.pop().close()
        wait_until(lambda: daemon.post("n", event("late")).status == 200)
        for client in clients:
            client.close()


def test_unix_socket(inboxd, tmp_path):
    path = str(tmp_path / "s")
    with inboxd(listen=[f"unix:{path}", "127.0.0.1:0"]) as daemon:
        with Client(path) as client:
            assert client.post("/webhooks/n", event("e")).text == "ok"
        daemon.wait_log("127.0.0.1:")


def test_keep_alive_pipelining_and_old_http(pg, inboxd):
    with inboxd() as daemon:
        with daemon.client() as client:
            client.send(b"".join(request_bytes("POST", "/webhooks/n", event(f"p{i}")) for i in range(10)))
            assert [client.read().text for _ in range(10)] == ["ok"] * 10
        with daemon.client() as client:
            body = event("old")
            client.send(head("POST", "/webhooks/n", {"Content-Length": len(body)}, version="HTTP/1.0") + body)
            assert client.read().text == "ok"
            assert client.closed()
        with daemon.client() as client:
            body = event("absolute")
            client.send(request_bytes("POST", "http://hooks.example.com/webhooks/n", body))
            assert client.read().text == "ok"
        assert count(pg) == 12


def test_a_body_byte_by_byte(pg, inboxd):
    body = event("slow")
    with inboxd() as daemon, daemon.client() as client:
        for byte in signed_head(body) + body:
            client.send(bytes([byte]))
        assert client.read().text == "ok"


def test_a_stalled_request_is_408(pg, inboxd):
    with inboxd(idle_timeout="1s") as daemon, daemon.client() as client:
        client.send(head("POST", "/webhooks/n", {"Host": "x", "Content-Length": 100}) + b'{"id":')
        answer = one_line(client.read())
        assert (answer.status, answer.closes) == (408, True)
        assert client.closed()
    assert count(pg) == 0


def test_an_idle_connection_is_closed(inboxd):
    with inboxd(idle_timeout="1s") as daemon, daemon.client() as client:
        assert client.post("/webhooks/n", event("e")).text == "ok"
        assert client.closed()


def test_long_targets_and_headers_do_not_pass(pg, inboxd):
    with inboxd() as daemon:
        with daemon.client() as client:
            client.send(request_bytes("POST", "/webhooks/n?" + "x" * 20000, event("e")))
            assert client.read().status == 414
        with daemon.client() as client:
            client.send(request_bytes("POST", "/webhooks/n", event("e"), {"X-Long": "x" * 20000}))
            assert client.read().status == 431
        with daemon.client() as client:
            many = {f"X-{i}": "1" for i in range(150)}
            assert client.post("/webhooks/n", event("many"), many).status in (200, 431)
        assert daemon.post("n", event("after")).status == 200


# Field reports ----------------------------------------------------------------------------------------


def test_a10_names_of_headers_in_any_case(pg, inboxd):
    with inboxd() as daemon:
        for number, name in enumerate(["x-sig", "X-SIG", "X-Sig"]):
            body = event(f"a10-{number}")
            answer = daemon.post("h", body, {name: sign.sig(body), "X-CamelCase": "Kept As Is"}, sign=False)
            assert answer.text == "ok"
        for headers in pg.column("select headers from webhook_inbox"):
            assert all(name == name.lower() for name in headers)
            assert headers["x-camelcase"] == "Kept As Is"


def test_a11_chunked_bodies(pg, inboxd):
    sent = []

    def post(client, body, coded, **headers):
        sent.append(body)
        client.send(signed_head(body, length=False, **{"Transfer-Encoding": "chunked", **headers}) + coded)
        return client.read().text

    with inboxd() as daemon, daemon.client() as client:
        body = event("a11-bytes", text="é" * 40)
        assert post(client, body, chunked(body, [1])) == "ok"
        body = event("a11-one")
        assert post(client, body, chunked(body)) == "ok"
        body = event("a11-extension")
        assert post(client, body, chunked(body, [7, 3], extension=';name="a value"')) == "ok"
        body = event("a11-trailer")
        assert post(client, body, chunked(body, trailer={"X-Sig": "00" * 32})) == "ok"
        # A trailer never stands in for the header.
        body = event("a11-only-trailer")
        client.send(head("POST", "/webhooks/h", {"Host": "x", "Transfer-Encoding": "chunked"}))
        client.send(chunked(body, trailer=sign.hmac_headers(body)))
        assert client.read().text == "missing signature"
        assert pg.column("select event_id from inboxd.ledger order by 1") == [
            "a11-bytes", "a11-extension", "a11-one", "a11-trailer",
        ]  # fmt: skip
        assert [bytes(body) for body in pg.column("select body from webhook_inbox order by id")] == sent
        assert daemon.post("h", sent[0]).text == "dup"  # with a length: the same event


def test_a12_size_without_a_length(pg, inboxd):
    with inboxd(providers={"h": {"max_body": "1M"}}) as daemon:
        body = event("a12", MIB)
        with daemon.client() as client:
            client.send(signed_head(body, length=False, **{"Transfer-Encoding": "chunked"}) + chunked(body, [65536]))
            assert client.read().text == "ok"
        body = event("a12-more", MIB + 1)
        with daemon.client() as client:
            client.send(signed_head(body, length=False, **{"Transfer-Encoding": "chunked"}) + chunked(body, [65536]))
            answer = one_line(client.read())
            assert (answer.status, answer.text, answer.closes) == (413, "body too large", True)
            assert client.closed()
        with daemon.client() as client:  # a length of five and more bytes: the rest is another request, not a body
            client.send(head("POST", "/webhooks/h", {"Host": "x", "Content-Length": 5}) + b"x" * (2 * MIB))
            assert client.read().status == 401
        assert count(pg) == 1


def test_a12_endless_chunks_on_many_connections(pg, inboxd, build):
    """Each is answered 413 and closed; memory stays far below what was sent."""
    with inboxd(providers={"h": {"max_body": "1M"}}) as daemon:
        before = daemon.memory()
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        answers, most = [], [before]

        def run():
            with daemon.client() as client:
                client.send(head("POST", "/webhooks/h", {"Host": "x", "Transfer-Encoding": "chunked"}))
                for _ in range(4096):
                    client.send(piece)
                answers.append(client.read())

        threads = [threading.Thread(target=run, daemon=True) for _ in range(50)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            most.append(daemon.memory())
            threads[0].join(0.05)
            threads = [thread for thread in threads if thread.is_alive()]
        assert [answer.status for answer in answers] == [413] * 50
        if build in ("dev", "release"):  # the sanitizers keep freed memory
            assert max(most) - before < 50 * 2 * MIB + 32 * MIB
        assert daemon.post("h", event("after")).text == "ok"


def test_a12_known_length_over_the_limit(inboxd):
    with inboxd(providers={"h": {"max_body": "1M"}}) as daemon:
        body = event("big", 2 * MIB)
        with daemon.client() as client:  # up to 8 MiB are read, so that the sender can read the answer
            client.send(signed_head(body) + body)
            answer = one_line(client.read())
            assert (answer.status, answer.closes) == (413, True)
        with daemon.client() as client:  # beyond that it is told at once
            client.send(head("POST", "/webhooks/h", {"Host": "x", "Content-Length": 64 * MIB}))
            assert one_line(client.read()).status == 413
            assert client.closed()


def test_a17_the_content_type_is_never_a_reason(pg, inboxd):
    kinds = [
        "text/plain; charset=UTF-8", 'application/json;charset="utf-8"', "application/cloudevents+json",
        None, "", ["text/plain", "text/plain"],
    ]  # fmt: skip
    with inboxd() as daemon:
        for number, kind in enumerate(kinds):
            assert daemon.post("h", event(f"a17-{number}"), {"Content-Type": kind}).text == "ok"
    assert count(pg) == len(kinds)


@pytest.mark.parametrize("opening, closing, middle", [("[", "]", "1"), ('{"a":', "}", "1")])
def test_a20_deep_nesting(pg, inboxd, opening, closing, middle):
    with inboxd(providers={"h": {"max_body": "8M"}}) as daemon:
        for depth in (500, 2048, 2049, 10_000, 100_000, 500_000):
            nest = opening * depth + middle + closing * depth
            answer = daemon.post("h", f'{{"id":"a20-{depth}","v":{nest}}}')
            expected = 200 if depth < 1000 else 400
            assert answer.status == expected, (depth, answer)
            assert daemon.post("h", f'{{"id":"cut-{depth}","v":{opening * depth}').text == "invalid json"
        assert daemon.post("h", event("after")).text == "ok"
        assert daemon.running()


def test_a20_the_depth_is_the_same_wherever_json_is_read(pg, inboxd):
    """1,000 levels pass and 1,001 do not: in a body, packed, in a form's field, in an event of several, in mixed nesting."""
    plain = {"verify": "none", "event_id": "sha256", "on": "sql:t.ok", "max_body": "1M"}
    ways = {
        "body": ({}, lambda text: (text, {})),
        "packed": ({}, lambda text: (gzip.compress(text.encode()), {"Content-Encoding": "gzip"})),
        "field": ({"format": "form:payload"}, lambda text: (urllib.parse.urlencode({"payload": text}), {})),
        "several": ({"split": "body:/"}, lambda text: (f'{{"":{text}}}', {})),
    }
    with inboxd(providers={name: {**plain, **keys} for name, (keys, _) in ways.items()}) as daemon:
        for name, (_, make) in ways.items():
            inner = 1 if name == "several" else 0
            for opening, closing in (("[", "]"), ('[{"a":', "}]")):
                levels = opening.count("[") + opening.count("{")
                for depth, expected in ((1000 - inner, 200), (1000 + levels - inner, 400), (30_000, 400)):
                    times = depth // levels
                    body, headers = make(opening * times + "1" + closing * times)
                    answer = daemon.post(name, body, headers)
                    assert answer.status == expected, (name, opening, depth, answer)
        assert daemon.post("n", event("after")).text == "ok"


def test_a23_slashes_and_queries(pg, inboxd):
    def post(target):
        body = event(f"a23 {target}")
        with daemon.client() as client:
            return client.post(target, body, sign.hmac_headers(body)).status

    with inboxd() as daemon:
        for target in ("/webhooks/h", "/webhooks/h/", "/webhooks/h?x=1", "/webhooks/h/?x=1"):
            assert post(target) == 200, target
        for target in ("//webhooks/h", "/webhooks/h//", "/webhooks/%68", "/webhooks/h%2f", "/webhooks/h%00", "/webhooks/"):
            assert post(target) == 404, target
    assert count(pg) == 4


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS", "POST"])
def test_a23_no_method_and_no_path_is_sent_elsewhere(inboxd, method):
    paths = ("/webhooks/h", "/webhooks/h/", "//webhooks/h", "/webhooks/h//", "/webhooks", "/webhooks/", "/", "/webhooks/H")
    with inboxd() as daemon, daemon.client() as client:
        for path in paths:
            for query in ("", "?x=1", "?"):
                answer = client.request(method, path + query)
                assert answer.status >= 400 and "location" not in answer.headers, (path, query, answer)


def test_a24_expect_continue(pg, inboxd):
    body = event("a24", 4000)
    expect = {"Expect": "100-continue"}
    with inboxd(providers={"h": {"max_body": "1M"}}) as daemon:
        with daemon.client() as client:  # the body only after the go-ahead
            client.send(signed_head(body, **expect))
            assert client.read_head()[0] == 100
            client.send(body)
            assert client.read().text == "ok"
        with daemon.client() as client:  # the body at once
            client.send(signed_head(body, **expect) + body)
            assert client.read().text == "dup"
        with daemon.client() as client:  # too large: the final answer and a close instead of a go-ahead
            client.send(head("POST", "/webhooks/h", {"Host": "x", "Content-Length": 2 * MIB, **expect}))
            status, headers = client.read_head()
            assert (status, headers["connection"]) == (413, "close")
            assert client._exactly(int(headers["content-length"])) == b"body too large\n"
            assert client.closed()
        with daemon.client() as client:
            client.send(signed_head(body, target="/webhooks/nobody", **expect))
            assert client.read_head()[0] == 404


def test_a24_every_request_of_a_connection_gets_its_go_ahead(pg, inboxd):
    expect = {"Expect": "100-continue"}
    with inboxd(providers={"h": {"max_body": "1M"}}) as daemon, daemon.client() as client:
        for number in range(3):
            body = event(f"a24-length-{number}", 4000)
            client.send(signed_head(body, **expect))
            assert client.read_head()[0] == 100
            client.send(body)
            assert client.read().text == "ok"
            body = event(f"a24-chunks-{number}", 4000)
            client.send(signed_head(body, length=False, **{"Transfer-Encoding": "chunked", **expect}))
            assert client.read_head()[0] == 100
            client.send(chunked(body, [1000]))
            assert client.read().text == "ok"
        # More than the limit, which only the chunks tell: the rest is read, so that the answer can be.
        client.send(head("POST", "/webhooks/h", {"Host": "x", "Transfer-Encoding": "chunked", **expect}))
        assert client.read_head()[0] == 100
        client.send(chunked(b"x" * (2 * MIB), [65536]))
        answer = one_line(client.read())
        assert (answer.status, answer.closes) == (413, True)
        assert client.closed()
    assert count(pg) == 6


def raw(body, *lines):
    return "\r\n".join(["POST /webhooks/n HTTP/1.1", "Host: x", *lines, "", ""]).encode() + body


SMUGGLED = request_bytes("POST", "/webhooks/n", event("smuggled"))


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 2", "Content-Length: 3"),
        ("Content-Length: 0", "Content-Length: 5"),
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Transfer-Encoding : chunked",),
        ("Transfer-Encoding: chunked, gzip",),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: identity",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Content-Length : 5",),
        ("Content-Length: 2", "X-Folded: a", " b"),
        ("Content-Length: 2, 2",),
        ("Content-Length: -1",),
        ("Content-Length: 2", "X Y: 1"),
        ("Content-Length: 2", "no colon"),
        ("Content-Length:", " 2"),
        ("Content-Length: 2", "Content-Length: 2", "Content-Length: 3"),
        ("Content-Length: 0x2",),
        ("Content-Length: +2",),
        ("content-length: 2", "CONTENT-LENGTH: 3"),
        ("Transfer-Encoding: \x0bchunked",),
        ("Transfer-Encoding: chunked;a=b",),
        ("Transfer-Encoding:", " chunked"),
        ("X-A: b\rTransfer-Encoding: chunked", "Content-Length: 2"),
        ("X-A: b\0", "Content-Length: 2"),
        ("Host: y", "Content-Length: 2"),
    ],
)
def test_a35_ambiguous_framing_is_400_and_a_close(pg, inboxd, lines):
    with inboxd() as daemon, daemon.client() as client:
        client.send(raw(b"0\r\n\r\n" + SMUGGLED + SMUGGLED, *lines))
        answer = one_line(client.read())
        assert (answer.status, answer.text, answer.closes) == (400, "bad request", True)
        assert until_closed(client) == b""
    assert count(pg) == 0


def test_a35_our_own_400_has_the_result(inboxd):
    with inboxd() as daemon, daemon.client() as client:
        client.send(raw(b"{}", "Content-Length: 2", "Content-Length: 3"))
        answer = one_line(client.read())
        assert (answer.text, answer.result, answer.closes) == ("bad request", "bad-request", True)


def test_a35_two_equal_lengths_are_fine(pg, inboxd):
    body = event("twice")
    with inboxd() as daemon, daemon.client() as client:
        client.send(raw(body, f"Content-Length: {len(body)}", f"Content-Length: {len(body)}"))
        assert client.read().text == "ok"
        assert client.post("/webhooks/n", event("next")).text == "ok"
    assert count(pg) == 2


def test_a35_old_http_knows_no_chunks(pg, inboxd):
    with inboxd() as daemon, daemon.client() as client:
        client.send(head("POST", "/webhooks/n", {"Transfer-Encoding": "chunked"}, version="HTTP/1.0"))
        client.send(chunked(event("e")))
        assert client.read().status == 400
    assert count(pg) == 0


def test_a36_rst_while_the_commit_is_under_way(pg, inboxd, relay):
    daemon = inboxd(database=relay.conninfo(pg), ack_timeout="30s")
    assert daemon.post("n", event("warm")).text == "ok"
    relay.stall()
    clients = [daemon.client() for _ in range(20)]
    for number, client in enumerate(clients):
        client.send(request_bytes("POST", "/webhooks/n", event(f"rst-{number}")))
    for client in clients:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    relay.resume()
    wait_until(lambda: daemon.post("n", event("alive")).status == 200)
    answers = daemon.post_many("n", [event(f"rst-{number}") for number in range(20)])
    assert {answer.status for answer in answers} == {200}
    assert count(pg) == 22

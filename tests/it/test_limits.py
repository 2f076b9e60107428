"""What one sender may take of the front door: time, connections, memory. Beyond a limit there is an answer, or a close."""

import pytest
from support import sign
from support.http import head, request_bytes
from support.wait import wait_until

MIB = 1 << 20


def event(name, size=0):
    start = b'{"id":"%s","v":"' % name.encode()
    return start + b"x" * max(0, size - len(start) - 2) + b'"}'


def drip(client, data):
    """Sends a byte whenever half a second brings no answer, until one comes; returns what came (b"": a close)."""
    client.socket.settimeout(0.5)
    for at in range(len(data)):
        client.send(data[at : at + 1])
        try:
            return client.socket.recv(65536)
        except TimeoutError:
            continue
    raise AssertionError(f"{len(data)} bytes were taken one by one")


@pytest.mark.slow
def test_a_line_a_header_and_a_body_that_drip_are_ended(inboxd):
    with inboxd(idle_timeout="3s", header_timeout="3s", body_timeout="3s") as daemon:
        with daemon.client() as client:  # no request yet, so nothing to answer
            assert drip(client, b"POST /webhooks/" + b"n" * 60) == b""
        with daemon.client() as client:
            assert drip(client, b"POST /webhooks/n HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 60)[:12] in (b"", b"HTTP/1.1 408")
        with daemon.client() as client:
            client.send(head("POST", "/webhooks/n", {"Host": "x"})[:-2])
            assert drip(client, b"X-A: b\r\n" * 60).startswith(b"HTTP/1.1 408 ")
        with daemon.client() as client:
            client.send(head("POST", "/webhooks/n", {"Host": "x", "Content-Length": 1000}))
            assert drip(client, event("drip", 1000)).startswith(b"HTTP/1.1 408 ")
        assert daemon.post("n", event("after")).text == "ok"


@pytest.mark.slow
def test_a_body_below_the_rate_is_ended_and_a_slow_one_is_not(pg, inboxd):
    with inboxd(min_rate="1K") as daemon, daemon.client() as slow, daemon.client() as steady:
        body = event("steady", 64 * 1024)
        steady.send(head("POST", "/webhooks/n", {"Host": "x", "Content-Length": len(body)}) + body[: 60 * 1024])
        slow.send(head("POST", "/webhooks/n", {"Host": "x", "Content-Length": 100000}))
        answer = drip(slow, event("slow", 100000))
        assert answer.startswith(b"HTTP/1.1 408 ")
        steady.send(body[60 * 1024 :])
        assert steady.read().text == "ok"


def test_connections_from_one_address_are_bounded(inboxd, tmp_path):
    with inboxd(max_connections_per_address=3) as daemon:
        kept = [daemon.client() for _ in range(3)]
        assert [client.post("/webhooks/n", event(f"e{n}")).text for n, client in enumerate(kept)] == ["ok"] * 3
        with daemon.client() as client:
            answer = client.post("/webhooks/n", event("e3"))
            assert (answer.status, answer.headers["retry-after"], answer.closes) == (503, "1", True)
        kept.pop().close()

        def let_in():
            with daemon.client() as client:
                return client.post("/webhooks/n", event("e3")).status == 200

        wait_until(let_in)
        for client in kept:
            assert client.post("/webhooks/n", event("e0")).text == "dup"
            client.close()


def test_a_connection_serves_so_many_requests(inboxd):
    with inboxd(max_requests_per_connection=5) as daemon, daemon.client() as client:
        answers = [client.post("/webhooks/n", event(f"e{n}")) for n in range(5)]
        assert [answer.text for answer in answers] == ["ok"] * 5
        assert [answer.closes for answer in answers] == [False] * 4 + [True]
        assert client.closed()


def test_ten_thousand_requests_on_a_connection(pg, inboxd, build):
    count = 10000 if build in ("dev", "release") else 1000
    body = event("same")
    request = request_bytes("POST", "/webhooks/n", body)
    with inboxd() as daemon, daemon.client() as client:
        assert client.post("/webhooks/n", body).text == "ok"
        before = daemon.memory()
        for _ in range(count // 100):
            client.send(request * 100)
            assert [client.read().text for _ in range(100)] == ["dup"] * 100
        if build in ("dev", "release"):
            assert daemon.memory() - before < 8 * MIB
    pg.wait_until("select sum(duplicate) from inboxd.counters", equals=count)


def test_bodies_that_are_held_are_bounded_and_given_back(pg, inboxd):
    with inboxd(max_buffered="1M", providers={"n": {"max_body": "8M"}}) as daemon:
        with daemon.client() as client:
            answer = client.post("/webhooks/n", event("large", 3 * MIB))
            assert (answer.status, answer.text, answer.closes) == (503, "try again", False)
            assert client.post("/webhooks/n", event("small", MIB // 4)).text == "ok"
        # Three that are not yet whole fill it; when one leaves there is room again.
        part = head("POST", "/webhooks/n", {"Host": "x", "Content-Length": MIB}) + b"x" * (MIB // 4)
        holders = [daemon.client() for _ in range(3)]
        for holder in holders:
            holder.send(part)

        def is_full():
            with daemon.client() as client:
                return client.post("/webhooks/n", event("more", MIB // 2)).status == 503

        def has_room():
            with daemon.client() as client:
                return client.post("/webhooks/n", event("more", MIB // 2)).status == 200

        wait_until(is_full)
        for holder in holders:
            holder.reset()
        wait_until(has_room)
    assert pg.value("select count(*) from inboxd.ledger") == 2


def test_a_header_of_the_configured_size_passes(pg, inboxd):
    body = event("e")
    headers = {**sign.hmac_headers(body), "X-Long": "x" * 24000}
    with inboxd(max_header="32K") as daemon:
        assert daemon.post("h", body, headers=headers).text == "ok"
        with daemon.client() as client:
            client.send(request_bytes("POST", "/webhooks/h", body, {"X-Long": "x" * 40000}))
            assert client.read().status == 431
    assert len(pg.value("select headers ->> 'x-long' from inboxd.event_store")) == 24000

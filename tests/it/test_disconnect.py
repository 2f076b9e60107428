"""A36: senders that go away. A whole request is committed or not at all, half of one never, and nothing is left behind."""

import pytest
from support.census import Census, connections
from support.http import Client, chunked, head, request_bytes
from support.wait import wait_until


def event(name):
    return b'{"id":"%s"}' % name.encode()


def post(name):
    return request_bytes("POST", "/webhooks/n", event(name))


def leave(client, how):
    """Ends a connection with FIN, or with RST."""
    client.reset() if how == "rst" else client.close()


def stored(pg, like):
    return pg.value("select count(*) from inboxd.ledger where event_id like %s", like)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a36_a_thousand_leave_right_after_the_last_byte_of_a_slow_commit(pg, inboxd, relay, build, how):
    count = 1000
    daemon = inboxd(database=relay.conninfo(pg), ack_timeout="60s", workers=0)

    assert {answer.text for answer in daemon.post_many("n", [event(f"warm-{number}") for number in range(200)])} == {"ok"}
    before = Census.settled(daemon, pg)
    relay.delay = 0.2
    for number in range(count):
        client = daemon.client()
        client.send(post(f"left-{number}"))
        leave(client, how)
    relay.delay = 0
    # What came whole was handed on whatever its sender did next; what was lost on the way was never there.
    answers = daemon.post_many("n", [event(f"left-{number}") for number in range(count)])
    assert {answer.status for answer in answers} == {200}
    assert {answer.text for answer in answers} <= {"ok", "dup"}
    assert stored(pg, "left-%") == count
    before.wait_back(daemon, build)


def test_a36_a_sender_that_closes_its_side_gets_its_answer(pg, inboxd, relay):
    daemon = inboxd(database=relay.conninfo(pg))
    relay.delay = 0.05
    for number in range(20):
        with daemon.client() as client:
            client.send(post(f"half-{number}"))
            client.half_close()
            assert client.read().text == "ok"
            assert client.closed()
    assert stored(pg, "half-%") == 20


# Cut off anywhere before the last byte: in the line, after it, in the header, after it, in the body, in a chunk, between chunks.
WHOLE = post("mid")
CHUNKS = head("POST", "/webhooks/n", {"Host": "x", "Transfer-Encoding": "chunked"}) + chunked(event("mid"), [5])
CUT_OFF = {
    "nothing": b"",
    "in the line": WHOLE[:9],
    "after the line": WHOLE[: WHOLE.index(b"\r\n") + 2],
    "in the header": WHOLE[: WHOLE.index(b"\r\n") + 12],
    "after the header": WHOLE[: WHOLE.index(b"\r\n\r\n") + 4],
    "in the body": WHOLE[:-3],
    "before the last byte": WHOLE[:-1],
    "in a chunk": CHUNKS[: CHUNKS.index(b"\r\n\r\n") + 9],
    "before the last chunk": CHUNKS[:-5],
    "before the last byte of the chunks": CHUNKS[:-1],
    "after a refusal": request_bytes("POST", "/webhooks/nobody", event("mid") * 1000)[:-1],
    "after another request": post("before") + WHOLE[:-3],
}


@pytest.mark.parametrize("how", ["fin", "rst", "half"])
def test_a36_an_end_before_the_last_byte_is_noticed_at_once_and_nothing_stored(pg, inboxd, how):
    """With the last bytes in the same packet or later: the connection goes long before any timeout."""
    daemon = inboxd(idle_timeout="1h", header_timeout="1h", body_timeout="1h", workers=0)
    for where, cut_off in CUT_OFF.items():
        clients = [daemon.client() for _ in range(10)]
        wait_until(lambda: connections(daemon) == 10)
        daemon.freeze()  # what these send is there together with its end
        for client in clients[:5]:
            client.send(cut_off)
            client.half_close() if how == "half" else leave(client, how)
        daemon.thaw()
        for client in clients[5:]:
            client.send(cut_off)
        assert daemon.post("n", event("between")).status == 200  # what was sent is read by now, and the end comes alone
        for client in clients[5:]:
            client.half_close() if how == "half" else leave(client, how)
        wait_until(lambda: connections(daemon) == 0, what=f"the connections are closed: {where}")
        for client in clients:
            client.close()
    assert stored(pg, "mid%") == 0


def test_a36_a_refusal_reaches_a_sender_that_closed_its_side_in_the_body(inboxd):
    with inboxd(idle_timeout="1h", body_timeout="1h") as daemon:
        for together in (True, False):
            with daemon.client() as client:
                daemon.freeze() if together else None
                client.send(request_bytes("POST", "/webhooks/nobody", b"x" * 5000)[:-1])
                assert together or daemon.post("n", event("between")).status == 200
                client.half_close()
                daemon.thaw()
                answer = client.read()
                assert (answer.status, answer.text, answer.closes) == (404, "unknown provider", True)
                assert client.closed()


def test_a36_mid_body_on_a_unix_socket(pg, inboxd, tmp_path):
    path = str(tmp_path / "s")
    with inboxd(listen=f"unix:{path}", idle_timeout="1h", body_timeout="1h", workers=0, writers=1) as daemon:
        with Client(path) as client:
            assert client.post("/webhooks/n", event("first")).text == "ok"
        before = Census.settled(daemon, pg)
        daemon.freeze()
        for _ in range(20):
            client = Client(path)
            client.send(WHOLE[:-3])
            client.close()
        daemon.thaw()
        wait_until(lambda: Census(daemon).more_than(before, with_memory=False) is None, what="the connections are closed")
        with Client(path) as client:
            assert client.post("/webhooks/n", event("last")).text == "ok"

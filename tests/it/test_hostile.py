"""Attacks on the front door, beside a sender that behaves well: it is served, memory stays bounded, and nothing is left behind."""

import contextlib
import socket
import subprocess

import pytest
from support.attack import KINDS, Attack, WellBehaved
from support.census import Census, connections, keeps_memory, peak_memory
from support.wait import wait_until

MIB = 1 << 20
HEADER = 7680  # the default of max_header


def bound(connections, buffered, header=HEADER):
    """The most that inboxd.conf(5) says the daemon takes, in bytes."""
    return 16 * MIB + connections * (2 * header + 8192) + buffered


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_attack_on_a_thousand_connections_disturbs_nobody(pg, inboxd, build, kind):
    """Its connections are ended while it runs and afterwards; every request of the well-behaved one is answered 200."""
    daemon = inboxd(max_buffered="16M", max_connections=2000, header_timeout="9s", body_timeout="9s", workers=0)
    rate = 500 if not keeps_memory(build) else 100
    with WellBehaved(daemon, build, seconds=2, rate=rate) as warm:
        assert warm.wait()["errors"] == 0
    before = Census(daemon)
    with WellBehaved(daemon, build, seconds=17, rate=rate) as client, Attack(daemon, kind, 1000, seconds=15) as attack:
        most = 0
        while client.running():
            most = max(most, Census(daemon).descriptors["socket"] - before.descriptors["socket"])
            try:
                client.process.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        figures = client.wait()
        told = attack.wait()
    assert most > 700, f"the attack was none: {told}"
    assert figures["answered_200"] == figures["sent"] > 15 * rate, str(figures)
    assert figures["errors"] == figures["refused_4xx"] == figures["refused_5xx"] == 0, str(figures)
    if not keeps_memory(build):
        assert peak_memory(daemon) < bound(1100, 16 * MIB)
    before.wait_back(daemon, build, timeout=40)
    pg.wait_until("select count(*) >= %s from inboxd.ledger where provider = 's'" % figures["sent"], equals=True)


class Deaf:
    """A sender that asks again and again and reads no answer, until the daemon can neither read nor write."""

    def __init__(self, daemon):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.socket.connect(daemon.address)
        self.socket.settimeout(3)
        # What is refused at once: the answers fill the daemon's side of the connection, not the database.
        request = b"POST /webhooks/nobody HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        self.sent = 0
        with contextlib.suppress(TimeoutError):
            while True:
                self.sent += self.socket.send(request * 500)


def test_a_sender_that_reads_no_answer_is_ended(pg, inboxd, build):
    daemon = inboxd(idle_timeout="3s", workers=0)
    assert daemon.post("n", b'{"id":"before"}').text == "ok"
    before = Census(daemon)
    deaf = [Deaf(daemon) for _ in range(3)]
    assert min(one.sent for one in deaf) > 100000
    wait_until(lambda: connections(daemon) == 0, 40, "the connections are ended")
    before.wait_back(daemon, build)
    assert daemon.post("n", b'{"id":"after"}').text == "ok"
    for one in deaf:
        one.socket.close()


def test_a_sender_that_reads_no_answer_does_not_hold_up_the_end(pg, inboxd):
    daemon = inboxd(shutdown_timeout="4s")
    deaf = Deaf(daemon)
    assert daemon.terminate() == 0
    assert "did not end" not in daemon.log_text()
    deaf.socket.close()

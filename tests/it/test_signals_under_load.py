"""A request whose last byte arrived is answered, or its client closed the connection: around SIGHUP, SIGTERM and restarts.

Seen to fail with: a reload that ends connections, a drain that stops the loop while requests are open, a drain that
takes what waits for an inherited socket.
"""

import json
import signal
import socket
import subprocess
import threading

import pytest

from support.http import Client, request_bytes
from support.places import program
from support.wait import wait_until


def event(name):
    return json.dumps({"id": name}).encode()


class Sender(threading.Thread):
    """Posts one event after the other, each sent whole, until told to stop or (`once`) refused.

    answers: [(name, status)]; lost: what had no answer.
    """

    def __init__(self, address, name, keep_alive=True, again=False):
        super().__init__(daemon=True)
        self.address, self.name_of, self.keep_alive, self.again = address, name, keep_alive, again
        self.answers, self.lost, self.refused_connects = [], [], 0
        self.stop = threading.Event()
        self.connected = 0

    def _one(self, client, name):
        client.send(request_bytes("POST", "/webhooks/n", event(name), None if self.keep_alive else {"Connection": "close"}))
        answer = client.read()
        self.answers.append((name, answer.status))
        return self.keep_alive and not answer.closes, answer.status

    def run(self):
        client, number = None, 0
        while not self.stop.is_set():
            if client is None:
                try:
                    client = Client(self.address, 30)
                    self.connected += 1
                except ConnectionRefusedError:
                    self.refused_connects += 1
                    break
            name = f"{self.name_of}-{number}"
            number += 1
            try:
                keep, status = self._one(client, name)
            except (OSError, ConnectionError) as error:
                self.lost.append((name, repr(error)))
                keep, status = False, 0
            if not keep:
                client.close()
                client = None
            if status != 200 and not self.again:
                break
        if client:
            client.close()


def begin(senders, least=3):
    for sender in senders:
        sender.start()
    wait_until(lambda: all(len(sender.answers) >= least for sender in senders))


def end(senders):
    for sender in senders:
        sender.stop.set()
    for sender in senders:
        sender.join(60)
        assert not sender.is_alive()


def slow_uploads(address, count):
    """Clients that have sent all but the last bytes of a large body."""
    uploads = []
    for i in range(count):
        client = Client(address, 60)
        body = json.dumps({"id": f"slow-{i}", "pad": "x" * 200_000}).encode()
        whole = request_bytes("POST", "/webhooks/n", body)
        client.send(whole[:-1000])
        uploads.append((client, whole[-1000:]))
    return uploads


def stored(pg, names):
    return set(pg.column("select event_id from inboxd.ledger")) >= set(names)


def test_reloads_disturb_nobody(pg, inboxd):
    daemon = inboxd()
    senders = [Sender(daemon.address, f"s{i}") for i in range(12)]
    uploads = slow_uploads(daemon.address, 4)
    begin(senders)
    for turn in range(12):
        daemon.reconfigure(max_body=f"{turn + 1}M", providers={"extra": {"verify": "none", "event_id": "body:/id", "on": "ignore"} if turn % 2 else None})
        daemon.reload()
        for client, _ in uploads:
            client.send(b"")
        before = [len(sender.answers) for sender in senders]
        wait_until(lambda: all(len(sender.answers) > n for sender, n in zip(senders, before)))
    for _ in range(20):  # and faster than they can be applied
        daemon.signal(signal.SIGHUP)
    for client, rest in uploads:
        client.send(rest)
        assert client.read().text == "ok"
    end(senders)
    assert [(sender.lost, sender.connected) for sender in senders] == [([], 1)] * len(senders)
    assert {status for sender in senders for _, status in sender.answers} == {200}
    assert stored(pg, [name for sender in senders for name, _ in sender.answers])
    assert daemon.terminate() == 0


def test_a_stop_answers_all_that_was_sent(pg, inboxd):
    """While one upload keeps the drain open: whoever sends gets 503 and a close, nobody else can connect; its own 200 comes."""
    daemon = inboxd()
    senders = [Sender(daemon.address, f"s{i}", keep_alive=i % 2 == 0) for i in range(16)]
    [(upload, rest)] = slow_uploads(daemon.address, 1)
    begin(senders)
    daemon.signal(signal.SIGTERM)
    for sender in senders:
        sender.join(60)
        assert not sender.is_alive()
    assert [sender.lost for sender in senders] == [[]] * len(senders)
    for sender in senders:
        statuses = [status for _, status in sender.answers]
        assert set(statuses[:-1]) <= {200} and (statuses[-1] == 503 or sender.refused_connects == 1), statuses[-3:]
    with pytest.raises(ConnectionRefusedError):
        Client(daemon.address)
    upload.send(rest)
    answer = upload.read()
    assert (answer.text, answer.closes) == ("ok", True)
    assert daemon.wait_exit() == 0
    accepted = {name for sender in senders for name, status in sender.answers if status == 200} | {"slow-0"}
    assert set(pg.column("select event_id from inboxd.ledger")) == accepted


# A socket that the service manager keeps ----------------------------------------------------------------


class Manager:
    """Holds a listening socket and starts daemons that inherit it, as systemd does."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address = self.listener.getsockname()
        self.process = None

    def start(self):
        ready = self.daemon.notify.count("READY=1")
        # LISTEN_PID has to be the daemon's own, so that a shell sets it and then becomes the daemon.
        script = f'exec 3<&{self.listener.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "bash", "-c", script, "sh", program("inboxd", self.daemon.build), "--config", self.daemon.file],
            pass_fds=[self.listener.fileno()], env=self.daemon._environment(), stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(lambda: self.daemon.notify.count("READY=1") > ready, 60, "READY=1")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(60)


@pytest.fixture
def manager(inboxd):
    made = Manager(inboxd(listen="systemd", start=False))
    made.start()
    yield made
    if made.process.poll() is None:
        made.end()
    made.listener.close()


def test_restarts_lose_no_connection(pg, manager):
    """Clients that connect anew for each event, while the daemon is stopped and started again and again: each connection
    is served by one daemon or the next, none is refused or reset."""
    senders = [Sender(manager.address, f"s{i}", keep_alive=False, again=True) for i in range(8)]
    begin(senders)
    for _ in range(3):
        assert manager.end() == 0
        before = [len(sender.answers) for sender in senders]
        waiting = Client(manager.address)  # while nobody is there
        waiting.send(request_bytes("POST", "/webhooks/n", event(f"waited-{before[0]}")))
        manager.start()
        assert waiting.read().text == "ok"
        wait_until(lambda: all(len(sender.answers) > n + 2 for sender, n in zip(senders, before)))
    end(senders)
    assert [(sender.lost, sender.refused_connects) for sender in senders] == [([], 0)] * len(senders)
    accepted = {name for sender in senders for name, status in sender.answers if status == 200}
    assert {status for sender in senders for _, status in sender.answers} <= {200, 503}
    assert stored(pg, accepted)


def test_who_waits_for_an_inherited_socket_is_left_to_the_next_daemon(manager):
    """The one that ends answers 503 to those at most that it has accepted in one burst before it saw the signal."""
    burst, many = 64, 200
    manager.process.send_signal(signal.SIGSTOP)
    waiting = [Client(manager.address) for _ in range(many)]
    for i, client in enumerate(waiting):
        client.send(request_bytes("POST", "/webhooks/n", event(f"w{i}")))
    manager.process.send_signal(signal.SIGTERM)
    manager.process.send_signal(signal.SIGCONT)
    assert manager.process.wait(60) == 0
    manager.start()
    statuses = [client.read().status for client in waiting]
    assert set(statuses) <= {200, 503} and statuses.count(503) <= burst


def test_a_killed_daemon_loses_only_the_connections_that_it_had(pg, manager):
    manager.process.send_signal(signal.SIGSTOP)
    waiting = [Client(manager.address) for _ in range(20)]
    for i, client in enumerate(waiting):
        client.send(request_bytes("POST", "/webhooks/n", event(f"w{i}")))
    manager.end(signal.SIGKILL)
    manager.start()
    assert [client.read().text for client in waiting] == ["ok"] * 20

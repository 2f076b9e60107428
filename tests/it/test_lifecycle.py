"""Start, reload, drain, sudden death: what an operator and a service manager see of the daemon itself."""

import json
import os
import signal
import socket
import subprocess

import pytest
from support.http import request_bytes
from support.places import program
from support.wait import wait_until


def event(event_id, **members):
    return json.dumps({"id": event_id, **members}).encode()


def count(pg):
    return pg.value("select count(*) from inboxd.ledger")


def run(build, *words, env=None):
    return subprocess.run(
        [str(program("inboxd", build)), *map(str, words)],
        capture_output=True, text=True, timeout=60, check=False, env={"PATH": "/usr/bin:/bin", **(env or {})},
    )  # fmt: skip


# The command line -------------------------------------------------------------------------------------


def test_help_and_version(build):
    done = run(build, "--help")
    assert done.returncode == 0 and "--config FILE" in done.stdout
    done = run(build, "--version")
    assert done.returncode == 0 and done.stdout.startswith("inboxd ")


@pytest.mark.parametrize("words", [["--nonsense"], ["extra"], ["--config"]])
def test_a_wrong_command_line_is_64(build, words):
    assert run(build, *words).returncode == 64


def test_every_mistake_of_the_file_is_named_and_the_end_is_78(build, tmp_path):
    file = tmp_path / "wrong.conf"
    file.write_text("[inboxd]\nworkers = many\nlisen = 127.0.0.1:0\n\n[provider p]\nverify = stripe\n")
    for words in (["--config", file], ["--config", file, "--check"]):
        done = run(build, *words)
        assert done.returncode == 78
        assert "line=2" in done.stderr and "line=3" in done.stderr and "secret" in done.stderr
    assert run(build, "--config", tmp_path / "absent").returncode == 78


def test_check_of_a_good_file(inboxd, build):
    daemon = inboxd(start=False)
    assert run(build, "--config", daemon.file, "--check").returncode == 0


def test_a_taken_address_is_told(inboxd, build):
    daemon = inboxd()
    done = run(build, "--config", daemon.file)
    assert done.returncode == 1
    assert "could not listen on 127.0.0.1" in done.stderr


# Start ------------------------------------------------------------------------------------------------


def test_the_schema_must_fit(database, inboxd):
    daemon = inboxd(pg=database(migrated=False), start=False).spawn()
    assert daemon.wait_exit() == 78
    assert "migrate" in daemon.log_text()


def test_it_starts_without_a_database_and_comes_up_by_itself(pg, inboxd, relay):
    relay.down()
    daemon = inboxd(database=relay.conninfo(pg))
    answer = daemon.post("n", event("early"))
    assert (answer.status, answer.text) == (503, "try again")
    daemon.wait_log("database is away")
    relay.up()
    wait_until(lambda: daemon.post("n", event("early")).status == 200)
    assert count(pg) == 1
    assert daemon.terminate() == 0


def test_a_schema_that_does_not_fit_is_found_late_too(database, inboxd, relay):
    empty = database(migrated=False)
    relay.down()
    daemon = inboxd(database=relay.conninfo(empty, user="postgres"))
    relay.up()
    assert daemon.wait_exit() == 78
    assert "migrate" in daemon.log_text()


def test_a_stop_while_waiting_for_the_database(pg, inboxd, relay):
    relay.down()
    daemon = inboxd(database=relay.conninfo(pg))
    assert daemon.terminate() == 0


def test_the_log_says_what_matters_and_nothing_per_request(inboxd):
    daemon = inboxd()
    for number in range(20):
        daemon.post("n", event(f"e{number}"))
    for _ in range(30):
        daemon.post("n", b"{")
    assert daemon.terminate() == 0
    lines = daemon.log_text().splitlines()
    for message in ("starting", "listening", "ready", "stopping", "stopped"):
        assert sum(f"msg={message}" in line or f'msg="{message}"' in line for line in lines) == 1, message
    refused = [line for line in lines if "refused requests" in line]
    assert 1 <= len(refused) <= 4  # folded: one at once, the rest summed up
    assert sum(int(line.split("count=")[1].split()[0]) for line in refused) == 30
    assert "stored=20" in daemon.log_text() and "refused=30" in daemon.log_text()
    assert len(lines) < 20


def test_sockets_of_the_service_manager(inboxd, pg):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    daemon = inboxd(listen="systemd", start=False)
    saved = os.dup(listener.fileno())
    os.set_inheritable(saved, True)
    # LISTEN_PID has to be the daemon's own, so that a shell sets it and then becomes the daemon.
    script = f'exec 3<&{saved}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", script, "sh", program("inboxd", daemon.build), "--config", daemon.file],
        pass_fds=[saved], env=daemon._environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_until(lambda: daemon.notify.count("READY=1") == 1)
        daemon.address = ("127.0.0.1", port)
        assert daemon.post("n", event("e")).text == "ok"
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        os.close(saved)
        listener.close()
    assert process.returncode == 0, errors


# Reload -----------------------------------------------------------------------------------------------


def test_a_good_file_is_applied_whole_without_dropping_a_connection(inboxd):
    daemon = inboxd()
    with daemon.client() as client:
        assert client.post("/webhooks/n", event("e1")).text == "ok"
        assert client.post("/webhooks/fresh", event("e1")).text == "unknown provider"
        daemon.reconfigure(providers={
            "fresh": {"verify": "none", "event_id": "body:/id", "on": "sql:t.ok"}, "g": None,
        })  # fmt: skip
        daemon.reload()
        assert any(line.startswith("MONOTONIC_USEC=") for line in daemon.notify.messages)
        assert daemon.notify.count("RELOADING=1") == 1
        assert client.post("/webhooks/fresh", event("e1")).text == "ok"
        assert client.post("/webhooks/g", event("e1")).text == "unknown provider"
        assert client.post("/webhooks/n", event("e1")).text == "dup"
    assert daemon.terminate() == 0


def test_a_bad_file_leaves_the_old_one_in_force(inboxd):
    daemon = inboxd()
    daemon.reconfigure(workers="lots", providers={"n": {"event_id": "bdy:/id"}})
    daemon.reload()
    daemon.wait_log("configuration not reloaded")
    assert "configuration mistake" in daemon.log_text() and "lots" in daemon.log_text()
    assert daemon.post("n", event("e1")).text == "ok"
    daemon.reconfigure(workers=1, providers={"n": {"event_id": "body:/id"}})
    daemon.reload()
    assert daemon.post("n", event("e1")).text == "dup"


def test_what_needs_a_restart_is_named(inboxd):
    daemon = inboxd()
    daemon.reconfigure(listen="127.0.0.1:0", writers=3)
    daemon.reload()
    named = [line for line in daemon.log_text().splitlines() if "next start" in line]
    assert sorted(line.split("key=")[1] for line in named) == ["listen", "writers"]
    assert daemon.post("n", event("e1")).text == "ok"


def test_requests_in_flight_keep_the_old_configuration(pg, inboxd, relay):
    """One waits for its commit, one for the rest of its body, while their provider goes away."""
    daemon = inboxd(database=relay.conninfo(pg), ack_timeout="30s")
    assert daemon.post("n", event("warm")).text == "ok"
    relay.stall()
    parked, reading = daemon.client(), daemon.client()
    parked.send(request_bytes("POST", "/webhooks/n", event("parked")))
    whole = request_bytes("POST", "/webhooks/n", event("reading"))
    reading.send(whole[:-5])
    with daemon.client() as probe:  # on the same loop, after those two
        assert probe.post("/webhooks/nobody").status == 404
    daemon.reconfigure(providers={"n": None})
    daemon.reload()
    assert daemon.post("n", event("late")).text == "unknown provider"
    relay.resume()
    reading.send(whole[-5:])
    assert parked.read().text == "ok"
    assert reading.read().text == "ok"
    parked.close()
    reading.close()


# The end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_drain_answers_what_was_received(pg, inboxd, relay, number):
    daemon = inboxd(database=relay.conninfo(pg), ack_timeout="30s")
    assert daemon.post("n", event("warm")).text == "ok"
    relay.stall()
    parked = [daemon.client() for _ in range(20)]
    for i, client in enumerate(parked):
        client.send(request_bytes("POST", "/webhooks/n", event(f"parked-{i}")))
    reading, idle = daemon.client(), daemon.client()
    whole = request_bytes("POST", "/webhooks/n", event("reading"))
    reading.send(whole[:-5])
    assert idle.post("/webhooks/nobody").status == 404
    daemon.signal(number)
    wait_until(lambda: daemon.notify.count("STOPPING=1") == 1)
    # Nobody listens any more, and a request that begins now on an open connection is refused.
    with pytest.raises(ConnectionRefusedError):
        daemon.client()
    answer = idle.post("/webhooks/n", event("late"))
    assert (answer.status, answer.closes) == (503, True)
    relay.resume()
    reading.send(whole[-5:])
    answers = [client.read() for client in [*parked, reading]]
    assert {(answer.text, answer.closes) for answer in answers} == {("ok", True)}
    assert daemon.wait_exit() == 0
    assert count(pg) == 22


def test_a_drain_does_not_wait_for_ever(pg, inboxd):
    """A body that never ends is refused after half of shutdown_timeout."""
    daemon = inboxd(shutdown_timeout="2s")
    stalled = daemon.client()
    stalled.send(request_bytes("POST", "/webhooks/n", event("stalled"))[:-5])
    assert daemon.post("n", event("e")).text == "ok"
    daemon.signal(signal.SIGTERM)
    answer = stalled.read()
    assert (answer.status, answer.text) == (503, "try again")
    assert daemon.wait_exit() == 0
    assert count(pg) == 1


def test_a_drain_with_the_database_away(pg, inboxd, relay):
    daemon = inboxd(database=relay.conninfo(pg), ack_timeout="500ms", shutdown_timeout="5s")
    wait_until(lambda: daemon.post("n", event("warm")).status == 200)
    relay.stall()
    with daemon.client() as client:
        client.send(request_bytes("POST", "/webhooks/n", event("e")))
        daemon.signal(signal.SIGTERM)
        assert client.read().status == 503
    relay.cut()
    assert daemon.wait_exit() == 0


def test_a_drain_when_the_network_swallows_everything(pg, inboxd, relay):
    """A handler runs, and not even the request to cancel it gets through."""
    daemon = inboxd(database=relay.conninfo(pg), shutdown_timeout="1s", providers={"n": {"on": "sql:t.sleep"}})
    assert daemon.post("n", event("e", s=300)).text == "ok"
    pg.wait_until("select count(*) from pg_stat_activity where query ~ 'sleep' and pid <> pg_backend_pid()", equals=1)
    relay.stall()
    assert daemon.terminate() == 0
    relay.cut()
    assert pg.value("select count(*) from t.effect") == 0


def test_the_second_signal_ends_it_at_once(inboxd, build):
    if build == "tsan":
        pytest.skip("it reports the threads that are left behind on purpose")
    daemon = inboxd()
    stalled = daemon.client()
    stalled.send(request_bytes("POST", "/webhooks/n", event("stalled"))[:-5])
    with daemon.client() as probe:
        assert probe.post("/webhooks/nobody").status == 404
    daemon.signal(signal.SIGTERM)
    daemon.wait_log("stopping")
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit() == 1


def test_kill_while_parked_loses_nothing_that_was_answered(pg, inboxd, relay):
    daemon = inboxd(database=relay.conninfo(pg), ack_timeout="30s")
    assert daemon.post("n", event("answered")).text == "ok"
    relay.stall()
    clients = [daemon.client() for _ in range(10)]
    for i, client in enumerate(clients):
        client.send(request_bytes("POST", "/webhooks/n", event(f"parked-{i}")))
    with daemon.client() as probe:
        assert probe.post("/webhooks/nobody").status == 404
    daemon.kill()
    relay.resume()
    assert all(client.closed() for client in clients)  # no answer: the sender will repeat
    daemon.start()
    answers = daemon.post_many("n", [event("answered"), *(event(f"parked-{i}") for i in range(10))])
    assert answers[0].text == "dup"
    assert {answer.status for answer in answers} == {200}
    assert count(pg) == 11
    pg.wait_until("select count(*) from t.effect", equals=11)


def test_restart_keeps_the_address(inboxd):
    daemon = inboxd()
    with daemon.client() as client:
        assert client.post("/webhooks/n", event("e")).text == "ok"
        daemon.restart()
        assert client.closed()
    assert daemon.post("n", event("e")).text == "dup"


def test_no_core_and_nobody_attaches(inboxd, build):
    if build == "asan":
        pytest.skip("the leak check attaches to the process")
    daemon = inboxd()
    with open(f"/proc/{daemon.pid}/limits", encoding="ascii") as limits:
        line = next(line for line in limits if line.startswith("Max core file size"))
    assert line.split()[4:6] == ["0", "0"]


def test_watchdog(inboxd):
    daemon = inboxd(env={"WATCHDOG_USEC": "200000"})
    wait_until(lambda: daemon.notify.count("WATCHDOG=1") >= 3)

"""exec: programs as handlers, from the request to the outcome."""

import json
import os
import signal

import pytest
from support import DEAD, DONE, wait_until

from it.working import QUICK, fill, outcomes, wait_done

LEASED = {"class": "leased"}


@pytest.fixture
def program(tmp_path):
    """Writes a program; returns its path."""

    def write(text, name="program"):
        path = tmp_path / name
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture
def daemon(inboxd):
    def make(program, provider=None, **general):
        return inboxd(providers={"h": {"on": f"exec:{program}", **QUICK, **(provider or {})}}, **general)

    return make


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_exit_codes_are_outcomes(pg, daemon, program):
    fill(pg, [{"code": code} for code in (0, 65, 75, 99, 1)], **LEASED)
    path = program("code=$(sed 's/.*\"code\": *//; s/[^0-9].*//'); echo \"said $code\"; exit $code")
    daemon(path, {"defer": "50ms", "defer_limit": "300ms"})
    wait_done(pg)
    assert pg.rows("select status, attempt, last_error from webhook_inbox order by id") == [
        (DONE, 1, None),
        (DEAD, 1, "exit status 65: said 65"),
        (DEAD, 3, "exit status 75: said 75"),
        (DEAD, 1, "deferred for longer than defer_limit (0.3 s): exit status 99: said 99"),
        (DEAD, 3, "exit status 1: said 1"),
    ]


def test_a_program_that_cannot_run_is_named_at_the_start_and_its_events_are_retried(pg, inboxd, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    names = ["folder", "plain", "missing"]
    provider = {"verify": "none", "event_id": "body:/id", "attempts": "1"}
    daemon = inboxd(providers={name: {**provider, "on": f"exec:{tmp_path}/{name}"} for name in names})
    for name in names:
        assert f"provider={name} program={tmp_path}/{name}" in daemon.log_text()
        daemon.post(name, {"id": "e1"})
    wait_done(pg)
    said = dict(pg.rows("select provider, last_error from dead_letters"))
    assert said["folder"] == f"exit status 126: cannot run {tmp_path}/folder: Permission denied"
    assert said["plain"] == f"exit status 126: cannot run {tmp_path}/plain: Permission denied"
    assert said["missing"] == f"exit status 127: cannot run {tmp_path}/missing: it, or what its first line names, is not there"


def test_the_log_tells_a_failure_and_has_a_sqlstate_only_of_the_database(pg, inboxd, program):
    path = program("exit 3")
    providers = {"h": {"on": f"exec:{path}"}, "n": {"on": "sql:t.fail", "key": None}}
    daemon = inboxd(providers=providers)
    for name in ("h", "n"):
        daemon.post(name, {"id": "e1", "msg": "no"})
        daemon.wait_log(f'msg="handler failed, retrying" provider={name}')
    said = {line.partition(" provider=")[2] for line in daemon.log_text().splitlines() if "handler failed" in line}
    assert said == {"h id=1 attempt=1", "n id=2 attempt=1 sqlstate=P0001"}


def test_p11_no_secret_is_in_its_environment(pg, daemon, program, tmp_path):
    path = program(f"env >{tmp_path}/env.new; cat >{tmp_path}/body; mv {tmp_path}/env.new {tmp_path}/env")
    running = daemon(path, env={"DATABASE_PASSWORD": "hunter2-hunter2", "PGPASSWORD": "hunter3-hunter3"})
    body = json.dumps({"id": "e1", "ä": "\u20ac", "n": 1})
    assert running.post("h", body, headers={"authorization": "Bearer hunter4", "x-event": "push"}).status == 200
    wait_done(pg)
    environment = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    assert "hunter" not in (tmp_path / "env").read_text()
    assert "INBOXD_HEADER_AUTHORIZATION" not in environment
    assert environment["INBOXD_HEADER_X_EVENT"] == "push"
    assert environment["INBOXD_EVENT_ID"] == "e1"
    assert environment["INBOXD_PROVIDER"] == "h"
    assert environment["INBOXD_ID"] == str(pg.value("select id from ledger"))
    assert (tmp_path / "body").read_bytes() == body.encode()


def test_a37_large_bodies_ids_and_headers_run(pg, daemon, program):
    long = "i" * 512
    headers = {"huge": "v" * 200_000, **{f"many{n}": "v" * 4000 for n in range(600)}}
    fill(pg, [{"data": "b" * 200_000}], headers=json.dumps(headers), event_type=long, ordering_key=long, **LEASED)
    daemon(program("read -r body; echo ${#body} ${#INBOXD_EVENT_TYPE} ${#INBOXD_KEY} ${INBOXD_LEFT_OUT%% *}; exit 65"))
    wait_done(pg)
    size = pg.value("select octet_length(body) from webhook_inbox")
    assert pg.value("select last_error from webhook_inbox") == f"exit status 65: {size} 512 512 INBOXD_HEADER_HUGE"


def test_b15_twenty_megabytes_of_error_are_cut_at_a_character(pg, daemon, program):
    fill(pg, [{}], **LEASED)
    path = program("#!/usr/bin/python3\nimport sys\nsys.stderr.write('x' + '\\N{SNOWMAN}' * 7000000)\nsys.exit(1)\n")
    running = daemon(path)
    wait_done(pg)
    assert outcomes(pg) == {(DEAD, 3): 1}
    error = pg.value("select last_error from webhook_inbox")
    assert error == "exit status 1: " + "\N{SNOWMAN}" * 341 + " [cut, 21000001 bytes in all]"
    log = pg.column("select error from attempt_log order by attempt")
    assert len(log) == 3
    assert log[0].endswith("OUTPUT (the end of 21000001 bytes): " + "\N{SNOWMAN}" * 2730)
    assert pg.value("select count(*) from top_errors") == 1
    assert pg.value("select count(*) from dead_letters") == 1
    assert running.running()


@pytest.mark.parametrize("kept", [8 * 1024, 256 * 1024])
def test_b15_as_much_output_is_kept_as_the_key_says(pg, daemon, program, kept):
    fill(pg, 1, **LEASED)
    path = program("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end; exit 1")
    daemon(path, {"attempts": "1", "exec_output": str(kept)})
    wait_done(pg)
    assert pg.value("select last_error from dead_letters") == "exit status 1: end"
    [text] = pg.column("select error from attempt_log")
    assert text.endswith("x\nend") and kept - 10 <= text.count("x") <= kept


def test_a_program_that_hangs_is_killed_with_its_group(pg, daemon, program, tmp_path):
    fill(pg, [{}], **LEASED)
    daemon(program(f"trap '' TERM; sleep 1000 & echo $! >>{tmp_path}/pids; wait; wait"), {"timeout": "500ms", "attempts": 2})
    wait_done(pg)
    assert outcomes(pg) == {(DEAD, 2): 1}
    assert pg.value("select last_error from webhook_inbox").startswith("did not end within timeout (0.5 s)")
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    wait_until(lambda: all(gone(pid) for pid in pids), what="the end of the group")


def test_b12_a_program_longer_than_the_lease_runs_once(pg, daemon, program, tmp_path):
    fill(pg, [{}], **LEASED)
    path = program(f"echo run >>{tmp_path}/runs; sleep 4")
    for name in ("one", "two"):  # a second daemon would take the event if it could
        daemon(path, {"lease": "1s"}, env={"NAME": name})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 1}
    assert (tmp_path / "runs").read_text() == "run\n"


def test_b26_a_shutdown_ends_the_group_and_costs_no_attempt(pg, daemon, program, tmp_path):
    fill(pg, [{}], **LEASED)
    running = daemon(program(f"sleep 1000 & echo $! >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait"), shutdown_timeout="1s")
    wait_until(lambda: (tmp_path / "pid").exists(), what="the program")
    pid = (tmp_path / "pid").read_text().strip()
    assert running.terminate() == 0
    assert gone(pid)
    assert pg.rows("select attempt, last_error, suspect from work") == [(0, None, False)]
    assert pg.value("select count(*) from attempt_log") == 0
    assert pg.value("select run_at <= now() from work")


def test_b26_a_short_program_completes_at_a_shutdown(pg, daemon, program, tmp_path):
    fill(pg, [{}], **LEASED)
    running = daemon(program(f"touch {tmp_path}/begun; sleep 1"), shutdown_timeout="20s")
    wait_until(lambda: (tmp_path / "begun").exists(), what="the program")
    assert running.terminate() == 0
    assert outcomes(pg) == {(DONE, 1): 1}


def test_a_killed_daemon_takes_its_program_with_it_and_the_event_runs_again(pg, daemon, program, tmp_path):
    fill(pg, [{}], **LEASED)
    path = program(f"echo $$ >>{tmp_path}/pids; [ $(wc -l <{tmp_path}/pids) -gt 1 ] || exec sleep 1000")
    running = daemon(path, {"lease": "1s"})
    wait_until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text().endswith("\n"), what="the program")
    os.kill(running.pid, signal.SIGKILL)
    running.wait_exit()
    pid = (tmp_path / "pids").read_text().split()[0]
    wait_until(lambda: gone(pid), what="the end of the program")
    running.start()
    wait_done(pg)
    assert pg.value("select status from webhook_inbox") == DONE
    assert len((tmp_path / "pids").read_text().split()) == 2


def test_a_program_beside_sql_completes_in_their_order(pg, inboxd, program, tmp_path):
    """The program first, then the SQL part in the transaction of the outcome; nothing of it when the program fails."""
    fill(pg, [{}, {"bad": 1}], **LEASED)
    path = program("case $(cat) in *bad*) exit 65;; esac")
    inboxd(providers={"h": {"on": f"exec:{path}, sql:t.ok", **QUICK}})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 1, (DEAD, 1): 1}
    assert pg.column("select event_id from t.effect") == ["e00000"]


def test_a_program_reads_the_payload_where_no_body_is_kept(pg, daemon, program, tmp_path):
    running = daemon(program(f"cat > {tmp_path}/input; exit 0"), provider={"store": "payload"})
    assert running.post("h", {"id": "e1", "list": [1, None]}).text == "ok"
    wait_done(pg)
    assert json.loads((tmp_path / "input").read_text()) == {"id": "e1", "list": [1, None]}
    assert pg.value("select body from webhook_inbox") is None

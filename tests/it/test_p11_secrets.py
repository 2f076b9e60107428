"""P11: no secret leaves, and no right signature (field report A32).

Every answer, log line, output of inboxctl, table and view is searched for each secret, for its hexadecimal, its base64
and its decoded bytes, for the right signature of a body whose request did not carry it, and for tokens that were
received. These tests have been seen to fail with each of: a debug line with the computed digest in src/verify, digests
that are not wiped, words missing in provider/headers.c, no conceal() in config/mistakes.c, no
process_hide_environment(), libpq's own message for a connection string that cannot be read.
"""

import base64
import json
import os
import secrets
import signal
import subprocess
import time

import pytest
from support import http, sign
from support.daemon import run_ctl
from support.leaks import Hidden, database_text
from support.wait import wait_until

DEAD = 3
ENV_SECRET = "env-secret-7f3e2d91c0aa45b6"
FILE_SECRET = "file-secret-0b6d8e1f22c94a73"
CREDENTIAL_SECRET = "credential-secret-5e9a1c7b3d20"
PASSWORD = "database-password-4c1f0e8b77"
CONTENT = "payload-content-66aa0f1b"  # of bodies; stays out of logs

# Headers that carry a token themselves, and what they carry: the header's whole value is not to be stored.
TOKENS = {
    "Authorization": "Bearer received-token-authorization",
    "Proxy-Authorization": "Basic cmVjZWl2ZWQ6cHJveHktcGFzc3dvcmQ=",
    "X-Gitlab-Token": "received-token-gitlab",
    "X-Telegram-Bot-Api-Secret-Token": "received-token-telegram",
    "X-Goog-Channel-Token": "received-token-goog",
    "X-Api-Key": "received-token-api-key",
    "Ocp-Apim-Subscription-Key": "received-token-apim",
    "X-Functions-Key": "received-token-functions",
    "X-Hook-Secret": "received-token-hook",
    "X-Auth": "received-token-x-auth",
    "X-Amz-Security-Token": "received-token-amz",
    "X-Webhook-Passphrase": "received-token-passphrase",
    "X-Csrf": "received-token-csrf",
    "X-Session-Id": "received-token-session",
    "X-Jwt-Assertion": "received-token-jwt",
    "Cookie": "session=received-token-cookie",
}


def hidden_secrets():
    hidden = Hidden()
    for secret in (sign.K0, sign.STRIPE_SECRET, sign.GITHUB_SECRET, sign.STANDARD_SECRET, ENV_SECRET, FILE_SECRET, CREDENTIAL_SECRET):
        hidden.add(secret[:12], secret)
    hidden.add("database password", PASSWORD)
    for name, value in TOKENS.items():
        hidden.add(f"token in {name}", value.split(" ")[-1].split("=")[-1] if name != "Proxy-Authorization" else value.split(" ")[1])
    hidden.add("token in the query", "received-token-query")
    return hidden


@pytest.fixture
def places(tmp_path):
    """Secrets in a file, in the environment and as a credential of systemd."""
    file = tmp_path / "a-secret"
    file.write_text(FILE_SECRET + "\n")
    file.chmod(0o600)
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "c").write_text(CREDENTIAL_SECRET)
    hmac = {"verify": "hmac-sha256", "signed": "{body}", "signature": "header:X-Sig hex", "event_id": "body:/id", "on": "sql:t.ok"}
    providers = {
        "file": {**hmac, "secret": f"file:{file}"},
        "env": {**hmac, "secret": "env:P11_SECRET"},
        "credential": {**hmac, "secret": "credential:c"},
        "n": {"on": "sql:t.fail", "attempts": 2, "backoff": "10ms"},
        "h": {"max_body": "1K"},
        "s": {"secret": [f"text:{sign.STRIPE_SECRET}", "text:an-older-secret-of-stripe"]},
    }
    return {"providers": providers, "env": {"P11_SECRET": ENV_SECRET, "CREDENTIALS_DIRECTORY": str(folder)}}


def event(name, **members):
    return json.dumps({"id": f"{name}-{secrets.token_hex(4)}", "content": CONTENT, **members}).encode()


def refused(daemon, hidden, status, provider, body, headers=None, secret=None, signed=None, query=""):
    """Posts what is to be refused, and hides the signature that would have been right; returns the raw answer."""
    hidden.add_signature(f"right signature of {provider} {status}", body if signed is None else signed, secret or sign.K0)
    answer = daemon.post(provider, body, headers, sign=False, query=query)
    assert answer.status == status, answer
    return answer


def every_refusal(daemon, hidden):
    """All the ways in which requests are refused; returns the answers."""
    now = int(time.time())
    zeros = "0" * 64
    body = event("refused")
    answers = [
        refused(daemon, hidden, 401, "h", body),
        refused(daemon, hidden, 401, "h", body, {"X-Sig": zeros}),
        refused(daemon, hidden, 401, "h", event("r"), {"X-Sig": "not hex"}),
        refused(daemon, hidden, 401, "h", event("r"), {"X-Sig": [zeros, zeros]}),
        refused(daemon, hidden, 401, "s", body, {"Stripe-Signature": f"t={now},v1={zeros}"}, sign.STRIPE_SECRET, f"{now}.".encode() + body),
        refused(daemon, hidden, 401, "s", body, {"Stripe-Signature": f"t={now - 4000},v1={zeros}"}, sign.STRIPE_SECRET, f"{now - 4000}.".encode() + body),
        refused(daemon, hidden, 401, "g", body, {"X-Hub-Signature-256": f"sha256={zeros}"}, sign.GITHUB_SECRET),
        refused(daemon, hidden, 401, "file", body, {"X-Sig": zeros}, FILE_SECRET),
        refused(daemon, hidden, 401, "env", body, {"X-Sig": zeros}, ENV_SECRET),
        refused(daemon, hidden, 401, "credential", body, {"X-Sig": zeros}, CREDENTIAL_SECRET),
        refused(daemon, hidden, 401, "w", body, {"webhook-id": "m", "webhook-timestamp": str(now), "webhook-signature": "v1,AAAA"}, sign.STANDARD_SECRET, f"m.{now}.".encode() + body),
        refused(daemon, hidden, 413, "h", event("large", pad="x" * 2000)),
        refused(daemon, hidden, 404, "nobody", event("r"), TOKENS, query="?token=received-token-query"),
        refused(daemon, hidden, 400, "n", CONTENT.encode() + b" is no JSON", TOKENS),
        refused(daemon, hidden, 400, "n", b'{"content":"%s"}' % CONTENT.encode(), TOKENS, query="?token=received-token-query"),
        refused(daemon, hidden, 401, "h", event("r"), {**TOKENS, "X-Sig": zeros}, query="?token=received-token-query"),
    ]
    for odd in ("t=,v1=", f"t=x,v1={zeros}", "v1", f"t={now},t={now},v1={zeros}"):
        answers.append(refused(daemon, hidden, 401, "s", event("r"), {"Stripe-Signature": odd}, sign.STRIPE_SECRET))
    stale = event("stale")  # this one carries its signature, which is none of a secret
    answers.append(daemon.post("s", stale, sign.stripe_headers(stale, t=now - 4000), sign=False))
    assert answers[-1].text == "stale timestamp"
    for method in ("GET", "PUT", "DELETE", "HEAD", "OPTIONS"):
        with daemon.client() as client:
            answers.append(client.request(method, "/webhooks/h?token=received-token-query", headers=TOKENS))
        assert answers[-1].status in (200, 204, 404, 405), answers[-1]
    with daemon.client() as client:  # ambiguous framing
        client.send(http.head("POST", "/webhooks/h", {"Host": "x", "Content-Length": ["3", "4"], **TOKENS}) + b"abcd")
        answers.append(client.read())
    assert answers[-1].status == 400
    return answers


def raw(answers):
    return "\n".join(f"{answer.status} {answer.headers} {answer.text}" for answer in answers)


def settled(pg, count):
    pg.wait_until("select count(*) from webhook_inbox where status in (2, 3)", equals=count)


@pytest.mark.parametrize("form", ["logfmt", "json"])
@pytest.mark.parametrize("level", ["debug", "info", "warn", "error"])
def test_a32_nothing_is_found_in_answers_logs_and_the_database(pg, inboxd, places, level, form):
    daemon = inboxd(log=form, log_level=level, **places)
    hidden = hidden_secrets()
    answers = every_refusal(daemon, hidden)
    for provider in ("h", "s", "g", "w", "n"):
        body = event(provider, msg=f"handler fails with {CONTENT}")
        answers += [daemon.post(provider, body, TOKENS, query="?token=received-token-query") for _ in range(2)]
        assert [answer.text for answer in answers[-2:]] == ["ok", "dup"]
    settled(pg, 5)
    assert pg.value("select last_error like %s from dead_letters", f"%{CONTENT}%")
    pg.wait_until("select count(*) > 15 from quarantine")
    daemon.terminate()
    hidden.expect_absent("answers", raw(answers))
    hidden.expect_absent("database", database_text(pg))
    # Nothing is worth the level error: the log may be empty.
    log = daemon.log_text()
    assert log or level == "error"
    assert hidden.found_in(log) == []
    assert CONTENT not in log


def test_a32_nothing_is_found_where_events_cannot_be_stored(pg, inboxd, places):
    hidden = hidden_secrets()
    daemon = inboxd(log_level="debug", faults="ingest.queue_full=error", **places)
    answers = every_refusal(daemon, hidden)
    for provider in ("h", "s", "g", "w", "n"):
        answers.append(daemon.post(provider, event(provider), TOKENS))
        assert answers[-1].status == 503
    daemon.terminate()
    hidden.expect_absent("answers", raw(answers))
    hidden.expect_absent("log", daemon.log_text())
    assert CONTENT not in daemon.log_text()


def test_a32_nothing_is_found_while_the_database_is_away(inboxd, places):
    hidden = hidden_secrets()
    daemon = inboxd(start=False, log_level="debug", database=f"host=127.0.0.1 port=1 dbname=x user=u password={PASSWORD}", **places)
    daemon.spawn()
    wait_until(lambda: "listening" in daemon.log_text())
    answers = every_refusal(daemon, hidden)
    answers.append(daemon.post("h", event("h"), TOKENS))
    assert answers[-1].status == 503
    done = daemon.ctl("status", check=False)
    assert done.returncode == 69
    daemon.terminate()
    hidden.expect_absent("answers", raw(answers))
    hidden.expect_absent("log", daemon.log_text())
    hidden.expect_absent("inboxctl", done.stdout + done.stderr)


def test_tokens_are_stored_redacted(pg, inboxd, places):
    daemon = inboxd(**places)
    assert daemon.post("h", event("h"), TOKENS, query="?token=received-token-query").text == "ok"
    headers = pg.value("select headers from webhook_inbox")
    assert {name: headers[name.lower()] for name in TOKENS} == {name: "[redacted]" for name in TOKENS}
    assert len(headers["x-sig"]) == 64  # a signature is no secret, and may be wanted


BAD_SECRETS = [
    "whsec_pasted-without-a-kind-aa01",
    "text:whsec_!!!!not-base64-aa02",
    "text:whsec_QQ==",
    "text:v1,whsec_cGFzdGVkLXdpdGgtYS1wcmVmaXgtYWEwMw==",
    "plain:unknown-kind-of-secret-aa04",
    '"text:in-quotes-without-an-end-aa05',
]


@pytest.mark.parametrize("form", ["logfmt", "json"])
def test_a32_a_reload_with_a_bad_secret_does_not_show_it(pg, inboxd, places, form):
    daemon = inboxd(log=form, log_level="debug", **places)
    hidden = hidden_secrets()
    for bad in BAD_SECRETS:
        hidden.add(bad, bad.removeprefix("text:").removeprefix('"text:').removeprefix("plain:"))
        before = daemon.log_text().count("configuration not reloaded")
        daemon.reconfigure(providers={"w": {"secret": bad}})
        daemon.reload()
        assert daemon.log_text().count("configuration not reloaded") == before + 1, bad
        done = daemon.ctl("check", check=False)
        assert done.returncode == 78 and "secret" in done.stderr, bad
        hidden.expect_absent(f"check with {bad}", done.stdout + done.stderr)
        if "w" in daemon.providers:
            assert daemon.ctl("send", "h", check=False).returncode == 78
    # The old configuration is in force.
    assert daemon.post("w", event("w"), sign.standard_headers(b"x"), sign=False).status == 401
    daemon.terminate()
    hidden.expect_absent("log", daemon.log_text())


@pytest.mark.parametrize(
    "key, value",
    [
        ("secret_encoding", "{}"),
        ("secert", "text:{}"),
        ("signature", "{}"),
        ("verify", "{}"),
        ("tolerance", "{}"),
        ("secret text", "{}"),
    ],
)
def test_a_secret_that_was_pasted_into_the_wrong_line_is_not_shown(inboxd, places, key, value):
    pasted = "whsec_cGFzdGVkIGludG8gdGhlIHdyb25nIGxpbmU="
    daemon = inboxd(start=False, **places)
    daemon.reconfigure(providers={"w": {key: value.format(pasted)}})
    hidden = Hidden()
    hidden.add("pasted", pasted)
    done = daemon.ctl("check", check=False)
    assert done.returncode == 78
    assert hidden.found_in(done.stdout + done.stderr) == []


@pytest.mark.parametrize(
    "conninfo",
    [
        "host=127.0.0.1 port=1 dbname=x password={} nonsense",
        "host=127.0.0.1 port=1 dbname=x password=first {}",
        "host=127.0.0.1 port=1 dbname=x pasword={}",
        "host=127.0.0.1 port=1 dbname=x password='{}",
        "postgresql://u:{}@127.0.0.1:1/x?nonsense",
        "postgresql://u:{}@127.0.0.1:nonsense/x",
        "postgresql://u:%zz{}@127.0.0.1:1/x",
        "postgresql://u:p@{}@127.0.0.1:1/x",
    ],
)
def test_a_password_in_a_connection_string_that_cannot_be_read_is_not_shown(inboxd, build, conninfo):
    hidden = Hidden()
    hidden.add("password", PASSWORD)
    conninfo = conninfo.format(PASSWORD)
    daemon = inboxd(start=False, database=conninfo).spawn()
    wait_until(lambda: "database" in daemon.log_text() or not daemon.running())
    outputs = [daemon.ctl("status", check=False), daemon.ctl("check", check=False), run_ctl(build, "--database", conninfo, "list", check=False)]
    assert "database" in outputs[0].stderr + outputs[1].stderr
    daemon.terminate()
    hidden.expect_absent("log", daemon.log_text())
    hidden.expect_absent("inboxctl", "".join(done.stdout + done.stderr for done in outputs))


def test_a32_no_command_of_inboxctl_shows_a_secret(pg, inboxd, places):
    daemon = inboxd(**places)
    hidden = hidden_secrets()
    refused(daemon, hidden, 401, "h", event("h"), {**TOKENS, "X-Sig": "0" * 64}, query="?token=received-token-query")
    refused(daemon, hidden, 400, "n", b"no json", TOKENS, query="?token=received-token-query")
    pg.wait_until("select count(*) from quarantine", equals=2)
    kept = [str(number) for number in pg.column("select id from quarantine")]
    for provider in ("h", "n"):
        assert daemon.post(provider, event(provider, msg="broken"), TOKENS).text == "ok"
    settled(pg, 2)
    ids = [str(number) for number in pg.column("select id from webhook_inbox")]
    commands = [
        ["check"], ["check", "--connect"], ["status"], ["status", "--json"], ["list"], ["list", "--json"], ["list", "--status", "dead"],
        *(["show", number] for number in ids), *(["show", number, "--json"] for number in ids), *(["show", number, "--body"] for number in ids),
        *(["send", provider] for provider in daemon.providers), ["send", "s", "--bad-signature"], ["send", "s", "--age", "9999"], ["send", "nobody"],
        ["replay", *ids], ["migrate"], ["--help"], ["check", "--help"], ["presets"],
        ["quarantine", "list"], ["quarantine", "list", "--json"], *(["quarantine", "show", number, *more] for number in kept for more in ([], ["--json"], ["--body"])),
        ["quarantine", "release", *kept, "--wait", "5s"], ["secrets"], ["secrets", "list", "--all"],
    ]  # fmt: skip
    for words in commands:
        done = daemon.ctl(*words, check=False, env=places["env"])
        assert done.stdout + done.stderr, words
        hidden.expect_absent(words, done.stdout + done.stderr)


def test_what_a_provider_shows_or_hands_over_is_nowhere_in_the_clear(pg, inboxd):
    """verify = token in a header that does not sound like one and in the query; verify = basic; a handshake's secret."""
    common = {"event_id": "body:/id", "on": "sql:t.ok"}
    shown = {"header": "shown-in-a-header-2a41c07d9be3", "query": "shown-in-the-query-81be54d2f0a7", "basic": "hooks:shown-as-basic-45fa0be2c913"}
    handed, other = "handed-over-in-a-handshake-9d3be0517c", "another-one-handed-over-c04d18ae77"
    key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    daemon = inboxd(
        log_level="debug",
        capture_key=f"text:{key}",
        providers={
            "header": {"verify": "token", "signature": "header:X-Plain", "secret": f"text:{shown['header']}", **common},
            "query": {"verify": "token", "signature": "query:who", "secret": f"text:{shown['query']}", **common},
            "basic": {"verify": "basic", "secret": f"text:{shown['basic']}", **common},
            "asana": {"verify": "hmac-sha256", "signed": "{body}", "signature": "header:X-Hook-Signature hex", "handshake": "header-echo", **common},
        },
    )
    hidden = Hidden()
    for secret in (*shown.values(), shown["basic"].split(":")[1], handed, other, key):
        hidden.add(secret[:20], secret)
    basic = base64.b64encode(shown["basic"].encode()).decode()
    sent = [
        daemon.post("header", event("a"), {"X-Plain": shown["header"]}, sign=False),
        daemon.post("query", event("a"), sign=False, query=f"?who={shown['query']}"),
        daemon.post("basic", event("a"), {"Authorization": f"Basic {basic}"}, sign=False),
    ]
    assert [answer.text for answer in sent] == ["ok"] * 3
    # Refused for another reason, or with the secret in the wrong place: kept without it too.
    wrong = [
        daemon.post("header", b"no json", {"X-Plain": shown["header"]}, sign=False),
        daemon.post("header", event("a"), {"X-Plain": shown["header"] + "x"}, sign=False),
        daemon.post("query", b"no json", sign=False, query=f"?who={shown['query']}"),
        daemon.post("basic", b"no json", {"Authorization": f"Basic {basic}"}, sign=False),
    ]
    assert [answer.status for answer in wrong] == [400, 401, 400, 400]
    assert daemon.post("asana", b"{}", {"X-Hook-Secret": handed}, sign=False).status == 200
    assert daemon.post("asana", b"{}", {"X-Hook-Secret": other}, sign=False).status == 403
    pg.wait_until("select count(*) >= 4 from quarantine")
    commands = [["status", "--json"], ["list", "--json"], ["secrets"], ["quarantine", "list", "--json"]]
    commands += [["quarantine", "show", str(number), "--json"] for number in pg.column("select id from quarantine")]
    outputs = "".join(daemon.ctl(*words).stdout for words in commands)
    daemon.terminate()
    hidden.expect_absent("database", database_text(pg))
    hidden.expect_absent("log", daemon.log_text())
    hidden.expect_absent("inboxctl", outputs)
    hidden.expect_absent("answers", raw(sent + wrong))


# The process ------------------------------------------------------------------------------------


def test_ps_shows_no_secret(inboxd, places):
    hidden = hidden_secrets()
    daemon = inboxd(**places)
    for reloads in range(2):
        with open(f"/proc/{daemon.pid}/cmdline", "rb") as file:
            hidden.expect_absent("command line", file.read())
        with open(f"/proc/{daemon.pid}/environ", "rb") as file:
            environ = file.read()
        assert hidden.found_in(environ) == []
        assert b"P11_SECRET=" in environ  # the name may be seen, and helps
        # The value is still there for the daemon, also at a reload.
        body = event("env")
        assert daemon.post("env", body, sign.hmac_headers(body, ENV_SECRET), sign=False).status == 200
        daemon.reload()
        assert daemon.log_text().count("configuration reloaded") == reloads + 1


def killed_with_core(daemon):
    """Kills the daemon as a crash does; whether the kernel wrote a core file."""
    daemon.signal(signal.SIGABRT)
    ended = os.waitid(os.P_PID, daemon.pid, os.WEXITED | os.WNOWAIT)
    daemon.wait_exit()
    assert ended.si_status == signal.SIGABRT
    return ended.si_code == os.CLD_DUMPED


@pytest.fixture
def no_sanitizer(build):
    if build in ("asan", "tsan"):
        pytest.skip("the sanitizers have ways of their own with core files")


def raise_core_limit(daemon):
    """As an administrator might who forgot; False where it is not allowed here."""
    words = ["prlimit", f"--pid={daemon.pid}", "--core=unlimited:unlimited"]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


@pytest.mark.usefixtures("no_sanitizer")
def test_no_core_file_unless_asked_for(inboxd, places, tmp_path):
    daemon = inboxd(cwd=tmp_path, **places)
    raise_core_limit(daemon)
    assert not killed_with_core(daemon)
    # That the same kill does write one where it was asked for shows that the above means something here.
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read()
    asked = inboxd(cwd=tmp_path, **{**places, "env": {**places["env"], "INBOXD_CORE": "1"}})
    if not raise_core_limit(asked) or "/" in pattern:
        asked.terminate()
        pytest.skip(f"core files go elsewhere: {pattern}")
    assert killed_with_core(asked)
    for file in tmp_path.glob("core*"):
        file.unlink()


@pytest.mark.usefixtures("no_sanitizer")
def test_another_process_of_the_same_user_cannot_look_in(inboxd, places):
    """A debugger, gcore and /proc/PID/environ all ask the same question of the kernel."""
    daemon = inboxd(**places)
    assert os.geteuid() == 0, "this test changes users"
    for name in ("environ", "mem", "maps"):
        status = os.stat(f"/proc/{daemon.pid}/{name}")
        assert status.st_uid == 0
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
    done = subprocess.run([*words, "cat", f"/proc/{daemon.pid}/environ"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "Permission denied" in done.stderr


def memory_of(pid):
    """All that the process may write to."""
    parts = []
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, rights, *_ = line.split()
            if not rights.startswith("rw") or "[vvar]" in line:
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            try:
                memory.seek(start)
                parts.append(memory.read(end - start))
            except OSError:
                continue
    return b"\n".join(parts)


@pytest.mark.usefixtures("no_sanitizer")
def test_a32_right_signatures_do_not_stay_in_memory(inboxd, places):
    """What would be in a core file that was asked for: secrets, but not the signature that a forger needs for a body."""
    daemon = inboxd(**places)
    signatures = Hidden()
    for number in range(20):
        refused(daemon, signatures, 401, "h", event(f"r{number}"), {"X-Sig": f"{number:064x}"})
    try:
        memory = memory_of(daemon.pid)
    except PermissionError:
        pytest.skip("this container may not read the memory of its processes")
    assert sign.K0.encode() in memory  # the search works: an HMAC needs its key
    signatures.expect_absent("memory", memory)

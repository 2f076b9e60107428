"""Secrets that providers hand over in a handshake: kept sealed or not at all, and in force once a person accepts."""

import json

import pytest
from support import http, sign
from support.wait import wait_until

KEY = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
SECRET = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81"
OTHER = "7f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81b53720"

ASANA = {
    "verify": "hmac-sha256",
    "signed": "{body}",
    "signature": "header:X-Hook-Signature hex",
    "handshake": "header-echo",
    "event_id": "body:/id",
    "on": "sql:t.ok",
}
NOTION = {
    **ASANA,
    "signature": "header:X-Notion-Signature prefix sha256= hex",
    "handshake": "token-capture",
}


@pytest.fixture
def asana(inboxd):
    """A daemon with a key and the providers asana and notion, whose secrets are not configured."""
    return inboxd(providers={"asana": ASANA, "notion": NOTION}, capture_key=f"text:{KEY}")


def hand_over(daemon, secret=SECRET):
    return daemon.post("asana", b"{}", {"X-Hook-Secret": secret}, sign=False)


def event(daemon, event_id, secret=SECRET):
    body = json.dumps({"id": event_id}).encode()
    return daemon.post("asana", body, sign.hmac_headers(body, secret, "X-Hook-Signature"), sign=False)


def operate(daemon, pg, *words, **options):
    """inboxctl secrets, as one who may decide."""
    return daemon.ctl("--database", pg.conninfo("postgres"), "secrets", *words, **options)


def secrets(pg):
    return pg.rows("select id, provider, state from inboxd.captured_secrets order by id")


def test_asana_from_the_handshake_to_the_first_event(pg, asana):
    answer = hand_over(asana)
    assert (answer.status, answer.result, answer.headers["x-hook-secret"]) == (200, "handshake", SECRET)
    assert secrets(pg) == [(1, "asana", "waiting")]
    asana.wait_log("a handshake has handed a secret over")
    # Nobody has accepted it.
    assert event(asana, "e1").text == "bad signature"
    assert "accepted" in operate(asana, pg, "accept", "1").stdout
    wait_until(lambda: event(asana, "e1").status == 200)
    assert event(asana, "e2", OTHER).text == "bad signature"
    assert pg.rows("select action, id, detail, who = session_user from inboxd.audit") == [
        ("secret_accept", 1, "provider asana", True)
    ]
    # At the next start it is there before the first event is judged.
    asana.restart()
    wait_until(lambda: event(asana, "e3").status != 503)
    assert event(asana, "e3").status == 200


def test_the_slot_holds_one_secret(pg, asana):
    assert hand_over(asana).status == 200
    # The same again is the same; another one is refused, before and after somebody has accepted the first.
    assert hand_over(asana).status == 200
    answer = hand_over(asana, OTHER)
    assert (answer.status, answer.text, "x-hook-secret" in answer.headers) == (403, "secret not expected", False)
    operate(asana, pg, "accept", "1")
    wait_until(lambda: event(asana, "e1").status == 200)
    assert hand_over(asana, OTHER).status == 403
    assert secrets(pg) == [(1, "asana", "accepted")]


def test_a_rejected_secret_is_forgotten_and_verifies_nothing(pg, asana):
    hand_over(asana)
    operate(asana, pg, "accept", "1")
    wait_until(lambda: event(asana, "e1").status == 200)
    assert "forgotten" in operate(asana, pg, "reject", "1").stdout
    assert pg.value("select sealed from inboxd.captured_secret") is None
    wait_until(lambda: event(asana, "e2").status == 401)
    assert hand_over(asana, OTHER).status == 200
    new = pg.value("select id from inboxd.captured_secrets where state = 'waiting'")
    operate(asana, pg, "accept", str(new))
    wait_until(lambda: event(asana, "e3", OTHER).status == 200)
    assert event(asana, "e4", SECRET).status == 401


def test_notion_token_is_shown_to_whoever_has_the_key(pg, asana):
    token = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"
    answer = asana.post("notion", {"verification_token": token}, sign=False)
    assert (answer.status, answer.result) == (200, "handshake")
    assert asana.ctl("secrets", "show", "1").stdout == token + "\n"
    operate(asana, pg, "accept", "1")
    body = b'{"id":"n1"}'
    signature = {"X-Notion-Signature": f"sha256={sign.sig(body, token)}"}
    wait_until(lambda: asana.post("notion", body, signature, sign=False).status == 200)
    listed = asana.ctl("secrets").stdout
    assert "notion" in listed and "accepted" in listed and token not in listed


def test_p11_a_captured_secret_is_nowhere_in_the_clear(pg, inboxd):
    daemon = inboxd(providers={"asana": ASANA}, capture_key=f"text:{KEY}", log_level="debug")
    hand_over(daemon)
    hand_over(daemon, OTHER)
    operate(daemon, pg, "accept", "1")
    wait_until(lambda: event(daemon, "e1").status == 200)
    for secret in (SECRET, OTHER, KEY):
        assert secret not in daemon.log_text()
        assert secret not in pg.value("select string_agg(s::text, '') from inboxd.captured_secret s")
        assert secret.encode() not in bytes(pg.value("select sealed from inboxd.captured_secret"))
        assert secret not in pg.value("select string_agg(e.headers::text, '') from inboxd.event_store e")


def test_without_a_key_nothing_is_kept_and_the_handshake_is_refused(pg, inboxd):
    with inboxd(providers={"asana": ASANA}) as daemon:
        answer = hand_over(daemon)
        assert (answer.status, answer.text, "x-hook-secret" in answer.headers) == (403, "secret not kept", False)
        assert event(daemon, "e1").text == "bad signature"
        assert secrets(pg) == []
        assert "cannot get one: every request is refused; write capture_key" in daemon.log_text()


def test_a_configured_secret_fills_the_slot(pg, inboxd):
    providers = {"asana": {**ASANA, "secret": f"text:{OTHER}"}}
    with inboxd(providers=providers, capture_key=f"text:{KEY}") as daemon:
        answer = hand_over(daemon)
        assert (answer.status, answer.text) == (403, "secret not expected")
        assert event(daemon, "e1", OTHER).status == 200
        assert secrets(pg) == []


def test_reload_brings_and_takes_the_key(pg, inboxd):
    daemon = inboxd(providers={"asana": ASANA})
    assert hand_over(daemon).status == 403
    daemon.reconfigure(capture_key=f"text:{KEY}")
    daemon.reload()
    assert hand_over(daemon).status == 200
    operate(daemon, pg, "accept", "1")
    wait_until(lambda: event(daemon, "e1").status == 200)
    # A reload that changes nothing of it leaves the secret in force.
    daemon.reload()
    assert event(daemon, "e2").status == 200
    # With another key what was kept does not open; without one nothing is in force.
    daemon.reconfigure(capture_key="text:" + KEY.replace("0", "f"))
    daemon.reload()
    daemon.wait_log("cannot open an accepted secret with this capture_key")
    wait_until(lambda: event(daemon, "e3").status == 401)
    daemon.reconfigure(capture_key=None)
    daemon.reload()
    assert event(daemon, "e3").status == 401


def test_two_daemons_share_what_is_accepted(pg, inboxd):
    daemons = [inboxd(providers={"asana": ASANA}, capture_key=f"text:{KEY}") for _ in range(2)]
    assert hand_over(daemons[0]).status == 200
    assert hand_over(daemons[1]).status == 200
    assert hand_over(daemons[1], OTHER).status == 403
    operate(daemons[0], pg, "accept", "1")
    for number, daemon in enumerate(daemons):
        wait_until(lambda: event(daemon, f"e{number}").status == 200)


def test_while_the_database_is_away_the_sender_is_asked_to_come_back(pg, inboxd, relay):
    """And the secret that was accepted before stays in force."""
    options = {"database": relay.conninfo(pg), "ack_timeout": "500ms"}
    daemon = inboxd(providers={"asana": ASANA}, capture_key=f"text:{KEY}", **options)
    wait_until(lambda: hand_over(daemon).status == 200)
    operate(daemon, pg, "accept", "1")
    wait_until(lambda: event(daemon, "e1").status == 200)
    relay.stall()
    answer = hand_over(daemon, OTHER)
    assert (answer.status, answer.result) == (503, "try-again")
    assert event(daemon, "e2", OTHER).text == "bad signature"
    relay.resume()
    wait_until(lambda: event(daemon, "e2").status == 200)
    wait_until(lambda: hand_over(daemon, OTHER).status == 403)


def test_before_the_secrets_are_known_events_are_not_refused(pg, inboxd, relay):
    """At the start the database is away: 503, since 401 would lose the event at senders that do not try again."""
    relay.refuse()
    daemon = inboxd(providers={"asana": ASANA}, capture_key=f"text:{KEY}", database=relay.conninfo(pg))
    assert (event(daemon, "e1").status, hand_over(daemon).status) == (503, 503)


def test_operators_see_no_sealed_bytes_and_daemons_accept_nothing(pg, asana):
    hand_over(asana)
    for role, allowed in (("inboxd_ops", False), ("inboxd_daemon", True)):
        assert pg.value("select has_table_privilege(%s, 'inboxd.captured_secret', 'select')", role) is allowed
        assert pg.value("select has_table_privilege(%s, 'inboxd.captured_secret', 'update')", role) is False
        assert pg.value("select has_function_privilege(%s, 'inboxd.secret_accept(bigint)', 'execute')", role) is not allowed
    assert "connect as a member of the role inboxd_ops" in asana.ctl("secrets", "accept", "1", check=False).stderr


def test_ctl_says_what_it_cannot_do(pg, asana):
    assert asana.ctl("secrets").stdout == "no secret was handed over\n"
    done = operate(asana, pg, "accept", "7", check=False)
    assert (done.returncode, done.stderr) == (1, "inboxctl: secrets: there is no captured secret 7\n")
    assert asana.ctl("secrets", "show", "7", check=False).returncode == 1
    assert operate(asana, pg, "accept", check=False).returncode == 64
    assert operate(asana, pg, "accept", "x", check=False).returncode == 64
    done = asana.ctl("send", "asana", check=False)
    assert done.returncode == 1 and "no secret of \"asana\" was handed over and accepted" in done.stderr
    hand_over(asana)
    operate(asana, pg, "reject", "1")
    done = operate(asana, pg, "accept", "1", check=False)
    assert done.returncode == 1 and "it was rejected by" in done.stderr
    assert asana.ctl("secrets", "show", "1", check=False).stderr == "inboxctl: secret 1 was rejected and is gone\n"
    assert "rejected" in asana.ctl("secrets", "list", "--all").stdout


def test_send_and_verify_use_the_secret_that_was_accepted(pg, asana, tmp_path):
    """Before that, each says what is missing."""
    refused = asana.ctl("send", "asana", check=False)
    assert refused.returncode == 1 and "no secret of \"asana\" was handed over and accepted" in refused.stderr
    hand_over(asana)
    assert "handed over and accepted" in asana.ctl("send", "asana", check=False).stderr
    operate(asana, pg, "accept", "1")
    wait_until(lambda: event(asana, "e0").status == 200)
    assert "200" in asana.ctl("send", "asana").stdout
    assert pg.value("select count(*) from inboxd.ledger") == 2
    body = b'{"id":"e1"}'
    for secret, code, words in ((SECRET, 0, "fits"), (OTHER, 1, "does not fit")):
        file = tmp_path / "request"
        headers = sign.hmac_headers(body, secret, "X-Hook-Signature")
        file.write_bytes(http.request_bytes("POST", "/webhooks/asana", body, headers))
        done = asana.ctl("verify", "--provider", "asana", "--request", file, check=False)
        assert done.returncode == code and f"1 (handshake): {words}" in done.stdout, done.stdout + done.stderr
        assert SECRET not in done.stdout + done.stderr

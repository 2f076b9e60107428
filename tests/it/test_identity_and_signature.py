"""What is judged and what identifies an event, from the sender's bytes to the row: signatures, secrets, JSON, identities."""

import base64
import json
import time

import pytest
from support import http, sign

DONE = 2
NOW = 1_700_000_000


def kept(pg, daemon, body, headers=None, provider="h"):
    """200 `ok`, one row with these bytes, a second POST answers `dup`, the handler ran once. Returns the row."""
    body = http.to_bytes(body)
    before = pg.value("select coalesce(max(id), 0) from ledger")
    answer = daemon.post(provider, body, headers)
    assert (answer.status, answer.text) == (200, "ok"), body[:200]
    again = daemon.post(provider, body, headers)
    assert (again.status, again.text) == (200, "dup"), body[:200]
    event_id = pg.value("select event_id from webhook_inbox where id > %s", before)
    pg.wait_until("select status from webhook_inbox where event_id = %s", event_id, equals=DONE)
    row = pg.row("select * from webhook_inbox where event_id = %s", event_id)
    assert bytes(row["body"]) == body
    assert pg.value("select count(*) from t.effect where event_id = %s", event_id) == 1
    return row


def refused(daemon, body, status, text):
    answer = daemon.post("h", body)
    assert (answer.status, answer.text) == (status, text)


@pytest.fixture
def daemon(inboxd):
    return inboxd()


# Odd content ------------------------------------------------------------------------------------


def test_a04_the_bytes_as_sent_are_what_is_signed(pg, daemon):
    body = b'{ "b":1,\r\n "a" : 1.0 ,"id":"a04" }\n'
    kept(pg, daemon, body)
    answer = daemon.post("h", body[:-1], {"X-Sig": sign.sig(body)}, sign=False)
    assert (answer.status, answer.text) == (401, "bad signature")


def test_a05_text_beyond_ascii_and_text_like_escapes(pg, daemon):
    bodies = [
        '{"id":"a05-1","v":"\U0001f60a"}'.encode(),
        rb'{"id":"a05-2","v":"\ud83d\ude0a"}',
        rb'{"id":"a05-3","v":"\uD83D\uDE0A"}',
        rb'{"id":"a05-4","v":"\\ud83d"}',
    ]
    assert len({sign.sig(body) for body in bodies}) == 4
    values = [kept(pg, daemon, body)["payload"]["v"] for body in bodies]
    assert values == ["\U0001f60a"] * 3 + ["\\ud83d"]


@pytest.mark.parametrize("value", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"caf\xe9", b"caf\xc3"])
def test_a18_what_is_not_utf8_is_400(pg, daemon, value):
    refused(daemon, b'{"id":"a18","v":"' + value + b'"}', 400, "invalid json")
    assert pg.value("select count(*) from ledger") == 0


def test_a19_of_duplicate_members_the_last_counts_everywhere(pg, daemon):
    row = kept(pg, daemon, r'{"id":"first","id":"second","k":1,"k":2}')
    assert (row["event_id"], row["ordering_key"], row["payload"]) == ("second", "2", {"id": "second", "k": 2})
    row = kept(pg, daemon, r'{"id":"first","\u0069d":"third","k":1}')
    assert (row["event_id"], row["payload"]["id"]) == ("third", "third")


@pytest.mark.parametrize("depth, status", [(500, 200), (999, 200), (1000, 400), (2048, 400), (100_000, 400)])
def test_a20_nesting_up_to_a_thousand(daemon, depth, status):
    # One level is the object around it.
    body = b'{"id":"d%d","v":%s%s}' % (depth, b"[" * depth, b"]" * depth)
    assert daemon.post("h", body).status == status
    assert daemon.post("h", b'{"id":"after-%d"}' % depth).status == 200


# Identities -------------------------------------------------------------------------------------


def test_a27_identities_are_what_was_sent(pg, daemon):
    cases = {
        '"12x"': "12x", "1.0": "1.0", "1e3": "1e3", "true": "true", '"  x "': "  x ", "12345678901234567890": "12345678901234567890",
        json.dumps("y" * 512): "y" * 512,
    }  # fmt: skip
    for written, identity in cases.items():
        assert kept(pg, daemon, f'{{"id":{written}}}')["event_id"] == identity
    assert daemon.post("h", '{"id":12}').text == "ok"
    assert daemon.post("h", '{"id":"12"}').text == "dup"
    for odd in ('"' + "z" * 513 + '"', r'"a\u0000b"', r'"\ud800"', json.dumps("é" * 257, ensure_ascii=False)):
        row = kept(pg, daemon, f'{{"id":{odd}}}'.encode())
        assert row["event_id"].startswith("sha256:") and len(row["event_id"]) == 71


@pytest.mark.parametrize("value", ["null", '""', "{}", "[]", '[{"id":1}]'])
def test_a26_what_is_no_identity_is_400(daemon, value):
    refused(daemon, f'{{"id":{value}}}', 400, "missing event id")


def test_a26_a_fallback_is_used(pg, inboxd):
    daemon = inboxd(providers={"h": {"event_id": "body:/id | sha256"}})
    assert len(kept(pg, daemon, '{"id":null,"v":1}')["event_id"]) == 64
    assert kept(pg, daemon, '{"id":"there"}')["event_id"] == "there"


# Signatures -------------------------------------------------------------------------------------


def test_a07_several_signatures_and_secrets(inboxd):
    daemon = inboxd(providers={"s": {"secret": [f"text:{sign.STRIPE_SECRET}", "text:whsec_the_older_secret"]}})
    number = iter(range(1000))

    def post(layout, secret=sign.STRIPE_SECRET):
        body = b'{"id":"a07-%d","type":"x"}' % next(number)
        now = int(time.time())
        good = sign.sig(f"{now}.".encode() + body, secret)
        value = layout.format(t=now, good=good, bad="0" * 64)
        answer = daemon.post("s", body, {"Stripe-Signature": value}, sign=False)
        return answer.status, answer.text

    ok, bad = (200, "ok"), (401, "bad signature")
    assert post("t={t},v1={bad},v1={good}") == ok
    assert post("v1={good},t={t},v0=x") == ok
    assert post("t={t}, v1={bad}, v1={good}") == ok
    assert post("v1={good}, t={t}, v0=x") == ok
    assert post("t={t},v1={good}", "whsec_the_older_secret") == ok
    assert post("t={t},v1={good}", "whsec_no_secret_of_ours") == bad
    assert post("t={t},v1={bad}") == bad
    assert post("t={t},v0={good}") == bad
    # Two hundred whole ones are 13.6 KB and a unit test: more than the head of a request may have.
    assert post("t={t}," + "v1=0123456789abcdef," * 200 + "v1={good}") == ok
    assert post("t={t}," + "v1={bad}," * 60 + "v1={good}") == ok
    assert post("t={t}," + "v1={bad}," * 60 + "v0={good}") == bad


def test_a07_a_list_of_standard_webhooks(daemon):
    body = b'{"id":"a07","type":"x"}'
    headers = sign.standard_headers(body)
    good = headers["webhook-signature"].removeprefix("v1,")
    bad = base64.b64encode(bytes(32)).decode()

    def post(value):
        answer = daemon.post("w", body, {**headers, "webhook-signature": value}, sign=False)
        return answer.status, answer.text

    assert post(f"v1,{bad} v1,{good} v1a,x") == (200, "ok")
    assert post(f"v1a,x v1,{good}") == (200, "dup")
    assert post(f"v1,{bad} v1a,{good}") == (401, "bad signature")
    assert post(f"v1,{bad} v1,{bad} v1a,x") == (401, "bad signature")


def test_a08_the_window_has_two_sides_and_a_time_is_digits(inboxd):
    daemon = inboxd(env={"INBOXD_CLOCK": str(NOW)}, workers=0)
    good = (NOW - 299, NOW - 300, NOW + 299, NOW + 300)
    stale = (NOW - 301, NOW + 301, NOW + 3600, "0", "-1", "99999999999999999999")
    odd = ("", "12a", f" {NOW}", f"{NOW}.0", f"+{NOW}", hex(NOW))
    for times, status, text in ((good, 200, "ok"), (stale, 401, "stale timestamp"), (odd, 401, "bad signature")):
        for t in times:
            body = b'{"id":"a08 %s","type":"x"}' % str(t).encode()
            answer = daemon.post("s", body, sign.stripe_headers(body, t=t), sign=False)
            assert (answer.status, answer.text) == (status, text), t


def test_a08_two_different_timestamps_are_401(daemon):
    body = b'{"id":"a08","type":"x"}'
    now = int(time.time())
    good = sign.stripe_headers(body, t=now)["Stripe-Signature"]
    for value in (f"t={now + 1},{good}", f"{good},t={now + 1}", f"t=0,{good}", f"{good},t={now}"):
        answer = daemon.post("s", body, {"Stripe-Signature": value}, sign=False)
        assert (answer.status, answer.text) == (401, "bad signature"), value
    assert daemon.post("s", body, {"Stripe-Signature": good}, sign=False).text == "ok"


def test_a09_signatures_are_compared_as_bytes(pg, inboxd):
    daemon = inboxd(providers={"h": {"signature": "header:X-Sig prefix sha256= hex"}})
    mac = sign.sig(b'{"id":"a09"}')

    def post(value):
        answer = daemon.post("h", b'{"id":"a09"}', {"X-Sig": value}, sign=False)
        return answer.status, answer.text

    assert post(f"sha256={mac}") == (200, "ok")
    for good in (f"sha256={mac.upper()}", f"sha256={mac[:32]}{mac[32:].upper()}", f"  sha256={mac}\t"):
        assert post(good) == (200, "dup"), good
    for bad in (mac, f"SHA256={mac}", f"sha256={mac[:-1]}", f"sha256={mac}0", f"sha256={mac}00", f"sha256={mac[:-1]}g", "sha256=", "", f"sha256= {mac}"):
        assert post(bad) == (401, "bad signature"), bad


def test_a09_and_without_a_prefix(pg, daemon):
    body = b'{"id":"a09"}'
    mac = sign.sig(body)

    def post(value):
        answer = daemon.post("h", body, {"X-Sig": value}, sign=False)
        return answer.status, answer.text

    bad = ("sha256=" + mac, mac[:-1], mac[:-2], mac + "0", mac + "00", mac[:-1] + "g", "0x" + mac[2:], mac[:32] + " " + mac[32:], "", " ")
    for value in bad:
        assert post(value) == (401, "bad signature"), value
    assert pg.value("select count(*) from ledger") == 0
    assert post(mac.upper()) == (200, "ok")
    for value in (mac, mac[:32].upper() + mac[32:], f" {mac} ", f"\t{mac}\t"):
        assert post(value) == (200, "dup"), value


# Secrets ----------------------------------------------------------------------------------------


def secret_file(folder, content):
    file = folder / "secret"
    file.write_bytes(content)
    file.chmod(0o600)
    return file


def accepts(daemon, secret, number=iter(range(1000))):
    """Whether the daemon takes what is signed with this secret."""
    body = b'{"id":"secret-%d"}' % next(number)
    answer = daemon.post("h", body, sign.hmac_headers(body, secret), sign=False)
    assert (answer.status, answer.text) in ((200, "ok"), (401, "bad signature"))
    return answer.status == 200


def refused_at_check_and_reload(daemon, reference):
    """What `inboxctl check` says of the line with this secret, and only of it; a reload says the same in the log."""
    line = daemon.file.read_text().splitlines().index(f"secret = {reference}") + 1
    checked = daemon.ctl("check", check=False)
    place = f"{daemon.file}:{line}: "
    about = [text for text in (checked.stdout + checked.stderr).splitlines() if text.startswith(place)]
    assert (checked.returncode, len(about)) == (78, 1), checked
    said = about[0].removeprefix(place)
    before = len(daemon.log_text())
    daemon.reload()
    logged = daemon.log_text()[before:]
    assert said.replace('"', r"\"") in logged and "configuration not reloaded, the old one stays in force" in logged
    return said


def test_a06_the_newline_at_the_end_of_a_secret_file_is_no_part_of_it(inboxd, tmp_path):
    file = secret_file(tmp_path, sign.K0.encode())
    daemon = inboxd(providers={"h": {"secret": f"file:{file}"}}, workers=0)
    for content in (sign.K0, sign.K0 + "\n", sign.K0 + "\r\n"):
        secret_file(tmp_path, content.encode())
        daemon.reload()
        assert accepts(daemon, sign.K0), content
        assert not accepts(daemon, content + " ")
    blanks = f" {sign.K0} "
    secret_file(tmp_path, blanks.encode())
    daemon.reload()
    assert accepts(daemon, blanks)
    assert not accepts(daemon, sign.K0)


def test_a06_the_newline_at_the_end_of_a_variable_neither(inboxd):
    daemon = inboxd(providers={"h": {"secret": "env:A06_SECRET"}}, env={"A06_SECRET": sign.K0 + "\n"}, workers=0)
    assert accepts(daemon, sign.K0)


def test_a06_an_empty_secret_is_refused_and_the_old_one_stays(inboxd, tmp_path):
    file = secret_file(tmp_path, sign.K0.encode())
    daemon = inboxd(providers={"h": {"secret": f"file:{file}"}}, workers=0)
    for content in (b"", b"\n", b"\r\n"):
        secret_file(tmp_path, content)
        assert refused_at_check_and_reload(daemon, f"file:{file}") == f"secret: {file} is empty; put the secret into it"
        assert accepts(daemon, sign.K0)
        assert not accepts(daemon, "")


def test_a33_a_key_that_is_none_is_refused(inboxd, tmp_path):
    cases = {
        "whsec_!!!!": 'provider "w": secret is not base64 (after an optional "whsec_"); copy it as the provider shows it',
        "whsec_": 'provider "w": secret decodes to 0 bytes; it needs at least 8',
        "whsec_AA==": 'provider "w": secret decodes to 1 bytes; it needs at least 8',
        "v1," + sign.STANDARD_SECRET: 'provider "w": secret is not base64 (after an optional "whsec_"); copy it as the provider shows it',
    }
    file = secret_file(tmp_path, sign.STANDARD_SECRET.encode())
    daemon = inboxd(providers={"w": {"secret": f"file:{file}"}}, workers=0)
    for n, (written, said) in enumerate(cases.items()):
        secret_file(tmp_path, written.encode())
        assert refused_at_check_and_reload(daemon, f"file:{file}") == said
        body = b'{"id":"a33-%d","type":"x"}' % n
        assert daemon.post("w", body, sign.standard_headers(body), sign=False).text == "ok"
    assert "!!!!" not in daemon.log_text() and "AA==" not in daemon.log_text()
    assert sign.STANDARD_SECRET.removeprefix("whsec_") not in daemon.log_text()


def test_a33_a_key_without_padding_and_in_the_other_alphabet(inboxd, tmp_path):
    key = bytes(range(250, 256)) + b"\xff\xfe\xfb\xef standard key"  # + and / in the one alphabet, - and _ in the other
    text = base64.b64encode(key).decode()
    other = base64.urlsafe_b64encode(key).decode()
    assert text.endswith("=") and text != other
    file = secret_file(tmp_path, text.encode())
    daemon = inboxd(providers={"w": {"secret": f"file:{file}"}}, workers=0)
    for n, written in enumerate((text, "whsec_" + text, text.rstrip("="), "whsec_" + text.rstrip("="), other, "whsec_" + other.rstrip("="))):
        secret_file(tmp_path, written.encode())
        assert daemon.ctl("check").returncode == 0
        daemon.reload()
        body = b'{"id":"a33-%d","type":"x"}' % n
        assert daemon.post("w", body, sign.standard_headers(body, text), sign=False).text == "ok", written

"""Verification that is no template, against a running daemon: adyen (field report A34), certificates of sns, and what
`inboxctl send` signs."""

import base64
import hashlib
import hmac
import json
import subprocess

import pytest

KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
LONG = "0123456789abcdef0123456789abcdef"

# Adyen ------------------------------------------------------------------------------------------

FIELDS = ("pspReference", "originalReference", "merchantAccountCode", "merchantReference")
ADYEN = {
    "verify": "adyen",
    "secret": f"text:{KEY}",
    "split": "body:/notificationItems",
    "event_id": "body:/NotificationRequestItem/pspReference + body:/NotificationRequestItem/eventCode",
    "reply": "200 text/plain [accepted]",
    "on": "sql:t.ok",
}


def item(reference, signature=None, **members):
    """A notification's item with its signature; `signature` False: without one."""
    content = {
        "pspReference": reference,
        "merchantAccountCode": "TestMerchant",
        "merchantReference": "order",
        "amount": {"currency": "EUR", "value": 1130},
        "eventCode": "AUTHORISATION",
        "success": "true",
        **members,
    }
    amount = content["amount"]
    texts = [content.get(name) or "" for name in FIELDS]
    texts += [str(amount.get("value", "")), amount.get("currency", ""), content["eventCode"], content["success"]]
    if signature is None:
        mac = hmac.new(bytes.fromhex(KEY), ":".join(texts).encode(), hashlib.sha256).digest()
        signature = base64.b64encode(mac).decode()
    if signature:
        content["additionalData"] = {"hmacSignature": signature}
    return {"NotificationRequestItem": content}


def notify(daemon, *items):
    answer = daemon.post("a", {"live": "false", "notificationItems": list(items)}, sign=False)
    return answer.status, answer.text


def test_a34_fields_with_colons_and_backslashes(pg, inboxd):
    daemon = inboxd(providers={"a": ADYEN})
    for number, reference in enumerate(["14-08-2020-09:53:00", r"a\b", r"\:/\/slashes", "", "ä\""]):
        assert notify(daemon, item(f"p{number}", merchantReference=reference)) == (200, "[accepted]"), reference
    assert notify(daemon, item("p5", amount={"currency": "EUR"})) == (200, "[accepted]")
    assert notify(daemon, item("p5", amount={"currency": "EUR"})) == (200, "[accepted]")
    pg.wait_until("select count(*) from t.effect", equals=6)
    assert pg.value("select bool_and(signature_verified) from webhook_inbox")


def test_a34_without_a_signature_and_one_bad_of_two(pg, inboxd):
    daemon = inboxd(providers={"a": ADYEN})
    assert notify(daemon, item("p1", signature=False)) == (401, "missing signature")
    assert notify(daemon, item("p1"), item("p2", signature=False)) == (401, "missing signature")
    changed = item("p2")
    changed["NotificationRequestItem"]["amount"]["value"] = 1131
    assert notify(daemon, item("p1"), changed) == (401, "bad signature")
    assert notify(daemon) == (401, "missing signature")
    assert notify(daemon, item("p1"), item("p2")) == (200, "[accepted]")
    assert pg.column("select event_id from inboxd.ledger order by id") == ["p1:AUTHORISATION", "p2:AUTHORISATION"]


# SNS --------------------------------------------------------------------------------------------

HOST = "https://sns.eu-central-1.amazonaws.com"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Two keys with their certificates, one.key, one.pem and so on."""
    folder = tmp_path_factory.mktemp("sns")
    for name in ("one", "two"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=sns.amazonaws.com",
             "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"],
            check=True, capture_output=True)  # fmt: skip
    return folder


def message(keys, name, number, url=None):
    """A notification that is signed with the key of that name."""
    content = {
        "Type": "Notification",
        "MessageId": f"m{number}",
        "TopicArn": "arn:aws:sns:eu-central-1:1:t",
        "Message": "a\nb",
        "Timestamp": "2022-07-28T21:24:08.324Z",
    }
    text = "".join(f"{member}\n{content[member]}\n" for member in sorted(content))
    signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", keys / f"{name}.key"], input=text.encode(), check=True,
                            capture_output=True).stdout  # fmt: skip
    content["SignatureVersion"] = "2"
    content["SigningCertURL"] = url or f"{HOST}/{name}.pem"
    content["Signature"] = base64.b64encode(signed).decode()
    return json.dumps(content)


def test_certificates_come_from_a_folder_and_a_reload_reads_it_again(pg, inboxd, keys, tmp_path):
    folder = tmp_path / "certificates"
    folder.mkdir()
    (folder / "one.pem").write_bytes((keys / "one.pem").read_bytes())
    daemon = inboxd(
        providers={"sns": {"verify": "sns", "secret": f"file:{folder}/", "event_id": "body:/MessageId", "on": "ignore"}}
    )

    def post(name, number, url=None):
        answer = daemon.post("sns", message(keys, name, number, url), sign=False)
        return answer.status, answer.text

    assert post("one", 1) == (200, "ok")
    assert post("one", 1) == (200, "dup")
    assert post("two", 2) == (401, "bad signature")
    assert post("two", 2, f"{HOST}/one.pem") == (401, "bad signature")
    assert post("one", 3, "https://evil.example/one.pem") == (401, "bad signature")
    (folder / "two.pem").write_bytes((keys / "two.pem").read_bytes())
    daemon.reload()
    assert post("two", 2) == (200, "ok")
    assert post("one", 4) == (200, "ok")
    assert pg.value("select bool_and(signature_verified) from webhook_inbox")


# inboxctl send ----------------------------------------------------------------------------------

URL = "https://hooks.example.com/webhooks/x"
SENT = {
    "token": {"verify": "token", "signature": "header:Authorization prefix Bearer | query:t", "secret": f"text:{LONG}"},
    "basic": {"verify": "basic", "secret": f"text:user:{LONG}"},
    "twilio": {"verify": "twilio", "public_url": URL, "secret": f"text:{LONG}", "reply": ""},
    "jwt": {
        "verify": "jwt",
        "signature": "header:Authorization prefix Bearer",
        "algorithms": "HS512",
        "claims": "iss=acme aud={url} exp nbf sha256={sha256hex:body}",
        "timestamp": "claim:iat s",
        "public_url": URL,
        "secret": f"text:{LONG}",
    },
}


def test_send_signs_with_every_kind_that_stands_in_a_header(pg, inboxd):
    common = {"event_id": "body:/id", "on": "ignore"}
    daemon = inboxd(providers={name: {**keys, **common} for name, keys in SENT.items()})
    for name in SENT:
        assert daemon.ctl("send", name).stdout.startswith("200 stored ok"), name
        bad = daemon.ctl("send", name, "--bad-signature", check=False)
        assert (bad.returncode, "401" in bad.stdout, "bad signature" in bad.stdout) == (1, True, True), name
    old = daemon.ctl("send", "jwt", "--age", "1000", check=False)
    assert "stale timestamp" in old.stdout
    assert pg.value("select count(*) from webhook_inbox where signature_verified") == len(SENT)
    assert LONG not in str(pg.rows("select headers from webhook_inbox"))


def test_send_says_why_it_cannot(inboxd, keys):
    daemon = inboxd(providers={"a": {**ADYEN, "split": None, "event_id": "sha256"}})
    done = daemon.ctl("send", "a", check=False)
    assert done.returncode != 0
    assert "cannot sign with a scheme whose signature is not in a header" in done.stderr

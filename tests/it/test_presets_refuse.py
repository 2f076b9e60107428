"""Every preset against requests that its sender signed well, but at another time or with another secret than ours."""

import base64
import json
import re
import subprocess
import time

import pytest
from support.daemon import Inboxd
from support.places import ROOT
from support.senders import BASE64_SECRET, HEX_SECRET, PAIR, SECRET, SENDERS, WHSEC_SECRET

pytestmark = pytest.mark.data

WEEK = 8 * 86400  # longer than any window may be
OTHER_BYTES = b"thirty-two-bytes-of-another-key!"
EC = ("-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
OTHERS = {
    SECRET: "another-secret-of-the-presets-02",
    HEX_SECRET: OTHER_BYTES.hex(),
    BASE64_SECRET: base64.b64encode(OTHER_BYTES).decode(),
    WHSEC_SECRET: "whsec_" + base64.b64encode(OTHER_BYTES).decode(),
    PAIR: "hooks:another-password-of-ours",
}


def openssl(*words, data=b""):
    return subprocess.run(["openssl", *words], input=data, capture_output=True, check=True).stdout


def public(*words):
    """A new key's SubjectPublicKeyInfo."""
    return openssl("pkey", "-pubout", "-outform", "DER", data=openssl("genpkey", *words))


def other(secret):
    """Another secret, written as the sender's is."""
    if secret in OTHERS:
        return OTHERS[secret]
    if secret.startswith("-----BEGIN CERTIFICATE"):
        words = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=other", "-keyout", "/dev/null")
        return openssl(*words).decode()
    if secret.startswith("{"):
        point = public(*EC)[-64:]
        halves = {"x": point[:32], "y": point[32:]}
        return json.dumps({**json.loads(secret), **{name: base64.urlsafe_b64encode(half).decode().rstrip("=") for name, half in halves.items()}})
    raw = public("-algorithm", "ed25519")[-32:]
    if len(secret) == len(raw.hex()) and set(secret) <= set("0123456789abcdef"):
        return raw.hex()
    prefix = "whpk_" if secret.startswith("whpk_") else ""
    if len(base64.b64decode(secret.removeprefix(prefix))) != len(raw):
        raw = public(*EC)
    return prefix + base64.b64encode(raw).decode()


def is_timed(name):
    """Whether the preset looks at a clock at all."""
    keys = dict(re.findall(r"^(\w+) *= *(.*)$", (ROOT / f"config/presets/{name}.conf").read_text(), re.MULTILINE))
    return "timestamp" in keys and keys.get("tolerance") != "0"


@pytest.fixture(scope="module")
def make(shared_cluster, build, tmp_path_factory):
    """make(clock=seconds from now, secrets=whether they are others): a daemon with a section for each preset."""
    made = []

    def daemon(clock=0, others=False):
        pg = shared_cluster.database()
        folder = tmp_path_factory.mktemp("presets")
        sections = {name: sender.section(name, folder) for name, sender in SENDERS.items()} | dict.fromkeys("hnsgw")
        for name in SENDERS if others else ():
            (folder / name).write_text(other((folder / name).read_text()))
        env = {"INBOXD_CLOCK": str(int(time.time()) + clock)} if clock else {}
        made.append((pg, Inboxd(folder, build, providers=sections, env=env, workers=0, database=pg.conninfo())))
        return pg, made[-1][1].start()

    yield daemon
    reports = []
    for pg, daemon in made:
        daemon.close()
        reports += daemon.sanitizer_reports()
        shared_cluster.drop(pg)
    assert not reports, reports[0]


def post(daemon, name):
    sender = SENDERS[name]
    body = sender.body()
    headers = {"Content-Type": sender.content_type, **sender.headers, **sender.sign(body)}
    answer = daemon.post(name, body, headers, sign=False)
    return answer.status, answer.text


@pytest.mark.parametrize("clock", [WEEK, -WEEK], ids=["late", "early"])
def test_a08_times_outside_of_the_window(make, clock):
    pg, daemon = make(clock=clock)
    seen = {name: post(daemon, name) for name in SENDERS if is_timed(name)}
    assert len(seen) > 20
    assert {name: answer for name, answer in seen.items() if answer != (401, "stale timestamp")} == {}
    assert pg.value("select count(*) from webhook_inbox") == 0


def test_another_secret_than_the_senders(make):
    pg, daemon = make(others=True)
    seen = {name: post(daemon, name) for name in SENDERS}
    assert {name: answer for name, answer in seen.items() if answer != (401, "bad signature")} == {}
    assert pg.value("select count(*) from webhook_inbox") == 0

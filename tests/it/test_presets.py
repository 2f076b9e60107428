"""Every preset against a running daemon: a signed event of its sender is stored as what it is, its second copy is a duplicate,
and one with another body is refused."""

import json
import re

import pytest
from support.daemon import Inboxd, run_ctl
from support.places import ROOT
from support.senders import DIGEST, NOW, RECEIVED, SENDERS

pytestmark = pytest.mark.data

# Only their senders have the private key, or what is signed stands in the body.
UNSIGNABLE = {"adyen", "discord", "linear", "mailgun", "microsoft-graph", "paypal", "plaid", "sendgrid", "sns", "standard-webhooks-v1a", "telnyx"}


@pytest.fixture(scope="module")
def inbox(shared_cluster, build, tmp_path_factory):
    """(database, daemon): one daemon with a section for each preset, named as it is."""
    pg = shared_cluster.database()
    secrets = tmp_path_factory.mktemp("secrets")
    sections = {name: sender.section(name, secrets) for name, sender in SENDERS.items()}
    daemon = Inboxd(tmp_path_factory.mktemp("presets"), build, providers=sections, database=pg.conninfo()).start()
    yield pg, daemon
    daemon.close()
    reports = daemon.sanitizer_reports()
    shared_cluster.drop(pg)
    assert not reports, f"{reports[0]}: see {daemon.log_file}"


def post(daemon, name, body, headers):
    sender = SENDERS[name]
    answer = daemon.post(name, body, {"Content-Type": sender.content_type, **sender.headers, **headers}, sign=False)
    return answer.status, answer.text


def stored(pg, name, sender):
    """(event_id, event_type, ordering_key) of each row, with what cannot be foretold of an id as the sender has it."""
    rows = pg.rows("select event_id, event_type, ordering_key from webhook_inbox where provider = %s order by id", name)
    digests = DIGEST in str(sender.stored)
    return [(masked(event_id, digests), event_type, key) for event_id, event_type, key in rows]


def times(pg, name):
    """The times of its events, in UTC; NOW for one that is near."""
    return pg.column(
        "select case when abs(extract(epoch from now() - event_time)) < 3600 then %s else (event_time at time zone 'UTC')::text end"
        "  from webhook_inbox where provider = %s order by id",
        NOW, name,
    )  # fmt: skip


def masked(event_id, digests):
    event_id = re.sub(r"\b1[0-9]{15}\b", RECEIVED, event_id)  # microseconds since 1970
    return re.sub(r"\b[0-9a-f]{64}\b", DIGEST, event_id) if digests else event_id


def test_every_preset_has_a_sender_here(build):
    assert sorted(SENDERS) == sorted(path.stem for path in (ROOT / "config/presets").glob("*.conf"))


@pytest.mark.parametrize("name", SENDERS)
def test_a_preset_knows_its_senders_event(inbox, name):
    pg, daemon = inbox
    sender = SENDERS[name]
    body = sender.body()
    if sender.covered:
        assert post(daemon, name, altered(sender, body), sender.sign(body)) == (401, "bad signature")
    if sender.spoil:
        assert post(daemon, name, b"{}", {})[0] == 401
    else:
        assert post(daemon, name, body, {}) == (401, "missing signature")
    assert stored(pg, name, sender) == []
    headers = sender.sign(body)
    assert post(daemon, name, body, headers) == (sender.status, sender.answer)
    assert stored(pg, name, sender) == sender.rows(body)
    assert post(daemon, name, body, headers) == (sender.status, sender.again)
    assert stored(pg, name, sender) == sender.rows(body) * (2 if sender.alike else 1)
    assert times(pg, name) == sender.times() * (2 if sender.alike else 1)
    verified = pg.value("select bool_and(signature_verified) from webhook_inbox where provider = %s", name)
    assert verified


@pytest.mark.parametrize("name", SENDERS)
def test_another_secret_is_refused(inbox, name):
    pg, daemon = inbox
    sender = SENDERS[name]
    body = sender.body()
    before = stored(pg, name, sender)
    wrong = {header: spoilt(value) for header, value in sender.sign(body).items()}
    assert post(daemon, name, altered(sender, body) if sender.spoil else body, wrong)[0] == 401
    assert stored(pg, name, sender) == before


def altered(sender, body):
    """Another body: one blank more, or another member where only some are signed."""
    if not sender.spoil:
        return body[:-1] + b" " + body[-1:]
    event = json.loads(body)
    place = event
    for name in sender.spoil[:-1]:
        place = place[name]
    place[sender.spoil[-1]] = spoilt(place[sender.spoil[-1]])
    return json.dumps(event).encode()


def spoilt(value):
    """A header's value with its last letter or digit another one; times and ids stay what they are in form."""
    if isinstance(value, list):
        return [spoilt(item) for item in value]
    at = max(i for i, char in enumerate(value) if char.isalnum())
    return value[:at] + ("0" if value[at] != "0" else "1") + value[at + 1 :]


def test_the_list_of_presets(build):
    lines = run_ctl(build, "presets").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(SENDERS)
    assert next(line for line in lines if line.startswith("trello ")).split() == ["trello", "hmac-sha1", "Trello"]
    for name in SENDERS:
        assert run_ctl(build, "presets", "show", name).stdout == (ROOT / f"config/presets/{name}.conf").read_text()


def test_a_preset_that_is_not_there(build):
    done = run_ctl(build, "presets", "show", "nobody", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'inboxctl: there is no preset "nobody"; `inboxctl presets` lists those there are\n'


def test_a_section_stands_above_its_preset(pg, inboxd):
    daemon = inboxd(providers={"s": {"event_id": "body:/number", "event_type": "", "key": "body:/object"}})
    body = b'{"id":"evt_1","number":12,"type":"x","object":"o","data":{"object":{"id":"in_1"}}}'
    assert daemon.post("s", body).status == 200
    row = pg.row("select * from webhook_inbox")
    assert (row["event_id"], row["event_type"], row["ordering_key"]) == ("12", None, "o")


def test_an_ack_timeout_of_the_provider_is_its_own(pg, inboxd):
    daemon = inboxd(providers={"h": {"ack_timeout": "100ms"}}, faults="store.before_send=wait:1000")
    answer = daemon.post("h", b'{"id":"late"}')
    assert (answer.status, answer.text) == (503, "try again")


@pytest.mark.parametrize("name", SENDERS)
def test_inboxctl_sends_what_a_preset_takes(inbox, name):
    """The sample has what the preset's sources read; where it cannot be signed, inboxctl says why."""
    pg, daemon = inbox
    sender = SENDERS[name]
    before = len(stored(pg, name, sender))
    done = daemon.ctl("send", name, check=False)
    if done.returncode == 0:
        answer = "ok 1" if sender.answer.startswith("ok ") else sender.answer
        assert done.stdout == f"{sender.status} stored {answer}\n"
        assert len(stored(pg, name, sender)) == before + 1
    else:
        assert name in UNSIGNABLE, done.stderr + done.stdout
        assert "cannot sign" in done.stderr


@pytest.mark.parametrize("size", [457_522, 1024 * 1024 + 1, 24_900_000])
def test_a13_bodies_as_large_as_github_sends_them(pg, inboxd, size):
    """The preset's limit is GitHub's own, 25 MB. How long that takes on a busy machine is no matter here."""
    daemon = inboxd(ack_timeout="1m", providers={"g": {"ack_timeout": "1m"}})
    body = b'{"action":"opened","pad":"' + b"x" * (size - 28) + b'"}'
    assert len(body) == size
    answer = daemon.post("g", body)
    assert (answer.status, answer.text) == (200, "ok")
    assert pg.value("select octet_length(body) from webhook_inbox") == size


def test_a13_what_is_larger_than_the_limit_is_refused(pg, inboxd):
    daemon = inboxd()
    answer = daemon.post("g", b"x" * (25 * 1024 * 1024 + 1))
    assert (answer.status, answer.headers["inboxd-result"]) == (413, "body-too-large")
    assert pg.value("select count(*) from webhook_inbox") == 0

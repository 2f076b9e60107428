"""The providers' official SDKs are the senders, and judges beside inboxd: what they sign is kept, and what they refuse is
refused. Which SDKs, and how they are called: tests/interop."""

import base64
import dataclasses
import itertools
import time

import pytest
from support.daemon import Inboxd
from support.sdks import Sdks

WHSEC = "whsec_" + base64.b64encode(b"interop-key-of-thirty-two-bytes!").decode()
WHSEC_OTHER = "whsec_" + base64.b64encode(b"another-key-of-thirty-two-bytes!").decode()


@dataclasses.dataclass(frozen=True)
class Provider:
    """How a provider signs, what it adds to a request, and what of that its SDK judges."""

    sdk: str
    secret: str
    other_secret: str
    headers: dict = dataclasses.field(default_factory=dict)  # beside the signature; {n} is the event's number
    window: int = 0  # seconds that a signed time may be off; 0: no time is signed
    ahead: int = 0  # seconds that the sender's clock is ahead, so that a slow machine stays in a narrow window
    altered: tuple = ()  # signed headers, whose alteration both have to refuse
    url: str = ""  # the address that the provider was given, where it is signed

    def config(self, preset, *secrets):
        return {
            "verify": preset,
            "secret": [f"text:{secret}" for secret in secrets],
            "public_url": self.url or None,
            "on": "sql:t.ok",
        }


# By preset, as a user would: what the section adds is the secret and the address.
PROVIDERS = {
    "stripe": Provider(
        sdk="stripe",
        secret="whsec_interop_stripe_secret_0001",
        other_secret="whsec_interop_stripe_secret_0002",
        window=300,
    ),
    "github": Provider(
        sdk="github",
        secret="interop-github-secret-0001",
        other_secret="interop-github-secret-0002",
        headers={"X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-{n:012}", "X-GitHub-Event": "issues"},
    ),
    "standard-webhooks": Provider(
        sdk="standardwebhooks",
        secret=WHSEC,
        other_secret=WHSEC_OTHER,
        window=300,
        altered=("webhook-id", "webhook-timestamp"),
    ),
    "svix": Provider(
        sdk="svix",
        secret=WHSEC,
        other_secret=WHSEC_OTHER,
        window=300,
        altered=("svix-id", "svix-timestamp"),
    ),
    "slack": Provider(
        sdk="slack",
        secret="8f742231b10e8888abcd99yyyzzz85a5",
        other_secret="8f742231b10e8888abcd99yyyzzz85a6",
        window=300,
        altered=("x-slack-request-timestamp",),
    ),
    "square": Provider(
        sdk="square",
        secret="asdf1234_interop-key-square_0001",
        other_secret="asdf1234_interop-key-square_0002",
        url="https://hooks.example.com/webhooks/square",
    ),
    "shopify": Provider(
        sdk="shopify",
        secret="shpss_interop_secret_000000000001",
        other_secret="shpss_interop_secret_000000000002",
        headers={
            "X-Shopify-Webhook-Id": "b54557e4-bdd9-4b37-8a5f-{n:012}",
            "X-Shopify-Topic": "orders/create",
            "X-Shopify-Shop-Domain": "interop.myshopify.com",
            "X-Shopify-API-Version": "2025-07",
        },
    ),
    "paddle": Provider(
        sdk="paddle",
        secret="pdl_ntfset_interop_secret_0001",
        other_secret="pdl_ntfset_interop_secret_0002",
        window=5,
        ahead=3,
    ),
}

MEMBERS = '"id":"evt_{n}","event_id":"evt_{n}","type":"order.paid"'
BODIES = {
    "compact": "{" + MEMBERS + "}",
    "spaces": "{\r\n\t" + MEMBERS + ' ,  "b" : 1.0,\n"a":-0 }\n',
    "utf-8": "{" + MEMBERS + ',"v":"\U0001f60a é \u2028 \U00010348"}',
    "escapes": "{" + MEMBERS + r',"v":"\ud83d\ude0a \uD83D\uDE0A \\ud83d \/ \u0000"}',
    "long": "{" + MEMBERS + ',"v":"' + "webhook " * 25_000 + '"}',
}


def body_of(n, text=BODIES["compact"]):
    return text.replace("{n}", str(n)).encode()


class Senders:
    """All providers as senders to one daemon, and their SDKs as judges."""

    def __init__(self, sdks, daemon, pg):
        self.sdks, self.daemon, self.pg = sdks, daemon, pg
        self._numbers = itertools.count(1)

    def number(self):
        return next(self._numbers)

    def headers(self, name, n, body, secret=None, at=None):
        """The headers of a correct request with these bytes."""
        provider = PROVIDERS[name]
        at = int(time.time()) + provider.ahead if at is None else at
        more = {"secret": secret or provider.secret, "time": at, "id": f"msg_{n}", "url": provider.url}
        signed = self.sdks.sign(provider.sdk, body, **more)
        return {**{header: value.format(n=n) for header, value in provider.headers.items()}, **signed}

    def judge(self, name, body, headers, query=""):
        """The SDK in the place of inboxd."""
        provider = PROVIDERS[name]
        return self.sdks.verify(provider.sdk, body, headers, secret=provider.secret, url=provider.url + query)

    def post(self, name, body, headers, query=""):
        answer = self.daemon.post(name, body, headers, sign=False, query=query)
        return answer.status, answer.text

    def stored(self, name):
        return self.pg.value("select count(*) from inboxd.ledger where provider = %s", name)


@pytest.fixture(scope="module")
def senders(shared_cluster, build, tmp_path_factory):
    """One daemon, one database and one process of SDKs for all tests of this file: NAME, and NAME-rotating with two secrets."""
    pg = shared_cluster.database(True)
    sections = {name: provider.config(name, provider.secret) for name, provider in PROVIDERS.items()}
    for name, provider in PROVIDERS.items():
        sections[f"{name}-rotating"] = provider.config(name, provider.other_secret, provider.secret)
    sdks = Sdks()
    daemon = Inboxd(tmp_path_factory.mktemp("interop"), build, providers=sections, database=pg.conninfo(), workers=0)
    yield Senders(sdks, daemon.start(), pg)
    sdks.close()
    daemon.close()
    shared_cluster.drop(pg)
    assert not daemon.sanitizer_reports(), daemon.log_file


every = pytest.mark.parametrize("name", PROVIDERS)


@every
def test_what_the_sdk_signs_is_kept(senders, name):
    before = senders.stored(name)
    for kind, text in BODIES.items():
        n = senders.number()
        body = body_of(n, text)
        headers = senders.headers(name, n, body)
        assert senders.judge(name, body, headers), kind
        assert senders.post(name, body, headers) == (200, "ok"), kind
        assert senders.post(name, body, headers) == (200, "dup"), kind
        row = senders.pg.row("select body, signature_verified from webhook_inbox where provider = %s order by id desc limit 1", name)
        assert (bytes(row["body"]), row["signature_verified"]) == (body, True), kind
    assert senders.stored(name) == before + len(BODIES)


@every
def test_an_altered_body_is_refused_by_both(senders, name):
    before, n = senders.stored(name), senders.number()
    body = body_of(n, '{"n": 1, ' + MEMBERS + "}")
    headers = senders.headers(name, n, body)
    altered = {
        "another value": body.replace(b"paid", b"void"),
        "one bit": bytes([*body[:-2], body[-2] ^ 1, body[-1]]),
        "a newline at the end": body + b"\n",
        "a blank less": body.replace(b": 1", b":1"),
        "cut": body[:-1],
        "empty": b"",
    }
    assert senders.judge(name, body, headers)
    for kind, other in altered.items():
        if other:  # some SDKs call an empty body a fault of the program
            assert not senders.judge(name, other, headers), kind
        assert senders.post(name, other, headers) == (401, "bad signature"), kind
    assert senders.stored(name) == before


@every
def test_another_secret_is_refused_by_both(senders, name):
    before, n = senders.stored(name), senders.number()
    body = body_of(n)
    headers = senders.headers(name, n, body, secret=PROVIDERS[name].other_secret)
    assert not senders.judge(name, body, headers)
    assert senders.post(name, body, headers) == (401, "bad signature")
    assert senders.stored(name) == before


@every
def test_while_secrets_are_rotated_either_is_accepted(senders, name):
    for secret in (PROVIDERS[name].secret, PROVIDERS[name].other_secret):
        n = senders.number()
        body = body_of(n)
        assert senders.post(f"{name}-rotating", body, senders.headers(name, n, body, secret)) == (200, "ok")


@pytest.mark.parametrize("name, header", [(name, header) for name, p in PROVIDERS.items() for header in p.altered])
def test_an_altered_header_is_refused_by_both(senders, name, header):
    before, n = senders.stored(name), senders.number()
    body = body_of(n)
    headers = senders.headers(name, n, body)
    value = headers[header]
    headers[header] = value[:-1] + ("0" if value[-1] != "0" else "1")
    assert not senders.judge(name, body, headers)
    assert senders.post(name, body, headers) == (401, "bad signature")
    assert senders.stored(name) == before


@pytest.mark.parametrize("name", [name for name, p in PROVIDERS.items() if p.url])
def test_another_address_is_refused_by_both(senders, name):
    before, n = senders.stored(name), senders.number()
    body = body_of(n)
    headers = senders.headers(name, n, body)
    assert not senders.judge(name, body, headers, query="?shop=7")
    assert senders.post(name, body, headers, query="?shop=7") == (401, "bad signature")
    assert senders.stored(name) == before


@pytest.mark.parametrize("name", [name for name, p in PROVIDERS.items() if p.window])
def test_an_old_signature_is_refused_by_both(senders, name):
    before, n, window = senders.stored(name), senders.number(), PROVIDERS[name].window
    body = body_of(n)
    headers = senders.headers(name, n, body, at=int(time.time()) - window - 5)
    assert not senders.judge(name, body, headers)
    assert senders.post(name, body, headers) == (401, "stale timestamp")
    # Not every SDK looks at the future; inboxd always does.
    headers = senders.headers(name, n, body, at=int(time.time()) + window + 60)
    assert senders.post(name, body, headers) == (401, "stale timestamp")
    assert senders.stored(name) == before

"""The providers' official SDKs are the senders, and judges beside inboxd: what they sign is kept, and what they refuse is
refused. Which SDKs, and how they are called: tests/interop."""

import base64
import dataclasses
import hashlib
import itertools
import json
import time

import pytest
from support.daemon import Inboxd
from support.sdks import Sdks

pytestmark = pytest.mark.data

WHSEC = "whsec_" + base64.b64encode(b"interop-key-of-thirty-two-bytes!").decode()
WHSEC_OTHER = "whsec_" + base64.b64encode(b"another-key-of-thirty-two-bytes!").decode()


# Keys of RFC 8032, section 7.1. The sender has the private ones.
PRIVATE = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
PRIVATE_OTHER = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
PUBLIC = {
    PRIVATE: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    PRIVATE_OTHER: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
}
EC_PRIVATE = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgm9IQFqqUzyU7nhNSi6p3BtRMt6V4CwLhz/HkeR5m7YWhRANCAAT3gx3oXChX5fkvUUS48YRBN3tn"
    "+OQ8Oj9u5nTBu0GXj86rfVmi0ZjgEG/MVabYCUKuIFPTyaG8JVWtSOxSN1+u"
)
EC_PRIVATE_OTHER = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmMv7TeD0cGOYOjcX6C0Cxc2gu3hnS5d5qj0XEmBxSNGhRANCAAQt2XeZH13eeVLGg5/hcgmf6c3p"
    "/P2Os+LHAxNigfStvG3HCa14kddWi0ddBELWOekxGSHRf7AGCwrpipTzFe/t"
)
BAD, STALE = (401, "bad-signature"), (401, "stale-timestamp")
ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493


def spki(pkcs8):
    """The public key of a P-256 private key: the point at the end of the one, behind the fixed head of the other."""
    head = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
    return base64.b64encode(head + base64.b64decode(pkcs8)[-65:]).decode()


PUBLIC |= {key: spki(key) for key in (EC_PRIVATE, EC_PRIVATE_OTHER)}

MEMBERS = '"id":"evt_{n}","event_id":"evt_{n}","type":"order.paid"'
JSON = {
    "compact": "{" + MEMBERS + "}",
    "spaces": "{\r\n\t" + MEMBERS + ' ,  "b" : 1.0,\n"a":-0 }\n',
    "utf-8": "{" + MEMBERS + ',"v":"\U0001f60a é \u2028 \U00010348"}',
    "escapes": "{" + MEMBERS + r',"v":"\ud83d\ude0a \uD83D\uDE0A \\ud83d \/ \u0000"}',
    "long": "{" + MEMBERS + ',"v":"' + "webhook " * 25_000 + '"}',
}
# A request of SendGrid is an array of events.
BATCH = {kind: "[" + text.replace('"id"', '"sg_event_id"') + "]" for kind, text in JSON.items()}
FIELDS = "MessageSid=SM{n}&SmsStatus=paid"
FORM = {
    "compact": FIELDS,
    "escapes": FIELDS + "&Body=Hi+%26+bye%2B%0D%0A%3d%25+%7e~&From=%2B14158675309",
    "utf-8": "Body=%F0%9F%98%8A+%C3%A9+%E2%80%A8&" + FIELDS + "&%C3%A9=1",
    "unsorted": "b=1&a=2&B=3&A=4&_=5&" + FIELDS + "&a-b=6&ab=7",
    "repeated": "Media=b&Media=a&" + FIELDS + "&Media=b&Media=",
    "empty": FIELDS + "&Empty=&Bare&Equal=a=b",
    "long": FIELDS + "&Body=" + "webhook+" * 25_000,
}


@dataclasses.dataclass(frozen=True)
class Provider:
    """How a provider is configured, how it signs, and what of that its SDK judges."""

    sdk: str
    secret: str
    other_secret: str
    preset: str = ""  # the name in PROVIDERS, where it is not said
    keys: dict = dataclasses.field(default_factory=dict)  # of its section, beside the secrets
    public: dict | None = None  # what the section says of a secret of the sender
    headers: dict = dataclasses.field(default_factory=dict)  # beside the signature; {n} is the event's number
    bodies: dict = dataclasses.field(default_factory=lambda: JSON)
    window: int = 0  # seconds that a signed time may be off; 0: no time is signed
    sdk_has_window: bool = True
    ahead: int = 0  # seconds that the sender's clock is ahead, so that a slow machine stays in a narrow window
    altered: tuple = ()  # signed headers, whose alteration both have to refuse
    url: str = ""  # the address that the provider was given, where it is signed
    digest: bool = False  # the body is signed by its digest in the query
    ok: int = 200  # the status of a stored event

    def section(self, name, *secrets):
        return {
            "verify": self.preset or name,
            "secret": [f"text:{self.public[secret] if self.public else secret}" for secret in secrets],
            "public_url": self.url or None,
            "on": "sql:t.ok",
            **self.keys,
        }

    def body(self, n, kind="compact"):
        return self.bodies[kind].replace("{n}", str(n)).encode()

    def query(self, body):
        return f"?bodySHA256={hashlib.sha256(body).hexdigest()}" if self.digest else ""


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
    "discord": Provider(
        sdk="discord",
        secret=PRIVATE,
        other_secret=PRIVATE_OTHER,
        public=PUBLIC,
        window=300,
        sdk_has_window=False,
        altered=("x-signature-timestamp",),
        ok=204,
    ),
    "sendgrid": Provider(
        sdk="sendgrid",
        bodies=BATCH,
        secret=EC_PRIVATE,
        other_secret=EC_PRIVATE_OTHER,
        public=PUBLIC,
        window=300,
        sdk_has_window=False,
        altered=("x-twilio-email-event-webhook-timestamp",),
    ),
    "twilio": Provider(
        sdk="twilio",
        secret="interop0twilio0auth0token0000001",
        other_secret="interop0twilio0auth0token0000002",
        headers={"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"},
        bodies=FORM,
        url="https://hooks.example.com/webhooks/twilio",
    ),
    "twilio-json": Provider(
        sdk="twilio",
        preset="twilio",
        keys={"event_id": "body:/id"},
        secret="interop0twilio0auth0token0000001",
        other_secret="interop0twilio0auth0token0000002",
        url="https://hooks.example.com/webhooks/twilio-json",
        digest=True,
    ),
}


@dataclasses.dataclass(frozen=True)
class Request:
    """What a provider sends, but for the path."""

    body: bytes
    headers: dict
    query: str = ""

    def but(self, **changes):
        return dataclasses.replace(self, **changes)


class Senders:
    """All providers as senders to one daemon, and their SDKs as judges."""

    def __init__(self, sdks, daemon, pg):
        self.sdks, self.daemon, self.pg = sdks, daemon, pg
        self._numbers = itertools.count(1)

    def request(self, name, kind="compact", secret=None, at=None):
        """A correct request with an event of its own."""
        provider, n = PROVIDERS[name], next(self._numbers)
        at = int(time.time()) + provider.ahead if at is None else at
        body = provider.body(n, kind)
        query = provider.query(body)
        more = {"secret": secret or provider.secret, "time": at, "id": f"msg_{n}", "url": provider.url + query}
        signed = self.sdks.sign(provider.sdk, body, **more)
        headers = {header: value.format(n=n) for header, value in provider.headers.items()}
        return Request(body, {**headers, **signed}, query)

    def judge(self, name, request):
        """The SDK in the place of inboxd."""
        provider = PROVIDERS[name]
        more = {"secret": provider.secret, "url": provider.url + request.query}
        return self.sdks.verify(provider.sdk, request.body, request.headers, **more)

    def post(self, name, request):
        """The status and what Inboxd-Result says: what a sender reads is the preset's business."""
        answer = self.daemon.post(name, request.body, request.headers, sign=False, query=request.query)
        return answer.status, answer.result

    def stored(self, name):
        return self.pg.value("select count(*) from inboxd.ledger where provider = %s", name)

    def refused_by_both(self, name, request):
        before = self.stored(name)
        assert not self.judge(name, request), request
        assert self.post(name, request) == BAD, request
        assert self.stored(name) == before


@pytest.fixture(scope="module")
def senders(shared_cluster, build, tmp_path_factory):
    """One daemon, one database and one process of SDKs for all tests of this file: NAME, and NAME-rotating with two secrets."""
    pg = shared_cluster.database(True)
    sections = {name: provider.section(name, provider.secret) for name, provider in PROVIDERS.items()}
    for name, provider in PROVIDERS.items():
        sections[f"{name}-rotating"] = provider.section(name, provider.other_secret, provider.secret)
    sections["adyen"] = {"verify": "adyen", "secret": f"text:{ADYEN_KEY}", "on": "ignore"}
    sdks = Sdks()
    daemon = Inboxd(tmp_path_factory.mktemp("interop"), build, providers=sections, database=pg.conninfo(), workers=0)
    yield Senders(sdks, daemon.start(), pg)
    sdks.close()
    daemon.close()
    shared_cluster.drop(pg)
    assert not daemon.sanitizer_reports(), daemon.log_file


every = pytest.mark.parametrize("name", PROVIDERS)


def those(condition):
    return pytest.mark.parametrize("name", [name for name, provider in PROVIDERS.items() if condition(provider)])


@every
def test_what_the_sdk_signs_is_kept(senders, name):
    before, bodies, ok = senders.stored(name), PROVIDERS[name].bodies, PROVIDERS[name].ok
    for kind in bodies:
        request = senders.request(name, kind)
        assert senders.judge(name, request), kind
        assert senders.post(name, request) == (ok, "stored"), kind
        assert senders.post(name, request) == (ok, "duplicate"), kind
        row = senders.pg.row("select body, signature_verified from webhook_inbox where provider = %s order by id desc limit 1", name)
        body = request.body[1:-1].strip() if bodies is BATCH else request.body  # an event is one element
        assert (bytes(row["body"]), row["signature_verified"]) == (body, True), kind
    assert senders.stored(name) == before + len(bodies)


@every
def test_an_altered_body_is_refused_by_both(senders, name):
    request = senders.request(name, "compact")
    body = request.body
    assert senders.judge(name, request)
    for other in (body.replace(b"paid", b"void"), body + b"\n", b" " + body, body[:-1], body[:-2] + bytes([body[-2] ^ 1]) + body[-1:]):
        senders.refused_by_both(name, request.but(body=other))
    # Some SDKs call an empty body a fault of the program.
    assert senders.post(name, request.but(body=b"")) == BAD


@every
def test_another_secret_is_refused_by_both(senders, name):
    senders.refused_by_both(name, senders.request(name, secret=PROVIDERS[name].other_secret))


@every
def test_while_secrets_are_rotated_either_is_accepted(senders, name):
    for secret in (PROVIDERS[name].secret, PROVIDERS[name].other_secret):
        assert senders.post(f"{name}-rotating", senders.request(name, secret=secret)) == (PROVIDERS[name].ok, "stored")


@pytest.mark.parametrize("name, header", [(name, header) for name, p in PROVIDERS.items() for header in p.altered])
def test_an_altered_header_is_refused_by_both(senders, name, header):
    request = senders.request(name)
    value = request.headers[header]
    value = value[:-1] + ("0" if value[-1] != "0" else "1")
    senders.refused_by_both(name, request.but(headers={**request.headers, header: value}))


@those(lambda provider: provider.url)
def test_another_address_is_refused_by_both(senders, name):
    request = senders.request(name)
    senders.refused_by_both(name, request.but(query=(request.query + "&" if request.query else "?") + "shop=7"))


@those(lambda provider: provider.window)
def test_an_old_signature_is_refused_by_both(senders, name):
    window = PROVIDERS[name].window
    request = senders.request(name, at=int(time.time()) - window - 5)
    assert senders.judge(name, request) is not PROVIDERS[name].sdk_has_window
    assert senders.post(name, request) == STALE
    # Not every SDK looks at the future; inboxd always does.
    request = senders.request(name, at=int(time.time()) + window + 60)
    assert senders.post(name, request) == STALE
    assert senders.pg.value("select count(*) from inboxd.ledger where body_sha256 = sha256(%s)", request.body) == 0


# One provider each -------------------------------------------------------------------------------


def test_discord_wrong_signatures_are_refused_by_both(senders):
    """Discord itself sends wrong ones now and then, and drops an endpoint that takes them."""
    request = senders.request("discord")
    right = bytes.fromhex(request.headers["x-signature-ed25519"])
    r, s = right[:32], int.from_bytes(right[32:], "little")
    wrong = [
        bytes(64), b"\xff" * 64, right[::-1], right[32:] + right[:32],
        bytes([right[0] ^ 1]) + right[1:], right[:31] + bytes([right[31] ^ 0x80]) + right[32:],
        right[:32] + bytes([right[32] ^ 1]) + right[33:], right[:32] + bytes(32), bytes(32) + right[32:],
        bytes([1]) + bytes(63),  # the neutral element and 0
        r + (s + ED25519_ORDER).to_bytes(32, "little"),  # the same number, written larger
        right[:-1], right[:32], right + right[:1],
    ]  # fmt: skip
    for signature in wrong:
        senders.refused_by_both("discord", request.but(headers={**request.headers, "x-signature-ed25519": signature.hex()}))
    headers = {**request.headers, "x-signature-ed25519": right.hex().upper()}
    assert senders.judge("discord", request.but(headers=headers))
    assert senders.post("discord", request.but(headers=headers)) == (204, "stored")


def test_discord_a_digit_cannot_move_from_the_time_to_the_body(senders):
    request = senders.request("discord")
    time_text = request.headers["x-signature-timestamp"]
    moved = request.but(
        headers={**request.headers, "x-signature-timestamp": time_text[:-1]}, body=time_text[-1:].encode() + request.body
    )
    # Nothing stands between the two, so the signature is right for the SDK; the time is then some decades ago.
    assert senders.judge("discord", moved)
    assert senders.post("discord", moved) == STALE


ADYEN_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
ADYEN_ITEM = {
    "pspReference": "7914073381342284",
    "originalReference": "7914073381342283",
    "merchantAccountCode": "TestMerchant",
    "merchantReference": "TestPayment-1407325143704",
    "amount": {"value": 1130, "currency": "EUR"},
    "eventCode": "AUTHORISATION",
    "success": "true",
}


class Adyen:
    """Its signatures stand in the items of the body."""

    def __init__(self, senders):
        self.senders = senders

    def signed(self, key=ADYEN_KEY, **changes):
        item = {name: value for name, value in {**ADYEN_ITEM, **changes}.items() if value is not None}
        made = self.senders.sdks.sign("adyen", json.dumps(item).encode(), secret=key, time=0)
        return {**item, "additionalData": {"hmacSignature": made["hmacsignature"], "cardSummary": "7777"}}

    def judged(self, *items):
        """Whether the SDK and inboxd accept a notification."""
        entries = [{"NotificationRequestItem": item} for item in items]
        body = json.dumps({"live": "false", "notificationItems": entries}).encode()
        status, result = self.senders.post("adyen", Request(body, {}))
        assert (status, result) in ((200, "stored"), (200, "duplicate"), BAD, (401, "missing-signature")), body
        return self.senders.sdks.verify("adyen", body, {}, secret=ADYEN_KEY), status == 200


def test_a34_adyen_items_are_judged_alike(senders):
    adyen, both, neither = Adyen(senders), (True, True), (False, False)
    signed = adyen.signed
    assert adyen.judged(signed()) == both
    for reference in ("14-08-2020-09:53:00", r"a\b", r"a\:b:", "é \U0001f60a", ""):
        assert adyen.judged(signed(merchantReference=reference)) == both, reference
    assert adyen.judged(signed(originalReference=None)) == both
    assert adyen.judged(signed(amount={"value": 0, "currency": "JPY"}, eventCode="REPORT_AVAILABLE")) == both
    assert adyen.judged(signed(), signed(success="false")) == both
    for name, value in ADYEN_ITEM.items():
        other = {"value": 1131, "currency": "EUR"} if name == "amount" else value[:-1]
        assert adyen.judged({**signed(), name: other}) == neither, name
    assert adyen.judged(signed(key=ADYEN_KEY[:-1] + "7")) == neither
    assert adyen.judged(signed(), {**signed(), "success": "false"}) == neither
    assert adyen.judged({**signed(), "additionalData": {}}) == neither
    assert adyen.judged(ADYEN_ITEM) == neither
    assert adyen.judged(signed(), ADYEN_ITEM) == neither


def test_twilio_pairs_have_no_order_and_the_port_is_as_one_likes(senders):
    provider = PROVIDERS["twilio"]
    request = senders.request("twilio", "unsorted")
    turned = request.but(body=b"&".join(reversed(request.body.split(b"&"))))
    assert senders.judge("twilio", turned)
    assert senders.post("twilio", turned) == (200, "stored")
    for url in (provider.url.replace(".com/", ".com:443/"), provider.url + "?shop=7&name=%C3%A9"):
        request = senders.request("twilio")
        signed = senders.sdks.sign("twilio", request.body, secret=provider.secret, time=0, url=url)
        request = request.but(headers={**request.headers, **signed}, query=url[len(provider.url) :] if "?" in url else "")
        assert senders.judge("twilio", request)
        assert senders.post("twilio", request) == (200, "stored")


def test_twilio_the_digest_of_a_body_is_signed_with_the_address(senders):
    request = senders.request("twilio-json")
    other = request.body.replace(b"paid", b"void")
    senders.refused_by_both("twilio-json", request.but(body=other))
    senders.refused_by_both("twilio-json", request.but(body=other, query=PROVIDERS["twilio-json"].query(other)))

"""What the senders behind the presets send: a realistic event of each, signed by its documented layout, and what it is stored as.

The layouts are written down here a second time, from the senders' side; nothing is read from config/presets/.
"""

import atexit
import base64
import functools
import hashlib
import hmac
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import zlib
from dataclasses import dataclass, field

SECRET = "a-secret-of-the-presets-0001"
BYTES = b"thirty-two-bytes-of-a-shared-key"
HEX_SECRET = BYTES.hex()
BASE64_SECRET = base64.b64encode(BYTES).decode()
WHSEC_SECRET = "whsec_" + BASE64_SECRET
PAIR = "hooks:a-password-of-the-presets"
HOST = "https://hooks.example.com/webhooks/"


AT, ISO = "2023-11-14 22:13:20", "2023-11-14T22:13:20Z"  # 1700000000
NOW = "now"


@dataclass
class Sender:
    """`event` is the body, or a function that makes it for the time now; `sign(body)` returns the headers of the signature."""

    event: object
    sign: object
    stored: tuple  # (event_id, event_type, ordering_key), or a list of them where one request holds several
    secret: object = SECRET  # or a function that makes it
    headers: dict = field(default_factory=dict)  # metadata that is not signed
    keys: dict = field(default_factory=dict)  # what the section needs besides the three lines
    content_type: str = "application/json"
    covered: bool = True  # whether the signature covers the body
    spoil: tuple = ()  # the member that makes the signature a wrong one, where that is in the body
    answer: str = ""  # "ok" of one event, "ok N" of several
    again: str = ""
    status: int = 200
    time: object = AT  # of the event, in UTC; a list where there are several, None where the sender does not say
    alike: bool = False  # its events look like each other, so that a second copy is one more

    def __post_init__(self):
        several = f" {len(self.stored)}" if isinstance(self.stored, list) else ""
        self.answer, self.again = self.answer or f"ok{several}", self.again or ("ok" if self.alike else f"dup{several}")
        if self.status == 204:
            self.answer = self.again = ""

    def times(self):
        several = isinstance(self.stored, list)
        return self.time if isinstance(self.time, list) else [self.time] * (len(self.stored) if several else 1)

    def body(self):
        event = self.event() if callable(self.event) else self.event
        return event if isinstance(event, bytes) else json.dumps(event, separators=(",", ":")).encode()

    def section(self, name, folder):
        """The keys of its section: the three lines, and what it needs besides."""
        secret = folder / name
        secret.write_text(self.secret() if callable(self.secret) else self.secret)
        secret.chmod(0o600)
        return {"verify": name, "secret": f"file:{secret}", "on": "ignore", **self.keys}

    def rows(self, body):
        """What is stored. SHA256 stands for the digest of the body, DIGEST for any."""
        if isinstance(self.stored, list):
            return self.stored
        digest = hashlib.sha256(body).hexdigest()
        return [tuple(value and value.replace(SHA256, digest) for value in self.stored)]


SHA256, DIGEST, RECEIVED = "<sha256>", "<digest>", "<received>"


def joined(*parts):
    """A composite identity."""
    return ":".join(str(part).replace("\\", "\\\\").replace(":", "\\:") for part in parts)


# Layouts ----------------------------------------------------------------------------------------


def mac(data, key=SECRET, digest="sha256"):
    key = key if isinstance(key, bytes) else key.encode()
    return hmac.new(key, data, digest).digest()


def b64(data):
    return base64.b64encode(data).decode()


def hexed(name, prefix="", digest="sha256", key=SECRET):
    """The header's value is the body's MAC in hexadecimal."""
    return lambda body: {name: prefix + mac(body, key, digest).hex()}


def based(name, prefix="", digest="sha256", key=SECRET, before=b"", behind=b""):
    """The same in base64, perhaps with something before or behind the body."""
    return lambda body: {name: prefix + b64(mac(before + body + behind, key, digest))}


def standard(prefix, message="msg_2b1"):
    """Standard Webhooks: id.time.body, keyed with decoded base64."""

    def sign(body):
        t = str(int(time.time()))
        signature = b64(mac(f"{message}.{t}.".encode() + body, BYTES))
        return {f"{prefix}-id": message, f"{prefix}-timestamp": t, f"{prefix}-signature": f"v1a,AAAA v1,{signature}"}

    return sign


def listed(name, form, between=".", unit=1):
    """Time and MAC in one header; the signed text is time, `between`, body."""

    def sign(body):
        t = int(time.time() * unit)
        return {name: form.format(t=t, mac=mac(f"{t}{between}".encode() + body).hex())}

    return sign


def versioned(signature, timestamp):
    """Slack's and Zoom's: v0:time:body."""

    def sign(body):
        t = str(int(time.time()))
        return {timestamp: t, signature: "v0=" + mac(f"v0:{t}:".encode() + body).hex()}

    return sign


def utc(fraction=""):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + fraction + "Z"


def zendesk(body):
    t = utc()
    return {"X-Zendesk-Webhook-Signature-Timestamp": t, "X-Zendesk-Webhook-Signature": b64(mac(t.encode() + body))}


def twitch(body):
    t, message = utc(".123456789"), "befa7b53-d79d-478f-86b9-120f112b044e"
    return {
        "Twitch-Eventsub-Message-Id": message,
        "Twitch-Eventsub-Message-Timestamp": t,
        "Twitch-Eventsub-Message-Signature": "sha256=" + mac((message + t).encode() + body).hex(),
        "Twitch-Eventsub-Message-Type": "notification",
    }


@functools.cache
def key_file(kind):
    """A private key in PEM, made for this run: "ed25519", "ec" or "rsa" (with its certificate behind it)."""
    file = pathlib.Path(tempfile.mkdtemp(prefix="inboxd_senders_")) / f"{kind}.pem"
    atexit.register(shutil.rmtree, file.parent, True)
    words = {
        "ed25519": ["genpkey", "-algorithm", "ed25519"],
        "ec": ["genpkey", "-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "rsa": ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=sender", "-keyout", "-"],
    }[kind]
    file.write_bytes(openssl(*words))
    return file


def openssl(*words, data=b""):
    return subprocess.run(["openssl", *map(str, words)], input=data, capture_output=True, check=True).stdout


def public_der(kind):
    return openssl("pkey", "-in", key_file(kind), "-pubout", "-outform", "DER")


def ed25519(data):
    with tempfile.NamedTemporaryFile() as file:  # one-shot signatures want a file
        file.write(data)
        file.flush()
        return openssl("pkeyutl", "-sign", "-inkey", key_file("ed25519"), "-rawin", "-in", file.name)


def ed25519_public():
    return public_der("ed25519")[-32:]


def standard_v1a(body):
    t = str(int(time.time()))
    signature = b64(ed25519(f"msg_2b1.{t}.".encode() + body))
    return {"webhook-id": "msg_2b1", "webhook-timestamp": t, "webhook-signature": f"v1,AAAA v1a,{signature}"}


def telnyx(body):
    t = str(int(time.time()))
    return {"telnyx-timestamp": t, "telnyx-signature-ed25519": b64(ed25519(f"{t}|".encode() + body))}


def box(body):
    t = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - 7 * 3600)) + "-07:00"
    return {
        "box-delivery-id": "f96bb54b",
        "box-delivery-timestamp": t,
        "box-signature-primary": b64(mac(body + t.encode(), "a key that is not ours")),
        "box-signature-secondary": b64(mac(body + t.encode())),
    }


def mailgun_event():
    t, token = str(int(time.time())), "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0"
    return {
        "signature": {"timestamp": t, "token": token, "signature": mac((t + token).encode()).hex()},
        "event-data": {"id": "Ase7i2zsRYeDXztHGENqRA", "event": "delivered", "timestamp": 1700000000.0, "message": {"headers": {"message-id": "2013@mailgun"}}},
    }


def paypal(body):
    t, message = utc(), "69cd13f0-d67a-11e5-baa3-778b53f4ae55"
    text = f"{message}|{t}|WH-1|{zlib.crc32(body)}"
    return {
        "PAYPAL-TRANSMISSION-ID": message,
        "PAYPAL-TRANSMISSION-TIME": t,
        "PAYPAL-TRANSMISSION-SIG": b64(openssl("dgst", "-sha256", "-sign", key_file("rsa"), data=text.encode())),
        "PAYPAL-CERT-URL": "https://api.paypal.com/v1/notifications/certs/CERT-1",
        "PAYPAL-AUTH-ALGO": "SHA256withRSA",
    }


def sns_event():
    event = {
        "Type": "Notification",
        "MessageId": "22b80b92",
        "TopicArn": "arn:aws:sns:us-west-2:123456789012:topic",
        "Subject": "a subject",
        "Message": "Hello world!",
        "Timestamp": utc(".628"),
        "SignatureVersion": "2",
        "SigningCertURL": "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem",
    }
    signed = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
    text = "".join(f"{name}\n{event[name]}\n" for name in signed)
    event["Signature"] = b64(openssl("dgst", "-sha256", "-sign", key_file("rsa"), data=text.encode()))
    return event


def certificate():
    return openssl("x509", "-in", key_file("rsa")).decode()


def unsigned(body):
    """Nothing in the headers: the signature is in the body."""
    return {}


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def ecdsa_raw(data):
    """The two numbers of a signature, 32 bytes each, out of its DER."""
    der = openssl("dgst", "-sha256", "-sign", key_file("ec"), data=data)
    r, rest = der[4 : 4 + der[3]], der[4 + der[3] :]
    return b"".join(number.lstrip(b"\0").rjust(32, b"\0") for number in (r, rest[2:]))


def jwt(claims, algorithm="HS256", **header):
    text = ".".join(b64url(json.dumps(part).encode()) for part in ({"alg": algorithm, "typ": "JWT", **header}, claims))
    signature = ecdsa_raw(text.encode()) if algorithm == "ES256" else mac(text.encode())
    return f"{text}.{b64url(signature)}"


def digest_hex(data):
    return hashlib.sha256(data).hexdigest()


def monday(body):
    now = int(time.time())
    return {"Authorization": jwt({"accountId": 1, "userId": 2, "aud": f"{HOST}monday", "iat": now, "exp": now + 300})}


def messagebird(body):
    now = int(time.time())
    url_hash, payload_hash = digest_hex(f"{HOST}messagebird".encode()), digest_hex(body)
    claims = {"iss": "MessageBird", "nbf": now, "exp": now + 60, "jti": "1", "url_hash": url_hash, "payload_hash": payload_hash}
    return {"MessageBird-Signature-JWT": jwt(claims)}


def vonage(body):
    claims = {"iat": int(time.time()), "jti": "c5ba", "iss": "Vonage", "payload_hash": digest_hex(body), "api_key": "a1b2"}
    return {"Authorization": "Bearer " + jwt(claims)}


def plaid(body):
    claims = {"iat": int(time.time()), "request_body_sha256": digest_hex(body)}
    return {"Plaid-Verification": jwt(claims, "ES256", kid="k1")}


def ec_jwk():
    point = public_der("ec")[-64:]
    return json.dumps({"kty": "EC", "crv": "P-256", "kid": "k1", "alg": "ES256", "x": b64url(point[:32]), "y": b64url(point[32:])})


def discord(body):
    t = str(int(time.time()))
    return {"X-Signature-Timestamp": t, "X-Signature-Ed25519": ed25519(t.encode() + body).hex()}


def sendgrid(body):
    t = str(int(time.time()))
    return {
        "X-Twilio-Email-Event-Webhook-Timestamp": t,
        "X-Twilio-Email-Event-Webhook-Signature": b64(openssl("dgst", "-sha256", "-sign", key_file("ec"), data=t.encode() + body)),
    }


def hubspot(version):
    def sign(body):
        t, url = str(int(time.time() * 1000)), f"{HOST}hubspot-v{version}".encode()
        v1 = hashlib.sha256(SECRET.encode() + body).hexdigest()
        v2 = hashlib.sha256(SECRET.encode() + b"POST" + url + body).hexdigest()
        v3 = b64(mac(b"POST" + url + body + t.encode()))
        if version == 3:
            return {"X-HubSpot-Request-Timestamp": t, "X-HubSpot-Signature-v3": v3}
        return {"X-HubSpot-Signature": v1 if version == 1 else v2}

    return sign


HUBSPOT = [
    {"eventId": 1, "subscriptionId": 12345, "portalId": 62515, "occurredAt": 1564113600000, "subscriptionType": "contact.creation", "attemptNumber": 0, "objectId": 123},
    {"eventId": 2, "subscriptionId": 12346, "portalId": 62515, "occurredAt": 1564113600001, "subscriptionType": "contact.deletion", "attemptNumber": 0, "objectId": 124},
]  # fmt: skip
HUBSPOT_TIMES = ["2019-07-26 04:00:00", "2019-07-26 04:00:00.001"]
HUBSPOT_STORED = [
    ("62515:12345:1:1564113600000", "contact.creation", "62515:123"),
    ("62515:12346:2:1564113600001", "contact.deletion", "62515:124"),
]


def adyen_item(reference, event, success="true", **more):
    fields = {
        "pspReference": reference, "originalReference": "", "merchantAccountCode": "TestMerchant", "merchantReference": "order: 1",
        "eventCode": event, "success": success, "eventDate": "2023-11-14T23:13:20+01:00", **more,
    }  # fmt: skip
    names = ("pspReference", "originalReference", "merchantAccountCode", "merchantReference")
    text = ":".join([*(fields[name] for name in names), "1130", "EUR", event, success])
    item = {**fields, "amount": {"value": 1130, "currency": "EUR"}, "additionalData": {"hmacSignature": b64(mac(text.encode(), BYTES))}}
    return {"NotificationRequestItem": item}


def twilio(body):
    """URL and the form's pairs, sorted."""
    pairs = sorted(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
    text = f"{HOST}twilio" + "".join(name + value for name, value in pairs)
    return {"X-Twilio-Signature": b64(mac(text.encode(), digest="sha1"))}


def shown(name, value=SECRET):
    """A token, which is sent as it is."""
    return lambda body: {name: value}


def basic(body):
    return {"Authorization": "Basic " + b64(PAIR.encode())}


# Senders ----------------------------------------------------------------------------------------

SENDERS = {
    "github": Sender(
        {"action": "opened", "number": 7, "pull_request": {"id": 1, "number": 7, "updated_at": ISO}, "repository": {"id": 42, "full_name": "o/hello"}},
        hexed("X-Hub-Signature-256", "sha256="),
        ("72d3162e-cc78-11e3-81ab-4c9367dc0958", "pull_request", "42:7"),
        headers={"X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958", "X-GitHub-Event": "pull_request", "X-Hub-Signature": "sha1=00"},
    ),
    "bitbucket": Sender(
        {"repository": {"uuid": "{f2a5}"}, "push": {"changes": [{"new": {"name": "main"}}]}},
        hexed("X-Hub-Signature", "sha256="),
        ("b6a7-uuid", "repo:push", "{f2a5}"),
        headers={"X-Request-UUID": "b6a7-uuid", "X-Event-Key": "repo:push", "X-Hook-UUID": "hook", "X-Attempt-Number": "1"},
        time=None,
    ),
    "gitlab": Sender(
        {"object_kind": "issue", "project": {"id": 15}, "object_attributes": {"id": 301, "iid": 23, "updated_at": ISO}},
        shown("X-Gitlab-Token"),
        ("f5e5f430", "issue", "15:301"),
        headers={"X-Gitlab-Event": "Issue Hook", "Idempotency-Key": "f5e5f430", "X-Gitlab-Event-UUID": "13792a34"},
        covered=False,
    ),
    "gitlab-signed": Sender(
        {"object_kind": "push", "ref": "refs/heads/main", "project_id": 15, "project": {"id": 15}},
        standard("webhook"),
        ("msg_2b1", "push", "15:refs/heads/main"),
        secret=WHSEC_SECRET,
        headers={"X-Gitlab-Event": "Push Hook"},
        time=None,
    ),
    "standard-webhooks": Sender(
        {"type": "contact.created", "timestamp": "2022-11-03T20:26:10.344522Z", "data": {"id": "1f81eb52"}},
        standard("webhook"),
        ("msg_2b1", "contact.created", "1f81eb52"),
        secret=WHSEC_SECRET,
        time="2022-11-03 20:26:10.344522",
    ),
    "svix": Sender(
        {"type": "invoice.paid", "data": {"id": "inv_1"}},
        standard("svix"),
        ("msg_2b1", "invoice.paid", "inv_1"),
        secret=WHSEC_SECRET,
        time=NOW,
    ),
    "clerk": Sender(
        {"type": "user.created", "object": "event", "data": {"id": "user_29w"}, "timestamp": 1654012591835},
        standard("svix"),
        ("msg_2b1", "user.created", "user_29w"),
        secret=WHSEC_SECRET,
        time="2022-05-31 15:56:31.835",
    ),
    "resend": Sender(
        {"type": "email.sent", "created_at": "2024-02-22T23:41:12.126Z", "data": {"email_id": "56761188"}},
        standard("svix"),
        ("msg_2b1", "email.sent", "56761188"),
        secret=WHSEC_SECRET,
        time="2024-02-22 23:41:12.126",
    ),
    "brex": Sender(
        {"event_type": "TRANSFER_PROCESSED", "transfer_id": "ptx_1", "company_id": "cuacc_1"},
        standard("webhook"),
        ("msg_2b1", "TRANSFER_PROCESSED", "ptx_1"),
        secret=WHSEC_SECRET,
        time=None,
    ),
    "openai": Sender(
        {"object": "event", "id": "evt_685", "type": "response.completed", "created_at": 1750287018, "data": {"id": "resp_abc"}},
        standard("webhook"),
        ("msg_2b1", "response.completed", "resp_abc"),
        secret=WHSEC_SECRET,
        time="2025-06-18 22:50:18",
    ),
    "stripe": Sender(
        {"id": "evt_1", "object": "event", "type": "invoice.paid", "created": 1735689600, "data": {"object": {"id": "in_1", "amount_paid": 1999}}},
        listed("Stripe-Signature", "t={t},v0=6ffbb59b,v1={mac}"),
        ("evt_1", "invoice.paid", "in_1"),
        time="2025-01-01 00:00:00",
    ),
    "calendly": Sender(
        {"event": "invitee.created", "created_at": "2020-11-23T17:51:19Z", "payload": {"uri": "https://api.calendly.com/invitees/AAAA"}},
        listed("Calendly-Webhook-Signature", "t={t},v1={mac}"),
        (
            joined("invitee.created", "https://api.calendly.com/invitees/AAAA", "2020-11-23T17:51:19Z"),
            "invitee.created",
            "https://api.calendly.com/invitees/AAAA",
        ),
        time="2020-11-23 17:51:19",
    ),
    "workos": Sender(
        {"id": "event_01", "event": "dsync.user.created", "data": {"id": "directory_user_01"}, "created_at": "2021-06-25T19:07:33Z"},
        listed("WorkOS-Signature", "t={t}, v1={mac}", unit=1000),
        ("event_01", "dsync.user.created", "directory_user_01"),
        time="2021-06-25 19:07:33",
    ),
    "paddle": Sender(
        {"event_id": "evt_01", "notification_id": "ntf_01", "event_type": "transaction.paid", "occurred_at": ISO, "data": {"id": "txn_01"}},
        listed("Paddle-Signature", "ts={t};h1={mac}", between=":"),
        ("evt_01", "transaction.paid", "txn_01"),
    ),
    "slack": Sender(
        {"type": "event_callback", "team_id": "T1", "event_id": "Ev08", "event_time": 1700000000, "event": {"type": "message", "channel": "C9", "user": "U2", "ts": "1.2"}},
        versioned("X-Slack-Signature", "X-Slack-Request-Timestamp"),
        ("Ev08", "message", "T1:C9"),
    ),
    "zoom": Sender(
        {
            "event": "meeting.participant_joined",
            "event_ts": 1626230691572,
            "payload": {"object": {"uuid": "4444AAA==", "participant": {"participant_uuid": "55555AAA"}}},
        },
        versioned("x-zm-signature", "x-zm-request-timestamp"),
        ("meeting.participant_joined:1626230691572:4444AAA==:55555AAA", "meeting.participant_joined", "4444AAA=="),
        time="2021-07-14 02:44:51.572",
    ),
    "shopify": Sender(
        {"id": 820982911946154508, "email": "jon@example.com", "updated_at": "2021-12-31T19:00:00-05:00"},
        based("X-Shopify-Hmac-SHA256"),
        ("b54557e4-bdd9", "orders/updated", "shop.myshopify.com:820982911946154508"),
        headers={
            "X-Shopify-Topic": "orders/updated",
            "X-Shopify-Shop-Domain": "shop.myshopify.com",
            "X-Shopify-Webhook-Id": "b54557e4-bdd9",
            "X-Shopify-Event-Id": "98880550",
        },
        time="2022-01-01 00:00:00",
    ),
    "woocommerce": Sender(
        {"id": 727, "status": "processing", "date_modified_gmt": "2017-03-22T19:28:08"},
        based("X-WC-Webhook-Signature"),
        (f"order.updated:727:2017-03-22T19\\:28\\:08:{SHA256}", "order.updated", joined("https://shop.example/", "order", 727)),
        headers={
            "X-WC-Webhook-Source": "https://shop.example/",
            "X-WC-Webhook-Topic": "order.updated",
            "X-WC-Webhook-Resource": "order",
            "X-WC-Webhook-Delivery-ID": "f2a5",
        },
        time="2017-03-22 19:28:08",
    ),
    "docusign": Sender(
        {"event": "envelope-completed", "generatedDateTime": "2021-09-01T12:00:00.0Z", "data": {"envelopeId": "5a9d"}},
        lambda body: {"X-DocuSign-Signature-1": b64(mac(body, "the other key of the account")), "X-DocuSign-Signature-2": b64(mac(body))},
        ("5a9d:envelope-completed:2021-09-01T12\\:00\\:00.0Z", "envelope-completed", "5a9d"),
        time="2021-09-01 12:00:00",
    ),
    "adyen-platform": Sender(
        {"type": "balancePlatform.transfer.created", "timestamp": "2023-02-01T12:00:00+01:00", "data": {"id": "1W1UG3", "sequenceNumber": 1}},
        based("HmacSignature", key=BYTES),
        ("balancePlatform.transfer.created:1W1UG3:1", "balancePlatform.transfer.created", "1W1UG3"),
        secret=HEX_SECRET,
        time="2023-02-01 11:00:00",
    ),
    "typeform": Sender(
        {"event_id": "LtWXD3crgy", "event_type": "form_response", "form_response": {"form_id": "lT4Z3j", "token": "a3a12ec6", "submitted_at": ISO}},
        based("Typeform-Signature", "sha256="),
        ("LtWXD3crgy", "form_response", "a3a12ec6"),
    ),
    "square": Sender(
        {"merchant_id": "6SSW7", "type": "payment.updated", "event_id": "13b867cf", "created_at": ISO, "data": {"type": "payment", "id": "KkAkhd"}},
        based("x-square-hmacsha256-signature", before=f"{HOST}square".encode()),
        ("13b867cf", "payment.updated", "6SSW7:KkAkhd"),
        keys={"public_url": f"{HOST}square"},
    ),
    "trello": Sender(
        {"action": {"id": "51f9424b", "type": "updateCard", "date": "2023-11-14T22:13:20.000Z", "data": {"card": {"id": "51a79e72"}, "board": {"id": "4d5e"}}}, "model": {"id": "4d5e"}},
        based("X-Trello-Webhook", digest="sha1", behind=f"{HOST}trello".encode()),
        ("51f9424b", "updateCard", "51a79e72"),
        keys={"public_url": f"{HOST}trello"},
    ),
    "zendesk": Sender(
        {"id": "cbe4028c", "type": "zen:event-type:user.created", "account_id": 22129848, "subject": "zen:user:541", "time": "2022-01-01T00:00:00Z"},
        zendesk,
        ("01GZ0M", "zen:event-type:user.created", "22129848:zen\\:user\\:541"),
        headers={"X-Zendesk-Webhook-Invocation-Id": "01GZ0M", "X-Zendesk-Webhook-Id": "01F1"},
        time="2022-01-01 00:00:00",
    ),
    "twitch": Sender(
        {"subscription": {"id": "f1c2", "type": "channel.follow"}, "event": {"user_id": "1337", "broadcaster_user_id": "12826"}},
        twitch,
        ("befa7b53-d79d-478f-86b9-120f112b044e", "channel.follow", "12826"),
        time=NOW,
    ),
    "linear": Sender(
        lambda: {"action": "update", "type": "Issue", "createdAt": ISO, "data": {"id": "2174add1"}, "webhookTimestamp": int(time.time() * 1000), "webhookId": "0"},
        hexed("Linear-Signature"),
        ("234d1a4e", "Issue:update", "2174add1"),
        headers={"Linear-Delivery": "234d1a4e", "Linear-Event": "Issue"},
    ),
    "pagerduty": Sender(
        {"event": {"id": "5ac64822", "event_type": "incident.annotated", "occurred_at": ISO, "data": {"id": "PN1", "type": "incident_note", "incident": {"id": "PGR0VU2"}}}},
        lambda body: {"X-PagerDuty-Signature": f"v1={'0' * 64},v1={mac(body).hex()}"},
        ("5ac64822", "incident.annotated", "PGR0VU2"),
        headers={"X-Webhook-Id": "01BEDZC"},
    ),
    "circleci": Sender(
        {"id": "3888f21b", "type": "workflow-completed", "workflow": {"id": "fda08377"}, "happened_at": "2021-09-01T22:49:34.317Z"},
        hexed("circleci-signature", "v1="),
        ("3888f21b", "workflow-completed", "fda08377"),
        headers={"circleci-event-type": "workflow-completed"},
        time="2021-09-01 22:49:34.317",
    ),
    "notion": Sender(
        {"id": "367cba44", "type": "page.created", "entity": {"id": "153104cd", "type": "page"}, "timestamp": "2024-12-05T23:55:34.285Z", "attempt_number": 1},
        hexed("X-Notion-Signature", "sha256="),
        ("367cba44", "page.created", "153104cd"),
        time="2024-12-05 23:55:34.285",
    ),
    "mollie": Sender(
        {"resource": "event", "id": "event_GvJ8", "type": "payment-link.paid", "entityId": "pl_qng5", "createdAt": "2024-12-16T15:59:04.0Z"},
        lambda body: {"X-Mollie-Signature": ["sha256=" + "0" * 64, "sha256=" + mac(body).hex()]},
        ("event_GvJ8", "payment-link.paid", "pl_qng5"),
        time="2024-12-16 15:59:04",
    ),
    "airtable": Sender(
        {"base": {"id": "app00"}, "webhook": {"id": "ach00"}, "timestamp": "2022-02-01T21:25:05.663Z"},
        hexed("X-Airtable-Content-MAC", "hmac-sha256=", key=BYTES),
        ("app00:ach00:2022-02-01T21\\:25\\:05.663Z", None, "app00:ach00"),
        status=204,
        secret=BASE64_SECRET,
        time="2022-02-01 21:25:05.663",
    ),
    "razorpay": Sender(
        {"event": "payment.captured", "contains": ["payment"], "created_at": 1700000000, "payload": {"payment": {"entity": {"id": "pay_1", "order_id": "order_1"}}}},
        hexed("X-Razorpay-Signature"),
        ("PHNmdl", "payment.captured", "order_1"),
        headers={"x-razorpay-event-id": "PHNmdl"},
    ),
    "coinbase-commerce": Sender(
        {"attempt_number": 1, "event": {"id": "24934862", "type": "charge:confirmed", "created_at": ISO, "data": {"code": "66BEOV2A"}}, "id": 1},
        hexed("X-CC-Webhook-Signature"),
        ("24934862", "charge:confirmed", "66BEOV2A"),
    ),
    "vercel": Sender(
        {"id": "hook_1", "type": "deployment.succeeded", "createdAt": 1700000000000, "payload": {"deployment": {"id": "dpl_1"}}},
        hexed("x-vercel-signature", digest="sha1"),
        ("hook_1", "deployment.succeeded", "dpl_1"),
    ),
    "intercom": Sender(
        {"type": "notification_event", "id": "notif_ccd8", "topic": "contact.created", "created_at": 1700000000, "data": {"item": {"id": "630cb"}}},
        hexed("X-Hub-Signature", "sha1=", digest="sha1"),
        ("notif_ccd8", "contact.created", "630cb"),
    ),
    "sentry": Sender(
        {"action": "created", "installation": {"uuid": "a8e5"}, "data": {"issue": {"id": "1170820242"}}, "actor": {"type": "application"}},
        hexed("Sentry-Hook-Signature"),
        ("5ab9", "issue:created", "1170820242"),
        headers={"Request-ID": "5ab9", "Sentry-Hook-Resource": "issue", "Sentry-Hook-Timestamp": "1700000000"},
    ),
    "x": Sender(
        {"for_user_id": "2244994945", "tweet_create_events": [{"id_str": "1034", "timestamp_ms": "1700000000000"}]},
        based("x-twitter-webhooks-signature", "sha256="),
        (SHA256, "tweet_create_events", "2244994945"),
    ),
    "telegram": Sender(
        {"update_id": 10000, "message": {"message_id": 1365, "chat": {"id": -1111, "type": "group"}, "text": "/start"}},
        shown("X-Telegram-Bot-Api-Secret-Token"),
        ("10000", "message", "-1111"),
        covered=False,
        time=None,
    ),
    "chargebee": Sender(
        {"id": "ev___test", "event_type": "subscription_created", "api_version": "v2", "occurred_at": 1700000000, "content": {"subscription": {"id": "sub1"}}},
        basic,
        ("ev___test", "subscription_created", "sub1"),
        secret=PAIR,
        covered=False,
    ),
    "postmark": Sender(
        {"RecordType": "Bounce", "ID": 692560173, "MessageID": "2c1b63fe", "Type": "HardBounce", "BouncedAt": "2023-11-14T17:13:20-05:00"},
        basic,
        ("Bounce:692560173", "Bounce", "2c1b63fe"),
        secret=PAIR,
        covered=False,
    ),
    "dropbox": Sender(
        {"list_folder": {"accounts": ["dbid:AAH4"]}, "delta": {"users": [12345678]}},
        hexed("X-Dropbox-Signature"),
        (f"{SHA256}:{RECEIVED}", None, "dbid:AAH4"),
        alike=True,
        time=None,
    ),
    "box": Sender(
        {"type": "webhook_event", "id": "0f3d", "trigger": "FILE.UPLOADED", "created_at": "2023-11-14T14:13:20-08:00", "source": {"id": "73835521473", "type": "file"}},
        box,
        ("0f3d", "FILE.UPLOADED", "73835521473"),
    ),
    "standard-webhooks-v1a": Sender(
        {"type": "contact.created", "data": {"id": "1f81eb52"}},
        standard_v1a,
        ("msg_2b1", "contact.created", "1f81eb52"),
        secret=lambda: "whpk_" + b64(ed25519_public()),
        time=NOW,
    ),
    "telnyx": Sender(
        {"data": {"id": "0ccc7b54", "event_type": "message.received", "occurred_at": "2023-11-14T22:13:20.000+00:00", "payload": {"id": "84cca175"}}, "meta": {"attempt": 1}},
        telnyx,
        ("0ccc7b54", "message.received", "84cca175"),
        secret=lambda: b64(ed25519_public()),
    ),
    "mailgun": Sender(
        mailgun_event,
        unsigned,
        ("Ase7i2zsRYeDXztHGENqRA", "delivered", "2013@mailgun"),
        spoil=("signature", "signature"),
    ),
    "paypal": Sender(
        {"id": "WH-2WR32451HC0233532", "event_type": "PAYMENT.SALE.COMPLETED", "create_time": ISO, "resource": {"id": "80021663DE681814L"}},
        paypal,
        ("WH-2WR32451HC0233532", "PAYMENT.SALE.COMPLETED", "80021663DE681814L"),
        secret=certificate,
        keys={"vars": "webhook_id=WH-1"},
    ),
    "sns": Sender(
        sns_event,
        unsigned,
        ("22b80b92", "Notification", None),
        secret=certificate,
        headers={"x-amz-sns-message-type": "Notification"},
        content_type="text/plain; charset=UTF-8",
        spoil=("Message",),
        time=NOW,
    ),
    "netlify": Sender(
        {"id": "5ebc34bf", "state": "ready", "updated_at": "2020-05-13T17:57:15.906Z"},
        lambda body: {"X-Webhook-Signature": jwt({"iss": "netlify", "sha256": digest_hex(body)})},
        ("deploy_created:5ebc34bf:ready:2020-05-13T17\\:57\\:15.906Z", "deploy_created", "5ebc34bf"),
        headers={"X-Netlify-Event": "deploy_created"},
        time="2020-05-13 17:57:15.906",
    ),
    "monday": Sender(
        {"event": {"triggerUuid": "504b2eb7", "triggerTime": "2023-11-14T22:13:20.000Z", "type": "update_column_value", "boardId": 1771812698, "pulseId": 1772099344}},
        monday,
        ("504b2eb7", "update_column_value", "1771812698:1772099344"),
        keys={"public_url": f"{HOST}monday"},
        covered=False,
    ),
    "messagebird": Sender(
        {"type": "message.updated", "message": {"id": "m1", "conversationId": "c1", "status": "read", "updatedDatetime": "2018-07-02T12:33:53Z"}},
        messagebird,
        ("message.updated:m1:read:2018-07-02T12\\:33\\:53Z", "message.updated", "c1"),
        keys={"public_url": f"{HOST}messagebird"},
        time="2018-07-02 12:33:53",
    ),
    "vonage": Sender(
        {"message_uuid": "aaaaaaaa", "to": "447700900000", "status": "delivered", "timestamp": "2020-01-01T14:00:00.000Z"},
        vonage,
        ("aaaaaaaa:delivered:2020-01-01T14\\:00\\:00.000Z", "delivered", "aaaaaaaa"),
        time="2020-01-01 14:00:00",
    ),
    "plaid": Sender(
        {"webhook_type": "TRANSACTIONS", "webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": "wz666MBj"},
        plaid,
        (f"TRANSACTIONS:SYNC_UPDATES_AVAILABLE:wz666MBj:{DIGEST}", "TRANSACTIONS:SYNC_UPDATES_AVAILABLE", "wz666MBj"),
        secret=ec_jwk,
        time=None,
    ),
    "discord": Sender(
        {"version": 1, "application_id": "1234560123453231555", "type": 1, "event": {"type": "ENTITLEMENT_CREATE", "timestamp": "2024-10-18T14:42:53.064834", "data": {"id": "1019"}}},
        discord,
        (SHA256, "ENTITLEMENT_CREATE", "1019"),
        secret=lambda: ed25519_public().hex(),
        status=204,
        time="2024-10-18 14:42:53.064834",
    ),
    "sendgrid": Sender(
        [
            {"email": "a@example.com", "timestamp": 1513299569, "event": "processed", "sg_event_id": "sg_event_1", "sg_message_id": "sg_message_1"},
            {"email": "b@example.com", "timestamp": 1513299570, "event": "delivered", "sg_event_id": "sg_event_2", "sg_message_id": "sg_message_2"},
        ],
        sendgrid,
        [("sg_event_1", "processed", "sg_message_1"), ("sg_event_2", "delivered", "sg_message_2")],
        secret=lambda: b64(public_der("ec")),
        time=["2017-12-15 00:59:29", "2017-12-15 00:59:30"],
    ),
    "hubspot-v1": Sender(HUBSPOT, hubspot(1), HUBSPOT_STORED, time=HUBSPOT_TIMES),
    "hubspot-v2": Sender(HUBSPOT, hubspot(2), HUBSPOT_STORED, keys={"public_url": f"{HOST}hubspot-v2"}, time=HUBSPOT_TIMES),
    "hubspot-v3": Sender(HUBSPOT, hubspot(3), HUBSPOT_STORED, keys={"public_url": f"{HOST}hubspot-v3"}, time=HUBSPOT_TIMES),
    "adyen": Sender(
        {"live": "false", "notificationItems": [adyen_item("7914073381342284", "AUTHORISATION"), adyen_item("8825", "REFUND", "false", originalReference="7914")]},
        unsigned,
        [("7914073381342284:AUTHORISATION:true", "AUTHORISATION", "7914073381342284"), ("8825:REFUND:false", "REFUND", "7914")],
        secret=HEX_SECRET,
        spoil=("notificationItems", 1, "NotificationRequestItem", "pspReference"),
        answer="[accepted]",
        again="[accepted]",
    ),
    "gocardless": Sender(
        {"events": [
            {"id": "EV1", "created_at": ISO, "resource_type": "payments", "action": "confirmed", "links": {"payment": "PM1"}},
            {"id": "EV2", "created_at": ISO, "resource_type": "mandates", "action": "created", "links": {"mandate": "MD1"}},
        ]},
        hexed("Webhook-Signature"),
        [("EV1", "payments:confirmed", "PM1"), ("EV2", "mandates:created", "MD1")],
    ),
    "line": Sender(
        {"destination": "U0", "events": [
            {"type": "message", "webhookEventId": "01FZ1", "timestamp": 1700000000000, "source": {"type": "user", "userId": "U1"}, "deliveryContext": {"isRedelivery": False}},
            {"type": "join", "webhookEventId": "01FZ2", "timestamp": 1700000000000, "source": {"type": "group", "groupId": "C1", "userId": "U1"}},
        ]},
        based("x-line-signature"),
        [("01FZ1", "message", "U1"), ("01FZ2", "join", "C1")],
    ),
    "asana": Sender(
        {"events": [{"action": "changed", "created_at": "2024-01-01T00:00:00.000Z", "resource": {"gid": "1337", "resource_type": "task"}, "parent": None}]},
        hexed("X-Hook-Signature"),
        [(f"2024-01-01T00\\:00\\:00.000Z:1337:changed:{DIGEST}", "task:changed", "1337")],
        time="2024-01-01 00:00:00",
    ),
    "meta": Sender(
        {"object": "page", "entry": [
            {"id": "P1", "time": 1520383571, "changes": [{"field": "feed", "value": {"post_id": "44_45", "verb": "add"}}]},
            {"id": "P1", "time": 1458692752478, "messaging": [{"sender": {"id": "S1"}, "timestamp": 1458692752478, "message": {"mid": "mid.1", "text": "caf\u00e9"}}]},
        ]},
        hexed("X-Hub-Signature-256", "sha256="),
        [(f"P1:1520383571:{DIGEST}", "page:feed", "44_45"), ("mid.1:1458692752478", "page:messaging", "S1")],
        keys={"handshake_token": "text:a-word-that-we-chose"},
        time=["2018-03-07 00:46:11", "2016-03-23 00:25:52.478"],
    ),
    "whatsapp": Sender(
        {"object": "whatsapp_business_account", "entry": [{"id": "W1", "changes": [
            {"field": "messages", "value": {"metadata": {"phone_number_id": "N1"}, "messages": [{"id": "wamid.1", "timestamp": "1700000000", "from": "16315551181"}]}},
            {"field": "messages", "value": {"metadata": {"phone_number_id": "N1"}, "statuses": [{"id": "wamid.0", "timestamp": "1700000000", "status": "read", "recipient_id": "16315551182"}]}},
        ]}]},
        hexed("X-Hub-Signature-256", "sha256="),
        [(f"wamid.1:{DIGEST}", "messages", "16315551181"), (f"wamid.0:read:{DIGEST}", "messages", "16315551182")],
        keys={"handshake_token": "text:a-word-that-we-chose"},
    ),
    "microsoft-graph": Sender(
        {"value": [
            {"id": "n1", "subscriptionId": "s1", "clientState": SECRET, "changeType": "created", "resource": "users/u1/messages/m1"},
            {"subscriptionId": "s1", "clientState": SECRET, "changeType": "updated", "resource": "users/u1/messages/m2", "resourceData": {"@odata.etag": "W1"}},
        ]},
        unsigned,
        [("n1", "created", "users/u1/messages/m1"), ("s1:users/u1/messages/m2:updated:W1", "updated", "users/u1/messages/m2")],
        spoil=("value", 1, "clientState"),
        time=None,
    ),
    "twilio": Sender(
        b"MessageSid=SM1&AccountSid=AC1&From=%2B14158675309&To=%2B14158675310&MessageStatus=delivered&SmsStatus=delivered",
        twilio,
        ("SM1:delivered", "message:delivered", "SM1"),
        keys={"public_url": f"{HOST}twilio"},
        content_type="application/x-www-form-urlencoded",
        answer="<Response/>",
        again="<Response/>",
        time=None,
    ),
    "cloudevents": Sender(
        {"specversion": "1.0", "type": "com.example.created", "source": "/shop", "id": "A234", "subject": "order-1", "time": ISO, "data": {"n": 1}},
        shown("Authorization", f"Bearer {SECRET}"),
        ("/shop:A234", "com.example.created", "/shop:order-1"),
        content_type="application/cloudevents+json",
        covered=False,
    ),
    "basic": Sender(
        {"id": "n1", "type": "note.created"},
        basic,
        ("n1", "note.created", None),
        secret=PAIR,
        covered=False,
        time=None,
    ),
}

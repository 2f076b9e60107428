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

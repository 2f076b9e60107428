"""The senders' side of the signature schemes: bytes in, headers out. Secrets are the ones of providers.py."""

import base64
import hashlib
import hmac
import time

K0 = "k0-k0-k0-k0-k0-k0"
STRIPE_SECRET = "whsec_test_stripe_secret_0001"
GITHUB_SECRET = "github-test-secret-0001"
STANDARD_SECRET = "whsec_" + base64.b64encode(b"standard-webhooks-test-key-00001").decode()


def _key(secret):
    return secret if isinstance(secret, bytes) else secret.encode()


def sig(body, secret=K0, digest="sha256"):
    """Lower-case hex HMAC of exactly these bytes."""
    return hmac.new(_key(secret), body, getattr(hashlib, digest)).hexdigest()


def hmac_headers(body, secret=K0, name="X-Sig"):
    return {name: sig(body, secret)}


def stripe_headers(body, secret=STRIPE_SECRET, t=None):
    """Stripe: `t` is the timestamp's text or number, now when None."""
    t = int(time.time()) if t is None else t
    return {"Stripe-Signature": f"t={t},v1={sig(f'{t}.'.encode() + body, secret)}"}


def github_headers(body, secret=GITHUB_SECRET, delivery=None, event="push"):
    """GitHub; without `delivery` the delivery id follows from the body, so that equal bodies are duplicates."""
    return {
        "X-Hub-Signature-256": f"sha256={sig(body, secret)}",
        "X-GitHub-Delivery": delivery or hashlib.sha1(body).hexdigest(),
        "X-GitHub-Event": event,
    }


def standard_headers(body, secret=STANDARD_SECRET, t=None, message_id=None):
    """Standard Webhooks; without `message_id` the id follows from the body."""
    t = int(time.time()) if t is None else t
    message_id = message_id or f"msg_{hashlib.sha1(body).hexdigest()}"
    text = secret.removeprefix("whsec_")
    key = base64.b64decode(text + "=" * (-len(text) % 4))
    mac = hmac.new(key, f"{message_id}.{t}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(t),
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }

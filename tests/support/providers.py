"""The providers that tests talk to, and how their senders sign. A value may be a list: the line is repeated."""

from support import sign

STANDARD = {
    "h": {
        "verify": "hmac-sha256",
        "signed": "{body}",
        "signature": "header:X-Sig hex",
        "secret": f"text:{sign.K0}",
        "event_id": "body:/id",
        "key": "body:/k",
        "on": "sql:t.ok",
    },
    "n": {"verify": "none", "event_id": "body:/id", "key": "body:/k", "on": "sql:t.ok"},
    "s": {"verify": "stripe", "secret": f"text:{sign.STRIPE_SECRET}", "on": "sql:t.ok"},
    "g": {"verify": "github", "secret": f"text:{sign.GITHUB_SECRET}", "on": "sql:t.ok"},
    "w": {"verify": "standard-webhooks", "secret": f"text:{sign.STANDARD_SECRET}", "on": "sql:t.ok"},
}

SIGNERS = {
    "hmac-sha256": sign.hmac_headers,
    "stripe": sign.stripe_headers,
    "github": sign.github_headers,
    "standard-webhooks": sign.standard_headers,
}


def merged(changes):
    """The standard providers with `changes` laid over them: {name: {key: value}}; None removes a key or a provider.

    A name that is not standard is a provider of its own and must be complete.
    """
    result = {name: dict(keys) for name, keys in STANDARD.items()}
    for name, keys in changes.items():
        if keys is None:
            result.pop(name, None)
            continue
        provider = {**result.get(name, {}), **keys}
        result[name] = {key: value for key, value in provider.items() if value is not None}
    return result


def signed(provider, body):
    """The headers that a correct sender adds for a provider, given its keys; {} where nothing is signed."""
    signer = SIGNERS.get(provider.get("verify"))
    if signer is None:
        return {}
    secret = provider["secret"]
    secret = secret[0] if isinstance(secret, list) else secret
    assert secret.startswith("text:"), f"cannot sign with {secret}: pass sign=False and headers="
    return signer(body, secret.removeprefix("text:"))

"""A search for what must never be shown: secrets in every form in which they could be written, and signatures.

    hidden = Hidden()
    hidden.add("stripe", sign.STRIPE_SECRET)
    hidden.add_signature("refused body", body, sign.K0)
    hidden.expect_absent("log", daemon.log_file.read_bytes())

Texts are compared without case, because hexadecimal has two and header names have none.
"""

import base64
import binascii
import hashlib
import hmac

SHORTEST = 8  # bytes; a shorter needle would be found by chance


def _decodings(text):
    """The keys that a secret's text may stand for: itself, and what is in its hexadecimal or base64."""
    keys = [text]
    stripped = text.removeprefix(b"v1,").removeprefix(b"whsec_")
    keys.append(stripped)
    try:
        keys.append(bytes.fromhex(stripped.decode("ascii")))
    except ValueError:
        pass
    try:
        keys.append(base64.b64decode(stripped + b"=" * (-len(stripped) % 4), altchars=b"-_" if b"-" in stripped or b"_" in stripped else None, validate=True))
    except (binascii.Error, ValueError):
        pass
    return [key for key in keys if len(key) >= SHORTEST]


def _encodings(key):
    """How the bytes could stand in a text; base64 without padding, both alphabets, at each of its three offsets."""
    yield key
    yield key.hex().encode()
    yield " ".join(f"{byte:02x}" for byte in key).encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            text = encode(b"\0" * offset + key).rstrip(b"=")
            # The first and the last character also depend on what stands beside the key.
            yield text[(0, 2, 3)[offset] :][: -1 if (offset + len(key)) % 3 else None]


class Hidden:
    """What is searched for."""

    def __init__(self):
        self.needles = {}

    def add(self, name, secret):
        """A secret as it is configured, or a token as it is sent."""
        for key in _decodings(secret if isinstance(secret, bytes) else secret.encode()):
            self._add_bytes(name, key)

    def _add_bytes(self, name, key):
        for text in _encodings(key):
            if len(text) >= SHORTEST:
                self.needles[text.lower()] = name

    def add_signature(self, name, signed, secret):
        """The right signatures of a text under every reading of the secret."""
        for key in _decodings(secret if isinstance(secret, bytes) else secret.encode()):
            for digest in (hashlib.sha1, hashlib.sha256, hashlib.sha512):
                self._add_bytes(name, hmac.new(key, signed, digest).digest())

    def found_in(self, hay):
        """The names of what is found, sorted."""
        hay = (hay if isinstance(hay, bytes) else hay.encode("utf-8", "surrogateescape")).lower()
        return sorted({name for needle, name in self.needles.items() if needle in hay})

    def expect_absent(self, where, hay):
        assert hay, f"nothing to search: {where}"
        assert self.found_in(hay) == [], where


def database_text(pg):
    """Every row of every table and view of the schemas inboxd, as text; bytea is in hexadecimal and, once more, as it is."""
    out = []
    relations = pg.column(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'inboxd' and c.relkind in ('r', 'p', 'v', 'm') order by 1"
    )
    assert len(relations) > 15, relations
    for relation in relations:
        # The names come from pg_class, already quoted.
        out += [f"{relation}: {row}" for row in pg.column(f"select x::text from {relation} x")]
    out += [bytes(body).decode("latin-1") for body in pg.column("select body from inboxd.event_store where body is not null")]
    return "\n".join(out)

"""The known answers of data/signature_vectors.json through the front end of a running daemon: each by a section built from its
`config`, and by its provider's preset. The event itself is no matter: format raw, identity by digest.

Vectors of one time share a daemon, whose clock stands there. A vector whose secret must not be used makes its section a mistake.
"""

import base64
import json
from urllib.parse import urlsplit

import pytest
from support import http
from support.daemon import Inboxd, run_ctl, write_config
from support.places import ROOT

pytestmark = pytest.mark.data

VECTORS = json.loads((ROOT / "tests/data/signature_vectors.json").read_text())

# What a provider's scheme is called among the presets.
PRESETS = {
    ("adyen", "adyen-item-fields"): "adyen",
    ("adyen", "hmac-body"): "adyen-platform",
    ("asana", "hmac-body"): "asana",
    ("aws-sns", "sns-canonical-lines"): "sns",
    ("discord", "ed25519-ts-body"): "discord",
    ("docusign", "hmac-body"): "docusign",
    ("dropbox", "hmac-body"): "dropbox",
    ("github", "hmac-body"): "github",
    ("gitlab", "hmac-id-ts-body"): "gitlab-signed",
    ("gitlab", "token"): "gitlab",
    ("hubspot", "digest-secret-body"): "hubspot-v1",
    ("hubspot", "digest-secret-method-url-body"): "hubspot-v2",
    ("hubspot", "hmac-method-url-body-ts"): "hubspot-v3",
    ("intercom", "hmac-body"): "intercom",
    ("mailgun", "hmac-json-fields"): "mailgun",
    ("meta", "hmac-body"): "meta",
    ("microsoft-graph", "token"): "microsoft-graph",
    ("netlify", "jwt-body-hash"): "netlify",
    ("paddle", "hmac-ts-colon-body"): "paddle",
    ("plaid", "jwt-es256-body-hash"): "plaid",
    ("sendgrid", "ecdsa-ts-body"): "sendgrid",
    ("shopify", "hmac-body"): "shopify",
    ("slack", "hmac-v0-ts-body"): "slack",
    ("square", "hmac-url-body"): "square",
    ("standard-webhooks", "hmac-id-ts-body"): "standard-webhooks",
    ("stripe", "hmac-ts-body"): "stripe",
    ("svix", "ed25519-id-ts-body"): "standard-webhooks-v1a",
    ("svix", "hmac-id-ts-body"): "svix",
    ("telegram", "token"): "telegram",
    ("twilio", "twilio-url-params"): "twilio",
    ("typeform", "hmac-body"): "typeform",
    ("vercel", "hmac-body"): "vercel",
    ("vonage", "jwt-bearer"): "vonage",
    ("woocommerce", "hmac-body"): "woocommerce",
    ("zoom", "hmac-v0-ts-body"): "zoom",
}
ENCODINGS = {"spki-base64": "spki", "x509-pem": "pem-cert"}
SPLITS = {",": "comma", " ": "space", ";": "semicolon"}

# The sections -----------------------------------------------------------------------------------


def place(source):
    return " | ".join(source) if isinstance(source, list) else source


def signature(rule):
    words = [place(rule["from"])]
    if "split" in rule:
        words.append(f"split {SPLITS[rule['split']]}")
    if "prefix" in rule:
        words.append(f"prefix {rule['prefix']}")
    return " ".join([*words, *([rule["enc"]] if "enc" in rule else [])])


def template(vector, verify):
    config = vector["config"]
    keys = {
        "verify": verify,
        "signature": signature(config["sig"]),
        "signed": f'"{config["signed"]}"',
        "secret_encoding": ENCODINGS.get(vector["secret_encoding"], vector["secret_encoding"]),
    }
    if "{body}" not in config["signed"]:
        keys["body_unauthenticated"] = "yes"
    if time := config.get("ts"):
        keys["timestamp"] = f"{place(time['from']).replace('item:', 'item ')} {time['unit']}"
        keys["tolerance"] = f"past {time['past']}s future {time['future']}s"
    return keys


def jwt(vector):
    config = vector["config"]
    claims = [f"iss={config['iss']}"] if "iss" in config else []
    claims += [f"{config['body_claim']}={{sha256hex:body}}"] if "body_claim" in config else []
    keys = {
        "verify": "jwt",
        "signature": signature(config["sig"]),
        "algorithms": " ".join(config["algs"]),
        "claims": " ".join(claims),
        "body_unauthenticated": "no" if "body_claim" in config else "yes",
        "secret_encoding": vector["secret_encoding"],
    }
    if "iat_max_age" in config:
        keys |= {"timestamp": "claim:iat s", "tolerance": f"{config['iat_max_age']}s"}
    return keys


# What the kinds of the file are called here.
KINDS = {
    "hmac": lambda vector: template(vector, f"hmac-{vector['config']['hash']}"),
    "digest": lambda vector: template(vector, vector["config"]["hash"]),
    "ed25519": lambda vector: template(vector, "ed25519"),
    "ecdsa-sha256": lambda vector: template(vector, "ecdsa-p256-sha256"),
    "token": lambda vector: {"verify": "token", "signature": signature(vector["config"]["sig"])},
    "twilio": lambda vector: {"verify": "twilio"},
    "adyen-items": lambda vector: {"verify": "adyen"},
    "sns": lambda vector: {"verify": "sns"},
    "jwt": jwt,
}
# What a preset reads from a body, which a vector need not have, and its own answer. Some kinds are presets of that name too.
PLAIN_KEYS = dict.fromkeys(("event_type", "key", "split", "reply"), "")


def generic(vector):
    return PLAIN_KEYS | KINDS[vector["config"]["kind"]](vector)


def preset(vector):
    return PLAIN_KEYS | {"verify": PRESETS[vector["provider"], vector["scheme"]]}


def secrets(vector, folder):
    """As lines of the file; the secrets themselves in files, where any bytes may stand."""
    values = vector["secret"] if isinstance(vector["secret"], list) else [vector["secret"]]
    files = [folder / f"{vector['id']}.{i}" for i in range(len(values))]
    for file, value in zip(files, values, strict=True):
        file.write_text(value)
        file.chmod(0o600)
    return [f"file:{file}" for file in files]


def section(vector, keys, folder):
    url = urlsplit(vector["url"])
    return {
        **keys,
        "format": "raw",
        "event_id": "sha256",
        "methods": "POST, GET",
        "public_url": f"{url.scheme}://{url.netloc}{url.path}",
        "secret": secrets(vector, folder),
        "on": "ignore",
    }


MADE = {"generic": generic, "preset": preset}
PLAYED = [(how, vector) for how in MADE for vector in VECTORS]
REFUSED = [(how, vector) for how, vector in PLAYED if vector["secret"] == ""]
ALL = [(how, vector) for how, vector in PLAYED if vector["secret"] != ""]


def named(played):
    return pytest.mark.parametrize(("how", "vector"), played, ids=[f"{how}-{vector['id']}" for how, vector in played])


REFUSALS = [(401, "bad-signature"), (401, "missing-signature"), (401, "stale-timestamp")]

# The daemons ------------------------------------------------------------------------------------


def name_of(how, vector):
    return f"{how[0]}.{vector['id'].lower()}"


@pytest.fixture(scope="module")
def daemons(shared_cluster, build, tmp_path_factory):
    """daemons(now): the one whose clock stands there, with a section for every vector of that time."""
    pg = shared_cluster.database()
    made = {}

    def at(now):
        if now not in made:
            folder = tmp_path_factory.mktemp(f"vectors{now}")
            mine = [(how, vector) for how, vector in ALL if vector["now"] == now]
            sections = {name_of(how, vector): section(vector, MADE[how](vector), folder) for how, vector in mine}
            sections |= dict.fromkeys("hnsgw")
            env = {"INBOXD_CLOCK": str(now)}
            made[now] = Inboxd(folder, build, providers=sections, env=env, workers=0, writers=1, database=pg.conninfo()).start()
        return made[now]

    yield at
    reports = []
    for daemon in made.values():
        daemon.close()
        reports += daemon.sanitizer_reports()
    shared_cluster.drop(pg)
    assert not reports, reports[0]


@named(ALL)
def test_a_vector(daemons, how, vector):
    daemon = daemons(vector["now"])
    query = urlsplit(vector["url"]).query
    target = f"/webhooks/{name_of(how, vector)}" + (f"?{query}" if query else "")
    answer = http.request(daemon.address, vector["method"], target, base64.b64decode(vector["body_base64"]), vector["headers"])
    seen = (answer.status, answer.result)
    if (how, vector["id"]) == ("preset", "woocommerce-ping-unsigned"):
        assert seen == (200, "handshake")
    elif vector["expect"] == "invalid":
        assert seen in REFUSALS, vector["why"]
    elif how == "preset" and answer.result == "handshake":  # Discord's ping and the like: their presets answer it
        assert answer.status in (200, 204)
    else:
        assert (*seen, answer.text) == (200, "stored", "ok"), vector["why"]


@named(REFUSED)
def test_a_vector_whose_secret_must_not_be_used(build, tmp_path, how, vector):
    file = tmp_path / "inboxd.conf"
    sections = {"v": section(vector, MADE[how](vector), tmp_path), **dict.fromkeys("hnsgw")}
    write_config(file, {"database": "dbname=none"}, sections)
    done = run_ctl(build, "check", config=file, check=False)
    assert vector["expect"] == "invalid"
    assert done.returncode == 78
    assert "secret: " in done.stdout + done.stderr


def test_every_vector_is_played():
    """By its configuration and by the provider's preset."""
    assert len(VECTORS) == 139
    assert len(ALL) + len(REFUSED) == 2 * 139
    assert {vector["config"]["kind"] for vector in VECTORS} == set(KINDS)
    assert {(vector["provider"], vector["scheme"]) for vector in VECTORS} == set(PRESETS)

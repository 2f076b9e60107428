"""inboxctl verify: why a captured request is valid or refused, without a signature or a secret in what it prints.

No database and no daemon: the command reads its configuration and the file.
"""

import base64
import gzip
import hashlib
import hmac
import json

import pytest
from support import http, sign
from support.daemon import run_ctl, write_config
from support.leaks import Hidden
from support.places import ROOT

pytestmark = pytest.mark.data

NOW = 1700000000
BODY = b'{"id":"evt_1","type":"order.paid","k":"o_7","path":"a/b","name":"\xc3\xa9"}'
VALID, REFUSED, CANNOT_TELL = 0, 1, 2
URL = "https://hooks.example.com/webhooks/u"


class Verify:
    """Runs the command on a request made of its parts; searches all output for secrets and signatures."""

    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.providers = {}
        self.hidden = Hidden()
        for secret in (sign.K0, sign.STRIPE_SECRET, sign.GITHUB_SECRET, sign.STANDARD_SECRET):
            self.hidden.add("a secret", secret)

    def configure(self, **providers):
        self.providers = providers

    def raw(self, provider, text, *options):
        """(exit code, standard output, standard error)"""
        config, request = self.folder / "v.conf", self.folder / "request.http"
        names = write_config(config, {"database": "dbname=x"}, self.providers)
        secret = names.get(provider, {}).get("secret", f"text:{sign.K0}")
        for one in [secret] if isinstance(secret, str) else secret:
            if not one.startswith("file:"):
                self.hidden.add("a secret", one.strip('"').removeprefix("text:").strip(" '"))
        request.write_bytes(text)
        done = run_ctl(self.build, "verify", "--provider", provider, "--request", request, "--now", str(NOW), *options, config=config, check=False)
        assert self.hidden.found_in(done.stdout + done.stderr) == []
        return done.returncode, done.stdout, done.stderr

    def __call__(self, provider, body=BODY, headers=None, signed=None, secret=sign.K0, query="", method="POST"):
        """The exit code and the lines, as a list of [step, text]."""
        for text in (body, body if signed is None else signed):
            self.hidden.add_signature("a signature", text, secret)
        for value in (headers or {}).values():
            for item in value if isinstance(value, list) else [value]:
                if len(item) > 40:
                    self.hidden.add("the request's signature", item.split("=")[-1])
        code, out, err = self.raw(provider, http.request_bytes(method, f"/webhooks/{provider}{query}", body, headers))
        assert err == ""
        lines, step = [], ""
        for line in out.splitlines():
            step = line[:10].strip() or step
            lines.append((step, line[11:]))
        return code, lines


@pytest.fixture
def verify(build, tmp_path):
    return Verify(build, tmp_path)


def said(lines, step):
    return [text for name, text in lines if name == step]


def likely(result):
    """The causes of a refused request."""
    code, lines = result
    assert code == REFUSED, lines
    assert said(lines, "verdict")[0].startswith("refused: 401 ")
    return said(lines, "likely")


def mac(body=BODY, secret=sign.K0, digest="sha256"):
    return hmac.new(secret if isinstance(secret, bytes) else secret.encode(), body, getattr(hashlib, digest))


# What was found ---------------------------------------------------------------------------------


def test_a_valid_request_step_by_step(verify):
    verify.configure(s={"secret": ["text:whsec_the_older_secret", f"text:{sign.STRIPE_SECRET}"], "key": "body:/k"})
    headers = sign.stripe_headers(BODY, t=NOW - 10)
    headers["Stripe-Signature"] += ",v0=0123"
    code, lines = verify("s", headers=headers, signed=f"{NOW - 10}.".encode() + BODY, secret=sign.STRIPE_SECRET)
    assert code == VALID
    assert lines == [
        ("request", f"POST /webhooks/s, 4 headers, a body of {len(BODY)} bytes"),
        ("verify", "hmac-sha256, by the preset stripe"),
        ("verify", "signed = {ts}.{body}"),
        ("signature", "header Stripe-Signature: there, with 3 items, 1 of which can be a signature"),
        ("signature", '1 does not begin with "v1=", and is passed over'),
        ("signature", "1 hex of 32 bytes, as hmac-sha256 has them"),
        ("time", 'item "t=": 1699999990 is 2023-11-14 22:13:10 UTC, 10 s before now; within the tolerance of 0:05:00'),
        ("signed", f"1699999990.<body: {len(BODY)} bytes>"),
        ("secret", "1 (text:...): does not fit"),
        ("secret", "2 (text:...): fits"),
        ("verdict", "valid"),
        ("event", "id evt_1, type order.paid, key o_7"),
    ]


def test_where_a_secret_is_from(verify, tmp_path):
    (tmp_path / "old").write_text("another-secret-than-that\n")
    (tmp_path / "new").write_text(sign.K0 + "\n")
    for file in ("old", "new"):
        (tmp_path / file).chmod(0o600)
    verify.configure(h={"secret": [f"file:{tmp_path}/old", f"file:{tmp_path}/new"]})
    _, lines = verify("h", headers={"X-Sig": mac().hexdigest()})
    assert said(lines, "secret") == [f"1 (file:{tmp_path}/old): does not fit", f"2 (file:{tmp_path}/new): fits"]


@pytest.mark.parametrize(
    "headers, found",
    [
        ({}, ["header X-Sig: not there"]),
        ({"X-Sig": "zz"}, ["header X-Sig: there", "1 cannot be read as hex: 2 characters"]),
        ({"X-Sig": "00" * 20}, ["header X-Sig: there", "1 has another size than hmac-sha256 has: 20 bytes, and not 32"]),
        ({"X-Sig": ["00" * 32, "00" * 32]}, ["header X-Sig: comes 2 times, and may come once"]),
    ],
)
def test_what_is_wrong_with_a_signature(verify, headers, found):
    code, lines = verify("h", headers=headers)
    assert (code, said(lines, "signature")) == (REFUSED, found)


@pytest.mark.parametrize(
    "t, text",
    [
        (NOW - 301, "1699999699 is 2023-11-14 22:08:19 UTC, 0:05:01 before now; out of the tolerance of 0:05:00"),
        (NOW + 86400 * 3, "1700259200 is 2023-11-17 22:13:20 UTC, 3 days 0:00:00 after now; out of the tolerance of 0:05:00"),
    ],
)
def test_a_stale_request_says_how_far_the_clock_is_off(verify, t, text):
    result = verify("s", headers=sign.stripe_headers(BODY, t=t), signed=f"{t}.".encode() + BODY, secret=sign.STRIPE_SECRET)
    assert said(result[1], "time") == ['item "t=": ' + text]
    assert likely(result)[0].startswith("the signature is right, and only the time is not")


def test_a_stale_request_is_valid_as_of_then(verify):
    text = http.request_bytes("POST", "/webhooks/s", BODY, sign.stripe_headers(BODY, t=NOW - 86400))
    assert verify.raw("s", text)[0] == REFUSED
    assert verify.raw("s", text, "--now", str(NOW - 86400))[0] == VALID


def test_what_is_valid_and_no_event(verify):
    code, lines = verify("h", b"no json", {"X-Sig": mac(b"no json").hexdigest()})
    assert (code, said(lines, "verdict"), said(lines, "likely")) == (REFUSED, ["refused: 400 invalid json"], [])
    code, lines = verify("h", b"{}", {"X-Sig": mac(b"{}").hexdigest()})
    assert (code, said(lines, "verdict")) == (REFUSED, ["refused: 400 missing event id"])


def test_where_nothing_is_verified_it_cannot_tell(verify):
    code, lines = verify("n")
    assert (code, said(lines, "verdict")) == (CANNOT_TELL, ["cannot tell: with verify = none everything is accepted"])
    assert said(lines, "event") == ["id evt_1, type -, key o_7"]


def test_a_method_that_is_no_event(verify):
    code, lines = verify("h", method="PUT")
    assert (code, said(lines, "verdict")) == (REFUSED, ["refused: 405 method not allowed"])


# How a capture may look -------------------------------------------------------------------------


def capture(headers="", body=BODY):
    return f"POST /webhooks/h HTTP/1.1\nX-Sig: {mac().hexdigest()}\n{headers}\n".encode() + body


def test_captures_with_line_feeds_chunks_and_a_line_end_too_many(verify):
    assert verify.raw("h", capture())[0] == VALID
    code, out, _ = verify.raw("h", capture(f"Content-Length: {len(BODY)}\n", BODY + b"\n"))
    assert code == VALID and "what is beyond was left out" in out
    code, out, _ = verify.raw("h", capture("Transfer-Encoding: chunked\n", http.chunked(BODY, [7, 1])))
    assert code == VALID and "in chunks" in out
    assert verify.raw("h", capture("Transfer-Encoding: chunked\n"))[0] == VALID
    code, out, _ = verify.raw("h", capture(f"Content-Length: {len(BODY)}\n", BODY[:-9]))
    assert code == REFUSED and "the capture is not whole, or its line ends were changed" in out
    code, out, _ = verify.raw("h", capture().replace(b"/webhooks/h", b"/webhooks/other"))
    assert code == VALID and "its path is not that of [provider h]" in out


def test_a_capture_from_standard_input(verify, build, tmp_path):
    config = tmp_path / "in.conf"
    write_config(config, {"database": "dbname=x"})
    done = run_ctl(build, "verify", "--provider", "h", "--request", "-", config=config, check=False, stdin=capture().decode())
    assert done.returncode == VALID and "verdict    valid" in done.stdout


@pytest.mark.parametrize(
    "text, why",
    [
        (b"", "is no HTTP request: it has no line such as POST /webhooks/NAME HTTP/1.1"),
        (b'{"id":1}\n', "is no HTTP request: line 1 is not METHOD TARGET HTTP/1.1"),
        (b"POST /x HTTP/1.1\nA: b\n", "has no end of its head"),
    ],
)
def test_what_is_no_capture_cannot_be_judged(verify, text, why):
    code, out, err = verify.raw("h", text)
    assert (code, out) == (CANNOT_TELL, "") and why in err


def test_an_unknown_provider_or_file(verify, build, tmp_path):
    code, _, err = verify.raw("nobody", capture())
    assert code == CANNOT_TELL and "no [provider nobody]; it has: g h n s w" in err
    done = run_ctl(build, "verify", "--provider", "h", "--request", tmp_path / "none", config=tmp_path / "v.conf", check=False)
    assert done.returncode == CANNOT_TELL and "could not be opened: No such file" in done.stderr


# Likely causes ----------------------------------------------------------------------------------

CHANGED_BODIES = {
    "a line feed at the end": (BODY + b"\n", BODY, "without the line end at its end: something added one"),
    "no line feed at the end": (BODY, BODY + b"\n", "with a line feed at its end: something took it off"),
    "CR LF for LF": (b'{"id":"1",\r\n"a":1}', b'{"id":"1",\n"a":1}', "with LF where CR LF was received: something changed the line ends"),
    "LF for CR LF": (b'{"id":"1",\n"a":1}', b'{"id":"1",\r\n"a":1}', "with CR LF where LF was received: something changed the line ends"),
    "pretty": (json.dumps({"id": "1", "a": [1]}, indent=2).encode(), b'{"id":"1","a":[1]}', "written anew as JSON without blanks: something parsed it and wrote it again"),
    "compact": (b'{"id":"1","a":[1]}', json.dumps({"id": "1", "a": [1]}, indent=4).encode(), "written anew as JSON indented by 4: something parsed it and wrote it again"),
    "python": (b'{"id":"1","a":[1,2]}', json.dumps({"id": "1", "a": [1, 2]}).encode(), "written anew as JSON with a blank behind each comma and colon: something parsed it and wrote it again"),
    "python's escapes": (BODY, BODY.replace(b"\xc3\xa9", b"\\u00e9"), "written anew as JSON with what is not ASCII as \\uXXXX: something parsed it and wrote it again"),
    "php": (BODY, BODY.replace(b"/", b"\\/"), "written anew as JSON with / as \\/: something parsed it and wrote it again"),
    "latin-1": (BODY, BODY.decode().encode("latin-1"), "in Latin-1: something recoded it to UTF-8"),
    "byte order mark": (b"\xef\xbb\xbf" + BODY, BODY, "without the byte order mark in front of it: something added one"),
    "form": (b"a=b+c&id=1", b"a=b%20c&id=1", "with %20 where + was received: something encoded the form anew"),
    "payload of a form": (b"payload=%7B%22id%22%3A1%7D", b'{"id":1}', "that stands in the form's field \"payload\": the sender signs the JSON, not the form"),
    "empty": (BODY, b"", "with nothing in it: the sender signs an empty body, or it was lost and replaced"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED_BODIES)
def test_a_body_that_was_changed_on_the_way(verify, name):
    received, sent, what = CHANGED_BODIES[name]
    assert likely(verify("h", received, {"X-Sig": mac(sent).hexdigest()}, signed=sent)) == [f"the signature fits the body {what}"]


def test_a_body_that_was_compressed_on_the_way(verify):
    causes = likely(verify("h", gzip.compress(BODY), {"X-Sig": mac().hexdigest(), "Content-Encoding": "gzip"}, signed=BODY))
    assert len(causes) == 1 and causes[0].startswith("the signature fits the body before it was compressed with gzip")


KEY = b"\x01\xff a key of thirty-two bytes \x02\x03\x04"
KEY_FORMS = {"hex": KEY.hex(), "base64": base64.b64encode(KEY).decode(), "whsec": "whsec_" + base64.b64encode(KEY).decode()}


@pytest.mark.parametrize("form", KEY_FORMS)
def test_a_secret_that_is_taken_raw_and_should_not_be(verify, form):
    verify.configure(h={"secret": f"text:{KEY_FORMS[form]}"})
    verify.hidden.add("the key", KEY)
    causes = likely(verify("h", headers={"X-Sig": mac(secret=KEY).hexdigest()}, secret=KEY))
    assert causes == [f"secret 1 (text:...) fits when it is taken as {form}: write secret_encoding = {form}"]


def test_a_secret_that_is_decoded_and_should_not_be(verify):
    text = KEY_FORMS["whsec"]
    verify.configure(h={"secret": ["text:00112233445566778899aabbccddeeff", f"text:{text}"], "secret_encoding": None})
    verify.configure(h={"secret": ["text:MDAxMTIyMzM0NDU1NjY3Nw==", f"text:{text}"], "secret_encoding": "whsec"})
    causes = likely(verify("h", headers={"X-Sig": mac(secret=text).hexdigest()}, secret=text))
    assert causes == ["secret 2 (text:...) fits when it is taken as raw: write secret_encoding = raw"]


@pytest.mark.parametrize(
    "written, what",
    [
        ('"text: {} "', "without the blanks around it"),
        ("\"text:'{}'\"", "without the quotes around it"),
        ("text:ACME_SECRET={}", "from behind its = on: only the value belongs there"),
        ("text:whsec_{}", "without what stands in front of its _"),
    ],
)
def test_a_secret_with_something_around_it(verify, written, what):
    verify.configure(h={"secret": written.format(sign.K0)})
    assert likely(verify("h", headers={"X-Sig": mac().hexdigest()})) == [f"secret 1 (text:...) fits {what}"]


@pytest.mark.parametrize(
    "headers, rule",
    [
        (lambda: {"X-Other": mac().hexdigest()}, "signature = header:X-Other hex"),
        (lambda: {"X-Other": "sha256=" + mac().hexdigest()}, "signature = header:X-Other prefix sha256= hex"),
        (lambda: {"X-Sig": "sha256=" + mac().hexdigest()}, "signature = header:X-Sig prefix sha256= hex"),
        (lambda: {"X-Sig": base64.b64encode(mac().digest()).decode()}, "signature = header:X-Sig base64"),
        (lambda: {"X-Sig": "v0=00,v1=" + mac().hexdigest()}, "signature = header:X-Sig split comma prefix v1= hex"),
        (lambda: {"X-Sig": "0" * 40, "X-Sha1": "sha1=" + mac(digest="sha1").hexdigest()}, "verify = hmac-sha1 and signature = header:X-Sha1 prefix sha1= hex"),
    ],
)
def test_a_signature_in_another_place_or_form(verify, headers, rule):
    assert likely(verify("h", headers=headers())) == [f"another signature of the request fits: write {rule}"]


def test_a_signature_in_the_query(verify):
    causes = likely(verify("h", query=f"?a=b&sig={mac().hexdigest()}"))
    assert causes == ["another signature of the request fits: write signature = query:sig hex"]


def test_another_digest(verify):
    causes = likely(verify("h", headers={"X-Sig": mac(digest="sha512").hexdigest()}))
    assert causes == ["the signature fits with verify = hmac-sha512"]


def test_a_header_that_a_proxy_has_doubled(verify):
    causes = likely(verify("h", headers={"X-Sig": ["0" * 64, mac().hexdigest()]}))
    assert causes == ["the header X-Sig comes 2 times, and it may come once: number 2 alone fits; find out what adds the others"]


def test_a_time_in_another_unit(verify):
    body, t = BODY, NOW * 1000
    causes = likely(verify("s", headers=sign.stripe_headers(body, t=t), signed=f"{t}.".encode() + body, secret=sign.STRIPE_SECRET))
    assert causes[-1] == "the time is written in another unit: write timestamp = item t= ms"


@pytest.mark.parametrize(
    "url",
    [
        URL.replace("https", "http"),
        URL + "/",
        URL.replace(".com", ".com:443"),
        URL.replace("hooks.example.com", "other.example.net"),
        "https://hooks.example.com/in/u",
    ],
)
def test_another_url(verify, url):
    verify.configure(u={"verify": "hmac-sha256", "signature": "header:X-Sig hex", "signed": "{url}{body}", "event_id": "body:/id",
                        "secret": f"text:{sign.K0}", "public_url": "https://hooks.example.com/in/u" if "/webhooks/" in url else URL, "on": "ignore"})  # fmt: skip
    if url == URL.replace("hooks.example.com", "other.example.net"):
        verify.providers["u"]["public_url"] = URL
    if "/in/" in url:
        verify.providers["u"]["public_url"] = "https://hooks.example.com/in/u/"
    signed = url.encode() + b"?shop=7" + BODY
    causes = likely(verify("u", headers={"X-Sig": mac(signed).hexdigest(), "Host": "other.example.net:8080"}, signed=signed, query="?shop=7"))
    assert causes == [f"the sender knows another URL: write public_url = {url}"]


def test_a_url_without_the_query(verify):
    verify.configure(u={"verify": "hmac-sha256", "signature": "header:X-Sig hex", "signed": "{url}{body}", "event_id": "body:/id",
                        "secret": f"text:{sign.K0}", "public_url": URL, "on": "ignore"})  # fmt: skip
    signed = URL.encode() + BODY
    causes = likely(verify("u", headers={"X-Sig": mac(signed).hexdigest()}, signed=signed, query="?from=proxy"))
    assert causes == [f"the signature fits the URL {URL} without the query: something added the query on the way"]


def test_another_preset(verify):
    verify.configure(s={"secret": f"text:{sign.GITHUB_SECRET}"})
    causes = likely(verify("s", headers=sign.github_headers(BODY), secret=sign.GITHUB_SECRET))
    assert causes[-1].startswith("it is signed as the presets ") and "github" in causes[-1]
    signed = f"v0:{NOW}:".encode() + BODY  # nobody else signs so
    headers = {"X-Slack-Request-Timestamp": str(NOW), "X-Slack-Signature": f"v0={mac(signed, sign.GITHUB_SECRET).hexdigest()}"}
    causes = likely(verify("s", headers=headers, secret=sign.GITHUB_SECRET, signed=signed))
    assert causes[-1] == "it is signed as the preset slack: write verify = slack"
    verify.configure(g={"secret": f"text:{sign.STANDARD_SECRET}"})
    headers = sign.standard_headers(BODY, t=NOW)
    signed = f"{headers['webhook-id']}.{NOW}.".encode() + BODY
    causes = likely(verify("g", headers=headers, secret=sign.STANDARD_SECRET, signed=signed))
    assert causes[-1].startswith("it is signed as the presets ") and "standard-webhooks" in causes[-1] and "svix" not in causes[-1]


def test_a_body_and_a_secret_at_once(verify):
    verify.configure(h={"secret": f"text:{KEY.hex()}"})
    causes = likely(verify("h", BODY + b"\n", {"X-Sig": mac(secret=KEY).hexdigest()}, secret=KEY))
    assert causes == [
        "the signature fits the body without the line end at its end: something added one; and the secret is to be taken as hex: secret_encoding = hex"
    ]


def test_where_nothing_fits_it_says_so(verify):
    causes = likely(verify("h", headers={"X-Sig": mac(secret="quite-another-secret").hexdigest()}, secret="quite-another-secret"))
    assert len(causes) == 1
    assert causes[0].startswith("none of ") and "another secret" in causes[0]
    causes = likely(verify("h"))
    assert causes == ["the request is not of this provider, the sender does not sign, or a proxy has taken the header off"]


# The other kinds --------------------------------------------------------------------------------


def b64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


def token(claims, secret=sign.K0, alg="HS256"):
    signed = f"{b64({'alg': alg, 'typ': 'JWT'})}.{b64(claims)}"
    return f"{signed}.{b64(mac(signed.encode(), secret).digest())}"


def kind(**keys):
    return {"event_id": "body:/id", "on": "ignore", "secret": f"text:{sign.K0}", **keys}


def test_a_token_step_by_step(verify):
    verify.configure(k=kind(verify="token", signature="header:X-Token | header:Authorization prefix Bearer | query:t"))
    code, lines = verify("k", headers={"Authorization": f"Basic {sign.K0}"}, query=f"?t={sign.K0}")
    assert (code, said(lines, "signature")) == (VALID, [
        "header X-Token: not there", "header Authorization: there, but it does not begin with Bearer", f"parameter t: there, {len(sign.K0)} characters",
    ])  # fmt: skip
    assert said(lines, "signed") == ["nothing: who has seen one request can send any other"]
    result = verify("k", headers={"X-Secret": f"Token {sign.K0}"})
    assert likely(result) == ["another signature of the request fits: write signature = header:X-Secret prefix Token"]
    verify.configure(k=kind(verify="token", signature="json:/value/*/state"))
    _, lines = verify("k", b'{"id":1,"value":[{"state":"x"},{}]}')
    assert said(lines, "signature") == ["the array has 2 elements, 1 of which show a token"]


def test_basic_step_by_step(verify):
    verify.configure(k=kind(verify="basic", secret="text:hooks:a-password-of-acme"))
    verify.hidden.add("the password", "a-password-of-acme")
    code, lines = verify("k", headers={"Authorization": "Basic " + base64.b64encode(b"hooks:a-password-of-acme").decode()})
    assert (code, said(lines, "signature")) == (VALID, ["header Authorization: there, 32 characters"])


def test_a_jwt_step_by_step(verify):
    digest = hashlib.sha256(BODY).hexdigest()
    verify.configure(k=kind(verify="jwt", signature="header:Authorization prefix Bearer", algorithms="HS256", claims="iss=acme sha256={sha256hex:body}"))

    def post(claims, **more):
        return verify("k", headers={"Authorization": f"Bearer {token(claims, **more)}"})

    code, lines = post({"iss": "acme", "sha256": digest, "exp": NOW + 5})
    assert code == VALID
    assert said(lines, "signature")[1:] == ["the token's algorithm is HS256, which is allowed"]
    assert said(lines, "claims") == ["they are as they have to be, whatever the signature", "exp is 5 s after now"]
    assert said(lines, "signed") == ["the claims, and by them the body"]
    _, lines = post({"iss": "acme", "sha256": digest}, alg="none")
    assert said(lines, "signature")[1:] == ["the token's algorithm is none, which is not allowed"]
    _, lines = post({"iss": "other"})
    assert said(lines, "claims") == [
        "they are not what they have to be, or not all there, whatever the signature",
        "iss is not what `claims` says",
        "sha256 is not there, and has to be the SHA-256 of the body",
    ]
    _, lines = post(["iss"])
    assert said(lines, "claims")[1:] == ["they are no JSON object"]
    code, lines = post({"iss": "acme", "sha256": digest, "exp": NOW - 5})
    assert (code, said(lines, "claims")) == (REFUSED, ["they are over, or have not begun, whatever the signature", "exp is 5 s before now"])
    _, lines = post({"iss": "acme", "sha256": digest, "exp": "soon", "nbf": NOW + 1})
    assert said(lines, "claims")[1:] == ["exp is no time that can be read", "nbf is 1 s after now"]
    _, lines = verify("k", headers={"Authorization": "Bearer no-token-at-all"})
    assert said(lines, "signature")[1:] == ["that is no JSON Web Token: HEADER.CLAIMS.SIGNATURE"]


def test_twilio_step_by_step(verify):
    body, url = b"MessageSid=SM1&Body=Hi", "https://hooks:a-password-of-acme@hooks.example.com/k"
    verify.configure(k=kind(verify="twilio", public_url=url, format="raw", event_id="sha256"))
    verify.hidden.add("the URL's password", "a-password-of-acme")

    def headers(url):
        return {"X-Twilio-Signature": base64.b64encode(mac(f"{url}BodyHiMessageSidSM1".encode(), digest="sha1").digest()).decode()}

    code, lines = verify("k", body, headers(url))
    assert code == VALID
    assert said(lines, "signature") == ["header X-Twilio-Signature: there, base64 of 20 bytes, as HMAC-SHA1 has them"]
    assert said(lines, "signed") == ["hooks.example.com/k", "or hooks.example.com:443/k", "behind it the 2 pairs of the form"]
    causes = likely(verify("k", body, headers(url.replace("https", "http"))))
    assert causes == ["the sender knows another URL: write public_url = http://...@hooks.example.com/k"]
    causes = likely(verify("k", body, headers("https://hooks.example.com/k")))
    assert causes == ["the sender knows another URL: write public_url = https://hooks.example.com/k"]


def test_adyen_step_by_step(verify):
    verify.configure(k=kind(verify="adyen", secret="text:0123456789abcdef0123456789abcdef", event_id="sha256"))
    key = bytes.fromhex("0123456789abcdef0123456789abcdef")
    good = base64.b64encode(mac(b"p1::M:r1:5:EUR:AUTHORISATION:true", key).digest()).decode()
    item = {"pspReference": "p1", "merchantAccountCode": "M", "merchantReference": "r1", "amount": {"value": 5, "currency": "EUR"}, "eventCode": "AUTHORISATION", "success": "true"}

    def body(*signatures):
        items = [{"NotificationRequestItem": {**item, **({"additionalData": {"hmacSignature": one}} if one else {})}} for one in signatures]
        return json.dumps({"notificationItems": items}).encode()

    code, lines = verify("k", body(good))
    assert (code, said(lines, "signature")) == (VALID, ["item 1: additionalData.hmacSignature fits"])
    code, lines = verify("k", body(good, None, "AAAA"))
    assert (code, said(lines, "signature")) == (REFUSED, [
        "item 1: additionalData.hmacSignature fits", "item 2: additionalData.hmacSignature is not there", "item 3: additionalData.hmacSignature does not fit",
    ])  # fmt: skip
    assert said(verify("k", b"{}")[1], "signature") == ["the body has no array notificationItems"]


def test_sns_step_by_step(verify):
    verify.configure(k={"verify": "sns", "secret": f"file:{ROOT}/tests/data/sns/", "event_id": "body:/MessageId", "on": "ignore"})
    message = {name: "x" for name in ("Message", "MessageId", "Timestamp", "TopicArn", "Signature")}
    message |= {"Type": "Notification", "SignatureVersion": "2", "SigningCertURL": "https://sns.eu-west-1.amazonaws.com/other.pem"}
    code, lines = verify("k", json.dumps(message).encode())
    assert code == REFUSED
    assert said(lines, "signature")[0] == "version 2, of a Notification"
    assert said(lines, "signature")[1].startswith("its certificate other.pem is none of the ")
    _, lines = verify("k", json.dumps({**message, "SigningCertURL": "https://evil.example.com/x.pem"}).encode())
    assert said(lines, "signature")[1] == "SigningCertURL is not an address of Amazon's"
    del message["MessageId"]
    _, lines = verify("k", json.dumps(message).encode())
    assert said(lines, "signature") == ["the body has no member /MessageId"]


# The command line -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, why",
    [
        ([], "wants --provider NAME and --request FILE"),
        (["--provider", "h"], "wants --provider NAME and --request FILE"),
        (["--provider", "h", "--request", "x", "--now", "yesterday"], '--now wants seconds since 1970, not "yesterday"'),
        (["h"], 'takes no words, but there is "h"'),
    ],
)
def test_a_wrong_command_line(build, words, why):
    done = run_ctl(build, "verify", *words, check=False)
    assert done.returncode == 64 and why in done.stderr


def test_mistakes_of_the_configuration_are_told(build, tmp_path):
    file = tmp_path / "wrong.conf"
    file.write_text("[inboxd]\n\n[provider p]\nverify = stripe\nsecret = text:0123456789abcdef\nsigned = {nothing}\non = ignore\n")
    done = run_ctl(build, "verify", "--provider", "p", "--request", file, config=file, check=False)
    assert done.returncode == 78 and "{nothing}" in done.stderr

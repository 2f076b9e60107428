"""The requests of data/http, byte by byte, to one running daemon: each has its documented answers and leaves the connection as it
says, whether it comes whole, in pieces or behind another one; and after each a request on another connection is answered as if nothing had been."""

import hashlib
import re
from dataclasses import dataclass, field

import pytest
from support.daemon import Inboxd
from support.http import Client, request_bytes
from support.places import ROOT

pytestmark = pytest.mark.data

FOLDER = ROOT / "tests/data/http"
ESCAPE = re.compile(r"\\(r|n|t|0|\\|x[0-9a-fA-F]{2}|i|j|#)")
PLAIN = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\"}
REPEAT = re.compile(r"\\\{(\d+) (.*?)\\\}")
PATIENCE = 4.0
LIMITS = {"max_body": "64K", "max_header": "16K", "trusted_proxies": "127.0.0.1"}
PROVIDERS = {"a": {"verify": "none", "event_id": "body:/id", "on": "sql:t.ok", "allow": "192.0.2.0/24"}}


@dataclass
class Step:
    """What is sent, and the answers that it brings: (status, result), result None where libmicrohttpd has answered."""

    text: str
    shut: bool
    answers: list
    end: str = ""


@dataclass
class Case:
    theme: str
    name: str
    steps: list = field(default_factory=list)

    def __str__(self):
        return f"{self.theme}: {self.name}"


def answers_of(words):
    for word in words:
        times, status, result = re.fullmatch(r"(?:(\d+)\*)?(\d{3})(?: (\S+))?", word).groups()
        yield from [(int(status), None if result in (None, "-") else result)] * int(times or 1)


def step_of(lines, arrow):
    words = arrow.removeprefix("->").strip()
    shut = words.startswith("shut ")
    words = [word.strip() for word in words.removeprefix("shut ").split(",")]
    end = words.pop() if words[-1] in ("open", "close") else ""
    text = "\r\n".join(lines).replace("\\\r\n", "")
    return Step(text, shut, list(answers_of(words)), end)


def read(file):
    cases, lines = [], []
    for line in file.read_text(encoding="utf-8").split("\n"):
        within = bool(cases) and not (cases[-1].steps and cases[-1].steps[-1].end)
        if line.startswith("== ") and not within:
            cases.append(Case(file.stem, line[3:]))
            lines = []
        elif line.startswith("-> "):
            assert within, f"{file.name}: {line!r} belongs to no case"
            cases[-1].steps.append(step_of(lines, line))
            lines = []
        elif within:
            lines.append(line)
        else:
            assert not line or line.startswith("#"), f"{file.name}: {line!r} belongs to no case"
    assert cases[-1].steps[-1].end, f"{file.name}: the last case has no end"
    return cases


CASES = [case for file in sorted(FOLDER.glob("*.txt")) for case in read(file)]


def to_bytes(text, idents):
    """The text with its escapes replaced."""

    def one(match, number):
        sign = match.group(1)
        if sign in "ij":
            return idents[sign]
        if sign == "#":
            return "%03d" % number
        return (PLAIN[sign] if sign in PLAIN else bytes([int(sign[1:], 16)])).decode("latin-1")

    def plain(text, number=0):
        # Text of the files is UTF-8; bytes are passed as the characters below 256.
        return ESCAPE.sub(lambda match: one(match, number), text)

    parts, at = [], 0
    for match in REPEAT.finditer(text):
        parts.append(plain(text[at : match.start()]))
        parts += [plain(match.group(2), number) for number in range(int(match.group(1)))]
        at = match.end()
    return "".join([*parts, plain(text[at:])]).encode("latin-1")


@pytest.fixture(scope="module")
def daemon(shared_cluster, build, tmp_path_factory):
    pg = shared_cluster.database()
    folder = tmp_path_factory.mktemp("corpus")
    daemon = Inboxd(folder, build, providers=PROVIDERS, workers=0, database=pg.conninfo(), **LIMITS).start()
    yield daemon
    daemon.close()
    shared_cluster.drop(pg)
    assert not daemon.sanitizer_reports()


def good(ident):
    return request_bytes("POST", "/webhooks/n", {"id": ident})


def expect(client, step, method):
    """Reads the step's answers, each with the form that ours have."""
    for number, (status, result) in enumerate(step.answers, 1):
        if status == 100:
            assert client.read_head()[0] == 100
            continue
        answer = client.read(to_head=method == b"HEAD")
        assert (answer.status, answer.result) == (status, result), answer
        last = number == len(step.answers)
        # Whether an answer says so where the sender has ended is a matter of what came first.
        assert step.shut or answer.closes == (last and step.end == "close"), answer
        if result is not None:
            assert answer.headers["content-type"] == "text/plain"
            assert method == b"HEAD" or re.fullmatch(rb"[^\n]+\n", answer.body), answer


def rest(client):
    """What comes until the connection ends."""
    data = client._buffer
    try:
        while piece := client.socket.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


def converse(client, case, key, piece=None):
    idents = {sign: hashlib.sha256(f"{case}/{key}/{sign}".encode()).hexdigest()[:8] for sign in "ij"}
    for step in case.steps:
        sent = to_bytes(step.text, idents)
        for at in range(0, len(sent), piece or len(sent)):
            client.send(sent[at : at + (piece or len(sent))])
        if step.shut:
            client.half_close()
        expect(client, step, sent.split(b" ")[0])
    if step.end == "open":
        client.send(good(f"{case} {key} after"))
        assert client.read().result == "stored"
    else:
        assert rest(client) == b""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whole(daemon, case):
    with daemon.client(PATIENCE) as client:
        converse(client, case, "whole")
    with daemon.client(PATIENCE) as client:
        client.send(good(f"{case} elsewhere"))
        assert client.read().result == "stored"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_in_pieces(daemon, case):
    """What is answered depends on the bytes alone, not on how many of them came at a time."""
    long = any(len(to_bytes(step.text, {"i": "", "j": ""})) > 1500 for step in case.steps)
    with daemon.client(PATIENCE) as client:
        converse(client, case, "pieces", 997 if long else 1)


def is_one_request(case):
    """One that is answered, and whose header does not come near the limits, of which the library has its own idea."""
    step = case.steps[0]
    return case.theme != "limits" and len(case.steps) == len(step.answers) == 1 and not step.shut and "\n" in step.text


@pytest.mark.parametrize("case", filter(is_one_request, CASES), ids=str)
def test_as_a_later_request(daemon, case):
    """The library reads these before we do. What it refuses has the same status or another of its own, and it
    may say so twice."""
    step = case.steps[0]
    with daemon.client(PATIENCE) as client:
        client.send(good(f"{case} first"))
        assert client.read().result == "stored"
        if step.end == "open":
            converse(client, case, "later")
            return
        client.send(to_bytes(step.text, {"i": "later-00", "j": "later-01"}))
        statuses = {int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", rest(client))}
        assert statuses <= {step.answers[0][0], 400, 413}
        assert statuses or case.theme == "request_lines"  # some of these it closes without a word


def test_the_corpus_is_large_and_has_no_case_twice():
    names = [str(case) for case in CASES]
    assert len(set(names)) == len(names) >= 150

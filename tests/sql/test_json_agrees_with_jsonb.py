"""The JSON reader and PostgreSQL's jsonb agree (P8): on what is JSON, on what needs repair, and on what a pointer finds.

Random documents, three thousand a run, from grammar, odd atoms and mutations. The seed is printed; run one again with
JSON_SEED=N.
"""

import os
import random
import struct
import subprocess

import pytest
from support.places import ROOT

CORPUS = ROOT / "tests" / "fuzz" / "corpus" / "json"

# Pointer, and the same as a path of jsonb.
PATHS = {"/id": "{id}", "/a/id": "{a,id}", "/a": "{a}", "/a/0": "{a,0}", "/1": "{1}", "/0/a": "{0,a}", "": "{}"}

ATOMS = """0 -0 1 1.10 -12.5e3 1e400 9007199254740993 18446744073709551616 1e131071 1e131072 -1E+131072 0.00001e131076
    0.00001e131077 1e-16383 1e-16384 1.5e-16383 0e-16384 0e131072 0e1073741822 0e1073741823 1E+99999999999999999999
    true false null""".split()
LONG_NUMBERS = ["9" * 131072, "9" * 131073, "0." + "0" * 16382 + "1", "0." + "0" * 16383 + "1", "1." + "0" * 16384]
PIECES = ["a", "id", "é", "😀", "\x7f", "\uffff", "\ufeff", "x" * 20, r"\u0069d", r"\u0000", r"\\u0000", r"\ud83d",
          r"\ude00", r"\ud83d\ude00", r"\uDBFF\uDFFF", r"\\", r"\"", r"\/", r"\n", "\ufffd"]
NAMES = ['"id"', '"a"', '"0"', '"1"', r'"\u0069d"', r'"\u0061"']
SPLICES = [b",", b'"', b"\\", b"[", b"}", b'{"a":1}', b"\\u0000", b"0", b"e", b".", b"-", b" ", "é".encode(), b"\xff"]

TRY = """create function try_jsonb(document bytea) returns text language plpgsql as $$
begin
    perform convert_from(document, 'UTF8')::jsonb;
    return null;
exception when others then
    return sqlstate || ' ' || sqlerrm;
end $$"""

# Whether the document holds, at the path, what the pointer found.
SAME = """select (convert_from(%s, 'UTF8')::jsonb #> %s::text[]) is not distinct from
    case when %s then convert_from(%s, 'UTF8')::jsonb end"""


class Documents:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def blanks(self):
        return self.random.choice([""] * 6 + [" ", "\n", "\t\r "])

    def string(self):
        return '"' + "".join(self.random.choices(PIECES, k=self.random.randrange(5))) + '"'

    def member(self, depth):
        name = self.random.choice(NAMES) if self.random.random() < 0.7 else self.string()
        return self.blanks() + name + self.blanks() + ":" + self.value(depth)

    def value(self, depth=0):
        kind = self.random.random() + (0.2 if depth == 0 else 0)
        if depth > 5 or kind < 0.3:
            return self.random.choice(LONG_NUMBERS if self.random.random() < 0.01 else ATOMS)
        if kind < 0.45:
            return self.string()
        make, brackets = (self.value, "[]") if kind < 0.65 else (self.member, "{}")
        parts = [make(depth + 1) + self.blanks() for _ in range(self.random.randrange(5))]
        return brackets[0] + (",".join(parts) or self.blanks()) + brackets[1]

    def mutated(self, document):
        changed = bytearray(document)
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(changed) + 1)
            if self.random.random() < 0.5:
                changed[at:at] = self.random.choice(SPLICES)
            elif self.random.random() < 0.5:
                del changed[at:at + 1]
            elif at < len(changed):
                changed[at] ^= 1 << self.random.randrange(8)
        return bytes(changed)

    def document(self):
        made = self.value().encode()
        kind = self.random.random()
        if kind < 0.05:
            return b"\xef\xbb\xbf" + made
        return made if kind < 0.6 else self.mutated(made)


def verdicts(program, documents):
    """For each document None, or (as it is, repaired, [found values])."""
    given = b"".join(struct.pack("=I", len(d)) + d for d in documents)
    answer = subprocess.run([program, *PATHS], input=given, stdout=subprocess.PIPE, check=True, timeout=60).stdout
    at = 0

    def text():
        nonlocal at
        (length,) = struct.unpack_from("=I", answer, at)
        at += 4 + length
        return answer[at - length:at]

    for _ in documents:
        letter = answer[at:at + 1]
        at += 1
        yield None if letter == b"n" else (letter == b"y", text(), [text() for _ in PATHS])


@pytest.fixture
def agree(build, database):
    pg = database(migrated=False)
    pg.execute(TRY)
    program = ROOT / "build" / build / "tests" / "helper_json_verdict"

    def check(documents):
        for document, verdict in zip(documents, verdicts(program, documents)):
            refusal = pg.value("select try_jsonb(%s)", document)
            if verdict is None:
                assert refusal, f"jsonb takes what the reader refuses: {document[:500]!r}"
                continue
            as_it_is, repaired, found = verdict
            assert as_it_is == (refusal is None), f"{refusal}: {document[:500]!r}"
            assert as_it_is == (repaired == document), document[:500]
            assert (reason := pg.value("select try_jsonb(%s)", repaired)) is None, f"{reason}: {repaired[:500]!r}"
            for path, value in zip(PATHS.values(), found):
                assert pg.value(SAME, repaired, path, value != b"", value), f"{path} is not {value!r} in {repaired!r}"

    return check


def test_they_agree_on_random_documents(agree):
    seed = int(os.environ.get("JSON_SEED", random.randrange(10**9)))
    print(f"JSON_SEED={seed}")
    source = Documents(seed)
    agree([source.document() for _ in range(3000)])


def test_they_agree_on_the_fuzz_corpus_and_its_mutations(agree):
    seeds = [file.read_bytes() for file in sorted(CORPUS.iterdir())]
    source = Documents(1)
    agree(seeds + [source.mutated(seed) for seed in seeds for _ in range(10)])


def test_a20_jsonb_takes_the_deepest_documents(agree):
    agree([b"[" * 1000 + b"]" * 1000, b'{"a":' * 1000 + b"1" + b"}" * 1000, b'[{"":' * 500 + b"1" + b"}]" * 500])

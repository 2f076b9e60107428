"""inboxctl route: which line an event of a type gets, and what it makes of it."""

import pytest

CONFIG = """
[inboxd]
database = dbname=x

[provider p]
verify = none
event_id = body:/id
event_type = body:/type
key = body:/object
order = strict
on = sql:a.plain
on invoice.* = sql:a.invoice, sql:a.ledger
on invoice.paid = sql:a.paid
on invoice.v* = coalesce, sql:a.fetch
on ping = ignore
on run.* = exec:/usr/bin/run, sql:a.ran

[provider q]
verify = token
token = header:X-Token
secret = file:/nowhere/that/exists
event_id = body:/id
on = pull
"""


@pytest.fixture
def route(inboxctl, tmp_path):
    file = tmp_path / "route.conf"
    file.write_text(CONFIG.replace("token = header:X-Token\n", "").replace("verify = token", "verify = github"))
    return lambda *words, **more: inboxctl("route", *words, config=file, **more)


@pytest.mark.parametrize(
    "kind, line, actions, work_class",
    [
        (None, "on = sql:a.plain ", ["sql:a.plain"], "sql"),
        ("order.paid", "on = sql:a.plain ", ["sql:a.plain"], "sql"),
        ("invoice.sent", "on invoice.* = ", ["sql:a.invoice", "sql:a.ledger"], "sql"),
        ("invoice.paid", "on invoice.paid = ", ["sql:a.paid"], "sql"),
        ("invoice.void", "on invoice.v* = ", ["sql:a.fetch"], "sql"),
        ("ping", "on ping = ignore ", ["ignore"], "sql"),
        ("run.now", "on run.* = ", ["exec:/usr/bin/run", "sql:a.ran"], "leased"),
    ],
)
def test_exact_before_the_longest_pattern_before_the_plain_one(route, kind, line, actions, work_class):
    lines = route("p", *([kind] if kind else [])).stdout.splitlines()
    assert lines[0].startswith("line:   " + line) and "route.conf:" in lines[0]
    assert [text.split(". ", 1)[1] for text in lines if ". " in text[:12]] == actions
    assert any(text.startswith(f"class:  {work_class}: ") for text in lines)
    assert any(text.startswith("order:  strict: ") and text.endswith("key = body:/object") for text in lines)
    assert ("only:   the newest" in "\n".join(lines)) == (kind == "invoice.void")


def test_it_needs_no_secrets_and_no_database(route):
    said = route("q", "x").stdout
    assert "1. pull" in said and "class:  pull" in said


def test_a_provider_that_is_not_there_is_named_with_those_that_are(route):
    refused = route("r", "x", check=False)
    assert refused.returncode == 1
    assert refused.stderr == 'inboxctl: route: there is no provider "r"; the configuration has: p q\n'
    assert route(check=False).returncode == 64

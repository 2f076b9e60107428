"""Every statement of sql/query prepares, says what it is for, and casts its parameters."""

import re

import pytest

from sql import statements

NAMES = sorted(file.stem for file in statements.QUERIES.glob("*.sql") if file.stem != "migration_table")


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_prepares(pg, name):
    pg.execute(f"prepare it as {statements.text(name)}")


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_numbered_without_a_gap_and_described(name):
    whole = (statements.QUERIES / f"{name}.sql").read_text()
    body = statements.text(name)
    assert whole.startswith(f"-- {name}.sql: ")
    used = {int(n) for n in re.findall(r"\$(\d+)", body)}
    assert used == set(range(1, len(used) + 1))
    described = "\n".join(line for line in whole.splitlines() if line.startswith("--"))
    assert {f"${n}" for n in used} <= set(re.findall(r"\$\d+", described))


@pytest.mark.parametrize("name", NAMES)
def test_parameter_types_do_not_depend_on_inference(pg, name):
    """A parameter is cast somewhere, so that the client's binary format is the one expected."""
    body = statements.text(name)
    for n in set(re.findall(r"\$\d+", body)):
        assert re.search(re.escape(n) + r"::", body), f"{n} is never cast"


def test_the_daemon_role_may_run_every_statement(pg):
    session = pg.session(user="inboxd_test")
    for name in NAMES:
        session.do(f"prepare {name} as {statements.text(name)}")
    assert statements.store(session, "e1", "e2") == [1, 2]
    rows = statements.claim(session, at_most=1)
    statements.settle_done(session, rows)
    statements.settle_failed(session, statements.claim(session), "dead")
    statements.run(session, "duplicate_check", ["h"], ["e1"], [b"x"])
    statements.run(session, "count", ["h"], [1], [2])
    statements.run(session, "refusal", ["h"], ["body too large"], [2], [20], [10], [30])
    statements.run(session, "store_lanes", ["h"], ["k"])
    statements.run(session, "lane_claim", "h", "-infinity", 0, 50, 15.0)
    statements.run(session, "lane_take", "h", 15.0, 50, 3, 1.0, True, "w", 50, 2500)
    token = session.do("select token from lane")[0][0]
    statements.run(session, "lane_renew", "h", ["k"], token, 15.0)
    statements.run(session, "lane_settle", "h", ["k"], token, [], [])
    statements.run(session, "lane_next", "h", ["k"], [0])
    statements.run(session, "lane_release", "h", ["k"], token, [0], [])
    statements.run(session, "suspect_mark", [1])
    statements.run(session, "suspect_claim", "h", 3, 1.0, "w", "sql")
    statements.run(session, "lease_claim", "h", "-infinity", 0, 50, 60.0)
    statements.run(session, "lease_renew", [1], [1], [60.0])
    statements.run(session, "lease_hold", 1, 1)
    statements.run(session, "lease_release", [1], [1], False, False)
    statements.run(session, "lease_load", [1], 1000, True)
    statements.run(session, "lease_take", [1], [1])
    statements.run(session, "pull_reclass", ["h"], 10)
    statements.run(session, "lane_unblock", ["h"], 10)
    statements.run(session, "lane_newest", "h", ["k"], ["t"], [1], 1, 10)
    statements.run(session, "suspect_take", 1, 1)
    statements.run(session, "due_providers", ["h"], ["sql"], ["-infinity"], [0])
    statements.run(session, "daemon_seen", "i", "host", 1, "0", 1, ["h"], 0)
    statements.run(session, "daemon_gone", "i")
    statements.run(session, "secret_use", ["h"], ["file:/x"], [1], [1], [3])
    statements.run(session, "secret_capture", "h", b"sealed", b"fingerprint", None)
    statements.run(session, "secrets_accepted")
    statements.run(session, "confirmation", "sns", "https://sns.x.amazonaws.com/", None)
    session.commit()

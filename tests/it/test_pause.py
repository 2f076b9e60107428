"""Pausing a provider under running daemons, and what daemons write of how they run one."""

from datetime import timedelta

import pytest
from support import DONE
from support.daemon import run_ctl

from it.working import effects, fill, outcomes, wait_done


@pytest.fixture
def operate(pg, build):
    """inboxctl as an operator."""
    return lambda *words, **more: run_ctl(build, "--database", pg.conninfo("postgres"), *words, **more)


def done(pg, provider):
    return pg.value("select count(*) from outcome where provider = %s", provider)


def test_a_pause_stops_work_and_not_acceptance_and_others_go_on(pg, inboxd, operate):
    first = inboxd(providers={"h": {"on": "sql:t.ok"}}, workers=2)
    second = inboxd(providers={"h": {"on": "sql:t.ok"}}, workers=2)
    fill(pg, 20)
    wait_done(pg)
    assert "provider h is paused" in operate("pause", "h", "--why", "their API is down").stdout
    for n in range(10):
        assert (first, second)[n % 2].post("h", {"id": f"p{n}"}).status == 200
    fill(pg, 10, prefix="other")
    fill(pg, 20, provider="n")
    # Several looks and sweeps of both daemons, told by what they do for the other provider.
    pg.wait_until("select count(*) from outcome where provider = 'n'", equals=20)
    for n in range(20):
        assert first.post("n", {"id": f"n{n}"}).status == 200
        pg.wait_until("select count(*) from outcome where provider = 'n'", equals=21 + n)
    assert done(pg, "h") == 20
    status = operate("status").stdout
    assert "their API is down" in status and "paused" in status
    assert operate("resume", "h").stdout.startswith("provider h goes on after ")
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 80}
    assert effects(pg) == (80, 80)


def test_what_runs_when_a_pause_begins_ends_as_usual(pg, inboxd, operate):
    inboxd(providers={"h": {"on": "sql:t.sleep"}}, workers=1)
    fill(pg, [{"s": 0.5}])
    pg.wait_until("select count(*) > 0 from pg_stat_activity where wait_event = 'PgSleep'")
    operate("pause", "h")
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 1}


def test_words_of_pause_and_resume(operate):
    for command in ("pause", "resume"):
        refused = operate(command, check=False)
        assert refused.returncode == 64 and "wants the name of one provider" in refused.stderr
    refused = operate("pause", "strip", check=False)
    assert refused.returncode == 1 and 'there is no provider "strip"' in refused.stderr
    assert operate("resume", "strip").stdout == "provider strip is not paused\n"


def policy(pg, provider):
    return pg.row("select * from provider_policy where provider = %s", provider)


def test_daemons_write_what_they_run_a_provider_with(pg, inboxd):
    lists = {"on": "sql:t.ok", "order": "serial", "attempts": 3, "backoff": "1m, 5m, 15m"}
    keys = {"key": "body:/k", "order": "strict", "defer": "7s", "defer_limit": "2h", "timeout": "90s", "backoff": "exponential 3s 2m"}
    daemon = inboxd(providers={"h": lists, "n": keys}, workers=0)
    pg.wait_until("select count(*) > 1 from provider_policy")
    row = policy(pg, "h")
    assert (row["class"], row["order"], row["attempts"]) == ("sql", "serial", 3)
    assert (row["backoff_base"], row["backoff_cap"]) == (None, None)
    assert row["backoff_steps"] == [timedelta(minutes=m) for m in (1, 5, 15)]
    row = policy(pg, "n")
    assert (row["order"], row["defer"], row["timeout"]) == ("strict", timedelta(seconds=7), timedelta(seconds=90))
    assert row["defer_limit"] == timedelta(hours=2)
    assert (row["backoff_base"], row["backoff_cap"], row["backoff_steps"]) == (timedelta(seconds=3), timedelta(minutes=2), None)
    daemon.reconfigure(providers={"h": {**lists, "attempts": 5}, "n": {**keys, "backoff": "9s"}})
    daemon.reload()
    pg.wait_until("select attempts from provider_policy where provider = 'h'", equals=5)
    assert policy(pg, "n")["backoff_steps"] == [timedelta(seconds=9)]
    assert policy(pg, "n")["backoff_base"] is None

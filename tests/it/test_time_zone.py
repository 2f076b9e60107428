"""Times are what they say, whatever zone a role, a session or a process has, and across a change of clocks (B24)."""

import datetime

import pytest
from support.cluster import DAEMON_USER

from it.working import fill

DAY = 86400
SLACK = 300  # seconds: no zone is that near to another, and no machine that slow


def zone_that_changes_within_a_day():
    """As Europe/Berlin in the last night of March, but in twelve hours from now: a day has 23 hours."""
    change = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=12)
    back = (change.timetuple().tm_yday + 100) % 365
    return f"XST0XDT-1,{change.timetuple().tm_yday - 1}/{change:%H:%M:%S},{back}/0"


@pytest.fixture(params=["Asia/Kolkata", "a change of clocks"])
def zone(pg, request):
    """The zone of every session of the daemon's role, of the database's other sessions, and of the tests'."""
    name = request.param if "/" in request.param else zone_that_changes_within_a_day()
    pg.execute(f"alter role {DAEMON_USER} in database {pg.name} set timezone = '{name}'")
    pg.execute(f"alter database {pg.name} set timezone = '{name}'")
    pg.close()
    assert pg.value("show timezone") == name
    if request.param != "Asia/Kolkata":
        assert pg.value("select now() + interval '1 day' <> now() + interval '24 hours'"), "or this proves nothing"
    return name


def delays(pg):
    """{provider: seconds from the failure to the next attempt}, of events that all failed once."""
    rows = pg.rows(
        "select i.provider, extract(epoch from i.next_attempt_at - a.at)::float8, i.status"
        "  from webhook_inbox i join attempt_log a on a.id = i.id"
    )
    assert {row[2] for row in rows} == {0}
    return {row[0]: row[1] for row in rows}


def test_b24_a_retry_in_24_hours_is_in_24_hours(pg, inboxd, zone, tmp_path):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho \"$INBOXD_RECEIVED_AT\" >{tmp_path}/received\nexit 1\n")
    program.chmod(0o755)
    pg.execute("create function t.later(e inboxd.event) returns void language plpgsql as"
               " $$ begin perform inboxd.defer('not yet', '1 day'); end $$")  # fmt: skip
    base = {"verify": "none", "event_id": "body:/id", "backoff": "24h", "attempts": 9, "on": "sql:t.fail"}
    keyed = {**base, "key": "body:/k"}
    providers = {
        "plain": base,
        "serial": {**keyed, "order": "serial"},
        "strict": {**keyed, "order": "strict"},
        "leased": {**base, "on": f"exec:{program}"},
        "deferred": {**base, "on": "sql:t.later", "defer_limit": "30d"},
        "configured": {**base, "on": "sql:t.later_unsaid", "defer": "24h", "defer_limit": "30d"},
    }
    pg.execute("create function t.later_unsaid(e inboxd.event) returns void language plpgsql as"
               " $$ begin perform inboxd.defer('not yet'); end $$")  # fmt: skip
    daemon = inboxd(providers=providers, env={"TZ": "America/New_York"})
    for name in providers:
        assert daemon.post(name, {"id": "e", "k": "k", "msg": "no"}).text == "ok"
    pg.wait_until("select count(*) from attempt_log", equals=len(providers))
    for name, seconds in delays(pg).items():
        assert abs(seconds - DAY) < SLACK, name
    assert pg.value("select max(abs(extract(epoch from now() - received_at))) from webhook_inbox") < SLACK
    received = datetime.datetime.fromisoformat((tmp_path / "received").read_text().strip().replace("Z", "+00:00"))
    assert received == pg.value("select received_at from webhook_inbox where provider = 'leased'")
    first = daemon.log_text().split()[0]
    logged = datetime.datetime.fromisoformat(first.removeprefix("ts=").replace("Z", "+00:00"))
    assert abs((datetime.datetime.now(datetime.timezone.utc) - logged).total_seconds()) < SLACK


def test_b24_an_application_that_pulls_in_a_zone_of_its_own(pg, inboxd, zone):
    pull = {"verify": "none", "event_id": "body:/id", "on": "pull", "backoff": "24h", "attempts": 9, "defer": "24h", "defer_limit": "30d"}
    names = ["fail", "postpone", "postpone_said", "claim", "renew"]
    inboxd(providers={name: pull for name in names}, env={"TZ": "America/New_York"})
    pg.wait_until("select count(*) from provider_policy where class = 'pull'", equals=len(names))
    for name in names:
        fill(pg, 1, provider=name, **{"class": "pull"})
    held = {name: pg.rows("select id, token from claim(%s, 1, '1 day')", name)[0] for name in names}
    assert pg.value("select fail(%s, %s, 'no')", *held["fail"]) == "retry"
    assert pg.value("select postpone(%s, %s, 'not yet')", *held["postpone"]) == "defer"
    assert pg.value("select postpone(%s, %s, 'not yet', '1 day')", *held["postpone_said"]) == "defer"
    end = pg.value("select extract(epoch from renew(%s, %s, '1 day') - now())", *held["renew"])
    assert abs(end - DAY) < SLACK
    for name in names:
        seconds = pg.value("select extract(epoch from run_at - now()) from work where provider = %s", name)
        assert abs(seconds - DAY) < SLACK, name


def test_b24_all_times_of_the_schema_have_their_zone(pg):
    columns = pg.rows(
        """
        select c.relkind, c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
          from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.relnamespace = 'inboxd'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'c') and a.attnum > 0
           and not a.attisdropped
        """
    )
    assert {kind for kind, *_ in columns} >= {"r", "p", "v", "c"}
    zoned = [(table, column) for _, table, column, kind in columns if kind == "timestamp with time zone"]
    assert len(zoned) > 40
    without = {"timestamp without time zone", "time without time zone", "time with time zone", "date"}
    assert [row for row in columns if row[3].removesuffix("[]") in without] == []
    # Nor is any handed to a function, or by one.
    assert pg.column(
        """
        select p.oid::regprocedure::text from pg_proc p
         where p.pronamespace = 'inboxd'::regnamespace
           and array['timestamp', 'time', 'timetz', 'date']::regtype[]::oid[]
               && (p.prorettype || coalesce(p.proallargtypes, p.proargtypes::oid[]))
        """
    ) == []

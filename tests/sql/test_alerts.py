"""The view `alerts`: a row per condition that wants a person now, and none where nothing does."""

import pytest

from sql.statements import event, finish, run, store

LIVING = "insert into daemon (instance, host, pid, version, workers, providers) values ('i', 'host', 1, 'v', 4, '{h}')"
COLUMNS = ["condition", "provider", "since", "detail", "advice"]


def alerts(pg):
    return pg.rows("select condition, provider, detail from alerts order by condition, provider")


def refuse(pg, provider, reason, requests, largest=0, limit=0):
    run(pg, "refusal", [provider], [reason], [requests], [largest], [limit], [largest])


@pytest.fixture
def living(pg):
    pg.execute(LIVING)
    return pg


def test_the_columns(pg):
    assert pg.column(
        "select column_name::text from information_schema.columns"
        " where table_schema = 'inboxd' and table_name = 'alerts' order by ordinal_position"
    ) == COLUMNS  # fmt: skip


def test_a_healthy_inbox_has_none(living):
    store(living, "e1", "e2")
    finish(living, at_most=1)
    refuse(living, "h", "bad signature", 9)
    refuse(living, "h", "not found", 1000)
    assert alerts(living) == []


def test_no_daemon(pg):
    assert alerts(pg) == [("no daemon", None, "no daemon has said within 30 seconds that it lives")]
    pg.execute(LIVING)
    assert alerts(pg) == []
    pg.execute("update daemon set seen_at = now() - interval '31 seconds'")
    assert pg.value("select since = (select seen_at from daemon) from alerts") is True


def test_stuck(living):
    store(living, "e1", "e2", "e3", event("other", provider="o"))
    living.execute("update work set run_at = now() - interval '2 minutes' where id < 3 or provider = 'o'")
    assert alerts(living) == [
        ("stuck", "h", "2 events: due for more than a minute: the workers are behind, or stopped"),
        ("stuck", "o", "1 event: no living daemon works for this provider"),
    ]  # fmt: skip


def test_old(living):
    store(living, "e1", "e2", "e3")
    living.execute("update work set run_at = now() + interval '1 hour', received_at = now() - case when id < 3 then interval '61 minutes'"
                   " else interval '59 minutes' end")  # fmt: skip
    assert alerts(living) == [("old", "h", "2 events have been undone for more than an hour")]
    living.execute("update work set deferred_since = now() where id = 1")
    assert alerts(living) == [("old", "h", "1 event has been undone for more than an hour")]


def test_dead_within_the_hour(living):
    store(living, "e1", "e2")
    finish(living, "dead", error="x" * 300)
    assert alerts(living) == [("dead", "h", "2 events died within the last hour, the last one: " + "x" * 200)]
    living.execute("update outcome set processed_at = now() - interval '61 minutes'")
    assert alerts(living) == []


def test_a13_too_large(living):
    refuse(living, "h", "body too large", 2, largest=2000000, limit=1048576)
    refuse(living, "h", "body too large", 1, largest=1500000, limit=1048576)
    assert alerts(living) == [("too large", "h", "3 requests of up to 2000000 bytes refused with 413 within a day; max_body was 1048576")]
    assert living.rows("select last_bytes, last_limit, requests, lately from refusals") == [(1500000, 1048576, 3, 3)]
    assert living.value("select sum(refused) from counters") == 3
    assert "max_body of [provider h]" in living.value("select advice from alerts")
    living.execute("update refusal_store set hour = hour - interval '25 hours'")
    assert alerts(living) == []


def test_refused_signatures_high(living):
    refuse(living, "h", "bad signature", 6)
    refuse(living, "h", "missing signature", 4)
    text = "10 of {} requests lately were not signed as they should be, mostly: bad signature"
    assert alerts(living) == [("signatures", "h", text.format(10))]
    run(living, "count", ["h"], [80], [0])
    assert alerts(living) == [("signatures", "h", text.format(90))]
    run(living, "count", ["h"], [20], [0])
    assert alerts(living) == []


def test_quarantine_full(living):
    living.execute("insert into counters (provider, minute, quarantine_dropped) values ('h', now(), 3), ('h', now(), 4), ('o', now(), 0)")
    assert alerts(living) == [("quarantine full", "h", "7 refused requests of the last hour were not kept")]
    living.execute("update counters set minute = now() - interval '61 minutes'")
    assert alerts(living) == []


def test_hung_worker_of_a_daemon_that_lives(living):
    living.execute("insert into daemon (instance, host, pid, version, workers, providers, hung, hung_since)"
                   " values ('j', 'other', 2, 'v', 4, '{h}', 1, now())")  # fmt: skip
    assert alerts(living) == [("hung worker", None, "of the 4 workers of other 2, 1 runs a handler that does not return")]
    living.execute("update daemon set seen_at = now() - interval '31 seconds' where instance = 'j'")
    assert alerts(living) == []


def test_secrets_and_confirmations(living):
    living.execute(
        "insert into secret_use_store (provider, reference, ordinal, number, uses, last_used_at)"
        " values ('h', 'file:/old', 1, 1, 5, now() - interval '8 days'), ('h', 'file:/new', 1, 2, 5, now());"
        "insert into captured_secret (provider, sealed, fingerprint, source_ip) values ('a', 'x', 'f', '192.0.2.1');"
        "insert into captured_secret (provider, fingerprint, rejected_at, rejected_by) values ('b', 'f', now(), 'me');"
        "insert into confirmation (provider, address) values ('n', 'https://sns.x/1'), ('n', 'https://sns.x/2')"
    )
    assert alerts(living) == [
        ("old secret", "h", "file:/old has verified nothing for a week, another secret of the provider has"),
        ("secret to accept", "a", "secret 1 was handed over from 192.0.2.1 and verifies nothing yet"),
        ("to confirm", "n", "2 subscriptions asked within a day to be confirmed"),
    ]  # fmt: skip
    assert living.value("select count(*) from alerts where since is null or advice is null or detail is null") == 0


def test_operators_and_daemons_read_it(pg):
    for role in ("inboxd_ops", "inboxd_daemon"):
        session = pg.session()
        session.do(f"set role {role}")
        assert session.do("select condition from inboxd.alerts") == [("no daemon",)]
        session.close()


def test_old_refusals_go(living):
    refuse(living, "h", "not found", 1)
    living.execute("update refusal_store set hour = now() - interval '31 days'")
    refuse(living, "h", "not found", 2)
    assert living.rows("select requests from refusal_store") == [(2,)]

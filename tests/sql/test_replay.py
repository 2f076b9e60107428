"""Replay by predicate: what fits, what is refused, what is recorded, and what others do meanwhile."""

import json

import psycopg2.errors
import pytest

from sql.statements import event, finish, store

KEYS = ("provider", "event_type", "status", "received_since", "received_until", "ended_since", "ended_until", "error", "error_regex")


def predicate(pg, **keys):
    """As inboxctl has it: text."""
    return pg.value("select replay_predicate(%s, %s, %s, %s, %s, %s, %s, %s, %s)::text", *(keys.get(key) for key in KEYS))


def found(pg, rows=20000, **keys):
    """The ids that fit, over as many pages as it takes."""
    p, ids, after = predicate(pg, **keys), [], 0
    while after is not None:
        [(page, after)] = pg.rows("select ids, next_id from replay_find(%s::replay_predicate, %s, %s)", p, after, rows)
        assert len(page) <= rows or after is None
        ids += page
    return ids


@pytest.fixture
def history(pg):
    """1 to 6: dead and done of h and i; 7 waits."""
    store(pg, event("1", event_type="invoice.paid"), event("2", event_type="invoice.void"), event("3", event_type="ping"))
    finish(pg, "dead", error="timeout after 30 s")
    store(pg, event("4", event_type="invoice.paid"), event("5"))
    finish(pg)
    store(pg, event("6", "i", event_type="ping"))
    finish(pg, "dead", provider="i", error="bad currency: 100%")
    store(pg, event("7"))
    pg.execute("update outcome set processed_at = now() - id * interval '1 hour'")
    pg.execute("update ledger set received_at = now() - interval '2 days' - id * interval '1 hour'")
    return pg


PREDICATES = [
    ({"provider": "h"}, [1, 2, 3]),
    ({"provider": "h", "status": "done"}, [4, 5]),
    ({"provider": "h", "status": "finished"}, [1, 2, 3, 4, 5]),
    ({"event_type": "ping"}, [3, 6]),
    ({"event_type": "invoice.*", "status": "finished"}, [1, 2, 4]),
    ({"event_type": "*", "status": "finished"}, [1, 2, 3, 4, 6]),
    ({"event_type": "invoice.", "status": "finished"}, []),
    ({"error": "timeout"}, [1, 2, 3]),
    ({"error": "100%"}, [6]),
    ({"error": "1%0"}, []),
    ({"error_regex": "^bad .*[0-9]+%$"}, [6]),
    ({"ended_since": "150m", "status": "finished"}, [1, 2]),
    ({"ended_until": "150m", "status": "finished"}, [3, 4, 5, 6]),
    ({"ended_since": "210m", "ended_until": "90m"}, [2, 3]),
    ({"received_since": "3030m", "status": "finished"}, [1, 2]),
    ({"received_until": "3030m", "provider": "h", "status": "finished"}, [3, 4, 5]),
    ({"provider": "nobody"}, []),
]


@pytest.mark.parametrize("keys, ids", PREDICATES, ids=lambda value: json.dumps(value))
@pytest.mark.parametrize("rows", [2, 20000])
def test_what_fits(history, keys, ids, rows):
    if keys.get("status", "dead") == "dead":
        rows = 20000  # one page whatever it is told
    assert found(history, rows, **keys) == ids


def test_a_moment_is_so_long_ago_or_a_timestamp(pg):
    for written, wanted in (("90m", "now() - interval '90 minutes'"), ("250ms", "now() - interval '0.25 s'"),
                            ("7d", "now() - interval '7 days'"), ("2026-03-01 12:00+01", "'2026-03-01 11:00+00'::timestamptz")):  # fmt: skip
        assert pg.value(f"select inboxd.moment(%s) = {wanted}", written)
    with pytest.raises(psycopg2.errors.InvalidDatetimeFormat):
        pg.value("select inboxd.moment('yesterdaz')")


@pytest.mark.parametrize("keys", [{}, {"status": "done"}])
def test_an_empty_predicate_is_refused(pg, keys):
    with pytest.raises(psycopg2.errors.InvalidParameterValue, match="at least one of provider, type, time or error"):
        predicate(pg, **keys)
    with pytest.raises(psycopg2.errors.InvalidParameterValue, match="at least one of"):
        pg.value("select replay_where(status => %s)", keys.get("status"))
    assert pg.value("select count(*) from audit") == 0


def test_a_wrong_predicate_is_refused(pg):
    with pytest.raises(psycopg2.errors.InvalidParameterValue, match='dead, done or finished .either.; not "ready"'):
        predicate(pg, provider="h", status="ready")
    with pytest.raises(psycopg2.errors.InvalidRegularExpression):
        predicate(pg, error_regex="(")


def committing(pg, **more):
    """A session whose statements are committed at once."""
    session = pg.session(**more)
    session.connection.autocommit = True
    return session


def begin(pg, p, count=0, why=None):
    return pg.value("select replay_begin(%s::replay_predicate, %s, %s)", p, count, why)


def batch(where, command, p, ids):
    return where.do("select * from inboxd.replay_batch(%s, %s::inboxd.replay_predicate, %s)", command, p, ids)[0]


def test_a_batch_runs_them_again_and_its_row_in_audit_is_true(history):
    pg = history
    p = predicate(pg, provider="h")
    command = begin(pg, p, 3, "the API is up again")
    session = pg.session()
    assert batch(session, command, p, [1, 2]) == (2, [], 0)
    session.commit()
    assert pg.rows("select id, attempt, attempt_base, event_type, class, lane from work order by id") == [
        (1, 1, 1, "invoice.paid", "sql", None), (2, 1, 1, "invoice.void", "sql", None), (7, 0, 0, None, "sql", None),
    ]  # fmt: skip
    assert pg.value("select bool_and(w.received_at = e.received_at) from work w join event_store e using (id)")
    assert pg.rows("select id, kind, error from attempt_log where kind = 'replay' order by id") == [
        (1, "replay", "was dead: timeout after 30 s"), (2, "replay", "was dead: timeout after 30 s"),
    ]  # fmt: skip
    row = pg.row("select * from audit")
    assert (row["who"], row["action"], row["provider"], row["why"]) == ("postgres", "replay", "h", "the API is up again")
    assert json.loads(row["detail"])["status"] == [3]
    assert row["counts"] == {"found": 3, "replayed": 2, "gone": 0, "changed": 0}
    assert batch(session, command, p, [3]) == (1, [], 0)
    session.commit()
    assert pg.value("select counts from audit") == {"found": 3, "replayed": 3, "gone": 0, "changed": 0}
    finish(pg)
    assert pg.rows("select status, attempt from outcome where id = 1") == [(2, 2)]


def test_what_has_no_content_any_more_is_named_and_stays(history):
    pg = history
    pg.execute("delete from event_store where id in (1, 3)")
    p = predicate(pg, provider="h")
    assert batch(committing(pg), begin(pg, p), p, [1, 2, 3]) == (1, [1, 3], 0)
    assert pg.column("select id from outcome where status = 3 order by id") == [1, 3, 6]
    assert pg.value("select counts->>'gone' from audit") == "2"
    assert pg.value("select count(*) from attempt_log where kind = 'replay'") == 1


def test_what_somebody_else_has_replayed_is_left_alone(history):
    pg = history
    p = predicate(pg, provider="h")
    command = begin(pg, p)
    other, mine = pg.session(), committing(pg)
    other.do("select replay(2)")
    waiting = mine.start("select * from inboxd.replay_batch(%s, %s::inboxd.replay_predicate, '{1,2,3}')", command, p)
    mine.wait_blocked()
    other.commit()
    assert waiting.result() == [(2, [], 1)]
    # One that has run and died again meanwhile is another death than the one that was asked for.
    finish(pg, "dead")
    assert batch(mine, command, p, [1, 2, 3]) == (0, [], 3)
    assert pg.value("select count(*) from work where id < 7") == 0


def test_a_command_by_ids_is_one_row_whatever_becomes_of_each(history):
    pg = history
    pg.execute("delete from event_store where id = 3")
    command = pg.value("select replay_begin('{1,3,4,7,99}'::bigint[], 'by hand')")
    session = committing(pg)
    said = {}
    for number in (1, 3, 4, 7, 99):
        try:
            said[number] = session.do("select inboxd.replay_one(%s, %s)", command, number)[0][0]
        except psycopg2.Error as error:
            said[number] = error.diag.message_primary
    assert said == {
        1: "event 1 was dead and is due now; attempts so far: 1", 3: "cannot replay event 3: its content is gone",
        4: "event 4 was done and is due now; attempts so far: 1", 7: "event 7 is due already", 99: "there is no event 99",
    }  # fmt: skip
    assert pg.rows("select who, action, id, detail, why, counts from audit") == [
        ("postgres", "replay", None, '{"ids": [1, 3, 4, 7, 99]}', "by hand", {"found": 5, "replayed": 2, "gone": 0, "changed": 1}),
    ]  # fmt: skip
    with pytest.raises(psycopg2.errors.NoDataFound, match="you have begun no replay with number 77"):
        pg.value("select replay_one(77, 2)")
    assert pg.value("select count(*) from outcome where id = 2") == 1


def test_a_batch_takes_only_what_fits(history):
    pg = history
    p = predicate(pg, provider="h", event_type="ping")
    assert batch(committing(pg), begin(pg, p), p, [1, 3, 5, 6, 7]) == (1, [], 4)
    assert pg.column("select id from work order by id") == [3, 7]


def test_keyed_events_come_back_into_their_lanes_and_pulled_ones_to_whom_pulls(pg):
    store(pg, event("a", ordering_key="k"), event("b", "i", ordering_key="k"), event("c", "p"))
    for provider in "hip":
        finish(pg, "dead", provider=provider)
    pg.execute(
        'insert into provider_policy (provider, class, "order", attempts, backoff_base, backoff_cap, defer, defer_limit, timeout)'
        " select p, c, o, 3, '1s', '1s', '1s', '1s', '1s'"
        " from (values ('h', 'sql', 'serial'), ('i', 'sql', 'none'), ('p', 'pull', 'none')) as v (p, c, o)"
    )
    assert pg.value("select replay_where(received_since => '2000-01-01', why => 'x')") == "events replayed: 3"
    assert pg.rows("select id, class, lane, aside from work order by id") == [
        (1, "sql", "k", "retry"), (2, "sql", None, None), (3, "pull", None, None),
    ]  # fmt: skip
    assert pg.rows("select provider, key, ready_at <= now() from lane") == [("h", "k", True)]


def test_replay_where_is_the_same_for_psql(history):
    pg = history
    assert pg.value("select replay_where('h', dry_run => true)") == "events that would be replayed: 3"
    assert pg.value("select count(*) from work") == 1 and pg.value("select count(*) from audit") == 0
    pg.execute("delete from event_store where id = 1")
    assert pg.value("select replay_where('h', most => 2)") == (
        "events replayed: 1; content is gone of 1: 1; there are more, call it again"
    )
    assert pg.value("select replay_where('h', status => 'done', why => 'x')") == "events replayed: 2"
    assert pg.column("select why from audit order by number") == [None, "x"]


def test_only_operators_may_and_only_in_their_own_command(history, shared_cluster):
    pg = history
    shared_cluster.execute(
        "do $$ begin create role replay_ops login in role inboxd_ops; exception when duplicate_object then null; end $$"
    )
    p = predicate(pg, provider="h")
    daemon = pg.session(user="inboxd_test")
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        daemon.do("select inboxd.replay_where('h')")
    ops = committing(pg, user="replay_ops")
    with pytest.raises(psycopg2.errors.NoDataFound, match="you have begun no replay with number"):
        batch(ops, begin(pg, p), p, [1])
    assert ops.do("select inboxd.replay_where('h', dry_run => true)") == [("events that would be replayed: 3",)]
    assert ops.do("select inboxd.replay_where('h')") == [("events replayed: 3",)]
    assert pg.column("select who from audit order by number") == ["postgres", "replay_ops"]


def test_a_search_reads_the_index_of_dead_events_or_a_page_by_its_key(pg):
    pg.execute(
        "insert into outcome (id, provider, status, attempt) select n, 'h', case when n % 1000 = 0 then 3 else 2 end, 1"
        " from generate_series(1, 50000) n"
    )
    pg.execute("analyze outcome")

    def pages(**keys):
        session = pg.session()
        p = predicate(pg, **keys)
        find = "select * from inboxd.replay_find(%s::inboxd.replay_predicate, 0, 1000)"
        session.do(find, p)  # what is read once a session
        plan = session.do("explain (analyze, buffers, format json) " + find, p)[0][0][0]["Plan"]
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    everything = pg.value("select pg_relation_size('outcome') / 8192")
    assert pages(provider="h") < everything
    assert pages(provider="h", status="done") < everything / 5

"""Purges, leases, lanes, coalesce and the pull API use their indexes beside 100,000 finished rows: without statistics, with stale
ones and with fresh ones, with plans that know no parameter, and with few ways left to join (B02 to B04)."""

import contextlib
import re

import pytest

from sql import test_plans_lanes as lanes
from sql.statements import prepare
from sql.test_plans import PLANNERS
from sql.test_plans_kinds import set_all, waiting
from sql.test_views import finished

FINISHED = 100_000
TABLES = ["work", "lane", "outcome", "ledger", "event_store_0", "event_kept", "attempt_log", "quarantine_store", "audit"]
SCAN = rf"Seq Scan on (?:{'|'.join(TABLES)})\b"
FEW_WAYS = {**PLANNERS["never analyzed, few ways left"], "plan_cache_mode": "force_generic_plan"}
POLICY = """insert into provider_policy (provider, class, "order", attempts, backoff_steps, defer, defer_limit, timeout)
            values ('h', 'pull', 'serial', 3, '{1 minute}', '10 minutes', '1 day', '30 s')"""


@pytest.fixture(scope="module")
def full(shared_cluster):
    """100,000 finished events, some dead; old attempts, refused requests and acts of operators."""
    pg = shared_cluster.database()
    for table in TABLES:
        pg.execute(f"alter table inboxd.{table} set (autovacuum_enabled = off)")
    finished(pg, FINISHED)
    pg.execute("insert into attempt_log (id, attempt, at, kind) select id, 1, received_at, 'retry' from ledger where id % 3 = 0")
    pg.execute("update outcome set status = 3, last_error = 'bad' where id <= 20")
    pg.execute("insert into audit (at, action) select now() - n * interval '1 minute', 'x' from generate_series(1, 20000) n")
    pg.execute(
        "insert into quarantine_store (provider, received_at, reason, headers, body_sha256, bytes)"
        " select 'h', now() - n * interval '1 minute', 'bad signature', '{}', '\\x00', 100 from generate_series(1, 20000) n"
    )
    yield pg
    shared_cluster.drop(pg)


def none(pg):
    pg.execute("delete from pg_statistic where starelid in (select oid from pg_class where relnamespace = 'inboxd'::regnamespace)")
    pg.execute("update pg_class set reltuples = -1, relpages = 0, relallvisible = 0 where relnamespace = 'inboxd'::regnamespace"
               " and relkind in ('r', 'i')")  # fmt: skip


def stale(pg):
    """As of when the tables were empty."""
    none(pg)
    pg.execute("update pg_class set reltuples = 0 where relnamespace = 'inboxd'::regnamespace and relkind in ('r', 'i')")


def fresh(pg):
    pg.execute("vacuum analyze inboxd." + ", inboxd.".join(TABLES))


@pytest.fixture(params=[none, stale, fresh], ids=lambda state: f"{state.__name__} statistics")
def history(full, request):
    request.param(full)
    return full


@contextlib.contextmanager
def undone(pg, clazz, settings=None):
    """A session with events that wait, all of it rolled back."""
    session = pg.session()
    try:
        set_all(session, settings or {})
        waiting(InTransaction(session), clazz)
        yield session
    finally:
        session.rollback()
        session.close()


class InTransaction:
    """As much of Pg as the helpers want."""

    def __init__(self, session):
        self.execute = lambda sql, *args: session.do(sql, *args)


def inner_plans(session, statement):
    """The statement is run; the plans of what it runs inside of functions."""
    session.do("load 'auto_explain'")
    for key, value in {"log_min_duration": "0", "log_nested_statements": "on", "log_level": "'notice'", "log_analyze": "on",
                       "log_timing": "off"}.items():  # fmt: skip
        session.do(f"set auto_explain.{key} = {value}")
    session.do("set client_min_messages = notice")
    del session.connection.notices[:]
    session.do(statement)
    plans = list(session.connection.notices)
    session.do("set auto_explain.log_min_duration = -1")
    return plans


# Purges -------------------------------------------------------------------------------------------

PURGES = {
    "purge_finished('1 year', 100)": ["event_store_[0-9]+_pkey"],
    "purge_finished('1 hour', 100)": ["event_store_[0-9]+_pkey", "outcome_pkey"],
    "purge_ledger('1 year', 100)": ["ledger_id_key"],
    "purge_ledger('1 hour', 100)": ["ledger_id_key", "outcome_pkey", "attempt_log_id"],
    "purge_dead('1 year', 100)": ["outcome_dead"],
    "purge_dead('1 hour', 10)": ["outcome_dead"],
    "purge_attempts('1 hour', 100)": ["attempt_log_id", "outcome_pkey"],
    "purge_attempts('1 year', 100)": ["attempt_log_id"],
    "purge_quarantine('1 hour', 100)": ["quarantine_received"],
    "purge_audit('1 hour', 100)": ["audit_at"],
}


def used(index, plans):
    return re.search(rf"Index (Only )?Scan (Backward )?using {index} |Bitmap Index Scan on {index}\b", "\n".join(plans))


def rows_seen(plan):
    """Of every step that reads a table: rows that it gave or threw away."""
    seen = [0]
    for line, rest in re.findall(r"(Scan [^\n]*actual rows=[\d.]+ loops=\d+)((?:\n(?![^\n]*->)[^\n]*)*)", plan):
        rows, loops = re.search(r"rows=([\d.]+) loops=(\d+)", line).groups()
        seen.append(float(rows) * int(loops))
        seen += [int(n) * int(loops) for n in re.findall(r"Rows Removed by [\w ]+: (\d+)", rest)]
    return max(seen)


@pytest.mark.parametrize("planner", [{}, FEW_WAYS], ids=["as configured", "few ways left"])
def test_b03_purges_look_at_no_more_than_their_batch(history, planner):
    with undone(history, "sql", {**planner, "enable_seqscan": "off"}) as session:
        for call, indexes in PURGES.items():
            plans = inner_plans(session, f"select * from {call}")
            for index in indexes:
                assert used(index, plans), (call, index, plans)
            for plan in plans:
                assert not re.search(SCAN, plan), (call, plan)
                assert rows_seen(plan) <= 1000, (call, plan)


# Leases, lanes and coalesce -----------------------------------------------------------------------

HOT = {
    "lease_claim": (["'h'", "'-infinity'", "0", "50", "60"], ["work_due"]),
    "suspect_claim": (["'h'", "3", "60", "'w'", "'leased'"], ["work_suspect"]),
    **{name: lanes.HOT[name] for name in ("lane_claim", "lane_take", "lane_next", "lane_newest")},
}


@pytest.mark.parametrize("planner", [{}, FEW_WAYS], ids=["as configured", "few ways left"])
def test_b03_leases_lanes_and_coalesce_use_their_indexes_beside_history(history, planner):
    with undone(history, "leased") as session:
        for name, (args, indexes) in HOT.items():
            plan = prepare(session, name, **{**planner, "enable_seqscan": "off"})(*args)
            for index in indexes:
                assert used(index, [plan]), (index, plan)
            assert not re.search(SCAN, plan), plan


@pytest.mark.parametrize("planner", PLANNERS)
def test_b02_leases_never_more_than_asked_whatever_the_plan(pg, planner):
    for mode in ("force_generic_plan", "force_custom_plan"):
        with undone(pg, "leased") as session:
            prepare(session, "lease_claim", **{**PLANNERS[planner], "plan_cache_mode": mode})
            for n in (1, 7, 50):
                assert len(session.do(f"execute lease_claim ('h', '-infinity', 0, {n}, 60)")) == n
            assert session.do("select count(*) from work where token > 0") == [(58,)]


# The pull API -------------------------------------------------------------------------------------


@pytest.mark.parametrize("planner", [{}, FEW_WAYS], ids=["as configured", "few ways left"])
def test_b03_the_pull_api_uses_its_indexes_beside_history(history, planner):
    with undone(history, "pull", planner) as session:
        session.do(POLICY)
        plans = inner_plans(session, "select * from inboxd.claim('h', 10)") + inner_plans(session, "select * from inboxd.claim('h', 100)")
        assert used("work_due", plans), plans
        assert used("lane_ready", plans), plans
        claimed = session.do("select id, token from work where token <> 0 order by lane nulls first, id limit 6")
        for (number, token), call in zip(claimed, ["complete(%s, %s)", "fail(%s, %s, 'x')", "postpone(%s, %s, 'x')", "renew(%s, %s)",
                                                   "fail(%s, %s, 'x', true)", "complete_many('{%s}', '{%s}')"]):  # fmt: skip
            plans += inner_plans(session, f"select inboxd.{call}" % (number, token))
    for plan in plans:
        assert not re.search(SCAN, plan), plan


@pytest.mark.parametrize("planner", PLANNERS)
def test_b02_pull_never_more_than_asked_whatever_the_plan(pg, planner):
    with undone(pg, "pull", PLANNERS[planner]) as session:
        session.do(POLICY)
        for n in (1, 7, 50):
            assert len(session.do(f"select id from inboxd.claim('h', {n})")) == n
        assert session.do("select count(*) from work where token > 0") == [(58,)]

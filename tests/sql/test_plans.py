"""Hot statements use their index in every state of the table, and take no more than they were asked for (B01 to B03)."""


import re

import pytest

from sql.statements import claim, event, literal, prepare, store_args, text


HOT = {
    "claim_sql": (["'h'", "'-infinity'", "0", "50"], "work_due"),
    "due_providers": (["'{h}'", "'{sql}'", "'{-infinity}'", "'{0}'"], "work_due"),
    "suspect_claim": (["'h'", "3", "1", "'w'", "'sql'"], "work_suspect"),
    "lease_claim": (["'h'", "'-infinity'", "0", "50", "60"], "work_due"),
    "lease_renew": (["'{1,2,3}'", "'{1,1,1}'", "'{9,9,9}'"], "work_pkey"),
    "lease_take": (["'{1,2,3}'", "'{1,1,1}'"], "work_pkey"),
    "lease_hold": (["1", "1"], "work_pkey"),
    "lease_release": (["'{1,2,3}'", "'{1,1,1}'", "false", "false"], "work_pkey"),
    "lease_load": (["'{1,2,3}'", "1000", "true"], "event_store_[0-9]+_pkey"),
    "suspect_mark": (["'{1,2,3}'"], "work_pkey"),
    "suspect_take": (["1", "1"], "work_pkey"),
    "duplicate_check": (["'{h}'", "'{e}'", "'{x}'"], "ledger_pkey"),
}
HOT_TABLES = ("work", "ledger", "outcome", "event_store")


def fill_work(pg, n):
    pg.execute(
        "insert into work (id, provider, class, received_at, run_at)"
        " select nextval('event_id_seq'), 'h', 'sql', now(), now() - random() * interval '1 hour'"
        " from generate_series(1, %s)", n
    )  # fmt: skip


def empty_and_vacuumed(pg):
    pg.execute("vacuum analyze inboxd.work")


def full_but_analyzed_while_empty(pg):
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off)")
    pg.execute("vacuum analyze inboxd.work")
    fill_work(pg, 200_000)


def full_and_analyzed(pg):
    fill_work(pg, 200_000)
    pg.execute("vacuum analyze inboxd.work")


def drained_but_analyzed_while_full(pg):
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off)")
    fill_work(pg, 200_000)
    pg.execute("analyze inboxd.work")
    pg.execute("delete from inboxd.work where id > 1")


STATES = [empty_and_vacuumed, full_but_analyzed_while_empty, full_and_analyzed, drained_but_analyzed_while_full]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_b03_hot_statements_use_their_index(pg, state):
    state(pg)
    session = pg.session()
    for name, (args, index) in HOT.items():
        plan = prepare(session, name, enable_seqscan="off")(*args)
        assert re.search(rf"Index (Only )?Scan using {index} |Bitmap Index Scan on {index}", plan), plan
        for table in HOT_TABLES:
            assert not re.search(rf"Seq Scan on {table}\b", plan), plan


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_claim_reads_the_index_in_order_and_stops(pg, state):
    """Limit over LockRows over the index: nothing sorts the backlog before the limit."""
    state(pg)
    plan = prepare(pg.session(), "claim_sql", enable_seqscan="off")("'h'", "'-infinity'", "0", "50")
    plan = re.sub(r"(?m)^ *(InitPlan 1|->  Index Only Scan using paused_pkey|  Index Cond: \(provider = \$1\)$).*\n", "", plan)
    assert re.search(
        r"Limit\n +->  LockRows\n +->  Result\n +One-Time Filter: \(NOT \$0\)\n +->  Index Scan using work_due ", plan
    ), plan


def test_a30_the_check_of_duplicates_reads_outcomes_by_their_key(pg):
    plan = prepare(pg.session(), "duplicate_check", enable_seqscan="off")(*HOT["duplicate_check"][0])
    assert "Index Scan using outcome_pkey on outcome" in plan, plan
    assert re.search(r"(Index (Only )?Scan using|Bitmap Index Scan on) attempt_log_id", plan), plan


PLANNERS = {
    "as configured": {},
    "never analyzed, few ways left": {
        "enable_hashjoin": "off", "enable_mergejoin": "off", "enable_hashagg": "off", "enable_sort": "off",
        "enable_material": "off",
    },
    "only sequential scans": {"enable_indexscan": "off", "enable_bitmapscan": "off", "enable_indexonlyscan": "off"},
    "only nested loops": {"enable_hashjoin": "off", "enable_mergejoin": "off", "enable_memoize": "off"},
}  # fmt: skip


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_b02_a_claim_takes_never_more_than_asked_whatever_the_plan(pg, planner, mode):
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off)")
    fill_work(pg, 500)
    session = pg.session()
    prepare(session, "claim_sql", **{**PLANNERS[planner], "plan_cache_mode": mode})
    for n in (1, 7, 50):
        rows = session.do(f"execute claim_sql ('h', '-infinity', 0, {n})")
        assert len(rows) == n
    assert session.do("select count(*) from work") == [(500 - 58,)]
    prepare(session, "suspect_claim", **{**PLANNERS[planner], "plan_cache_mode": mode})
    session.do("update work set suspect = true")
    assert len(session.do("execute suspect_claim ('h', 3, 60, 'w', 'sql')")) == 1
    assert session.do("select count(*) from work where token > 0") == [(1,)]


def buffers(session, sql):
    """Pages that a statement touches: a measure of its cost that no other load changes."""
    plan = session.do("explain (analyze, buffers, format json) " + sql)[0][0][0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def test_b01_a_claim_with_its_cursor_costs_the_same_beside_an_open_snapshot(pg):
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off)")
    fill_work(pg, 20_000)
    reader = pg.session()
    reader.connection.set_session(isolation_level="REPEATABLE READ")
    reader.do("select count(*) from work")
    cursor = ("-infinity", 0)
    for _ in range(19):
        rows = claim(pg, at_most=1000, run_at=cursor[0], after_id=cursor[1])
        cursor = (rows[-1]["run_at"], rows[-1]["id"])
    worker = pg.session(enable_seqscan="off")
    with_cursor = buffers(worker, literal(worker, "claim_sql", "h", *cursor, 10))
    sweep = buffers(worker, literal(worker, "claim_sql", "h", "-infinity", 0, 10))
    reader.rollback()
    assert with_cursor < 150
    assert sweep > 3 * with_cursor  # what the cursor saves: else this test proves nothing


def test_storing_touches_the_tables_only_through_their_keys(pg):
    session = pg.session()
    plan = prepare(session, "store_batch", enable_seqscan="off")(*["null"] * 19)
    assert not re.search(r"Scan on (inboxd\.)?(ledger|work|event_store)\b(?!\s+\w)", plan.replace("CTE Scan", "")), plan
    assert "Conflict Arbiter Indexes: ledger_pkey" in plan


def test_storing_costs_the_same_with_a_full_ledger(pg):
    session = pg.session(enable_seqscan="off")
    args = store_args(*(event(f"a{n}") for n in range(100)))
    before = buffers(session, literal(session, "store_batch", *args))
    session.commit()
    pg.execute(
        "insert into ledger (provider, event_id, body_sha256)"
        " select 'h', 'x' || n, '\\x00' from generate_series(1, 100000) n"
    )
    args = store_args(*(event(f"b{n}") for n in range(100)))
    assert buffers(session, literal(session, "store_batch", *args)) < 2 * before


def test_a_plan_survives_new_partitions(pg):
    """The daemon's prepared statement goes on while partitions come and go."""
    session = pg.session(plan_cache_mode="force_generic_plan")
    session.do("prepare s as " + text("store_batch"))
    for n in range(3):
        args = store_args(event(f"e{n}"))
        session.do(
            "execute s (%s, %s, %s::text[], %s::text[], %s, %s, %s::text[], %s, %s, %s, %s::text[], %s, %s, %s::text[], %s, %s, %s, %s::timestamptz[], %s)",
            *args,
        )
        session.commit()
        pg.execute("select make_partition_for(%s)", 10_000_000 * (n + 1))
    assert pg.value("select count(*) from event_store") == 3

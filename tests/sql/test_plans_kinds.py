"""Views of what is undone do not scan finished rows, whatever statistics there are, and with few ways left to join (B03, B04)."""

import re

import pytest

from sql.test_plans import PLANNERS
from sql.test_plans_lanes import fill_lanes
from sql.test_views import finished

FINISHED = 30_000
HISTORY = r"(?:outcome|ledger|event_store_0|event_kept|attempt_log)"
FEW_WAYS = {**PLANNERS["never analyzed, few ways left"], "plan_cache_mode": "force_generic_plan"}
VIEWS = ["webhook_inbox where status in (0, 1)", "backlog", "stuck", "blocked_keys"]


def never_analyzed(pg):
    for table in ("work", "lane", "outcome", "ledger", "event_store_0", "attempt_log"):
        pg.execute(f"alter table inboxd.{table} set (autovacuum_enabled = off)")
    fill_history(pg)


def analyzed_while_empty(pg):
    pg.execute("vacuum analyze inboxd.work, inboxd.lane, inboxd.outcome, inboxd.ledger, inboxd.event_store, inboxd.attempt_log")
    never_analyzed(pg)


def analyzed(pg):
    fill_history(pg)
    pg.execute("vacuum analyze inboxd.work, inboxd.lane, inboxd.outcome, inboxd.ledger, inboxd.event_store, inboxd.attempt_log")


STATES = [never_analyzed, analyzed_while_empty, analyzed]


def fill_history(pg):
    finished(pg, FINISHED)
    pg.execute("insert into attempt_log (id, attempt, kind) select id, 1, 'retry' from ledger where id % 3 = 0")
    pg.execute("update outcome set status = 3, last_error = 'bad' where id <= 20")


def waiting(pg, clazz, rows=200, keys=20):
    """Events without and with a key, of which the ledger knows."""
    fill_lanes(pg, rows, keys)
    pg.execute("insert into work (id, provider, class, received_at) select nextval('event_id_seq'), 'h', 'sql', now()"
               " from generate_series(1, %s)", rows)
    pg.execute("update work set class = %s", clazz)
    pg.execute("insert into ledger (provider, event_id, id, body_sha256) select provider, 'w' || id, id, '\\x00' from work")
    pg.execute("insert into event_store (id, provider, event_id, received_at, headers, payload_repaired, signature_verified)"
               " select id, provider, 'w' || id, now(), '{}', false, true from work")


@pytest.fixture(params=STATES, ids=lambda state: state.__name__)
def history(pg, request):
    request.param(pg)
    return pg


def set_all(session, settings):
    for key, value in settings.items():
        session.do(f"set {key} = {value}")


# Views --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planner", [{}, FEW_WAYS], ids=["as configured", "few ways left"])
@pytest.mark.parametrize("view", VIEWS)
def test_b03_b04_views_do_not_scan_finished_rows(history, view, planner):
    waiting(history, "sql")
    history.execute("update lane set blocked = true where key in ('k1', 'k2')")
    session = history.session()
    set_all(session, planner)
    session.do(f"prepare v as select * from {view}")
    plan = "\n".join(row[0] for row in session.do("explain (analyze, timing off) execute v"))
    assert not re.search(rf"Seq Scan on {HISTORY}\b", plan), plan
    # Nor by way of an index: no step has seen what only history can have so many of.
    seen = [int(float(rows)) * int(loops) for rows, loops in
            re.findall(rf"(?:Scan|Only Scan)[^\n]* on {HISTORY}[^\n]*actual rows=([\d.]+) loops=(\d+)", plan)]
    removed = [int(n) for n in re.findall(r"Rows Removed by (?:Filter|Join Filter|Index Recheck): (\d+)", plan)]
    assert max([0, *seen]) < 2_000, plan
    assert max([0, *removed]) < FINISHED / 2, plan


def finished_never_analyzed(pg):
    fill_finished(pg, "case when id %% 1000 = 0 then 3 else 2 end")


def all_dead_when_analyzed_and_done_since(pg):
    fill_finished(pg, "3")
    pg.execute("analyze ledger, outcome, work")
    pg.execute("update outcome set status = 2 where id % 1000 <> 0")


def fill_finished(pg, status):
    for table in ("ledger", "outcome", "work"):
        pg.execute(f"alter table {table} set (autovacuum_enabled = off)")
    pg.execute(
        "insert into ledger (provider, event_id, id, body_sha256)"
        " select 'h', 'e' || n, nextval('event_id_seq'), '' from generate_series(1, %s) n", 100_000
    )  # fmt: skip
    pg.execute(f"insert into outcome (id, provider, status, attempt, last_error) select id, 'h', {status}, 1, 'x' from ledger where %s > 0", 1)
    pg.execute("insert into work (id, provider, class, received_at) select n, 'h', 'sql', now() from generate_series(200001, %s) n", 300_000)


@pytest.mark.parametrize("state", [finished_never_analyzed, all_dead_when_analyzed_and_done_since], ids=lambda state: state.__name__)
@pytest.mark.parametrize("view", ["dead_letters", "top_errors", "stuck", "blocked_keys"])
def test_b03_views_of_operators_never_read_the_ledger(pg, view, state):
    state(pg)
    plan = "\n".join(pg.column(f"explain select * from {view}"))
    assert not re.search(r"Seq Scan on ledger\b", plan), plan
    if state is finished_never_analyzed:
        assert not re.search(r"Seq Scan on (outcome|event_store_\d+)\b", plan), plan

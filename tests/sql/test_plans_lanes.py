"""The statements of lanes use their indexes, in every state of the tables, and take no more than they were asked for."""

import re

import pytest

from sql.statements import literal, prepare, run
from sql.test_plans import PLANNERS, buffers

HOT = {
    "lane_claim": (["'h'", "'-infinity'", "0", "50", "15"], ["lane_ready"]),
    "lane_take": (["'h'", "15", "50", "3", "1", "true", "'w'", "1", "2500"], ["lane_ready", "work_aside", "work_lane", "work_pkey"]),
    "lane_settle": (["'h'", "'{k1,k2}'", "1", "'{1,2}'", "'{k1}'"], ["lane_pkey", "work_pkey", "work_aside"]),
    "lane_next": (["'h'", "'{k1,k2}'", "'{1,2}'"], ["lane_pkey", "work_aside", "work_lane"]),
    "lane_release": (["'h'", "'{k1,k2}'", "1", "'{0,0}'", "'{1}'"], ["lane_pkey", "work_pkey"]),
    "lane_unblock": (["'{h}'", "1000"], ["lane_blocked", "lane_pkey", "work_lane", "work_pkey"]),
    "lane_renew": (["'h'", "'{k1,k2}'", "1", "15"], ["lane_pkey"]),
    "lane_newest": (["'h'", "'{k1,k2}'", "'{t,null}'", "'{1,2}'", "1", "1000"], ["lane_pkey", "work_lane", "work_aside", "work_pkey"]),
    "due_providers": (["'{h}'", "'{lane}'", "'{-infinity}'", "'{0}'"], ["lane_ready"]),
}


def fill_lanes(pg, rows, keys):
    pg.execute("insert into lane (provider, key) select 'h', 'k' || n from generate_series(1, %s) n", keys)
    pg.execute(
        "insert into work (id, provider, class, received_at, lane)"
        " select nextval('event_id_seq'), 'h', 'sql', now(), 'k' || 1 + n %% %s from generate_series(1, %s) n",
        keys, rows,
    )  # fmt: skip


def empty_and_vacuumed(pg):
    pg.execute("vacuum analyze inboxd.work, inboxd.lane")


def many_keys_but_analyzed_while_empty(pg):
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off); alter table inboxd.lane set (autovacuum_enabled = off)")
    pg.execute("analyze inboxd.work, inboxd.lane")
    fill_lanes(pg, 100_000, 100_000)


def many_keys(pg):
    fill_lanes(pg, 100_000, 100_000)
    pg.execute("analyze inboxd.work, inboxd.lane")


def one_key(pg):
    fill_lanes(pg, 100_000, 1)
    pg.execute("analyze inboxd.work, inboxd.lane")


def drained_but_analyzed_while_full(pg):
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off); alter table inboxd.lane set (autovacuum_enabled = off)")
    fill_lanes(pg, 100_000, 100_000)
    pg.execute("analyze inboxd.work, inboxd.lane")
    pg.execute("delete from inboxd.work where id > 1; delete from inboxd.lane where key <> 'k1'")


STATES = [empty_and_vacuumed, many_keys_but_analyzed_while_empty, many_keys, one_key, drained_but_analyzed_while_full]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_b03_statements_of_lanes_use_their_indexes(pg, state):
    state(pg)
    session = pg.session()
    for name, (args, indexes) in HOT.items():
        plan = prepare(session, name, enable_seqscan="off")(*args)
        for index in indexes:
            assert re.search(rf"Index (Only )?Scan using {index} |Bitmap Index Scan on {index}", plan), plan
        assert not re.search(r"using lane_\w+ on lane \w+\n +Index Cond: \(provider = \$1\)\n", plan), plan
        for table in ("work", "lane"):
            assert not re.search(rf"Seq Scan on {table}\b", plan), plan


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_claim_of_lanes_reads_the_index_in_order_and_stops(pg, state):
    state(pg)
    plan = prepare(pg.session(), "lane_claim", enable_seqscan="off")(*HOT["lane_claim"][0])
    assert re.search(r"->  LockRows\n(.*\n){0,3}? +->  Index Scan using lane_ready ", plan), plan


def claim_and_take(session, limit):
    found = session.do(f"execute lane_claim ('h', '-infinity', 0, {limit}, 15)")[0]
    return found[0], session.do(f"execute lane_take ('h', 15, {limit}, 3, 60, true, 'w', 50, {limit * limit})")


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_b02_lanes_give_never_more_than_asked_whatever_the_plan(pg, planner, mode):
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off); alter table inboxd.lane set (autovacuum_enabled = off)")
    fill_lanes(pg, 3000, 30)
    session = pg.session()
    for name in ("lane_claim", "lane_take"):
        prepare(session, name, **{**PLANNERS[planner], "plan_cache_mode": mode})
    for limit in (1, 7):
        lanes, rows = claim_and_take(session, limit)
        assert (lanes, len(rows)) == (limit, limit * limit)
        session.commit()
    assert session.do("select count(*) from lane where taken_id > 0") == [(8,)]
    session.do("update work set suspect = true where lane = 'k20'")
    session.do("update lane set ready_at = now() + interval '1 day' where key <> 'k20'")
    lanes, rows = claim_and_take(session, 50)
    assert (lanes, len(rows)) == (1, 1)
    assert session.do("select count(*) from work where token > 0") == [(1,)]


@pytest.mark.parametrize("keys", [1, 100])
def test_b01_lanes_cost_the_same_beside_an_open_snapshot(pg, keys):
    """What others have finished is passed by, behind after_id; the hot lane's own row is all that gathers versions."""
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off)")
    fill_lanes(pg, 20_000, keys)
    reader = pg.session()
    reader.connection.set_session(isolation_level="REPEATABLE READ")
    reader.do("select count(*) from work")
    worker = pg.session(enable_seqscan="off", plan_cache_mode="force_generic_plan")
    costs = []
    for _ in range(6):
        run(worker, "lane_claim", "h", "-infinity", 0, 50, 15.0)
        costs.append(buffers(worker, literal(worker, "lane_take", "h", 15.0, 50, 3, 1.0, True, "w", 50, 2500)))
        taken = worker.do(
            "select key, token, array(select id from work w where w.lane = l.key and w.id > l.after_id and w.id <= l.taken_id)"
            " from lane l where taken_id > 0 order by key"
        )
        run(worker, "lane_settle", "h", [t[0] for t in taken], taken[0][1], [id for t in taken for id in t[2]], [])
        run(worker, "lane_next", "h", [t[0] for t in taken], [max(t[2]) for t in taken])
        worker.commit()
    reader.rollback()
    assert costs[-1] < 1.5 * costs[0] + 100, costs

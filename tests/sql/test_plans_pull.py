"""What a claim of the pull API costs does not grow with what was done before it, beside an open snapshot too (B01)."""

import pytest

from sql.test_plans import buffers
from sql.test_pull import POLICY


@pytest.fixture
def pull(pg):
    pg.execute(POLICY, "serial")
    pg.execute("alter table inboxd.work set (autovacuum_enabled = off); alter table inboxd.lane set (autovacuum_enabled = off)")
    return pg


def fill(pg, rows, keys=0):
    """So many events that have been due for a while; keys: over so many lanes."""
    pg.execute(
        "insert into lane (provider, key, ready_at) select 'h', 'k' || n, now() - interval '1 hour' + n * interval '1 ms' from generate_series(1, %s) n", keys
    )
    pg.execute(
        "insert into work (id, provider, class, received_at, run_at, lane)"
        " select nextval('event_id_seq'), 'h', 'pull', now(), now() - interval '1 hour' + n * interval '1 ms',"
        "        case when %s > 0 then 'k' || 1 + n %% greatest(%s, 1) end from generate_series(1, %s) n",
        keys, keys, rows,
    )  # fmt: skip
    pg.execute("insert into ledger (provider, event_id, id, body_sha256) select 'h', 'e' || id, id, '' from work")


def open_snapshot(pg):
    reader = pg.session()
    reader.connection.set_session(isolation_level="REPEATABLE READ")
    reader.do("select count(*) from work")
    return reader


def time_passes(pg):
    """As far as cursors know, but not so much that the next claim is a sweep, however slow the machine is."""
    pg.execute("update pull_cursor set made_at = made_at - interval '1 s', swept_at = clock_timestamp()")


def costs_between(pg, rounds, batch):
    """Pages that a claim of one touches, before and after each round of so many that are claimed and completed."""
    app, costs, done = pg.session(), [], 0
    for _ in range(rounds):
        pg.rows("select id from claim('h', %s)", batch)
        time_passes(pg)
        costs.append(buffers(app, "select * from claim('h')"))
        app.commit()
        done += pg.value("select complete_many(array_agg(id), array_agg(token)) from work where token <> 0")
    return costs, done


@pytest.mark.parametrize("keys", [0, 20_000])
def test_b01_claims_cost_the_same_beside_an_open_snapshot(pull, keys):
    fill(pull, 20_000, keys)
    reader = open_snapshot(pull)
    costs, done = costs_between(pull, 19, 1000)
    assert done == 19 * 1001
    assert max(costs[-5:]) < 1.5 * max(costs[1:6]), costs
    reader.rollback()


def cost_of_one_key(pg):
    """Pages of a claim and of its completion, once the session has warmed up."""
    pg.execute("delete from pull_cursor")
    app = pg.session()
    for _ in range(4):
        claim = buffers(app, "select * from claim('h')")
        [(id_, token)] = app.do("select id, token from work where token <> 0")
        end = buffers(app, f"select complete({id_}, {token})")
        app.commit()
        time_passes(pg)
    return claim, end


def test_b01_a_long_lane_costs_the_same_as_a_short_one(pull):
    """One key with thousands of events: neither a claim nor its completion reads the others."""
    fill(pull, 10, 1)
    short = cost_of_one_key(pull)
    pull.execute("truncate work, lane, ledger")
    fill(pull, 20_000, 1)
    long = cost_of_one_key(pull)
    assert long[0] < 1.5 * short[0] and long[1] < 1.5 * short[1], (short, long)

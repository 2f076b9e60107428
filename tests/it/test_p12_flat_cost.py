"""P12: the cost of work does not grow with what is finished, nor beside an old open transaction. Buffers are counted, not time."""

import pytest
from support import DONE

from it.working import fill, outcomes, wait_done

ROUND = 4000


def index_buffers(pg):
    pg.execute("select pg_stat_force_next_flush()")  # of the events that were just stored
    return pg.value("select idx_blks_hit + idx_blks_read from pg_statio_user_indexes where indexrelname = 'work_due'")


def run_round(pg, inboxd, n):
    """Works a round off; returns how many buffers of the claims' index that took. A session's counts are complete when it ends."""
    fill(pg, ROUND, prefix=f"r{n}")
    before = index_buffers(pg)
    with inboxd(providers={"h": {"on": "ignore"}}, workers=2):
        wait_done(pg)
    pg.wait_until("select count(*) from pg_stat_activity where application_name like 'inboxd%'", equals=0)
    return index_buffers(pg) - before


@pytest.mark.slow
def test_b01_claims_beside_an_old_snapshot_cost_what_they_always_do(pg, inboxd):
    """Every finished row leaves an index entry that nobody may remove; a claim that walked over them would read ever more."""
    pg.execute("alter table work set (autovacuum_enabled = off)")
    snapshot = pg.session()
    snapshot.do("set transaction isolation level repeatable read")
    snapshot.do("select count(*) from work")
    rounds = [run_round(pg, inboxd, n) for n in range(5)]
    assert outcomes(pg) == {(DONE, 1): 5 * ROUND}
    # With the cursor about 400 in the last round, and some hundred more for each second that it takes; without it 7,700.
    assert rounds[-1] < rounds[0] + 3000, rounds


def test_finished_events_are_not_read(pg, inboxd):
    """A hundred thousand finished events: working off a few more reads none of their tables by a sequential scan."""
    pg.execute("""
        insert into ledger (provider, event_id, id, body_sha256)
        select 'h', 'old' || n, nextval('event_id_seq'), '' from generate_series(1, 100000) n;
        insert into outcome (id, provider, status, attempt) select id, provider, 2, 1 from ledger;
        analyze""")
    fill(pg, 1000)
    scanned = (
        "select sum(seq_tup_read) from pg_stat_user_tables"
        " where relname in ('ledger', 'outcome') or relname like 'event\\_store%'"
    )
    before = pg.value(scanned)
    with inboxd():
        pg.wait_until("select sum(done) from counters", equals=1000)
    pg.wait_until("select count(*) from pg_stat_activity where application_name like 'inboxd worker%'", equals=0)
    assert pg.value(scanned) == before
    assert outcomes(pg) == {(DONE, 1): 101000}

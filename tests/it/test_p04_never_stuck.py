"""P4: an event whose worker died is run again: at once where its claim was a row lock and the process died, within 15 s where
the worker froze or its host vanished. A worker that lost its claim changes nothing any more."""

import pytest
from support import DONE, wait_until

from it.working import effects, fill, outcomes, wait_done

IN_HANDLER = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
GATED = {"h": {"on": "sql:t.gate", "attempts": 1}}


def test_another_daemon_goes_on_at_once_when_a_worker_dies(pg, inboxd):
    gate = pg.session()
    gate.do("select pg_advisory_lock(7)")
    fill(pg, [{"lock": 7}] + [{"lock": 8}] * 9)
    victim = inboxd(providers=GATED)
    pg.wait_until(IN_HANDLER)
    victim.kill()
    inboxd(providers=GATED)
    # PostgreSQL may notice the death only when it next looks (client_connection_check_interval): no lease is waited for.
    pg.wait_until(IN_HANDLER, equals=1)
    gate.do("select pg_advisory_unlock(7)")
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 10}
    assert effects(pg) == (10, 10)


def test_b11_a_cut_connection_leaves_nothing_behind(pg, inboxd, relay):
    gate = pg.session()
    gate.do("select pg_advisory_lock(7)")
    fill(pg, [{"lock": 7}] + [{"lock": 8}] * 9)
    inboxd(database=relay.conninfo(pg), providers=GATED)
    pg.wait_until(IN_HANDLER)
    relay.cut()
    gate.do("select pg_advisory_unlock(7)")
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 10}
    assert effects(pg) == (10, 10)


def test_work_goes_on_after_an_outage(pg, inboxd, relay):
    inboxd(database=relay.conninfo(pg))
    fill(pg, 50, prefix="a")
    wait_done(pg)
    relay.down()
    fill(pg, 50, prefix="b")
    relay.up()
    wait_done(pg)
    assert effects(pg) == (100, 100)


def test_work_goes_on_after_a_restart_of_the_database(own_pg, cluster, inboxd):
    daemon = inboxd(pg=own_pg, providers={"h": {"attempts": 1}})
    fill(own_pg, 50, prefix="a")
    wait_done(own_pg)
    cluster.restart()
    own_pg.wait_until("select true")
    fill(own_pg, 50, prefix="b")
    wait_done(own_pg)
    assert outcomes(own_pg) == {(DONE, 1): 100}
    assert effects(own_pg) == (100, 100)
    assert daemon.running()


def test_events_of_other_daemons_are_found(pg, inboxd):
    """Nobody tells this daemon of them; some become visible long after later ones were claimed."""
    inboxd()
    late = pg.session()
    late.do("insert into work (id, provider, class, received_at) values (nextval('event_id_seq'), 'h', 'sql', now())")
    late.do(
        "insert into event_store (id, provider, event_id, received_at, headers, payload, payload_repaired, signature_verified)"
        " select id, 'h', 'late', now(), '{}', '{}', false, true from work"
    )
    for n in range(4):
        fill(pg, 100, prefix=f"r{n}")
        wait_done(pg)
    late.commit()
    wait_done(pg)
    assert effects(pg) == (401, 401)


def test_a_far_future_run_at_waits_and_an_old_one_does_not(pg, inboxd):
    inboxd()
    fill(pg, 10, prefix="a")
    wait_done(pg)
    pg.execute("create function t.shift() returns trigger language plpgsql as"
               " $$ begin new.run_at := now() + (case when new.id % 2 = 0 then '-3 days' else '3 days' end)::interval; return new; end $$")  # fmt: skip
    pg.execute("create trigger shift before insert on work for each row execute function t.shift()")
    fill(pg, 40, prefix="b")
    pg.wait_until("select count(*) from work", equals=20)
    pg.wait_until("select count(*) from work where id % 2 = 0", equals=0)
    assert effects(pg) == (30, 30)


@pytest.mark.slow
def test_a_frozen_daemon_loses_its_claims_and_changes_nothing(pg, inboxd):
    fill(pg, 3)
    frozen = inboxd(faults="work.after_claim=wait:2000", workers=1)
    wait_until(lambda: pg.value("select count(*) from pg_stat_activity where state = 'idle in transaction'"))
    frozen.freeze()
    inboxd()
    pg.wait_until("select count(*) from work", equals=0, timeout=60)
    frozen.thaw()
    pg.wait_until("select count(*) from pg_stat_activity where state = 'idle in transaction'", equals=0)
    fill(pg, 3, prefix="later")
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 6}
    assert effects(pg) == (6, 6)

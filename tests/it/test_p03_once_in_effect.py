"""P3: a handler's changes and the done mark commit in one transaction. Kill anything at any instant: the effect is there once."""

import itertools

import pytest
from support import DONE, wait_until

from it.working import QUICK, effects, fill, outcomes, wait_done

N = 120


def assert_once(pg, n):
    assert effects(pg) == (n, n)
    assert pg.value("select count(*) from outcome where status = %s", DONE) == n
    assert pg.value("select count(*) from processed_events") == n
    assert pg.value("select count(*) from work") == 0


@pytest.mark.parametrize("point", ["work.after_claim", "work.before_commit", "work.after_commit"])
@pytest.mark.parametrize("passage", [1, 3])
def test_effect_once_when_the_daemon_dies(pg, inboxd, point, passage):
    fill(pg, N)
    # It may be dead before it could say that it is ready.
    inboxd(faults=f"{point}=kill:{passage}", start=False).spawn().wait_killed()
    first = pg.value("select count(*) from t.effect")
    assert (first > 0) == (point == "work.after_commit" or passage > 1)
    with inboxd():
        wait_done(pg)
    assert_once(pg, N)
    assert outcomes(pg) == {(DONE, 1): N}  # nobody lost an attempt


@pytest.mark.parametrize("point", ["work.after_claim", "work.before_commit"])
def test_effect_once_when_a_step_fails(pg, inboxd, point):
    fill(pg, N)
    with inboxd(faults=f"{point}=error:5"):
        wait_done(pg)
    assert_once(pg, N)


def test_effect_once_when_the_daemon_dies_inside_of_a_handler(pg, inboxd):
    gate = pg.session()
    gate.do("select pg_advisory_lock(7)")
    fill(pg, [{"lock": 7 if n == 10 else 8} for n in range(20)])
    with inboxd(providers={"h": {"on": "sql:t.gate"}}) as daemon:
        pg.wait_until("select count(*) > 0 from pg_locks where locktype = 'advisory' and not granted")
        daemon.kill()
    gate.do("select pg_advisory_unlock(7)")
    with inboxd(providers={"h": {"on": "sql:t.gate"}}):
        wait_done(pg)
    assert_once(pg, 20)


@pytest.mark.slow
def test_effect_once_through_a_loop_of_kills(pg, inboxd):
    total = 1500
    fill(pg, total)
    daemon = inboxd(faults="work.before_commit=wait:3", workers=4)
    for kills in itertools.count():
        seen = pg.value("select count(*) from outcome")
        if seen == total:
            break
        wait_until(lambda: pg.value("select count(*) from outcome") >= min(total, seen + 200), what="progress")
        daemon.kill()
        daemon.start()
    assert kills > 3
    assert_once(pg, total)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["backend", "postgres"])
def test_effect_once_when_the_database_dies(own_pg, cluster, inboxd, how):
    """kill -9 of a worker's backend (PostgreSQL then ends all sessions) and of PostgreSQL itself."""
    total = 3000
    fill(own_pg, total)
    inboxd(pg=own_pg, faults="work.before_commit=wait:3")
    workers = "from pg_stat_activity where application_name like 'inboxd worker%'"
    for _ in range(4):
        # In one query: the server may still be on its way down from the last round.
        pid, seen = own_pg.wait_rows(f"select pid, (select count(*) from outcome) {workers} order by state", timeout=60)[0]
        if how == "backend":
            cluster.kill_backend(pid)
        else:
            cluster.kill()
            cluster.start()
        own_pg.wait_until("select count(*) = %s or count(*) > %s from outcome", total, seen, timeout=60)
    wait_done(own_pg, 120)
    assert_once(own_pg, total)


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("nth", [1, 2])
def test_b19_effect_once_when_the_reply_to_commit_is_lost(pg, inboxd, relay, applied, nth):
    """The connection is cut with the commit applied or not: nobody knows, and a commit is never sent again."""
    fill(pg, N)
    lost = relay.swallow(nth=nth, applied=applied)
    inboxd(database=relay.conninfo(pg), workers=1)
    lost.wait()
    wait_done(pg)
    assert_once(pg, N)
    assert outcomes(pg) == {(DONE, 1): N}


def test_effect_once_with_two_daemons(pg, inboxd):
    first, second = inboxd(), inboxd()
    fill(pg, 1500)
    fill(pg, 1500, provider="n")
    wait_done(pg)
    assert_once(pg, 3000)
    assert first.running() and second.running()


def test_the_effect_and_the_done_mark_are_one_transaction(pg, inboxd):
    pg.execute("alter table t.effect add column xid bigint default txid_current()")
    fill(pg, 60)
    with inboxd():
        wait_done(pg)
    assert pg.value(
        "select count(*) from t.effect e join ledger l using (provider, event_id) join outcome o using (id)"
        " where (o.xmin::text::bigint - e.xid) between 0 and 60"
    ) == 60  # the outcome's row belongs to the same transaction or a savepoint of it
    assert pg.value("select count(distinct xid) < 60 from t.effect")  # and those are batches


def test_a_failed_handler_leaves_nothing_and_its_neighbours_everything(pg, inboxd):
    pg.execute("""
        create function t.some(e inboxd.event) returns void language plpgsql as $$
        begin
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
            if e.payload ? 'bad' then raise exception 'bad'; end if;
        end $$""")
    fill(pg, [{"bad": 1} if n % 7 == 3 else {} for n in range(100)])
    with inboxd(providers={"h": {"on": "sql:t.some", **QUICK}}):
        wait_done(pg)
    bad = len([n for n in range(100) if n % 7 == 3])
    assert effects(pg) == (100 - bad, 100 - bad)
    assert outcomes(pg) == {(DONE, 1): 100 - bad, (3, 3): bad}


DEFERRED = """
    create table t.parent (id text primary key);
    create table t.child (id text references t.parent deferrable initially deferred);
    grant all on t.parent, t.child to public;
    create function t.child_first(e inboxd.event) returns void language plpgsql as $$
    begin
        insert into t.effect (provider, event_id) values (e.provider, e.event_id);
        insert into t.child (id) values (e.event_id);
        if not e.payload ? 'orphan' then insert into t.parent (id) values (e.event_id); end if;
    end $$
"""


def test_a_deferred_constraint_fails_its_own_event_and_stays_deferred_for_the_next(pg, inboxd):
    pg.execute(DEFERRED)
    fill(pg, [{"orphan": 1} if n % 10 == 5 else {} for n in range(100)])
    with inboxd(providers={"h": {"on": "sql:t.child_first", **QUICK}}):
        wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 90, (3, 3): 10}
    assert effects(pg) == (90, 90)
    assert pg.value("select count(*) from top_errors where error like '%%violates foreign key%(23503)'") == 1


def test_a_constraint_that_only_fails_at_the_commit_is_still_charged_to_its_event(pg, inboxd):
    """Two events that break a deferred constraint only together: the batch fails at COMMIT, then they run one by one."""
    pg.execute("""
        create table t.total (event_id text, n int);
        grant all on t.total to public;
        create function t.at_most_one() returns trigger language plpgsql as $$
        begin
            if current_setting('t.checking', true) is distinct from 'off'
               and (select count(*) from t.total where n = new.n) > 1 then
                raise exception 'two of %', new.n;
            end if;
            return null;
        end $$;
        create constraint trigger at_most_one after insert on t.total deferrable initially deferred
            for each row execute function t.at_most_one();
        create function t.add(e inboxd.event) returns void language plpgsql as $$
        begin
            insert into t.total values (e.event_id, (e.payload ->> 'n')::int);
            perform set_config('t.checking', case when e.payload ? 'last' then 'on' else 'off' end, true);
        end $$
    """)
    fill(pg, [{"n": 1}, {"n": 1}, {"n": 2, "last": 1}])
    with inboxd(providers={"h": {"on": "sql:t.add", **QUICK}}, workers=1):
        wait_done(pg)
    assert sum(outcomes(pg).values()) == 3
    assert pg.value("select count(*) from outcome where status = 2") == pg.value("select count(*) from t.total")


def test_ignored_events_are_done_without_a_call(pg, inboxd):
    fill(pg, 30, event_type="ping")
    fill(pg, 30, prefix="f", event_type="pong")
    with inboxd(providers={"h": {"event_type": "body:/type", "on ping": "ignore"}}):
        wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 60}
    assert effects(pg) == (30, 30)

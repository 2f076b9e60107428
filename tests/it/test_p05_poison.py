"""P5: an event that fails, hangs or kills its handler's session costs only itself: bounded attempts, then dead and visible;
no neighbour of its batch loses an attempt by it."""

import signal

import pytest
from support import DEAD, DONE, wait_until

from it.working import QUICK, effects, fill, fill_keys, outcomes, wait_done

SIGKILLED = """
    create function t.kill_backend() returns void language plpgsql security definer as $$
    begin
        execute format('copy (select 1) to program %L', 'kill -9 ' || pg_backend_pid());
        perform pg_sleep(60);
    end $$;
    create function t.killed(e inboxd.event) returns void language plpgsql as $$
    begin
        if e.payload ? 'crash' then perform t.kill_backend(); end if;
        insert into t.effect (provider, event_id) values (e.provider, e.event_id);
    end $$;
"""


def poisoned(total, poison, where=(3, 500)):
    return [poison if n in where else {} for n in range(total)]


def assert_only_poison_is_dead(pg, total, attempts=3, poison=2):
    assert outcomes(pg) == {(DONE, 1): total - poison, (DEAD, attempts): poison}
    assert effects(pg) == (total - poison, total - poison)
    assert sorted(pg.column("select event_id from dead_letters")) == ["e00003", "e00500"][:poison]


def test_a_failing_event_costs_only_itself(pg, inboxd):
    pg.execute("""
        create function t.bad(e inboxd.event) returns void language plpgsql as $$
        begin
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
            if e.payload ? 'bad' then raise exception 'bad event'; end if;
        end $$""")
    fill(pg, poisoned(1000, {"bad": 1}))
    daemon = inboxd(providers={"h": {"on": "sql:t.bad", **QUICK}})
    wait_done(pg)
    assert_only_poison_is_dead(pg, 1000)
    assert set(pg.column("select last_error from dead_letters")) == {"bad event (P0001)"}
    assert pg.rows("select kind, count(*) from attempt_log group by 1 order by 1") == [("dead", 2), ("retry", 4)]
    assert pg.value("select sum(done) from counters") == 998
    assert pg.value("select sum(failed) from counters") == 6
    daemon.wait_log("event is dead")
    assert "bad event" not in daemon.log_text()  # a message may hold what the event held


def test_a_hanging_event_costs_only_itself(pg, inboxd):
    fill(pg, [{"s": 3600 if n in (3, 500) else 0} for n in range(600)])
    inboxd(providers={"h": {"on": "sql:t.sleep", "timeout": "300ms", **QUICK}})
    wait_done(pg)
    assert_only_poison_is_dead(pg, 600)
    assert pg.rows("select kind, count(*) from attempt_log where kind <> 'dead' group by 1") == [("timeout", 4)]
    assert pg.value("select bool_and(took >= interval '0.29 s') from attempt_log where kind = 'timeout'")


def test_hanging_handlers_leave_room_for_other_providers(pg, inboxd):
    fill(pg, [{"s": 3600}] * 40)
    inboxd(providers={"h": {"on": "sql:t.sleep", "timeout": "30s"}}, workers=3, shutdown_timeout="1s")
    hanging = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"
    pg.wait_until(hanging, equals=2)
    fill(pg, 200, provider="n")
    pg.wait_until("select count(*) from outcome where provider = 'n'", equals=200)
    assert pg.value(hanging) == 2


def test_b14_an_event_that_ends_its_session_costs_only_itself(pg, inboxd):
    fill(pg, poisoned(1000, {"crash": 1}))
    daemon = inboxd(providers={"h": {"on": "sql:t.crash", **QUICK}})
    wait_done(pg, 120)
    assert_only_poison_is_dead(pg, 1000)
    assert all("did not finish" in error for error in pg.column("select last_error from dead_letters"))
    assert pg.value("select count(*) from attempt_log where kind = 'lost'") == 6
    assert daemon.running()


@pytest.mark.slow
def test_b14_an_event_that_crashes_its_backend_costs_only_itself(own_pg, inboxd):
    own_pg.execute(SIGKILLED)
    fill(own_pg, poisoned(600, {"crash": 1}, where=(3,)))
    daemon = inboxd(pg=own_pg, providers={"h": {"on": "sql:t.killed", **QUICK}})
    own_pg.wait_until("select count(*) from work", equals=0, timeout=120)
    assert_only_poison_is_dead(own_pg, 600, poison=1)
    assert daemon.running()


def test_an_event_that_is_suspected_in_vain_keeps_its_attempts(pg, inboxd):
    """A worker's session ended by an operator: nobody is to blame, and nobody pays."""
    pg.execute("create sequence t.runs; grant usage on t.runs to public")
    pg.execute("""
        create function t.slow_once(e inboxd.event) returns void language plpgsql as $$
        begin
            if nextval('t.runs') = 10 then perform pg_sleep(60); end if;
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
        end $$""")
    fill(pg, 60)
    daemon = inboxd(providers={"h": {"on": "sql:t.slow_once", "attempts": 1}})
    pid = wait_until(lambda: pg.value("select pid from pg_stat_activity where wait_event = 'PgSleep'"))
    pg.execute("select pg_terminate_backend(%s)", pid)
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 60}
    assert effects(pg) == (60, 60)
    assert "lost the database session while handlers ran" in daemon.log_text()


# What an error means ----------------------------------------------------------------------------------


def test_a_retry_that_succeeds_is_done_with_its_number(pg, inboxd):
    fill(pg, [{"fail_below": 3}] * 20)
    inboxd(providers={"h": {"on": "sql:t.flaky", **QUICK}})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 3): 20}
    assert effects(pg) == (20, 20)


def test_reject_is_dead_at_once(pg, inboxd):
    fill(pg, [{"why": "no such currency"}] * 3)
    inboxd(providers={"h": {"on": "sql:t.reject"}})
    wait_done(pg)
    assert outcomes(pg) == {(DEAD, 1): 3}
    assert pg.rows("select distinct last_error from dead_letters") == [("no such currency",)]


DEFERS = """
    create table t.ready (event_id text);
    grant all on t.ready to public;
    create function t.when_ready(e inboxd.event) returns void language plpgsql as $$
    begin
        if not exists (select from t.ready r where r.event_id = e.event_id) then
            perform inboxd.defer('not ready', (e.payload ->> 'delay')::interval);
        end if;
        insert into t.effect (provider, event_id) values (e.provider, e.event_id);
    end $$
"""


def test_a_deferred_event_costs_no_attempt_and_is_tried_again(pg, inboxd):
    pg.execute(DEFERS)
    fill(pg, [{"delay": "50 ms"}, {}, {}])
    inboxd(providers={"h": {"on": "sql:t.when_ready", "defer": "60ms", "attempts": 1}})
    pg.wait_until("select count(*) > 9 from attempt_log where kind = 'defer'")
    assert pg.rows("select distinct attempt, last_error, deferred_since is not null from work") == [(0, "not ready", True)]
    pg.execute("insert into t.ready values ('e00000'), ('e00001'), ('e00002')")
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 3}
    assert effects(pg) == (3, 3)


def test_a_deferral_is_bounded(pg, inboxd):
    pg.execute(DEFERS)
    fill(pg, [{"delay": "1 day"}])
    inboxd(providers={"h": {"on": "sql:t.when_ready", "defer": "200ms", "defer_limit": "300ms"}})
    wait_done(pg)
    assert outcomes(pg) == {(DEAD, 1): 1}
    error = pg.value("select last_error from dead_letters")
    assert "defer_limit" in error and "not ready" in error


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_a_conflict_costs_no_attempt(pg, inboxd, state):
    pg.execute("create sequence t.runs; grant usage on t.runs to public")
    pg.execute(f"""
        create function t.conflicts(e inboxd.event) returns void language plpgsql as $$
        begin
            if e.payload ? 'c' and nextval('t.runs') < 6 then
                raise exception 'conflict' using errcode = '{state}';
            end if;
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
        end $$""")
    fill(pg, [{"c": 1} if n == 5 else {} for n in range(50)])
    inboxd(providers={"h": {"on": "sql:t.conflicts", "attempts": 1}})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 50}
    assert effects(pg) == (50, 50)
    assert pg.value("select count(*) from attempt_log") == 0


def test_deadlocks_between_batches_resolve_themselves(pg, inboxd):
    """Every event locks two of few rows, in any order: batches deadlock, single events hardly."""
    pg.execute("create table t.account (id int primary key, n int not null default 0)")
    pg.execute("insert into t.account select generate_series(0, 4); grant all on t.account to public")
    pg.execute("""
        create function t.move(e inboxd.event) returns void language plpgsql as $$
        begin
            update t.account set n = n + 1 where id = (e.payload ->> 'from')::int;
            update t.account set n = n - 1 where id = (e.payload ->> 'to')::int;
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
        end $$""")
    fill(pg, [{"from": n % 5, "to": (n * 3 + 1) % 5} for n in range(400)])
    inboxd(providers={"h": {"on": "sql:t.move", "attempts": 1}})
    wait_done(pg, 120)
    assert outcomes(pg) == {(DONE, 1): 400}
    assert effects(pg) == (400, 400)
    assert pg.value("select sum(n) from t.account") == 0


def test_a_handler_that_does_not_exist_yet_is_a_retry(pg, inboxd):
    fill(pg, 20)
    daemon = inboxd(providers={"h": {"on": "sql:later.handler", "backoff": "10ms", "attempts": 1000}})
    daemon.wait_log("handler does not exist yet")
    daemon.wait_log("cannot call handler, retrying")
    pg.wait_until("select count(*) > 0 from work where last_error like '%does not exist (3F000)'")
    pg.execute("create schema later; grant usage on schema later to public")
    pg.wait_until("select count(*) > 0 from work where last_error like '%does not exist (42883)'")
    pg.execute("create function later.handler(e inboxd.event) returns void language sql as 'select t.ok(e)'")
    wait_done(pg)
    assert effects(pg) == (20, 20)


def test_b15_errors_of_any_size(pg, inboxd):
    pg.execute("""
        create function t.loud(e inboxd.event) returns void language plpgsql as $$
        declare
            big text := repeat('x', 8190) || repeat(chr(128512), 500000);
        begin
            raise exception '%', case e.payload ->> 'how' when 'message' then big else 'short' end
                using detail = case e.payload ->> 'how' when 'detail' then big else '' end;
        end $$;
        create function t.deep(e inboxd.event) returns void language plpgsql as $$
        begin
            execute 'select 1/0 /* ' || repeat('y', 2000000) || ' */';
        end $$""")
    fill(pg, [{"how": "message"}, {"how": "detail"}, {}])
    fill(pg, 1, provider="n")
    inboxd(providers={"h": {"on": "sql:t.loud", "backoff": "1h"}, "n": {"on": "sql:t.deep", "backoff": "1h"}})
    pg.wait_until("select count(*) from work where attempt = 1", equals=4)
    assert pg.value("select max(octet_length(last_error)) from work") < 8300
    assert pg.value("select max(octet_length(error)) from attempt_log") < 16000
    error = pg.value("select last_error from work order by id limit 1")
    assert error == "x" * 8190 + " [cut, 2008190 bytes in all] (P0001)"
    assert pg.value("select count(*) from top_errors") == 3


@pytest.mark.parametrize("attempt", [31, 62, 63, 310, 1023, 1100])
def test_b10_high_attempt_numbers_are_rescheduled(pg, inboxd, attempt):
    fill(pg, [{"msg": "no"}])
    pg.execute("update work set attempt = %s", attempt)
    inboxd(providers={"h": {"on": "sql:t.fail", "attempts": 10000, "backoff": "exponential 2s 1h"}})
    pg.wait_until("select attempt from work", equals=attempt + 1)
    assert pg.value("select run_at - now() between interval '-10 s' and interval '1 hour' from work")


def test_b28_retries_spread_over_the_whole_delay(pg, inboxd):
    total = 2000
    fill(pg, [{"msg": "down"}] * total)
    inboxd(providers={"h": {"on": "sql:t.fail", "backoff": "exponential 10h 10h"}})
    pg.wait_until("select count(*) from work where attempt = 1", equals=total, timeout=120)
    parts = pg.rows("select width_bucket(extract(epoch from run_at - now())::float8, 0, 36000, 10) as b, count(*) from work group by 1")
    assert all(total / 10 * 0.7 < count < total / 10 * 1.3 for bucket, count in parts if 1 <= bucket <= 10), parts
    assert sum(count for bucket, count in parts if 1 <= bucket <= 10) > total * 0.98


# Plans that went stale --------------------------------------------------------------------------------


def test_b18_changes_of_tables_and_functions_burn_no_attempt(pg, inboxd):
    daemon = inboxd(providers={"h": {"attempts": 1}})
    for n, change in enumerate([
        "select 1",
        "alter table inboxd.event_store add column added int; alter table inboxd.work add column added int",
        "alter table t.effect add column added int",
        "create or replace function t.ok(e inboxd.event) returns void language plpgsql as"
        " $$ begin insert into t.effect (provider, event_id) values (e.provider, e.event_id); end $$",
        "drop function t.ok; create function t.ok(e inboxd.event) returns void language sql as"
        " $$ insert into t.effect (provider, event_id) values (e.provider, e.event_id) $$",
        "analyze",
    ]):  # fmt: skip
        pg.execute(change)
        fill(pg, 100, prefix=f"r{n}")
        pg.wait_until("select count(*) from outcome", equals=100 * (n + 1))
    assert outcomes(pg) == {(DONE, 1): 600}
    assert effects(pg) == (600, 600)
    assert daemon.post("h", {"id": "last"}).status == 200


@pytest.mark.parametrize("statement", ["deallocate all", "discard plans"])
def test_b18_a_handler_that_forgets_the_sessions_statements_burns_no_attempt(pg, inboxd, statement):
    pg.execute("create sequence t.runs; grant usage on t.runs to public")
    pg.execute(f"""
        create function t.forgets(e inboxd.event) returns void language plpgsql as $$
        begin
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
            if nextval('t.runs') in (5, 80, 170) then execute '{statement}'; end if;
        end $$""")
    fill(pg, 200)
    # One worker, and far apart: a sequence is not rolled back, and a batch's second run must not forget again.
    inboxd(workers=1, providers={"h": {"on": "sql:t.forgets", "attempts": 1}})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 200}
    assert effects(pg) == (200, 200)


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_b14_a_claim_of_keys_begins_no_attempt_that_it_does_not_run(pg, inboxd, order):
    """Handlers take longer than a claim holds its keys, so that of several keys only the first one's event runs."""
    fill_keys(pg, [{"s": 0.15}] * 16)
    pg.execute("update work set suspect = true where id % 2 = 0")
    inboxd(providers={"h": {"on": "sql:t.sleep", "key": "body:/k", "order": order}}, workers=1)
    wait_done(pg)
    assert pg.column("select error from attempt_log") == []
    assert outcomes(pg) == {(DONE, 1): 16}
    assert effects(pg) == (16, 16)


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_b14_a_worker_that_is_too_slow_to_begin_gives_the_attempt_back(pg, inboxd, order):
    """After two thirds of the lease nothing of a claim begins: others may soon have it."""
    fill_keys(pg, [{}])
    pg.execute("update work set suspect = true")
    daemon = inboxd(providers={"h": {"on": "sql:t.ok", "key": "body:/k", "order": order, "attempts": 3, "lease": "1s"}},
                    workers=1, faults="work.after_claim=wait:800")  # fmt: skip
    wait_until(lambda: daemon.log_text().count("a lease ran out before its events were done") >= 4, 60)
    assert daemon.terminate() == 0
    assert effects(pg) == (0, 0)
    del daemon.env["INBOXD_FAULTS"]
    daemon.reconfigure(providers={"h": {"lease": "1m"}})
    daemon.start()
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 1}
    assert pg.column("select error from attempt_log") == []
    assert effects(pg) == (1, 1)


# Reload, shutdown ---------------------------------------------------------------------------


def test_b26_a_shutdown_gives_back_what_runs_too_long(pg, inboxd):
    fill(pg, [{"s": 0.01}, {"s": 3600}, {"s": 0.01}])
    daemon = inboxd(providers={"h": {"on": "sql:t.sleep", "timeout": "10m", "attempts": 1}}, shutdown_timeout="1s")
    pg.wait_until("select count(*) > 0 from pg_stat_activity where wait_event = 'PgSleep'")
    assert daemon.terminate() == 0
    assert pg.rows("select attempt, last_error, suspect from work order by id") == [(0, None, False)] * 3
    assert effects(pg) == (0, 0)


def test_b26_a_shutdown_gives_the_attempt_of_a_lone_event_back(pg, inboxd):
    fill(pg, [{"s": 3600}])
    pg.execute("update work set suspect = true")
    daemon = inboxd(providers={"h": {"on": "sql:t.sleep", "timeout": "10m", "attempts": 1}}, shutdown_timeout="1s")
    pg.wait_until("select count(*) > 0 from pg_stat_activity where wait_event = 'PgSleep'")
    assert pg.value("select attempt from work") == 1
    assert daemon.terminate() == 0
    assert pg.rows("select attempt, suspect from work") == [(0, True)]
    assert pg.value("select last_error like '%does not count' from work")


def test_short_handlers_finish_before_the_daemon_ends(pg, inboxd):
    fill(pg, [{"s": 0.5}])
    daemon = inboxd(providers={"h": {"on": "sql:t.sleep"}})
    pg.wait_until("select count(*) > 0 from pg_stat_activity where wait_event = 'PgSleep'")
    assert daemon.terminate() == 0
    assert outcomes(pg) == {(DONE, 1): 1}


def test_a_reload_changes_handlers_and_threads(pg, inboxd):
    daemon = inboxd(providers={"h": {"on": "sql:t.fail", "attempts": 1}}, workers=1)
    threads = "select count(*) from pg_stat_activity where application_name like 'inboxd worker%'"
    fill(pg, [{"msg": "no"}], prefix="a")
    wait_done(pg)
    for workers, handler in ((4, "sql:t.ok"), (2, "sql:t.ok"), (3, "ignore")):
        daemon.reconfigure(workers=workers, providers={"h": {"on": handler}})
        daemon.reload()
        fill(pg, [{"msg": "no"}] * 400, prefix=f"b{workers}")
        wait_done(pg)
        pg.wait_until(f"{threads.replace('count(*)', f'count(*) <= {workers}')}")
    assert outcomes(pg) == {(DEAD, 1): 1, (DONE, 1): 1200}
    assert effects(pg) == (800, 800)
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit() == 0

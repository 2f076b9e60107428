"""P4 and P5 for leased actions: an event that runs outside of a transaction is kept from others by a lease. A worker that dies
costs no more than the lease; one that lives keeps it; one that lost it changes nothing."""

import json

import pytest
from support import DEAD, DONE, wait_until

from sql.statements import event, run, store

from it.working import QUICK, effects, fill, outcomes, wait_done


class Program:
    """A program for `on = exec:`, which notes its runs in a file: lines "EVENT ATTEMPT begin" and "... end"."""

    def __init__(self, folder, name, text):
        self.file, self.notes = folder / name, folder / f"{name}.notes"
        self.notes.touch()
        self.file.write_text(
            f"#!/bin/sh\nnote() {{ echo \"$INBOXD_EVENT_ID $INBOXD_ATTEMPT $1\" >>'{self.notes}'; }}\nnote begin\n{text}\nnote end\n")
        self.file.chmod(0o755)
        self.action = f"exec:{self.file}"

    def seen(self, what="begin"):
        """Events (with a repetition for each run) that have begun, or ended."""
        return sorted(line.split()[0] for line in self.notes.read_text().splitlines() if line.endswith(what))

    def wait(self, what="begin", count=1):
        wait_until(lambda: len(self.seen(what)) >= count, what=f"{count} runs that {what}")


@pytest.fixture
def program(tmp_path):
    def make(text="", name="program"):
        return Program(tmp_path, name, text)

    return make


def leased(*actions, **more):
    return {"h": {"on": ", ".join(actions), "lease": "1s", **QUICK, **more}}


def put(pg, bodies, **more):
    return fill(pg, bodies, **{"class": "leased", **more})


def names(count):
    return [f"e{n:05}" for n in range(count)]


SLEEP = """s=$(sed -n 's/.*"s": *\\([0-9.]*\\).*/\\1/p'); sleep "${s:-0}" """


# What runs ----------------------------------------------------------------------------------------


def test_each_event_runs_once(pg, inboxd, program):
    it = program()
    put(pg, 120)
    inboxd(providers=leased(it.action))
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 120}
    assert it.seen() == it.seen("end") == names(120)
    assert pg.value("select sum(done) from counters") == 120


def test_the_sql_parts_run_in_the_completion_when_the_rest_has_succeeded(pg, inboxd, program):
    it = program("""grep -q bad && exit 1""")
    put(pg, [{"bad": 1} if n % 10 == 3 else {} for n in range(40)])
    inboxd(providers=leased("sql:t.ok", it.action))
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 36, (DEAD, 3): 4}
    assert effects(pg) == (36, 36)
    assert len(it.seen()) == 36 + 4 * 3


def test_a_sql_part_that_fails_fails_its_event_only(pg, inboxd, program):
    pg.execute("""
        create function t.bad(e inboxd.event) returns void language plpgsql as $$
        begin
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
            if e.payload ? 'bad' then raise exception 'bad event'; end if;
        end $$""")
    it = program()
    put(pg, [{"bad": 1} if n % 10 == 3 else {} for n in range(40)])
    inboxd(providers=leased(it.action, "sql:t.bad"))
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 36, (DEAD, 3): 4}
    assert effects(pg) == (36, 36)
    assert set(pg.column("select last_error from dead_letters")) == {"bad event (P0001)"}


def test_a_sql_part_that_only_fails_at_the_commit_is_charged_to_its_event(pg, inboxd, program):
    pg.execute("""
        create table t.parent (id text primary key);
        create function t.no_commit() returns trigger language plpgsql as $$
        begin
            if current_setting('t.off', true) is distinct from 'on' then raise exception 'not at the commit'; end if;
            return null;
        end $$;
        grant all on t.parent to public;
        create constraint trigger no_commit after insert on t.parent deferrable initially deferred
            for each row execute function t.no_commit();
        create function t.late(e inboxd.event) returns void language plpgsql as $$
        begin
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
            perform set_config('t.off', 'on', true);
            if e.payload ? 'bad' then insert into t.parent values (e.event_id); end if;
            set constraints all immediate;
            perform set_config('t.off', 'off', true);
            if e.payload ? 'bad' then insert into t.parent values (e.event_id || 'x'); end if;
        end $$
    """)
    it = program()
    put(pg, [{"bad": 1} if n == 3 else {} for n in range(8)])
    inboxd(providers=leased(it.action, "sql:t.late"), workers=1)
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 7, (DEAD, 3): 1}
    assert effects(pg) == (7, 7)
    assert it.seen().count("e00003") == 3  # settling again is no reason to run again
    assert len(it.seen()) == 10


def test_slow_events_do_not_wait_for_each_other(pg, inboxd, program):
    """What has not begun is put back when one takes long, so that other workers have it, and burns no attempt."""
    it = program(SLEEP)
    put(pg, [{"s": 2}] * 6)
    inboxd(providers={"h": {**leased(it.action)["h"], "concurrency": 6}}, workers=6)
    it.wait("begin", 6)
    assert it.seen("end") == [] or len(it.seen("begin")) == 6
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 6}
    assert it.seen() == names(6)


def test_a_program_that_hangs_is_ended_and_costs_only_itself(pg, inboxd, program):
    it = program(SLEEP)
    put(pg, [{"s": 3600} if n == 3 else {} for n in range(40)])
    inboxd(providers=leased(it.action, timeout="1s"))
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 39, (DEAD, 3): 1}
    assert pg.column("select kind from attempt_log order by at") == ["timeout", "timeout", "dead"]
    assert it.seen("end") == [name for name in names(40) if name != "e00003"]


# Routes and classes -------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["sql", "leased", "pull"])
def test_an_event_whose_class_no_longer_fits_is_put_back_and_runs(pg, inboxd, program, stored):
    it = program()
    put(pg, 20, prefix="a", **{"class": stored}, event_type="a")
    put(pg, 20, prefix="b", **{"class": stored}, event_type="b")
    inboxd(providers={"h": {"event_type": "body:/type", "on": it.action, "on b": "sql:t.ok", **QUICK}})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 40}
    assert it.seen() == [f"a{n:05}" for n in range(20)]
    assert effects(pg) == (20, 20)
    assert pg.value("select count(*) from attempt_log") == 0


def test_an_event_that_runs_alone_keeps_its_attempts_when_its_class_changes(pg, inboxd, program):
    it = program()
    put(pg, 3, **{"class": "sql"})
    pg.execute("update work set suspect = true, attempt = 1")
    inboxd(providers=leased(it.action))
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 2): 3}


def test_the_class_is_known_when_an_event_is_stored(pg, inboxd, program):
    it = program()
    daemon = inboxd(workers=0, providers={
        "h": {"event_type": "body:/type", "on": "sql:t.ok", "on x*": it.action, "on p": "pull", "key": None}})
    for type_ in ("x1", "p", "q"):
        daemon.post("h", {"id": type_, "type": type_})
    assert pg.rows("select event_type, class from work order by 1") == [("p", "pull"), ("q", "sql"), ("x1", "leased")]


# P4: a worker dies, freezes, loses its connection -------------------------------------------------------


def test_p04_b11_a_lease_ends_when_its_worker_dies(pg, inboxd, program):
    it = program(f"""[ $INBOXD_ATTEMPT = 1 ] && [ ! -e "$0.dead" ] && sleep 60""")
    put(pg, 5)
    victim = inboxd(providers=leased(it.action), workers=1)
    it.wait()
    victim.kill()
    (it.file.parent / "program.dead").touch()
    inboxd(providers=leased(it.action))
    wait_done(pg)
    assert sum(outcomes(pg).values()) == 5 and all(status == DONE for status, _ in outcomes(pg))
    assert it.seen("end") == names(5)
    assert pg.value("select count(*) >= 1 and bool_and(kind = 'lost') from attempt_log")


def test_p04_b11_b12_a_frozen_worker_loses_its_lease_and_changes_nothing(pg, inboxd, program):
    it = program(f"""[ -e "$0.frozen" ] || sleep 3""")
    put(pg, 1)
    victim = inboxd(providers=leased(it.action, "sql:t.ok"), workers=1)
    it.wait()
    victim.freeze()
    (it.file.parent / "program.frozen").touch()
    inboxd(providers=leased(it.action, "sql:t.ok"))
    wait_done(pg)
    assert effects(pg) == (1, 1)
    before = pg.rows("select * from outcome"), pg.rows("select * from attempt_log")
    victim.thaw()
    victim.wait_log("lost the lease of an event")
    assert (pg.rows("select * from outcome"), pg.rows("select * from attempt_log")) == before
    assert effects(pg) == (1, 1)
    assert it.seen() == names(1) * 2


def test_b12_whoever_fails_after_losing_its_lease_does_not_disturb_the_one_that_has_it(pg, inboxd, program):
    it = program("""if [ ! -e "$0.frozen" ]; then sleep 1; exit 1; fi; while [ ! -e "$0.go" ]; do sleep 0.05; done""")
    put(pg, 1)
    victim = inboxd(providers=leased(it.action, "sql:t.ok"), workers=1)
    it.wait()
    victim.freeze()
    (it.file.parent / "program.frozen").touch()
    inboxd(providers=leased(it.action, "sql:t.ok"), workers=1)
    it.wait("begin", 2)
    before = pg.rows("select token, attempt, suspect from work")
    victim.thaw()
    victim.wait_log("lost the lease of an event")
    assert pg.rows("select token, attempt, suspect from work") == before
    (it.file.parent / "program.go").touch()
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 1}
    assert effects(pg) == (1, 1)
    assert it.seen() == names(1) * 2
    assert pg.column("select kind from attempt_log") == ["lost"]


def test_b12_a_lease_that_ran_out_unnoticed_is_still_good(pg, inboxd, program):
    it = program("sleep 2")
    put(pg, 1)
    daemon = inboxd(providers=leased(it.action), workers=1)
    it.wait()
    daemon.freeze()
    it.wait("end")
    pg.wait_until("select run_at < now() from work")
    daemon.thaw()
    wait_done(pg)
    assert sum(outcomes(pg).values()) == 1


def test_b12_a_lease_is_renewed_while_its_worker_lives(pg, inboxd, program):
    it = program("sleep 4")
    put(pg, 2)
    for _ in range(2):
        inboxd(providers=leased(it.action))
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 2}
    assert it.seen() == names(2)
    assert pg.value("select count(*) from attempt_log") == 0


def test_b11_a_cut_connection_is_no_reason_to_run_again(pg, inboxd, relay, program):
    it = program("sleep 1")
    put(pg, 1)
    inboxd(database=relay.conninfo(pg), providers=leased(it.action, lease="15s"))
    it.wait()
    relay.cut()
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 1}
    assert it.seen() == names(1)


@pytest.mark.parametrize("applied", [True, False])
def test_b19_the_reply_to_the_commit_of_a_completion_is_lost(pg, inboxd, relay, program, applied):
    it = program()
    put(pg, 10)
    lost = relay.swallow("insert into inboxd.outcome", nth=1, applied=applied)
    inboxd(database=relay.conninfo(pg), providers=leased(it.action, lease="15s"), workers=1)
    lost.wait()
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 10}
    assert it.seen() == names(10)


@pytest.mark.slow
def test_b13_finishing_and_losing_the_lease_at_once_gives_one_outcome(pg, inboxd, program):
    """Nothing is renewed and every first run takes about as long as its lease: many lose it at the moment of their end."""
    it = program("""ms=$(($$ * 7919 % 500 + 750)); [ $INBOXD_ATTEMPT -gt 1 ] || sleep $((ms / 1000)).$(printf %03d $((ms % 1000)))""")
    put(pg, 500)
    providers = {"h": {**leased(it.action, "sql:t.ok", attempts=100)["h"], "concurrency": 50}}
    for _ in range(2):
        inboxd(providers=providers, workers=50, faults="work.renew=error")
    wait_done(pg, 120)
    assert {status for status, _ in outcomes(pg)} == {DONE}
    assert sum(outcomes(pg).values()) == 500
    assert effects(pg) == (500, 500)
    # Many were lost, or this proves nothing. One lost in a batch is no attempt (0) and runs alone then; of those that began
    # alone all but the last were lost.
    assert pg.value("select count(*) from attempt_log where kind <> 'lost'") == 0
    assert pg.value("select count(*) from attempt_log") > 50
    assert pg.value("select count(distinct (id, attempt)) = count(*) from attempt_log")
    assert pg.value(
        "select bool_and(o.attempt = 1 + (select count(*) from attempt_log a where a.id = o.id and a.attempt > 0)) from outcome o"
    )


# P5: killers ---------------------------------------------------------------------------------------


def test_p05_b14_an_event_that_kills_its_daemon_costs_only_itself(pg, inboxd, program):
    it = program("""grep -q poison && kill -9 $PPID && sleep 60""")
    put(pg, [{"poison": 1} if n in (7, 30) else {} for n in range(60)])
    daemon = inboxd(providers=leased(it.action), workers=2)
    while pg.value("select count(*) from work"):
        if not daemon.running():
            daemon.wait_killed()
            daemon = inboxd(providers=leased(it.action), workers=2)
        wait_until(lambda: not daemon.running() or not pg.value("select count(*) from work"), 60)
    assert {status for status, attempt in outcomes(pg)} == {DONE, DEAD}
    assert sorted(pg.column("select event_id from dead_letters")) == ["e00007", "e00030"]
    assert set(pg.column("select attempt from dead_letters")) == {3}
    # At least once: what was done beside a killer and not yet settled is done again.
    assert set(it.seen("end")) == {name for name in names(60) if name not in ("e00007", "e00030")}


def test_p05_b14_a_sql_part_that_ends_its_session_costs_only_itself(pg, inboxd, program):
    it = program()
    put(pg, [{"crash": 1} if n == 7 else {} for n in range(20)])
    inboxd(providers=leased(it.action, "sql:t.crash"))
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 19, (DEAD, 3): 1}
    assert effects(pg) == (19, 19)


# B26: shutdown -------------------------------------------------------------------------------------


def test_b26_a_shutdown_releases_what_runs_too_long_at_once(pg, inboxd, program):
    it = program(SLEEP)
    put(pg, [{"s": 3600}, {"s": 0.1}, {"s": 0.1}])
    daemon = inboxd(providers=leased(it.action, timeout="10m", lease="1h"), shutdown_timeout="1s", workers=1)
    it.wait()
    assert daemon.terminate() == 0
    assert pg.rows("select attempt, suspect, token, run_at <= now() from work order by id") == [(0, False, 0, True)] * 3
    assert pg.value("select count(*) from attempt_log") == 0


def test_b26_a_shutdown_gives_the_attempt_of_a_lone_event_back(pg, inboxd, program):
    it = program(SLEEP)
    put(pg, [{"s": 3600}])
    pg.execute("update work set suspect = true")
    daemon = inboxd(providers=leased(it.action, timeout="10m", lease="1h"), shutdown_timeout="1s")
    it.wait()
    assert pg.value("select attempt from work") == 1
    assert daemon.terminate() == 0
    assert pg.rows("select attempt, suspect, token, run_at <= now() from work") == [(0, True, 0, True)]


def test_b26_short_programs_finish_before_the_daemon_ends(pg, inboxd, program):
    it = program("sleep 0.5")
    put(pg, 1)
    daemon = inboxd(providers=leased(it.action))
    it.wait()
    assert daemon.terminate() == 0
    assert outcomes(pg) == {(DONE, 1): 1}


# P6: in the order of their key -----------------------------------------------------------------------


def put_keyed(pg, bodies, prefix="e", **more):
    """Stores as a daemon does: lanes first, in one transaction."""
    session = pg.session()
    run(session, "store_lanes", ["h"] * len({b["k"] for b in bodies}), sorted({b["k"] for b in bodies}))
    store(session, *(
        event(f"{prefix}{n:05}", ordering_key=body["k"], lane=body["k"], body=json.dumps(body).encode(),
              **{"class": "leased", **more})
        for n, body in enumerate(bodies)))
    session.commit()
    session.close()


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_p06_leased_events_of_a_key_run_one_at_a_time_and_in_order(pg, inboxd, program, order):
    it = program("sleep 0.02")
    keys = [n % 4 for n in range(40)]
    put_keyed(pg, [{"k": str(k)} for k in keys])
    for _ in range(2):
        inboxd(providers=leased(it.action, "sql:t.ok", order=order))
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 40}
    assert effects(pg) == (40, 40)
    lines = [line.split() for line in it.notes.read_text().splitlines()]
    for key in range(4):
        mine = [(name, what) for name, _, what in lines if keys[int(name[1:])] == key]
        assert mine == [(name, what) for name in names(40) if keys[int(name[1:])] == key for what in ("begin", "end")]


def test_p06_a_leased_event_that_fails_waits_aside_under_serial_only(pg, inboxd, program):
    for order, prefix in (("serial", "s"), ("strict", "t")):
        it = program("""grep -q '"bad"' && [ $INBOXD_ATTEMPT = 1 ] && exit 75; :""", name=order)
        put_keyed(pg, [{"k": "a", "bad": 1}, {"k": "a"}, {"k": "a"}], prefix)
        with inboxd(providers=leased(it.action, order=order, backoff="300ms")):
            wait_done(pg)
        ends = [line.split()[0] for line in it.notes.read_text().splitlines() if line.endswith("end")]
        first, rest = f"{prefix}00000", [f"{prefix}00001", f"{prefix}00002"]
        assert ends == ([*rest, first] if order == "serial" else [first, *rest])


def test_p06_b11_the_lane_of_a_worker_that_died_goes_on(pg, inboxd, program):
    it = program("""[ -e "$0.dead" ] || sleep 60""")
    put_keyed(pg, [{"k": "a"}] * 3)
    victim = inboxd(providers=leased(it.action, "sql:t.ok"), workers=1)
    it.wait()
    victim.kill()
    (it.file.parent / "program.dead").touch()
    inboxd(providers=leased(it.action, "sql:t.ok"))
    wait_done(pg)
    assert {status for status, _ in outcomes(pg)} == {DONE}
    assert effects(pg) == (3, 3)
    assert it.seen("end") == names(3)

"""module: plug-ins in C. What they see, what their connection is worth, and what the daemon survives of them."""

import contextlib
import json
import threading

import pytest
from support import DEAD, DONE, wait_until
from support.places import ROOT

from it.working import QUICK, effects, fill, outcomes, wait_done
from sql.statements import event, run, store

LEASED = {"class": "leased"}


@pytest.fixture
def modules(build):
    return str(ROOT / "build" / build / "tests" / "modules")


@pytest.fixture
def daemon(inboxd, modules):
    def make(provider=None, **general):
        return inboxd(providers={"h": {"on": "module:probe", **QUICK, **(provider or {})}}, **{"module_path": modules, **general})

    return make


@contextlib.contextmanager
def supervised(daemon):
    """As systemd does: started again whenever it ends. Yields the list of how it ended."""
    ends, stop = [], threading.Event()

    def run():
        while not stop.is_set():
            ends.append(daemon.wait_exit(600))
            if not stop.is_set():
                daemon.spawn()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield ends
    finally:
        stop.set()
        daemon.signal(9)
        thread.join()


def errors(pg):
    return pg.column("select last_error from webhook_inbox where last_error is not null order by id")


def do(what, **more):
    return {"do": what, **more}


# What it sees and says ----------------------------------------------------------------------------


def test_a_module_reads_its_event(pg, daemon):
    pg.execute("""
        create table t.told (provider text, event_id text, type text, key text, header text, absent text, payload jsonb,
                             body text, id bigint, attempt int, received_at timestamptz);
        grant insert on t.told to public""")
    running = daemon({"event_type": "body:/type"})
    answer = running.post("h", do("tell", id="e1", type="x.y", text="ä €"), headers={"x-test": "a 1, 2"})
    assert answer.status == 200
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 1}
    assert pg.rows("select provider, event_id, type, key, header, absent from t.told") == [("h", "e1", "x.y", None, "a 1, 2", None)]
    assert pg.value("select t.payload = i.payload and t.body = convert_from(i.body, 'UTF8') and t.id = i.id"
                    " and t.attempt = 1 and t.received_at = i.received_at from t.told t, webhook_inbox i")  # fmt: skip


def test_each_result_is_what_the_header_says(pg, daemon):
    fill(pg, [do("nothing"), do("retry"), do("silent"), do("reject"), do("odd"), do("write_and_retry"), do("write_and_reject")], **LEASED)
    daemon()
    wait_done(pg)
    assert pg.rows("select event_id, status, attempt, last_error from webhook_inbox order by id") == [
        ("e00000", DONE, 1, None),
        ("e00001", DEAD, 3, "not now"),
        ("e00002", DEAD, 3, "the module gave no reason"),
        ("e00003", DEAD, 1, "never"),
        ("e00004", DEAD, 3, "the module returned 17, which is no result"),
        ("e00005", DEAD, 3, "changed my mind"),
        ("e00006", DEAD, 1, "never"),
    ]
    assert effects(pg) == (0, 0)


def test_a_deferral_costs_no_attempt(pg, daemon):
    fill(pg, [do("defer", s=0.01)], **LEASED)
    daemon({"defer": "100ms", "defer_limit": "1s"})
    wait_done(pg)
    assert outcomes(pg) == {(DEAD, 1): 1}
    assert pg.value("select count(*) > 3 from attempt_log where kind = 'defer'")
    assert errors(pg) == ["deferred for longer than defer_limit (1 s): too early"]


def test_a_module_that_never_asks_costs_no_transaction_of_its_own(pg, daemon):
    fill(pg, [do("nothing")] * 200, **LEASED)
    daemon()
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 200}
    # Batches were settled together: fewer transactions than events wrote outcomes.
    assert pg.value("select count(distinct xmin::text) from outcome") < 100


# Its connection -----------------------------------------------------------------------------------


def test_what_it_does_on_the_connection_is_there_once(pg, daemon):
    fill(pg, [do("once")] * 100, **LEASED)
    daemon()
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 100}
    assert effects(pg) == (100, 100)
    assert pg.value("select count(*) from lent") == 0


def test_p03_a_kill_before_the_commit_keeps_nothing_and_after_it_all(pg, daemon):
    fill(pg, [do("once")] * 50, **LEASED)
    running = daemon({"lease": "1s"}, faults="work.before_commit=kill:5")
    running.wait_killed()
    done = pg.value("select count(*) from outcome")
    assert effects(pg) == (done, done)
    assert done < 50
    del running.env["INBOXD_FAULTS"]
    running.start()
    wait_done(pg)
    assert effects(pg) == (50, 50)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("commit", "ended the transaction"),
        ("rollback", "ended the transaction"),
        ("anew", "ended the transaction that it was lent, and began another"),
        ("broken", "left its transaction failed"),
        ("copy", "in the middle of a statement"),
    ],
)
def test_a_transaction_that_it_breaks_leaves_nothing_half_done(pg, daemon, what, why):
    fill(pg, [do("once"), do(what), do("once")], **LEASED)
    running = daemon()
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 2, (DEAD, 3): 1}
    assert effects(pg) == (2, 2)
    assert [why in error for error in errors(pg)] == [True]
    assert running.running()


def test_what_it_leaves_unread_does_no_harm(pg, daemon):
    fill(pg, [do("unread"), do("once")], **LEASED)
    daemon()
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 2}
    assert effects(pg) == (2, 2)


# The fence ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lane", [None, "k"])
def test_p04_b12_what_a_module_writes_after_its_lease_was_lost_is_not_kept(pg, daemon, tmp_path, lane):
    """It is frozen before the module asks for its connection; meanwhile another daemon has done the event. It gets no connection
    then, or where the event has a key, whose lease is checked at the end, all is rolled back."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n[ -e {tmp_path}/frozen ] || {{ touch {tmp_path}/begun; sleep 1; }}\n")
    program.chmod(0o755)
    if lane:
        run(pg, "store_lanes", ["h"], [lane])
    fill(pg, [do("once")], **LEASED, ordering_key=lane, lane=lane)
    provider = {"on": f"exec:{program}, module:probe", "lease": "1s", "key": "body:/k"}
    victim = daemon(provider, workers=1)
    wait_until((tmp_path / "begun").exists)
    victim.freeze()
    (tmp_path / "frozen").touch()
    daemon(provider, workers=1)
    wait_done(pg)
    before = pg.rows("select * from outcome"), pg.rows("select * from attempt_log")
    assert effects(pg) == (1, 1)
    victim.thaw()
    victim.wait_log("a lease ran out before" if lane else "lost the lease of an event")
    assert victim.terminate() == 0
    assert effects(pg) == (1, 1)
    assert (pg.rows("select * from outcome"), pg.rows("select * from attempt_log")) == before


# B23: idle in transaction -------------------------------------------------------------------------


def test_b23_the_roles_idle_timeout_does_not_end_a_module_that_thinks(pg, daemon):
    pg.execute("alter role inboxd_test set idle_in_transaction_session_timeout = '200ms'")
    try:
        fill(pg, [do("twice", s=1)], **LEASED)
        daemon()
        wait_done(pg)
    finally:
        pg.execute("alter role inboxd_test reset idle_in_transaction_session_timeout")
    assert outcomes(pg) == {(DONE, 1): 1}
    assert effects(pg)[0] == 2


def test_b23_a_session_that_ends_between_two_writes_keeps_neither(pg, daemon):
    fill(pg, [do("twice", s=2)], **LEASED)
    daemon()
    pid = "select pid from pg_stat_activity where state = 'idle in transaction' and query like '%t.effect%'"
    pg.wait_until(f"select pg_terminate_backend(({pid}))")
    fill(pg, [do("once")] * 20, prefix="f", **LEASED)  # other workers, and this one, go on
    wait_done(pg)
    assert pg.value("select count(*) from outcome where status = 2") == 21
    # Neither write of the first run, both of the second.
    assert pg.value("select count(*) from t.effect where event_id = 'e00000'") == 2
    assert effects(pg) == (22, 21)
    assert pg.value("select count(*) from attempt_log") >= 1


# B14: what ends the process -----------------------------------------------------------------------


@pytest.mark.parametrize(("how", "end"), [("abort", -6), ("overflow", -11), ("exit", 0), ("kill", -9)])
def test_b14_an_event_that_ends_the_process_costs_only_itself(pg, daemon, build, how, end):
    if how == "overflow" and build in ("asan", "tsan"):
        pytest.skip("the sanitizers catch the overflow, report it and end the process their own way")
    fill(pg, [do(how) if n == 100 else do("once") for n in range(200)], **LEASED)
    running = daemon({"lease": "1s"}, workers=3)
    with supervised(running) as ends:
        wait_done(pg, 120)
        assert running.running()
    assert ends[:3] == [end] * 3
    # A good event may have run alone when the poison ran for the first time, in a batch; then that attempt was lost.
    assert pg.rows("select status, count(*) from outcome group by 1 order by 1") == [(DONE, 199), (DEAD, 1)]
    assert pg.value("select attempt from outcome where status = 3") == 3
    assert effects(pg) == (199, 199)
    assert pg.value("select event_id from dead_letters") == "e00100"
    assert "did not finish" in pg.value("select last_error from dead_letters")


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_b14_a_keyed_event_that_ends_the_process_costs_only_itself(pg, daemon, order):
    """Each key's first event is suspect after the first end. They run one by one, so that the poison's next costs no other an attempt."""
    keys = [f"k{n:02}" for n in range(40)]
    run(pg, "store_lanes", ["h"] * len(keys), keys)
    store(pg, *(event(f"e{n:03}", ordering_key=keys[n % 40], lane=keys[n % 40], body=json.dumps(
        {"id": f"e{n:03}", **do("abort" if n == 20 else "once")}).encode(), **LEASED) for n in range(80)))  # fmt: skip
    running = daemon({"lease": "1s", "key": "body:/k", "order": order}, workers=3)
    with supervised(running) as ends:
        wait_done(pg, 120)
        assert running.running()
    assert ends[:4] == [-6] * 4
    assert outcomes(pg) == {(DONE, 1): 79, (DEAD, 3): 1}
    assert effects(pg) == (79, 79)
    assert pg.value("select event_id from dead_letters") == "e020"
    pg.wait_until("select count(*) from lane", equals=0)  # an empty one that had its worker killed goes with its lease


def test_b14_a_module_that_does_not_return_holds_one_worker(pg, daemon):
    fill(pg, [do("wait")], **LEASED)
    running = daemon({"timeout": "300ms"})
    wait_done(pg)
    assert outcomes(pg) == {(DEAD, 3): 1}
    assert errors(pg) == ["no time left"]
    assert pg.value("select count(*) from attempt_log where kind = 'timeout'") == 2
    assert running.running()


def hanging(pg, inboxd, modules, go, **general):
    """A daemon one of whose workers is in a plug-in that does not return, and says so; n is another provider."""
    fill(pg, [do("hang", file=str(go))], **LEASED)
    h = {**QUICK, "on": "module:probe", "timeout": "200ms", "lease": "1s"}
    running = inboxd(providers={"h": h, "n": {"on": "sql:t.ok"}}, module_path=modules, **general)
    running.wait_log("a handler does not return", timeout=60)
    pg.wait_until("select max(hung) from daemon", equals=1)
    return running


def test_b14_a_module_that_never_returns_is_said_and_the_other_workers_go_on(pg, inboxd, modules, tmp_path):
    running = hanging(pg, inboxd, modules, tmp_path / "go", workers=2)
    assert {running.post("n", {"id": f"n{n}"}).text for n in range(20)} == {"ok"}
    pg.wait_until("select count(*) from t.effect where provider = 'n'", equals=20)
    [(detail, advice)] = pg.rows("select detail, advice from alerts where condition = 'hung worker'")
    assert detail.startswith("of the 2 workers of ") and detail.endswith(", 1 runs a handler that does not return")
    assert advice.startswith("its other workers go on: restart it")
    assert "hung worker" in running.ctl("status").stdout
    (tmp_path / "go").touch()
    running.wait_log("a handler that did not return has returned")
    # Its lease was over: what it said was not heard, and the event ran once more.
    wait_done(pg)
    assert pg.value("select status from webhook_inbox where provider = 'h'") == DONE
    pg.wait_until("select max(hung) from daemon", equals=0)
    assert pg.value("select count(*) from alerts where condition = 'hung worker'") == 0


def test_b14_where_all_workers_hang_events_are_accepted_and_a_restart_goes_on(pg, inboxd, modules, tmp_path, build):
    if build == "tsan":
        pytest.skip("it reports the threads that are left behind on purpose")
    running = hanging(pg, inboxd, modules, tmp_path / "go", workers=1, shutdown_timeout="1s")
    assert running.post("n", {"id": "n1"}).text == "ok"
    assert pg.value("select advice from alerts where condition = 'hung worker'").startswith("it works nothing off any more: restart it")
    assert pg.value("select count(*) from webhook_inbox where provider = 'n' and status = 0") == 1
    running.signal(15)
    assert running.wait_exit() == 1
    (tmp_path / "go").touch()
    running.start()
    wait_done(pg)
    assert pg.rows("select distinct status from webhook_inbox") == [(DONE,)]


def test_b26_a_module_is_told_of_the_shutdown(pg, daemon):
    fill(pg, [do("wait")], **LEASED)
    running = daemon({"timeout": "10m"}, shutdown_timeout="1s")
    pg.wait_until("select count(*) from webhook_inbox where status = 1", equals=1)
    running.signal(15)
    assert running.wait_exit() == 0
    assert pg.rows("select attempt, last_error from work") == [(0, None)]
    assert pg.value("select count(*) from attempt_log") == 0
    assert "probe: stopped" in running.log_text()


# What the configuration says ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("other_version", "was compiled for version 2 of inboxd/handler.h, this is version 1; compile it anew"),
        ("no_plugin", "is no plug-in: it has no symbol inboxd_module; write INBOXD_MODULE(...) of inboxd/handler.h"),
        ("absent", "No such file or directory"),
    ],
)
def test_a_module_that_cannot_be_used_is_a_mistake(pg, inboxd, modules, name, why):
    running = inboxd(providers={"h": {"on": f"module:{name}"}}, module_path=modules, start=False)
    answer = running.ctl("check", check=False)
    assert answer.returncode == 78
    assert f"{modules}/{name}.so" in answer.stderr
    assert why in answer.stderr
    running.spawn()
    assert running.wait_exit() == 78
    assert why in running.log_text()


def test_a_daemon_that_only_accepts_needs_no_modules(pg, inboxd):
    assert inboxd(providers={"h": {"on": "module:absent"}}, workers=0).post("h", {"id": "e1"}).status == 200


def test_a_reload_to_a_module_that_cannot_be_used_is_refused(pg, daemon):
    running = daemon()
    running.reconfigure(providers={"h": {"on": "module:absent"}})
    running.reload()
    fill(pg, [do("once")], **LEASED)
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 1}


def test_a_module_that_does_not_start_is_named_and_its_events_wait(pg, inboxd, modules):
    running = inboxd(providers={"h": {"on": "module:refuses"}, "n": {"on": "sql:t.ok"}}, module_path=modules)
    fill(pg, 1, **LEASED)
    fill(pg, 1, provider="n")
    pg.wait_until("select count(*) from outcome", equals=1)
    running.wait_log("refuses.so does not start: its licence is over")
    assert pg.value("select count(*) from work where provider = 'h'") == 1


def test_a_module_starts_once_and_stops_with_its_last_route(pg, daemon):
    running = daemon()
    fill(pg, [do("once")] * 20, **LEASED)
    wait_done(pg)
    running.reconfigure(providers={"h": {"on": "sql:t.ok"}})
    running.reload()
    running.wait_log("probe: stopped")
    assert running.log_text().count('msg="starting module" path=') == 1
    running.reconfigure(providers={"h": {"on": "module:probe"}})
    running.reload()
    fill(pg, [do("once")] * 20, prefix="f", **LEASED)
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 40}

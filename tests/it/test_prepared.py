"""B18: statements that a session has prepared are forgotten, or do not fit the tables any more. They are prepared again, no request
is refused and no event has an attempt more for it."""

import threading

import psycopg2.errors
import pytest
from support import DEAD, DONE

from it.test_leased import Program, put_keyed
from it.working import QUICK, effects, fill, outcomes, wait_done

FORGETS = """
    create sequence t.runs; grant usage on t.runs to public;
    create function t.forgets(e inboxd.event) returns void language plpgsql as $$
    begin
        insert into t.effect (provider, event_id) values (e.provider, e.event_id);
        if e.payload ? 'forget' and (e.payload ->> 'forget' = 'always' or nextval('t.runs') %% 2 = 1) then
            execute 'deallocate all';
        end if;
    end $$""".replace("%%", "%")
KINDS = ["sql", "keyed", "leased", "leased and keyed"]


@pytest.fixture
def kind(request, pg, tmp_path):
    """(put(bodies), the action in front of a SQL action, order) of a queue."""
    front = [Program(tmp_path, "program", "").action] if "leased" in request.param else []
    if "keyed" in request.param:
        clazz = {"class": "leased" if front else "sql"}
        return lambda bodies: put_keyed(pg, [{"k": f"k{n % 3}", **b} for n, b in enumerate(bodies)], **clazz), front, "serial"
    return lambda bodies: fill(pg, bodies, **({"class": "leased"} if front else {})), front, "none"


def on(front, handler, **more):
    return {"on": ", ".join([*front, handler]), "attempts": 1, **{k: v for k, v in QUICK.items() if k != "attempts"}, **more}


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_b18_a_handler_that_deallocates_what_the_session_prepared(pg, inboxd, kind):
    put, front, order = kind
    pg.execute(FORGETS)
    put([{"forget": "once"} if n % 7 == 3 else {} for n in range(40)])
    inboxd(providers={"h": on(front, "sql:t.forgets", order=order)}, workers=2)
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 40}
    assert effects(pg) == (40, 40)
    assert pg.value("select count(*) from attempt_log") == 0


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_b18_a_handler_that_always_deallocates_breaks_nobody_elses_events(pg, inboxd, kind):
    put, front, order = kind
    pg.execute(FORGETS)
    put([{"forget": "always"} if n % 7 == 3 else {} for n in range(40)])
    inboxd(providers={"h": on(front, "sql:t.forgets", order=order)}, workers=2)
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 34, (DEAD, 1): 6}
    assert effects(pg) == (34, 34)
    assert pg.value("select bool_and(last_error like '%(26000)') from dead_letters")


CHANGES = {
    "a column more": [f"alter table inboxd.{table} add column extra int" for table in
                      ("event_store", "work", "lane", "ledger", "outcome", "attempt_log", "provider_policy", "paused")],
    "the handler's definition": [
        "create or replace function t.ok(e inboxd.event) returns void language sql as"
        " $$ insert into t.effect (event_id, provider) select e.event_id, e.provider $$",
        "begin; drop function t.ok; create function t.ok(e inboxd.event) returns text language sql as"
        " $$ insert into t.effect (provider, event_id) values (e.provider, e.event_id) returning event_id $$; commit",
        "begin; drop function t.ok; create function t.ok(e inboxd.event) returns table (a int, b int) language plpgsql as"
        " $$ begin insert into t.effect (provider, event_id) values (e.provider, e.event_id); end $$; commit",
        "alter table t.effect add column extra int",
    ],
    "the sessions end": ["select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^inboxd (worker|store)'"
                         " and state = 'idle'"],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, indirect=True)
@pytest.mark.parametrize("change", CHANGES)
def test_b18_what_changes_under_a_running_daemon_costs_nothing(pg, inboxd, kind, change):
    _, front, order = kind
    daemon = inboxd(providers={"h": on(front, "sql:t.ok", order=order)}, workers=2)
    sent, answers, stop = 0, [], threading.Event()

    def send():
        number = 0
        while not stop.is_set():
            number += 1
            answers.append(daemon.post("h", {"id": f"m{number}", "k": f"k{number % 3}"}).status)

    def through(count):
        nonlocal sent
        before, sent = sent, sent + count
        assert {daemon.post("h", {"id": f"e{n}", "k": f"k{n % 3}"}).text for n in range(before, sent)} == {"ok"}

    through(10)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        for statement in CHANGES[change]:
            pg.execute(statement)
            through(5)
    finally:
        stop.set()
        sender.join()
    wait_done(pg)
    assert set(answers) == {200}
    total = sent + len(answers)
    assert outcomes(pg) == {(DONE, 1): total}
    assert effects(pg) == (total, total)
    assert pg.value("select count(*) from attempt_log") == 0


@pytest.fixture
def german(make_cluster, monkeypatch):
    """A database whose server says it in German (its locale for messages needs no more than its translations)."""
    monkeypatch.setenv("LANGUAGE", "de")
    cluster = make_cluster(lc_messages="C.UTF-8")
    monkeypatch.delenv("LANGUAGE")
    pg = cluster.database()
    with pytest.raises(psycopg2.errors.DivisionByZero) as said:
        pg.value("select 1 / 0")
    if "durch Null" not in str(said.value):
        pytest.skip("the server has no German messages")
    return pg


def test_b18_a_server_that_speaks_another_language(german, inboxd):
    """What means "prepare again" and "make the partition" is known by more than its English text."""
    daemon = inboxd(german, providers={"h": {"on": "sql:t.ok", "attempts": 1}})
    assert daemon.post("h", {"id": "before"}).text == "ok"
    german.wait_until("select count(*) from t.effect", equals=1)
    for table in ("ledger", "event_store", "work", "outcome", "lane"):
        german.execute(f"alter table inboxd.{table} add column extra int")
    german.execute("alter table t.effect add column extra int")
    german.execute("select setval('inboxd.event_id_seq', 500000000)")
    for n in range(20):
        assert daemon.post("h", {"id": f"after{n}"}).text == "ok"
    german.wait_until("select count(*) from t.effect", equals=21)
    assert german.value("select count(*) from attempt_log") == 0

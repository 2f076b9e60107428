"""Retention as daemons do it: every horizon, small steps, and a kill in the middle (B25)."""

import threading

import pytest
from support.cluster import DAEMON_USER
from support.daemon import ctl_json, run_ctl

from it.working import fill

OLD = 100_000


def history(pg, n):
    """n events of two years ago: every tenth is dead, every tenth waits, the others are done."""
    pg.execute(
        """
        with e as (
            insert into ledger (provider, event_id, received_at, body_sha256)
            select 'h', 'old' || n, now() - interval '2 years', sha256('x') from generate_series(1, %s) n
            returning id, event_id, received_at
        ), s as (
            insert into event_store (id, provider, event_id, received_at, headers, payload_repaired, body, signature_verified)
            select id, 'h', event_id, received_at, '{}', false, '{}', true from e
        ), w as (
            insert into work (id, provider, class, received_at, run_at)
            select id, 'h', 'sql', received_at, now() + interval '1 day' from e where id %% 10 = 0
        ), a as (
            insert into attempt_log (id, attempt, at, kind, error) select id, 1, received_at, 'retry', 'x' from e where id %% 2 = 1
        )
        insert into outcome (id, provider, status, attempt, processed_at)
        select id, 'h', case id %% 10 when 1 then 3 else 2 end, 1, received_at from e where id %% 10 <> 0
        """,
        n,
    )


@pytest.fixture
def posting():
    """posting(daemon): posts events until the test ends or stop() is called, which returns all answers."""
    threads, done = [], threading.Event()
    answers = []

    def run(daemon):
        with daemon.client() as client:
            while not done.is_set():
                answers.append(client.post("/webhooks/n", {"id": f"new{len(answers)}"}))

    class Posting:
        def start(self, daemon):
            threads.append(threading.Thread(target=run, args=(daemon,)))
            threads[-1].start()

        def stop(self):
            done.set()
            for thread in threads:
                thread.join()
            return answers

    posting = Posting()
    yield posting
    posting.stop()


STEPS = """
    create table t.step (what text, rows bigint);
    grant insert on t.step to public;
    create function t.note_step() returns trigger language plpgsql as $$
    begin
        insert into t.step select tg_argv[0], count(*) from gone;
        return null;
    end $$;
    create trigger step after delete on inboxd.ledger referencing old table as gone for each statement execute function t.note_step('ids');
    create trigger step after delete on inboxd.event_store referencing old table as gone for each statement
        execute function t.note_step('done');
"""


@pytest.mark.slow
@pytest.mark.data
def test_b25_a_purge_of_much_survives_kills_and_never_takes_what_waits_or_is_dead(pg, inboxd, posting):
    """Its steps are small, whatever statement_timeout the role has; ingest goes on beside it, and a session with a short
    statement_timeout of its own can do some of it."""
    history(pg, OLD)
    pg.execute(STEPS)
    pg.execute(f"alter role {DAEMON_USER} in database {pg.name} set statement_timeout = '2s'")
    accepting = inboxd(workers=0, retain="1000d", retain_ids="2000d", retain_attempts="1000d")
    posting.start(accepting)
    contents = "select count(*) from event_store where provider = 'h'"
    keys = {"workers": 0, "retain": "30d", "retain_attempts": "30d"}
    for least in (OLD * 8 // 10, OLD * 6 // 10):  # killed twice in the middle of it
        daemon = inboxd(**keys, retain_ids="2000d")
        pg.wait_until(f"select ({contents}) <= {least}")
        daemon.kill()
    assert pg.value(contents) > 2 * OLD // 10
    inboxd(**keys, retain_ids="2000d")
    pg.wait_until(contents, equals=2 * OLD // 10, timeout=60)
    assert pg.value("select count(*) from processed_events where provider = 'h'") == 8 * OLD // 10
    # And then the identities, by a daemon and by hand.
    daemon = inboxd(**keys, retain_ids="400d")
    by_hand, after, deleted = pg.session(statement_timeout="2s"), 0, 0
    while after is not None:
        [(n, after)] = by_hand.do("select * from purge_ledger('400 days', 500, %s)", after)
        by_hand.commit()
        deleted += n
    assert deleted > 0
    pg.wait_until("select count(*) from ledger where provider = 'h'", equals=2 * OLD // 10, timeout=60)
    answers = posting.stop()
    assert {answer.status for answer in answers} == {200}
    assert pg.value("select count(*) from webhook_inbox where provider = 'n'") == len(answers)
    assert pg.value("select count(*) from work where provider = 'h'") == OLD // 10
    assert pg.value("select count(*) from outcome where status = 3") == OLD // 10
    assert pg.value(contents) == 2 * OLD // 10
    # Attempts of the dead ones; the others' went with them.
    assert pg.value("select count(*) from attempt_log") == OLD // 10
    assert dict(pg.rows("select what, max(rows) <= 1000 from t.step group by 1")) == {"done": True, "ids": True}
    assert pg.value("select sum(rows) from t.step where what = 'ids'") == 8 * OLD // 10


def test_b25_a_step_has_the_keepers_own_time_and_not_the_roles(pg, inboxd):
    """Where the machine is so slow that a step takes longer than the role's statement_timeout, the purge gets on all the same."""
    history(pg, 20)
    pg.execute(
        """
        create function t.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return null; end $$;
        create trigger slow after delete on inboxd.event_store for each statement execute function t.slow()
        """
    )
    pg.execute(f"alter role {DAEMON_USER} in database {pg.name} set statement_timeout = '200ms'")
    daemon = inboxd(workers=0, retain="30d", retain_ids="2000d", retain_attempts="1000d")
    pg.wait_until("select count(*) from event_store", equals=4)
    assert "housekeeping failed" not in daemon.log_text()


def test_each_kind_has_its_horizon_and_status_shows_it(pg, inboxd, build):
    history(pg, 20)
    pg.execute("insert into audit (at, action) select now() - n * interval '10 days', 'x' from generate_series(1, 5) n")
    fill(pg, 1, provider="n")
    daemon = inboxd(
        workers=0, retain="1000d", retain_dead="100d", retain_attempts="500d", retain_ids="2000d", retain_quarantine="10d",
        retain_audit="35d",
    )  # fmt: skip
    pg.wait_until("select count(*) from purge_log", equals=6)
    pg.wait_until("select count(*) from outcome where status = 3", equals=0)
    pg.wait_until("select count(*) from audit", equals=3)
    pg.wait_until("select removed from purge_log where kind = 'dead'", equals=2)
    assert pg.value("select count(*) from event_store") == 21
    kinds = {row["kind"]: row for row in ctl_json(daemon.ctl("status", "--json"))["retention"]}
    assert [kinds[kind]["horizon"] for kind in ("done", "dead", "attempts", "ids", "quarantine", "audit")] == [
        "1000 days", "100 days", "500 days", "2000 days", "10 days", "35 days",
    ]  # fmt: skip
    assert kinds["audit"]["removed"] == 2 and kinds["done"]["removed"] == 0
    lines = run_ctl(build, "--database", pg.conninfo("postgres"), "status").stdout.splitlines()
    assert any(line.split()[:1] == ["dead"] and "100 days" in line for line in lines)


def test_dead_events_and_the_record_of_operators_stay_where_nothing_is_said(pg, inboxd, build):
    history(pg, 20)
    pg.execute("insert into audit (at, action) values (now() - interval '20 years', 'x')")
    inboxd(workers=0)
    pg.wait_until("select count(*) from purge_log", equals=6)
    assert pg.value("select count(*) from outcome where status = 3") == 2
    assert pg.value("select count(*) from audit") == 1
    lines = run_ctl(build, "--database", pg.conninfo("postgres"), "status").stdout.splitlines()
    assert [line.split()[1:3] for line in lines if line.split()[:1] in (["dead"], ["audit"])] == [["for", "ever"]] * 2

"""Retention as daemons do it: every horizon, small steps, and a kill in the middle (B25)."""

from support.daemon import ctl_json, run_ctl

from it.working import fill

OLD = 8000


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


def test_b25_a_purge_survives_kills_and_never_takes_what_waits_or_is_dead(pg, inboxd, shared_cluster):
    history(pg, OLD)
    shared_cluster.execute(f"alter database {pg.value('select current_database()')} set statement_timeout = '2s'")
    keys = {"workers": 0, "retain": "30d", "retain_attempts": "30d", "retain_ids": "400d"}
    contents = "select count(*) from event_store"
    for least in (7000, 5000):  # killed twice in the middle of it
        daemon = inboxd(**keys)
        pg.wait_until(f"select ({contents}) <= {least}")
        daemon.kill()
    assert pg.value(contents) > 2 * OLD // 10
    daemon = inboxd(**keys)
    # Ingest goes on beside it.
    for n in range(50):
        assert daemon.post("n", {"id": f"new{n}"}).status == 200
    pg.wait_until("select count(*) from ledger where provider = 'h'", equals=2 * OLD // 10)
    assert pg.value(contents) == 2 * OLD // 10 + 50
    assert pg.value("select count(*) from work where provider = 'h'") == OLD // 10
    assert pg.value("select count(*) from outcome where status = 3") == OLD // 10
    # Attempts of the dead ones; the others' went with them.
    assert pg.value("select count(*) from attempt_log") == OLD // 10
    # Never more than a step's rows in one transaction.
    assert pg.value("select removed from purge_log where kind = 'ids'") == 8 * OLD // 10


def test_each_kind_has_its_horizon_and_status_shows_it(pg, inboxd, build):
    history(pg, 20)
    pg.execute("insert into audit (at, action) select now() - n * interval '10 days', 'x' from generate_series(1, 5) n")
    fill(pg, 1, provider="n")
    daemon = inboxd(
        workers=0, retain="1000d", retain_dead="100d", retain_attempts="100d", retain_ids="2000d", retain_quarantine="10d",
        retain_audit="35d",
    )  # fmt: skip
    pg.wait_until("select count(*) from purge_log", equals=6)
    pg.wait_until("select count(*) from outcome where status = 3", equals=0)
    pg.wait_until("select count(*) from audit", equals=3)
    pg.wait_until("select removed from purge_log where kind = 'dead'", equals=2)
    assert pg.value("select count(*) from event_store") == 21
    kinds = {row["kind"]: row for row in ctl_json(daemon.ctl("status", "--json"))["retention"]}
    assert [kinds[kind]["horizon"] for kind in ("done", "dead", "ids", "quarantine", "audit")] == [
        "1000 days", "100 days", "2000 days", "10 days", "35 days",
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

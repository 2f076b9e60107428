"""One provider's trouble is not another's (B22): whatever h does with 200,000 events, those of n are done meanwhile."""

import pytest

FLOOD = 200_000

# In any of these states of h: (its keys, when it has begun). It may have all three workers, but where they would never come back.
TROUBLE = {
    "quick": ({"on": "sql:t.ok", "concurrency": 3}, "select count(*) > 100 from outcome"),
    "slow": ({"on": "sql:t.sleep", "concurrency": 3}, "select count(*) > 10 from outcome where processed_at > %s"),
    "all failing": ({"on": "sql:t.fail", "attempts": 5, "backoff": "1h", "concurrency": 3}, "select count(*) > 50 from attempt_log"),
    "hanging on all its workers": (
        {"on": "sql:t.hang", "timeout": "10m"}, "select count(*) >= 2 from pg_stat_activity where wait_event = 'PgSleep'",
    ),
}  # fmt: skip


@pytest.fixture
def flooded(pg):
    """200,000 events of h, as other daemons would have stored them."""
    pg.execute("select make_partitions(1)")
    pg.execute(
        """
        with e as (
            insert into ledger (provider, event_id, id, body_sha256)
            select 'h', 'flood' || n, nextval('event_id_seq'), '\\x00' from generate_series(1, %s) n
            returning id, event_id, received_at
        ), s as (
            insert into event_store (id, provider, event_id, received_at, headers, payload, payload_repaired, body, signature_verified)
            select id, 'h', event_id, received_at, '{}', '{"s": 0.1, "msg": "no"}', false, '{}', true from e
        )
        insert into work (id, provider, class, received_at) select id, 'h', 'sql', received_at from e
        """,
        FLOOD,
    )
    pg.execute("create function t.hang(e inboxd.event) returns void language plpgsql as $$ begin perform pg_sleep(3600); end $$")
    return pg


def overtaken(pg, event_id):
    """So many events of the flood ended, or failed, between the commit of this one and its end."""
    return pg.value(
        """
        select (select count(*) from outcome o where o.provider = 'h' and o.processed_at between i.received_at and i.processed_at)
             + (select count(*) from attempt_log a where a.at between i.received_at and i.processed_at)
          from webhook_inbox i where i.provider = 'n' and i.event_id = %s
        """,
        event_id,
    )


def run_one(pg, daemon, event_id):
    assert daemon.post("n", {"id": event_id}).text == "ok"
    pg.wait_until("select count(*) from t.effect where provider = 'n' and event_id = %s", event_id, equals=1, timeout=60)


@pytest.mark.slow
@pytest.mark.data
def test_b22_a_provider_with_200_000_events_leaves_another_alone(flooded, inboxd):
    pg, daemon = flooded, None
    for trouble, (provider, begun) in TROUBLE.items():
        start = pg.value("select now()")
        daemon = inboxd(providers={"h": provider}, workers=3, shutdown_timeout="1s")
        pg.wait_until(begun, *([start] if "%s" in begun else []))
        for n in range(5):
            run_one(pg, daemon, f"{trouble}{n}")
            # Some batches at most, not what piled up.
            assert overtaken(pg, f"{trouble}{n}") < FLOOD / 100
        daemon.terminate()
    assert pg.value("select count(*) from work where provider = 'h'") > FLOOD // 2
    pg.execute("insert into paused (provider) values ('h')")
    before = pg.value("select count(*) from outcome where provider = 'h'")
    daemon = inboxd(providers={"h": {"on": "sql:t.ok"}}, workers=1)
    for n in range(50):
        run_one(pg, daemon, f"paused{n}")
    assert pg.value("select count(*) from outcome where provider = 'h'") == before

"""One provider's trouble is not another's (B22): whatever p1 does with thousands of events, p2's are done meanwhile."""

import pytest

from it.working import fill

FLOOD = 3000



TROUBLE = {
    "slow": ({"on": "sql:t.sleep"}, {"s": 0.1}, "select count(*) > 10 from outcome"),
    "all failing": ({"on": "sql:t.fail", "attempts": 5, "backoff": "10ms"}, {"msg": "no"}, "select count(*) > 50 from attempt_log"),
    "hanging on all its workers": (
        {"on": "sql:t.sleep", "timeout": "10m"}, {"s": 3600},
        "select count(*) >= 2 from pg_stat_activity where wait_event = 'PgSleep'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("trouble", TROUBLE)
def test_b22_a_provider_with_thousands_of_events_leaves_another_alone(pg, inboxd, trouble):
    provider, body, begun = TROUBLE[trouble]
    fill(pg, [body] * FLOOD)
    inboxd(providers={"h": provider}, workers=3, shutdown_timeout="1s")
    pg.wait_until(begun)
    for n in range(5):
        fill(pg, 1, provider="n", prefix=f"n{n}")
        pg.wait_until("select count(*) from outcome where provider = 'n'", equals=n + 1)
    assert pg.value("select count(*) > %s from work where provider = 'h'", FLOOD // 2)


def test_b22_a_paused_provider_costs_another_nothing(pg, inboxd):
    fill(pg, FLOOD)
    pg.execute("insert into paused (provider) values ('h')")
    inboxd(providers={"h": {"on": "sql:t.ok"}}, workers=1)
    fill(pg, 50, provider="n")
    pg.wait_until("select count(*) from outcome where provider = 'n'", equals=50)
    assert pg.value("select count(*) from work where provider = 'h'") == FLOOD
    assert pg.value("select count(*) from outcome where provider = 'h'") == 0

"""Numbers at the edges of their types: ids beyond 32 and 53 bits, and attempts far beyond what a power of two can hold."""

import json

import pytest
from support import DEAD, DONE
from support.daemon import ctl_json

from it.working import QUICK, fill, outcomes, wait_done

TYPED = {"event_type": "body:/type", **QUICK}


@pytest.fixture
def program(tmp_path):
    """A program that fails at its first attempt where the event says so; notes what it was told."""
    path = tmp_path / "program"
    path.write_text(f"""#!/bin/sh
echo "$INBOXD_ID $INBOXD_EVENT_ID" >>'{tmp_path}/seen'
grep -q '"fail_below": *2' && [ "$INBOXD_ATTEMPT" = 1 ] && exit 75
exit 0
""")
    path.chmod(0o755)
    return path


def restart_sequences(pg, start):
    """All of the schema's, whatever they are for."""
    names = pg.column("select sequencename from pg_sequences where schemaname = 'inboxd'")
    assert {"event_id_seq", "token_seq"} <= set(names)
    for name in names:
        pg.execute(f"alter sequence inboxd.{name} restart with {start}")


def pulled(pg, provider):
    """Claims and completes everything of a provider in the way of an application."""
    seen = 0
    while rows := pg.rows("select id, token from claim(%s)", provider):
        assert pg.value("select complete_many(%s, %s)", [r[0] for r in rows], [r[1] for r in rows]) == len(rows)
        seen += len(rows)
    return seen


@pytest.mark.parametrize("start", [3_000_000_000, 2**53 + 1])
def test_b09_the_whole_cycle_beyond_32_and_53_bits(pg, inboxd, inboxctl, program, tmp_path, start):
    restart_sequences(pg, start)
    pg.execute("select make_partition_for(%s)", start)
    daemon = inboxd(providers={
        "h": {"on": "sql:t.flaky", "on bad": "sql:t.reject", "order": "serial", **TYPED},
        "n": {"on": f"exec:{program}", "order": "strict", "lease": "1s", **TYPED},
        "p": {"verify": "none", "event_id": "body:/id", "key": "body:/k", "order": "serial", "on": "pull", **TYPED},
    })  # fmt: skip
    names = [f"e{n}" for n in range(8)]
    for provider in ("h", "n", "p"):
        for n, name in enumerate(names):
            key = {"k": f"k{n % 2}"} if n >= 4 else {}
            assert daemon.post(provider, {"id": name, "fail_below": 2 if n % 4 == 1 else 0, **key}).text == "ok"
        assert daemon.post(provider, {"id": "e0"}).text == "dup"
    for n, name in enumerate(("b1", "b2")):
        assert daemon.post("h", {"id": name, "type": "bad", "why": "no good", **({"k": "k0"} if n else {})}).text == "ok"
    pg.wait_until("select count(*) from work where class <> 'pull'", equals=0)
    assert pulled(pg, "p") == len(names)

    assert pg.value("select min(id) from ledger") >= start and pg.value("select count(*) from ledger") == 26
    assert outcomes(pg) == {(DONE, 1): 2 * 6 + 8, (DONE, 2): 2 * 2, (DEAD, 1): 2}
    assert pg.value("select count(*) from t.effect") == len(names)
    told = dict(line.split()[::-1] for line in (tmp_path / "seen").read_text().splitlines())
    assert told == {row[0]: str(row[1]) for row in pg.rows("select event_id, id from ledger where provider = 'n'")}
    assert pg.value("select count(*) from lane") == 0

    for number in pg.column("select id from dead_letters"):
        assert f"{number}" in inboxctl("show", str(number)).stdout
        assert ctl_json(inboxctl("show", str(number), "--json"))["id"] == number
        inboxctl("replay", str(number))
    for provider in ("h", "n", "p"):
        inboxctl("replay", "--provider", provider, "--status", "done")
    pg.wait_until("select count(*) from work where class <> 'pull'", equals=0)
    assert pulled(pg, "p") == len(names)
    assert outcomes(pg) == {(DONE, 2): 2 * 6 + 8, (DONE, 3): 2 * 2, (DEAD, 2): 2}
    assert "h" in inboxctl("status").stdout
    assert json.loads(inboxctl("status", "--json").stdout)


# Attempts ------------------------------------------------------------------------------------------

ATTEMPTS = (31, 62, 63, 310, 1023, 1100)


@pytest.mark.parametrize("kind", ["sql", "keyed", "exec"])
def test_b10_any_attempt_has_a_delay_within_its_cap(pg, inboxd, tmp_path, kind):
    path = tmp_path / "fails"
    path.write_text("#!/bin/sh\nexit 75\n")
    path.chmod(0o755)
    more = {"class": "leased"} if kind == "exec" else {}
    pg.execute("insert into lane (provider, key) select 'h', 'k' || n from generate_series(1, %s) n", len(ATTEMPTS))
    ids = [fill(pg, 1, prefix=f"a{n}-", **({**more, "lane": f"k{n}"} if kind == "keyed" else more))[0] for n in range(1, 1 + len(ATTEMPTS))]
    for number, attempt in zip(ids, ATTEMPTS):
        pg.execute("update work set attempt = %s where id = %s", attempt, number)
    inboxd(providers={"h": {"on": f"exec:{path}" if kind == "exec" else "sql:t.fail", "order": "serial",
                            "attempts": "2000", "backoff": "exponential 1h 6h"}})  # fmt: skip
    pg.wait_until("select count(*) from attempt_log where kind = 'retry'", equals=len(ATTEMPTS))
    assert pg.rows("select id, attempt from work order by id") == [(n, a + 1) for n, a in zip(ids, ATTEMPTS)]
    assert pg.value("select bool_and(run_at between l.at and l.at + interval '6 hours 1 second') from work join attempt_log l using (id)")
    assert pg.value("select count(*) from outcome") == 0

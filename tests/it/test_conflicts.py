"""What got into another's way (40P01, 40001) is repeated, one by one, and costs no attempt; what took too long costs its own
attempt and nobody else's: for events of every kind, with and without a key."""

import pytest
from support import DEAD, DONE

from it.working import effects, fill, outcomes, wait_done
from sql.statements import run

KINDS = ["plain", "serial", "strict", "leased", "leased serial", "leased strict"]
COUNT = 40


@pytest.fixture(params=KINDS)
def kind(request, pg, inboxd, tmp_path):
    """kind(bodies, function, **keys): puts events that function is an action of, four keys where they have one, and starts a daemon."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    leased, keyed = "leased" in request.param, request.param.split()[-1] in ("serial", "strict")

    def start(bodies, function, **keys):
        lanes = [f"k{n}" for n in range(4)]
        if keyed:
            run(pg, "store_lanes", ["h"] * 4, lanes)
            keys["order"] = request.param.split()[-1]
        for n, body in enumerate(bodies):
            more = {"ordering_key": lanes[n % 4], "lane": lanes[n % 4]} if keyed else {}
            fill(pg, [body], prefix=f"e{n:02}", **{"class": "leased" if leased else "sql"}, **more)
        actions = [f"exec:{program}"] * leased + [f"sql:{function}"]
        return inboxd(providers={"h": {"on": ", ".join(actions), "key": "body:/k" if keyed else None, **keys}}, workers=3)

    start.name = request.param
    return start


def test_a_conflict_costs_no_attempt_whatever_the_kind(pg, kind):
    pg.execute("create sequence t.serialization; create sequence t.deadlock; grant usage on all sequences in schema t to public")
    pg.execute(
        """
        create function t.conflicts(e inboxd.event) returns void language plpgsql as $$
        begin
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
            if coalesce(e.payload ->> 'c', '') = '40001' and nextval('t.serialization') < 6 then
                raise exception 'could not serialize' using errcode = '40001';
            elsif coalesce(e.payload ->> 'c', '') = '40P01' and nextval('t.deadlock') < 6 then
                raise exception 'deadlock' using errcode = '40P01';
            end if;
        end $$
        """
    )
    kind([{"c": {5: "40001", 18: "40P01"}.get(n)} for n in range(COUNT)], "t.conflicts", attempts=1)
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): COUNT}
    assert effects(pg) == (COUNT, COUNT)
    assert pg.value("select count(*) from attempt_log") == 0
    # Nor did it end early: each was tried until it passed.
    assert pg.rows("select (select last_value from t.serialization), (select last_value from t.deadlock)") == [(6, 6)]


def test_a_timeout_costs_its_own_event_only_whatever_the_kind(pg, kind):
    kind([{"s": 3600 if n == 6 else 0} for n in range(COUNT)], "t.sleep", attempts=2, backoff="10ms", timeout="1s")
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): COUNT - 1, (DEAD, 2): 1}
    assert effects(pg) == (COUNT - 1, COUNT - 1)
    assert pg.rows("select kind, attempt from attempt_log order by at") == [("timeout", 1), ("dead", 2)]
    assert pg.column("select payload ->> 's' from dead_letters d join event_content using (id)") == ["3600"]

"""Which actions an event gets: several of one line in one transaction, and what `inboxctl check` says of a wrong line."""

import pytest
from support import DEAD, DONE

from it.working import QUICK, effects, fill, outcomes, wait_done

STEPS = """
    create table t.step (n bigint generated always as identity, name text, event_id text, xid xid8 default pg_current_xact_id());
    grant all on t.step to public;
    create function t.one(e inboxd.event) returns void language sql as $$
        insert into t.step (name, event_id) values ('one', e.event_id) $$;
    create function t.two(e inboxd.event) returns void language plpgsql as $$
    begin
        insert into t.step (name, event_id) values ('two', e.event_id);
        if e.payload ? 'bad' then raise exception 'the second action fails'; end if;
    end $$;
    create function t.three(e inboxd.event) returns void language sql as $$
        insert into t.step (name, event_id) values ('three', e.event_id) $$;
"""


def test_several_actions_are_one_transaction_in_order(pg, inboxd):
    pg.execute(STEPS)
    fill(pg, [{"bad": 1} if n % 9 == 4 else {} for n in range(45)])
    inboxd(providers={"h": {"on": "sql:t.one, sql:t.two,sql:t.three", **QUICK}})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 40, (DEAD, 3): 5}
    assert pg.rows("select event_id, string_agg(name, ' ' order by n) as names from t.step group by 1 having count(*) <> 3") == []
    assert set(pg.column("select string_agg(name, ' ' order by n) from t.step group by event_id")) == {"one two three"}
    assert pg.value("select count(distinct event_id) from t.step") == 40
    assert set(pg.column("select last_error from dead_letters")) == {"the second action fails (P0001)"}


def test_each_type_gets_the_actions_of_its_line(pg, inboxd):
    pg.execute(STEPS)
    fill(pg, 3, prefix="a", event_type="order.paid")
    fill(pg, 3, prefix="b", event_type="order.void")
    fill(pg, 3, prefix="c", event_type="ping")
    fill(pg, 3, prefix="d")
    inboxd(providers={"h": {"event_type": "body:/type", "on": "sql:t.ok", "on order.*": "sql:t.one",
                            "on order.paid": "sql:t.one, sql:t.two", "on ping": "ignore"}})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 12}
    assert effects(pg) == (3, 3)
    assert pg.rows("select left(event_id, 1), name, count(*) from t.step group by 1, 2 order by 1, 2") == [
        ("a", "one", 3), ("a", "two", 3), ("b", "one", 3)]


@pytest.mark.parametrize("line, said", [
    ("on = mail:me", "on: \"mail:me\" is not an action; write sql:SCHEMA.FUNCTION, module:NAME, exec:/PATH, pull or ignore"),
    ("on = sql:fn", "on: \"sql:fn\" does not name a function"),
    ("on = pull, sql:a.b", "on: pull stands alone"),
    ("on = ignore, sql:a.b", "on: ignore stands alone"),
    ("on = coalesce, sql:a.b", "on: coalesce keeps the newest event of a key; write key = SOURCE"),
    ("on = sql:a.b, ", "on: \"\" is not an action"),
])
def test_check_names_a_wrong_line(inboxctl, tmp_path, line, said):
    file = tmp_path / "wrong.conf"
    file.write_text(f"[provider p]\nverify = none\nevent_id = body:/id\n{line}\n")
    done = inboxctl("check", config=file, check=False)
    assert done.returncode != 0
    assert f"{file}:4: " in done.stderr and said in done.stderr


def test_check_names_a_provider_without_a_plain_on(inboxctl, tmp_path):
    file = tmp_path / "wrong.conf"
    file.write_text("[provider p]\nverify = none\nevent_id = body:/id\nevent_type = body:/t\non a* = ignore\n")
    done = inboxctl("check", config=file, check=False)
    assert done.returncode != 0
    assert f"{file}:1: " in done.stderr and "has no plain on" in done.stderr

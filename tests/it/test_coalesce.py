"""coalesce: of the waiting events of one key and type only the newest runs; the others are done as superseded, visible as such."""

import json

import pytest
from support import DONE, wait_until

from sql.statements import event, run, store

from it.working import QUICK, effects, wait_done


def put(pg, events):
    """Stores (event_id, key, type) as a daemon does: lanes first, in one transaction; returns {event_id: id}."""
    session = pg.session()
    keys = sorted({key for _, key, _ in events})
    run(session, "store_lanes", ["h"] * len(keys), keys)
    for start in range(0, len(events), 100):
        store(session, *(
            event(id, ordering_key=key, lane=key, event_type=type_, body=json.dumps({"id": id}).encode())
            for id, key, type_ in events[start:start + 100]))
    session.commit()
    session.close()
    return dict(pg.rows("select event_id, id from ledger"))


def superseded(pg):
    return pg.rows("select l.event_id, o.last_error from outcome o join ledger l using (id)"
                   " where o.status = 2 and o.last_error is not null order by 1")


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_a_burst_becomes_one_run(pg, inboxd, order):
    ids = put(pg, [(f"e{n:03}", "a", "t") for n in range(300)])
    inboxd(providers={"h": {"on": "coalesce, sql:t.ok", "order": order, **QUICK}})
    wait_done(pg)
    assert pg.column("select event_id from t.effect") == ["e299"]
    assert superseded(pg) == [(f"e{n:03}", f"superseded by {ids['e299']}") for n in range(299)]
    assert pg.column("select event_id from processed_events") == ["e299"]
    assert pg.rows("select distinct kind from attempt_log") == [("superseded",)]
    assert pg.value("select sum(done) from counters") == 300
    assert pg.value("select count(*) from lane") == 0


def test_each_key_and_each_type_keeps_its_newest(pg, inboxd):
    put(pg, [(f"{key}{type_}{n}", key, type_) for n in range(5) for key in "ab" for type_ in "xy"] +
        [(f"a-{n}", "a", None) for n in range(3)])
    inboxd(providers={"h": {"on": "coalesce, sql:t.ok", "event_type": "body:/type", "on y": "sql:t.ok", **QUICK}})
    wait_done(pg)
    assert sorted(pg.column("select event_id from t.effect")) == sorted(
        ["ax4", "bx4", "a-2"] + [f"{key}y{n}" for key in "ab" for n in range(5)])
    assert len(superseded(pg)) == 4 + 4 + 2


def test_what_waits_for_its_next_attempt_is_superseded_too(pg, inboxd):
    pg.execute("""
        create function t.first_fails(e inboxd.event) returns void language plpgsql as $$
        begin
            if e.event_id = 'e1' then raise exception 'not now'; end if;
            insert into t.effect (provider, event_id) values (e.provider, e.event_id);
        end $$""")
    put(pg, [("e1", "a", "t")])
    inboxd(providers={"h": {"on": "coalesce, sql:t.first_fails", "attempts": 9, "backoff": "1h"}})
    pg.wait_until("select attempt from work where last_error is not null", equals=1)
    ids = put(pg, [("e2", "a", "t")])
    wait_done(pg)
    assert pg.column("select event_id from t.effect") == ["e2"]
    assert superseded(pg) == [("e1", f"superseded by {ids['e2']}")]
    assert pg.value("select sum(done) from counters") == 2


def test_programs_run_for_the_newest_only_and_never_two_at_once(pg, inboxd, tmp_path):
    notes, program = tmp_path / "notes", tmp_path / "program"
    notes.touch()
    program.write_text(f"#!/bin/sh\necho \"$INBOXD_EVENT_ID begin\" >>'{notes}'\n"
                       f"while [ ! -e '{tmp_path}/go' ]; do sleep 0.05; done\necho \"$INBOXD_EVENT_ID end\" >>'{notes}'\n")
    program.chmod(0o755)
    for _ in range(2):
        inboxd(providers={"h": {"on": f"coalesce, exec:{program}", **QUICK}})
    put(pg, [(f"e{n:03}", "a", "t") for n in range(10)])
    wait_until(lambda: notes.read_text() == "e009 begin\n")
    put(pg, [(f"f{n:03}", "a", "t") for n in range(10)])
    (tmp_path / "go").touch()
    wait_done(pg)
    assert notes.read_text().split("\n")[:-1] == ["e009 begin", "e009 end", "f009 begin", "f009 end"]
    assert len(superseded(pg)) == 18
    assert pg.value("select count(*) from outcome where status = %s", DONE) == 20


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_a_burst_for_a_program_is_settled_at_once_and_not_one_a_claim(pg, inboxd, tmp_path, order):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho \"$INBOXD_EVENT_ID\" >>'{tmp_path}/notes'\n")
    program.chmod(0o755)
    ids = put(pg, [(f"e{n:03}", "a", "t") for n in range(500)] + [("other", "a", "u")])
    inboxd(providers={"h": {"on": f"coalesce, exec:{program}", "order": order, **QUICK}})
    wait_done(pg)
    assert (tmp_path / "notes").read_text().split() == ["e499", "other"]
    assert superseded(pg) == [(f"e{n:03}", f"superseded by {ids['e499']}") for n in range(499)]
    assert pg.value("select sum(done) from counters") == 501
    assert pg.value("select count(distinct xmin::text) from attempt_log where kind = 'superseded'") <= 4
    assert pg.value("select count(*) from lane") == 0

"""P6: events of one provider with the same ordering key never run at the same time, on any number of daemons, and their first
attempts start in the order received. P7: a deferred event is tried again as soon as another one of its key is done."""

import json
import threading

import pytest
from support import DEAD, DONE
from support.daemon import run_ctl

from it.working import QUICK, effects, outcomes, wait_done
from sql.statements import event, run, store

# t.overlap counts what runs while another event of its key does: also what is rolled back later, since sequences are not. A
# commit is visible a moment before its locks are gone, so the second try counts. t.run holds what was committed.
HANDLERS = """
    create sequence t.overlap;
    create table t.run (key text, id bigint, attempt int, began timestamptz, ended timestamptz default clock_timestamp());
    create function t.ordered(e inboxd.event) returns void language plpgsql as $$
    declare
        began timestamptz := clock_timestamp();
    begin
        if not pg_try_advisory_xact_lock(hashtext(e.provider || e.ordering_key)) then
            perform pg_sleep(0.02);
            if not pg_try_advisory_xact_lock(hashtext(e.provider || e.ordering_key)) then
                perform nextval('t.overlap');
            end if;
        end if;
        perform pg_sleep(0.0005);
        if e.attempt <= coalesce((e.payload ->> 'fail')::int, 0) then
            raise exception 'attempt % fails', e.attempt;
        end if;
        insert into t.effect (provider, event_id) values (e.provider, e.event_id);
        insert into t.run (key, id, attempt, began) values (e.ordering_key, e.id, e.attempt, began);
    end $$;
    grant all on t.run to public;
    grant all on sequence t.overlap to public;
"""

# Each run of a key that began before the one with the next lower id of that key, or before that one had ended.
DISORDER = """
    select count(*) from (
        select began, lag(began) over k as before, lag(ended) over k as ended_before from t.run where attempt = 1
        window k as (partition by key order by id)) r
     where began < before"""
OVERLAP = """
    select count(*) from (
        select began, lag(ended) over (partition by key order by began) as ended_before from t.run) r
     where began < ended_before"""


def put(where, *events, provider="h"):
    """Stores (event_id, key, body members) as another daemon does: lanes first, in one transaction."""
    keys = sorted({key for _, key, _ in events}, key=str.encode)
    session = where.session()
    run(session, "store_lanes", [provider] * len(keys), keys)
    ids = store(session, *(event(id, provider, ordering_key=key, lane=key, body=json.dumps({"id": id, "k": key, **more}).encode())
                           for id, key, more in events))  # fmt: skip
    session.commit()
    session.close()
    return ids


def assert_in_order(pg, events, overlap=0):
    assert effects(pg) == (events, events)
    assert pg.value(OVERLAP) == 0
    assert pg.value(DISORDER) == 0
    assert pg.value("select last_value - 1 + is_called::int from t.overlap") == overlap


def test_p06_no_overlap_and_no_disorder_whatever_happens(pg, cluster, inboxd):
    """8 claimers on 2 daemons, 20 keys, live inserts, kill -9 and a frozen daemon that loses its leases meanwhile."""
    pg.execute(HANDLERS)
    keys = {"h": {"on": "sql:t.ordered", "concurrency": 4, "lease": "2s"}}
    first, second = (inboxd(providers=keys, workers=5) for _ in range(2))
    writers, rounds, each = 3, 40, 5

    def write(writer):
        for n in range(rounds):
            put(pg, *((f"{writer}-{n}-{i}", f"k{(n * each + i) % 20}", {}) for i in range(each)))

    threads = [threading.Thread(target=write, args=(w,)) for w in range(writers)]
    for thread in threads:
        thread.start()
    pg.wait_until("select count(*) > 20 from t.effect")
    first.kill()
    second.freeze()
    first = inboxd(providers=keys, workers=5)
    pg.wait_until("select count(*) > 200 from t.effect", timeout=60)
    second.thaw()
    first.kill()
    for thread in threads:
        thread.join()
    wait_done(pg, timeout=120)
    assert_in_order(pg, writers * rounds * each)
    assert pg.value("select count(*) from lane") == 0
    assert set(pg.column("select distinct status from outcome")) == {DONE}


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_b21_twelve_workers_and_one_key(pg, inboxd, order):
    """Also beside a key that fails: the others go on."""
    pg.execute(HANDLERS)
    put(pg, *((f"e{n:03}", "one", {"fail": 1} if n == 3 else {}) for n in range(60)))
    put(pg, *((f"f{n:03}", f"k{n}", {}) for n in range(20)))
    inboxd(providers={"h": {"on": "sql:t.ordered", "order": order, "concurrency": 12, **QUICK}}, workers=12)
    wait_done(pg)
    assert effects(pg) == (80, 80)
    assert pg.value(OVERLAP) == 0
    assert pg.value("select last_value - 1 + is_called::int from t.overlap") == 0
    ran = pg.column("select id from t.run where key = 'one' order by began")
    failed = sorted(ran)[3]
    assert sorted(ran) == ran if order == "strict" else [id for id in ran if id != failed] == [id for id in sorted(ran) if id != failed]
    assert outcomes(pg) == {(DONE, 1): 79, (DONE, 2): 1}


def test_strict_is_bounded_by_its_attempts(pg, inboxd):
    pg.execute(HANDLERS)
    put(pg, ("bad", "k", {"fail": 99}), *((f"e{n}", "k", {}) for n in range(5)))
    inboxd(providers={"h": {"on": "sql:t.ordered", "order": "strict", **QUICK}})
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 1): 5, (DEAD, 3): 1}
    assert pg.column("select kind from attempt_log order by at") == ["retry", "retry", "dead"]
    assert pg.value("select min(began) > (select max(at) from attempt_log where kind = 'retry') from t.run")
    assert_in_order(pg, 5)


def test_a_key_that_is_blocked_is_shown_and_holds_up_nobody_else(pg, inboxd):
    pg.execute(HANDLERS)
    put(pg, ("bad", "k", {"fail": 99}), ("behind", "k", {}), ("else", "other", {}))
    daemon = inboxd(providers={"h": {"on": "sql:t.ordered", "order": "strict", "backoff": "1h"}})
    pg.wait_until("select count(*) from blocked_keys")
    pg.wait_until("select count(*) from t.effect")
    assert pg.column("select event_id from t.effect") == ["else"]
    assert pg.rows("select key, event_id, waiting, attempt from blocked_keys") == [("k", "bad", 1, 1)]
    assert daemon.running()


@pytest.mark.parametrize("order", ["serial", "none"])
def test_blocked_keys_go_on_when_their_provider_is_strict_no_more(pg, inboxd, order):
    """What waits runs in the new way after a reload: the failed event steps aside, and keeps its wait and its attempts."""
    pg.execute(HANDLERS)
    bad, *_ = put(pg, ("bad", "k", {"fail": 99}), ("behind", "k", {}), ("last", "k", {}), ("bad2", "other", {"fail": 1}))
    daemon = inboxd(providers={"h": {"on": "sql:t.ordered", "order": "strict", "backoff": "1h", "key": "body:/key"}})
    pg.wait_until("select count(*) from blocked_keys", equals=2)
    daemon.reconfigure(providers={"h": {"order": order}})
    daemon.reload()
    pg.wait_until("select array_agg(event_id order by at) from t.effect", equals=["behind", "last"])
    assert pg.value("select count(*) from blocked_keys") == 0
    assert pg.rows("select attempt, aside, run_at > now() + interval '50 minutes' from work") == [(1, "retry", True)] * 2
    pg.value("select replay(%s)", bad + 3)
    pg.wait_until("select count(*) from t.effect", equals=3)


def test_inboxctl_shows_a_blocked_key_and_skips_what_it_waits_for(pg, inboxd, build):
    def operate(*words, **more):
        return run_ctl(build, "--database", pg.conninfo("postgres"), *words, **more)

    pg.execute(HANDLERS)
    key = "k\x1b[2J"  # a terminal would take it for a command
    bad, *_ = put(pg, ("bad", key, {"fail": 99}), ("behind", key, {}), ("last", key, {}))
    assert operate("blocked").stdout == "no key is blocked\n"
    inboxd(providers={"h": {"on": "sql:t.ordered", "order": "strict", "backoff": "1h"}})
    pg.wait_until("select count(*) from blocked_keys")
    head, row = operate("blocked").stdout.splitlines()
    assert head.split() == ["provider", "key", "id", "type", "attempt", "next", "waiting", "error"]
    assert row.split()[:3] == ["h", "k?[2J", str(bad)] and row.endswith("2  attempt 1 fails (P0001)")
    shown = json.loads(operate("blocked", "--provider", "h", "--json").stdout)
    assert (shown["id"], shown["event_id"], shown["waiting"]) == (bad, "bad", 2)
    assert operate("blocked", "--provider", "other").stdout == "no key is blocked\n"
    for words in (("skip",), ("skip", str(bad)), ("skip", "one", "why"), ("blocked", "k")):
        assert operate(*words, check=False).returncode == 64
    refused = operate("skip", str(bad + 1), "no", check=False)
    assert refused.returncode == 1 and f"cannot skip event {bad + 1}: no key waits for it" in refused.stderr
    assert operate("skip", str(bad), "account closed").stdout == (
        f"event {bad} is discarded; key 'k?[2J' goes on, events that waited: 2\n"
    )
    wait_done(pg)
    assert pg.column("select event_id from t.effect order by at") == ["behind", "last"]
    assert pg.value("select last_error from webhook_inbox where id = %s", bad) == "discarded: account closed"
    assert pg.value("select count(*) from lane") == 0


def test_replayed_events_of_a_key_never_run_beside_another(pg, inboxd):
    """The order of first attempts stays, and no two overlap, while operators replay what is done all the time."""
    pg.execute(HANDLERS)
    inboxd(providers={"h": {"on": "sql:t.ordered", "concurrency": 4}}, workers=4)
    done = put(pg, *((f"a{n}", "k", {}) for n in range(10)))
    wait_done(pg)
    pg.execute("truncate t.effect, t.run")
    fresh = put(pg, *((f"b{n}", "k", {}) for n in range(20)))
    for id in done:
        pg.value("select replay(%s)", id)
    wait_done(pg)
    assert_in_order(pg, 30)
    assert pg.column("select id from t.run where id = any (%s) order by began", fresh) == sorted(fresh)
    assert pg.value("select count(*) from lane") == 0


def test_serial_goes_on_past_a_failing_event(pg, inboxd):
    pg.execute(HANDLERS)
    put(pg, ("bad", "k", {"fail": 99}), *((f"e{n}", "k", {}) for n in range(5)))
    inboxd(providers={"h": {"on": "sql:t.ordered", "backoff": "1h"}})
    pg.wait_until("select count(*) from t.effect", equals=5)
    assert pg.rows("select aside, attempt from work") == [("retry", 1)]
    put(pg, ("later", "k", {}))
    pg.wait_until("select count(*) from t.effect", equals=6)
    assert_in_order(pg, 6)


EARLY = """
    create function t.early(e inboxd.event) returns void language plpgsql as $$
    begin
        if e.payload ? 'needs' and not exists (select from t.effect f where f.event_id = e.payload ->> 'needs') then
            perform inboxd.defer('it is too early');
        end if;
        insert into t.effect (provider, event_id) values (e.provider, e.event_id);
    end $$;
"""


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_p07_a_deferred_event_is_tried_again_as_soon_as_one_of_its_key_is_done(pg, inboxd, order):
    pg.execute(EARLY)
    inboxd(providers={"h": {"on": "sql:t.early", "order": order, "defer": "1h"}})
    put(pg, ("shipped", "order-1", {"needs": "paid"}), ("delivered", "order-1", {"needs": "shipped"}))
    pg.wait_until("select count(*) from work where aside = 'defer'", equals=2)
    put(pg, ("another", "order-2", {}))
    pg.wait_until("select count(*) from t.effect")
    assert pg.value("select count(*) from work where run_at > now() + interval '50 minutes'") == 2
    put(pg, ("paid", "order-1", {}))
    wait_done(pg)
    assert pg.column("select event_id from t.effect order by at") == ["another", "paid", "shipped", "delivered"]
    assert outcomes(pg) == {(DONE, 1): 4}


def test_p07_one_that_is_deferred_in_the_batch_in_which_its_precondition_is_done(pg, inboxd):
    pg.execute(EARLY)
    put(pg, ("shipped", "k", {"needs": "paid"}), ("paid", "k", {}))
    inboxd(providers={"h": {"on": "sql:t.early", "defer": "1h"}})
    wait_done(pg)
    assert pg.column("select event_id from t.effect order by at") == ["paid", "shipped"]


@pytest.mark.parametrize("order", ["serial", "strict"])
def test_b16_beside_an_open_snapshot_and_with_late_commits(pg, inboxd, order):
    """Sessions that have locked a lane and not committed yet do not let others of that key past."""
    pg.execute(HANDLERS)
    reader = pg.session()
    reader.connection.set_session(isolation_level="REPEATABLE READ")
    reader.do("select count(*) from work")
    inboxd(providers={"h": {"on": "sql:t.ordered", "order": order}})
    for n in range(10):
        late = pg.session()
        run(late, "store_lanes", ["h"], ["k"])
        store(late, event(f"late{n}", ordering_key="k", lane="k"))
        put(pg, (f"other{n}", f"other{n}", {}))
        pg.wait_until("select count(*) from t.run where key = %s", f"other{n}", equals=1)
        late.commit()
        put(pg, (f"next{n}", "k", {}))
        late.close()
    wait_done(pg)
    reader.rollback()
    assert_in_order(pg, 30)


def test_p06_over_http_and_with_batches_of_one_request(pg, inboxd):
    """Elements of a request are received in their order; 600 of them are several statements."""
    pg.execute(HANDLERS)
    daemon = inboxd(providers={"n": {"on": "sql:t.ordered", "split": "body:/events"}})
    assert daemon.post("n", {"events": [{"id": f"e{n}", "k": f"k{n % 3}"} for n in range(600)]}).status == 200
    wait_done(pg)
    assert_in_order(pg, 600)
    assert pg.value("select count(distinct key) from t.run") == 3
    places = pg.rows("select key, array_agg(substr(l.event_id, 2)::int order by r.began) from t.run r join ledger l using (id) group by 1")
    assert all(numbers == sorted(numbers) for _, numbers in places)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["serial", "strict"])
def test_p06_a_handler_that_takes_longer_than_its_lease_keeps_its_key(pg, inboxd, order):
    """The lease is renewed while it runs: nobody else takes the key over, and no attempt is burnt."""
    pg.execute(HANDLERS.replace("pg_sleep(0.0005)", "pg_sleep(4)"))
    put(pg, ("e1", "k", {}), ("e2", "k", {}))
    keys = {"h": {"on": "sql:t.ordered", "order": order, "lease": "3s"}}
    first, second = inboxd(providers=keys), inboxd(providers=keys)
    wait_done(pg)
    assert_in_order(pg, 2)
    assert outcomes(pg) == {(DONE, 1): 2}
    assert pg.value("select count(*) from attempt_log") == 0
    assert "ran out" not in first.log_text() + second.log_text()

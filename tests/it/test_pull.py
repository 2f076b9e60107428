"""on = pull: the examples of docs/pull-api.md as programs of their own, beside running daemons."""

import os
import re
import shutil
import subprocess
import threading

import pytest
from support import DEAD, DONE
from support.places import ROOT

PAGE = (ROOT / "docs" / "pull-api.md").read_text()
MODULES = ROOT / "tests" / "interop" / "node_modules"
PULL = {"orders": {"verify": "none", "event_id": "body:/id", "event_type": "body:/type", "key": "body:/order", "on": "pull",
                   "attempts": "2", "backoff": "10ms"}}  # fmt: skip


def block(language):
    [code] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return code


@pytest.fixture
def shop(pg):
    pg.execute(block("sql"))
    pg.execute("create role shop_app login in role inboxd_app; grant usage on schema shop to shop_app;"
               "grant all on all tables in schema shop to shop_app")  # fmt: skip
    yield pg
    pg.execute("drop owned by shop_app; drop role shop_app")


@pytest.fixture(params=["python", "node"])
def application(request, shop, tmp_path):
    """Runs the page's example until nothing is due; returns its exit code."""
    env = {**os.environ, "PROVIDER": "orders", "DATABASE": shop.conninfo("shop_app"),
           "DATABASE_URL": f"postgresql://shop_app@127.0.0.1:{shop.cluster.port}/{shop.name}"}  # fmt: skip
    if request.param == "python":
        program = tmp_path / "pull.py"
        program.write_text(block("python"))
        command = ["/usr/bin/python3", str(program)]
    else:
        if not MODULES.is_dir():
            pytest.fail("the npm packages are not installed: run tests/interop/install")
        program = tmp_path / "pull.mjs"
        program.write_text(block("js"))
        (tmp_path / "node_modules").symlink_to(MODULES)
        command = [shutil.which("node") or "node", str(program)]

    def run():
        shop.wait_until("select count(*) from provider_policy where provider = 'orders'", equals=1)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done

    return run


def post(daemon, event_id, order, event_type="order.paid"):
    answer = daemon.post("orders", {"id": event_id, "type": event_type, "order": order})
    assert (answer.status, answer.text) == (200, "ok")


def test_the_example_works_events_off(shop, inboxd, application):
    daemon = inboxd(providers=PULL)
    for number in range(25):
        post(daemon, f"e{number}", f"o{number % 5}", f"step.{number // 5}")
    application()
    assert shop.rows("select distinct status, attempt from webhook_inbox") == [(DONE, 1)]
    assert shop.rows("select * from shop.orders order by 1") == [(f"o{n}", "step.4") for n in range(5)]
    assert shop.value("select count(*) from lane") == 0


def test_what_the_example_cannot_do_is_retried_and_ends_dead(shop, inboxd, application):
    daemon = inboxd(providers=PULL)
    post(daemon, "bad", "o1", "order.bad")
    post(daemon, "good", "o1")
    application()
    shop.wait_until("select count(*) from work where run_at > now()", equals=0)
    application()
    assert shop.rows("select event_id, status, attempt from webhook_inbox order by 1") == [("bad", DEAD, 2), ("good", DONE, 1)]
    assert "orders_state_check" in shop.value("select last_error from dead_letters")
    assert shop.rows("select * from shop.orders") == [("o1", "order.paid")]


def test_p06_several_applications_at_once_keep_the_order_of_each_key(shop, inboxd, application):
    shop.execute("""
        create table shop.seen (n bigint generated always as identity, id text, state text);
        grant all on shop.seen to shop_app;
        create function shop.see() returns trigger language plpgsql security definer as $$
        begin insert into shop.seen (id, state) values (new.id, new.state); return null; end $$;
        create trigger see after insert or update on shop.orders for each row execute function shop.see()""")
    daemon = inboxd(providers=PULL)
    for number in range(40):
        post(daemon, f"e{number}", f"o{number % 4}", f"step.{number // 4}")

    def work():
        while shop.value("select count(*) from work"):
            application()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shop.rows("select id, array_agg(state order by n) from shop.seen group by 1 order by 1") == [
        (f"o{n}", [f"step.{step}" for step in range(10)]) for n in range(4)
    ]


def test_ignored_events_of_a_provider_that_is_pulled_are_done_by_the_daemon(shop, inboxd):
    daemon = inboxd(providers={"orders": {**PULL["orders"], "on ping": "ignore"}})
    post(daemon, "e1", "o1", "ping")
    post(daemon, "e2", "o1")
    shop.wait_until("select count(*) from outcome", equals=1)
    assert shop.rows("select event_id, event_type from work join ledger using (id)") == [("e2", "order.paid")]


def test_events_wait_when_nobody_claims_them(shop, inboxd):
    daemon = inboxd(providers=PULL)
    post(daemon, "e1", "o1")
    shop.execute("update work set run_at = now() - interval '2 minutes'")
    shop.execute("update lane set ready_at = now() - interval '2 minutes'")
    assert shop.rows("select why from stuck") == [("due for more than a minute: no application claims it",)]


def test_after_a_reload_without_pull_the_daemon_works_them_off(shop, inboxd):
    daemon = inboxd(providers=PULL)
    post(daemon, "e1", "o1")
    post(daemon, "e2", "o1")
    daemon.reconfigure(providers={"orders": {**PULL["orders"], "on": "sql:t.ok"}})
    daemon.reload()
    shop.wait_until("select count(*) from outcome where status = 2", equals=2)


def test_a_look_that_began_before_a_reload_leaves_the_new_plan_to_the_next_one(shop, inboxd):
    """What waits for applications is taken over once a plan. The only worker is held in a look, on its way to that."""
    keyless = {**PULL["orders"], "key": None}  # a lane would be claimed, and its event be put right by that
    daemon = inboxd(providers={"orders": keyless}, workers=1)
    post(daemon, "e1", "o1")
    operator = shop.session()
    operator.do("lock table pg_catalog.pg_trigger in access exclusive mode")
    shop.wait_until("select count(*) from pg_stat_activity where application_name = 'inboxd worker 1' and wait_event_type = 'Lock'",
                    equals=1)  # fmt: skip
    daemon.reconfigure(providers={"orders": {**keyless, "on": "sql:t.ok"}})
    daemon.reload()
    operator.rollback()
    shop.wait_until("select count(*) from outcome where status = 2", equals=1)


@pytest.mark.parametrize("key", [None, "body:/order"])
def test_what_ran_alone_before_a_reload_to_pull_is_handed_out(shop, inboxd, key):
    """A handler that took too long leaves an event that runs alone; an application gets it all the same."""
    before = {**PULL["orders"], "key": key, "on": "sql:t.sleep", "timeout": "1s", "backoff": "1h"}
    daemon = inboxd(providers={"orders": before})
    daemon.post("orders", {"id": "e1", "type": "order.paid", "order": "o1", "s": 60})
    shop.wait_until("select suspect from work", equals=True)
    if key:  # with no order any more, its lane is the daemon's to end
        daemon.reconfigure(providers={"orders": {"order": "none"}})
    daemon.reconfigure(providers={"orders": {"on": "pull"}})
    daemon.reload()
    shop.execute("update work set run_at = now(); update lane set ready_at = now()")
    shop.wait_until("select class from work", equals="pull")
    assert shop.rows("select event_id, attempt from claim('orders')") == [("e1", 2)]


def test_a_replayed_event_is_pulled_again(shop, inboxd):
    daemon = inboxd(providers=PULL)
    post(daemon, "e1", "o1")
    shop.wait_until("select class from provider_policy where provider = 'orders'", equals="pull")
    row = shop.row("select id, token from claim('orders')")
    assert shop.value("select complete(%s, %s)", row["id"], row["token"])
    shop.execute("select replay(%s)", row["id"])
    assert shop.rows("select id, attempt from claim('orders')") == [(row["id"], 2)]

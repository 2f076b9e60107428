"""The examples of docs/handlers.md work, and do what the page says."""

import re

import pytest
from support import DEAD, DONE
from support.places import ROOT

PAGE = (ROOT / "docs" / "handlers.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def routes():
    """The lines `on ...` of the page's provider, as the tests' configuration has them."""
    lines = [line.split("=", 1) for line in "\n".join(blocks("ini")).splitlines() if line.startswith("on")]
    return {name.strip(): value.strip() for name, value in lines}


@pytest.fixture
def shop(pg):
    for block in blocks("sql"):
        pg.execute(block)
    return pg


def post(daemon, event_id, event_type, **data):
    answer = daemon.post("s", {"id": event_id, "type": event_type, "data": {"object": data}})
    assert answer.status == 200, answer.text


def test_every_handler_of_the_page_runs(shop, inboxd):
    extra = {"on payout.paid": "sql:shop.on_payout", "on refund": "sql:shop.on_refund"}
    daemon = inboxd(providers={"s": {**routes(), **extra}})
    post(daemon, "evt_1", "invoice.paid", id="in_1", customer="cus_1", amount_paid=1200)
    post(daemon, "evt_2", "charge.succeeded", id="ch_1", customer="cus_1")
    shop.wait_until("select last_error from webhook_inbox where event_id = 'evt_2'", equals="the customer is not here yet")
    post(daemon, "evt_3", "customer.created", id="cus_1", email="a@example.com")
    post(daemon, "evt_4", "customer.created", id="cus_2")
    post(daemon, "evt_5", "ping")
    post(daemon, "evt_6", "payout.paid")
    assert daemon.post("s", {"id": "evt_7", "type": "refund", "invoice": "in_1"}).status == 200
    shop.wait_until("select count(*) from work", equals=0)
    assert shop.rows("select event_id, status, attempt from webhook_inbox order by 1") == [
        ("evt_1", DONE, 1), ("evt_2", DONE, 1), ("evt_3", DONE, 1), ("evt_4", DEAD, 1), ("evt_5", DONE, 1),
        ("evt_6", DONE, 1), ("evt_7", DONE, 1),
    ]  # fmt: skip
    assert shop.rows("select * from shop.payment order by 1") == [("evt_6", "payout", 0), ("in_1", "cus_1", 1200)]
    assert shop.rows("select * from shop.charge") == [("ch_1", "cus_1")]
    assert shop.value("select last_error from dead_letters") == "a customer without an address"


def test_the_columns_of_an_event_are_those_of_the_page(shop):
    described = PAGE.split("`inboxd.event` holds", 1)[1].split("\n\n", 1)[0]
    columns = shop.column(
        "select attname from pg_attribute where attrelid = 'inboxd.event'::regclass and attnum > 0 order by attnum"
    )
    assert re.findall(r"`([a-z_]+)`", described) == columns


def test_a_handler_finds_the_session_that_the_page_describes(pg, inboxd):
    pg.execute("""
        create table t.seen (name text, value text);
        grant insert on t.seen to public;
        create function t.look(e inboxd.event) returns void language sql as $$
            insert into t.seen select n, current_setting(n)
              from unnest(array['search_path', 'timezone', 'transaction_isolation', 'statement_timeout',
                                'synchronous_commit', 'enable_seqscan', 'plan_cache_mode']) n
        $$""")
    pg.execute("alter role inboxd_test set search_path = public; alter role inboxd_test set timezone = 'Asia/Kolkata'")
    try:
        daemon = inboxd(providers={"h": {"on": "sql:t.look", "timeout": "45s"}})
        assert daemon.post("h", {"id": "e1"}).status == 200
        pg.wait_until("select count(*) from t.seen", equals=7)
    finally:
        pg.execute("alter role inboxd_test reset all")
    assert dict(pg.rows("select * from t.seen")) == {
        "search_path": "pg_catalog", "timezone": "UTC", "transaction_isolation": "read committed", "statement_timeout": "45s",
        "synchronous_commit": "on", "enable_seqscan": "on", "plan_cache_mode": "auto",
    }  # fmt: skip


def test_the_program_of_the_page_does_what_it_says(pg, inboxd, tmp_path):
    script = next(block for block in blocks("sh") if block.startswith("#!"))
    conf = next(block for block in blocks("conf") if "exec:" in block)
    program = tmp_path / "on_release"
    program.write_text(script.replace("/srv/", f"{tmp_path}/"))
    program.chmod(0o755)
    keys = dict(line.split("=", 1) for line in re.sub(" +", " ", conf).splitlines() if line.startswith(("on", "timeout")))
    keys = {key.strip(): value.strip().replace("/usr/local/lib/shop/on_release", str(program)) for key, value in keys.items()}
    daemon = inboxd(providers={"h": {**keys, "event_type": "header:X-GitHub-Event", "defer": "100ms"}})
    assert daemon.post("h", {"id": "e1", "release": {"tag_name": "v1"}}, headers={"X-GitHub-Event": "release"}).status == 200
    assert daemon.post("h", {"id": "e2", "release": {}}, headers={"X-GitHub-Event": "release"}).status == 200
    assert daemon.post("h", {"id": "e3"}, headers={"X-GitHub-Event": "push"}).status == 200
    pg.wait_until("select last_error from webhook_inbox where event_id = 'e1'", equals="exit status 99: its files are not here yet")
    (tmp_path / "releases" / "v1").mkdir(parents=True)
    pg.wait_until("select count(*) from work", equals=0)
    assert pg.rows("select event_id, status, last_error from webhook_inbox order by event_id") == [
        ("e1", DONE, None), ("e2", DEAD, "exit status 65: a release without a tag"), ("e3", DONE, None),
    ]  # fmt: skip
    assert (tmp_path / "current").resolve() == tmp_path / "releases" / "v1"


def test_the_variables_of_the_page_are_those_of_a_program(pg, inboxd, tmp_path):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nenv >{tmp_path}/env\n")
    program.chmod(0o755)
    daemon = inboxd(providers={"h": {"on": f"exec:{program}", "event_type": "body:/type", "key": "body:/key", "order": "none"}})
    assert daemon.post("h", {"id": "e1", "type": "t", "key": "k"}).status == 200
    pg.wait_until("select count(*) from work", equals=0)
    described = PAGE.split("- **Environment**", 1)[1].split("\n- **", 1)[0]
    names = {line.split("=", 1)[0] for line in (tmp_path / "env").read_text().splitlines()} - {"PWD", "OLDPWD", "_", "SHLVL"}
    own = {name for name in names if not name.startswith("INBOXD_HEADER_")}
    assert set(re.findall(r"`((?:INBOXD_)?[A-Z]+(?:_[A-Z]+)*)`", described)) == own | {"INBOXD_HEADER_NAME", "INBOXD_LEFT_OUT"}
    assert "INBOXD_HEADER_HOST" in names

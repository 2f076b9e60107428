"""Events that come early, late or twice: machines and versions with running daemons, and the examples of docs/late-events.md.

P7: late is not lost."""

import itertools
import re

import pytest
from support import DEAD, DONE
from support.places import ROOT

PAGE = (ROOT / "docs" / "late-events.md").read_text()
STATES = ["placed", "paid", "packed", "shipped", "received"]


@pytest.fixture
def page(pg):
    for block in re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        pg.execute(block)
    pg.execute("grant usage on schema late to public; grant all on all tables in schema late to public")
    return pg


def provider(**more):
    return {"verify": "none", "event_id": "body:/id", "event_type": "body:/type", "key": "body:/order", **more}


def post(daemon, name, event_id, event_type, **members):
    answer = daemon.post(name, {"id": event_id, "type": event_type, **members})
    assert (answer.status, answer.text) == (200, "ok"), answer.text


def test_the_order_of_the_page_ends_refunded_however_it_comes(page, inboxd):
    daemon = inboxd(providers={"shop": provider(machine="order", on="sql:late.on_order", defer="100ms")})
    for number, arrival in enumerate(itertools.permutations(["paid", "shipped", "refunded"])):
        for step in arrival:
            post(daemon, "shop", f"{number}-{step}", f"order.{step}", order=f"o{number}")
    page.wait_until("select count(*) from work", equals=0)
    assert page.rows("select distinct machine, state from entity_state") == [("order", "refunded")]
    logs = {tuple(row[0]) for row in page.rows("select array_agg(event_type order by seen) from late.log group by order_id")}
    assert logs <= {("order.paid", "order.shipped", "order.refunded"), ("order.paid", "order.refunded")}
    shipped_too_late = page.value("select count(*) from webhook_inbox where status = 2 and last_error like 'stale: %%'")
    assert shipped_too_late == 18 - page.value("select count(*) from late.log")
    assert page.value("select count(*) from processed_events") == page.value("select count(*) from late.log")


def test_p07_all_permutations_of_five_events_in_three_copies_end_in_one_state(pg, inboxd):
    """1,800 events: a third are repetitions under ids of their own, and a third are resent under the same id."""
    before = ""
    for state in STATES:
        pg.execute("insert into transition values ('five', %s, %s, %s)", before, f"was.{state}", state)
        before = state
    pg.execute("""
        create table t.moved (entity text, event_type text, unique (entity, event_type));
        grant insert on t.moved to public;
        create function t.move(e inboxd.event) returns void language sql as $$
            insert into t.moved values (e.ordering_key, e.event_type)
        $$""")
    daemon = inboxd(providers={"five": provider(machine="five", on="sql:t.move", defer="100ms")}, workers=4)
    permutations = list(itertools.permutations(STATES))
    for number, arrival in enumerate(permutations):
        for step in arrival:
            post(daemon, "five", f"{number}-{step}", f"was.{step}", order=f"o{number}")
            post(daemon, "five", f"{number}-{step}-again", f"was.{step}", order=f"o{number}")
            again = daemon.post("five", {"id": f"{number}-{step}", "type": f"was.{step}", "order": f"o{number}"})
            assert again.text == "dup"
    pg.wait_until("select count(*) from work", equals=0, timeout=120)
    assert pg.rows("select state, count(*) from entity_state group by 1") == [("received", len(permutations))]
    assert pg.value("select count(*) from t.moved") == 5 * len(permutations)  # the unique index: none of them twice
    assert pg.value("select count(*) from outcome where status = 2 and last_error like 'stale: %%'") == 5 * len(permutations)
    assert pg.value("select count(*) from outcome where status <> 2") == 0


def test_p07_an_event_whose_turn_never_comes_is_dead_with_the_reason(page, inboxd):
    daemon = inboxd(providers={"shop": provider(machine="order", on="sql:late.on_order", defer="20ms", defer_limit="200ms")})
    post(daemon, "shop", "e1", "order.refunded", order="o1")
    page.wait_until("select count(*) from outcome")
    status, error = page.rows("select status, last_error from webhook_inbox")[0]
    assert status == DEAD
    assert error.startswith("deferred for longer than defer_limit") and "too early: order.refunded of o1" in error
    assert page.value("select count(*) from entity_state") + page.value("select count(*) from late.log") == 0


def test_what_a_machine_does_not_name_goes_to_its_handler(page, inboxd):
    daemon = inboxd(providers={"shop": provider(machine="order", on="sql:late.on_order")})
    post(daemon, "shop", "e1", "order.viewed", order="o1")
    post(daemon, "shop", "e2", "order.refunded")  # no key: no entity
    page.wait_until("select count(*) from late.log", equals=2)
    assert page.value("select count(*) from entity_state") == 0


def test_a_machine_without_transitions_is_warned_of(page, inboxd):
    daemon = inboxd(providers={"shop": provider(machine="ordr", on="sql:t.ok"), "right": provider(machine="order", on="sql:t.ok")})
    daemon.wait_log('msg="machine has no transitions, events go to their handlers unchecked" provider=shop machine=ordr')
    post(daemon, "shop", "e1", "order.shipped", order="o1")
    page.wait_until("select status from webhook_inbox", equals=DONE)
    assert "provider=right" not in daemon.log_text()


def test_a_machine_moves_on_by_ignored_events_too(page, inboxd):
    daemon = inboxd(providers={"shop": provider(machine="order", on="sql:late.on_order", **{"on order.paid": "ignore"})})
    post(daemon, "shop", "e1", "order.paid", order="o1")
    page.wait_until("select state from entity_state where entity = 'o1'", equals="paid")
    post(daemon, "shop", "e2", "order.shipped", order="o1")
    page.wait_until("select array_agg(event_type) from late.log", equals=["order.shipped"])


def test_a_failing_handler_leaves_the_machine_where_it_was(page, inboxd):
    daemon = inboxd(providers={"shop": provider(machine="order", on="sql:t.fail", attempts="1")})
    post(daemon, "shop", "e1", "order.paid", order="o1", msg="no")
    page.wait_until("select status from webhook_inbox", equals=DEAD)
    assert page.value("select count(*) from entity_state") == 0
    page.execute("update transition set event_type = event_type")  # nothing is locked


def test_the_charge_of_the_page_waits_for_its_customer(page, inboxd):
    daemon = inboxd(providers={"late": provider(key="body:/data/customer", on="sql:late.on_event", defer="100ms")})
    post(daemon, "late", "e1", "charge.succeeded", data={"customer": "c1", "charge": "ch1"})
    page.wait_until("select last_error from work", equals="customer c1 is not here yet")
    post(daemon, "late", "e2", "customer.created", data={"customer": "c1"})
    page.wait_until("select count(*) from late.charge", equals=1)
    page.wait_until("select array_agg(status::int) from webhook_inbox", equals=[DONE, DONE])


def test_the_newest_version_of_the_page_wins(page, inboxd):
    daemon = inboxd(providers={"late": provider(key="body:/product", on="sql:late.on_product")})
    for number, version in enumerate([3, 1, 2, 3, 7, 5]):
        post(daemon, "late", f"e{number}", "product.updated", product="p1", version=version, price=100 * version)
    page.wait_until("select count(*) from work", equals=0)
    assert page.rows("select * from late.product") == [("p1", 700)]


# Programs and modules ------------------------------------------------------------------------------


@pytest.fixture
def logging(tmp_path):
    """(action, lines()): a program that writes down what it ran for."""
    path, log = tmp_path / "handler", tmp_path / "log"
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$INBOXD_KEY $INBOXD_EVENT_TYPE" >>{log}\n')
    path.chmod(0o755)
    return f"exec:{path}", lambda: log.read_text().splitlines() if log.exists() else []


def test_p07_a_program_does_not_run_for_what_comes_early_or_too_late(page, inboxd, logging):
    """However they come, and each of them twice, a program runs as the handler in SQL does: once a transition."""
    action, lines = logging
    daemon = inboxd(providers={"shop": provider(machine="order", on=action, defer="100ms")})
    for number, arrival in enumerate(itertools.permutations(["paid", "shipped", "refunded"])):
        for step in arrival:
            for copy in ("", "-again"):
                post(daemon, "shop", f"{number}-{step}{copy}", f"order.{step}", order=f"o{number}")
    page.wait_until("select count(*) from work", equals=0)
    assert page.rows("select distinct machine, state from entity_state") == [("order", "refunded")]
    ran = {}
    for line in lines():
        key, event_type = line.split()
        ran.setdefault(key, []).append(event_type)
    assert len(ran) == 6
    for steps in ran.values():
        assert tuple(steps) in {("order.paid", "order.shipped", "order.refunded"), ("order.paid", "order.refunded")}
    assert page.value("select count(*) from processed_events") == len(lines())
    assert page.value("select count(*) from outcome where status = 2 and last_error like 'stale: o_ is past order.%%'") == 36 - len(lines())
    assert page.value("select count(*) from outcome where status <> 2") == 0


def test_p07_a_program_waits_for_its_turn_with_the_reason(page, inboxd, logging):
    action, lines = logging
    daemon = inboxd(providers={"shop": provider(machine="order", on=action, defer="1h", **{"on order.paid": "ignore"})})
    post(daemon, "shop", "e1", "order.shipped", order="o1")
    page.wait_until("select last_error from work", equals="too early: order.shipped of o1, which is not known yet")
    assert (lines(), page.value("select count(*) from entity_state")) == ([], 0)
    assert page.rows("select attempt, aside from work") == [(0, "defer")]
    post(daemon, "shop", "e2", "order.paid", order="o1")
    page.wait_until("select count(*) from work", equals=0)
    assert lines() == ["o1 order.shipped"]
    assert page.rows("select state from entity_state") == [("shipped",)]


def test_a_failing_program_leaves_the_machine_where_it_was(page, inboxd, tmp_path):
    path = tmp_path / "fails"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    daemon = inboxd(providers={"shop": provider(machine="order", on=f"exec:{path}", attempts="1")})
    post(daemon, "shop", "e1", "order.paid", order="o1")
    page.wait_until("select status from webhook_inbox", equals=DEAD)
    assert page.value("select count(*) from entity_state") == 0


def test_an_event_of_an_entity_in_an_unknown_state_is_a_failure_and_not_past(page, inboxd, logging):
    """By a program, which is judged for before it runs, and by a function in SQL: the same words."""
    action, lines = logging
    page.execute("insert into entity_state (machine, entity, state) values ('order', 'o1', 'renamed')")
    one = {"machine": "order", "attempts": "1"}
    daemon = inboxd(providers={"shop": provider(on=action, **one), "sql": provider(on="sql:t.ok", **one)})
    for name in ("shop", "sql"):
        post(daemon, name, "e1", "order.shipped", order="o1")
    page.wait_until("select count(*) from dead_letters", equals=2)
    assert set(page.column("select last_error from dead_letters")) == {"machine 'order' does not know state 'renamed' (P0002)"}
    assert (lines(), page.value("select count(*) from t.effect")) == ([], 0)


def test_a_program_runs_for_what_its_machine_does_not_name(page, inboxd, logging):
    action, lines = logging
    daemon = inboxd(providers={"shop": provider(machine="order", on=action)})
    post(daemon, "shop", "e1", "order.viewed", order="o1")
    post(daemon, "shop", "e2", "order.refunded")  # no key: no entity
    page.wait_until("select count(*) from work", equals=0)
    assert sorted(lines()) == [" order.refunded", "o1 order.viewed"]
    assert page.value("select count(*) from entity_state") == 0


def test_p07_a_program_without_an_order_does_not_run_early_either(page, inboxd, logging):
    action, lines = logging
    daemon = inboxd(providers={"shop": provider(machine="order", on=action, order="none", defer="100ms")})
    post(daemon, "shop", "e1", "order.shipped", order="o1")
    page.wait_until("select last_error from work", equals="too early: order.shipped of o1, which is not known yet")
    assert lines() == []
    post(daemon, "shop", "e2", "order.paid", order="o1")
    page.wait_until("select count(*) from work", equals=0)
    assert lines() == ["o1 order.paid", "o1 order.shipped"]
    post(daemon, "shop", "e3", "order.paid", order="o1")
    page.wait_until("select last_error from webhook_inbox where event_id = 'e3'", equals="stale: o1 is past order.paid")
    assert len(lines()) == 2

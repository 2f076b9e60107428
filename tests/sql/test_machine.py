"""advance, newer and the tables behind them: what comes too early, what comes too late, and who waits for whom."""

import itertools

import psycopg2.errors
import pytest

ORDER = [("", "paid", "paid"), ("paid", "shipped", "shipped"), ("paid", "refunded", "refunded"), ("shipped", "refunded", "refunded")]


@pytest.fixture
def machine(pg):
    for from_state, event_type, to_state in ORDER:
        pg.execute("insert into transition values ('order', %s, %s, %s)", from_state, event_type, to_state)
    return pg


def advance(pg, event_type, entity="o1"):
    """What advance answers, or 'early' where it defers."""
    try:
        return pg.value("select advance('order', %s, %s)", entity, event_type)
    except psycopg2.Error as error:
        if error.pgcode != "IBX01":
            raise
        return "early"


def state(pg, entity="o1"):
    return pg.value("select state from entity_state where machine = 'order' and entity = %s", entity)


def test_an_event_in_its_turn_moves_the_entity(machine):
    assert advance(machine, "paid") == "applied"
    assert advance(machine, "shipped") == "applied"
    assert machine.rows("select machine, entity, state, event_type from entity_state") == [("order", "o1", "shipped", "shipped")]


def test_an_event_before_its_turn_is_deferred_and_leaves_nothing(machine):
    with pytest.raises(psycopg2.Error, match="too early: refunded of o1, which is not known yet") as error:
        machine.value("select advance('order', 'o1', 'refunded')")
    assert error.value.pgcode == "IBX01" and (error.value.diag.message_detail or "") == ""
    assert machine.value("select count(*) from entity_state") == 0


def test_an_event_after_its_turn_is_stale_and_changes_nothing(machine):
    for event_type in ("paid", "refunded"):
        assert advance(machine, event_type) == "applied"
    assert [advance(machine, event_type) for event_type in ("paid", "shipped", "refunded")] == ["stale"] * 3
    assert state(machine) == "refunded"


def test_entities_and_machines_do_not_meet(machine):
    machine.execute("insert into transition values ('other', '', 'shipped', 'gone')")
    assert advance(machine, "paid") == "applied"
    assert advance(machine, "shipped", "o2") == "early"
    assert machine.value("select advance('other', 'o1', 'shipped')") == "applied"
    assert state(machine) == "paid"


def test_a_cycle_is_never_past(pg):
    pg.execute("insert into transition values ('door', '', 'opened', 'open'), ('door', 'open', 'closed', 'closed'), ('door', 'closed', 'opened', 'open')")
    assert [pg.value("select transition_of('door', %s, %s)", state, event_type) for state, event_type in
            (("", "closed"), ("open", "opened"), ("open", "closed"), ("closed", "closed"), ("closed", "opened"))] \
        == ["early", "early", "now", "early", "now"]  # fmt: skip


@pytest.mark.parametrize("args, code", [("'order', 'o1', 'lost'", "P0002"), ("'nothing', 'o1', 'paid'", "P0002"),
                                        ("'order', null, 'paid'", "22004"), ("null, 'o1', 'paid'", "22004")])
def test_what_no_transition_names_is_an_error_that_says_so(machine, args, code):
    with pytest.raises(psycopg2.Error) as error:
        machine.value(f"select advance({args})")
    assert error.value.pgcode == code
    assert machine.value("select count(*) from entity_state") == 0


def test_a_state_that_the_machine_does_not_know_is_an_error_and_nothing_is_stale(machine):
    """Somebody has renamed it: what comes for its entities must not count as past."""
    assert advance(machine, "paid") == "applied"
    machine.execute("update transition set from_state = 'settled' where from_state = 'paid'")
    machine.execute("update transition set to_state = 'settled' where to_state = 'paid'")
    with pytest.raises(psycopg2.errors.NoDataFound, match="machine 'order' does not know state 'paid'"):
        advance(machine, "shipped")
    assert machine.value("select transition_of('order', 'paid', 'shipped')") == "unknown"
    assert machine.value("select transition_of('order', 'refunded', 'shipped')") == "stale"  # an end is known
    machine.execute("update entity_state set state = 'settled'")
    assert advance(machine, "shipped") == "applied"


def test_a_machine_without_a_beginning_is_an_error(pg):
    pg.execute("insert into transition values ('order', 'paid', 'shipped', 'shipped')")
    with pytest.raises(psycopg2.errors.NoDataFound, match="machine 'order' does not know state ''"):
        advance(pg, "shipped")
    pg.execute("insert into entity_state (machine, entity, state) values ('order', 'o1', 'paid')")
    assert advance(pg, "shipped") == "applied"


def test_two_first_events_at_once_wait_for_each_other(machine):
    first, second = machine.session(), machine.session(lock_timeout="200ms")
    assert first.do("select inboxd.advance('order', 'o1', 'paid')")[0][0] == "applied"
    with pytest.raises(psycopg2.errors.LockNotAvailable):
        second.do("select inboxd.advance('order', 'o1', 'paid')")
    second.rollback()
    first.commit()
    assert second.do("select inboxd.advance('order', 'o1', 'paid')")[0][0] == "stale"


def test_all_orders_of_arrival_end_in_one_state(machine):
    """What is early comes again after each event that was applied, as a daemon does it."""
    for number, arrival in enumerate(set(itertools.permutations(["paid", "shipped", "refunded"] * 2))):
        entity, waiting = f"o{number}", []
        for event_type in arrival:
            waiting.append(event_type)
            progress = True
            while progress:
                answers = [(event, advance(machine, event, entity)) for event in waiting]
                progress = any(answer == "applied" for _, answer in answers)
                waiting = [event for event, answer in answers if answer == "early"]
        assert waiting == [] and state(machine, entity) == "refunded", arrival


def test_newer_is_true_once_for_each_higher_version(pg):
    answers = [pg.value("select newer('invoice', 'in_1', %s::numeric)", version) for version in (3, 3, 2, "3.5", "3.50", 10)]
    assert answers == [True, False, False, True, False, True]
    assert pg.value("select newer('invoice', 'in_2', 1)") and pg.value("select newer('quote', 'in_1', 1)")
    assert pg.value("select version from version_seen where scope = 'invoice' and key = 'in_1'") == 10


def test_newer_takes_times(pg):
    def newer(time):
        return pg.value("select newer('a', 'b', %s::timestamptz)", time)

    assert newer("2026-01-01 00:00:00.000001+00")
    assert not newer("2026-01-01 01:00:00.000001+01")
    assert newer("2026-01-01 00:00:00.000002+00")


def test_newer_refuses_what_is_no_version(pg):
    for version in ("null::numeric", "'NaN'::numeric"):
        with pytest.raises(psycopg2.errors.NullValueNotAllowed, match="a version that is a number"):
            pg.value(f"select newer('a', 'b', {version})")


def test_newer_waits_for_a_twin_that_may_roll_back(pg):
    first, second = pg.session(), pg.session(lock_timeout="200ms")
    assert first.do("select inboxd.newer('a', 'b', 2)")[0][0]
    with pytest.raises(psycopg2.errors.LockNotAvailable):
        second.do("select inboxd.newer('a', 'b', 1)")
    second.rollback()
    first.rollback()
    assert second.do("select inboxd.newer('a', 'b', 1)")[0][0]

"""P8: the exact bytes are kept, any JSON is accepted, and one event's odd content costs its neighbours nothing."""

import decimal
import json

import pytest

from support.wait import wait_until


def stored(pg, event_id):
    return pg.row(
        "select body, payload::text as payload, payload_repaired from inboxd.event_store where event_id = %s", event_id
    )


def kept(daemon, pg, event_id, body):
    """Posts the body; it must be stored under the id, byte for byte. Returns the row."""
    body = body.encode() if isinstance(body, str) else body
    answer = daemon.post("h", body)
    assert (answer.status, answer.text) == (200, "ok"), body[:100]
    row = stored(pg, event_id)
    assert bytes(row["body"]) == body
    return row


def test_a01_an_escaped_nul(pg, inboxd):
    daemon = inboxd(workers=0)
    row = kept(daemon, pg, "a01", r'{"id":"a01","v":"x\u0000y"}')
    assert row["payload_repaired"] and json.loads(row["payload"])["v"] == "x\ufffdy"
    row = kept(daemon, pg, "a01b", r'{"id":"a01b","v":"x\\u0000y"}')
    assert not row["payload_repaired"] and json.loads(row["payload"])["v"] == "x\\u0000y"


@pytest.mark.parametrize(
    "text, value, repaired",
    [
        (r"\ud83d", "\ufffd", True),
        (r"\ude00", "\ufffd", True),
        (r"\ude00\ud83d", "\ufffd\ufffd", True),
        (r"\ud83d\ude00", "\U0001f600", False),
    ],
)
def test_a02_surrogates(pg, inboxd, text, value, repaired):
    row = kept(inboxd(workers=0), pg, "a02", f'{{"id":"a02","v":"{text}"}}')
    assert row["payload_repaired"] == repaired
    assert json.loads(row["payload"])["v"] == value


def test_a03_numbers_are_identities_digit_by_digit(pg, inboxd):
    daemon = inboxd(workers=0)
    names = ["9007199254740993", "616581622363398142", "9223372036854775808", "18446744073709551616", "7" * 400]
    for name in names:
        row = kept(daemon, pg, name, f'{{"id":{name},"v":1}}')
        assert json.loads(row["payload"], parse_int=str)["id"] == name
        assert not row["payload_repaired"]
    assert sorted(pg.column("select event_id from inboxd.ledger")) == sorted(names)


def test_a03_numbers_in_the_payload_stay_exact(pg, inboxd):
    body = '{"id":"a03","a":1e400,"b":1.10,"c":-0,"d":12345678901234567890.123456789,"e":1E-5}'
    row = kept(inboxd(workers=0), pg, "a03", body)
    exact = {"parse_int": decimal.Decimal, "parse_float": decimal.Decimal}
    assert json.loads(row["payload"], **exact) == json.loads(body, **exact)
    assert not row["payload_repaired"]


def test_a03_a_number_out_of_jsonb_s_range_becomes_a_string(pg, inboxd):
    row = kept(inboxd(workers=0), pg, "a03", '{"id":"a03","v":1e999999999}')
    assert row["payload_repaired"]
    assert json.loads(row["payload"])["v"] == "1e999999999"


def test_bytes_are_kept_as_they_came(pg, inboxd):
    daemon = inboxd(workers=0)
    kept(daemon, pg, "p8", b'{ "b":1,\r\n "a" : 1.0 ,\t"id":"p8" }\n')
    kept(daemon, pg, "p8-bom", b'\xef\xbb\xbf{"id":"p8-bom"}')
    kept(daemon, pg, "second", b'{"id":"first","id":"second","k":1,"k":2}')
    assert json.loads(stored(pg, "second")["payload"]) == {"id": "second", "k": 2}


def test_odd_events_in_one_batch_cost_their_neighbours_nothing(pg, inboxd):
    """Each odd document among good ones; the pause before the first batch gathers them."""
    daemon = inboxd(workers=0, writers=1, faults="store.before_send=wait:50")
    odd = {
        "o1": r'{"id":"o1","v":"\u0000"}',
        "o2": r'{"id":"o2","v":"\ud83d"}',
        "o3": '{"id":"o3","v":1e999999999}',
        "o4": '{"id":"o4","v":' + "[" * 900 + "]" * 900 + "}",
        "o5": r'{"id":"o5","\u0000\udc00":{"\ud800":1}}',
    }
    bodies = [json.dumps({"id": f"good{number}"}) for number in range(95)]
    for number, body in enumerate(odd.values()):
        bodies.insert(number * 20 + 7, body)
    answers = daemon.post_many("h", bodies, threads=100)
    assert {answer.text for answer in answers} == {"ok"}
    assert pg.value("select count(*) from inboxd.event_store where payload is not null") == 100
    for name, body in odd.items():
        assert bytes(stored(pg, name)["body"]) == body.encode()


def test_a_document_that_only_postgresql_refuses_is_kept_without_payload(pg, inboxd):
    """The net below the reader: a trigger plays a PostgreSQL that refuses more than the reader knows of."""
    pg.execute(
        """
        create function inboxd.refuse() returns trigger language plpgsql as $$
        begin
            if new.payload ? 'odd' then
                raise exception 'odd' using errcode = '22P02';
            end if;
            return new;
        end $$;
        create trigger refuse before insert on inboxd.event_store for each row execute function inboxd.refuse()
        """
    )
    daemon = inboxd(workers=0, writers=1, faults="store.before_send=wait:50")
    bodies = [{"id": f"e{number}", **({"odd": 1} if number == 57 else {})} for number in range(100)]
    answers = daemon.post_many("h", bodies, threads=100)
    assert {answer.text for answer in answers} == {"ok"}
    assert pg.column("select event_id from inboxd.event_store where payload is null") == ["e57"]
    assert bytes(stored(pg, "e57")["body"]) == b'{"id":"e57","odd":1}'
    # It is said, and neither the log nor the answer holds anything of the document.
    wait_until(lambda: "payload is refused by the database" in daemon.log_text())
    assert "odd" not in daemon.log_text()

"""inboxctl replay by predicate: beside running daemons, at a rate, interrupted, and on a terminal."""

import os
import pty
import signal
import subprocess

import pytest
from support import DEAD, DONE
from support.daemon import run_ctl
from support.places import program
from support.wait import wait_until

from it.working import fill, outcomes, wait_done


@pytest.fixture
def operate(pg, build):
    """inboxctl as an operator."""
    return lambda *words, **more: run_ctl(build, "--database", pg.conninfo("postgres"), *words, **more)


@pytest.fixture
def dead(pg):
    """dead(n, provider, error): so many dead events."""

    def make(n, provider="h", error="timeout", **more):
        ids = fill(pg, n, provider, prefix=f"{provider}{error[0]}", **more)
        pg.execute("delete from work where id = any (%s)", ids)
        pg.execute(
            "insert into outcome (id, provider, status, attempt, last_error) select unnest(%s), %s, 3, 12, %s", ids, provider, error
        )
        return ids

    return make


@pytest.mark.parametrize(
    "words, why",
    [
        (["--status", "done"], "so that nobody replays everything by mistake"),
        (["--dead"], "at least one of --provider --type --since"),
        (["--limit", "5", "--dry-run"], "at least one of --provider"),
        (["3", "--provider", "h"], "not both"),
        (["3", "--dead"], "not both"),
        (["3", "--status", "done"], "not both"),
        (["3", "--limit", "1"], "not both"),
        (["3", "x"], 'a whole number, not "x"'),
        (["--dead", "--status", "done", "--provider", "h"], "do not go together"),
        (["--provider", "h", "--rate", "fast"], 'events a second, such as 50/s, not "fast"'),
        (["--provider", "h", "--rate", "0/s"], "events a second"),
    ],
)
def test_wrong_words_are_64(operate, words, why):
    refused = operate("replay", *words, check=False)
    assert refused.returncode == 64 and why in refused.stderr


def test_what_the_database_refuses_is_said(operate):
    for words, why in (
        (["--status", "ready"], 'dead, done or finished (either); not "ready"'),
        (["--since", "yesterdaz"], "yesterdaz"),
        (["--error-regex", "("], "regular expression"),
        (["--error", ""], "no empty text"),
    ):
        refused = operate("replay", "--provider", "h", *words, check=False)
        assert refused.returncode == 1 and why in refused.stderr


@pytest.mark.parametrize("option", ["--provider", "--type", "--since", "--received-until", "--error", "--error-regex"])
def test_an_empty_text_is_no_predicate(pg, operate, dead, option):
    """--error "$UNSET" must not mean everything."""
    dead(3)
    refused = operate("replay", option, "", check=False)
    assert refused.returncode == 1 and "no empty text" in refused.stderr and refused.stdout == ""
    assert pg.value("select count(*) from outcome") == 3


def test_where_nothing_fits_nothing_was_replayed(operate, dead):
    dead(3)
    assert operate("replay", "--provider", "g").stdout == "0 events replayed\n"
    assert operate("replay", "--provider", "g", "--dry-run").stdout == "0 events would be replayed\n"


def test_discard_gives_up_what_is_dead_or_waits_with_the_reason(pg, operate, dead):
    [one] = dead(1)
    [two] = fill(pg, 1, prefix="w")
    for id in (one, two):
        assert operate("discard", str(id), "account closed").stdout == f"event {id} is discarded\n"
    assert pg.rows("select status, last_error from webhook_inbox") == [(2, "discarded: account closed")] * 2
    assert pg.rows("select action, who, detail from audit") == [("discard", "postgres", "account closed")] * 2
    for words in ((), (str(one),), ("one", "why"), (str(one), "two", "three")):
        refused = operate("discard", *words, check=False)
        assert refused.returncode == 64 and "wants the id of one event, a whole number, and why" in refused.stderr
    refused = operate("discard", str(one), "again", check=False)
    assert refused.returncode == 1 and f"cannot discard event {one}: it is done" in refused.stderr


def test_a_dry_run_counts_and_shows_and_changes_nothing(pg, operate, dead):
    dead(25, event_type="invoice.paid")
    dead(2, error="other")
    said = operate("replay", "--provider", "h", "--error", "timeout", "--dry-run").stdout.splitlines()
    assert said[0] == "25 events would be replayed; the first of them:"
    assert len(said) == 12 and "ht00000" in said[2] and "invoice.paid" in said[2] and "timeout" in said[2]
    assert pg.value("select count(*) from outcome where status = 3") == 27
    assert pg.value("select count(*) from audit") == 0


def test_a_replay_of_many_goes_in_batches_and_no_copy_stops_it(pg, operate, dead, inboxd):
    ids = dead(1234)
    daemon = inboxd(providers={"h": {"on": "sql:t.ok"}})
    assert daemon.post("h", {"id": "ht00003"}).text == "dup"
    assert operate("replay", "--provider", "h", "--why", "mended").stdout == "1234 events replayed\n"
    wait_done(pg)
    assert outcomes(pg) == {(DONE, 13): 1234}
    assert pg.value("select count(*) from t.effect") == len(ids)
    [(who, why, counts)] = pg.rows("select who, why, counts from audit")
    assert (who, why) == ("postgres", "mended")
    assert counts == {"found": 1234, "replayed": 1234, "gone": 0, "changed": 0}
    # Three transactions made them, none of them long.
    assert pg.value("select count(distinct xmin::text) from attempt_log where kind = 'replay'") == 3


def test_by_id_is_one_command_with_a_reason_and_one_refusal_keeps_no_other(pg, operate, dead):
    ids = dead(3)
    pg.execute("delete from event_store where id = %s", ids[1])
    done = operate("replay", *map(str, ids), "--why", "mended", check=False)
    assert done.returncode == 1 and "its content is gone" in done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [str(ids[0]), str(ids[2])]
    assert pg.column("select id from work order by id") == [ids[0], ids[2]]
    assert pg.rows("select who, action, detail, why, counts->'found', counts->'replayed' from audit") == [
        ("postgres", "replay", f'{{"ids": {ids}}}', "mended", 3, 2)
    ]
    # Each in a transaction of its own.
    assert pg.value("select count(distinct xmin::text) from attempt_log where kind = 'replay'") == 2


def test_a_dry_run_by_id_changes_nothing(pg, operate, dead):
    ids = dead(3)
    pg.execute("delete from event_store where id = %s", ids[1])
    waits = fill(pg, 1, "h", prefix="w")[0]
    said = operate("replay", *map(str, [*ids, waits]), "999999", "--dry-run").stdout.splitlines()
    assert said[0] == "3 events would be replayed"
    assert [line.split()[4] for line in said[2:]] == ["dead", "dead", "waits"]
    assert pg.value("select count(*) from outcome") == 3 and pg.value("select count(*) from audit") == 0


def test_a_rate_is_kept_by_id_too_and_ctrl_c_says_how_many_are_left(pg, build, operate, dead):
    ids = dead(300)
    code, said, _ = interrupted(pg, build, *map(str, ids), "--rate", "20/s")
    replayed = pg.value("select count(*) from work")
    assert code == 1 and 4 <= replayed < 250
    assert len(said) == replayed + 1 and said[-1] == f"interrupted; {300 - replayed} not reached"
    assert pg.value("select (counts->>'replayed')::int from audit") == replayed


def test_a_limit_takes_the_oldest(pg, operate, dead):
    ids = dead(10)
    assert operate("replay", "--provider", "h", "--limit", "3").stdout == "3 events replayed\n"
    assert pg.column("select id from work order by id") == ids[:3]


def test_what_has_no_content_is_counted_and_named(pg, operate, dead):
    ids = dead(15)
    pg.execute("delete from event_store where id <= %s", ids[11])
    said = operate("replay", "--provider", "h").stdout.splitlines()
    assert said == ["3 events replayed", f"12 refused, since their content is gone: {' '.join(map(str, ids[:10]))} ..."]


def interrupted(pg, build, *words):
    process = subprocess.Popen(
        [str(program("inboxctl", build)), "--database", pg.conninfo("postgres"), "replay", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    pg.wait_until("select count(*) from audit", equals=1)
    pg.wait_until("select (counts->>'replayed')::int >= 4 from audit")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out.splitlines(), err


def test_a_rate_is_kept_and_ctrl_c_says_how_far_it_came(pg, build, operate, dead):
    dead(1000)
    code, said, err = interrupted(pg, build, "--provider", "h", "--rate", "20/s")
    replayed = pg.value("select count(*) from work")
    assert code == 1 and err == ""
    # At its rate a thousand take 50 s: it was interrupted long before.
    assert 4 <= replayed < 900
    assert said == [
        "interrupted", f"{replayed} events replayed", f"{1000 - replayed} not reached; the same command goes on with them",
    ]  # fmt: skip
    assert pg.value("select (counts->>'replayed')::int from audit") == replayed
    assert operate("replay", "--provider", "h").stdout == f"{1000 - replayed} events replayed\n"
    assert pg.value("select count(*) from work") == 1000


def test_a_terminal_gets_a_bar_and_a_pipe_does_not(pg, build, dead):
    dead(1000)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [str(program("inboxctl", build)), "--database", pg.conninfo("postgres"), "replay", "--provider", "h", "--rate", "200/s"],
        stdout=subprocess.PIPE, stderr=slave, text=True,
    )  # fmt: skip
    os.close(slave)
    seen = b""

    def bar():
        nonlocal seen
        seen += os.read(master, 4096)
        return b"] replayed " in seen and b" of 1000, " in seen

    wait_until(bar)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    os.close(master)
    assert out.startswith("interrupted\n")
    assert b"[#" in seen or b"[." in seen


def test_a_kill_leaves_whole_batches_and_a_true_record(pg, build, operate, dead):
    dead(300)
    process = subprocess.Popen(
        [str(program("inboxctl", build)), "--database", pg.conninfo("postgres"), "replay", "--provider", "h", "--rate", "50/s"]
    )
    pg.wait_until("select coalesce(max((counts->>'replayed')::int), 0) >= 10 from audit")
    process.kill()
    process.wait()
    pg.wait_until("select count(*) from pg_stat_activity where application_name = 'inboxctl'", equals=0)
    replayed = pg.value("select count(*) from work")
    assert pg.value("select (counts->>'replayed')::int from audit") == replayed
    assert pg.value("select count(*) from outcome") == 300 - replayed
    assert outcomes(pg) == {(DEAD, 12): 300 - replayed}

"""inboxctl: what operators type, against a running daemon and by itself."""

import json

import pytest
from support import sign
from support.daemon import ctl_json, run_ctl

DONE, DEAD = 2, 3


def body(event_id, **members):
    return json.dumps({"id": event_id, **members}).encode()


def settled(pg, n):
    pg.wait_until("select count(*) from webhook_inbox where status in (2, 3)", equals=n)


def test_help_lists_every_command_and_each_has_its_own(inboxctl):
    text = inboxctl("--help").stdout
    for command in ("check", "migrate", "status", "list", "show", "replay", "send"):
        assert f"\n  {command}" in text
        assert inboxctl(command, "--help").stdout.startswith(f"usage: inboxctl [--config FILE] {command}")


@pytest.mark.parametrize(
    "words, why",
    [
        (["nonsense"], 'unknown command "nonsense"'),
        (["status", "--wotch"], 'unknown option "--wotch"; it takes --watch --json'),
        (["status", "now"], 'takes no words, but there is "now"'),
        (["list", "--status", "stuck"], 'one of ready, processing, done, dead; not "stuck"'),
        (["list", "--since", "yesterday"], 'a duration such as 90s, 15m, 36h or 7d, not "yesterday"'),
        (["list", "--limit", "-3"], 'a whole number, not "-3"'),
        (["show"], "wants the id of one event"),
        (["show", "evt_1"], "a whole number"),
        (["replay"], "wants the ids of events, or at least one of --provider"),
        (["replay", "--dead"], "at least one of --provider"),
        (["replay", "7x"], 'an id is a whole number, not "7x"'),
        (["send"], "wants the name of one provider"),
        (["migrate", "--wait"], "--wait wants a value"),
    ],
)
def test_a_wrong_command_line_is_64_and_says_what_would_be_right(inboxctl, words, why):
    done = inboxctl(*words, check=False)
    assert done.returncode == 64
    assert why in done.stderr


def test_check_names_every_mistake_at_once(inboxctl, tmp_path):
    file = tmp_path / "wrong.conf"
    file.write_text("[inboxd]\ndatabase = dbname=x\nworkers = many\nworkerz = 2\n\n[provider p]\nverify = stripe\n")
    done = inboxctl("check", config=file, check=False)
    assert done.returncode == 78
    lines = done.stderr.splitlines()
    assert any(line.startswith(f"{file}:3: ") and "many" in line for line in lines)
    assert any(line.startswith(f"{file}:4: ") and "workers" in line for line in lines)
    assert any("secret" in line for line in lines)
    assert any(line.endswith("mistakes") for line in lines)


def test_check_of_a_good_file_can_look_at_the_database_too(inboxctl, database, tmp_path):
    assert "schema fits" in inboxctl("check", "--connect").stdout
    done = inboxctl("check", "--connect", pg=database(migrated=False), check=False)
    assert done.returncode == 1
    assert "run: inboxctl --config FILE migrate" in done.stderr


def test_migrate_from_empty_twice(inboxctl, database):
    pg = database(migrated=False)
    first = inboxctl("migrate", pg=pg).stdout
    assert "applied 001_schema.sql" in first
    again = inboxctl("migrate", pg=pg).stdout
    assert "applied 0" not in again and "0 migrations applied" in again
    assert pg.value("select count(*) = max(version) from inboxd.schema_migration")


def test_unreachable_database_is_69(inboxctl, tmp_path):
    file = tmp_path / "away.conf"
    file.write_text("[inboxd]\ndatabase = host=127.0.0.1 port=1 dbname=x\n\n[provider n]\nverify = none\nevent_id = body:/id\non = ignore\n")
    done = inboxctl("status", config=file, check=False)
    assert done.returncode == 69
    assert "could not connect to the database" in done.stderr


def test_status_list_and_show_tell_the_truth(pg, inboxd):
    daemon = inboxd(providers={"n": {"on": "sql:t.fail", "attempts": 1}})
    assert daemon.post("h", body("good", k="a")).status == 200
    assert daemon.post("n", body("bad", msg="no such account")).status == 200
    settled(pg, 2)
    status = daemon.ctl("status").stdout
    assert "no such account" in status and "daemons" in status
    report = ctl_json(daemon.ctl("status", "--json"))
    backlog = {row["provider"]: row for row in report["backlog"]}
    assert backlog["n"]["dead"] == 1 and backlog["h"]["done_last_hour"] == 1
    listed = [json.loads(line) for line in daemon.ctl("list", "--status", "dead", "--json").stdout.splitlines()]
    assert [(row["provider"], row["event_id"], row["status"]) for row in listed] == [("n", "bad", DEAD)]
    assert "no events" in daemon.ctl("list", "--error", "something else").stdout
    shown = daemon.ctl("show", str(listed[0]["id"])).stdout
    assert '"msg": "no such account"' in shown and "content-type" in shown
    assert "attempts that were not a plain success" in shown
    assert daemon.ctl("show", str(listed[0]["id"]), "--body").stdout == body("bad", msg="no such account").decode()
    missing = daemon.ctl("show", "999999", check=False)
    assert missing.returncode == 1 and "no event with id 999999" in missing.stderr


def test_what_a_sender_wrote_cannot_move_the_cursor(pg, inboxd):
    daemon = inboxd()
    assert daemon.post("n", body("\x1b[2Jboo")).status == 200
    settled(pg, 1)
    out = daemon.ctl("list").stdout
    assert "\x1b" not in out and "?[2Jboo" in out


def test_replay_needs_an_operator(pg, inboxd):
    daemon = inboxd(providers={"n": {"on": "sql:t.fail", "attempts": 1}})
    daemon.post("n", body("a", msg="broken"))
    settled(pg, 1)
    refused = daemon.ctl("replay", "1", check=False)
    assert refused.returncode == 1 and "permission denied" in refused.stderr and "inboxd_ops" in refused.stderr


def test_replay_by_id_and_of_all_dead(pg, inboxd, build):
    daemon = inboxd(providers={"n": {"on": "sql:t.fail", "attempts": 1}})
    for name in ("a", "b"):
        daemon.post("n", body(name, msg=f"broken {name}"))
    settled(pg, 2)
    daemon.reconfigure(providers={"n": {"on": "sql:t.ok", "attempts": 1}})
    daemon.reload()

    def operate(*words, **options):
        return run_ctl(build, "--database", pg.conninfo("postgres"), *words, **options)

    first = pg.value("select id from webhook_inbox where event_id = 'a'")
    operate("replay", str(first))
    pg.wait_until("select status from webhook_inbox where id = %s", first, equals=DONE)
    assert "0 events would be" in operate("replay", "--dead", "--provider", "n", "--error", "%", "--dry-run").stdout
    assert "1 event would be" in operate("replay", "--dead", "--provider", "n", "--dry-run").stdout
    assert "1 event replayed" in operate("replay", "--dead", "--provider", "n").stdout
    settled(pg, 2)
    assert pg.column("select event_id from t.effect order by event_id") == ["a", "b"]
    assert pg.value("select count(*) from audit where action like 'replay%%'") >= 2
    missing = operate("replay", "999999", check=False)
    assert missing.returncode == 1 and "999999" in missing.stderr


def test_send_signs_as_each_provider_does(pg, inboxd):
    daemon = inboxd()
    for provider in ("h", "s", "g", "w", "n"):
        assert daemon.ctl("send", provider).stdout.startswith("200 stored ok")
    settled(pg, 5)
    assert pg.value("select count(*) from webhook_inbox where signature_verified") == 4
    assert daemon.ctl("send", "s", "--duplicate").stdout.splitlines() == ["200 stored ok", "200 duplicate dup"]
    many = daemon.ctl("send", "s", "--count", "25", "--quiet")
    assert many.stdout == "25 accepted, 0 refused\n"


def test_send_makes_what_the_format_and_split_want(pg, inboxd):
    plain = {"verify": "none", "on": "sql:t.ok"}
    daemon = inboxd(
        providers={
            "list": {**plain, "split": "body:", "event_id": "body:/id", "event_type": "request:/0/type"},
            "nested": {
                **plain,
                "split": "body:/entry/*/changes",
                "event_id": "request:/entry/*/id + body:/value/id",
                "key": "request:/object",
            },
            "form": {**plain, "format": "form", "event_id": "body:/Sid"},
            "field": {**plain, "format": "form:payload", "split": "body:/events", "event_id": "body:/id + body:/n"},
        }
    )
    for provider, text in [("list", "ok 1"), ("nested", "ok 1"), ("form", "ok"), ("field", "ok 1")]:
        assert daemon.ctl("send", provider).stdout == f"200 stored {text}\n"
    row = pg.row("select event_id, ordering_key, payload from webhook_inbox where provider = 'nested'")
    assert row["ordering_key"] == "sample" and set(row["payload"]) == {"value", "id", "type", "data"}
    body = bytes(pg.value("select body from webhook_inbox where provider = 'form'"))
    assert body.startswith(b"Sid=") and b"&type=sample.created" in body


def test_send_can_be_wrong_on_purpose(inboxd):
    daemon = inboxd()
    bad = daemon.ctl("send", "s", "--bad-signature", check=False)
    assert (bad.returncode, bad.stdout) == (1, "401 bad-signature bad signature\n")
    old = daemon.ctl("send", "s", "--age", "1000", check=False)
    assert (old.returncode, old.stdout) == (1, "401 stale-timestamp stale timestamp\n")
    unknown = daemon.ctl("send", "nobody", check=False)
    assert unknown.returncode == 1 and "no [provider nobody]; it has: g h n s w" in unknown.stderr


def test_send_a_given_event_with_a_fresh_id(pg, inboxd, tmp_path):
    daemon = inboxd()
    file = tmp_path / "event.json"
    file.write_text('{"id":"given-{id}","k":"x"}')
    daemon.ctl("send", "h", "--event", str(file), "--count", "2")
    settled(pg, 2)
    ids = pg.column("select event_id from webhook_inbox")
    assert len(set(ids)) == 2 and all(event_id.startswith("given-") for event_id in ids)


def test_send_a_header_in_place_of_the_samples(pg, inboxd):
    daemon = inboxd()
    daemon.ctl("send", "g", "--header", "x-github-event: push")
    daemon.ctl("send", "w", "--header", "webhook-id:msg_1")
    settled(pg, 2)
    assert pg.value("select event_type from webhook_inbox where provider = 'g'") == "push"
    assert pg.value("select event_id from webhook_inbox where provider = 'w'") == "msg_1"


def test_no_command_prints_a_secret(inboxd):
    daemon = inboxd()
    for words in (["check"], ["status"], ["send", "s"], ["list"]):
        done = daemon.ctl(*words)
        for secret in (sign.STRIPE_SECRET, sign.K0, sign.GITHUB_SECRET):
            assert secret not in done.stdout + done.stderr

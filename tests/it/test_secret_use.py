"""Which secret matched last, and when: so that an old one can be taken away."""

import itertools
import json

from support import sign
from support.daemon import ctl_json
from support.wait import wait_until

numbers = itertools.count()
OLD, NEW = "the-old-secret-of-acme-01", "the-new-secret-of-acme-02"


def files(tmp_path):
    for name, secret in (("old", OLD), ("new", NEW)):
        (tmp_path / name).write_text(secret)
        (tmp_path / name).chmod(0o600)
    return f"file:{tmp_path}/old", f"file:{tmp_path}/new"


def post(daemon, secret, count=1, provider="h"):
    for _ in range(count):
        body = json.dumps({"id": f"{secret}-{next(numbers)}"}).encode()
        assert daemon.post(provider, body, sign.hmac_headers(body, secret), sign=False).status == 200


def uses(pg, provider="h"):
    return {row[0]: tuple(row[1:]) for row in pg.rows("select reference, number, uses from secret_use where provider = %s", provider)}


def test_uses_of_each_secret_are_counted(pg, inboxd, tmp_path):
    old, new = files(tmp_path)
    daemon = inboxd(providers={"h": {"secret": [old, new]}})
    pg.wait_until("select count(*) from secret_use where provider = 'h'", equals=2)
    assert uses(pg) == {old: (1, 0), new: (2, 0)}
    assert pg.value("select bool_and(last_used_at is null) from secret_use")
    post(daemon, NEW, 3)
    assert daemon.post("h", {"id": "bad"}, sign=False).status == 401
    pg.wait_until("select sum(uses) from secret_use where provider = 'h'", equals=3)
    post(daemon, OLD)
    daemon.terminate()  # what is not written yet is written at the end
    assert uses(pg) == {old: (1, 1), new: (2, 3)}
    assert pg.value("select bool_and(last_used_at > now() - interval '1 minute') from secret_use where provider = 'h'")
    assert not pg.value("select bool_or(retire) from secret_use")


def test_a_reload_keeps_counts_and_numbers_anew(pg, inboxd, tmp_path):
    old, new = files(tmp_path)
    daemon = inboxd(providers={"h": {"secret": [old]}})
    post(daemon, OLD, 2)
    daemon.reconfigure(providers={"h": {"secret": [new, old]}})
    daemon.reload()
    post(daemon, OLD)
    daemon.terminate()
    assert uses(pg) == {new: (1, 0), old: (2, 3)}


def test_literals_are_told_apart_by_their_order(pg, inboxd):
    daemon = inboxd(providers={"h": {"secret": [f"text:{OLD}", f"text:{NEW}"]}})
    post(daemon, NEW, 2)
    daemon.terminate()
    assert pg.rows("select number, reference, uses from secret_use where provider = 'h'") == [(1, "text:...", 0), (2, "text:...", 2)]


def test_counts_survive_an_outage(cluster, own_pg, inboxd, tmp_path):
    old, new = files(tmp_path)
    daemon = inboxd(own_pg, providers={"h": {"secret": [old, new]}})
    own_pg.wait_until("select count(*) from secret_use where provider = 'h'", equals=2)
    cluster.stop("fast")
    body = b'{"id":"while-away"}'
    assert daemon.post("h", body, sign.hmac_headers(body, OLD), sign=False).status == 503
    daemon.wait_log("write uses of secrets", timeout=30)
    cluster.start()
    own_pg.wait_until("select uses from secret_use where number = 1 and provider = 'h'", equals=1, timeout=30)


def test_status_says_which_secret_nobody_uses(pg, inboxd, tmp_path):
    old, new = files(tmp_path)
    daemon = inboxd(providers={"h": {"secret": [old, new]}})
    post(daemon, OLD)
    post(daemon, NEW)
    pg.wait_until("select sum(uses) from secret_use where provider = 'h'", equals=2)
    assert "replaced" not in daemon.ctl("status").stdout
    pg.execute("update secret_use_store set since = now() - interval '90 days', last_used_at = now() - interval '8 days' where number = 1")
    assert pg.column("select reference from secret_use where retire") == [old]
    text = daemon.ctl("status").stdout
    assert "secrets that others have replaced for a week or longer" in text

    assert old in text and new not in text and "8 days ago" in text
    report = ctl_json(daemon.ctl("status", "--json"))
    assert [(row["reference"], row["retire"]) for row in report["secrets"] if row["provider"] == "h"] == [(old, True), (new, False)]
    # Where the other one is not used either, the provider is quiet, and nothing is to be taken away.
    pg.execute("update secret_use_store set last_used_at = now() - interval '8 days'")
    assert pg.value("select count(*) from secret_use where retire") == 0


def test_a_secret_that_was_handed_over_is_counted_too(pg, inboxd):
    asana = {"verify": "hmac-sha256", "signed": "{body}", "signature": "header:X-Sig hex", "handshake": "header-echo", "event_id": "body:/id", "on": "ignore"}
    daemon = inboxd(providers={"asana": asana}, capture_key="text:" + "00" * 32)
    assert daemon.post("asana", b"{}", {"X-Hook-Secret": NEW}, sign=False).status == 200
    daemon.ctl("--database", pg.conninfo("postgres"), "secrets", "accept", "1")
    body = b'{"id":"first"}'
    wait_until(lambda: daemon.post("asana", body, sign.hmac_headers(body, NEW), sign=False).status == 200)
    post(daemon, NEW, 2, "asana")
    daemon.terminate()
    assert uses(pg, "asana") == {"handshake": (1, 3)}

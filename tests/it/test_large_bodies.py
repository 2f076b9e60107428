"""Large bodies (field report A13): accepted up to max_body and kept exactly; beyond it 413, counted, logged with size and
limit, and in `alerts`.

Seen to fail with: no size handed to refusals_note() and refusal_counts_add(), no refusal_counts_write().
"""

import json
import random

from support import http

MIB = 1024 * 1024
SIZES = (457_522, MIB, MIB + 1, 24_900_000)


def push(size, name="push"):
    """A push event of exactly that size: commits with messages, names and hashes, as that sender's are."""
    rng = random.Random(size)
    head = json.dumps({"ref": "refs/heads/main", "name": name, "commits": []})[:-2]
    parts, length = [], len(head) + 2
    while True:
        commit = json.dumps({"id": f"{rng.getrandbits(160):040x}", "message": "caf\u00e9 \"quoted\"\n" * rng.randrange(1, 9), "added": [f"src/{i}.c" for i in range(9)]})
        if length + len(commit) + 60 > size:
            break
        parts.append(commit)
        length += len(commit) + 1
    body = head + ",".join(parts)
    rest = size - len(body) - 2
    body += ',{"m":"' + "x" * (rest - 9) + '"}' if parts else ""
    body += "]}"
    assert len(body) == size
    return body.encode()


def delivery(name):
    return {"X-GitHub-Delivery": name, "X-GitHub-Event": "push"}


def posts(daemon, names):
    return [daemon.item("g", push(size, name), delivery(name)) for name, size in names]


def test_a13_what_the_preset_allows_is_accepted_also_several_at_once(pg, inboxd):
    """25 MB is that sender's own limit, and the preset's."""
    daemon = inboxd(ack_timeout="1m", providers={"g": {"ack_timeout": "1m"}})
    names = [(f"d{i}-{size}", size) for i in range(2) for size in SIZES]
    answers = http.post_many(posts(daemon, names), threads=len(names), timeout=120)
    assert [getattr(answer, "text", answer) for answer in answers] == ["ok"] * len(names)
    for name, size in names:
        kept = pg.rows(f"select body, jsonb_array_length(payload->'commits') from webhook_inbox where event_id = '{name}'")
        assert bytes(kept[0][0]) == push(size, name) and kept[0][1] == len(json.loads(push(size, name))["commits"])
    assert daemon.ctl("check").stderr.count("max_body") == 0


def test_a13_beyond_the_limit_it_is_counted_logged_and_shown(pg, inboxd):
    daemon = inboxd(providers={"g": {"max_body": "1M"}, "n": {"max_body": "1M"}})
    small = http.post_many(posts(daemon, [("a", 457_522), ("b", MIB)]))
    assert [answer.text for answer in small] == ["ok", "ok"]
    answers = http.post_many(posts(daemon, [("c", MIB + 1), ("d", 5_000_000), ("e", MIB + 1)]))
    assert [(answer.status, answer.text) for answer in answers] == [(413, "body too large")] * 3
    pg.wait_until("select coalesce(sum(requests), 0) from refusals where reason = 'body too large'", equals=3)
    assert pg.rows("select provider, largest, last_limit from refusals") == [("g", 5_000_000, MIB)]
    assert pg.value("select sum(refused) from counters where provider = 'g'") == 3
    detail = f"3 requests of up to 5000000 bytes refused with 413 within a day; max_body was {MIB}"
    assert pg.rows("select condition, provider, detail from alerts") == [("too large", "g", detail)]
    line = next(line for line in daemon.log_text().splitlines() if 'reason="body too large"' in line)
    assert "provider=g" in line and f"max_body={MIB}" in line and "largest=" in line
    status = daemon.ctl("status").stdout
    assert detail in status and "raise max_body of [provider g]" in status
    assert json.loads(daemon.ctl("status", "--json").stdout)["alerts"][0]["detail"] == detail
    check = daemon.ctl("check")
    assert "max_body: 1M is less than the 25M that this provider may send" in check.stderr + check.stdout


def test_a13_a_chunked_body_is_counted_as_far_as_it_came(pg, inboxd):
    daemon = inboxd(providers={"n": {"max_body": "64K"}})
    with daemon.client() as client:
        client.send(http.head("POST", "/webhooks/n", {"Host": "x", "Transfer-Encoding": "chunked"}))
        client.send(b"%x\r\n%s\r\n0\r\n\r\n" % (100_000, b"x" * 100_000))
        assert client.read().status == 413
    pg.wait_until("select count(*) from refusals where reason = 'body too large'", equals=1)
    largest, limit = pg.rows("select largest, last_limit from refusals")[0]
    assert limit == 65536 < largest <= 100_000

"""`rate` and `rate_per_address`: 429 with Retry-After before anything is verified, and nobody else pays."""

from support.http import request_bytes


def post(daemon, name, sender=None, provider="n", body=None):
    headers = {"X-Forwarded-For": sender} if sender else {}
    with daemon.client() as client:
        client.send(request_bytes("POST", f"/webhooks/{provider}", body or b'{"id":"%s"}' % name.encode(), headers))
        return client.read()


def test_a_provider_is_held_to_its_rate(pg, inboxd):
    with inboxd(providers={"n": {"rate": "3/h"}}) as daemon:
        assert [post(daemon, f"e{n}").text for n in range(3)] == ["ok"] * 3
        answer = post(daemon, "e3")
        assert (answer.status, answer.text, answer.headers["inboxd-result"]) == (429, "rate limit", "rate-limit")
        assert 1100 <= int(answer.headers["retry-after"]) <= 1200
        # Before the body is looked at, and before the signature.
        assert post(daemon, "", body=b"not json").status == 429
        assert post(daemon, "", provider="h").status == 401
        daemon.reload()
        assert post(daemon, "e3").text == "ok"
        daemon.wait_log("rate limit")
    assert pg.value("select count(*) from inboxd.ledger") == 4


def test_a_sender_is_held_to_its_rate_and_the_others_go_on(pg, inboxd):
    with inboxd(providers={"n": {"rate_per_address": "2/h"}}, trusted_proxies="127.0.0.1") as daemon:
        assert [post(daemon, f"e{n}", "192.0.2.1").status for n in range(4)] == [200, 200, 429, 429]
        assert [post(daemon, f"f{n}", "192.0.2.2").status for n in range(3)] == [200, 200, 429]
        assert [post(daemon, f"g{n}", f"2001:db8::{n}").status for n in range(3)] == [200, 200, 429]
        # What it says of itself is not believed beyond its proxy.
        assert post(daemon, "h", "203.0.113.1, 192.0.2.1").status == 429
    assert pg.value("select count(*) from inboxd.ledger") == 6


def test_a_body_that_is_refused_is_read_so_that_the_connection_goes_on(inboxd):
    with inboxd(providers={"n": {"rate": "1/h"}}) as daemon, daemon.client() as client:
        for expected in (200, 429, 429):
            assert client.post("/webhooks/n", b'{"id":"e","v":"' + b"x" * 100000 + b'"}').status == expected
        assert client.post("/webhooks/h", b"{}").status == 401

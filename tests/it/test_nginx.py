"""A real nginx with config/nginx/inboxd.conf in front: what was sent arrives as it was sent, once, and says who sent it."""

import gzip
import json

import pytest
from support import sign
from support.http import chunked, head, request_bytes
from support.nginx import Nginx
from support.wait import wait_until

BODY = b'{ "id":"e1",\r\n "v": "\\u00e9\\/" }\n'


@pytest.fixture(params=["tcp", "unix"])
def front(request, inboxd, tmp_path):
    """makes (daemon, nginx): over TCP and over a Unix socket; the daemon trusts its proxy, whose lines may be changed."""
    made = []

    def make(nginx_changes=None, **options):
        path = tmp_path / "http.sock"
        folder = tmp_path / "nginx"
        folder.mkdir()
        if request.param == "unix":
            daemon = inboxd(listen=f"unix:{path}", trusted_proxies="unix", **options)
            nginx = Nginx(folder, f"unix:{path}", nginx_changes)
        else:
            daemon = inboxd(trusted_proxies="127.0.0.1", **options)
            nginx = Nginx(folder, "{}:{}".format(*daemon.address), nginx_changes)
        made.append(nginx)
        return daemon, nginx

    yield make
    for nginx in made:
        nginx.stop()


def post(client, provider, body, headers=None, target=None):
    client.send(request_bytes("POST", target or f"/webhooks/{provider}", body, headers))
    return client.read()


def test_the_bytes_the_headers_and_the_target_arrive_as_they_were_sent(pg, front):
    daemon, nginx = front(providers={"u": {"verify": "hmac-sha256", "signed": "{body}", "signature": "header:X_Sig hex",
                                           "secret": f"text:{sign.K0}", "event_id": "body:/id", "on": "ignore"}})  # fmt: skip
    with daemon, nginx, nginx.client() as client:
        assert post(client, "h", BODY, sign.hmac_headers(BODY)).text == "ok"
        assert post(client, "h", BODY, sign.hmac_headers(BODY)).text == "dup"
        assert post(client, "h", BODY[:-1], sign.hmac_headers(BODY)).text == "bad signature"
        # A header with an underscore is a header too.
        assert post(client, "u", BODY, {"X_Sig": sign.sig(BODY)}).text == "ok"
        # Packed bytes are signed as sent.
        packed = gzip.compress(b'{"id":"packed"}')
        assert post(client, "h", packed, {**sign.hmac_headers(packed), "Content-Encoding": "gzip"}).text == "ok"
        # A body in chunks.
        body = b'{"id":"chunked","v":"' + b"x" * 200000 + b'"}'
        client.send(head("POST", "/webhooks/h", {"Host": "x", "Transfer-Encoding": "chunked", **sign.hmac_headers(body)}))
        client.send(chunked(body, [1000]))
        assert client.read().text == "ok"
        # Never a redirect, never another path than the one that was sent.
        for target, status in (("/webhooks/h/", 200), ("/webhooks/h?x=1", 200), ("//webhooks/h", 404),
                               ("/webhooks/h//", 404), ("/webhooks/%68", 404), ("/webhooks/h%2f", 404), ("/webhooks", 404)):  # fmt: skip
            assert post(client, "h", BODY, sign.hmac_headers(BODY), target=target).status == status, target
    assert bytes(pg.value("select body from inboxd.event_store where event_id = 'e1' and provider = 'h'")) == BODY
    assert pg.value("select count(*) from inboxd.ledger") == 4


def test_the_senders_address_is_known_and_cannot_be_forged(pg, front):
    daemon, nginx = front(providers={"n": {"allow": "127.0.0.1"}})
    with daemon, nginx, nginx.client() as client:
        assert post(client, "n", b'{"id":"plain"}').text == "ok"
        assert post(client, "n", b'{"id":"xff"}', {"X-Forwarded-For": "203.0.113.9"}).text == "ok"
        assert post(client, "n", b'{"id":"fwd"}', {"Forwarded": "for=203.0.113.9"}).text == "ok"
    assert set(pg.column("select host(source_ip) from inboxd.event_store")) == {"127.0.0.1"}


def test_http2(pg, front, tmp_path):
    daemon, nginx = front()
    (tmp_path / "body").write_bytes(BODY)
    with daemon, nginx:
        signed = f"x-sig: {sign.sig(BODY)}"
        args = ("-H", signed, "-H", "content-type: application/json", "--data-binary", f"@{tmp_path}/body", "/webhooks/h")
        assert nginx.http2(*args) == (200, "2", b"ok\n")
        assert nginx.http2(*args) == (200, "2", b"dup\n")
        assert nginx.http2("-H", "x-sig: 00", *args[2:])[0] == 401
    headers = pg.value("select headers from inboxd.event_store where event_id = 'e1'")
    assert headers["x-sig"] == sign.sig(BODY)


def test_large_bodies_pass_and_refusals_come_back_as_they_are(pg, front, build):
    size = 24_900_000 if build in ("dev", "release") else 2_900_000  # the sanitizers take long
    longer = {"proxy_read_timeout 15s": "proxy_read_timeout 70s"}  # the proxy waits for longer than ack_timeout
    daemon, nginx = front(longer, providers={"n": {"max_body": "25M"}}, ack_timeout="60s")
    with daemon, nginx, nginx.client(80) as client:
        large = json.dumps({"id": "large", "v": "x" * size}).encode()
        assert post(client, "n", large).text == "ok"
        answer = post(client, "h", b'{"id":"' + b"x" * (6 << 20) + b'"}')  # of 1M; up to 8M more are read first
        assert (answer.status, answer.result) == (413, "body-too-large")
        wait_until(lambda: nginx.requests() == 2)  # written after the answer; a request that was repeated would be a third
    assert pg.value("select length(body) from inboxd.event_store") == len(large)


def test_a_503_is_passed_on_once_and_a_restart_behind_the_proxy_loses_nothing(pg, front):
    daemon, nginx = front()
    with nginx:
        with daemon, nginx.client() as client:
            for n in range(20):
                assert post(client, "n", b'{"id":"a%d"}' % n).text == "ok"
        with nginx.client() as client:  # nobody behind it
            assert post(client, "n", b'{"id":"b"}').status == 502
        daemon.start()
        with nginx.client() as client:  # the connections that it kept are not used again
            for n in range(20):
                assert post(client, "n", b'{"id":"b%d"}' % n).text == "ok"
        daemon.terminate()
        daemon.env["INBOXD_FAULTS"] = "ingest.queue_full=error:1"
        daemon.start()
        with nginx.client() as client:
            answer = post(client, "n", b'{"id":"c"}')
            assert (answer.status, answer.text, answer.headers["retry-after"]) == (503, "try again", "1")
            assert post(client, "n", b'{"id":"c"}').text == "ok"
    assert pg.value("select count(*) from inboxd.ledger") == 41

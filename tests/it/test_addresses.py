"""Who sent a request: trusted proxies, allow lists, and what is stored as source_ip (field report A25)."""

from support.http import Client, request_bytes

ALLOWED = "203.0.113.0/24, 2001:db8::/32"


def post(daemon, name, *lines):
    """POST of an event named `name` with these header lines (name, value), which may repeat; returns the answer."""
    body = b'{"id":"%s"}' % name.encode()
    request = request_bytes("POST", "/webhooks/n", body)
    start, rest = request.split(b"\r\n", 1)
    more = b"".join(f"{key}: {value}\r\n".encode() for key, value in lines)
    with daemon.client() as client:
        client.send(start + b"\r\n" + more + rest)
        return client.read()


def source_ip(pg, name):
    return pg.value("select host(source_ip) from inboxd.event_store where event_id = %s", name)


def xff(value):
    return ("X-Forwarded-For", value)


def test_a25_a_forged_header_of_an_untrusted_peer_does_not_count(pg, inboxd):
    with inboxd(providers={"n": {"allow": ALLOWED}}) as daemon:
        answer = post(daemon, "forged", xff("203.0.113.9"))
        assert (answer.status, answer.text, answer.headers["inboxd-result"]) == (
            403, "address not allowed", "address-not-allowed",
        )  # fmt: skip
        assert post(daemon, "forged", ("Forwarded", "for=203.0.113.9")).status == 403
    assert pg.value("select count(*) from inboxd.ledger") == 0


THROUGH_A_PROXY = [
    ([xff("192.0.2.1, 203.0.113.9")], "203.0.113.9"),
    ([xff("203.0.113.9, 10.1.2.3")], "203.0.113.9"),
    ([xff("[2001:db8::1]:443")], "2001:db8::1"),
    ([xff("2001:DB8:0:0::1")], "2001:db8::1"),
    ([xff("::ffff:203.0.113.9")], "203.0.113.9"),
    ([xff("192.0.2.1"), xff("203.0.113.9")], "203.0.113.9"),
    ([("Forwarded", 'for="[2001:db8::1]:80";proto=https')], "2001:db8::1"),
]

REFUSED = [
    [xff("203.0.113.9, 192.0.2.1")],
    [xff("203.0.113.9, ::ffff:192.0.2.1")],
    [xff("203.0.113.9, unknown")],
    [xff("203.0.113.9, _hidden")],
    [xff("203.0.113.9, ")],
    [xff("203.0.113.9"), xff("192.0.2.1")],
    [xff("203.0.113.9"), ("Forwarded", "for=192.0.2.1")],
    [],
]


def test_a25_through_a_trusted_proxy(pg, inboxd):
    with inboxd(providers={"n": {"allow": ALLOWED}}, trusted_proxies="127.0.0.1, 10.0.0.0/8") as daemon:
        for n, (lines, sender) in enumerate(THROUGH_A_PROXY):
            assert post(daemon, f"e{n}", *lines).text == "ok", lines
            assert source_ip(pg, f"e{n}") == sender, lines
        for lines in REFUSED:
            assert post(daemon, "refused", *lines).status == 403, lines
        with daemon.client() as client:  # before anything of the body is looked at
            assert client.post("/webhooks/n", b"not json").status == 403


def test_without_a_list_everybody_may_send_and_a_sender_that_is_unknown_has_no_address(pg, inboxd):
    with inboxd(trusted_proxies="127.0.0.1") as daemon:
        assert post(daemon, "known", xff("192.0.2.7")).text == "ok"
        assert post(daemon, "unreadable", xff("unknown")).text == "ok"
        assert post(daemon, "direct").text == "ok"
    assert [source_ip(pg, name) for name in ("known", "unreadable", "direct")] == ["192.0.2.7", None, "127.0.0.1"]


def test_a_peer_on_a_unix_socket_is_believed_where_it_is_trusted(pg, inboxd, tmp_path):
    path = str(tmp_path / "http.sock")
    body = b'{"id":"%s"}'
    for trusted, expected in (("unix", "203.0.113.9"), ("127.0.0.1", None)):
        with inboxd(listen=f"unix:{path}", trusted_proxies=trusted), Client(path) as client:
            name = trusted.encode()
            assert client.post("/webhooks/n", body % name, {"X-Forwarded-For": "203.0.113.9"}).text == "ok"
        assert source_ip(pg, trusted) == expected


def test_a_reload_changes_who_may_send(pg, inboxd):
    with inboxd(providers={"n": {"allow": "192.0.2.1"}}) as daemon:
        assert post(daemon, "e").status == 403
        daemon.reconfigure(providers={"n": {"allow": "127.0.0.0/8"}})
        daemon.reload()
        assert post(daemon, "e").text == "ok"

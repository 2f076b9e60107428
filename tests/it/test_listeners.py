"""Where the daemon listens: several addresses, Unix sockets with their rights, and the PROXY protocol."""

import grp
import os
import pwd
import socket
import stat

from support.http import Client, request_bytes
from support.places import free_port

V2 = b"\r\n\r\n\0\r\nQUIT\n"
LOOPBACK = socket.inet_aton("127.0.0.1")


def body(name):
    return b'{"id":"%s"}' % name.encode()


def source_ip(pg, name):
    return pg.value("select host(source_ip) from inboxd.event_store where event_id = %s", name)


def test_several_listeners_of_every_kind(pg, inboxd, tmp_path):
    path, port = str(tmp_path / "http.sock"), free_port()
    listen = [f"127.0.0.1:{port}", f"[::1]:{port}", f"unix:{path}"]
    with inboxd(listen=listen) as daemon:
        for n, address in enumerate((("127.0.0.1", port), ("::1", port), path)):
            with Client(address) as client:
                assert client.post("/webhooks/n", body(f"e{n}")).text == "ok"
        for address in listen:
            daemon.wait_log(f"address={address}")
    assert [source_ip(pg, f"e{n}") for n in range(3)] == ["127.0.0.1", "::1", None]
    assert not os.path.exists(path)


def test_a_unix_socket_has_the_mode_and_the_group_that_were_asked_for(inboxd, tmp_path):
    path = str(tmp_path / "http.sock")
    group = grp.getgrgid(os.getgid()).gr_name
    with inboxd(listen=f"unix:{path} mode 0600 group {group}"):
        status = os.stat(path)
        assert (stat.S_IMODE(status.st_mode), status.st_gid) == (0o600, os.getgid())
    with inboxd(listen=f"unix:{path}"):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o660


def test_a_socket_file_that_nobody_listens_on_is_replaced_and_nothing_else_is(inboxd, tmp_path):
    path = str(tmp_path / "http.sock")
    daemon = inboxd(listen=f"unix:{path}")
    daemon.kill()
    assert stat.S_ISSOCK(os.stat(path).st_mode)  # left over
    daemon.start()
    with Client(path) as client:
        assert client.post("/webhooks/n", body("e")).text == "ok"
    second = inboxd(listen=f"unix:{path}", start=False).spawn()
    assert second.wait_exit() == 1  # somebody does listen
    assert "could not listen on unix:" in second.log_text()
    with Client(path) as client:
        assert client.post("/webhooks/n", body("e")).text == "dup"
    assert daemon.terminate() == 0
    assert not os.path.exists(path)
    with open(path, "w", encoding="ascii") as file:
        file.write("somebody's")
    third = inboxd(listen=f"unix:{path}", start=False).spawn()
    assert third.wait_exit() == 1
    with open(path, encoding="ascii") as file:
        assert file.read() == "somebody's"


def test_a_unix_socket_has_the_owner_that_was_asked_for(inboxd, tmp_path):
    path = str(tmp_path / "http.sock")
    owner = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    with inboxd(listen=f"unix:{path} mode 0620 owner {owner.pw_name}") as daemon:
        status = os.stat(path)
        assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o620, owner.pw_uid)
        with Client(path) as client:
            assert client.post("/webhooks/n", body("e")).text == "ok"
        daemon.reload()
        with Client(path) as client:
            assert client.post("/webhooks/n", body("e")).text == "dup"


def proxied(daemon_address, header, name):
    with Client(daemon_address) as client:
        client.send(header + request_bytes("POST", "/webhooks/n", body(name)))
        return client.read()


def test_the_proxy_protocol_says_whom_a_connection_is_for(pg, inboxd):
    port = free_port()
    here = ("127.0.0.1", port)
    v4 = socket.inet_aton("203.0.113.9") + LOOPBACK + b"\x13\x88\x01\xbb"
    headers = {
        "v1": (b"PROXY TCP4 203.0.113.9 127.0.0.1 5000 443\r\n", "203.0.113.9"),
        "v1-six": (b"PROXY TCP6 2001:db8::1 ::1 5000 443\r\n", "2001:db8::1"),
        "v1-unknown": (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
        "v2": (V2 + b"\x21\x11\x00\x0c" + v4, "203.0.113.9"),
        "v2-local": (V2 + b"\x20\x00\x00\x00", "127.0.0.1"),
    }
    with inboxd(listen=f"127.0.0.1:{port} proxy-protocol") as daemon:
        for name, (header, sender) in headers.items():
            assert proxied(here, header, name).text == "ok", name
            assert source_ip(pg, name) == sender, name
        with Client(here) as client:  # byte by byte, and the connection goes on as ever
            for byte in headers["v1"][0]:
                client.send(bytes([byte]))
            for n in range(3):
                assert client.post("/webhooks/n", body(f"drip{n}")).text == "ok"
        with Client(here) as client:  # no header: nothing is guessed
            answer = client.post("/webhooks/n", body("none"))
            assert (answer.status, answer.closes) == (400, True)
        with Client(here) as client:
            client.send(b"PROXY TCP4 203.0.113.9 127.0.0.1 5000 99999\r\n")
            assert client.read().status == 400
        with Client(here) as client:  # hangs up in its header
            client.send(b"PROXY TC")
        assert proxied(here, headers["v1"][0], "v1").text == "dup"
        daemon.reload()
        assert proxied(here, headers["v1"][0], "v1").text == "dup"


def test_allow_judges_the_address_of_the_proxy_protocol(inboxd):
    port = free_port()
    with inboxd(listen=f"127.0.0.1:{port} proxy-protocol", providers={"n": {"allow": "203.0.113.0/24"}}):
        allowed = proxied(("127.0.0.1", port), b"PROXY TCP4 203.0.113.9 127.0.0.1 5000 443\r\n", "a")
        refused = proxied(("127.0.0.1", port), b"PROXY TCP4 192.0.2.1 127.0.0.1 5000 443\r\n", "b")
        assert (allowed.status, refused.status) == (200, 403)


def test_a_proxy_that_says_nothing_is_408(inboxd):
    port = free_port()
    with inboxd(listen=f"127.0.0.1:{port} proxy-protocol"), Client(("127.0.0.1", port)) as client:
        client.send(b"PROXY ")
        assert client.read().status == 408
        assert client.closed()

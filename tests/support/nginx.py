"""A real nginx with the reference configuration of config/nginx in front of a daemon."""

import os
import ssl
import subprocess

from support.http import Client
from support.places import ROOT, free_port
from support.wait import wait_until

REFERENCE = ROOT / "config" / "nginx" / "inboxd.conf"

MAIN = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/inboxd.conf;
}}
"""


def replaced(text, old, new):
    assert old in text, f"{REFERENCE} no longer holds {old!r}"
    return text.replace(old, new)


class Nginx:
    """`upstream` is "HOST:PORT" or "unix:PATH". Listens with TLS and HTTP/2 on `address`.

    `changes` replaces lines of the reference, {old: new}.
    """

    def __init__(self, folder, upstream, changes=None):
        self.folder = folder
        self.address = ("127.0.0.1", free_port())
        self.process = None
        self._make_certificate()
        text = REFERENCE.read_text()
        text = replaced(text, "server 127.0.0.1:8080;", f"server {upstream};")
        text = replaced(text, "listen 443 ssl http2;", "listen {}:{} ssl http2;".format(*self.address))
        text = replaced(text, "listen [::]:443 ssl http2;", "")
        text = replaced(text, "/etc/ssl/certs/hooks.example.com.pem", f"{folder}/cert.pem")
        text = replaced(text, "/etc/ssl/private/hooks.example.com.key", f"{folder}/key.pem")
        for old, new in (changes or {}).items():
            text = replaced(text, old, new)
        (folder / "inboxd.conf").write_text(text)
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(MAIN.format(folder=folder, user=user))

    def _make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-keyout", self.folder / "key.pem", "-out", self.folder / "cert.pem"],
            check=True, capture_output=True,
        )  # fmt: skip

    def start(self):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "nginx", "-e", self.folder / "start.log", "-c", self.folder / "nginx.conf"],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            stdin=subprocess.DEVNULL,
        )

        def listens():
            assert self.process.poll() is None, f"nginx ended: {(self.folder / 'start.log').read_text()}"
            try:
                self.client().close()
            except OSError:
                return False
            return True

        wait_until(listens, what="nginx to listen")
        return self

    def client(self, timeout=30.0):
        """An HTTP/1.1 client over TLS."""
        context = ssl.create_default_context(cafile=self.folder / "cert.pem")
        context.check_hostname = False
        client = Client(self.address, timeout)
        client.socket = context.wrap_socket(client.socket)
        return client

    def http2(self, *args):
        """curl over HTTP/2; returns (status, protocol version, body)."""
        url = "https://{}:{}".format(*self.address)
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--insecure", "--http2", "--max-time", "30",
             "--write-out", "\n%{http_code} %{http_version}", *args[:-1], url + args[-1]],
            check=True, capture_output=True,
        )  # fmt: skip
        body, _, facts = done.stdout.rpartition(b"\n")
        status, version = facts.decode().split()
        return int(status), version, body

    def log(self):
        return (self.folder / "error.log").read_text()

    def requests(self):
        """How many requests nginx has answered."""
        return len((self.folder / "access.log").read_text().splitlines())

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(20)

    def __enter__(self):
        return self.start()

    def __exit__(self, *unused):
        self.stop()

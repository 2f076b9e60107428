"""An HTTP/1.1 client that sends exactly the bytes that it is given, and reads answers strictly."""

import json
import queue
import socket
import struct
import threading


class Response:
    """One answer: `status`, `headers` (lower-case names), `body` (bytes), `text`."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self):
        return self.body.decode("utf-8", "replace").rstrip("\n")

    @property
    def result(self):
        """The header Inboxd-Result."""
        return self.headers.get("inboxd-result")

    @property
    def closes(self):
        """True when the peer said that it closes the connection."""
        return self.headers.get("connection", "").lower() == "close"

    def __repr__(self):
        return f"<{self.status} {self.text!r} {self.headers}>"


def to_bytes(body):
    """dict and list become compact JSON, text becomes UTF-8, bytes stay."""
    if isinstance(body, (dict, list)):
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    return body.encode() if isinstance(body, str) else bytes(body)


def head(method, target, headers, version="HTTP/1.1"):
    """Request line and header lines, with the blank line. A header's value may be a list: one line each."""
    lines = [f"{method} {target} {version}"]
    for name, value in headers.items():
        lines += [f"{name}: {item}" for item in (value if isinstance(value, list) else [value])]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def request_bytes(method, target, body=b"", headers=None):
    """A whole request with Host and Content-Length; a name in `headers` replaces ours, None leaves it out."""
    body = to_bytes(body)
    ours = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": str(len(body))}
    for name, value in (headers or {}).items():
        for old in [known for known in ours if known.lower() == name.lower()]:
            del ours[old]
        if value is not None:
            ours[name] = value
    return head(method, target, ours) + body


def chunked(body, sizes=None, extension="", trailer=None):
    """A body in chunks of `sizes` (repeated; one chunk when None), with chunk extensions and a trailer."""
    body = to_bytes(body)
    out, at, turn = [], 0, 0
    while at < len(body):
        size = len(body) if sizes is None else sizes[turn % len(sizes)]
        part = body[at : at + size]
        out.append(f"{len(part):x}{extension}\r\n".encode() + part + b"\r\n")
        at, turn = at + len(part), turn + 1
    lines = "".join(f"{name}: {value}\r\n" for name, value in (trailer or {}).items())
    return b"".join(out) + b"0\r\n" + lines.encode() + b"\r\n"


class Client:
    """One connection. `address` is (host, port) or the path of a Unix socket."""

    def __init__(self, address, timeout=30.0):
        if isinstance(address, tuple):
            self.socket = socket.create_connection(address, timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def send(self, data):
        """Sends all, or as much as the peer takes: one that refuses may answer and close before it has read
        everything. What it answered can still be read, and read() says so where there is nothing."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def request(self, method, target, body=b"", headers=None):
        self.send(request_bytes(method, target, body, headers))
        return self.read(to_head=method == "HEAD")

    def post(self, target, body=b"", headers=None):
        return self.request("POST", target, body, headers)

    def _fill(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f"closed in an answer, after {self._buffer[:200]!r}")
        self._buffer += data

    def _line(self):
        while b"\r\n" not in self._buffer:
            self._fill()
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line

    def _exactly(self, size):
        while len(self._buffer) < size:
            self._fill()
        part, self._buffer = self._buffer[:size], self._buffer[size:]
        return part

    def read_head(self):
        """Status and headers of the next answer, be it a 100 or a final one."""
        version, status, *_ = self._line().decode("latin-1").split(" ", 2)
        assert version in ("HTTP/1.1", "HTTP/1.0"), version
        headers = {}
        while line := self._line():
            name, value = line.decode("latin-1").split(":", 1)
            name, value = name.lower(), value.strip(" \t")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return int(status), headers

    def read(self, to_head=False):
        """The next final answer; 1xx ones are skipped."""
        status = 100
        while 100 <= status < 200:
            status, headers = self.read_head()
        body = b""
        if to_head or status in (204, 304):
            pass
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self._line().split(b";")[0], 16):
                body += self._exactly(size)
                assert self._line() == b""
            while self._line():
                pass
        elif "content-length" in headers:
            body = self._exactly(int(headers["content-length"]))
        else:
            while data := self.socket.recv(65536):
                self._buffer += data
            body, self._buffer = self._buffer, b""
        return Response(status, headers, body)

    def closed(self):
        """Waits for the peer's close; False when bytes come instead."""
        if self._buffer:
            return False
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def half_close(self):
        """Says that no more is sent (FIN), and goes on reading."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Ends the connection with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()


def request(address, method, target, body=b"", headers=None, timeout=30.0):
    """One request on a connection of its own."""
    with Client(address, timeout) as client:
        return client.request(method, target, body, {"Connection": "close", **(headers or {})})


def post_many(requests, threads=32, timeout=60.0):
    """Sends all requests, given as (address, target, body, headers), from several keep-alive threads at once.

    The answers come in the order of the requests; where there was none, the exception stands in its place.
    """
    work = queue.SimpleQueue()
    for item in enumerate(requests):
        work.put(item)
    answers = [None] * len(requests)
    threads = min(threads, max(len(requests), 1))
    start = threading.Barrier(threads)

    def run():
        clients = {}
        start.wait()
        while True:
            try:
                number, (address, target, body, headers) = work.get_nowait()
            except queue.Empty:
                break
            client = clients.pop(address, None)
            try:
                client = client or Client(address, timeout)
                answers[number] = client.post(target, body, headers)
            except (OSError, AssertionError, ValueError) as error:
                answers[number] = error
            if isinstance(answers[number], Response) and not answers[number].closes:
                clients[address] = client
            elif client is not None:
                client.close()
        for client in clients.values():
            client.close()

    pool = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    return answers

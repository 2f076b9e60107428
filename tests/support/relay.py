"""A TCP relay between the daemon and PostgreSQL that understands the protocol enough to misbehave on purpose.

    relay.stall(), relay.resume()    nothing moves, connections stay open
    relay.delay = 0.2                every read takes that much longer
    relay.cut()                      ends all connections now (RST)
    relay.down(), relay.up()         cut, and refuse new ones until up()
    relay.refuse()                   refuse new ones until up(), leave the others alone
    relay.swallow()                  the next COMMIT: its reply is lost and the connection cut
    relay.swallow(applied=False)     the next COMMIT never arrives
    relay.cut_after(7)               cut after the 7th message from here on
    relay.deafen()                   the connections of now stay open and say nothing more; new ones work
    relay.deafen("sql")              the same of the one that sends the next statement whose SQL matches

Every connection has two threads, one for each direction; rules are shared and under one lock.
"""

import re
import socket
import struct
import threading

COMMIT = r"^\s*(commit|end)\b"
TO_SERVER, TO_CLIENT = "to_server", "to_client"

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102


class Rule:
    """One fault, used once. `fired` is set when it happened."""

    def __init__(self, direction, nth, pattern=None, applied=True, then_cut=False, deafens=False):
        self.direction = direction
        self.left = nth
        self.pattern = re.compile(pattern, re.IGNORECASE) if pattern else None
        self.applied = applied
        self.then_cut = then_cut
        self.deafens = deafens
        self.fired = threading.Event()

    def hit(self, direction, sql):
        """Counts a message that fits; True when it is the one."""
        if direction != self.direction or self.left <= 0:
            return False
        if self.pattern is not None and (sql is None or not self.pattern.search(sql)):
            return False
        self.left -= 1
        return self.left == 0

    def wait(self, timeout=20.0):
        assert self.fired.wait(timeout), f"the relay's fault did not happen within {timeout:g} s"


class Relay:
    def __init__(self, target, port):
        """`target` is PostgreSQL's (host, port); `port` is where the relay listens on loopback."""
        self.target = target
        self.port = port
        self.delay = 0.0
        self.messages = {TO_SERVER: 0, TO_CLIENT: 0}
        self.connections = 0
        self._moving = threading.Event()
        self._moving.set()
        self._lock = threading.Lock()
        self._rules = []
        self._links = set()
        self._listener = None
        self.up()

    def conninfo(self, pg, user=None):
        """For the daemon's `database =`, by way of this relay."""
        direct = pg.conninfo(user, tcp=True) if user else pg.conninfo(tcp=True)
        return re.sub(r"port=\d+", f"port={self.port} sslmode=disable gssencmode=disable", direct)

    # Faults ---------------------------------------------------------------------------------------

    def stall(self):
        self._moving.clear()

    def resume(self):
        self._moving.set()

    def cut(self):
        with self._lock:
            links = list(self._links)
        for link in links:
            link.cut()

    def deafen(self, pattern=None):
        """A network that fails in silence: connections stay open, and nothing that is sent arrives any more. All that
        there are now, or the one that sends the next statement whose SQL matches `pattern` (its rule is returned)."""
        if pattern is not None:
            return self._add(Rule(TO_SERVER, 1, pattern=pattern, deafens=True))
        with self._lock:
            for link in self._links:
                link.deaf.set()
        return None

    def refuse(self):
        """No new connections until up(); those that stand go on."""
        if self._listener is not None:
            # shutdown wakes the thread that waits in accept; close alone would leave the port open.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._acceptor.join()
            self._listener = None

    def down(self):
        self.refuse()
        self.cut()

    def up(self):
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
            self._acceptor = threading.Thread(target=self._accept, args=(self._listener,), daemon=True)
            self._acceptor.start()

    def swallow(self, pattern=COMMIT, nth=1, applied=True):
        """The nth statement from now whose SQL matches `pattern`: PostgreSQL runs it (applied) or never sees it,
        the reply is lost and the connection cut. Prepared statements are known by their text."""
        return self._add(Rule(TO_SERVER, nth, pattern=pattern, applied=applied))

    def cut_after(self, nth, direction=TO_SERVER):
        """Cuts a connection right after forwarding the nth message (any kind) from now in that direction."""
        return self._add(Rule(direction, nth, then_cut=True))

    def _add(self, rule):
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self):
        """Forgets rules that did not fire."""
        with self._lock:
            self._rules.clear()

    def close(self):
        self.resume()
        self.down()

    # Machinery ------------------------------------------------------------------------------------

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, 10)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            link = _Link(self, client, server)
            with self._lock:
                self.connections += 1
                self._links.add(link)
            link.start()

    def match(self, direction, sql):
        """Counts one message; returns the rule that it sets off, or None."""
        with self._lock:
            self.messages[direction] += 1
            for rule in self._rules:
                if rule.hit(direction, sql):
                    self._rules.remove(rule)
                    return rule
        return None

    def forget(self, link):
        with self._lock:
            self._links.discard(link)

    def hold(self, closed, deaf):
        """Waits as long as the relay is stalled, or the connection deaf; with `delay`, a little longer."""
        while deaf.is_set() or not self._moving.wait(0.05):
            if closed.wait(0.05 if deaf.is_set() else 0):
                return
        if self.delay:
            closed.wait(self.delay)


class _Link:
    """One relayed connection."""

    def __init__(self, relay, client, server):
        self.relay = relay
        self.client = client
        self.server = server
        self.closed = threading.Event()
        self.deaf = threading.Event()
        self.statements = {}  # prepared statement -> SQL
        self.portals = {}  # portal -> SQL
        self.asked = 0  # groups that the client has ended with Sync or a simple query
        self.answered = 0  # groups that the server has ended with ReadyForQuery
        self.swallowing = None  # (rule, number of the group whose answer is lost)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self):
        threading.Thread(target=self._run, args=(self._client_side,), daemon=True).start()
        threading.Thread(target=self._run, args=(self._server_side,), daemon=True).start()

    def cut(self, with_reset=True):
        self.closed.set()
        for end in (self.client, self.server):
            try:
                if with_reset:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RD)  # wakes our thread in recv
            except OSError:
                pass
            end.close()
        self.relay.forget(self)

    def _run(self, side):
        try:
            rule = side()
            self.cut()
            rule.fired.set()
        except OSError:
            self.cut()
        except EOFError:
            self.cut(with_reset=False)

    def _client_side(self):
        """Forwards until a rule ends it, which is returned."""
        read = _Reader(self.client, self)
        code = CANCEL_REQUEST
        while True:  # messages before the session proper have no type
            size = read.exactly(4)
            rest = read.exactly(struct.unpack("!i", size)[0] - 4)
            (code,) = struct.unpack("!i", rest[:4])
            if code not in (SSL_REQUEST, GSS_REQUEST):
                break
            self.client.sendall(b"N")
        self.server.sendall(size + rest)
        while code != CANCEL_REQUEST:
            kind, message = read.message()
            rule = self.relay.match(TO_SERVER, self._sql(kind, message[5:]))
            if rule is not None and rule.deafens:
                self.deaf.set()
                rule.fired.set()
                self.relay.hold(self.closed, self.deaf)
                raise EOFError
            if rule is not None and not rule.then_cut:
                if not rule.applied:
                    return rule
                self.swallowing = (rule, self.asked + 1)
            if kind in b"QSF":
                self.asked += 1
            self.server.sendall(message)
            if rule is not None and rule.then_cut:
                return rule
        read.exactly(1)  # a request to cancel is one message; wait for its end
        raise EOFError

    def _server_side(self):
        read = _Reader(self.server, self)
        while True:
            kind, message = read.message()
            rule = self.relay.match(TO_CLIENT, None)
            if kind == b"Z":
                self.answered += 1
            lost, group = self.swallowing or (None, None)
            # The first ReadyForQuery greets; the answer to group n comes between the n-th and the one after.
            if lost is not None and self.answered >= group + (kind == b"Z"):
                if kind == b"Z":
                    return lost
                continue
            self.client.sendall(message)
            if rule is not None:
                return rule

    def _sql(self, kind, body):
        """The SQL that a client's message runs, or None."""
        texts = body.split(b"\0", 2)
        if kind == b"Q":
            return texts[0].decode("utf-8", "replace")
        if kind == b"P":
            self.statements[texts[0]] = texts[1].decode("utf-8", "replace")
        elif kind == b"B":
            self.portals[texts[0]] = self.statements.get(texts[1])
        elif kind == b"E":
            return self.portals.get(texts[0])
        return None


class _Reader:
    """Whole messages out of a stream."""

    def __init__(self, source, link):
        self.source = source
        self.link = link
        self.buffer = bytearray()

    def exactly(self, size):
        while len(self.buffer) < size:
            data = self.source.recv(65536)
            if not data:
                raise EOFError
            self.link.relay.hold(self.link.closed, self.link.deaf)
            self.buffer += data
        part = bytes(self.buffer[:size])
        del self.buffer[:size]
        return part

    def message(self):
        """(type, the whole message with type and length)."""
        start = self.exactly(5)
        return start[:1], start + self.exactly(struct.unpack("!i", start[1:])[0] - 4)

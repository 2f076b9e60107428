"""The test support tested: if these fail, no other result means anything."""

import base64
import hashlib
import http.server
import subprocess
import threading

import psycopg2
import pytest

from support import http as client
from support import providers, sign, wait_until
from support.daemon import write_config
from support.relay import TO_CLIENT


# Cluster and databases ----------------------------------------------------------------------------


def test_databases_are_fresh_and_separate(database):
    one, two = database(migrated=False), database(migrated=False)
    one.execute("create table x (n int); insert into x values (1), (2)")
    assert one.rows("select n from x order by n") == [(1,), (2,)]
    assert one.row("select count(*) as n from x") == {"n": 2}
    assert two.value("select to_regclass('x')") is None


def test_durability_is_on(shared_cluster, database):
    pg = database(migrated=False)
    assert pg.value("show fsync") == "on"
    assert pg.value("show synchronous_commit") == "on"
    assert pg.value("show server_encoding") == "UTF8"


def test_a_database_is_migrated_and_has_the_handlers(pg, database):
    assert pg.value("select count(*) > 0 from inboxd.schema_migration")
    assert pg.value("select to_regprocedure('t.ok(inboxd.event)') is not null")
    pg.execute("insert into t.effect values ('h', 'e1')")
    assert database().value("select count(*) from t.effect") == 0


def test_sessions_interleave(database):
    pg = database(migrated=False)
    pg.execute("create table x (n int primary key)")
    first, second = pg.session(), pg.session()
    first.do("insert into x values (1)")
    waiting = second.start("insert into x values (1) on conflict do nothing returning n")
    second.wait_blocked()
    assert not waiting.done()
    first.rollback()
    assert waiting.result() == [(1,)]
    second.commit()
    assert pg.column("select n from x") == [1]


def test_the_log_of_a_database_holds_nothing_of_others(database):
    one, two = database(migrated=False), database(migrated=False)
    for pg in (one, two):
        session = pg.session()
        session.do("set application_name = 'two words'")
        session.do(f"do $$ begin raise warning 'said in %', '{pg.name}'; end $$")
    assert f" two words {one.name} WARNING:  said in {one.name}\n" in one.log_text()
    assert two.name not in one.log_text()


def test_cluster_survives_kill_and_restart(cluster):
    pg = cluster.database(migrated=False)
    pg.execute("create table x (n int); insert into x values (1)")
    cluster.kill()
    assert not cluster.accepts()
    cluster.start()
    assert pg.value("select n from x") == 1
    cluster.stop("immediate")
    cluster.start()
    victim = pg.session()
    cluster.kill_backend(victim.pid)
    pg.wait_until("select count(*) from pg_stat_activity where pid = %s", victim.pid, equals=0)
    with pytest.raises(psycopg2.Error):
        victim.do("select 1")


# Relay --------------------------------------------------------------------------------------------


@pytest.fixture
def through(database, relay):
    """A database with table x, and a maker of connections to it by way of the relay."""
    pg = database(migrated=False)
    pg.execute("create table x (n int)")
    made = []

    def connect():
        made.append(psycopg2.connect(relay.conninfo(pg, "postgres"), connect_timeout=10))
        return made[-1]

    yield pg, connect
    for connection in made:
        connection.close()


def insert(connection, n):
    with connection.cursor() as cursor:
        cursor.execute("insert into x values (%s)", (n,))


def test_relay_passes_and_counts(through, relay):
    pg, connect = through
    connection = connect()
    insert(connection, 1)
    connection.commit()
    assert pg.column("select n from x") == [1]
    assert relay.connections == 1
    assert relay.messages["to_server"] == 3  # BEGIN, INSERT, COMMIT
    assert relay.messages["to_client"] > 6


def test_relay_loses_the_reply_to_an_applied_commit(through, relay):
    pg, connect = through
    connection = connect()
    insert(connection, 1)
    rule = relay.swallow()
    with pytest.raises(psycopg2.OperationalError):
        connection.commit()
    rule.wait()
    assert pg.column("select n from x") == [1]
    again = connect()  # one rule, one fault
    insert(again, 2)
    again.commit()
    assert pg.value("select count(*) from x") == 2


def test_relay_loses_a_commit(through, relay):
    pg, connect = through
    connection = connect()
    insert(connection, 1)
    rule = relay.swallow(applied=False)
    with pytest.raises(psycopg2.OperationalError):
        connection.commit()
    rule.wait()
    pg.wait_until("select count(*) from pg_stat_activity where query ~ '^insert into x'", equals=0)
    assert pg.value("select count(*) from x") == 0


def test_relay_knows_prepared_statements(through, relay):
    pg, _ = through
    rule = relay.swallow(r"^insert into x", nth=2)
    text = "\n".join(f"insert into x values ({n});" for n in (1, 2, 3))
    run_pgbench(relay.conninfo(pg, "postgres"), text)
    rule.wait()
    assert pg.column("select n from x order by n") == [1, 2]


def run_pgbench(conninfo, script):
    """pgbench is the client at hand that uses the extended protocol with prepared statements."""
    parts = dict(word.split("=", 1) for word in conninfo.split())
    subprocess.run(
        ["/usr/lib/postgresql/15/bin/pgbench", "-n", "-M", "prepared", "-t", "1", "-f", "/dev/stdin",
         "-h", parts["host"], "-p", parts["port"], "-U", parts["user"], parts["dbname"]],
        input=script, text=True, capture_output=True, check=False,
    )  # fmt: skip


def test_relay_stalls_and_goes_on(through, relay):
    pg, connect = through
    connection = connect()
    insert(connection, 1)
    relay.stall()
    committing = threading.Thread(target=connection.commit, daemon=True)
    committing.start()
    committing.join(0.3)
    assert committing.is_alive()
    assert pg.value("select count(*) from x") == 0
    relay.resume()
    committing.join(20)
    assert pg.value("select count(*) from x") == 1


def test_relay_cuts_and_refuses(through, relay):
    _, connect = through
    connection = connect()
    insert(connection, 1)
    relay.down()
    with pytest.raises(psycopg2.OperationalError):
        insert(connection, 2)
    with pytest.raises(psycopg2.OperationalError):
        connect()
    relay.up()
    insert(connect(), 3)


def test_relay_cuts_after_a_message(through, relay):
    pg, connect = through
    connection = connect()
    rule = relay.cut_after(2)
    with pytest.raises(psycopg2.OperationalError):
        insert(connection, 1)  # BEGIN is the first message, INSERT the second
    rule.wait()
    connection = connect()
    rule = relay.cut_after(1, TO_CLIENT)
    with pytest.raises(psycopg2.OperationalError):
        insert(connection, 2)
    rule.wait()
    assert pg.value("select count(*) from x") == 0


# HTTP client and signers --------------------------------------------------------------------------


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with the body and the headers that it got."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline() != b"\r\n":
                pass
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Inboxd-Result", self.headers.get("X-Sig", "none"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


@pytest.fixture
def echo():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address
    server.shutdown()
    server.server_close()


def test_client_keeps_alive_and_pipelines(echo):
    with client.Client(echo) as connection:
        assert connection.post("/", b"one").body == b"one"
        two = client.request_bytes("POST", "/", b"two", {"X-Sig": "2"})
        connection.send(two + client.request_bytes("POST", "/", b"three", {"connection": "close"}))
        answer = connection.read()
        assert (answer.status, answer.body, answer.result) == (200, b"two", "2")
        assert connection.read().body == b"three"
        assert connection.closed()


def test_client_sends_chunks(echo):
    with client.Client(echo) as connection:
        start = client.head("POST", "/", {"Host": "x", "Transfer-Encoding": "chunked"})
        connection.send(start + client.chunked(b"hello world", [1, 3], ";a=b", {"X-Sig": "trailer"}))
        assert connection.read().body == b"hello world"


def test_many_posts_come_back_in_order(echo):
    requests = [(echo, "/", f"body {n}".encode(), {}) for n in range(300)]
    answers = client.post_many(requests, threads=8)
    assert [answer.text for answer in answers] == [f"body {n}" for n in range(300)]


def test_many_posts_keep_faults_in_their_place():
    answers = client.post_many([(("127.0.0.1", 1), "/", b"", {})] * 3, threads=2)
    assert all(isinstance(answer, OSError) for answer in answers)


def test_headers_replace_ours_whatever_their_case():
    text = client.request_bytes("POST", "/x", b"ab", {"content-length": ["2", "3"], "Host": None}).decode()
    assert text == "POST /x HTTP/1.1\r\nContent-Type: application/json\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nab"


def test_signatures_match_published_vectors():
    github = sign.github_headers(b"Hello, World!", "It's a Secret to Everybody")
    assert github["X-Hub-Signature-256"] == (
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    )
    standard = sign.standard_headers(
        b'{"test": 2432232314}',
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        1614265330,
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
    )
    assert standard["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    key = base64.b64decode(sign.STANDARD_SECRET.removeprefix("whsec_"))
    assert len(key) == 32
    stripe = sign.stripe_headers(b"{}", "whsec_x", 5)["Stripe-Signature"]
    assert stripe == f"t=5,v1={sign.sig(b'5.{}', 'whsec_x')}"


def test_equal_bodies_are_duplicates_for_header_identities():
    body = b'{"a":1}'
    assert sign.github_headers(body)["X-GitHub-Delivery"] == hashlib.sha1(body).hexdigest()
    assert sign.standard_headers(body)["webhook-id"] == sign.standard_headers(body)["webhook-id"]


# Configuration and waiting ------------------------------------------------------------------------


def test_configuration_is_written_with_changes(tmp_path):
    file = tmp_path / "c.conf"
    names = write_config(file, {"workers": 2}, {"h": {"secret": ["text:a", "text:b"], "key": None}, "w": None})
    text = file.read_text()
    assert text.startswith("[inboxd]\nworkers = 2\n")
    assert "secret = text:a\nsecret = text:b\n" in text
    assert "key" not in names["h"] and "w" not in names and "s" in names
    assert providers.signed(names["h"], b"x") == {"X-Sig": sign.sig(b"x", "a")}


def test_waiting_fails_with_the_last_value():
    with pytest.raises(AssertionError, match="in vain for the moon.*0"):
        wait_until(lambda: 0, timeout=0.1, what="the moon")

"""A throw-away PostgreSQL cluster, databases made from a migrated template, and a helper for queries.

PostgreSQL refuses to run as root, so that as root its programs run as the user postgres; everything that they
read lies in their own temporary folder, never in the checkout. The server dies with the test process.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import psycopg2
import psycopg2.errors
import psycopg2.extensions

from support.places import BUILDS, ROOT, SUPPORT, free_port, program
from support.wait import wait_until

BIN = "/usr/lib/postgresql/15/bin"
TEMPLATE = "inboxd_template"
DAEMON_USER = "inboxd_test"  # a member of inboxd_daemon and nothing else, so that a forgotten grant shows

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "max_wal_size": "256MB",
    "checkpoint_timeout": "30min",
    "wal_level": "replica",
    "autovacuum_naptime": "10s",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %a %d ",
    "logging_collector": "off",
    "timezone": "UTC",
    "lc_messages": "C",
}


def _as_server_user():
    """Command words that run the rest as a user that PostgreSQL accepts."""
    words = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        words += ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
    return words


@functools.cache
def mould():
    """The data directory of a stopped cluster with the migrated template: clusters are copies of it, which is quick.

    It is kept for the runs to come, under the digest of what it is made of; those unused for a day are removed.
    """
    digest = hashlib.sha256()
    for path in [*sorted((ROOT / "sql").rglob("*.sql")), SUPPORT / "handlers.sql", pathlib.Path(__file__)]:
        digest.update(path.name.encode() + path.read_bytes())
    place = pathlib.Path(f"/tmp/inboxd-mould-{os.geteuid()}-{digest.hexdigest()[:16]}")
    with open(f"/tmp/inboxd-mould-{os.geteuid()}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _make_mould(place)
        os.utime(place)
        for other in place.parent.glob(f"inboxd-mould-{os.geteuid()}-*"):
            if other.stat().st_mtime < time.time() - 86400:
                shutil.rmtree(other, ignore_errors=True)
    return str(place)


def _make_mould(place):
    cluster = Cluster(bare=True).start()
    try:
        cluster.execute(f"create database {TEMPLATE}")
        migrate(cluster.conninfo(TEMPLATE))
        newest = max(int(path.name[:3]) for path in (ROOT / "sql").glob("[0-9]*.sql"))
        with contextlib.closing(Pg(cluster, TEMPLATE)) as template:
            applied = template.value("select max(version) from inboxd.schema_migration")
        assert applied == newest, f"inboxctl of this build migrates to {applied}, and sql/ has {newest}: build it again"
        cluster.execute(f"create role {DAEMON_USER} login in role inboxd_daemon")
        cluster.execute((SUPPORT / "handlers.sql").read_text(), TEMPLATE)
        cluster.stop("fast")
        os.rename(cluster.data, place)
    finally:
        cluster.remove()


class Cluster:
    """One PostgreSQL server on a Unix socket and a loopback port. `settings` go into postgresql.conf.

    bare=True: fresh from initdb, without our roles and without the template of database().
    """

    def __init__(self, bare=False, **settings):
        self.dir = tempfile.mkdtemp(prefix="inboxd-pg-", dir="/tmp")
        self.data = f"{self.dir}/data"
        self.log = f"{self.dir}/log"
        self.port = free_port()
        self.process = None
        self._databases = 0
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.dir, user.pw_uid, user.pw_gid)
        os.chmod(self.dir, 0o755)
        if bare:
            self.run(
                f"{BIN}/initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
                "--no-sync",
            )  # fmt: skip
        else:
            self.run("cp", "-a", "-T", "--reflink=auto", mould(), self.data)
        self.configure(unix_socket_directories=self.dir, port=self.port, **SETTINGS)
        self.configure(**settings)

    # The server -----------------------------------------------------------------------------------

    def run(self, name, *args):
        """Runs a program as the server's user, with the server's files in reach."""
        done = subprocess.run(
            [*_as_server_user(), name, *args], cwd="/", capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name} failed: {done.stdout}{done.stderr}")

    def configure(self, **settings):
        """Adds settings to postgresql.conf; they count from the next start or reload()."""
        with open(f"{self.data}/postgresql.conf", "a", encoding="utf-8") as conf:
            for name, value in settings.items():
                conf.write(f"{name} = '{value}'\n")

    def start(self):
        # After kill -9 the old backends may still hold the shared memory for a moment: try again.
        def started():
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    [*_as_server_user(), f"{BIN}/postgres", "-D", self.data],
                    cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
            wait_until(lambda: self.accepts() or self.process.poll() is not None, 60, "PostgreSQL to start")
            return self.process.poll() is None

        wait_until(started, 60, f"PostgreSQL to start, see {self.log}", interval=0.2)
        return self

    def accepts(self):
        """True when a connection is accepted now."""
        try:
            psycopg2.connect(self.conninfo("postgres"), connect_timeout=5).close()
            return True
        except psycopg2.OperationalError:
            return False

    def running(self):
        return self.process is not None and self.process.poll() is None

    def _signal(self, number):
        if self.running():
            self.process.send_signal(number)
            self.process.wait(60)

    def stop(self, mode="fast"):
        """`smart`, `fast` or `immediate`, as pg_ctl names them."""
        self._signal({"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])

    def kill(self):
        """kill -9 of the postmaster; its backends end by themselves when they notice."""
        self._signal(signal.SIGKILL)

    def restart(self, mode="fast"):
        self.stop(mode)
        self.start()

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def kill_backend(self, pid):
        """kill -9 of one backend: PostgreSQL then ends all others and recovers. One that has ended is left alone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def remove(self):
        self.stop("immediate")
        shutil.rmtree(self.dir, ignore_errors=True)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    # Databases ------------------------------------------------------------------------------------

    def conninfo(self, dbname, user="postgres", tcp=False):
        host = "127.0.0.1" if tcp else self.dir
        return f"host={host} port={self.port} dbname={dbname} user={user}"

    def execute(self, sql, dbname="postgres"):
        """Runs SQL as superuser outside of any transaction."""
        with contextlib.closing(psycopg2.connect(self.conninfo(dbname))) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(sql)

    def database(self, migrated=True):
        """A fresh database: a copy of the migrated template with the test handlers, or an empty one."""
        self._databases += 1
        name = f"t{self._databases}"
        self.execute(f"create database {name} template {TEMPLATE if migrated else 'template0'}")
        return Pg(self, name)

    def drop(self, pg):
        pg.close()
        if self.running():
            self.execute(f"drop database if exists {pg.name} with (force)")


def migrate(conninfo, build=None):
    """`inboxctl migrate`, of whichever build there is."""
    build = build or next((name for name in BUILDS if (ROOT / "build" / name / "bin" / "inboxctl").exists()), "dev")
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(f"[inboxd]\ndatabase = {conninfo}\n")
        file.flush()
        done = subprocess.run(
            [program("inboxctl", build), "--config", file.name, "migrate"],
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"cannot migrate: {done.stderr}")


class Pg:
    """Queries on one database, as superuser, each committed at once; `search_path` holds inboxd.

    The connection is made again when the server was restarted in between.
    """

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.name = name
        self._connection = None
        self._sessions = []

    def conninfo(self, user=DAEMON_USER, tcp=False):
        """For the daemon's `database =`."""
        return self.cluster.conninfo(self.name, user, tcp)

    def connect(self, user="postgres", **settings):
        """A new psycopg2 connection, in the caller's care; not in autocommit."""
        settings = {"search_path": "inboxd,public", **settings}
        options = " ".join(f"-c {key}={value}" for key, value in settings.items())
        return psycopg2.connect(self.conninfo(user), options=options, connect_timeout=10)

    def session(self, user="postgres", **settings):
        """A session whose statements may wait: see Session. Closed when the test ends."""
        session = Session(self, self.connect(user, **settings))
        self._sessions.append(session)
        return session

    def _cursor(self):
        if self._connection is None or self._connection.closed:
            self._connection = self.connect()
            self._connection.autocommit = True
        return self._connection.cursor()

    def _query(self, sql, args):
        for last in (False, True):
            try:
                cursor = self._cursor()
                cursor.execute(sql, args or None)
                return cursor
            except psycopg2.Error as error:
                # Only a lost session is made again. psycopg2 has several classes for how it was lost, and does
                # not always see it as closed; but there is no SQLSTATE then, or it says shutdown (57P01 to 57P03).
                if error.pgcode and not error.pgcode.startswith("57P"):
                    raise
                if self._connection is not None:
                    self._connection.close()
                if last:
                    raise psycopg2.OperationalError(f"no session: {error}") from error

    def execute(self, sql, *args):
        """Runs one or several statements; returns the number of rows that the last one touched."""
        with self._query(sql, args) as cursor:
            return cursor.rowcount

    def rows(self, sql, *args):
        """All rows as tuples; bytea comes as memoryview, so use bytes()."""
        with self._query(sql, args) as cursor:
            return cursor.fetchall()

    def row(self, sql, *args):
        """The only row, as a dict; fails on none or several."""
        with self._query(sql, args) as cursor:
            rows = cursor.fetchall()
            assert len(rows) == 1, f"{len(rows)} rows: {sql}"
            return dict(zip((column.name for column in cursor.description), rows[0]))

    def column(self, sql, *args):
        """The first column of all rows."""
        return [row[0] for row in self.rows(sql, *args)]

    def value(self, sql, *args):
        """The first column of the first row, None when there is no row."""
        rows = self.rows(sql, *args)
        value = rows[0][0] if rows else None
        return bytes(value) if isinstance(value, memoryview) else value

    def wait_until(self, sql, *args, equals=True, timeout=20.0):
        """Waits until value(sql) is `equals`; works through a restart of the server. Returns the value."""
        seen = []

        def reached():
            try:
                seen[:] = [self.value(sql, *args)]
            except psycopg2.OperationalError:
                return False
            return seen == [equals]

        try:
            wait_until(reached, timeout)
        except AssertionError:
            last = repr(seen[0]) if seen else "no answer from the database"
            raise AssertionError(f"waited {timeout:g} s in vain for {equals!r}, got {last}: {sql}") from None
        return seen[0]

    def wait_rows(self, sql, *args, timeout=20.0):
        """rows(sql) as soon as there are any; works through a restart of the server."""

        def found():
            with contextlib.suppress(psycopg2.OperationalError):
                return self.rows(sql, *args)

        return wait_until(found, timeout, sql)

    def log_text(self):
        """What the server logged of sessions in this database; the tests before this one, in others, do not show."""
        ours = re.compile(rf"^[^\[]*\[\d+\] .*? {self.name} [A-Z]+: .*\n", re.MULTILINE)
        return "".join(ours.findall(self.cluster.log_text()))

    def show_deadlocks(self):
        """Sessions from now on look for deadlocks after 10 ms; by default a lock_timeout below 1 s ends them unseen."""
        self.execute(f"alter database {self.name} set deadlock_timeout = '10ms'")

    def deadlocks(self):
        """How many there were since show_deadlocks()."""
        return self.log_text().count("deadlock detected")

    def migrate(self):
        migrate(self.conninfo("postgres"))

    def close(self):
        for session in self._sessions:
            session.close()
        if self._connection is not None:
            self._connection.close()


class Session:
    """One connection with its own thread's patience, for interleavings as lists of steps.

        a, b = pg.session(), pg.session()
        a.do("insert ...")
        waiting = b.start("insert ...")     # does not return yet
        b.wait_blocked()
        a.rollback()
        assert waiting.result() == ...
    """

    def __init__(self, pg, connection):
        self.pg = pg
        self.connection = connection
        self.pid = connection.info.backend_pid
        self._running = None

    def do(self, sql, *args):
        """Runs a statement in the session's transaction (begun with the first one); returns its rows or []."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, args or None)
            return cursor.fetchall() if cursor.description else []

    def start(self, sql, *args):
        """Begins a statement that may wait for another session."""
        self._running = _Running(lambda: self.do(sql, *args))
        return self._running

    def wait_blocked(self, timeout=20.0):
        """Returns once the session waits for a lock."""
        self.pg.wait_until(
            "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s", self.pid, timeout=timeout
        )

    def commit(self):
        self.connection.commit()

    def rollback(self):
        self.connection.rollback()

    def close(self):
        with contextlib.suppress(psycopg2.Error):
            if self._running is not None and self._running.thread.is_alive():
                self.connection.cancel()
                self._running.thread.join(10)
            self.connection.close()


class _Running:
    def __init__(self, function):
        self._outcome = None
        self.thread = threading.Thread(target=self._run, args=(function,), daemon=True)
        self.thread.start()

    def _run(self, function):
        try:
            self._outcome = (function(), None)
        except Exception as error:  # handed to result()
            self._outcome = (None, error)

    def done(self):
        return not self.thread.is_alive()

    def result(self, timeout=20.0):
        self.thread.join(timeout)
        assert self._outcome is not None, f"statement still runs after {timeout:g} s"
        rows, error = self._outcome
        if error is not None:
            raise error
        return rows

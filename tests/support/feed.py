"""Runs helper_writer_feed: a writer without HTTP in front of it, fed line by line."""

import subprocess
import threading

from support.daemon import SANITIZER_MARKS
from support.places import ROOT, SUPPORT
from support.wait import wait_until


class Feed:
    """One writer on a database. `answers` holds (id, result) in the order in which they came.

    Results: stored, duplicate, unavailable; full when the writer did not take the event.
    """

    def __init__(self, build, conninfo, *, threads=2, ack_timeout_ms=10000, queue_max=100000, faults=None):
        program = ROOT / "build" / build / "tests" / "helper_writer_feed"
        if not program.exists():
            raise FileNotFoundError(f"{program} is missing: cmake --build --preset {build}")
        env = {"PATH": "/usr/bin:/bin", "TSAN_OPTIONS": f"suppressions={SUPPORT}/tsan.supp:exitcode=99"}
        if faults:
            env["INBOXD_FAULTS"] = faults
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", program, conninfo, str(threads), str(ack_timeout_ms), str(queue_max)],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.answers = []
        self.log = ""
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_log)]
        for reader in self._readers:
            reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.answers.append(tuple(line.split()))

    def _read_log(self):
        for line in self.process.stderr:
            self.log += line

    def put(self, event_id, body="{}", *, provider="p", key="-", headers="{}"):
        """Hands over one event; no field may hold a tab or a line break."""
        self.process.stdin.write(f"put\t{provider}\t{event_id}\t{key}\t{headers}\t{body}\n")
        self.process.stdin.flush()

    def put_all(self, event_ids, body="{}", **options):
        """Hands over many events in one write, so that they meet in few batches."""
        options = {"provider": "p", "key": "-", "headers": "{}", **options}
        line = "put\t{provider}\t{id}\t{key}\t{headers}\t{body}\n"
        self.process.stdin.write("".join(line.format(id=item, body=body, **options) for item in event_ids))
        self.process.stdin.flush()

    def put_group(self, event_ids, bodies="{}", **options):
        """Hands over events that are stored all or none. `bodies`: one for all, or {id: body} for some."""
        options = {"provider": "p", "key": "-", "headers": {}, **options}
        lines = [f"group\t{len(event_ids)}\n"]
        for item in event_ids:
            body = bodies if isinstance(bodies, str) else bodies.get(item, "{}")
            headers = options["headers"].get(item, "{}")
            lines.append(f"put\t{options['provider']}\t{item}\t{options['key']}\t{headers}\t{body}\n")
        self.process.stdin.write("".join(lines))
        self.process.stdin.flush()

    def abandon(self, event_id):
        self.process.stdin.write(f"abandon\t{event_id}\n")
        self.process.stdin.flush()

    def results(self, event_id):
        return [result for name, result in list(self.answers) if name == event_id]

    def wait_for(self, count, timeout=30.0):
        """Waits for `count` answers in all; returns how often each result came."""
        wait_until(lambda: len(self.answers) >= count, timeout, f"{count} answers, last {self.answers[-3:]}")
        results = [result for _, result in list(self.answers)]
        return {result: results.count(result) for result in set(results)}

    def store(self, event_id, body="{}", timeout=30.0, **options):
        """Hands over one event and waits for its answer."""
        before = len(self.results(event_id))
        self.put(event_id, body, **options)
        wait_until(lambda: len(self.results(event_id)) > before, timeout, f"an answer to {event_id}")
        return self.results(event_id)[-1]

    def wait_stored(self, event_id, timeout=30.0, **options):
        """Sends the event again until it is there, as its sender would; returns "stored" or "duplicate"."""

        def sent():
            result = self.store(event_id, timeout=timeout, **options)
            return result if result in ("stored", "duplicate") else None

        return wait_until(sent, timeout, f"{event_id} to be stored", interval=0.1)

    def end(self, timeout=60.0):
        """The end of the input: the writer drains. Checks that it ended well."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(timeout)
        reports = [line for line in self.log.splitlines() if any(mark in line for mark in SANITIZER_MARKS)]
        assert not reports, self.log
        assert code == 0, f"exit code {code}: {self.log}"

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

#!/usr/bin/python3
"""Measures accepting: events a second, latency, processor time and memory of the daemon, and an outage.

    tests/bench/accept.py [--pairs 5] [--seconds 5] [--json FILE] [--build release] [SCENARIO...]

Scenarios: saturation latency large memory outage (default: all). The machine is shared and noisy, so the figure that counts
is a ratio inside one interleaved run (A B A B ...), as medians: A is inboxd at 128 connections, B is pgbench with 32 clients
that each insert one event and commit, into the single-table design that most teams would write (article.sql).
PostgreSQL runs with its default durability.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support.cluster import Cluster  # noqa: E402
from support.daemon import Inboxd  # noqa: E402
from support.places import ROOT  # noqa: E402
from support.sign import STRIPE_SECRET  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, options, cluster):
        self.options = options
        self.cluster = cluster
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="inboxd-bench-"))
        self.pg = cluster.database()
        self.pg.execute((HERE / "article.sql").read_text())
        self.daemon = None

    def start_daemon(self, **general):
        self.daemon = Inboxd(
            self.folder, self.options.build, database=self.pg.conninfo(), workers=0, max_connections=12000, **general
        ).start()
        return self.daemon

    def clear(self):
        self.pg.execute(
            "truncate inboxd.ledger, inboxd.event_store, inboxd.work, inboxd.counters; truncate public.article_inbox; checkpoint"
        )

    def load(self, seconds=None, **options):
        """Runs the load generator; returns what it printed and the daemon's processor time a stored event (us)."""
        seconds = seconds or self.options.seconds
        words = [str(ROOT / "build" / self.options.build / "bin" / "bench_load"), "--port", str(self.daemon.address[1]),
                 "--secret", STRIPE_SECRET, "--seconds", str(seconds)]  # fmt: skip
        for name, value in options.items():
            words += [f"--{name}", str(value)]
        before = self.cpu_seconds()
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise RuntimeError(f"load failed: {done.stderr}")
        result = json.loads(done.stdout)
        warm = (seconds + float(options.get("warmup", 1))) / seconds
        result["daemon_us"] = (self.cpu_seconds() - before) * 1e6 / max(1, result["stored"] * warm)
        result["rss_mb"] = self.daemon.memory() / 1e6
        return result

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.daemon.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def pgbench(self):
        """Inserts a second of the baseline."""
        payload = json.dumps({"id": "x", "type": "invoice.paid", "data": "y" * 1380})
        done = subprocess.run(
            ["/usr/lib/postgresql/15/bin/pgbench", "-n", "-M", "prepared", "-c", "32", "-j", "2", "-T", str(max(1, round(self.options.seconds))),
             "-f", str(HERE / "article_insert.pgbench"), "-D", f"payload={payload}",
             "-h", self.cluster.dir, "-p", str(self.cluster.port), "-U", "postgres", self.pg.name],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return float(next(line for line in done.stdout.splitlines() if line.startswith("tps")).split()[2])


def saturation(bench):
    bench.start_daemon()
    inboxd, baseline, cpu, memory = [], [], [], []
    for _ in range(bench.options.pairs):
        bench.clear()
        result = bench.load(connections=128)
        assert result["errors"] == 0 and result["refused_5xx"] == 0, result
        inboxd.append(result["accepted_per_s"])
        cpu.append(result["daemon_us"])
        memory.append(result["rss_mb"])
        bench.clear()
        baseline.append(bench.pgbench())
    bench.daemon.terminate()
    return {
        "accepted/s, 128 connections": statistics.median(inboxd),
        "pgbench inserts/s, 32 clients": statistics.median(baseline),
        "ratio, median of pairs": statistics.median(a / b for a, b in zip(inboxd, baseline)),
        "each run": [round(n) for n in inboxd],
        "each baseline": [round(n) for n in baseline],
        "daemon us an event": statistics.median(cpu),
        "memory MB": max(memory),
    }


def latency(bench):
    bench.start_daemon()
    runs = []
    for _ in range(5):
        bench.clear()
        runs.append(bench.load(rate=2000, connections=64))
    bench.daemon.terminate()
    return {
        f"{name} at 2,000/s": statistics.median(run[name] for run in runs) for name in ("p50_ms", "p99_ms", "p999_ms")
    } | {"each p99": [run["p99_ms"] for run in runs]}


def large(bench):
    bench.start_daemon()
    runs = []
    for _ in range(3):
        bench.clear()
        runs.append(bench.load(size=16384, connections=64)["accepted_per_s"])
    bench.daemon.terminate()
    return {"accepted/s, 16 KB bodies": statistics.median(runs)}


def memory(bench):
    daemon = bench.start_daemon()
    idle = []
    while len(idle) < 10000:
        idle.append(socket.create_connection(daemon.address))
    for connection in idle:
        connection.sendall(b"GET /webhooks/s HTTP/1.1\r\nHost: x\r\n\r\n")
    for connection in idle:
        connection.recv(4096)
    at_rest = daemon.memory() / 1e6
    result = bench.load(rate=2000, connections=64)
    for connection in idle:
        connection.close()
    daemon.terminate()
    return {
        "memory MB, 10,000 idle connections": at_rest,
        "p50_ms at 2,000/s beside them": result["p50_ms"],
        "p99_ms at 2,000/s beside them": result["p99_ms"],
    }


def outage(bench):
    """The database is away for 5 s in the middle of a closed loop at 64 connections."""
    daemon = bench.start_daemon()
    ids = bench.folder / "ids"
    results = {}

    def post():
        results.update(bench.load(seconds=14, connections=64, warmup=0, ids=ids))

    thread = threading.Thread(target=post)
    thread.start()
    time.sleep(3)
    bench.cluster.stop("immediate")
    time.sleep(5)
    bench.cluster.start()
    thread.join()
    peak = daemon.memory() / 1e6
    daemon.terminate()

    known = {row[0] for row in bench.pg.rows("select event_id from inboxd.ledger")}
    acknowledged = ids.read_text().split()
    return {
        "answered 200": results["stored"] + results["duplicate"],
        "answered 503": results["refused_5xx"],
        "connections broken": results["errors"],
        "longest answer ms": results["max_ms"],
        "acknowledged and missing": sum(1 for event_id in acknowledged if event_id not in known),
        "memory MB": peak,
    }


SCENARIOS = {"saturation": saturation, "latency": latency, "large": large, "memory": memory, "outage": outage}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", default="release")
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO", help=" ".join(SCENARIOS))
    options = parser.parse_args()
    if unknown := set(options.scenario) - set(SCENARIOS):
        parser.error(f"no scenario {unknown}")
    report = {}
    for name in options.scenario or SCENARIOS:
        # As measured budgets want it: default durability, room for WAL so that checkpoints do not decide.
        cluster = Cluster(shared_buffers="1GB", max_wal_size="8GB", checkpoint_timeout="20min", max_connections="100")
        cluster.start()
        try:
            report[name] = SCENARIOS[name](Bench(options, cluster))
        finally:
            cluster.remove()
        print(name)
        for figure, value in report[name].items():
            print(f"  {figure:40} {value:,.2f}" if isinstance(value, (int, float)) else f"  {figure:40} {value}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Measures a well-behaved sender at 500/s beside attacks, and what memory they take.

    tests/bench/attack.py [--seconds 60] [--connections 1000] [--rate 500] [--json FILE] [--build release] [SCENARIO...]

Scenarios: quiet, slow header, slow body, slow read, idle (default: all). `quiet` is the sender alone, with which the others are
to be compared: the machine is shared. `idle` is 10,000 connections that have had an answer and say no more. The limits are
the defaults but for 12,000 connections. Needs slowhttptest.
"""

import argparse
import contextlib
import json
import pathlib
import socket
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support.attack import KINDS, Attack, WellBehaved  # noqa: E402
from support.census import MIB, Census, peak_memory  # noqa: E402
from support.cluster import Cluster  # noqa: E402
from support.daemon import Inboxd  # noqa: E402
from support.wait import wait_until  # noqa: E402

IDLE = 10000


class Idle:
    """Connections from ten addresses that were answered once."""

    def __init__(self, daemon):
        self.connections = [socket.create_connection(daemon.address, 20, (f"127.0.0.{1 + n % 10}", 0)) for n in range(IDLE)]
        for connection in self.connections:
            connection.sendall(b"GET /webhooks/s HTTP/1.1\r\nHost: x\r\n\r\n")
        for connection in self.connections:
            assert connection.recv(4096).startswith(b"HTTP/1.1 405")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for connection in self.connections:
            connection.close()


def trouble(kind, daemon, options):
    if kind in KINDS:
        return Attack(daemon, kind, options.connections, options.seconds)
    return Idle(daemon) if kind == "idle" else contextlib.nullcontext()


def measure(kind, pg, options):
    daemon = Inboxd(
        pathlib.Path(tempfile.mkdtemp(prefix="inboxd-bench-")), options.build, database=pg.conninfo(), workers=0, max_connections=12000
    ).start()
    with WellBehaved(daemon, options.build, seconds=3, rate=options.rate) as warm:
        warm.wait()
    before = Census(daemon)
    with trouble(kind, daemon, options), WellBehaved(daemon, options.build, options.seconds, options.rate, warmup=5) as client:
        most = before.descriptors["socket"]
        while client.running():
            most = max(most, Census(daemon).descriptors["socket"])
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not client.running(), 0.5)
        figures = client.wait()
        under = Census(daemon)
    still = [None]

    def is_back():
        still[0] = Census(daemon).more_than(before)
        return still[0] is None

    with contextlib.suppress(AssertionError):
        wait_until(is_back, 120)
    after = Census(daemon)
    report = {
        "connections at most": most - before.descriptors["socket"],
        "requests sent": figures["sent"],
        "answered 200": figures["answered_200"],
        **{name: figures[name] for name in ("p50_ms", "p99_ms", "p999_ms", "max_ms")},
        "memory before MiB": before.memory / MIB,
        "memory at its end MiB": under.memory / MIB,
        "memory at most MiB": peak_memory(daemon) / MIB,
        "memory after MiB": after.memory / MIB,
        "left behind": still[0] or "nothing",
    }
    daemon.terminate()
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", default="release")
    scenarios = ["quiet", *KINDS, "idle"]
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO", help=", ".join(scenarios))
    options = parser.parse_args()
    if unknown := set(options.scenario) - set(scenarios):
        parser.error(f"no scenario {unknown}")
    report = {}
    for kind in options.scenario or scenarios:
        cluster = Cluster(shared_buffers="256MB", max_wal_size="4GB", checkpoint_timeout="20min")
        cluster.start()
        try:
            report[kind] = measure(kind, cluster.database(), options)
        finally:
            cluster.remove()
        print(kind)
        for figure, value in report[kind].items():
            print(f"  {figure:24} {value:,.2f}" if isinstance(value, float) else f"  {figure:24} {value}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

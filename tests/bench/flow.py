#!/usr/bin/python3
"""Measures a daemon that accepts and works at once.

    tests/bench/flow.py [--seconds 20] [--rate 8000] [--json FILE] [--build release] [SCENARIO...]

Scenarios (default: start flood):
  start   200 events a second: from the commit of an event to the start of its handler
  flood   the same while another provider has 100,000 ready events
  both    --rate events a second for --seconds: what is done of it, and whether the backlog grows

The time of a commit is PostgreSQL's own (track_commit_timestamp); a handler notes when it starts.
"""

import argparse
import json
import os
import pathlib
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

FLOOD = 100_000
LIGHT = 200  # events a second

SCHEMA = """
create schema bench;
create table bench.started (id bigint not null, at timestamptz not null);
create table bench.payment (event bigint not null, amount bigint, at timestamptz not null default now());
create function bench.start(e inboxd.event) returns void language plpgsql as $$
begin
    insert into bench.started (id, at) values (e.id, clock_timestamp());
end $$;
create function bench.pay(e inboxd.event) returns void language plpgsql as $$
begin
    insert into bench.payment (event, amount) values (e.id, (e.payload ->> 'n')::bigint);
end $$;
grant usage on schema bench to public;
grant all on all tables in schema bench to public;
"""

FILL = """
select inboxd.make_partitions(1);
insert into inboxd.ledger (provider, event_id, id, body_sha256)
select 'p', 'evt_' || n, nextval('inboxd.event_id_seq'), 'x' from generate_series(1, {n}) n;
insert into inboxd.event_store (id, provider, event_id, received_at, headers, payload, payload_repaired, body, signature_verified)
select l.id, l.provider, l.event_id, l.received_at, '{{"content-type": "application/json"}}', d, false,
       convert_to(d::text, 'UTF8'), true
  from inboxd.ledger l, lateral (select jsonb_build_object('n', l.id, 'text', repeat('x', 1400)) as d) x where l.provider = 'p';
insert into inboxd.work (id, provider, class, received_at, run_at)
select id, provider, 'sql', received_at, clock_timestamp() from inboxd.ledger where provider = 'p' order by id;
insert into inboxd.counters (provider, minute, stored) values ('p', date_trunc('minute', now()), {n});
"""


class Flow:
    def __init__(self, options, cluster, action):
        self.options = options
        self.pg = cluster.database()
        self.pg.execute(SCHEMA)
        self.daemon = Inboxd(
            pathlib.Path(tempfile.mkdtemp(prefix="inboxd-bench-")), options.build, database=self.pg.conninfo(), workers=4,
            providers={"s": {"on": action}, "p": {"verify": "none", "event_id": "body:/id", "on": "sql:bench.pay"}},
        )  # fmt: skip

    def load(self, rate, connections):
        done = subprocess.run(
            [str(ROOT / "build" / self.options.build / "bin" / "bench_load"), "--port", str(self.daemon.address[1]),
             "--secret", STRIPE_SECRET, "--seconds", str(self.options.seconds), "--rate", str(rate),
             "--connections", str(connections)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not done.stdout:
            raise RuntimeError(f"load failed: {done.stderr}")
        return json.loads(done.stdout)

    def backlog(self):
        return self.pg.value("select coalesce(sum(stored), 0)::int8 - coalesce(sum(done), 0)::int8 from inboxd.counters where provider = 's'")

    def worked_off(self):
        while self.backlog() > 0:
            time.sleep(0.05)

    def starts_ms(self):
        """From each commit to the start of the handler, sorted; without the first second, in which sessions make their plans."""
        rows = self.pg.rows(
            "select extract(epoch from s.at - c.at) * 1000 from bench.started s"
            "  join (select l.id, pg_xact_commit_timestamp(l.xmin) as at, min(l.received_at) over () as began"
            "          from inboxd.ledger l where l.provider = 's') c using (id)"
            " where c.at > c.began + interval '1 s'"
        )
        return sorted(float(ms) for (ms,) in rows)


def percentiles(values):
    return {
        "events": len(values),
        "p50 ms": round(values[len(values) // 2], 2),
        "p99 ms": round(values[len(values) * 99 // 100], 2),
        "longest ms": round(values[-1], 2),
    }


def start(flow):
    with flow.daemon.start():
        flow.load(LIGHT, 16)
        flow.worked_off()
    return percentiles(flow.starts_ms())


def flood(flow):
    flow.pg.execute(FILL.format(n=FLOOD))
    flow.pg.execute("vacuum analyze inboxd.work; ")
    began = time.monotonic()
    with flow.daemon.start():
        flow.load(LIGHT, 16)
        flow.worked_off()
        took = time.monotonic() - began
        done = flow.pg.value("select coalesce(sum(done), 0)::int8 from inboxd.counters where provider = 'p'")
    return {"of the other's 100,000 done meanwhile": done, "seconds": round(took, 1), **percentiles(flow.starts_ms())}


def both(flow):
    backlogs, result, running = [], {}, True
    began = time.monotonic()

    def watch():
        while running:
            backlogs.append(flow.backlog())
            time.sleep(1)

    with flow.daemon.start():
        watcher = threading.Thread(target=watch)
        watcher.start()
        result = flow.load(flow.options.rate, 128)
        running = False
        watcher.join()
        left = flow.backlog()
        flow.worked_off()
        took = time.monotonic() - began
        memory = flow.daemon.memory() / 1e6
    done = flow.pg.value("select coalesce(sum(done), 0)::int8 from inboxd.counters where provider = 's'")
    fifth = max(1, len(backlogs) // 5)
    return {
        "accepted/s": result["accepted_per_s"],
        "accepted and done/s, to the last": round(done / took),
        "backlog, median of the first fifth": statistics.median(backlogs[:fifth]),
        "backlog, median of the last fifth": statistics.median(backlogs[-fifth:]),
        "backlog, at most": max(backlogs),
        "backlog at the end of the load": left,
        "answer p50 ms": result["p50_ms"],
        "answer p99 ms": result["p99_ms"],
        "refused": result["refused_4xx"] + result["refused_5xx"],
        "memory MB": round(memory, 1),
    }


SCENARIOS = {"start": (start, "sql:bench.start"), "flood": (flood, "sql:bench.start"), "both": (both, "sql:bench.pay")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=int, default=8000)
    parser.add_argument("--build", default="release")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if unknown := set(options.scenarios) - set(SCENARIOS):
        parser.error(f"no scenario {unknown}; there are: {' '.join(SCENARIOS)}")
    results = {}
    for name in options.scenarios or ("start", "flood"):
        scenario, action = SCENARIOS[name]
        cluster = Cluster(shared_buffers="1GB", max_wal_size="16GB", checkpoint_timeout="20min", track_commit_timestamp="on").start()
        try:
            results[name] = scenario(Flow(options, cluster, action))
        finally:
            cluster.remove()
        print(f"\n{name}")
        for key, value in results[name].items():
            print(f"  {key:45} {value}")
    if options.json:
        options.json.write_text(json.dumps({"cores": os.cpu_count(), "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()

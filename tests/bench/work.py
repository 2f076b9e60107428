#!/usr/bin/python3
"""Measures working: how fast a backlog of events of 1.5 KB is worked off by SQL handlers, exactly once, and by a module.

    tests/bench/work.py [--pairs 5] [--events 40000] [--json FILE] [--build release] [SCENARIO...]

Scenarios: noop inserts leased graphile snapshot finished hot lanes_snapshot (default: all). The machine is shared and noisy, so the figure that counts is a
ratio inside one interleaved run (A B A B ...), as medians. B is the loop that most teams would write, on article.sql's
table with the same number of threads and the same batch: claim a batch, mark it, commit; then an UPDATE and a commit for
each event. It calls no handler at all. `graphile` compares with graphile-worker from npm instead, one process with its own tuning.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support.cluster import Cluster  # noqa: E402
from support.places import ROOT  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
THREADS, BATCH = 4, 50

SCHEMA = """
create schema bench;
create table bench.processed (provider text not null, event_id text not null, primary key (provider, event_id));
create table bench.payment (event bigint not null, amount bigint, at timestamptz not null default now());
create function bench.noop(e inboxd.event) returns void language plpgsql as $$ begin end $$;
create function bench.inserts(e inboxd.event) returns void language plpgsql as $$
begin
    insert into bench.processed (provider, event_id) values (e.provider, e.event_id) on conflict do nothing;
    insert into bench.payment (event, amount) values (e.id, (e.payload ->> 'amount')::bigint);
end $$;
create function bench.document(n bigint) returns jsonb language sql as $$
    select jsonb_build_object('id', 'evt_' || n, 'amount', n) || jsonb_object_agg('member_' || i, md5(n::text || i))
      from generate_series(1, 28) i
$$;
grant usage on schema bench to public;
grant all on all tables in schema bench to public;
"""

EMPTY = """
truncate inboxd.ledger, inboxd.event_store, inboxd.work, inboxd.lane, inboxd.counters, inboxd.outcome, inboxd.attempt_log,
    bench.processed, bench.payment, public.article_inbox;
"""

FILL = """
select inboxd.make_partitions(1);
insert into inboxd.ledger (provider, event_id, id, body_sha256)
select 'p', 'evt_' || n, nextval('inboxd.event_id_seq'), 'x' from generate_series(1, {n}) n;
insert into inboxd.event_store (id, provider, event_id, received_at, headers, payload, payload_repaired, body, signature_verified)
select l.id, l.provider, l.event_id, l.received_at, '{{"content-type": "application/json"}}', d, false,
       convert_to(d::text, 'UTF8'), true
  from inboxd.ledger l, lateral (select bench.document(l.id) as d) x where l.event_id like 'evt%';
insert into inboxd.work (id, provider, class, received_at, run_at)
select id, provider, '{work_class}', received_at, clock_timestamp() from inboxd.ledger where event_id like 'evt%' order by id;
insert into inboxd.counters (provider, minute, stored) values ('p', date_trunc('minute', now()), {n});
"""

# The same for graphile-worker, as many jobs as there are events.
FILL_GRAPHILE = """
select graphile_worker.add_job('noop', bench.document(n)::json) from generate_series(1, {n}) n;
"""

# Half of the events have one key, each of the others has its own.
KEYS = """
update inboxd.work set lane = case when id % 2 = 0 then 'hot' else id::text end;
insert into inboxd.lane (provider, key) select distinct provider, lane from inboxd.work order by 1, 2;
"""

FILL_ARTICLE = """
insert into public.article_inbox (provider, event_id, headers, payload)
select 'p', 'evt_' || n, '{{"content-type": "application/json"}}', bench.document(n) from generate_series(1, {n}) n;
"""

# Finished events with no content: what the ledger and the outcomes keep.
FILL_FINISHED = """
insert into inboxd.ledger (provider, event_id, id, body_sha256)
select 'p', 'old_' || n, nextval('inboxd.event_id_seq'), 'x' from generate_series(1, {n}) n;
insert into inboxd.outcome (id, provider, status, attempt) select id, provider, 2, 1 from inboxd.ledger;
"""


class Bench:
    def __init__(self, options, cluster):
        self.options = options
        self.cluster = cluster
        self.pg = cluster.database()
        self.pg.execute("set search_path = public; " + (HERE / "article.sql").read_text() + SCHEMA)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="inboxd-bench-"))
        self.program = str(ROOT / "build" / options.build / "bin" / "bench_work_bench")

    def fill(self, events, article=0, keep_finished=False, keys=False, work_class="sql"):
        if not keep_finished:
            self.pg.execute(EMPTY)
        else:
            self.pg.execute("truncate inboxd.event_store, inboxd.work, inboxd.counters, bench.processed, bench.payment")
            self.pg.execute("delete from inboxd.outcome o using inboxd.ledger l where l.id = o.id and l.event_id like 'evt%'")
            self.pg.execute("delete from inboxd.ledger where event_id like 'evt%'")
        if events:
            self.pg.execute(FILL.format(n=events, work_class=work_class))
        if keys:
            self.pg.execute(KEYS)
        if article:
            self.pg.execute(FILL_ARTICLE.format(n=article))
        for table in ("inboxd.work", "inboxd.lane", "inboxd.event_store", "inboxd.ledger", "inboxd.outcome", "public.article_inbox"):
            self.pg.execute(f"vacuum analyze {table}")
        self.pg.execute("checkpoint")

    def _run(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0 or not done.stdout:
            raise RuntimeError(f"bench_work_bench {words}: {done.stderr}")
        return json.loads(done.stdout)

    def pool(self, action):
        config = self.folder / "inboxd.conf"
        config.write_text(
            f"[inboxd]\ndatabase = {self.pg.conninfo()}\nlisten = 127.0.0.1:0\nworkers = {THREADS}\n"
            f"module_path = {ROOT / 'build' / self.options.build / 'tests' / 'modules'}\n"
            f"[provider p]\nverify = none\nevent_id = body:/id\non = {action}\nconcurrency = {THREADS}\n"
        )
        result = self._run("pool", str(config), self.pg.conninfo("postgres"))
        done = self.pg.value("select count(*) from inboxd.outcome o join inboxd.ledger l using (id) where l.event_id like 'evt%%'")
        assert done == result["events"], (done, result)
        return result

    def graphile(self, command, *words):
        folder = HERE / "graphile"
        if not (folder / "node_modules").exists():
            subprocess.run(["npm", "ci", "--omit=dev", "--ignore-scripts"], cwd=folder, check=True, stdout=sys.stderr)
        uri = f"postgresql://postgres@127.0.0.1:{self.cluster.port}/{self.pg.name}"
        done = subprocess.run(["node", "worker.mjs", command, uri, *words], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"graphile-worker {command}: {done.stdout}{done.stderr}")
        return done.stdout.splitlines()[-1] if done.stdout else ""

    def article(self):
        return self._run("article", self.pg.conninfo("postgres"), str(THREADS), str(BATCH))


def against_article(bench, action, work_class="sql"):
    ours, baseline, cpu = [], [], []
    events = bench.options.events
    for _ in range(bench.options.pairs):
        bench.fill(events, work_class=work_class)
        result = bench.pool(action)
        ours.append(result["per_s"])
        cpu.append(result["cpu_us"])
        bench.fill(0, events // 4)
        baseline.append(bench.article()["per_s"])
    return {
        f"{action}: events/s": statistics.median(ours),
        "the article's loop, events/s": statistics.median(baseline),
        "ratio, median of pairs": round(statistics.median(a / b for a, b in zip(ours, baseline)), 2),
        "each run": ours,
        "each baseline": baseline,
        "daemon us an event": statistics.median(cpu),
    }


def noop(bench):
    return against_article(bench, "sql:bench.noop")


def inserts(bench):
    return against_article(bench, "sql:bench.inserts")


def leased(bench):
    return against_article(bench, "module:noop", "leased")


def graphile(bench):
    """graphile-worker with a task that does nothing; ours is a plug-in that does nothing, and an SQL function."""
    sql, module, theirs = [], [], []
    events = bench.options.events
    bench.graphile("migrate")
    for _ in range(bench.options.pairs):
        bench.fill(events)
        sql.append(bench.pool("sql:bench.noop")["per_s"])
        bench.pg.execute(FILL_GRAPHILE.format(n=events))
        bench.pg.execute("vacuum analyze graphile_worker._private_jobs")
        theirs.append(json.loads(bench.graphile("run", str(events)))["per_s"])
        assert bench.pg.value("select count(*) from graphile_worker._private_jobs") == 0
        bench.fill(events, work_class="leased")
        module.append(bench.pool("module:noop")["per_s"])
    return {
        "sql:bench.noop, events/s": statistics.median(sql),
        "module:noop, events/s": statistics.median(module),
        "graphile-worker, jobs/s": round(statistics.median(theirs)),
        "ratio of sql, median of pairs": round(statistics.median(a / b for a, b in zip(sql, theirs)), 2),
        "ratio of module, median of pairs": round(statistics.median(a / b for a, b in zip(module, theirs)), 2),
    }


def beside_a_snapshot(bench, keys):
    """Beside a snapshot that is held open for the whole run, against none."""
    held, free, flat = [], [], []
    events = bench.options.events * 4
    for _ in range(max(1, bench.options.pairs // 2)):
        bench.fill(events, keys=keys)
        free.append(bench.pool("sql:bench.noop")["per_s"])
        bench.fill(events, keys=keys)
        session = bench.pg.session()
        session.do("set transaction isolation level repeatable read")
        session.do("select count(*) from inboxd.work")
        result = bench.pool("sql:bench.noop")
        session.close()
        held.append(result["per_s"])
        flat.append(result["sixths_s"][0] / result["sixths_s"][-1])
    return {
        "events/s with the snapshot": statistics.median(held),
        "events/s without": statistics.median(free),
        "ratio, median of pairs": round(statistics.median(a / b for a, b in zip(held, free)), 2),
        "rate of the last sixth against the first": round(statistics.median(flat), 2),
        "events a run": events,
    }


def snapshot(bench):
    return beside_a_snapshot(bench, keys=False)


def lanes_snapshot(bench):
    return beside_a_snapshot(bench, keys=True)


def finished(bench):
    """Beside ten million finished events."""
    empty, full = [], []
    for _ in range(bench.options.pairs):
        bench.fill(bench.options.events)
        empty.append(bench.pool("sql:bench.noop")["per_s"])
    bench.pg.execute(EMPTY)
    bench.pg.execute(FILL_FINISHED.format(n=bench.options.finished))
    for _ in range(bench.options.pairs):
        bench.fill(bench.options.events, keep_finished=True)
        full.append(bench.pool("sql:bench.noop")["per_s"])
    return {
        f"events/s beside {bench.options.finished} finished": statistics.median(full),
        "events/s beside none": statistics.median(empty),
        "ratio of medians": round(statistics.median(full) / statistics.median(empty), 2),
    }


def hot(bench):
    """One key holds half of the backlog, against the same events without keys."""
    keyed, free, cpu = [], [], []
    events = bench.options.events
    for _ in range(bench.options.pairs):
        bench.fill(events, keys=True)
        result = bench.pool("sql:bench.inserts")
        keyed.append(result["per_s"])
        cpu.append(result["cpu_us"])
        assert bench.pg.value("select count(*) from inboxd.lane") == 0
        bench.fill(events)
        free.append(bench.pool("sql:bench.inserts")["per_s"])
    return {
        "events/s, half of them of one key": statistics.median(keyed),
        "events/s without keys": statistics.median(free),
        "ratio, median of pairs": round(statistics.median(a / b for a, b in zip(keyed, free)), 2),
        "daemon us an event": statistics.median(cpu),
    }


SCENARIOS = {f.__name__: f for f in (noop, inserts, leased, graphile, snapshot, finished, hot, lanes_snapshot)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS), choices=[*SCENARIOS, []], metavar="SCENARIO")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--events", type=int, default=40000)
    parser.add_argument("--finished", type=int, default=10_000_000)
    parser.add_argument("--build", default="release")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    cluster = Cluster(shared_buffers="1GB", max_wal_size="16GB", checkpoint_timeout="20min").start()
    try:
        results = {}
        for name in options.scenarios or list(SCENARIOS):
            bench = Bench(options, cluster)
            results[name] = SCENARIOS[name](bench)
            cluster.drop(bench.pg)
            print(f"\n{name}")
            for key, value in results[name].items():
                print(f"  {key:45} {value}")
    finally:
        cluster.remove()
    if options.json:
        options.json.write_text(json.dumps({"cores": os.cpu_count(), "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()

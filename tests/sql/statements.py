"""The statements of sql/query as the tests call them, and events to store with them."""

import hashlib
import json
import re

from support.places import ROOT

QUERIES = ROOT / "sql/query"


def text(name):
    """A statement with $1, $2, ..., without its comments."""
    lines = (QUERIES / f"{name}.sql").read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


def literal(where, name, *args):
    """The statement with its parameters filled in."""
    connection = where.connection if hasattr(where, "connection") else where._cursor().connection
    sql = re.sub(r"\$(\d+)", r"%(p\1)s", text(name))
    with connection.cursor() as cursor:
        return cursor.mogrify(sql, {f"p{n}": value for n, value in enumerate(args, 1)}).decode()


def run(where, name, *args):
    """Runs a statement on a Pg (committed at once) or in a Session; returns its rows."""
    connection = where.connection if hasattr(where, "connection") else where._cursor().connection
    with connection.cursor() as cursor:
        cursor.execute(literal(where, name, *args))
        return cursor.fetchall() if cursor.description else []


def prepare(session, name, **settings):
    """Prepares a statement in a session, with a plan that knows no parameter; returns a function that explains it."""
    for key, value in {"plan_cache_mode": "force_generic_plan", **settings}.items():
        session.do(f"set {key} = {value}")
    session.do(f"prepare {name} as {text(name)}")

    def explain(*args):
        """The plan as text. Arguments are SQL."""
        rows = session.do(f"explain (costs off) execute {name} ({', '.join(args)})")
        return "\n".join(row[0] for row in rows)

    return explain


def event(event_id, provider="h", **more):
    return {"provider": provider, "event_id": event_id, **more}


def store_args(*events):
    """The arrays of store_batch, sorted as the daemon sorts them."""
    events = sorted(events, key=lambda e: (e["provider"].encode(), e["event_id"].encode()))
    for e in events:
        e.setdefault("body", json.dumps({"id": e["event_id"]}).encode())

    def column(key, default=None):
        return [e.get(key, default) for e in events]

    return (
        column("provider"), column("event_id"), column("event_type"), column("ordering_key"),
        column("headers", '{"host": "example.com"}'), column("body"), column("repaired"),
        column("is_repaired", False), column("usable", True), column("verified", True), column("source_ip"),
        column("class", "sql"), [hashlib.sha256(e["body"]).digest() for e in events], column("lane"),
        [e.get("place", number) for number, e in enumerate(events, 1)], None,
        events[0].get("received_at"), column("event_time"), column("drops_body", False),
    )  # fmt: skip


def store(where, *events):
    """Stores events (names or dicts of event()); returns the ids in their sorted order, None for duplicates."""
    events = [event(e) if isinstance(e, str) else e for e in events]
    return [row[1] for row in sorted(run(where, "store_batch", *store_args(*events)))]


def claim(where, provider="h", at_most=50, run_at="-infinity", after_id=0):
    """Claims; returns dicts."""
    names = ("id", "attempt", "attempt_base", "event_type", "run_at", "received_at", "deferred_since")
    return [dict(zip(names, row)) for row in run(where, "claim_sql", provider, run_at, after_id, at_most)]


def settle_done(where, rows, provider="h"):
    run(where, "settle_done", provider, [r["id"] for r in rows], [r["attempt"] + 1 for r in rows])


def settle_failed(where, rows, what, provider="h", delay=0.0, error="it failed", suspect=False, counts=True, work_class="sql"):
    """All rows with one outcome; returns the earliest new run_at."""
    n = len(rows)
    args = (
        [r["id"] for r in rows], [what] * n, [r["attempt"] + counts for r in rows], [r["attempt_base"] for r in rows],
        [delay] * n, [error] * n, [suspect] * n, [r["event_type"] for r in rows], [r["received_at"] for r in rows],
        [r["deferred_since"] for r in rows], [0.25] * n, [None] * n, [work_class] * n, [None] * n, [None] * n,
    )  # fmt: skip
    return run(where, "settle_failed", provider, "test", *args)[0][0]


def finish(pg, status="done", provider="h", at_most=1000, **more):
    """Claims what is due and ends it, in one transaction; returns the ids."""
    session = pg.session()
    rows = claim(session, provider, at_most)
    if status == "done":
        settle_done(session, rows, provider)
    else:
        settle_failed(session, rows, status, provider, **more)
    session.commit()
    session.close()
    return [r["id"] for r in rows]


def lease(where, provider="h", at_most=50, run_at="-infinity", after_id=0, seconds=60.0):
    """Claims by a lease; returns dicts, those of lapsed leases included."""
    names = (
        "id", "token", "attempt", "attempt_base", "event_type", "due_at", "received_at", "deferred_since", "lapsed", "now",
    )  # fmt: skip
    return [dict(zip(names, row)) for row in run(where, "lease_claim", provider, run_at, after_id, at_most, seconds)]


def tokens(rows):
    """The two arrays that name rows under a lease."""
    return [r["id"] for r in rows], [r["token"] for r in rows]

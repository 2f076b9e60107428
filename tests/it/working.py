"""What the tests of the workers share: events put into the inbox by SQL, and how their work ended."""

import json

from sql.statements import event, run, store

QUICK = {"attempts": 3, "backoff": "10ms"}  # of a provider whose failures are to be over soon


def fill(pg, bodies, provider="h", prefix="e", **more):
    """Stores one event a body (dict; a number: so many empty ones), as another daemon would; returns the ids in order."""
    bodies = [{} for _ in range(bodies)] if isinstance(bodies, int) else bodies
    events = [
        event(f"{prefix}{n:05}", provider, body=json.dumps({"id": f"{prefix}{n:05}", **body}).encode(), **more)
        for n, body in enumerate(bodies)
    ]
    return [id for start in range(0, len(events), 500) for id in store(pg, *events[start : start + 500])]


def fill_keys(pg, bodies, provider="h", **more):
    """The same, each event with a key of its own."""
    keys = [f"k{n:05}" for n in range(len(bodies))]
    run(pg, "store_lanes", [provider] * len(keys), keys)
    return store(pg, *(
        event(f"e{n:05}", provider, body=json.dumps({"id": f"e{n:05}", **body}).encode(), ordering_key=keys[n], lane=keys[n], **more)
        for n, body in enumerate(bodies)
    ))  # fmt: skip


def wait_done(pg, timeout=60.0):
    """Waits until no work is left."""
    pg.wait_until("select count(*) from work", equals=0, timeout=timeout)


def outcomes(pg):
    """{(status, attempt): count}"""
    return {tuple(row[:2]): row[2] for row in pg.rows("select status, attempt, count(*) from outcome group by 1, 2")}


def effects(pg):
    """(rows, distinct events) of t.effect."""
    return pg.rows("select count(*), count(distinct (provider, event_id)) from t.effect")[0]

"""What the tests stand on: a throw-away PostgreSQL, the daemon, an HTTP client, signers, a relay.

A test normally needs only fixtures (`pg`, `inboxd`, `relay`, ...: see fixtures.py) and a few names from here.
"""

from support.cluster import Cluster, Pg, Session
from support.http import Client, Response, post_many, request
from support.relay import Relay
from support.wait import wait_until

READY, PROCESSING, DONE, DEAD = 0, 1, 2, 3  # webhook_inbox.status

__all__ = [
    "Client",
    "Cluster",
    "DEAD",
    "DONE",
    "PROCESSING",
    "Pg",
    "READY",
    "Relay",
    "Response",
    "Session",
    "post_many",
    "request",
    "wait_until",
]

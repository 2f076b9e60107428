"""What a process holds, before and after: descriptors, threads, resident memory.

    before = Census.settled(daemon, pg)
    ...
    before.wait_back(daemon, build)

Memory is looked at in the builds `dev` and `release` only: the sanitizers keep what was freed.
"""

import collections
import os

from support.wait import wait_until

MEMORY_SHARE = 0.10
MIB = 1 << 20


def keeps_memory(build):
    """Whether the build keeps what was freed, so that figures of memory say nothing."""
    return build not in ("dev", "release")


def peak_memory(daemon):
    """The most that was ever resident, in bytes."""
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def _descriptors(pid):
    """How many of each kind: "socket", "pipe", "anon_inode", or a path."""
    kinds = collections.Counter()
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            kinds[os.readlink(f"/proc/{pid}/fd/{number}").split(":")[0]] += 1
        except FileNotFoundError:  # closed since
            pass
    return kinds


def connections(daemon):
    """How many connections of senders the daemon has open."""
    with open(f"/proc/{daemon.pid}/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in list(table)[1:]]
    own = "0100007F:" + f"{daemon.address[1]:04X}"  # a sender on 127.0.0.2 may have the same port
    return sum(1 for row in rows if row[1] == own and row[3] != "0A" and row[9] != "0")  # no listener; has an owner


def _sessions(daemon):
    """What a daemon without workers keeps open to its database; it begins each when it starts, and is ready before they are."""
    writers = int(daemon.general.get("writers", 2))
    return sorted(["inboxd keeper", "inboxd quarantine", *["inboxd store"] * writers])


class Census:
    @classmethod
    def settled(cls, daemon, pg):
        """A census of a daemon without workers, once its sessions are there: they are no leak if they come later."""
        open_now = "select application_name from pg_stat_activity where datname = %s and application_name like 'inboxd%%'"
        wait_until(lambda: sorted(pg.column(open_now, pg.name)) == _sessions(daemon), 60, "the daemon's sessions")
        return cls(daemon)

    def __init__(self, daemon):
        self.descriptors = _descriptors(daemon.pid)
        self.threads = daemon.threads()
        self.memory = daemon.memory()

    def more_than(self, before, with_memory=True, share=MEMORY_SHARE):
        """What there is more of now than before, as text; None: nothing."""
        more = self.descriptors - before.descriptors
        if more:
            return f"descriptors: {dict(more)}"
        if self.threads > before.threads:
            return f"threads: {self.threads} after {before.threads}"
        if with_memory and self.memory > before.memory * (1 + share):
            return f"memory: {self.memory / MIB:.1f} MiB after {before.memory / MIB:.1f} MiB"
        return None

    def wait_back(self, daemon, build, timeout=20.0):
        """Waits until the process holds no more than this; fails with what it still holds."""
        last = [None]

        def is_back():
            last[0] = Census(daemon).more_than(self, not keeps_memory(build))
            return last[0] is None

        try:
            wait_until(is_back, timeout)
        except AssertionError:
            raise AssertionError(f"after {timeout:g} s there is still more than before: {last[0]}") from None

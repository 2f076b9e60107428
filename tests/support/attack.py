"""Attacks by slowhttptest, beside a sender that behaves well.

    with Attack(daemon, "slow body", connections=1000, seconds=15): ...

A machine without slowhttptest is told so by the first attack (`.ci/install test` brings it).
"""

import json
import os
import subprocess

from support.places import ROOT
from support.sign import STRIPE_SECRET

# What each does with its connections, in the words of the tool.
KINDS = {
    # A request line and a header line every second for ever.
    "slow header": ["-H", "-i", "1", "-x", "24", "-t", "POST"],
    # A body of which a few bytes come every second.
    "slow body": ["-B", "-i", "1", "-s", "8192", "-x", "10", "-t", "POST"],
    # Ten requests at once whose answers are read five bytes a second through the smallest window.
    "slow read": ["-X", "-k", "10", "-w", "1", "-y", "16", "-n", "1", "-z", "5"],
}


class Attack:
    """Opens its connections within two seconds of the start of the with block; wait() waits for its end."""

    def __init__(self, daemon, kind, connections=1000, seconds=15, provider="n"):
        host, port = daemon.address
        words = ["slowhttptest", "-c", str(connections), "-r", str(connections // 2), "-l", str(seconds), "-p", "30", "-v", "1"]
        self.kind = kind
        self.seconds = seconds
        self.process = subprocess.Popen(
            [*words, *KINDS[kind], "-u", f"http://{host}:{port}/webhooks/{provider}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def wait(self):
        """Waits for its end; returns what it printed last."""
        out, _ = self.process.communicate(timeout=self.seconds + 60)
        return out[-1500:]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class WellBehaved:
    """Signed events at a steady rate to provider `s`, whatever the daemon does (an open loop)."""

    def __init__(self, daemon, build, seconds, rate=500, connections=32, warmup=1):
        words = [str(ROOT / "build" / build / "bin" / "bench_load"), "--port", str(daemon.address[1]), "--secret", STRIPE_SECRET,
                 "--rate", str(rate), "--connections", str(connections), "--seconds", str(seconds), "--warmup", str(warmup)]  # fmt: skip
        # What the generator does not free at its end is not what is tested.
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        self.process = subprocess.Popen(
            words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def running(self):
        return self.process.poll() is None

    def wait(self):
        """The figures that it printed."""
        out, errors = self.process.communicate(timeout=600)
        if not out:
            raise RuntimeError(f"load failed: {errors}")
        return json.loads(out)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.running():
            self.process.kill()
        self.process.communicate()

"""Folders, programs and ports that the other modules agree on."""

import os
import pathlib
import socket

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
BUILDS = ("dev", "release", "asan", "tsan")


def program(name, build):
    """Path of `inboxd` or `inboxctl` of one CMake preset."""
    path = ROOT / "build" / build / "bin" / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: cmake --preset {build} && cmake --build --preset {build}")
    return path


def _worker_number():
    name = os.environ.get("PYTEST_XDIST_WORKER", "")
    return int(name[2:]) if name[:2] == "gw" and name[2:].isdigit() else 15


_next_port = os.getpid() % 700  # another start for every run, so that runs side by side seldom meet


def free_port():
    """A loopback port below the range that the kernel gives to outgoing connections.

    Every parallel test process has its own slice, so that two never pick the same one.
    """
    global _next_port
    for _ in range(700):
        port = 18000 + _worker_number() * 700 + _next_port
        _next_port = (_next_port + 1) % 700
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port in the slice of this test process")

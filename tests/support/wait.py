"""Waiting for a condition: the only place in the tests that sleeps."""

import time


def wait_until(condition, timeout=20.0, what=None, interval=0.02):
    """Calls `condition` until it returns something true, and returns that; fails after `timeout` seconds.

    The limit is there so that a broken program does not hang the run; it is no statement about speed.
    """
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout:g} s in vain for {what or condition}; last value: {result!r}")
        time.sleep(interval)

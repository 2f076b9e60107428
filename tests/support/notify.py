"""The service manager's side of sd_notify: a datagram socket that remembers what a daemon said."""

import itertools
import os
import socket
import threading

_numbers = itertools.count()
SYNC = b"sync of the test itself"


class Notify:
    def __init__(self):
        # An abstract name: no file, and no limit on the length of a folder's path.
        name = f"inboxd-test-{os.getpid()}-{next(_numbers)}"
        self.address = f"@{name}"
        self.messages = []
        self._synced = threading.Semaphore(0)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{name}")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while data := self._socket.recv(8192):
            if data == SYNC:
                self._synced.release()
            else:
                self.messages += data.decode("utf-8", "replace").splitlines()

    def _send(self, data):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(data, f"\0{self.address[1:]}")

    def count(self, line):
        """How often the daemon has said this until now, such as READY=1."""
        self._send(SYNC)  # comes after all that the daemon has sent
        self._synced.acquire()
        return self.messages.count(line)

    def close(self):
        self._send(b"")
        self._thread.join()
        self._socket.close()

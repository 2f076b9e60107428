"""A real PgBouncer in front of a test's database."""

import os
import pwd
import shutil
import socket
import subprocess

from support.places import free_port
from support.wait import wait_until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or "pgbouncer"


class PgBouncer:
    def __init__(self, folder, pg, pool_mode, **settings):
        self.port = free_port()
        self.log_file = folder / "pgbouncer.log"
        self.database = pg.name
        self.folder = folder
        keys = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "auth_type": "any", "pool_mode": pool_mode,
            "logfile": self.log_file, "unix_socket_dir": "", "default_pool_size": 40, "max_client_conn": 200,
            "ignore_startup_parameters": "extra_float_digits,options", **settings,
        }  # fmt: skip
        lines = ["[databases]", f"{pg.name} = {pg.conninfo('postgres')}", "[pgbouncer]"]
        lines += [f"{key} = {value}" for key, value in keys.items()]
        self.file = folder / "pgbouncer.ini"
        self.file.write_text("\n".join(lines) + "\n")
        self.process = None

    def conninfo(self, user="inboxd_test"):
        return f"host=127.0.0.1 port={self.port} dbname={self.database} user={user}"

    def __enter__(self):
        options = {}
        if os.geteuid() == 0:  # it refuses to run as root
            user = pwd.getpwnam("postgres")
            for path in (self.folder, self.file):
                os.chown(path, user.pw_uid, user.pw_gid)
            for path in [*self.folder.parents][:-2]:
                os.chmod(path, os.stat(path).st_mode | 0o011)
            options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.process = subprocess.Popen([PROGRAM, "-q", str(self.file)], stderr=subprocess.DEVNULL, **options)
        wait_until(self._listens)
        return self

    def _listens(self):
        assert self.process.poll() is None, self.log_file.read_text() if self.log_file.exists() else "pgbouncer ended"
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

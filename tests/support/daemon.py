"""Runs inboxd and inboxctl of one build, with a configuration file written for the test."""

import functools
import json
import os
import signal
import subprocess

from support import http, providers
from support.notify import Notify
from support.places import SUPPORT, free_port, program
from support.wait import wait_until

SANITIZER_MARKS = (
    "ERROR: AddressSanitizer",
    "ERROR: LeakSanitizer",
    "WARNING: ThreadSanitizer",
    "ThreadSanitizer:DEADLYSIGNAL",
    "AddressSanitizer:DEADLYSIGNAL",
    "runtime error:",
    "FATAL: ThreadSanitizer",
)


@functools.cache
def _without_randomisation():
    """ThreadSanitizer of gcc 12 does not start under some kernels' address layout; not every container may change it."""
    words = ("setarch", "-R")
    return words if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0 else ()


def write_config(path, general, provider_changes=None, sections=None):
    """Writes an INI file: [inboxd], one [provider NAME] each, and further sections {title: {key: value}}."""
    names = providers.merged(provider_changes or {})
    blocks = {"inboxd": general, **{f"provider {name}": keys for name, keys in names.items()}, **(sections or {})}
    lines = []
    for title, keys in blocks.items():
        lines.append(f"[{title}]")
        for key, value in keys.items():
            if value is not None:
                lines += [f"{key} = {item}" for item in (value if isinstance(value, list) else [value])]
        lines.append("")
    path.write_text("\n".join(lines))
    path.chmod(0o600)
    return names


class Inboxd:
    """One daemon. Made by the fixture `inboxd`; usable as a context manager, which terminates it.

    general   keys of [inboxd]; `listen` gets a free port, `database` is required
    providers changes to the standard providers h, n, s, g, w (see providers.py)
    sections  further sections, such as {"endpoint erp": {...}}
    faults    INBOXD_FAULTS, such as "store.before_commit=kill,run.claimed=error:3"
    cwd       where the process runs
    wrap      words before the program, such as ["prlimit", "--nofile=300"]
    config    the whole text of the file instead of the above
    """

    def __init__(self, folder, build, *, providers=None, sections=None, faults=None, env=None, cwd="/", wrap=(), config=None, **general):
        self.folder = folder
        self.build = build
        self.address = ("127.0.0.1", free_port())
        self.file = folder / "inboxd.conf"
        self.log_file = folder / "inboxd.log"
        self.notify = Notify()
        self.process = None
        self.env = dict(env or {})
        self.cwd = cwd
        self.wrap = list(wrap)
        if faults:
            self.env["INBOXD_FAULTS"] = faults
        self.general = {"listen": "{}:{}".format(*self.address), **general}
        self._sections = sections
        self._changes = dict(providers or {})
        self.providers = {}
        if config is not None:
            self.file.write_text(config)
        else:
            self._write()

    def _write(self):
        self.providers = write_config(self.file, self.general, self._changes, self._sections)

    # Its life -------------------------------------------------------------------------------------

    def _environment(self):
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "NOTIFY_SOCKET": self.notify.address}
        env["ASAN_OPTIONS"] = "abort_on_error=0:exitcode=99:detect_stack_use_after_return=1"
        env["UBSAN_OPTIONS"] = "print_stacktrace=1"
        env["LSAN_OPTIONS"] = f"suppressions={SUPPORT}/lsan.supp:print_suppressions=0"
        env["TSAN_OPTIONS"] = f"suppressions={SUPPORT}/tsan.supp:exitcode=99:second_deadlock_stack=1"
        return {**env, **self.env}

    def spawn(self):
        """Starts the process and does not wait for it to be ready."""
        words = ["setpriv", "--pdeathsig", "KILL"]
        if self.build == "tsan":
            words += _without_randomisation()
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [*words, *self.wrap, program("inboxd", self.build), "--config", self.file],
                env=self._environment(), cwd=self.cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        return self

    def start(self, timeout=60.0):
        """Starts the process and returns when it says READY=1, or has been killed by a fault point of its own before."""
        before = self.notify.count("READY=1")
        self.spawn()

        def ready():
            if self.process.poll() == -signal.SIGKILL and "=kill" in self.env.get("INBOXD_FAULTS", ""):
                return True
            assert self.process.poll() is None, f"inboxd ended with {self.process.returncode}: {self.log_text()[-2000:]}"
            return self.notify.count("READY=1") > before

        wait_until(ready, timeout, "READY=1 from inboxd")
        return self

    def running(self):
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self):
        return self.process.pid

    def signal(self, number):
        if self.running():
            self.process.send_signal(number)

    def wait_exit(self, timeout=60.0):
        """Waits for the end of the process; returns its exit code, negative for a signal."""
        return self.process.wait(timeout)

    def wait_killed(self, timeout=60.0):
        """Waits until a fault point's kill has ended the process."""
        assert self.wait_exit(timeout) == -signal.SIGKILL

    def terminate(self, timeout=60.0):
        """SIGTERM: a drain; returns the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait_exit(timeout)

    def kill(self):
        self.signal(signal.SIGKILL)
        return self.wait_exit()

    def restart(self):
        self.terminate()
        return self.start()

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def reconfigure(self, providers=None, **general):
        """Rewrites the file with further changes; counts from the next reload() or start()."""
        self.general.update(general)
        for name, keys in (providers or {}).items():
            known = self._changes.get(name)
            self._changes[name] = {**known, **keys} if known and keys else keys
        self._write()

    def reload(self, timeout=20.0):
        """SIGHUP; returns when the daemon has said READY=1 again (also after it refused a bad file)."""
        before = self.notify.count("READY=1")
        self.signal(signal.SIGHUP)
        wait_until(lambda: self.notify.count("READY=1") > before, timeout, "READY=1 after SIGHUP")

    def close(self):
        """Ends the process if it still runs: first as an operator would, so that leaks are found."""
        if self.running():
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            try:
                self.wait_exit(40)
            except subprocess.TimeoutExpired:
                self.kill()
                self.notify.close()
                raise AssertionError(f"inboxd did not end within 40 s of SIGTERM: {self.log_file}") from None
        self.notify.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.running():
            self.terminate()

    # What it says ---------------------------------------------------------------------------------

    def log_text(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def wait_log(self, text, timeout=20.0):
        """Waits until the log holds `text`."""
        wait_until(lambda: text in self.log_text(), timeout, f"{text!r} in {self.log_file}")

    def sanitizer_reports(self):
        return [line for line in self.log_text().splitlines() if any(mark in line for mark in SANITIZER_MARKS)]

    def memory(self):
        """Resident memory in bytes."""
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    # Requests -------------------------------------------------------------------------------------

    def client(self, timeout=30.0):
        """A connection of one's own: see http.Client."""
        return http.Client(self.address, timeout)

    def headers_for(self, provider, body):
        """The signature headers that the provider's correct sender would add."""
        return providers.signed(self.providers.get(provider, {}), http.to_bytes(body))

    def item(self, provider, body, headers=None, sign=True, query=""):
        """A request for http.post_many."""
        body = http.to_bytes(body)
        ours = self.headers_for(provider, body) if sign else {}
        return (self.address, f"/webhooks/{provider}{query}", body, {**ours, **(headers or {})})

    def post(self, provider, body, headers=None, sign=True, query="", timeout=30.0):
        """POSTs one event, signed as the provider does it unless sign=False. `body`: dict, text or bytes."""
        address, target, body, headers = self.item(provider, body, headers, sign, query)
        return http.request(address, "POST", target, body, headers, timeout)

    def post_many(self, provider, bodies, threads=32, sign=True):
        """POSTs many events at once; the answers in order, exceptions in place of lost ones."""
        return http.post_many([self.item(provider, body, sign=sign) for body in bodies], threads)

    def ctl(self, *args, **options):
        return run_ctl(self.build, *args, config=self.file, **options)


def run_ctl(build, *args, config=None, check=True, env=None, stdin=None, timeout=60):
    """Runs inboxctl; returns the CompletedProcess with text output. check=True: it must exit with 0."""
    words = [program("inboxctl", build), *(["--config", config] if config else []), *args]
    done = subprocess.run(
        [str(word) for word in words],
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **(env or {})},
        input=stdin, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    if check:
        assert done.returncode == 0, f"inboxctl {args}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def ctl_json(done):
    """The output of `inboxctl ... --json`."""
    return json.loads(done.stdout)

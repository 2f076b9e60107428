"""Official SDKs of providers, as senders and judges: a Node process that runs tests/interop/main.mjs."""

import base64
import json
import subprocess

from support.places import ROOT

FOLDER = ROOT / "tests" / "interop"


class Sdks:
    """One process for many tests: sdks.sign("stripe", ...) and sdks.verify("stripe", ...); see main.mjs."""

    def __init__(self):
        check = subprocess.run([FOLDER / "install", "--check"], capture_output=True, text=True, check=False)
        assert check.returncode == 0, check.stderr
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "node", FOLDER / "main.mjs"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip

    def _ask(self, sdk, action, body, **more):
        line = {"sdk": sdk, "do": action, "body": base64.b64encode(body).decode(), **more}
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer

    def sign(self, sdk, body, *, secret, time, **more):
        """The headers that the SDK makes for these bytes, which have to be UTF-8."""
        return self._ask(sdk, "sign", body, secret=secret, time=time, **more)["headers"]

    def verify(self, sdk, body, headers, *, secret, **more):
        """What the SDK, in the place of inboxd, says about a request: True or False."""
        names = {name.lower(): value for name, value in headers.items()}
        return self._ask(sdk, "verify", body, headers=names, secret=secret, **more)["valid"]

    def close(self):
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

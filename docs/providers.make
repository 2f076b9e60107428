#!/usr/bin/env python3
"""Writes docs/providers.md, or with --man the list of presets in inboxd.conf(5), from the comments of config/presets/*.conf.

A preset's file begins with a title and the sender's pages, and goes on with "Setup: ", "Also needs: KEY = VALUE" and
"Notes: ", each over as many lines as it takes.
"""

import re
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
FIELD = re.compile(r"(Setup|Also needs|Notes): (.*)")

HEAD = """# Providers

The presets of inboxd: senders whose signatures, identities and limits are known. A section of `verify`, `secret` and `on` is
enough, in `/etc/inboxd/inboxd.conf`:

```ini
[provider stripe]
verify = stripe
secret = file:/etc/inboxd/secrets/stripe
on     = sql:billing.on_stripe_event
```

Events then come in at `https://YOUR-HOST/webhooks/stripe`; the section's name is yours to choose, and one preset may serve several
sections. Any key of the section stands above the preset's: `key = body:/data/object/customer` orders by customer instead of by
object, and an empty value takes a key away. `inboxctl presets` lists them, and `inboxctl presets show NAME` prints what each
stands for. Who is not here can be described with the same keys: [verification.md](verification.md).

This page is written by `docs/providers.make` from `config/presets/`; a test compares them.

| sender | section | on its side | its documentation |
| --- | --- | --- | --- |
"""

NOTES = """
## What to know

What the sender documents of limits and retries, and what its signature does not cover. The presets' `ack_timeout` and
`max_body` follow from it.

"""


class Preset:
    def __init__(self, path):
        self.name = path.stem
        lines = path.read_text().splitlines()
        comments = [line[2:] for line in lines if line.startswith("# ")]
        self.title, self.pages, self.needs = comments[0], [], []
        # Its secret comes in a handshake, and none is written down.
        self.captures = any(re.match("handshake *= *(header-echo|token-capture)$", line) for line in lines)
        texts, at = {"Setup": "", "Notes": ""}, None
        for line in comments[1:]:
            field = FIELD.match(line)
            if line.startswith("https://") and at is None:
                self.pages.append(line)
            elif field and field[1] == "Also needs":
                self.needs.append(field[2])
            elif field:
                at, texts[field[1]] = field[1], field[2]
            else:
                texts[at] += " " + line
        self.setup, self.notes = texts["Setup"][:1].upper() + texts["Setup"][1:], texts["Notes"]

    def row(self):
        handler = self.name.replace("-", "_")
        secret = [] if self.captures else [f"secret = file:/etc/inboxd/secrets/{self.name}"]
        lines = [f"verify = {self.name}", *secret, *self.needs, f"on = sql:hooks.on_{handler}"]
        section = "<br>".join(f"`{line}`" for line in lines)
        pages = "<br>".join(f"<{page}>" for page in self.pages)
        return f"| {self.title} | {section} | {self.setup.replace('|', chr(92) + '|')} | {pages} |\n"


def main():
    presets = [Preset(path) for path in sorted((TREE / "config/presets").glob("*.conf"), key=lambda path: path.stem)]
    if "--man" in sys.argv:
        sys.stdout.writelines(f".It Cm {preset.name}\n{preset.title}.\n" for preset in presets)
        return
    sys.stdout.write(HEAD)
    sys.stdout.writelines(preset.row() for preset in presets)
    sys.stdout.write(NOTES)
    sys.stdout.writelines(f"- **{preset.name}**: {preset.notes}\n" for preset in presets if preset.notes)


main()

"""Every row of "What is refused" in docs/verification.md: such a section is refused, and with these words.

No database and no daemon: `inboxctl check` reads a file.
"""

import re

import pytest
from support.daemon import run_ctl
from support.leaks import Hidden
from support.places import ROOT

pytestmark = pytest.mark.data

PAGE = (ROOT / "docs/verification.md").read_text()
PART = PAGE[PAGE.index("\n## What is refused\n") :].split("\n## ")[1]


def spans(cell):
    return re.findall(r"`([^`]+)`", cell)


def rows():
    """(settings, words) of each row."""
    found = []
    for line in PART.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| `"):
            found.append((spans(cells[0]), spans(cells[-1])[-1]))
    return found


def section(settings):
    """The page's section with these lines in place of its own; a key alone takes the line away."""
    base = re.search(r"```conf\n(\[provider p\]\n.*?)```", PART, re.DOTALL)[1]
    lines = [line for line in base.splitlines() if line]
    for setting in settings:
        key = setting.split("=")[0].strip()
        lines = [line for line in lines if line.split("=")[0].strip() != key]
        if "=" in setting:
            lines.append(setting)
    return "[inboxd]\n" + "\n".join(lines) + "\n"


def check(build, tmp_path, settings):
    file = tmp_path / "page.conf"
    file.write_text(section(settings))
    done = run_ctl(build, "check", config=file, check=False)
    return done.returncode, done.stdout + done.stderr


def test_there_are_rows():
    assert len(rows()) > 60


def test_the_section_itself_is_good(build, tmp_path):
    code, text = check(build, tmp_path, [])
    assert code == 0, text


@pytest.mark.parametrize("settings, words", rows(), ids=lambda value: value if isinstance(value, str) else None)
def test_a_row_is_refused_as_it_says(build, tmp_path, settings, words):
    code, text = check(build, tmp_path, settings)
    mistakes = [line for line in text.splitlines() if ": warning: " not in line]
    assert code == 78, text
    assert any(words in line for line in mistakes), text
    hidden = Hidden()
    for setting in settings:
        if setting.startswith("secret = text:") and len(setting) > 25:
            hidden.add("the secret", setting.removeprefix("secret = text:"))
    assert hidden.found_in(text) == []

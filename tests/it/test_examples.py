"""What the README and the sample files show is what the programs take."""

import re

from support.places import ROOT


def ini_blocks(text):
    """The indented blocks of a Markdown text that begin with a section's title."""
    blocks = re.findall(r"^(?: {4}.*\n|\n)+", text, re.MULTILINE)
    plain = [re.sub(r"^ {4}", "", block, flags=re.MULTILINE).strip() for block in blocks]
    return [block for block in plain if block.startswith("[inboxd]")]


def with_secrets_in(folder, text):
    """The same configuration with its secret files in `folder`, where they are written."""
    for name in re.findall(r"file:/etc/inboxd/secrets/(\S+)", text):
        (folder / name).write_text("a-secret-that-is-long-enough\n")
        (folder / name).chmod(0o600)
    return text.replace("/etc/inboxd/secrets", str(folder))


def test_the_readme_configuration_is_good(inboxctl, tmp_path):
    blocks = ini_blocks((ROOT / "README.md").read_text())
    assert blocks
    for block in blocks:
        file = tmp_path / "readme.conf"
        file.write_text(with_secrets_in(tmp_path, block))
        assert "0 warnings" in inboxctl("check", config=file).stdout


def test_the_demo_configuration_is_good(inboxctl, tmp_path):
    file = tmp_path / "demo.conf"
    file.write_text(with_secrets_in(tmp_path, (ROOT / "config/demo/inboxd.conf").read_text()))
    assert "0 warnings" in inboxctl("check", config=file).stdout


def test_the_readme_names_only_what_is_there():
    text = (ROOT / "README.md").read_text()
    for path in re.findall(r"`((?:src|sql|config|docs|tests|\.ci)/[\w./]*)`", text):
        assert (ROOT / path).exists(), path

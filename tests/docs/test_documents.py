"""The code blocks of the README and of docs/ run, print what they say, and commands succeed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import refresh
from tests.docs.documents import DOCUMENTS, ROOT, difference, outputs


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_code_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the code prints something else by now: ``python -m tests.docs.refresh``."""
    monkeypatch.chdir(tmp_path)
    for output in outputs(document):
        assert difference(output.shown, output.printed) == ""


def test_outputs_are_compared() -> None:
    assert difference("regret 151\n a 2.00 b", "regret  149\n a 2.01 b\n") == ""
    for other in ("regret 180", "regret 151 rounds", "loss 151", "regret 151\nmore"):
        assert difference("regret 151", other) != ""


def test_outputs_are_refreshed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    text = "# A page\n```python\nprint(2 + 3)\n```\nsays\n```text\n{}\n```\nand\n```text\n7\n```\n"
    page.write_text(text.format("4 or so"))
    assert refresh.refreshed(page) == text.format("5")
    page.write_text(text.format("5"))
    assert refresh.refreshed(page) == text.format("5")


def test_the_readme_has_code_and_its_commands_exist() -> None:
    text = (ROOT / "README.md").read_text()
    assert "```python" in text
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)) <= set(targets)

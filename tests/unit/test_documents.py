"""The code blocks of the README and of docs/ run, print what they say, and commands succeed."""

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner

from partial_monitoring.cli import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(document: Path) -> list[tuple[str, str, str]]:
    """Return (language, file name or '', content) of every code block, in order."""
    return [match.groups(default="") for match in BLOCK.finditer(document.read_text())]  # type: ignore[misc]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_code_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    printed = ""
    for language, name, content in blocks(document):
        if name:
            Path(name).write_text(content)
        elif language == "python":
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(content, str(document), "exec"), namespace)
            printed = out.getvalue()
        elif language == "text" and printed:
            assert trimmed(content) == trimmed(printed)
            printed = ""
        elif language == "console":
            printed = ""
            for line in content.splitlines():
                if line.startswith("$ pm "):
                    result = CliRunner().invoke(main, shlex.split(line)[2:])
                    assert result.exit_code == 0, f"{line}\n{result.output}"
                    printed += result.stdout


def trimmed(text: str) -> list[str]:
    """Return the lines of an output without blanks at their ends."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def test_the_readme_has_code_and_its_commands_exist() -> None:
    text = (ROOT / "README.md").read_text()
    assert "```python" in text
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= set(targets)

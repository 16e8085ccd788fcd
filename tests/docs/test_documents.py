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
            assert_alike(content, printed)
            printed = ""
        elif language == "console":
            printed = ""
            for line in content.splitlines():
                if line.startswith("$ pm "):
                    result = CliRunner().invoke(main, shlex.split(line)[2:])
                    assert result.exit_code == 0, f"{line}\n{result.output}"
                    printed += result.stdout


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def assert_alike(shown: str, printed: str) -> None:
    """Compare outputs: the same words, and numbers within five percent or one unit.

    Another processor may round the last bit of a long simulation the other way.
    """
    assert [words(line) for line in lines(shown)] == [words(line) for line in lines(printed)]
    for one, other in zip(lines(shown), lines(printed), strict=True):
        for x, y in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
            unit = 10.0 ** -len(x.partition(".")[2])
            assert abs(float(x) - float(y)) <= max(0.05 * float(x), unit), f"{one!r}: {other!r}"


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def words(line: str) -> list[str]:
    """Return the words of a line, with a mark in the place of each number."""
    return NUMBER.sub("#", line).split()


def test_outputs_are_compared() -> None:
    assert_alike("regret 151\n a 2.00 b", "regret  149\n a 2.01 b\n")
    for other in ("regret 180", "regret 151 rounds", "loss 151", "regret 151\nmore"):
        with pytest.raises(AssertionError):
            assert_alike("regret 151", other)


def test_the_readme_has_code_and_its_commands_exist() -> None:
    text = (ROOT / "README.md").read_text()
    assert "```python" in text
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= set(targets)

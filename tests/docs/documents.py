"""The code blocks of the README and of docs/, run one after the other."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from partial_monitoring.cli import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Output(NamedTuple):
    """What a document says that its code prints, and what it printed."""

    start: int
    """Where in the document it begins."""
    shown: str
    printed: str


def outputs(document: Path) -> Iterator[Output]:
    """Run the code blocks of a document in the current folder, and yield what they print.

    Blocks with a file name are written to it. A block of text after Python or commands is their
    output, unless they print nothing.
    """
    namespace: dict[str, object] = {}
    printed = ""
    for match in BLOCK.finditer(document.read_text(encoding="utf-8")):
        language, name, content = match.groups(default="")
        if name:
            Path(name).write_text(content, encoding="utf-8")
        elif language == "python":
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(content, str(document), "exec"), namespace)
            printed = out.getvalue()
        elif language == "text" and printed:
            yield Output(match.start(3), content, printed)
            printed = ""
        elif language == "console":
            commands = [line for line in content.splitlines() if line.startswith("$ pm ")]
            printed = "".join(map(_played, commands))


def _played(line: str) -> str:
    """Return what a command prints; it must succeed."""
    result = CliRunner().invoke(main, shlex.split(line)[2:])
    assert result.exit_code == 0, f"{line}\n{result.output}"
    return result.stdout


def difference(shown: str, printed: str) -> str:
    """Say where two outputs differ; nothing if only numbers do, by five percent or one unit.

    Another processor may round the last bit of a long simulation the other way.
    """
    if [words(line) for line in lines(shown)] != [words(line) for line in lines(printed)]:
        return f"{shown!r}: {printed!r}"
    for one, other in zip(lines(shown), lines(printed), strict=True):
        for x, y in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
            unit = 10.0 ** -len(x.partition(".")[2])
            if abs(float(x) - float(y)) > max(0.05 * float(x), unit):
                return f"{one!r}: {other!r}"
    return ""


def lines(text: str) -> list[str]:
    """Return the lines of an output, without blanks at their ends."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def words(line: str) -> list[str]:
    """Return the words of a line, with a mark in the place of each number."""
    return NUMBER.sub("#", line).split()

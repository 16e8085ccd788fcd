"""Write docs/commands.md from the help of the commands: ``python -m tests.tools.commands``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from partial_monitoring.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"

WIDTH = 100

HEAD = """\
# Commands

What `pm COMMAND --help` says. This page is written by `make docs`; change the help instead.

Answers go to standard output, progress and warnings to standard error. With `--json` the answer is
JSON and nothing else. The exit code is 0 if all went well and 2 if something that was asked for
cannot be; one sentence then says what must hold and what arrived.
"""


def helps() -> Iterator[tuple[str, str]]:
    """Return every command with its help, at a fixed width."""
    top = _context(main, "pm", None)
    yield "pm", main.get_help(top)
    for name, command in main.commands.items():
        yield f"pm {name}", command.get_help(_context(command, name, top))


def page() -> str:
    """Return the content of docs/commands.md."""
    parts = [HEAD]
    for name, text in helps():
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        parts.append(f"## {name}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    return click.Context(command, info_name=name, parent=parent, **settings)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    click.echo(f"{PAGE} is written.")

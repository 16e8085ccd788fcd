"""What MkDocs does to the pages beyond its own: titles, outputs, names, nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import getdoc
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"

PACKAGE = "partial_monitoring"

NAMES = "<!-- public names -->"
"""What the table of all public names takes the place of."""

JOINED = r"^(\w+(?:, \w+)+)\n((?: {4}.*(?:\n(?= {4}))?)+)"
"""Names in a section of a docstring that share what is said about them."""

ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
"""A script that the theme would load from elsewhere so that the search works without a server."""

HERE = "assets/file-worker.js"


def on_page_markdown(markdown: str, **context: Any) -> str:
    """Turn the name of a file behind the language of a block into its title, and mark outputs.

    >>> on_page_markdown("```toml game.toml")
    '```toml title="game.toml"'
    >>> on_page_markdown("```text")
    '``` { .text .output }'
    """
    if NAMES in markdown:
        markdown = markdown.replace(NAMES, names_table())
    markdown = re.sub(r"^```text$", "``` { .text .output }", markdown, flags=re.MULTILINE)
    return re.sub(r"^```(\w+) ([\w.-]+)$", r'```\1 title="\2"', markdown, flags=re.MULTILINE)


def on_page_content(html: str, **context: Any) -> str:
    """Let long names in tables break after their punctuation.

    >>> on_page_content("<td><code>ids.gaps</code></td>")
    '<td><code>ids.<wbr>gaps</code></td>'
    """
    return re.sub(r"<td.*?</td>", _with_breaks, html, flags=re.DOTALL)


def _with_breaks(cell: re.Match[str]) -> str:
    return re.sub(
        r"<code>([^<]*)</code>",
        lambda code: re.sub(r"([./_]|::)(?=\w)", r"\1<wbr>", code[0][:-7]) + code[0][-7:],
        cell[0],
    )


def on_post_page(output: str, **context: Any) -> str:
    """Load nothing from elsewhere."""
    return output.replace(ELSEWHERE, HERE)


def on_post_template(output_content: str, **context: Any) -> str:
    """Do the same for pages that are not made of Markdown, such as 404.html."""
    return output_content.replace(ELSEWHERE, HERE)


def referenced() -> Iterator[tuple[str, str, str]]:
    """Yield the public names of the reference, each with its page and the title of its section."""
    for page in sorted(DOCS.glob("reference-*.md")):
        section = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("## "):
                section = line.removeprefix("## ")
            elif line.startswith(f"::: {PACKAGE}."):
                yield line.removeprefix(f"::: {PACKAGE}."), page.name, section


def names_table() -> str:
    """Return the public names in the sections of the reference, each with its first sentence."""
    import partial_monitoring as pm

    lines, last = [], ""
    for name, page, section in referenced():
        if section != last:
            lines += ["", f"## {section}", "", "| | |", "|---|---|"]
        first = (getdoc(getattr(pm, name)) or "").partition("\n\n")[0].replace("\n", " ")
        about = as_markdown(first).replace("|", "\\|")
        lines.append(f"| [`pm.{name}`]({page}#{PACKAGE}.{name}) | {about} |")
        last = section
    return "\n".join(lines)


def as_markdown(docstring: str) -> str:
    """Return a docstring as Markdown: examples as code, roles as names, one name per entry.

    >>> as_markdown("As :func:`exact`, in [0, 1].\\n\\n>>> 1 + 1\\n2")
    'As `exact`, in \\\\[0, 1].\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    lines: list[str] = []
    inside = False
    for line in re.sub(JOINED, _apart, docstring, flags=re.MULTILINE).splitlines():
        if line.lstrip().startswith(">>>") and not inside:
            inside, margin = True, line[: len(line) - len(line.lstrip())]
            lines.append(f"{margin}```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append(f"{margin}```")
        lines.append(line if inside else _plain(line))
    return "\n".join([*lines, f"{margin}```"] if inside else lines)


def _apart(entry: re.Match[str]) -> str:
    """Repeat what is said about several names for each of them.

    >>> print(re.sub(JOINED, _apart, "a, b\\n    Two."))
    a
        Two.
    b
        Two.
    """
    return "\n".join(f"{name}\n{entry[2]}" for name in entry[1].split(", "))


def _plain(line: str) -> str:
    """Take the roles out of a line, and escape outside of code what Markdown would read.

    >>> print(_plain("max of <x, y>, see :func:`exact`"))
    max of &lt;x, y>, see `exact`
    """
    line = re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", line)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*[])", r"\\\1", part).replace("<", "&lt;")
        for part in re.split(r"(`+[^`]+`+)", line)
    )

"""What MkDocs does to the pages beyond its own: titles, line breaks, a search without a network."""

from __future__ import annotations

import re
from typing import Any

ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
"""A script that the theme would load from elsewhere so that the search works without a server."""

HERE = "assets/file-worker.js"


def on_page_markdown(markdown: str, **context: Any) -> str:
    """Turn the name of a file behind the language of a block into its title.

    >>> on_page_markdown("```toml game.toml")
    '```toml title="game.toml"'
    """
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

"""The page: Table 1, then every claim with its figure and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import partial_monitoring as pm
from papers.kirschner2023.claims import Claim
from partial_monitoring.display import number

EXAMPLES = tuple(pm.games.GAMES)
"""The example games of the page."""

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
.claim { color: #555; } .found { border-left: 3px solid #0072b2; padding-left: .8rem; }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; }
th, td { text-align: left; padding: .25rem 1.2rem .25rem 0; border-bottom: 1px solid #ddd; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: .9em; background: #f4f4f4; padding: 0 .2em; }
@media print { h2 { break-after: avoid; } figure { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Shown:
    """A claim with what its experiment gave."""

    claim: Claim
    figure: bytes
    found: str
    horizon: int
    seeds: int
    report: bool
    """Whether there is a report with all numbers beside the page."""


def write_page(shown: Sequence[Shown], target: Path) -> Path:
    """Write the page and return its path."""
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Linear partial monitoring, measured</title><style>{STYLE}</style></head><body>",
        "<h1>Linear partial monitoring, measured</h1>",
        "<p>The paper (Kirschner, Lattimore and Krause, Journal of Machine Learning Research 24, "
        "2023) proves its claims and plays none of its games. Here each claim is played.</p>",
        table_1(),
        all_games(),
    ]
    for item in shown:
        name = item.claim.name
        parts += [
            f"<h2>{escape(item.claim.title)}</h2>",
            f"<p class=claim>{escape(item.claim.text)}</p>",
            f"<figure>{_inline(item.figure)}</figure>",
            f"<p class=found>{escape(item.found)}</p>",
            f"<p>{item.seeds} runs of {item.horizon:,} rounds; <code>{name}.toml</code>"
            + (f", <a href='{name}/report.html'>all numbers</a>.</p>" if item.report else ".</p>"),
        ]
    version = f"partial-monitoring {pm.__version__}"
    parts.append(f"<p><code>make paper</code> makes this page again ({version}).</p></body></html>")
    target.mkdir(parents=True, exist_ok=True)
    path = target / "index.html"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def table_1() -> str:
    """Return Table 1: alignment constants measured, beside their bounds."""
    rows = [
        (row.example, row.category, number(row.alignment), number(row.bound))
        for row in pm.table_1()
    ]
    head = ("game", "class", "alignment, computed", "bound")
    return (
        "<h2>Table 1</h2><p class=claim>The alignment constant is at most 4 for bandits and duels, "
        "4 W² for duels on a graph with paths of length up to W, and bounded by the size of a "
        "finite game.</p>"
        + _table(head, rows)
        + "<p class=found>Every computed constant is within its bound.</p>"
    )


def all_games() -> str:
    """Return the class and the constant of every example game."""
    rows = []
    for name in EXAMPLES:
        game = pm.games.make(name)
        if not isinstance(game, pm.Game):
            continue
        found = pm.analyze(game)
        proof = "exact arithmetic" if found.certified else "floating point"
        cells = (name, found.category, found.regret_rate, number(found.alignment), proof)
        rows.append(cells)
    head = ("example game", "class", "regret", "alignment", "verified in")
    return "<h2>Every example game</h2>" + _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<div class=scroll><table><tr>{top}</tr>{body}</table></div>"


def _inline(figure: bytes) -> str:
    """Return an SVG without its header, to be put into a page."""
    text = figure.decode()
    return text[text.index("<svg") :]

"""The outcome of an experiment as a table in the terminal; needs no extras."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from partial_monitoring.errors import visible
from partial_monitoring.report import text
from partial_monitoring.report.summary import Section, Summary, sections, summary_rows
from partial_monitoring.simulation.comparison import Comparison

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["summary_rows", "summary_table"]

COLUMNS = (
    "game",
    "policy",
    "mean regret",
    "median",
    "95 %",
    "grows like",
    "predicted",
    "per round",
)
NAMES = 2
"""Number of columns that hold names; the others hold numbers."""

ROOMY, NARROW = 100, 70
"""Widths below which some columns, and all but the mean, are left out."""


def summary_table(
    comparisons: Comparison | Iterable[Comparison], *, width: int | None = None
) -> Table:
    """Return a table with a block per instance and a row per policy, the best one marked.

    ``rich.print(summary_table(comparisons))`` shows it. If the width (in letters) is small, less
    important columns are left out.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="")
    counted = sections(comparisons)
    kept = [j for j in range(len(COLUMNS)) if j not in _left_out(width)]
    table.caption = Text(_caption(counted, [COLUMNS[j] for j in kept]))
    table.caption_justify = "left"
    for j in kept:
        name = j < NAMES
        table.add_column(
            COLUMNS[j],
            justify="left" if name else "right",
            no_wrap=not name,
            min_width=10 if name else None,
            overflow="fold",
        )
    for i, section in enumerate(counted):
        rows = [_cells(section, summary) for summary in section.summaries]
        rows += [[f"  {name}", "refused"] for name in section.comparison.refused]
        for game, row in zip_longest(_about(section), rows, fillvalue=""):
            style = "bold green" if row and row[0].startswith("*") else ""
            cells = [game, *row, *[""] * (len(COLUMNS) - 1 - len(row))]
            table.add_row(*(Text(visible(cells[j]), style=style if j else "") for j in kept))
        if i + 1 < len(counted):
            table.add_row()
    return table


def _left_out(width: int | None) -> set[int]:
    """Return the positions of the columns that a narrow terminal leaves out."""
    if width is None or width >= ROOMY:
        return set()
    lesser = ("median", "95 %", "predicted") if width >= NARROW else COLUMNS[NAMES + 1 :]
    return {COLUMNS.index(column) for column in lesser}


def _caption(counted: Sequence[Section], columns: Sequence[str]) -> str:
    """Explain the marks and columns that are shown."""
    notes = ["* least mean regret (± standard error)"]
    if "95 %" in columns:
        notes += ["95 %: quantile over the seeds", "predicted: worst case of the class"]
    if any(section.comparison.refused for section in counted):
        notes.append("refused: a game that the policy cannot play")
    lines, promises = ["; ".join(notes), *text.comparators(counted)], dict[str, list[str]]()
    for name, promise in text.promises(counted).items():
        promises.setdefault(promise, []).append(name)
    for promise, names in promises.items():
        verb = "is" if len(names) == 1 else "are"
        lines.append(visible(f"{text.name_list(names)} {verb} {promise}"))
    return "\n".join(lines)


def _about(section: Section) -> list[str]:
    """Return what the first column says beside the policies."""
    lines = [section.comparison.game_name, f"θ = {section.comparison.instance}"]
    return lines if section.verdict.analysis is None else [*lines, section.verdict.category]


def _cells(section: Section, summary: Summary) -> list[str]:
    mark = "*" if summary.policy == section.best else " "
    fit, predicted = summary.exponent, section.verdict.exponent
    return [
        f"{mark} {summary.policy}",
        text.with_error(summary.mean, summary.error),
        text.amount(summary.median),
        text.amount(summary.q95),
        f"n^{fit.value:.2f}" if fit is not None and fit.value == fit.value else text.MISSING,
        text.MISSING if predicted is None else f"n^{text.power(predicted)}",
        text.duration(summary.seconds_per_round),
    ]

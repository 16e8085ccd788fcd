"""Tables as plain text, in colour, or as HTML."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from partial_monitoring.errors import visible
from partial_monitoring.validation import Array, set_fields

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

T = TypeVar("T")

MOST_ROWS = 14
MOST_COLUMNS = 8
"""Largest numbers of rows and columns; longer tables show the first and the last ones only."""

COLORS = ("blue", "dark_orange3", "green4", "magenta", "cyan", "red3", "yellow4", "purple3")
"""Terminal colours of the signals, in order of appearance."""

HEX_COLORS = (
    "#0072b2",
    "#d55e00",
    "#007a5a",
    "#a8487f",
    "#0e7490",
    "#b91c1c",
    "#7a6a00",
    "#6b46a8",
)
"""The same for HTML: dark enough for white paper, distinguishable for colour-blind readers."""

CELL_STYLE = "text-align:left;padding:.15em 1.2em .15em 0"

NUMBER = re.compile(r" *-?[\d,.]+(e[-+]?\d+)?%?|-|inf")
"""What is written in columns of numbers."""

ELLIPSIS = "…"

PATIENCE = 2.0
"""Seconds after which something that takes long shows how far it is."""


@dataclass(frozen=True)
class Bar:
    """An interval with a mark in it, each between 0 and 1; only HTML shows it."""

    low: float
    mark: float
    high: float
    strong: bool = True

    def svg(self) -> str:
        """Return it as a drawing in a line of text."""
        left, middle, right = (4 + 132 * x for x in (self.low, self.mark, self.high))
        color = HEX_COLORS[0] if self.strong else "#999999"
        return (
            f"<svg width='140' height='12' role='img' style='vertical-align:middle'>"
            f"<line x1='4' x2='136' y1='6' y2='6' stroke='#888888' stroke-opacity='.25'/>"
            f"<line x1='{left:.1f}' x2='{right:.1f}' y1='6' y2='6' stroke='{color}' "
            f"stroke-width='4' stroke-opacity='.45' stroke-linecap='round'/>"
            f"<circle cx='{middle:.1f}' cy='6' r='3.5' fill='{color}'/></svg>"
        )


@dataclass(frozen=True)
class TableCell:
    """A text with an optional tag shown after it in the tag's colour (the signal of a cell)."""

    text: str
    tag: str = ""
    color: int = 0
    bar: Bar | None = None

    def __post_init__(self) -> None:
        set_fields(self, text=visible(self.text), tag=visible(self.tag))


GAP = TableCell(ELLIPSIS)
"""Replaces the cells of a row or column that are left out."""


@dataclass(frozen=True)
class Sheet:
    """A titled table; the first column holds the labels."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        columns, notes = tuple(map(visible, self.columns)), tuple(map(visible, self.notes))
        set_fields(self, title=visible(self.title), columns=columns, notes=notes)


def number(value: float) -> str:
    """Show a number with at most four significant digits.

    >>> number(2.0), number(-0.0), number(1 / 3)
    ('2', '0', '0.3333')
    """
    if value == round(value) and abs(value) < 1e15:
        return str(round(value))
    return f"{value:.4g}"


def linear_form(coefficients: Array, *, most_terms: int = 4) -> str:
    """Show <c, theta> as a sum.

    >>> linear_form(np.array([1.0, 0.0, -0.5]))
    'θ1 - 0.5 θ3'
    """
    terms = np.flatnonzero(abs(coefficients) > 1e-12 * abs(coefficients).max())
    if len(terms) == 0:
        return "0"
    text = ""
    for i in terms[:most_terms]:
        size = abs(coefficients[i])
        sign = "-" if coefficients[i] < 0 else "+"
        text += f" {sign} " + ("" if size == 1 else f"{number(size)} ") + f"θ{i + 1}"
    text = text[3:] if text.startswith(" + ") else "-" + text[3:]
    hidden = len(terms) - most_terms
    return text + (f" + {ELLIPSIS} ({hidden} more)" if hidden > 0 else "")


def as_lines(lines: Iterable[str]) -> str:
    """Return sentences in lines of their own, without control characters of the labels in them."""
    return "\n".join(map(visible, lines))


def as_text(sheets: Sequence[Sheet], *, width: int = 100) -> str:
    """Render without colour, for ``print``; beyond the width if labels take most of it."""
    from rich.console import Console

    labels = (row[0].text for sheet in sheets for row in sheet.rows)
    width += max(0, max(map(len, labels), default=0) - width // 2)
    buffer = StringIO()
    console = Console(file=buffer, width=width, color_system=None, highlight=False)
    render(sheets, console)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def render(sheets: Sequence[Sheet], console: Console) -> None:
    """Print the sheets on a terminal, in colour where it has any."""
    from rich.padding import Padding
    from rich.text import Text

    for sheet in sheets:
        console.print(Text(sheet.title, style="bold"))
        if sheet.columns:
            console.print(_rich_table(sheet))
        for note in sheet.notes:
            console.print(Padding(Text(note, style="dim"), (0, 0, 0, 1)))


def as_html(sheets: Sequence[Sheet]) -> str:
    """Render as an HTML fragment, for notebooks."""
    return "\n".join(_html_sheet(sheet) for sheet in sheets)


def _rich_table(sheet: Sheet) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="")
    for j, column in enumerate(sheet.columns):
        table.add_column(Text(column), justify="left", no_wrap=j == 0, overflow="fold")
    widths = [
        max((len(row[j].text) for row in sheet.rows), default=0) for j in range(len(sheet.columns))
    ]
    for row in sheet.rows:
        texts = []
        for j, cell in enumerate(row):
            tagged = any(other[j].tag for other in sheet.rows)
            text = Text(cell.text.rjust(widths[j]) if tagged else cell.text)
            if cell.tag:
                text.append("  ").append(cell.tag, style=COLORS[cell.color % len(COLORS)])
            texts.append(text)
        table.add_row(*texts)
    return table


def _html_sheet(sheet: Sheet) -> str:
    styles = [_html_style(sheet, j) for j in range(len(sheet.columns))]
    heads = zip(sheet.columns, styles, strict=True)
    head = "".join(f"<th style='{style}'>{escape(c)}</th>" for c, style in heads)
    rows = ("".join(map(_html_cell, row, styles)) for row in sheet.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    notes = "".join(f"<div style='opacity:.7'>{escape(note)}</div>" for note in sheet.notes)
    shown = f"<strong>{escape(sheet.title)}</strong>{table if sheet.columns else ''}{notes}"
    return f"<div style='margin-bottom:.8em'>{shown}</div>"


def _html_style(sheet: Sheet, column: int) -> str:
    """Return the style of a column: numbers end at the right, all else begins at the left."""
    cells = [row[column] for row in sheet.rows]
    numbers = [NUMBER.fullmatch(cell.text) for cell in cells if cell.text]
    if column == 0 or not numbers or not all(numbers) or any(cell.tag for cell in cells):
        return CELL_STYLE
    return CELL_STYLE.replace("left", "right") + ";font-variant-numeric:tabular-nums"


def _html_cell(cell: TableCell, style: str) -> str:
    tag = ""
    if cell.tag:
        color = HEX_COLORS[cell.color % len(HEX_COLORS)]
        tag = f" <span style='color:{color};font-weight:600'>{escape(cell.tag)}</span>"
    bar = "" if cell.bar is None else cell.bar.svg()
    return f"<td style='{style}'>{escape(cell.text)}{tag}{bar}</td>"


def shortened(items: Sequence[T], *, most: int = MOST_ROWS) -> list[T | None]:
    """Return all items, or the first ones, None for those left out, and the last one."""
    if len(items) <= most:
        return list(items)
    return [*items[: most - 4], None, items[-1]]


def counted(items: Iterable[T], total: int, unit: str) -> Iterator[T]:
    """Yield the items; on a terminal, count them on standard error once it has taken a while.

    The line disappears at the end; in logs, pipes and notebooks nothing is shown.
    """
    start = shown = monotonic()
    visible, written = sys.stderr.isatty(), False
    try:
        for done, item in enumerate(items):
            now = monotonic()
            if visible and now - start > PATIENCE and now - shown > 0.2:
                left = (now - start) / done * (total - done) if done else 0.0
                line = f"\r{done:,} of {total:,} {unit}, about {left:,.0f} s left\x1b[K"
                print(line, end="", file=sys.stderr, flush=True)
                shown, written = now, True
            yield item
    finally:
        if written:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

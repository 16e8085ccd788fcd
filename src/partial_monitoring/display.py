"""How games look: one small table model, rendered as plain text, in colour, or as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from partial_monitoring.validation import Array

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from partial_monitoring.model.contextual import ContextualGame
    from partial_monitoring.model.finite import FiniteGame
    from partial_monitoring.model.game import Game

T = TypeVar("T")

MOST_ROWS = 14
MOST_COLUMNS = 8
"""Tables with more rows or columns than this show the first and the last ones only."""

MOST_OBSERVATIONS = 6
"""Actions that show more than this list the first ones only."""

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

ELLIPSIS = "…"

NOISE_IN_WORDS = {
    "gaussian": "what is shown carries Gaussian noise of {size}",
    "bernoulli": "what is shown is 0 or 1, with that mean",
    "sign": "what is shown is -1 or 1, with that mean",
}


@dataclass(frozen=True)
class Cell:
    """A text with an optional tag shown after it in the tag's colour (the signal of a cell)."""

    text: str
    tag: str = ""
    color: int = 0


@dataclass(frozen=True)
class Sheet:
    """A titled table; the first column holds the labels."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


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


def finite_sheets(game: FiniteGame, title: str) -> list[Sheet]:
    """One table: rows are actions, columns outcomes, cells the reward and the signal."""
    colors = {symbol: i for i, symbol in enumerate(dict.fromkeys(_flat(game.symbols)))}
    shown_outcomes = _ends(range(game.d), most=MOST_COLUMNS)
    rows = []
    for a in _ends(range(game.k)):
        if a is None:
            rows.append((Cell(ELLIPSIS), *(Cell("") for _ in shown_outcomes)))
            continue
        cells = [Cell(game.actions[a])]
        for x in shown_outcomes:
            if x is None:
                cells.append(Cell(ELLIPSIS))
            else:
                symbol = game.signals[a][x]
                cells.append(Cell(number(game.features[a, x]), str(symbol), colors[symbol]))
        rows.append(tuple(cells))
    columns = ["", *(ELLIPSIS if x is None else game.outcomes[x] for x in shown_outcomes)]
    silent = [label for label, row in zip(game.actions, game.symbols, strict=True) if len(row) == 1]
    notes = ["each cell: what you earn, then the signal you see"]
    if silent:
        notes.append("shows the same signal whatever happens: " + _listing(silent))
    return [Sheet(title, tuple(columns), tuple(rows), tuple(notes))]


def linear_sheets(game: Game, title: str) -> list[Sheet]:
    """One table: rows are actions, with the reward and the observations as linear forms."""
    noise = np.broadcast_to(game.noise_std, (game.k,))
    varies = np.ndim(game.noise_std) > 0
    rows = []
    for a in _ends(range(game.k)):
        if a is None:
            rows.append((Cell(ELLIPSIS),) + (Cell(""),) * (2 + varies))
            continue
        seen = ", ".join(linear_form(row) for row in game.rows(a)[:MOST_OBSERVATIONS]) or "nothing"
        hidden = game.row_count(a) - MOST_OBSERVATIONS
        seen += f", {ELLIPSIS} ({hidden} more)" if hidden > 0 else ""
        cells = [Cell(game.action_label(a)), Cell(linear_form(game.reward_row(a))), Cell(seen)]
        rows.append(tuple([*cells, Cell(number(noise[a]))] if varies else cells))
    columns = ("action", "earns", "shows") + (("noise",) if varies else ())
    place = getattr(game, "unknown", None) or game.parameters.describe()
    notes = [f"the unknown θ lies in {place}"]
    size = "the given size" if varies else f"size {number(noise[0])}"
    notes.append(NOISE_IN_WORDS[game.noise].format(size=size))
    return [Sheet(title, columns, tuple(rows), tuple(notes))]


def contextual_sheets(game: ContextualGame, title: str) -> list[Sheet]:
    """One table per context (the first and the last ones when there are many)."""
    sheets = []
    for z in _ends(range(len(game.contexts)), most=6):
        if z is None:
            sheets.append(Sheet(f"{ELLIPSIS} {len(game.contexts) - 3} more contexts", (), ()))
            continue
        chance = number(float(game.context_distribution[z]))
        sheets += game.at(z).sheets(f"context {game.contexts[z]} (probability {chance})")
    tables = [sheet for sheet in sheets if sheet.columns]
    common = tuple(note for note in tables[0].notes if all(note in t.notes for t in tables))
    own = [replace(s, notes=tuple(note for note in s.notes if note not in common)) for s in sheets]
    return [Sheet(title, (), (), common), *own]


def as_text(sheets: Sequence[Sheet], *, width: int = 100) -> str:
    """Render without colour, for ``print``."""
    from rich.console import Console

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
    head = "".join(f"<th style='{CELL_STYLE}'>{escape(c)}</th>" for c in sheet.columns)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in sheet.rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    notes = "".join(f"<div style='opacity:.7'>{escape(note)}</div>" for note in sheet.notes)
    return (
        f"<div><strong>{escape(sheet.title)}</strong>{table if sheet.columns else ''}{notes}</div>"
    )


def _html_cell(cell: Cell) -> str:
    tag = ""
    if cell.tag:
        color = HEX_COLORS[cell.color % len(HEX_COLORS)]
        tag = f" <span style='color:{color};font-weight:600'>{escape(cell.tag)}</span>"
    return f"<td style='{CELL_STYLE}'>{escape(cell.text)}{tag}</td>"


def _ends(items: Sequence[T], *, most: int = MOST_ROWS) -> list[T | None]:
    """Return all items, or the first ones, None for the gap, and the last one."""
    if len(items) <= most:
        return list(items)
    return [*items[: most - 4], None, items[-1]]


def _flat(rows: Iterable[Iterable[T]]) -> Iterable[T]:
    return (item for row in rows for item in row)


def _listing(names: Sequence[str]) -> str:
    return ", ".join(ELLIPSIS if name is None else name for name in _ends(names))

"""The figures of a report, drawn by matplotlib: for papers, for print, and without a script."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from partial_monitoring.errors import visible
from partial_monitoring.report.names import short
from partial_monitoring.report.series import (
    GUIDE_COLOR,
    INFORMATION,
    Plays,
    Style,
    action_colors,
    log_range,
)
from partial_monitoring.report.summary import Section
from partial_monitoring.validation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Inches, the text of a page."""

LINES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
MOST_CELLS = 40
"""Largest number of Pareto optimal actions whose cells are drawn."""

MARKED = 3
"""Curves through fewer points than this show the points."""

FILES: dict[str, Any] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "partial-monitoring",
    "pdf.fonttype": 42,
}
"""Text as outlines, so that a figure looks the same everywhere; the same bytes each time."""

LOOK: dict[str, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8e8e8",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "legend.frameon": False,
    "axes.formatter.limits": (-4, 5),
}
"""Plain axes."""


@contextmanager
def look() -> Iterator[None]:
    """Draw in the look of a report, whatever the user's own settings are."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name that the font cannot draw
        mpl.rcdefaults()
        mpl.rcParams.update(FILES | LOOK)  # type: ignore[arg-type]
        yield


def regret_figure(section: Section, styles: Mapping[str, Style]) -> Figure:
    """Draw mean regret with standard errors and quantiles, on linear and logarithmic axes."""
    figure, (linear, log) = _new(1, 2, 3.0)
    drawn = section.curves
    for axes in (linear, log):
        for name, curve in drawn.items():
            _band(axes, curve.rounds, curve.low, curve.high, styles[name], 0.08)
            low, high = curve.mean - curve.error, curve.mean + curve.error
            _band(axes, curve.rounds, low, high, styles[name], 0.25)
            _line(axes, curve.rounds, curve.mean, name, styles[name])
        axes.set_xlabel("round")
    linear.set(ylabel="regret", title="linear")
    top = max(float(max(curve.high.max(), curve.mean.max())) for curve in drawn.values())
    bottom = min(0.0, *(float(min(curve.low.min(), curve.mean.min())) for curve in drawn.values()))
    linear.set_ylim(1.05 * bottom, 1.05 * top if top > 0 else 1)
    log.set_title("logarithmic")
    rounds = next(iter(drawn.values())).rounds
    bounds = section.bounds(rounds)
    limits = log_range(drawn, [*bounds.values()])
    if limits is not None:
        log.set(xscale="log", yscale="log", ylim=limits)
        for name, bound in bounds.items():
            dashes = (0, (5, 3))
            log.plot(rounds, bound, color=GUIDE_COLOR, linestyle=dashes, label=_label(name))
    _legend(figure, log)
    return figure


def plays_figure(plays: Plays) -> Figure:
    """Draw the share of each action over the rounds, one panel per policy."""
    columns = min(4, len(plays.shares))
    rows = -(-len(plays.shares) // columns)
    figure, panels = _new(rows, columns, 0.5 + 1.6 * rows)
    colors = action_colors(len(plays.actions), others=plays.others)
    for axes, (name, shares) in zip(panels, plays.shares.items(), strict=False):
        axes.stackplot(
            plays.rounds, shares.T, labels=[*map(_label, plays.actions)], colors=colors, linewidth=0
        )
        axes.set(title=_label(name), ylim=(0, 1), xlim=_span(plays.rounds))
        axes.set_xscale("log")
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    for i, axes in enumerate(panels):
        axes.set_visible(i < len(plays.shares))
        axes.set_xlabel("round" if i + columns >= len(plays.shares) else "")
    _legend(figure, panels[0])
    return figure


def information_figure(section: Section, styles: Mapping[str, Style]) -> Figure | None:
    """Draw the information gained, the information ratio and the price of information."""
    drawn = section.curves
    if not any(np.isfinite(curve.information).any() for curve in drawn.values()):
        return None
    figure, panels = _new(1, 3, 2.6)
    measured = {name: c for name, c in drawn.items() if np.isfinite(c.information).any()}
    for axes, (kind, title) in zip(panels, INFORMATION.items(), strict=True):
        for name, curve in measured.items():
            values = getattr(curve, kind)
            shown = np.where(np.isfinite(values), values, np.nan)
            _line(axes, curve.rounds, shown, name, styles[name])
        axes.set(title=title, xlabel="round", xscale="log")
    _legend(figure, panels[0])
    return figure


def cell_figure(section: Section) -> Figure | None:
    """Draw the cells of the game, if it was analysed, in the look that they have elsewhere."""
    import matplotlib as mpl

    analysis = section.verdict.analysis
    if analysis is None or len(analysis.pareto) > MOST_CELLS:
        return None
    with mpl.rc_context():
        mpl.rcdefaults()
        return analysis.plot()


def svg(figure: Figure) -> bytes:
    """Return a figure as SVG, the same bytes each time."""
    found = _file(figure, "svg", Date=None)
    figure.set_layout_engine("none")  # it is laid out now; the next file need not do it again
    return found


def pdf(figure: Figure) -> bytes:
    """Return a figure as PDF, the same bytes each time."""
    return _file(figure, "pdf", CreationDate=None)


def _file(figure: Figure, kind: str, **metadata: None) -> bytes:
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_text(visible(text.get_text()))
    buffer = BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


def _new(rows: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """Return a new figure that is not registered with pyplot, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    return figure, list(panels)


def _label(name: str) -> str:
    """Keep dollars from starting a formula and an underscore from hiding a name."""
    plain = short(name).replace("$", r"\$")
    return f" {plain}" if plain.startswith("_") else plain


def _line(axes: Axes, x: Array | Any, y: Array, name: str, style: Style) -> None:
    look: Any = {
        "color": style.color,
        "linestyle": LINES[style.dash],
        "linewidth": 1.4,
        "markersize": 4,
    }
    axes.plot(x, y, label=_label(name), marker="o" if len(x) < MARKED else None, **look)


def _band(axes: Axes, x: Array | Any, low: Array, high: Array, style: Style, alpha: float) -> None:
    axes.fill_between(x, low, high, color=style.color, alpha=alpha, linewidth=0)


def _span(rounds: Any) -> tuple[float, float]:
    """Return limits of an axis that are not equal, even for a single checkpoint."""
    first, last = float(rounds[0]), float(rounds[-1])
    return (first, last) if first < last else (first / 2, first * 2)


def _legend(figure: Figure, axes: Axes) -> None:
    """Put one legend for all panels below them."""
    handles, labels = axes.get_legend_handles_labels()
    columns = 5 if max(map(len, labels), default=0) <= 16 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)

"""How curves over the rounds are drawn: sizes for papers, bands, and a legend that explains them.

Matplotlib is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from partial_monitoring.display import ELLIPSIS
from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import (
    Array,
    Indices,
    boolean,
    brief,
    is_whole,
    one_of,
    positive_number,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {1: 3.4, 2: 7.0}
"""Inches of one and of two columns of a journal."""

SHAPE = 0.68
"""Height of a panel over its width."""

FONT_SIZE = 8.0
"""Points, as captions have."""

SMALLER = 0.9
"""Size of the numbers and the legend over that of the other texts."""

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
"""The palette of Okabe and Ito without its yellow, which is too light for lines on white."""

LINES = ("-", "--", ":", "-.")
"""When all colours are used they repeat with the next kind of line."""

GREY = "#777777"
"""Of the bands in the legend."""

BANDS = {
    "error": ("mean ± standard error", 0.3),
    "quantiles": ("5 % to 95 % of the seeds", 0.1),
}
"""What the bands around a mean show, and how opaque they are."""

MOST_LETTERS = 28
"""Largest length of a name in a legend."""

MARKED = 3
"""Curves through fewer points than this show the points."""

CALM: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.limits": (-4, 5),
    "grid.color": "#e8e8e8",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "pdf.fonttype": 42,
}
"""The look of new figures, whatever the user's own settings are."""


class Drawable(Protocol):
    """What is drawn of a result: tables (seeds, checkpoints) by policy."""

    @property
    def seeds(self) -> Indices: ...
    @property
    def checkpoints(self) -> Indices: ...
    @property
    def regret(self) -> dict[str, Array]: ...
    @property
    def information(self) -> dict[str, Array]: ...


@dataclass(frozen=True)
class Look:
    """What curves look like; the parameters of ``pm.plot.regret``."""

    band: str = "both"
    scale: str = "linear"
    columns: int = 1
    height: float | None = None
    font_size: float | None = None
    legend: bool = True

    def __post_init__(self) -> None:
        one_of("band", self.band, ("both", *BANDS, "none"))
        one_of("scale", self.scale, ("linear", "log"))
        if not is_whole(self.columns) or self.columns not in (1, 2):
            raise InvalidInput(f"columns must be 1 or 2; got {brief(self.columns)}.")
        boolean("legend", self.legend)
        for name in ("height", "font_size"):
            if getattr(self, name) is not None:
                positive_number(name, getattr(self, name))

    @property
    def bands(self) -> list[str]:
        """The bands to draw, the widest first."""
        return [name for name in ("quantiles", "error") if self.band in (name, "both")]


def _flat(ax: Any) -> Iterable[Any]:
    """Return axes one after another; none if they are in no array."""
    try:
        return np.ravel(ax)
    except ValueError:
        return ()


def draw(what: str, panels: Sequence[tuple[str, Drawable]], ax: Any, look: Look) -> Figure:
    """Draw "regret" or "information" of results with titles, into axes or a new figure."""
    from partial_monitoring.analysis import pictures  # refuses in one sentence without matplotlib

    names = dict.fromkeys(name for _, result in panels for name in result.regret)
    position = {name: i for i, name in enumerate(names)}  # a policy has one colour in all panels
    if ax is not None:
        axes = [own for own in _flat(ax) if hasattr(own, "fill_between")]
        if len(axes) != len(panels):
            raise InvalidInput(
                f"ax must be matplotlib axes, {len(panels)} of them; got {brief(ax)}."
            )
        for own, (title, result) in zip(axes, panels, strict=True):
            _panel(own, what, result, title, look, position)
            if look.legend:
                own.legend(*_legend([own], [result], look), fontsize=look.font_size)
        return pictures.figure_of(axes[0])
    with _style(look):
        across = min(len(panels), look.columns if len(panels) > 1 else 1)
        down = -(-len(panels) // across)
        width = WIDTHS[look.columns]
        height = down * SHAPE * width / across if look.height is None else float(look.height)
        figure = pictures.new_figure(width, height)
        for i, (title, result) in enumerate(panels):
            own = figure.add_subplot(down, across, i + 1)
            _panel(own, what, result, title, look, position)
        if look.legend:
            handles, labels = _legend(figure.axes, [result for _, result in panels], look)
            fit = _legend_columns(labels, width * 72 / (SMALLER * _font_size(look)))
            figure.legend(handles, labels, loc="outside lower center", ncols=fit)
            if look.height is None:
                line = 1.5 * SMALLER * _font_size(look) / 72
                figure.set_figheight(height + line * (-(-len(labels) // fit)))
    return figure


def _panel(
    ax: Axes, what: str, result: Drawable, title: str, look: Look, position: Mapping[str, int]
) -> None:
    """Draw the curves of one result."""
    table: dict[str, Array] = getattr(result, what)
    rounds, size = result.checkpoints, look.font_size
    top = low = bottom = 0.0
    for name, values in table.items():
        if not np.isfinite(values).any():
            continue
        again, color = divmod(position[name], len(COLORS))
        mean = values.mean(axis=0)
        for band in look.bands if len(values) > 1 else []:
            edges = _edges(values, band)
            opacity = BANDS[band][1]
            ax.fill_between(rounds, *edges, color=COLORS[color], alpha=opacity, linewidth=0)
            top, bottom = max(top, float(edges[1].max())), min(bottom, float(edges[0].min()))
        top, bottom = max(top, float(mean.max())), min(bottom, float(mean.min()))
        positive = mean[mean > 0]
        low = min(low or np.inf, float(positive.min())) if len(positive) else low
        ax.plot(
            rounds,
            mean,
            LINES[again % len(LINES)],
            color=COLORS[color],
            label=_label(name),
            linewidth=1.3,
            marker="o" if len(rounds) < MARKED else None,
            markersize=3.5,
        )
    ax.set_xlabel("round", fontsize=size)
    ax.set_ylabel(f"{what} gained" if what == "information" else what, fontsize=size)
    if title:
        ax.set_title(_label(title, 60), fontsize=size)
    if size is not None:
        ax.tick_params(labelsize=size)
    if look.scale == "log" and low > 0:
        ax.set(xscale="log", yscale="log", ylim=(low / 1.5, 1.5 * top))
    elif top > 0 or bottom < 0:
        ax.set_ylim(1.05 * bottom, 1.05 * top)


def _edges(values: Array, band: str) -> tuple[Array, Array]:
    """Return the lower and the upper edge of a band around the mean of (seeds, checkpoints)."""
    if band == "quantiles":
        low, high = np.quantile(values, [0.05, 0.95], axis=0)
        return low, high
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return mean - error, mean + error


def _legend(
    axes: Sequence[Axes], results: Sequence[Drawable], look: Look
) -> tuple[list[Any], list[str]]:
    """Return handles and labels of the policies, and of what the bands around them show."""
    from matplotlib.patches import Patch

    found: dict[Any, tuple[Any, str]] = {}  # one entry per stroke: cut names may be the same
    for own in axes:
        for handle, label in zip(*own.get_legend_handles_labels(), strict=True):
            stroke = (getattr(handle, name, str)() for name in ("get_color", "get_linestyle"))
            found[label, *map(str, stroke)] = handle, label
    for band in reversed(look.bands) if any(len(own.seeds) > 1 for own in results) else []:
        words, opacity = BANDS[band]
        patch = Patch(facecolor=GREY, alpha=min(1.0, 1.6 * opacity), linewidth=0)
        found[words] = patch, words
    return [handle for handle, _ in found.values()], [label for _, label in found.values()]


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """Return how many columns fit into a width in units of the font size.

    A letter is about 0.55 wide, the line before and the gap after a label 5.
    """
    for columns in range(min(len(labels), 5), 1, -1):
        parts = np.array_split(np.array([len(label) for label in labels]), columns)
        if sum(5 + 0.55 * float(own.max()) for own in parts) <= width:
            return columns
    return 1


@contextmanager
def _style(look: Look) -> Iterator[None]:
    """Draw in the calm look of new figures."""
    import matplotlib as mpl

    size = _font_size(look)
    sizes = {"font.size": size, "axes.titlesize": size, "axes.labelsize": size}
    small = dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), SMALLER * size)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(CALM | sizes | small)  # type: ignore[arg-type]
        yield


def _font_size(look: Look) -> float:
    return FONT_SIZE if look.font_size is None else float(look.font_size)


def _label(name: str, most: int = MOST_LETTERS) -> str:
    """Cut the middle of a long name, keep dollars from starting a formula, show underscores."""
    line, half = " ".join(name.split()), most // 2
    short = line if len(line) <= most else line[: most - half - 1] + ELLIPSIS + line[-half:]
    return (" " * short.startswith("_") + short).replace("$", r"\$")

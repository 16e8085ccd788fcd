"""Pictures of a game: cells in the plane, reward lines on a segment, or the neighbour graph.

Every picture uses the same lines between two neighbours: solid if actions that are best there show
which is better, dashed if only others do, dotted if none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from partial_monitoring.errors import InvalidInput

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise InvalidInput(
        "drawing needs matplotlib; install it with: pip install matplotlib."
    ) from None

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from partial_monitoring.analysis.facts import Facts
from partial_monitoring.analysis.pictures.frame import short_label
from partial_monitoring.analysis.pictures.graph import draw_graph
from partial_monitoring.analysis.pictures.parts import figure_of as figure_of
from partial_monitoring.analysis.pictures.plane import draw_plane
from partial_monitoring.analysis.pictures.segment import draw_segment

WIDTH, HEIGHT, RESOLUTION = 3.4, 4.2, 200
"""Size of a new figure in inches (one column of a journal) and its dots per inch."""
MOST_PANELS = 12
"""Largest number of games in one figure."""
TITLE = 9.0
"""Size of the font of the title in points."""


class Picture(Figure):
    """A figure that notebooks show even if pyplot was never loaded."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


def plot(facts: Facts, ax: Axes | None = None) -> Figure:
    """Draw the cells, rewards or neighbours of a game.

    Over a segment (two outcomes) the picture shows the reward of every action as a line; over a
    triangle (three outcomes) or another set of dimension two, the cells; otherwise the neighbours
    as a graph.

    Parameters
    ----------
    facts
        The analysis of the game.
    ax
        Axes to draw into; without them a new figure is made, which pyplot does not know. The
        legend lies below the axes: beside other axes they need ``layout="constrained"``.

    Returns
    -------
    Figure
        The figure of the axes; ``savefig`` writes it as SVG, PDF or PNG.
    """
    axes = _new_axes(facts.dimension) if ax is None else ax
    axes.set_title(_title(facts), fontsize=TITLE)
    {1: draw_segment, 2: draw_plane}.get(facts.dimension, draw_graph)(facts, axes)
    figure = figure_of(axes)
    if ax is None:
        figure.draw_without_rendering()
        figure.set_figheight(figure.get_tightbbox().height + 0.1)
    return figure


def plot_contexts(several: Sequence[Facts], names: Sequence[str], title: str) -> Figure:
    """Draw the games of several contexts side by side in a new figure."""
    if len(several) > MOST_PANELS:
        raise InvalidInput(
            f"a picture shows at most {MOST_PANELS} contexts; the game has {len(several)}, of "
            f"which plot(context=...) draws one."
        )
    columns = min(len(several), 3)
    rows = -(-len(several) // columns)
    figure = new_figure(WIDTH * columns, HEIGHT * rows)
    figure.suptitle(title, fontsize=TITLE + 1)
    grid = figure.add_gridspec(rows, columns)
    for i, (facts, name) in enumerate(zip(several, names, strict=True)):
        axes = figure.add_subplot(grid[i // columns, i % columns], **_panel(facts.dimension))
        plot(facts, axes)
        axes.set_title(f"context {short_label(name)}\n{_title(facts)}", fontsize=TITLE)
    figure.draw_without_rendering()
    high = [ax.get_tightbbox().height / RESOLUTION + 0.1 for ax in figure.axes]  # type: ignore[union-attr]
    heights = [max(high[i : i + columns]) for i in range(0, len(high), columns)]
    grid.set_height_ratios(heights)
    figure.set_figheight(sum(heights) + 0.3)
    return figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, without touching the state of pyplot."""
    figure = Picture(figsize=(width, height), dpi=RESOLUTION, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _panel(dimension: int) -> dict[str, Any]:
    """Return the shape and the place of the axes of a picture."""
    return {"box_aspect": 0.8 if dimension == 1 else None, "anchor": "N"}


def _new_axes(dimension: int) -> Axes:
    """Return the axes of a new figure."""
    axes: Axes = new_figure(WIDTH, HEIGHT).add_subplot(**_panel(dimension))
    return axes


def _title(facts: Facts) -> str:
    if facts.category == "trivial":
        return "Trivial: one action is always best"
    power = facts.regret_rate.partition("^")[2]
    rate = f"$n^{{{power}}}$" if power else "$n$"
    return f"{facts.category.capitalize()}: regret grows like {rate}"

"""Elements of all pictures of games: names, colours, strokes, a legend, and room for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from partial_monitoring.analysis.cells import Pair
from partial_monitoring.analysis.facts import Facts
from partial_monitoring.analysis.pictures.frame import short_label
from partial_monitoring.display import ELLIPSIS
from partial_monitoring.validation import Array

NORMAL, SMALL = 8.0, 6.5
"""Font sizes in points."""
INK, GREY, FAINT = "#222222", "#666666", "#b0b0b0"
"""Colours of text and lines, from dark to light."""
COLORS = {
    "#a8caea": "#2a6ca8",
    "#f5bfa9": "#c4532b",
    "#f4e8b0": "#9a8000",
    "#aadfcf": "#1b8a6b",
    "#ffccd6": "#c24a72",
    "#c6ecff": "#1787b4",
    "#dbe595": "#6f7d00",
    "#dddddd": "#777777",
    "#cdbfe3": "#6a4c9c",
}
"""Light colours of cells that colour-blind readers can tell apart (after Paul Tol), and for each
the same dark enough for lines and letters."""
HOLLOW = {"marker": "o", "linestyle": "", "mfc": "white", "mec": INK, "ms": 4, "mew": 1}
"""Marker of points at which actions are best that are best only in ties."""
MOST_NAMED = 12
"""Largest number of points or lines of actions that are not Pareto that get a name."""


@dataclass(frozen=True)
class Stroke:
    """How a line between two neighbours looks, and what that means."""

    words: str
    style: Literal["-", "--", ":"]
    width: float
    color: str


STROKES = {
    "local": Stroke("told apart by actions that are best there", "-", 2.2, INK),
    "global": Stroke("told apart only with the help of other actions", "--", 1.6, INK),
    "never": Stroke("never told apart", ":", 2.2, "#c01048"),
}


def figure_of(ax: Axes) -> Figure:
    """Return the figure that holds the axes, also if they lie in a part of it."""
    figure = ax.figure.figure
    assert isinstance(figure, Figure)
    return figure


def action_name(facts: Facts, action: int) -> str:
    """Return the label of an action and of those that earn the same: 'A = B'."""
    group = next((group for group in facts.duplicates if action in group), [action])
    shown = [short_label(facts.game.actions[a]) for a in group[:3]]
    return " = ".join(shown) + (f" = {ELLIPSIS} ({len(group)})" if len(group) > 3 else "")


def label_list(facts: Facts, actions: Sequence[int], most: int = 34) -> str:
    """Return as many labels as fit into a line."""
    shown: list[str] = []
    for a in actions:
        shown.append(short_label(facts.game.actions[a]))
        if len(", ".join(shown)) > most and len(shown) > 1:
            return ", ".join([*shown[:-1], f"{ELLIPSIS} ({len(actions)})"])
    return ", ".join(shown)


def singles(facts: Facts, actions: Sequence[int]) -> list[int]:
    """Return the first action of each duplicate class."""
    later = {a for group in facts.duplicates for a in group[1:]}
    return [a for a in actions if a not in later]


def kinds_of(facts: Facts) -> dict[Pair, str]:
    """Return for every pair of neighbouring cells which stroke it gets."""
    kinds = {}
    for pair in facts.neighboring_cells:
        found = facts.global_readings.get(pair)
        seen = facts.globally_observable if found is None else found.seen
        local = facts.local_readings[pair].seen
        kinds[pair] = "local" if local else "global" if seen else "never"
    return kinds


def colors_of(facts: Facts) -> dict[int, str]:
    """Return a colour for every cell, different from those of its neighbours where possible."""
    palette = list(COLORS)
    colors: dict[int, str] = {}
    for i, a in enumerate(facts.representatives):
        near = {colors.get(p if q == a else q) for p, q in facts.neighbors if a in (p, q)}
        wheel = palette[i % len(palette) :] + palette[: i % len(palette)]
        colors[a] = next((color for color in wheel if color not in near), wheel[0])
    return colors


def draw_strokes(ax: Axes, facts: Facts, lines: Mapping[Pair, Array]) -> None:
    """Draw the lines between neighbours, the rarest kind on top; finer where they are many."""
    groups: dict[str, list[Array]] = {kind: [] for kind in STROKES}
    kinds = kinds_of(facts)
    for pair, line in lines.items():
        groups[kinds[pair]].append(line)
    for order, kind in enumerate(sorted(groups, key=lambda kind: -len(groups[kind]))):
        stroke, crowd = STROKES[kind], max(1.0, len(groups[kind]) / 12)
        strokes = LineCollection(
            groups[kind],
            colors=stroke.color,
            linestyles=stroke.style,
            capstyle="round" if stroke.style == "-" else "butt",
            linewidths=max(stroke.width / np.sqrt(crowd), 0.2),
            alpha=float(np.clip(18 / crowd, 0.1, 1)),
            gid=f"pairs-{kind}",
            zorder=3 + order / 10,
        )
        ax.add_collection(strokes)


def draw_tie_points(ax: Axes, points: Iterable[Sequence[float]]) -> None:
    """Mark the points at which actions are best that are best only in ties."""
    for x, y in points:
        ax.plot(x, y, gid="lone-point", clip_on=False, zorder=4, **HOLLOW)  # type: ignore[arg-type]


def add_legend(ax: Axes, facts: Facts, notes: Sequence[str], *, points: bool) -> None:
    """Add a legend below the picture, with notes on what is left out."""
    kinds = list(kinds_of(facts).values())
    handles = []
    for kind, stroke in STROKES.items():
        count = kinds.count(kind)
        words = stroke.words + (f" ({count} pairs)" if len(kinds) > 12 else "")
        line = Line2D([], [], label=words, color=stroke.color, linestyle=stroke.style)
        line.set_linewidth(stroke.width)
        handles += [line] if count else []
    if points:
        handles.append(Line2D([], [], label="best only in ties", **HOLLOW))  # type: ignore[arg-type]
    handles += [Line2D([], [], linestyle="", label=note) for note in notes]
    if handles:
        ax.legend(
            handles=handles,
            fontsize=SMALL,
            frameon=False,
            loc="upper center",
            bbox_to_anchor=(0.5, 0),
            borderaxespad=4.5 if ax.axison else 0.8,
            handlelength=2.8,
        )


def notes_on(facts: Facts, *, degenerate: bool, dominated: bool) -> list[str]:
    """Name the actions that the picture leaves out."""
    wanted = {
        "best only in ties": facts.degenerate if degenerate else [],
        "never best": facts.dominated if dominated else [],
    }
    return [f"{words}: {label_list(facts, who)}" for words, who in wanted.items() if who]


def make_room(ax: Axes) -> None:
    """Widen the limits until all texts lie inside, and below them the legend if there are no axes.

    Both keep their size, so that they take more of the picture when it gets smaller.
    """
    legend = None if ax.axison else ax.get_legend()
    for artist in (*ax.texts, *([legend] if legend else [])):
        artist.set_in_layout(False)  # otherwise a layout engine makes room as well
    for _ in range(8 if ax.texts else 0):
        figure_of(ax).draw_without_rendering()
        boxes = Bbox.union([text.get_window_extent() for text in ax.texts])
        low, high = ax.transData.inverted().transform(boxes.get_points())
        limits = np.array([ax.get_xlim(), ax.get_ylim()])
        if legend:
            place = float(limits[0].mean()), min(low[1], ax.dataLim.y0)
            legend.set_bbox_to_anchor(place, ax.transData)
            low[1] = ax.transData.inverted().transform(legend.get_window_extent().p0)[1]
        wider = np.column_stack([np.minimum(limits[:, 0], low), np.maximum(limits[:, 1], high)])
        ax.set(xlim=wider[0], ylim=wider[1])
        if np.abs(wider - limits).max() <= 1e-3 * np.ptp(limits, axis=1).max():
            return


def small_ticks(ax: Axes) -> None:
    """Keep the numbers on the axes small."""
    ax.tick_params(labelsize=SMALL, color=GREY, length=2.5)
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_offset_text().set_fontsize(SMALL)


def sizes_of(ax: Axes, texts: Sequence[Text]) -> Array:
    """Return widths and heights, (n, 2), of texts in the coordinates of the drawing."""
    boxes = np.array([text.get_window_extent().get_points() for text in texts])
    corners = ax.transData.inverted().transform(boxes.reshape(-1, 2)).reshape(-1, 2, 2)
    sizes: Array = corners[:, 1] - corners[:, 0]
    return sizes


def write_beside(
    ax: Axes, point: Array, offset: Array, label: str, size: float, color: str = INK
) -> Annotation:
    """Write a label next to a point, on the side of the offset, which is in points of a font."""
    across, above = (int(np.sign(round(x, 1))) for x in offset / np.linalg.norm(offset))
    return ax.annotate(
        label,
        (point[0], point[1]),
        (offset[0], offset[1]),
        textcoords="offset points",
        ha=("center", "left", "right")[across],
        va=("center", "bottom", "top")[above],
        fontsize=size,
        color=color,
        zorder=5,
    )

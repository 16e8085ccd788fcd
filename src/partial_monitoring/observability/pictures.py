"""Pictures of an analysis: cells in the plane, reward lines on a segment, or the neighbour graph.

Every picture says in the same code what can be told apart: a solid line between two neighbours
if actions that are best there show which is better, a dashed line if only others do, a dotted one
if none does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import conic
from partial_monitoring.display import ELLIPSIS, number
from partial_monitoring.errors import InvalidInput
from partial_monitoring.finite_game import FiniteGame
from partial_monitoring.game import Game
from partial_monitoring.parameter_sets import Polyhedral, Simplex
from partial_monitoring.validation import Array

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation, Text
    from matplotlib.transforms import Bbox
except ImportError:
    raise InvalidInput(
        "drawing needs matplotlib; install it with: pip install 'partial-monitoring[plots]'."
    ) from None

if TYPE_CHECKING:
    from partial_monitoring.observability.classify import Analysis

Pair = tuple[int, int]
Halfplanes = tuple[Array, Array]
"""(normals, bounds) of the points p with normals p <= bounds."""

WIDTH, HEIGHT, RESOLUTION = 3.4, 4.2, 200
"""Size of a new figure in inches (one column of a journal) and its dots per inch."""
TITLE, NORMAL, SMALL = 9.0, 8.0, 6.5
"""Font sizes in points."""
INK, GREY, FAINT = "#222222", "#666666", "#b0b0b0"
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
"""How the places of actions are marked that are best only in ties."""

CORNERS = {2: np.array([[0.0], [1.0]]), 3: np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])}
"""Where a simplex of two or three outcomes is drawn."""
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
ANGLES = 2 * np.pi * (np.arange(400) + 0.5) / 400
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
FADING = (1.25, 1.2, 1.15, 1.1, 1.05)
"""How far beyond its window an unbounded set is drawn, ever fainter."""
FAR = 1e6
"""A corner this many times farther away than the sides of the set is at infinity."""

MOST_LETTERS = 24
MOST_LEADERS = 12
"""At most so many names stand outside with a line to their cell; smaller cells stay nameless."""
MOST_NAMED = 12
"""At most so many points or lines of actions that are not Pareto get a name."""
NARROWEST = 5.0
"""Nodes closer than this, in points, do not all get a name."""


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


class Picture(Figure):
    """A figure that notebooks show even if pyplot was never loaded."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


def plot(analysis: Analysis, ax: Axes | None = None) -> Figure:
    """Draw what there is to see of a game.

    Over a segment (two outcomes) the picture shows the reward of every action as a line; over a
    triangle (three outcomes) or another set of dimension two, the cells; otherwise the neighbours
    as a graph.

    Parameters
    ----------
    analysis
        What :func:`analyze` returned.
    ax
        Axes to draw into; without them a new figure is made, of which pyplot does not know. The
        legend stands below the axes: among others they need ``layout="constrained"``.

    Returns
    -------
    Figure
        The figure of the axes; ``savefig`` writes it as SVG, PDF or PNG.
    """
    axes = _new_axes(analysis.dimension) if ax is None else ax
    axes.set_title(_title(analysis), fontsize=TITLE)
    {1: _draw_segment, 2: _draw_plane}.get(analysis.dimension, _draw_graph)(analysis, axes)
    figure = _figure(axes)
    if ax is None:
        figure.draw_without_rendering()
        figure.set_figheight(figure.get_tightbbox().height + 0.1)
    return figure


def _new_axes(dimension: int) -> Axes:
    """Return the axes of a new figure, without touching the state of pyplot."""
    figure = Picture(figsize=(WIDTH, HEIGHT), dpi=RESOLUTION, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot(box_aspect=0.8 if dimension == 1 else None, anchor="N")


def _figure(ax: Axes) -> Figure:
    """Return the figure that holds the axes, also if they lie in a part of it."""
    figure = ax.figure.figure
    assert isinstance(figure, Figure)
    return figure


def _title(analysis: Analysis) -> str:
    if analysis.category == "trivial":
        return "Trivial: one action is always best"
    power = analysis.regret_rate.partition("^")[2]
    rate = f"$n^{{{power}}}$" if power else "$n$"
    return f"{analysis.category.capitalize()}: regret grows like {rate}"


# --- names, kinds and colours


def _plain(label: str) -> str:
    """Keep a label short and its dollars from starting a formula."""
    short = label if len(label) <= MOST_LETTERS else label[: MOST_LETTERS - 1] + ELLIPSIS
    return short.replace("$", r"\$")


def _name(analysis: Analysis, action: int) -> str:
    """Return the label of an action and of those that earn the same: 'A = B'."""
    group = next((group for group in analysis.duplicates if action in group), [action])
    shown = [_plain(analysis.game.actions[a]) for a in group[:3]]
    return " = ".join(shown) + (f" = {ELLIPSIS} ({len(group)})" if len(group) > 3 else "")


def _listing(analysis: Analysis, actions: Sequence[int], most: int = 34) -> str:
    """Return as many labels as fit into a line."""
    shown: list[str] = []
    for a in actions:
        shown.append(_plain(analysis.game.actions[a]))
        if len(", ".join(shown)) > most and len(shown) > 1:
            return ", ".join([*shown[:-1], f"{ELLIPSIS} ({len(actions)})"])
    return ", ".join(shown)


def _singles(analysis: Analysis, actions: Sequence[int]) -> list[int]:
    """Return the first action of each duplicate class."""
    later = {a for group in analysis.duplicates for a in group[1:]}
    return [a for a in actions if a not in later]


def _outcomes(game: Game) -> list[str]:
    """Return names for the corners of a simplex that nobody mistakes for actions."""
    if not isinstance(game, FiniteGame):
        return [rf"$\theta_{{{i + 1}}}$" for i in range(game.d)]
    clear = set(game.outcomes).isdisjoint((*game.actions, *map(str, range(game.d))))
    return [("" if clear else "outcome ") + _plain(label) for label in game.outcomes]


def _kinds(analysis: Analysis) -> dict[Pair, str]:
    """Return for every pair of neighbouring cells which stroke it gets."""
    classes = set(analysis.representatives)
    kinds = {}
    for pair in analysis.neighbors:
        if classes.issuperset(pair):
            reading = analysis.global_readings.get(pair)
            seen = analysis.globally_observable if reading is None else reading.seen
            local = analysis.local_readings[pair].seen
            kinds[pair] = "local" if local else "global" if seen else "never"
    return kinds


def _colors(analysis: Analysis) -> dict[int, str]:
    """Return a colour for every cell, different from those of its neighbours where possible."""
    palette = list(COLORS)
    colors: dict[int, str] = {}
    for i, a in enumerate(analysis.representatives):
        near = {colors.get(p if q == a else q) for p, q in analysis.neighbors if a in (p, q)}
        wheel = palette[i % len(palette) :] + palette[: i % len(palette)]
        colors[a] = next((color for color in wheel if color not in near), wheel[0])
    return colors


# --- coordinates of the drawing


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates p of a drawing: theta = origin + frame p, and rewards are offsets + slopes p."""

    analysis: Analysis
    origin: Array
    frame: Array
    names: tuple[str, ...]
    """What the coordinates are called; nothing if they mean nothing."""

    @cached_property
    def rewards(self) -> tuple[Array, Array]:
        """The offsets (k,) and the slopes (k, D)."""
        features = self.analysis.game.features
        return features @ self.origin, features @ self.frame

    @cached_property
    def middle(self) -> Array:
        """A point inside the set."""
        return self.point(self.analysis.game.reduced.center)

    def point(self, theta: Array) -> Array:
        """Return where a parameter is drawn."""
        return np.asarray(np.linalg.lstsq(self.frame, theta - self.origin, rcond=None)[0])

    def coordinates(self, point: Array) -> str:
        """Show the parameter that is drawn at a point."""
        theta = self.origin + self.frame @ point
        return f"({', '.join(number(round(x, 9)) for x in theta)})"

    @cached_property
    def sides(self) -> Halfplanes:
        """What bounds the set; 400 tangents if it is curved."""
        game = self.analysis.game
        center, q = game.reduced.center, game.reduced.difference_basis
        if isinstance(game.parameters, Polyhedral):
            a, b = game.parameters.facets()
        else:
            a = CIRCLE if q.shape[1] == 2 else np.array([[-1.0], [1.0]])
            b = game.parameters.support(a @ q.T) - a @ q.T @ center
            a, b = a[np.isfinite(b)], b[np.isfinite(b)]
        return a @ q.T @ self.frame, b - a @ q.T @ (self.origin - center)

    def leads(self, a: int) -> Halfplanes:
        """Where an action is at least as good as all others."""
        offsets, slopes = self.rewards
        others = [b for b in self.analysis.representatives if b != a]
        return slopes[others] - slopes[a], offsets[a] - offsets[others]

    def tie(self, a: int, b: int) -> tuple[Array, float]:
        """Return (normal, bound) of the line where two actions earn the same."""
        offsets, slopes = self.rewards
        return slopes[b] - slopes[a], float(offsets[a] - offsets[b])

    def heights(self, a: int, x: ArrayLike) -> Array:
        """Return the rewards of an action at points of a segment."""
        offsets, slopes = self.rewards
        heights: Array = offsets[a] + slopes[a, 0] * np.asarray(x)
        return heights

    def lone_points(self) -> dict[tuple[float, ...], list[int]]:
        """Return where actions are best that are best only in ties."""
        points: dict[tuple[float, ...], list[int]] = {}
        for a in self.analysis.degenerate:
            witness = self.analysis.witness(a)
            assert witness is not None
            place = tuple(float(round(x, 6)) for x in self.point(witness))
            points.setdefault(place, []).append(a)
        return points


def chart_of(analysis: Analysis) -> Chart:
    """Choose coordinates that mean something: outcomes, or the parameters themselves."""
    game = analysis.game
    q = game.reduced.difference_basis
    if isinstance(game.parameters, Simplex):
        inverse = np.linalg.inv(np.column_stack([CORNERS[game.d], np.ones(game.d)]))
        chance = (f"probability of {_outcomes(game)[1]}",) if game.d == 2 else ()
        return Chart(analysis, inverse[-1], inverse[:-1].T, chance)
    free = np.arange(game.d) if game.d == q.shape[1] else np.abs(q).argmax(axis=0)
    frame = np.eye(game.d)[:, free]
    if game.d > q.shape[1] and not np.array_equal(np.abs(q), frame):
        return Chart(analysis, game.reduced.center, q, ())
    origin = np.where(frame.any(axis=1), 0.0, game.reduced.center)
    return Chart(analysis, origin, frame, tuple(rf"$\theta_{{{i + 1}}}$" for i in free))


# --- intervals and polygons


def interval(normals: Array, bounds: Array) -> tuple[float, float]:
    """Return the lowest and the highest p, a number, with normals p <= bounds."""
    slopes = normals[:, 0]
    below, above = slopes < 0, slopes > 0
    low = (bounds[below] / slopes[below]).max(initial=-np.inf)
    return float(low), float((bounds[above] / slopes[above]).min(initial=np.inf))


def clipped(polygon: Array, normals: Array, bounds: Array) -> Array:
    """Return the part of a convex polygon, vertices (n, 2), where normals p <= bounds."""
    for normal, bound in zip(normals, bounds, strict=True):
        room = bound - polygon @ normal
        if (room >= 0).all():
            continue
        following = zip(np.roll(polygon, -1, axis=0), np.roll(room, -1), strict=True)
        kept = []
        for p, s, (q, t) in zip(polygon, room, following, strict=True):
            if s >= 0:
                kept.append(p)
            if s * t < 0:
                kept.append(p + s / (s - t) * (q - p))
        polygon = np.array(kept).reshape(-1, 2)
    return polygon


def outline(chart: Chart, stretch: float = 1.0) -> tuple[Array, bool]:
    """Return the polygon of the set, and whether it is only a part because the set has no end.

    The part is a disk around all corners of the set and of the cells, or of radius 1 if there are
    none but the middle, times ``stretch``.
    """
    normals, bounds = chart.sides
    reach = FAR * (1 + np.abs(bounds).max(initial=0.0))
    whole = clipped(chart.middle + reach * SQUARE, normals, bounds)
    if np.abs(whole - chart.middle).max() < reach / 2:
        return whole, False
    cells = [clipped(whole, *chart.leads(a)) for a in chart.analysis.representatives]
    away = np.linalg.norm(np.concatenate([whole, *cells]) - chart.middle, axis=1)
    radius = 1.5 * float(away[away < reach / 2].max(initial=0.0))
    disk = chart.middle + stretch * (radius if radius * FAR > 1 else 1.0) * CIRCLE
    return clipped(disk, normals, bounds), True


def side_on(polygon: Array, normal: Array, bound: float) -> Array | None:
    """Return the ends, shape (2, 2), of the side of a polygon on a line, if it has one there."""
    away = np.abs(polygon @ normal - bound)
    on = polygon[away <= 1e-9 * max(away.max(initial=0.0), abs(bound))]
    if len(on) < 2:
        return None
    along = on @ np.array([-normal[1], normal[0]])
    return np.stack([on[along.argmin()], on[along.argmax()]])


def area_and_centroid(polygon: Array) -> tuple[float, Array]:
    """Return the area and the centre of mass of a polygon whose vertices run anticlockwise."""
    x, y = (polygon - polygon[0]).T
    crosses = x * np.roll(y, -1) - y * np.roll(x, -1)
    middles = np.column_stack([x + np.roll(x, -1), y + np.roll(y, -1)]) / 3
    return float(crosses.sum()) / 2, polygon[0] + crosses @ middles / crosses.sum()


def roomiest(polygon: Array, half: Array) -> tuple[Array, float]:
    """Return where a box with half-sides ``half`` fits best, and how many times it fits.

    The centre of mass if the box has ample room there; otherwise the place p of the largest t with
    p + t box inside: normals p + t |normals| half <= bounds, a linear program.
    """
    steps = np.roll(polygon, -1, axis=0) - polygon
    lengths = np.linalg.norm(steps, axis=1)
    real = lengths > 1e-12 * lengths.max()
    normals = np.column_stack([steps[:, 1], -steps[:, 0]])[real] / lengths[real, None]
    bounds, widths = (normals * polygon[real]).sum(axis=1), np.abs(normals) @ half
    centre = area_and_centroid(polygon)[1]
    room = float(((bounds - normals @ centre) / widths).min())
    if room >= 1.5:
        return centre, room
    rows, free = np.column_stack([normals, widths]), np.full(3, np.inf)
    program = conic.LinearProgram(rows, np.full(len(rows), -np.inf), bounds, -free, free)
    best = program.maximize(np.array([0.0, 0.0, 1.0]))
    return (centre, room) if best is None else (best.point[:2], best.value)


def spread(places: Array, sizes: Array | float, low: float, high: float) -> Array:
    """Move sorted places apart between low and high, about as little as boxes of these sizes need.

    >>> spread(np.array([0.0, 0.1, 3.0]), np.ones(3), -9.0, 9.0)
    array([-0.45,  0.55,  3.  ])
    """
    sizes = np.broadcast_to(sizes, places.shape)
    stack = np.cumsum(sizes) - sizes / 2
    free = places - stack
    up, down = np.maximum.accumulate(free), np.minimum.accumulate(free[::-1])[::-1]
    return np.clip((up + down) / 2, low, max(low, high - sizes.sum())) + stack


# --- what all pictures have


def _draw_strokes(ax: Axes, analysis: Analysis, lines: Mapping[Pair, Array]) -> None:
    """Draw the lines between neighbours, the rarest kind on top; finer where they are many."""
    groups: dict[str, list[Array]] = {kind: [] for kind in STROKES}
    kinds = _kinds(analysis)
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


def _draw_lone_points(ax: Axes, points: Iterable[Sequence[float]]) -> None:
    """Draw the places of actions that are best only in ties."""
    for x, y in points:
        ax.plot(x, y, gid="lone-point", clip_on=False, zorder=4, **HOLLOW)  # type: ignore[arg-type]


def _add_legend(ax: Axes, analysis: Analysis, notes: Sequence[str], *, points: bool) -> None:
    """Say below the picture what its lines and points mean, and what is not in it."""
    kinds = list(_kinds(analysis).values())
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


def _notes(analysis: Analysis, *, degenerate: bool, dominated: bool) -> list[str]:
    """Name the actions that the picture leaves out."""
    wanted = {
        "best only in ties": analysis.degenerate if degenerate else [],
        "never best": analysis.dominated if dominated else [],
    }
    return [f"{words}: {_listing(analysis, who)}" for words, who in wanted.items() if who]


def _make_room(ax: Axes) -> None:
    """Widen the limits until all texts lie inside, and below them the legend if there are no axes.

    Both keep their size, so that they take more of the picture when it gets smaller.
    """
    legend = None if ax.axison else ax.get_legend()
    for artist in (*ax.texts, *([legend] if legend else [])):
        artist.set_in_layout(False)  # else a layout engine makes room, too
    for _ in range(8 if ax.texts else 0):
        _figure(ax).draw_without_rendering()
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


def _small_ticks(ax: Axes) -> None:
    """Keep the numbers on the axes small."""
    ax.tick_params(labelsize=SMALL, color=GREY, length=2.5)
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_offset_text().set_fontsize(SMALL)


def _sizes(ax: Axes, texts: Sequence[Text]) -> Array:
    """Return widths and heights, (n, 2), of texts in the coordinates of the drawing."""
    boxes = np.array([text.get_window_extent().get_points() for text in texts])
    corners = ax.transData.inverted().transform(boxes.reshape(-1, 2)).reshape(-1, 2, 2)
    sizes: Array = corners[:, 1] - corners[:, 0]
    return sizes


def _write_beside(
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


# --- cells in the plane


def _draw_plane(analysis: Analysis, ax: Axes) -> None:
    """Draw the cells of a game over a set of dimension two."""
    chart, colors = chart_of(analysis), _colors(analysis)
    region, _ = outline(chart)
    polygons = {a: clipped(region, *chart.leads(a)) for a in colors}
    polygons = {a: polygon for a, polygon in polygons.items() if len(polygon) > 2}
    for a, polygon in polygons.items():
        ax.fill(*polygon.T, color=colors[a], linewidth=0, gid=f"cell-{a}", zorder=1)
    _draw_sides(ax, chart, colors)
    _draw_strokes(ax, analysis, _shared_sides(chart))
    points = chart.lone_points()
    _draw_lone_points(ax, points)
    _set_frame(ax, chart)
    named = len(points) <= MOST_NAMED
    notes = _notes(analysis, degenerate=not named, dominated=True)
    _add_legend(ax, analysis, notes, points=bool(points))
    _make_room(ax)
    _name_cells(ax, analysis, polygons)
    for point, actions in points.items() if named else ():
        _name_point(ax, np.array(point), _listing(analysis, actions, 16))
    _make_room(ax)


def _draw_sides(ax: Axes, chart: Chart, colors: Mapping[int, str]) -> None:
    """Draw the sides of the set, and let its cells fade out where it has none."""
    region, endless = outline(chart)
    if not endless:
        ax.fill(*region.T, fill=False, edgecolor=INK, linewidth=0.8, zorder=2)
        return
    for stretch in FADING:
        beyond, _ = outline(chart, stretch)
        for a, color in colors.items():
            polygon = clipped(beyond, *chart.leads(a))
            ax.fill(*polygon.T, color=color, alpha=0.25, linewidth=0, zorder=0.5)
    ends = [side_on(beyond, *side) for side in zip(*chart.sides, strict=True)]
    lines = [line for line in ends if line is not None]
    ax.add_collection(LineCollection(lines, colors=INK, linewidths=0.8, zorder=2))


def _shared_sides(chart: Chart) -> dict[Pair, Array]:
    """Return the side, shape (2, 2), that each pair of neighbouring cells shares."""
    region, _ = outline(chart, FADING[2])
    sides = {}
    for a, b in _kinds(chart.analysis):
        ends = side_on(clipped(region, *chart.leads(a)), *chart.tie(a, b))
        if ends is not None:
            sides[a, b] = ends
    return sides


def _set_frame(ax: Axes, chart: Chart) -> None:
    """Set the limits, and show axes where the coordinates mean something, else the corners."""
    region, _ = outline(chart, FADING[0])
    low, high = region.min(axis=0), region.max(axis=0)
    pad = 0.02 * (high - low).max()
    ax.set(xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad), aspect="equal")
    if chart.names:
        ax.set_xlabel(chart.names[0], fontsize=NORMAL)
        ax.set_ylabel(chart.names[1], fontsize=NORMAL, rotation=0, ha="right", va="center")
        ax.locator_params(nbins=5)
        _small_ticks(ax)
        ax.spines[:].set_visible(False)
    else:
        ax.set_axis_off()
        _name_corners(ax, chart, region)
        _make_room(ax)


def _name_corners(ax: Axes, chart: Chart, region: Array) -> None:
    """Write the outcomes, or the coordinates if there are few, beside the corners of the set."""
    game = chart.analysis.game
    if isinstance(game.parameters, Simplex):
        _figure(ax).draw_without_rendering()
        aligned = zip(CORNERS[3], _outcomes(game), ("left", "right", "center"), strict=True)
        for corner, label, align in aligned:
            offset = np.array([0, 4 if align == "center" else -4])
            size = NORMAL if len(label) <= 12 else SMALL
            text = _write_beside(ax, corner, offset, label, size, GREY)
            text.set(ha=align if _sizes(ax, [text])[0, 0] < 0.25 else "center")
    elif len(region) <= 8 and game.d <= 5:
        for corner in region:
            away = (corner - chart.middle) / np.linalg.norm(corner - chart.middle)
            _write_beside(ax, corner, 4 * away, chart.coordinates(corner), SMALL, GREY)


def _name_cells(ax: Axes, analysis: Analysis, polygons: Mapping[int, Array]) -> None:
    """Write the name of each cell into it, or outside with a line to it where it does not fit.

    Names outside make the picture smaller, so that others may have to follow.
    """
    places = {a: area_and_centroid(polygon) for a, polygon in polygons.items()}
    corners = np.concatenate(list(polygons.values()))
    margin = 0.02 * np.ptp(corners, axis=0) * [1, 0]
    low, high = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    outside: set[int] = set()
    texts: list[Text] = []
    while True:
        for text in texts:
            text.remove()
        largest = sorted(outside, key=lambda a: -places[a][0])[:MOST_LEADERS]
        names = [(places[a][1], _name(analysis, a)) for a in largest]
        texts = _draw_leaders(ax, names, low, high)
        inside = {
            a: _name_inside(ax, polygons[a], _name(analysis, a))
            for a in polygons
            if a not in outside
        }
        texts += [text for text in inside.values() if text]
        tight = {a for a, text in inside.items() if text is None}
        if not tight:
            return
        outside |= tight


def _name_inside(ax: Axes, polygon: Array, name: str) -> Text | None:
    """Write a name into a cell, unless it is too small."""
    text = ax.text(0, 0, name, ha="center", va="center", color=INK, zorder=5)
    for size in (NORMAL, SMALL):
        text.set_fontsize(size)
        place, room = roomiest(polygon, _sizes(ax, [text])[0] / 2)
        if room >= 1.15:
            text.set_position((place[0], place[1]))
            return text
    text.remove()
    return None


def _draw_leaders(
    ax: Axes, places: Sequence[tuple[Array, str]], low: Array, high: Array
) -> list[Text]:
    """Write names left and right of a box, each with a line to its place."""
    bottom, top = ax.get_ylim()
    height = 1.6 * SMALL / 72 * _figure(ax).dpi / ax.bbox.height * (top - bottom)
    line = {"arrowstyle": "-", "linewidth": 0.5, "color": GREY, "shrinkB": 0}
    texts: list[Text] = []
    for edge, align in ((low[0], "right"), (high[0], "left")):
        own = [p for p in places if (p[0][0] < (low[0] + high[0]) / 2) == (align == "right")]
        own.sort(key=lambda found: float(found[0][1]))
        wanted = np.array([point[1] for point, _ in own])
        for (point, name), y in zip(own, spread(wanted, height, low[1], high[1]), strict=True):
            text = ax.annotate(name, (point[0], point[1]), (edge, y), arrowprops=line)
            text.set(ha=align, va="center", fontsize=SMALL, color=INK, zorder=5)
            texts.append(text)
    if texts:
        _make_room(ax)
    return texts


def _name_point(ax: Axes, point: Array, name: str) -> None:
    """Write a name beside a point, on the side where it covers least."""
    corners = [np.asarray(patch.get_path().vertices) for patch in ax.patches]
    ends = np.concatenate([np.stack([path[:-1], path[1:]], axis=1) for path in corners])
    share = np.linspace(0, 1, 101)[:, None, None]
    busy = ax.transData.transform(((1 - share) * ends[:, 0] + share * ends[:, 1]).reshape(-1, 2))
    others = [text.get_window_extent() for text in ax.texts]
    found: list[tuple[float, Array]] = []
    for distance, turn in product((4.5, 8.0, 12.0), range(16)):
        angle = np.pi * turn / 8
        offset = distance * np.array([np.cos(angle), np.sin(angle)])
        text = _write_beside(ax, point, offset, name, SMALL)
        box = text.get_window_extent()
        text.remove()
        covered = ((busy > box.p0) & (busy < box.p1)).all(axis=1).sum()
        beyond = ((box.p0 < ax.bbox.p0) | (box.p1 > ax.bbox.p1)).any()
        cost = distance + 5 * covered + 100 * beyond + 1000 * box.count_overlaps(others)
        found.append((float(cost), offset))
    best = min(found, key=lambda pair: pair[0])[1]
    _write_beside(ax, point, best, name, SMALL)


# --- reward lines over a segment


def _draw_segment(analysis: Analysis, ax: Axes) -> None:
    """Draw the reward of every action over a set of dimension one."""
    chart = chart_of(analysis)
    ties = {pair: _crossing(chart, *pair) for pair in _kinds(analysis)}
    low, high = _ends(chart, [x for x, _ in ties.values()])
    lines = np.array([chart.heights(a, [low, high]) for a in range(analysis.game.k)])
    margin = 0.05 * (np.ptp(lines) or 1.0)
    bottom, top = lines.min() - margin, lines.max() + margin
    ax.set(xlim=(low, high), ylim=(bottom, top))
    _draw_rewards(ax, chart, lines, low, high)
    strokes = {pair: np.array([[x, bottom], [x, y]]) for pair, (x, y) in ties.items()}
    _draw_strokes(ax, analysis, strokes)
    for x, y in ties.values():
        ax.plot(x, y, "o", color=INK, ms=4.5, clip_on=False, zorder=4)
    points = {
        (x, float(chart.heights(who[0], [x])[0])) for (x,), who in chart.lone_points().items()
    }
    _draw_lone_points(ax, points)
    _name_axes(ax, chart, low, high)
    others = _singles(analysis, (*analysis.degenerate, *analysis.dominated))
    unnamed = len(others) > MOST_NAMED
    notes = _notes(analysis, degenerate=unnamed, dominated=unnamed)
    _add_legend(ax, analysis, notes, points=bool(points))
    ends = {a: np.array([high, lines[a, 1]]) for a in ([] if unnamed else others)}
    texts = _name_lines(ax, analysis, ends)
    _name_bands(ax, chart, low, high)
    _move_apart(ax, texts)
    slack = 1e-9 * (high - low)
    ax.set_xticks([x for x in ax.get_xticks() if low - slack <= x <= high + slack])
    ax.spines["bottom"].set_bounds(low, high)


def _crossing(chart: Chart, a: int, b: int) -> tuple[float, float]:
    """Return where the rewards of two actions are equal, and how high they are there."""
    normal, bound = chart.tie(a, b)
    x = float(bound / normal[0])
    return x, float(chart.heights(a, [x])[0])


def _ends(chart: Chart, ties: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the set, or of a part of it that shows all ties if it has no end."""
    low, high = interval(*chart.sides)
    middle = float(chart.middle[0])
    reach = 1.5 * max((abs(x - middle) for x in ties), default=0.0)
    reach = reach if reach * FAR > 1 else 1.0
    return low if low > -np.inf else middle - reach, high if high < np.inf else middle + reach


def _draw_rewards(ax: Axes, chart: Chart, lines: Array, low: float, high: float) -> None:
    """Draw the lines, the cells below them as bands, and the best line thick."""
    colors = _colors(chart.analysis)
    for a in range(len(lines)):
        color = COLORS[colors[a]] if a in colors else FAINT
        if a in colors or a not in chart.analysis.pareto:
            ax.plot([low, high], lines[a], color=color, linewidth=0.9, gid=f"line-{a}", zorder=2)
    for a, color in colors.items():
        best = np.clip(interval(*chart.leads(a)), low, high)
        ax.axvspan(*best, color=color, alpha=0.55, linewidth=0, gid=f"cell-{a}", zorder=1)
        look = {"color": COLORS[color], "linewidth": 3, "solid_capstyle": "butt"}
        ax.plot(best, chart.heights(a, best), gid=f"best-{a}", zorder=3, **look)  # type: ignore[arg-type]


def _name_axes(ax: Axes, chart: Chart, low: float, high: float) -> None:
    """Name the axes of the rewards; ends without a name are parameters."""
    if chart.names:
        ax.set_xlabel(chart.names[0], fontsize=NORMAL)
    else:
        ax.set_xticks([low, high], [chart.coordinates(np.array([x])) for x in (low, high)])
    ax.set_ylabel("expected reward", fontsize=NORMAL)
    _small_ticks(ax)
    ax.spines[["top", "right"]].set_visible(False)


def _name_bands(ax: Axes, chart: Chart, low: float, high: float) -> None:
    """Write the name of the best action above each part of the segment."""
    colors = _colors(chart.analysis)
    middles = {a: np.mean(np.clip(interval(*chart.leads(a)), low, high)) for a in colors}
    order = sorted(colors, key=lambda a: float(middles[a]))
    _figure(ax).draw_without_rendering()
    texts = [ax.text(low, 0.99, _name(chart.analysis, a), fontsize=NORMAL) for a in order]
    turned = 1.15 * _sizes(ax, texts)[:, 0].sum() > high - low
    for text, a in zip(texts, order, strict=True):
        text.set(color=COLORS[colors[a]], ha="center", va="top", zorder=5)
        if turned:
            text.set(rotation=90, fontsize=SMALL)
        text.set_transform(ax.get_xaxis_transform())
    widths, heights = 1.15 * _sizes(ax, texts).T
    places = spread(np.array([middles[a] for a in order]), widths, low, high)
    for text, x in zip(texts, places, strict=True):
        text.set_x(float(x))
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, bottom + (top - bottom) / (1 - heights.max() / (top - bottom)))


def _name_lines(ax: Axes, analysis: Analysis, ends: Mapping[int, Array]) -> list[Annotation]:
    """Write the names of actions beside the right ends of their lines, from below."""
    right = np.array([4, 0])
    order = sorted(ends, key=lambda a: float(ends[a][1]))
    names = {a: _name(analysis, a) for a in order}
    texts = [_write_beside(ax, ends[a], right, names[a], SMALL, GREY) for a in order]
    _make_room(ax)
    return texts


def _move_apart(ax: Axes, texts: Sequence[Annotation]) -> None:
    """Move texts up or down so that they do not overlap."""
    if texts:
        places = np.array([text.xy[1] for text in texts])
        heights = 1.1 * _sizes(ax, texts)[:, 1]
        for text, y in zip(texts, spread(places, heights, *ax.get_ylim()), strict=True):
            text.xy = (text.xy[0], float(y))


# --- the graph of neighbours


def _draw_graph(analysis: Analysis, ax: Axes) -> None:
    """Draw the Pareto actions on a circle, with a line between neighbours."""
    nodes = analysis.representatives
    turn = np.pi if len(nodes) == 2 else np.pi / 2
    angles = turn - 2 * np.pi * np.arange(len(nodes)) / len(nodes)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    at = dict(zip(nodes, places, strict=True))
    _draw_strokes(ax, analysis, {(a, b): np.stack([at[a], at[b]]) for a, b in _kinds(analysis)})
    spacing = _circumference(ax) / len(nodes)
    size = float(np.clip(spacing / 2.5, 2, 7))
    look = {"mfc": next(iter(COLORS)), "mec": INK, "ms": size, "mew": 0.8}
    ax.plot(*places.T, "o", gid="nodes", zorder=4, **look)  # type: ignore[arg-type]
    bottom, top = places[:, 1].min() - 0.1, places[:, 1].max() + 0.1
    ax.set(xlim=(-1.05, 1.05), ylim=(bottom, top), aspect="equal")
    ax.set_axis_off()
    for i in range(0, len(nodes), int(np.ceil(NARROWEST / spacing))):
        name = _name(analysis, nodes[i])
        text = _write_beside(ax, places[i], (size / 2 + 3) * places[i], name, NORMAL)
        if len(nodes) > 12:
            _turn_outwards(text, angles[i], float(np.clip(0.8 * spacing, 0.8 * NARROWEST, SMALL)))
    _make_room(ax)
    _add_legend(ax, analysis, _notes(analysis, degenerate=True, dominated=True), points=False)
    _make_room(ax)


def _circumference(ax: Axes) -> float:
    """Return the length in points of a circle that leaves room for names and a legend."""
    _figure(ax).draw_without_rendering()
    pixel = 72 / _figure(ax).dpi
    across = min(ax.bbox.width * pixel, ax.bbox.height * pixel - 3 * NORMAL)
    return float(np.pi * 0.75 * max(across, NORMAL))


def _turn_outwards(text: Text, angle: float, size: float) -> None:
    """Let a text point away from the middle, never upside down."""
    degrees = np.degrees(angle) % 360
    flip = 90.1 < degrees < 270.1
    text.set(rotation=degrees - 180 * flip, rotation_mode="anchor", fontsize=size)
    text.set(ha="right" if flip else "left", va="center_baseline")

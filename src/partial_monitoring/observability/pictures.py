"""Pictures of an analysis: cells in the plane, reward lines on a segment, or the neighbour graph.

Every picture says in the same code what can be told apart: a solid line between two neighbours
whose own neighbourhood shows which is better, a dashed line if only other actions do, a dotted one
if nothing does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

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
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox
except ImportError:
    raise InvalidInput(
        "drawing needs matplotlib; install it with: pip install 'partial-monitoring[plots]'."
    ) from None

if TYPE_CHECKING:
    from partial_monitoring.observability.classify import Analysis

Pair = tuple[int, int]

WIDTH, HEIGHT, RESOLUTION = 3.4, 4.2, 200
"""Size of a new figure in inches (one column of a journal) and its dots per inch."""
TITLE, NORMAL, SMALL = 9.0, 8.0, 6.5
"""Font sizes in points."""

INK, GREY, FAINT = "#222222", "#666666", "#aaaaaa"
COLORS = (
    "#a0c4e8",
    "#f5b8a3",
    "#f4e8b0",
    "#a3dccb",
    "#ffccd6",
    "#c2ebff",
    "#d8e28a",
    "#dddddd",
    "#cdbfe3",
)
"""Light colours of cells, after Paul Tol's scheme that colour-blind readers can tell apart."""

CORNERS = {2: np.array([[0.0], [1.0]]), 3: np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])}
"""Where a simplex of two or three outcomes is drawn."""
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
ANGLES = 2 * np.pi * (np.arange(400) + 0.5) / 400
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
FADING = (1.24, 1.16, 1.08)
"""How far beyond the window an unbounded set is drawn, ever fainter."""
FAR = 1e6
"""A corner this many times farther away than the bounds of the set is at infinity."""

MOST_LEADERS = 12
"""At most so many names stand outside with a line to their cell; smaller cells stay nameless."""
MOST_LETTERS = 24
MOST_NAMED_POINTS = 6
MOST_NAMED_LINES = 12
MOST_NODES = 72
"""On a larger graph only every second (third, ...) node has its name beside it."""


@dataclass(frozen=True)
class Stroke:
    """How a line between two neighbours looks, and what that means."""

    words: str
    style: str
    width: float
    color: str


STROKES = {
    "local": Stroke("told apart by actions that are best there", "-", 2.2, INK),
    "global": Stroke("told apart only with the help of other actions", "--", 1.6, INK),
    "never": Stroke("never told apart", ":", 2.2, "#bb1144"),
}


class Picture(Figure):
    """A figure that notebooks show even if pyplot was never loaded."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


def plot(analysis: Analysis, ax: Axes | None = None) -> Figure:
    """Draw what there is to see of a game.

    Parameters
    ----------
    analysis
        What :func:`analyze` returned.
    ax
        Axes to draw into; without them a new figure is made, which pyplot does not know about.

    Returns
    -------
    Figure
        The figure of the axes; ``savefig`` writes it as SVG, PDF or PNG.

    Notes
    -----
    Over a segment (two outcomes) the picture shows the reward of every action as a line; over a
    triangle (three outcomes) or another set of dimension two, the cells; otherwise the neighbours
    as a graph.
    """
    axes = _new_axes() if ax is None else ax
    axes.set_title(_title(analysis), fontsize=TITLE)
    {1: _draw_segment, 2: _draw_plane}.get(analysis.dimension, _draw_graph)(analysis, axes)
    figure: Figure = axes.figure.figure  # type: ignore[assignment]
    if ax is None:
        figure.draw_without_rendering()
        figure.set_figheight(figure.get_tightbbox().height + 0.1)
    return figure


def _new_axes() -> Axes:
    """Return the axes of a new figure, without touching the state of pyplot."""
    figure = Picture(figsize=(WIDTH, HEIGHT), dpi=RESOLUTION, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _title(analysis: Analysis) -> str:
    if analysis.category == "trivial":
        return "Trivial: one action is always best"
    power = analysis.regret_rate.partition("^")[2]
    rate = f"$n^{{{power}}}$" if power else "$n$"
    return f"{analysis.category.capitalize()}: regret grows like {rate}"


# ---- what is drawn: names, kinds and colours ----------------------------------------------------


def _plain(label: str) -> str:
    """Keep a label short and its dollars from starting a formula."""
    short = label if len(label) <= MOST_LETTERS else label[: MOST_LETTERS - 1] + ELLIPSIS
    return short.replace("$", r"\$")


def _name(analysis: Analysis, action: int) -> str:
    """Return the label of an action and of those that earn the same: 'A = B'."""
    group = next((g for g in analysis.duplicates if action in g), [action])
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


def _kinds(analysis: Analysis) -> dict[Pair, str]:
    """Return for every pair of neighbouring cells which stroke it gets."""
    classes = set(analysis.representatives)
    kinds = {}
    for pair in analysis.neighbors:
        if classes.issuperset(pair):
            local = analysis.local_readings[pair].seen
            reading = analysis.global_readings.get(pair)
            seen = analysis.globally_observable if reading is None else reading.seen
            kinds[pair] = "local" if local else "global" if seen else "never"
    return kinds


def _colors(analysis: Analysis) -> dict[int, str]:
    """Return a colour for every cell, different from those of its neighbours where possible."""
    colors: dict[int, str] = {}
    for i, a in enumerate(analysis.representatives):
        near = {colors.get(p if q == a else q) for p, q in analysis.neighbors if a in (p, q)}
        wheel = [COLORS[(i + j) % len(COLORS)] for j in range(len(COLORS))]
        colors[a] = next((color for color in wheel if color not in near), wheel[0])
    return colors


def _darker(color: str) -> tuple[float, ...]:
    """Return the same colour dark enough for a line."""
    return tuple(0.6 * int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))


# ---- coordinates of the drawing -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates p of the drawing: theta = origin + frame p; rewards are offsets + slopes p.

    Theta is the set of all p with normals p <= bounds.
    """

    analysis: Analysis
    origin: Array
    frame: Array
    names: tuple[str, ...]
    """What the coordinates are called; nothing if they mean nothing."""

    @cached_property
    def offsets(self) -> Array:
        offsets: Array = self.analysis.game.features @ self.origin
        return offsets

    @cached_property
    def slopes(self) -> Array:
        slopes: Array = self.analysis.game.features @ self.frame
        return slopes

    def point(self, theta: Array) -> Array:
        """Return where a parameter is drawn."""
        return np.asarray(np.linalg.lstsq(self.frame, theta - self.origin, rcond=None)[0])

    @cached_property
    def middle(self) -> Array:
        return self.point(self.analysis.game.reduced.center)

    @cached_property
    def halfplanes(self) -> tuple[Array, Array]:
        """Return (normals, bounds); a curved set is bounded by 400 tangents."""
        game = self.analysis.game
        center, q = game.reduced.center, game.reduced.difference_basis
        if isinstance(game.parameters, Polyhedral):
            a, b = game.parameters.facets()
        else:
            a = CIRCLE if q.shape[1] == 2 else np.array([[-1.0], [1.0]])
            b = game.parameters.support(a @ q.T) - a @ q.T @ center
            a, b = a[np.isfinite(b)], b[np.isfinite(b)]
        return a @ q.T @ self.frame, b - a @ q.T @ (self.origin - center)

    def leads(self, a: int) -> tuple[Array, Array]:
        """Return (normals, bounds) of the halfplanes where a is no worse than each other action."""
        classes = [b for b in self.analysis.representatives if b != a]
        return self.slopes[classes] - self.slopes[a], self.offsets[a] - self.offsets[classes]

    def tie(self, a: int, b: int) -> tuple[Array, float]:
        """Return (normal, bound) of the line where two actions earn the same."""
        return self.slopes[b] - self.slopes[a], float(self.offsets[a] - self.offsets[b])


def _chart(analysis: Analysis) -> Chart:
    """Choose coordinates that mean something: outcomes, or the parameters themselves."""
    game = analysis.game
    q = game.reduced.difference_basis
    if isinstance(game.parameters, Simplex):
        inverse = np.linalg.inv(np.column_stack([CORNERS[game.d], np.ones(game.d)]))
        chance = f"probability of {_outcomes(game)[1]}"
        return Chart(analysis, inverse[-1], inverse[:-1].T, (chance,) if game.d == 2 else ())
    free = np.arange(game.d) if game.d == q.shape[1] else np.abs(q).argmax(axis=0)
    frame = np.eye(game.d)[:, free]
    if game.d > q.shape[1] and not np.array_equal(np.abs(q), frame):
        return Chart(analysis, game.reduced.center, q, ())
    origin = np.where(frame.any(axis=1), 0.0, game.reduced.center)
    return Chart(analysis, origin, frame, tuple(rf"$\theta_{{{i + 1}}}$" for i in free))


def _outcomes(game: Game) -> list[str]:
    """Return the labels of the outcomes of a simplex, or the names of its coordinates."""
    if not isinstance(game, FiniteGame):
        return [rf"$\theta_{{{i + 1}}}$" for i in range(game.d)]
    plain = game.outcomes == tuple(map(str, range(game.d)))
    return [("outcome " if plain else "") + _plain(label) for label in game.outcomes]


# ---- polygons -----------------------------------------------------------------------------------


def clipped(polygon: Array, normals: Array, bounds: Array) -> Array:
    """Return the part of a convex polygon, vertices (n, 2), where normals p <= bounds."""
    for normal, bound in zip(normals, bounds, strict=True):
        room = bound - polygon @ normal
        if (room >= 0).all():
            continue
        kept = []
        for p, q, s, t in zip(
            polygon, np.roll(polygon, -1, 0), room, np.roll(room, -1), strict=True
        ):
            if s >= 0:
                kept.append(p)
            if s * t < 0:
                kept.append(p + s / (s - t) * (q - p))
        polygon = np.array(kept).reshape(-1, 2)
    return polygon


def area(polygon: Array) -> float:
    """Return the area of a polygon whose vertices run anticlockwise."""
    x, y = polygon.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def outline(chart: Chart, stretch: float = 1.0) -> tuple[Array, bool]:
    """Return Theta, or the part of it near its corners and those of the cells, and if it goes on.

    The window of an unbounded set is a disk: around all corners, or of radius 1.
    """
    normals, bounds = chart.halfplanes
    reach = FAR * (1 + np.abs(bounds).max(initial=0.0))
    whole = clipped(chart.middle + reach * SQUARE, normals, bounds)
    if np.abs(whole - chart.middle).max() < reach / 2:
        return whole, False
    cells = [clipped(whole, *chart.leads(a)) for a in chart.analysis.representatives]
    away = np.linalg.norm(np.concatenate([whole, *cells]) - chart.middle, axis=1)
    radius = 1.5 * float(away[away < reach / 2].max(initial=0.0))
    disk = chart.middle + stretch * (radius if radius > 1 / FAR else 1.0) * CIRCLE
    return clipped(disk, normals, bounds), True


def cell(chart: Chart, action: int, region: Array) -> Array:
    """Return the polygon on which an action is best."""
    return clipped(region, *chart.leads(action))


def side(polygon: Array, normal: Array, bound: float) -> Array | None:
    """Return the ends, shape (2, 2), of the side of a polygon on a line, if it has one there."""
    away = np.abs(polygon @ normal - bound)
    on = polygon[away <= 1e-9 * max(away.max(initial=0.0), abs(bound))]
    if len(on) < 2:
        return None
    along = on @ np.array([-normal[1], normal[0]])
    return np.stack([on[along.argmin()], on[along.argmax()]])


def _sides(polygon: Array) -> tuple[Array, Array]:
    """Return (normals, bounds) of an anticlockwise polygon, normals of length 1."""
    steps = np.roll(polygon, -1, axis=0) - polygon
    lengths = np.linalg.norm(steps, axis=1)
    real = lengths > 1e-12 * lengths.max()
    normals = np.column_stack([steps[:, 1], -steps[:, 0]])[real] / lengths[real, None]
    return normals, (normals * polygon[real]).sum(axis=1)


def _centroid(polygon: Array) -> Array:
    """Return the centre of mass of a polygon."""
    start, x, y = polygon[0], *(polygon - polygon[0]).T
    crosses = x * np.roll(y, -1) - y * np.roll(x, -1)
    middles = np.column_stack([x + np.roll(x, -1), y + np.roll(y, -1)]) / 3
    centre: Array = start + crosses @ middles / crosses.sum()
    return centre


def roomiest(polygon: Array, half: Array) -> tuple[Array, float]:
    """Return where a box of half-sides ``half`` fits best, and how many times it fits.

    The centre of mass if the box has ample room there; otherwise the place p of the largest t with
    p + t box inside: normals p + t |normals| half <= bounds, a linear program.
    """
    normals, bounds = _sides(polygon)
    width = np.abs(normals) @ half
    centre = _centroid(polygon)
    room = float(((bounds - normals @ centre) / width).min())
    if room >= 1.5:
        return centre, room
    free = np.full(3, np.inf)
    rows = np.column_stack([normals, width])
    program = conic.LinearProgram(rows, np.full(len(rows), -np.inf), bounds, -free, free)
    best = program.maximize(np.array([0.0, 0.0, 1.0]))
    return (centre, room) if best is None else (best.point[:2], best.value)


# ---- drawing ------------------------------------------------------------------------------------


def _draw_plane(analysis: Analysis, ax: Axes) -> None:
    """Draw the cells of a game over a set of dimension two."""
    chart = _chart(analysis)
    region, goes_on = outline(chart)
    colors = _colors(analysis)
    polygons = {a: cell(chart, a, region) for a in analysis.representatives}
    polygons = {a: polygon for a, polygon in polygons.items() if len(polygon) > 2}
    for a, polygon in polygons.items():
        ax.fill(*polygon.T, color=colors[a], linewidth=0, gid=f"cell-{a}", zorder=1)
    if goes_on:
        _fade(ax, chart, colors)
    else:
        ax.fill(*region.T, fill=False, edgecolor=INK, linewidth=0.8, zorder=2)
    wide = {a: cell(chart, a, outline(chart, FADING[1])[0]) for a, _ in polygons.items()}
    ends = {pair: side(wide[pair[0]], *chart.tie(*pair)) for pair in _kinds(analysis)}
    _strokes(ax, analysis, {pair: line for pair, line in ends.items() if line is not None})
    _frame(ax, chart, region, goes_on)
    points = _tie_points(analysis, chart)
    if points:
        ax.plot(*np.array(list(points)).T, "o", mfc="white", mec=INK, ms=4, mew=1, zorder=4)
    _legend(ax, analysis, drawn_points=bool(points), anchor=region)
    _make_room(ax)
    _name_cells(ax, analysis, polygons)
    if len(points) <= MOST_NAMED_POINTS:
        for point, actions in points.items():
            _name_point(ax, np.array(point), _listing(analysis, actions, 16))


def _fade(ax: Axes, chart: Chart, colors: Mapping[int, str]) -> None:
    """Let the cells of an unbounded set fade out, and draw the sides that the set has."""
    for stretch in FADING:
        beyond, _ = outline(chart, stretch)
        for a, color in colors.items():
            ax.fill(*cell(chart, a, beyond).T, color=color, alpha=0.3, linewidth=0, zorder=0.5)
    beyond, _ = outline(chart, FADING[1])
    ends = [side(beyond, n, b) for n, b in zip(*chart.halfplanes, strict=True)]
    lines = [line for line in ends if line is not None]
    ax.add_collection(LineCollection(lines, colors=INK, linewidths=0.8, zorder=2))


def _frame(ax: Axes, chart: Chart, region: Array, goes_on: bool) -> None:
    """Set the limits, and show axes where the coordinates mean something, else the corners."""
    ax.set_aspect("equal")
    low, high = region.min(axis=0), region.max(axis=0)
    pad = (0.14 if goes_on else 0.03) * (high - low).max()
    ax.set(xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad))
    if chart.names:
        ax.set_xlabel(chart.names[0], fontsize=NORMAL)
        ax.set_ylabel(chart.names[1], fontsize=NORMAL, rotation=0, va="center")
        ax.tick_params(labelsize=SMALL, color=GREY, length=2.5)
        ax.locator_params(nbins=5)
        ax.spines[:].set_visible(False)
        return
    ax.set_axis_off()
    for corner, label in _corner_labels(chart, region):
        away = (corner - chart.middle) / np.linalg.norm(corner - chart.middle)
        _text_beside(ax, corner, away, label, NORMAL)


def _corner_labels(chart: Chart, region: Array) -> list[tuple[Array, str]]:
    """Return the corners of the set with the names of the outcomes, or with their coordinates."""
    game = chart.analysis.game
    if isinstance(game.parameters, Simplex):
        return list(zip(CORNERS[3], _outcomes(game), strict=True))
    if len(region) > 8 or game.d > 5:
        return []
    thetas = region @ chart.frame.T + chart.origin
    return [
        (corner, f"({', '.join(number(round(x, 9)) for x in theta)})")
        for corner, theta in zip(region, thetas, strict=True)
    ]


def _text_beside(ax: Axes, point: Array, direction: Array, label: str, size: float) -> Text:
    """Write a label next to a point, on the side of the direction."""
    across, above = (int(np.sign(round(x, 1))) for x in direction)
    return ax.annotate(
        label,
        point,
        4.0 * direction,
        textcoords="offset points",
        ha=("center", "left", "right")[across],
        va=("center", "bottom", "top")[above],
        fontsize=size,
        color=INK,
    )


def _strokes(ax: Axes, analysis: Analysis, lines: Mapping[Pair, Array]) -> None:
    """Draw the lines between neighbours, the rarest kind on top; thinner where they are many."""
    kinds = _kinds(analysis)
    share = min(1.0, np.sqrt(40 / max(len(lines), 1)))
    groups = {
        kind: [line for pair, line in lines.items() if kinds[pair] == kind] for kind in STROKES
    }
    for order, kind in enumerate(sorted(STROKES, key=lambda kind: -len(groups[kind]))):
        stroke = STROKES[kind]
        ax.add_collection(
            LineCollection(
                groups[kind],
                colors=stroke.color,
                linestyles=stroke.style,
                linewidths=share * stroke.width,
                gid=f"pairs-{kind}",
                zorder=3 + order / 10,
            )
        )


def _legend(
    ax: Axes,
    analysis: Analysis,
    *,
    drawn_points: bool = False,
    drawn_lines: bool = False,
    anchor: Array | None = None,
) -> None:
    """Say below the picture in words what the strokes mean, and which actions are not in it."""
    kinds = list(_kinds(analysis).values())
    handles = []
    for kind, stroke in STROKES.items():
        count = kinds.count(kind)
        words = stroke.words + (f" ({count} pairs)" if len(kinds) > 12 else "")
        look = {"color": stroke.color, "linestyle": stroke.style, "linewidth": stroke.width}
        handles += [Line2D([], [], label=words, **look)] if count else []  # type: ignore[arg-type]
    hollow = Line2D([], [], linestyle="", marker="o", mfc="white", mec=INK, ms=4, mew=1)
    if analysis.degenerate:
        names = "" if drawn_points else f": {_listing(analysis, analysis.degenerate)}"
        hollow.set_label("best only in ties" + names)
        handles.append(hollow)
    if analysis.dominated and not drawn_lines:
        names = _listing(analysis, analysis.dominated)
        handles.append(Line2D([], [], linestyle="", label=f"never best: {names}"))
    if not handles:
        return
    x, y = (0.5, 0.0) if anchor is None else (np.mean(ax.get_xlim()), ax.get_ylim()[0])
    inside = anchor is not None and not ax.axison
    ax.legend(
        handles=handles,
        fontsize=SMALL,
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(x, y) if inside else (0.5, 0.0),
        bbox_transform=ax.transData if inside else ax.transAxes,
        borderaxespad=1.5 if inside else 4.5,
        handlelength=2.6,
    )


def _make_room(ax: Axes) -> None:
    """Widen the limits of a picture without axes until its texts and legend lie inside."""
    for _ in range(5):
        ax.figure.figure.draw_without_rendering()  # type: ignore[union-attr]
        legend = ax.get_legend()
        boxes = [text.get_window_extent() for text in ax.texts]
        boxes += [legend.get_window_extent()] if legend and not ax.axison else []
        if not boxes:
            return
        corners = ax.transData.inverted().transform(Bbox.union(boxes).get_points())
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        ax.set_xlim(min(left, corners[0, 0]), max(right, corners[1, 0]))
        ax.set_ylim(min(bottom, corners[0, 1]), max(top, corners[1, 1]))


def _size(ax: Axes, text: Text) -> Array:
    """Return width and height of a text in the coordinates of the drawing."""
    box = ax.transData.inverted().transform(text.get_window_extent().get_points())
    size: Array = box[1] - box[0]
    return size


def _name_cells(ax: Axes, analysis: Analysis, polygons: Mapping[int, Array]) -> None:
    """Write the name of each cell into it, or outside with a line to it where it does not fit."""
    outside = []
    for a, polygon in polygons.items():
        text = ax.text(0, 0, _name(analysis, a), ha="center", va="center", color=INK, zorder=5)
        for size in (NORMAL, SMALL):
            text.set_fontsize(size)
            place, room = roomiest(polygon, _size(ax, text) / 2)
            if room >= 1.15:
                break
        text.set_position((place[0], place[1]))
        if room < 1.15:
            text.remove()
            outside.append(a)
    outside.sort(key=lambda a: -area(polygons[a]))
    _leaders(ax, [(_centroid(polygons[a]), _name(analysis, a)) for a in outside[:MOST_LEADERS]])


def _leaders(ax: Axes, places: Sequence[tuple[Array, str]]) -> None:
    """Write names left and right of the picture, each with a line to its place."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    height = 1.5 * SMALL / 72 * ax.figure.figure.dpi / ax.bbox.height * (top - bottom)  # type: ignore[union-attr]
    for beyond, align in ((left, "right"), (right, "left")):
        own = [p for p in places if (p[0][0] < (left + right) / 2) == (align == "right")]
        own.sort(key=lambda place: place[0][1])
        ys = spread(np.array([point[1] for point, _ in own]), np.full(len(own), height))
        for (point, name), y in zip(own, ys, strict=True):
            ax.annotate(
                name,
                point,
                (beyond, y),
                ha=align,
                va="center",
                fontsize=SMALL,
                color=INK,
                arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": GREY, "shrinkB": 0},
                zorder=5,
            )
    _make_room(ax)


def spread(places: Array, sizes: Array) -> Array:
    """Move sorted places apart, as little as needed for boxes of the given sizes."""
    stack = np.cumsum(sizes) - sizes / 2
    free = places - stack
    up, down = np.maximum.accumulate(free), np.minimum.accumulate(free[::-1])[::-1]
    apart: Array = (up + down) / 2 + stack
    return apart


def _tie_points(analysis: Analysis, chart: Chart) -> dict[tuple[float, ...], list[int]]:
    """Return the places where actions are best that are best only in ties."""
    points: dict[tuple[float, ...], list[int]] = {}
    for a in analysis.degenerate:
        witness = analysis.witness(a)
        if witness is not None:
            place = tuple(float(round(x, 6)) for x in chart.point(witness))
            points.setdefault(place, []).append(a)
    return points


def _name_point(ax: Axes, point: Array, name: str) -> None:
    """Write a name beside a point, on the side where it covers least."""
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    ends = np.array([line for c in lines for line in c.get_segments()]).reshape(-1, 2, 2)
    shares = np.linspace(0, 1, 101)[:, None, None]
    busy = ax.transData.transform(((1 - shares) * ends[:, 0] + shares * ends[:, 1]).reshape(-1, 2))
    others = [text.get_window_extent() for text in ax.texts]
    found: list[tuple[float, Array]] = []
    for angle in np.pi * np.array([0, 1, 0.25, 0.75, 1.25, 1.75, 0.5, 1.5]):
        direction = np.array([np.cos(angle), np.sin(angle)])
        text = _text_beside(ax, point, direction, name, SMALL)
        box = text.get_window_extent()
        text.remove()
        covered = ((busy > box.p0) & (busy < box.p1)).all(axis=1).sum()
        found.append((covered + 1000 * box.count_overlaps(others), direction))
    best = min(found, key=lambda pair: pair[0])[1]
    _text_beside(ax, point, best, name, SMALL).set_zorder(5)


def _draw_segment(analysis: Analysis, ax: Axes) -> None:
    """Draw the reward of every action over a set of dimension one."""
    chart = _chart(analysis)
    low, high = interval(chart, range(0))
    colors = _colors(analysis)
    ends = np.array([low, high])
    rewards = chart.offsets[:, None] + chart.slopes * ends
    span = np.ptp(rewards) or 1.0
    bottom, top = rewards.min() - 0.06 * span, rewards.max() + 0.06 * span
    for a in range(analysis.game.k):
        if a not in analysis.pareto:
            ax.plot(ends, rewards[a], color=FAINT, linewidth=0.9, gid=f"line-{a}", zorder=2)
    for a, color in colors.items():
        start, stop = interval(chart, [b for b in colors if b != a], a)
        ax.axvspan(start, stop, color=color, alpha=0.6, linewidth=0, gid=f"cell-{a}", zorder=1)
        ax.plot(ends, rewards[a], color=_darker(color), linewidth=0.9, gid=f"line-{a}", zorder=2.2)
        best = np.array([start, stop])
        ax.plot(best, chart.offsets[a] + chart.slopes[a] * best, color=_darker(color), linewidth=2.8)
    for _ in (0,):
        ties = {pair: chart.tie(*pair) for pair in _kinds(analysis)}
        places = {pair: bound / normal[0] for pair, (normal, bound) in ties.items()}
    heights = {pair: float(chart.offsets[pair[0]] + chart.slopes[pair[0], 0] * x) for pair, x in places.items()}
    _strokes(ax, analysis, {pair: np.array([[x, bottom], [x, heights[pair]]]) for pair, x in places.items()})
    ax.plot(list(places.values()), list(heights.values()), "o", color=INK, ms=4.5, zorder=4)
    ax.set(xlim=(low, high), ylim=(bottom, top))
    ax.set_xlabel(chart.names[0] if chart.names else "place in the parameter set", fontsize=NORMAL)
    ax.set_ylabel("expected reward", fontsize=NORMAL)
    ax.tick_params(labelsize=SMALL, color=GREY, length=2.5)
    ax.spines[["top", "right"]].set_visible(False)
    _legend(ax, analysis, drawn_lines=True)


def interval(chart: Chart, others: Sequence[int], action: int | None = None) -> tuple[float, float]:
    normals, bounds = chart.halfplanes
    if action is not None:
        n, b = chart.leads(action)
        normals, bounds = np.concatenate([normals, n]), np.concatenate([bounds, b])
    n = normals[:, 0]
    high = (bounds[n > 0] / n[n > 0]).min(initial=np.inf)
    low = (bounds[n < 0] / n[n < 0]).max(initial=-np.inf)
    return float(low), float(high)


def _draw_graph(analysis: Analysis, ax: Axes) -> None:
    """Draw the Pareto actions on a circle, with a line between neighbours."""
    nodes, colors = analysis.representatives, _colors(analysis)
    turn = 0.0 if len(nodes) == 2 else np.pi / 2
    angles = turn - 2 * np.pi * np.arange(len(nodes)) / len(nodes)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    at = dict(zip(nodes, places, strict=True))
    _strokes(ax, analysis, {(a, b): np.stack([at[a], at[b]]) for a, b in _kinds(analysis)})
    spacing = 2 * np.pi * 72 / max(len(nodes), 1)
    size = float(np.clip(spacing / 2.2, 2.5, 7))
    ax.scatter(*places.T, s=size**2, c=[colors[a] for a in nodes], edgecolors=INK, linewidths=0.8, zorder=4)
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
    ax.set_aspect("equal")
    ax.set_axis_off()
    every = -(-len(nodes) // MOST_NODES)
    for a, angle, place in list(zip(nodes, angles, places, strict=True))[::every]:
        if len(nodes) <= 12:
            _text_beside(ax, place, place * (size/2 + 2) / 4 , _name(analysis, a), NORMAL)
        else:
            _text_along(ax, place, angle, _name(analysis, a), size/2+2, float(np.clip(0.8*spacing, 4, SMALL)))
    _legend(ax, analysis, anchor=places)
    _make_room(ax)


def _text_along(ax, place, angle, name, distance, size):
    degrees = np.degrees(angle) % 360
    flip = 90 < degrees < 270
    ax.annotate(name, place, distance * place, textcoords="offset points", fontsize=size, color=INK,
       rotation=degrees - 180 if flip else degrees, rotation_mode="anchor", ha="right" if flip else "left", va="center")

"""The coordinates of a drawing, the outline of the parameter set in them, and plane geometry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.analysis.facts import Facts
from partial_monitoring.display import ELLIPSIS, number
from partial_monitoring.model.game import Game
from partial_monitoring.numerics import conic
from partial_monitoring.parameter_sets import ParameterSet, Polyhedral, Simplex
from partial_monitoring.validation import Array

Halfplanes = tuple[Array, Array]
"""(normals, bounds) of the points p with normals p <= bounds."""

MOST_LETTERS = 24
"""Largest length of a label."""
CORNERS = {2: np.array([[0.0], [1.0]]), 3: np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])}
"""Where a simplex of two or three outcomes is drawn."""
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
ANGLES = 2 * np.pi * (np.arange(400) + 0.5) / 400
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
"""Points of the unit circle, none of them on an axis."""
FAR = 1e6
"""A corner this many times farther away than the sides of the set is at infinity."""


def short_label(label: str) -> str:
    """Return a label cut to size, with dollars escaped so that they start no formula."""
    short = label if len(label) <= MOST_LETTERS else label[: MOST_LETTERS - 1] + ELLIPSIS
    return short.replace("$", r"\$")


def outcome_names(game: Game) -> list[str]:
    """Return names for the corners of a simplex that cannot be mistaken for actions."""
    if not game.traits.finite:
        return [rf"$\theta_{{{i + 1}}}$" for i in range(game.d)]
    outcomes: Sequence[str] = game.outcomes  # type: ignore[attr-defined]
    clear = set(outcomes).isdisjoint((*game.actions, *map(str, range(game.d))))
    return [("" if clear else "outcome ") + short_label(label) for label in outcomes]


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates p of a drawing: theta = origin + axes p, and rewards are offsets + slopes p."""

    facts: Facts
    origin: Array
    """Shape (d,)."""
    axes: Array
    """Shape (d, D)."""
    names: tuple[str, ...]
    """Names of the coordinates; none if they have no meaning."""
    corners: tuple[str, ...] = ()
    """Names of the corners of a triangle of outcomes, see ``CORNERS``."""

    @cached_property
    def rewards(self) -> tuple[Array, Array]:
        """The offsets (k,) and the slopes (k, D)."""
        features = self.facts.game.features
        return features @ self.origin, features @ self.axes

    @cached_property
    def middle(self) -> Array:
        """A point inside the set."""
        return self.point(self.facts.game.reduced.center)

    def point(self, theta: Array) -> Array:
        """Return the point at which a parameter is drawn."""
        return np.asarray(np.linalg.lstsq(self.axes, theta - self.origin, rcond=None)[0])

    def coordinates(self, point: Array) -> str:
        """Show the parameter that is drawn at a point."""
        theta = self.origin + self.axes @ point
        return f"({', '.join(number(round(x, 9)) for x in theta)})"

    @cached_property
    def sides(self) -> Halfplanes:
        """The halfplanes that bound the set; 400 tangents if it is curved."""
        game = self.facts.game
        center, q = game.reduced.center, game.reduced.difference_basis
        a, b = _sides(game.parameters, center, q)
        return a @ q.T @ self.axes, b - a @ q.T @ (self.origin - center)

    def leads(self, a: int) -> Halfplanes:
        """Return the halfplanes in which an action is at least as good as all others."""
        offsets, slopes = self.rewards
        others = [b for b in self.facts.representatives if b != a]
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

    def tie_points(self) -> dict[tuple[float, ...], list[int]]:
        """Return the points at which actions are best that are best only in ties."""
        points: dict[tuple[float, ...], list[int]] = {}
        for a in self.facts.degenerate:
            witness = self.facts.witness(a)
            assert witness is not None
            place = tuple(float(round(x, 6)) for x in self.point(witness))
            points.setdefault(place, []).append(a)
        return points


@singledispatch
def _sides(parameters: ParameterSet, center: Array, q: Array) -> Halfplanes:
    """Return (a, b) such that the set is about {center + q v : a v <= b}; here by tangents."""
    a = CIRCLE if q.shape[1] == 2 else np.array([[-1.0], [1.0]])
    b = parameters.support(a @ q.T) - a @ q.T @ center
    return a[np.isfinite(b)], b[np.isfinite(b)]


@_sides.register
def _(parameters: Polyhedral, center: Array, q: Array) -> Halfplanes:
    return parameters.facets()


def frame_of(facts: Facts) -> Frame:
    """Return coordinates that have a meaning: outcomes, or the parameters themselves."""
    return _frame(facts.game.parameters, facts)


@singledispatch
def _frame(parameters: ParameterSet, facts: Facts) -> Frame:
    game = facts.game
    q = game.reduced.difference_basis
    free = np.arange(game.d) if game.d == q.shape[1] else np.abs(q).argmax(axis=0)
    axes = np.eye(game.d)[:, free]
    if game.d > q.shape[1] and not np.array_equal(np.abs(q), axes):
        return Frame(facts, game.reduced.center, q, ())
    origin = np.where(axes.any(axis=1), 0.0, game.reduced.center)
    return Frame(facts, origin, axes, tuple(rf"$\theta_{{{i + 1}}}$" for i in free))


@_frame.register
def _(parameters: Simplex, facts: Facts) -> Frame:
    d = facts.game.d
    inverse = np.linalg.inv(np.column_stack([CORNERS[d], np.ones(d)]))
    outcomes = tuple(outcome_names(facts.game))
    chance = (f"probability of {outcomes[1]}",) if d == 2 else ()
    return Frame(facts, inverse[-1], inverse[:-1].T, chance, outcomes)


def outline(frame: Frame, stretch: float = 1.0) -> tuple[Array, bool]:
    """Return the polygon of the set, and whether it is only a part because the set is unbounded.

    The part is a disk around all corners of the set and of the cells, or of radius 1 if there are
    none but the middle, times ``stretch``.
    """
    normals, bounds = frame.sides
    reach = FAR * (1 + np.abs(bounds).max(initial=0.0))
    whole = clipped(frame.middle + reach * SQUARE, normals, bounds)
    if np.abs(whole - frame.middle).max() < reach / 2:
        return whole, False
    cells = [clipped(whole, *frame.leads(a)) for a in frame.facts.representatives]
    away = np.linalg.norm(np.concatenate([whole, *cells]) - frame.middle, axis=1)
    radius = 1.5 * float(away[away < reach / 2].max(initial=0.0))
    disk = frame.middle + stretch * (radius if radius * FAR > 1 else 1.0) * CIRCLE
    return clipped(disk, normals, bounds), True


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


def moved_apart(places: Array, sizes: Array | float, low: float, high: float) -> Array:
    """Move sorted places apart between low and high, about as little as boxes of these sizes need.

    >>> moved_apart(np.array([0.0, 0.1, 3.0]), np.ones(3), -9.0, 9.0)
    array([-0.45,  0.55,  3.  ])
    """
    sizes = np.broadcast_to(sizes, places.shape)
    stack = np.cumsum(sizes) - sizes / 2
    free = places - stack
    up, down = np.maximum.accumulate(free), np.minimum.accumulate(free[::-1])[::-1]
    return np.clip((up + down) / 2, low, max(low, high - sizes.sum())) + stack

"""The coordinates in which a game is drawn, and the outline of its parameter set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.analysis.pictures.polygons import clipped
from partial_monitoring.display import ELLIPSIS, number
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array

if TYPE_CHECKING:
    from partial_monitoring.analysis.classify import Analysis

Halfplanes = tuple[Array, Array]
"""(normals, bounds) of the points p with normals p <= bounds."""

MOST_LETTERS = 24
CORNERS = {2: np.array([[0.0], [1.0]]), 3: np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])}
"""Where a simplex of two or three outcomes is drawn."""
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
ANGLES = 2 * np.pi * (np.arange(400) + 0.5) / 400
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
FAR = 1e6
"""A corner this many times farther away than the sides of the set is at infinity."""


def plain(label: str) -> str:
    """Keep a label short and its dollars from starting a formula."""
    short = label if len(label) <= MOST_LETTERS else label[: MOST_LETTERS - 1] + ELLIPSIS
    return short.replace("$", r"\$")


def outcome_names(game: Game) -> list[str]:
    """Return names for the corners of a simplex that nobody mistakes for actions."""
    if not isinstance(game, FiniteGame):
        return [rf"$\theta_{{{i + 1}}}$" for i in range(game.d)]
    clear = set(game.outcomes).isdisjoint((*game.actions, *map(str, range(game.d))))
    return [("" if clear else "outcome ") + plain(label) for label in game.outcomes]


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
        facets = game.parameters.facets()
        if facets is None:
            a = CIRCLE if q.shape[1] == 2 else np.array([[-1.0], [1.0]])
            b = game.parameters.support(a @ q.T) - a @ q.T @ center
            facets = a[np.isfinite(b)], b[np.isfinite(b)]
        a, b = facets
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
    if game.parameters.holds_distributions:
        inverse = np.linalg.inv(np.column_stack([CORNERS[game.d], np.ones(game.d)]))
        chance = (f"probability of {outcome_names(game)[1]}",) if game.d == 2 else ()
        return Chart(analysis, inverse[-1], inverse[:-1].T, chance)
    free = np.arange(game.d) if game.d == q.shape[1] else np.abs(q).argmax(axis=0)
    frame = np.eye(game.d)[:, free]
    if game.d > q.shape[1] and not np.array_equal(np.abs(q), frame):
        return Chart(analysis, game.reduced.center, q, ())
    origin = np.where(frame.any(axis=1), 0.0, game.reduced.center)
    return Chart(analysis, origin, frame, tuple(rf"$\theta_{{{i + 1}}}$" for i in free))


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

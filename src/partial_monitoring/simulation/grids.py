"""Grids of true parameters that can be drawn: over a simplex, or over one or two coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.display import ELLIPSIS
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.parameter_sets import ParameterSet, Simplex
from partial_monitoring.validation import Array, brief, is_whole, items, whole_number

CORNERS = {2: np.array([[0.0], [1.0]]), 3: np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])}
"""Where a simplex of two or three outcomes is drawn."""

LETTERS = 24
"""Largest length of the name of an outcome."""

MOST_POINTS = 1000
"""Largest number of points along one side."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Points p of a drawing, and the parameters theta = origin + axes p there."""

    places: Array
    """Shape (q, 1) or (q, 2)."""
    origin: Array
    """Shape (d,)."""
    axes: Array
    """Shape (d, 1) or (d, 2)."""
    names: tuple[str, ...]
    """What the coordinates are."""
    corners: tuple[str, ...] = ()
    """Names of the corners of a triangle."""

    @property
    def thetas(self) -> Array:
        """The parameters, shape (q, d)."""
        return np.asarray(self.origin + self.places @ self.axes.T)


def grid_over(
    game: AnyGame,
    points: int,
    coordinates: Sequence[int] | None = None,
    theta: ArrayLike | None = None,
) -> Grid:
    """Return the grid over the parameters of a game, with some points along each side.

    Without coordinates: over all of a simplex of two or three outcomes, or of a set in one or two
    dimensions. Otherwise over one or two ``coordinates``, numbers from 0; the others are those of
    ``theta``, and share what is left of a simplex as they do there.
    """
    if game.traits.function or not game.traits.listed:
        raise InvalidInput(
            f"game must have listed actions and a parameter set whose coordinates mean something, "
            f"no function; got {brief(game)}."
        )
    count = whole_number("points", points, at_least=2, at_most=MOST_POINTS)
    parameters: ParameterSet = game.parameters
    whole = _whole(parameters, game, count)
    if coordinates is None and theta is None and whole is not None:
        return whole
    if coordinates is None:
        if game.d > 2 or whole is not None:
            raise InvalidInput(
                f"coordinates must be one or two numbers of coordinates of theta, which has "
                f"{game.d}; got None."
            )
        coordinates = range(game.d)
    chosen = _chosen(coordinates, game.d)
    middle = parameters.relative_interior_point() if theta is None else theta
    base = parameters.checked(middle, "theta")
    origin, axes = _spanned(parameters, base, chosen)
    places = _mesh(parameters, base, chosen, count)
    labels, words = outcome_labels(game), "probability of " if game.traits.finite else ""
    grid = Grid(places, origin, axes, tuple(f"{words}{labels[i]}" for i in chosen))
    inside = np.array([bool(parameters.contains(own)) for own in grid.thetas])
    if not inside.any():
        raise InvalidInput(
            "theta must lie in Theta with other values of its coordinates; no point of the grid "
            "does."
        )
    return Grid(places[inside], origin, axes, grid.names)


def outcome_labels(game: Any) -> tuple[str, ...]:
    """Return the names of the coordinates of theta; those of outcomes are cut.

    Their dollars are escaped, so that they start no formula.
    """
    if game.traits.finite:
        cut = [
            own if len(own) <= LETTERS else own[: LETTERS - 1] + ELLIPSIS for own in game.outcomes
        ]
        return tuple(own.replace("$", r"\$") for own in cut)
    return tuple(rf"$\theta_{{{i + 1}}}$" for i in range(game.d))


@singledispatch
def _whole(parameters: Any, game: AnyGame, count: int) -> Grid | None:
    """Return the grid over all of a set that is drawn in coordinates of its own, or None."""
    return None


@_whole.register
def _(parameters: Simplex, game: AnyGame, count: int) -> Grid | None:
    d, steps = game.d, count - 1
    if d not in CORNERS:
        return None
    numbers = [(steps - i - j, j, i) for i in range(steps + 1) for j in range(steps + 1 - i)]
    shares = np.array(numbers if d == 3 else [(steps - i, i) for i in range(count)]) / steps
    inverse = np.linalg.inv(np.column_stack([CORNERS[d], np.ones(d)]))
    labels = outcome_labels(game)
    names = (f"probability of {labels[1]}",) if d == 2 else ()
    return Grid(shares @ CORNERS[d], inverse[-1], inverse[:-1].T, names, labels if d == 3 else ())


def _chosen(coordinates: Sequence[int], d: int) -> list[int]:
    """Return one or two different coordinates, numbered from 0."""
    chosen = items("coordinates", coordinates)
    fits = all(is_whole(i) and 0 <= i < d for i in chosen)
    if not fits or len(chosen) not in (1, 2) or len(set(chosen)) < len(chosen):
        raise InvalidInput(
            f"coordinates must be one or two different numbers from 0 to {d - 1}; got "
            f"{brief(coordinates)}."
        )
    return [int(i) for i in chosen]


@singledispatch
def _spanned(parameters: Any, base: Array, chosen: list[int]) -> tuple[Array, Array]:
    """Return origin (d,) and axes (d, D) of the parameters that differ in chosen coordinates."""
    axes = np.eye(len(base))[:, chosen]
    return np.where(axes.any(axis=1), 0.0, base), axes


@_spanned.register
def _(parameters: Simplex, base: Array, chosen: list[int]) -> tuple[Array, Array]:
    axes = np.eye(len(base))[:, chosen]
    rest = np.where(axes.any(axis=1), 0.0, base)
    if not rest.sum() > 0:
        raise InvalidInput("theta must give some probability to outcomes that are not coordinates.")
    rest = rest / rest.sum()
    return rest, axes - rest[:, None]


def _mesh(parameters: ParameterSet, base: Array, chosen: list[int], count: int) -> Array:
    """Return all points between the least and the largest coordinates in Theta, shape (q, D).

    On unbounded sets they stay within 1 of the base point.
    """
    sides = []
    for i in chosen:
        unit = np.eye(len(base))[[i, i]] * np.array([[-1.0], [1.0]])
        low, high = parameters.support(unit) * [-1.0, 1.0]
        low = low if np.isfinite(low) else base[i] - 1.0
        sides.append(np.linspace(low, high if np.isfinite(high) else base[i] + 1.0, count))
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(chosen))

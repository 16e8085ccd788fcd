"""Readings: linear functionals of an unknown function f, such as values, sums and derivatives.

A reading has one or more rows per action, each a weighted sum of values and derivatives of f.
Rewards are a reading with one row, feedback one with any number of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.gram import Functionals
from partial_monitoring.validation import Array, Indices

__all__ = [
    "Reading",
    "averages",
    "derivatives",
    "differences",
    "nothing",
    "one_after_another",
    "sums",
    "together",
    "values",
    "weighted",
]


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, eq=False)
class Reading:
    """Linear functionals of a function on R^p, m for each of k actions."""

    points: Array
    """Where the function is read, shape (q, p)."""
    axes: Indices
    """Coordinate of the derivative, -1 for the value, shape (q,)."""
    rows: Functionals
    """Weighted sums of what is read there, shape (k, m, w)."""
    counts: tuple[int, ...]
    """How many rows each action has; the others are padding."""

    @property
    def k(self) -> int:
        """The number of actions."""
        return len(self.rows.index)

    @property
    def m(self) -> int:
        """The largest number of rows."""
        return int(self.rows.index.shape[1])

    def __repr__(self) -> str:
        return f"Reading(k={self.k}, m={self.m}, points={len(self.points)})"


def values(points: ArrayLike) -> Reading:
    """Return the value at each point: action a reads f(x_a).

    >>> values([[0.0], [0.5], [1.0]])
    Reading(k=3, m=1, points=3)
    """
    return _reading(validation.filled_array("points", points, ("n", "p")))


def differences(points: ArrayLike, pairs: Iterable[Sequence[int]]) -> Reading:
    """Return what a duel of two points shows: the pair (i, j) reads f(x_i) - f(x_j)."""
    x = validation.filled_array("points", points, ("n", "p"))
    index = checked_groups("pairs", pairs, len(x), width=2)
    return _reading(x, index, np.broadcast_to([1.0, -1.0], index.shape).copy())


def sums(points: ArrayLike, groups: Iterable[Sequence[int]]) -> Reading:
    """Return the sum over each group of points, given by their numbers."""
    return _grouped(points, groups, average=False)


def averages(points: ArrayLike, groups: Iterable[Sequence[int]]) -> Reading:
    """Return the average over each group of points, given by their numbers."""
    return _grouped(points, groups, average=True)


def weighted(points: ArrayLike, weights: ArrayLike) -> Reading:
    """Return sums with weights of your own (k, q), for instance of a quadrature of an integral."""
    x = validation.filled_array("points", points, ("n", "p"))
    w = validation.filled_array("weights", weights, ("k", len(x)))
    index = np.broadcast_to(np.arange(len(x)), w.shape).copy()
    return _reading(x, index, np.array(w))


def derivatives(points: ArrayLike, axis: int) -> Reading:
    """Return the derivative along one coordinate at each point."""
    x = validation.filled_array("points", points, ("n", "p"))
    if not validation.is_whole(axis) or not 0 <= axis < x.shape[1]:
        raise InvalidInput(
            f"axis must be a whole number below {x.shape[1]}; got {validation.brief(axis)}."
        )
    return _reading(x, axis=int(axis))


def nothing(count: int) -> Reading:
    """Return the reading of actions that show (or earn) nothing."""
    k = validation.whole_number("count", count, at_least=1)
    rows = Functionals(np.zeros((k, 0, 1), dtype=np.int64), np.zeros((k, 0, 1)))
    return Reading(np.zeros((0, 0)), np.zeros(0, dtype=np.int64), rows, (0,) * k)


def together(*readings: Reading) -> Reading:
    """Return the rows of several readings of the same actions, one below the other (m > 1)."""
    given = _checked(readings)
    if len({reading.k for reading in given}) > 1:
        raise InvalidInput(
            f"readings must have the same number of actions; got {[r.k for r in given]}."
        )
    points, axes, shifted = _merged(given)
    rows = _joined(shifted, axis=1)
    counts = np.sum([reading.counts for reading in given], axis=0)
    return Reading(points, axes, _packed(rows, given), tuple(int(c) for c in counts))


def one_after_another(*readings: Reading) -> Reading:
    """Return one reading with the actions of several readings, in their order."""
    given = _checked(readings)
    points, axes, shifted = _merged(given)
    m = max(reading.m for reading in given)
    padded = [_padded(own, [(0, 0), (0, m - own.index.shape[1]), (0, 0)]) for own in shifted]
    counts = tuple(count for reading in given for count in reading.counts)
    return Reading(points, axes, _joined(padded, axis=0), counts)


def shared(*readings: Reading) -> tuple[Array, Indices, list[Functionals]]:
    """Return the points and axes that several readings need, each once, and their rows in these."""
    given = _checked(readings)
    points, axes, rows = _merged(given)
    keys = np.column_stack([axes.astype(float), points])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # in order of first appearance
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    number = rank[np.ravel(place)]
    kept = first[order]
    return points[kept], axes[kept], [Functionals(number[own.index], own.weight) for own in rows]


def _reading(
    points: Array, index: Indices | None = None, weight: Array | None = None, axis: int = -1
) -> Reading:
    """Return one weighted sum per action, of given points (k, w) or of the point of its number."""
    axes = np.full(len(points), axis, dtype=np.int64)
    index = np.arange(len(points))[:, None] if index is None else index
    weight = np.ones(index.shape) if weight is None else weight
    return Reading(points, axes, Functionals(index[:, None], weight[:, None]), (1,) * len(index))


def _grouped(points: ArrayLike, groups: Iterable[Sequence[int]], *, average: bool) -> Reading:
    x = validation.filled_array("points", points, ("n", "p"))
    lists = _lists(groups)
    if not lists or not all(group and _are_indices(group, len(x)) for group in lists):
        raise InvalidInput(
            f"groups must be lists of numbers of points, below {len(x)}, at least one each; got "
            f"{validation.brief(groups)}."
        )
    width = max(map(len, lists))
    index, weight = np.zeros((len(lists), width), dtype=np.int64), np.zeros((len(lists), width))
    for a, group in enumerate(lists):
        index[a, : len(group)] = group
        weight[a, : len(group)] = 1.0 / len(group) if average else 1.0
    return _reading(x, index, weight)


def checked_groups(name: str, value: Iterable[Sequence[int]], count: int, *, width: int) -> Indices:
    """Return groups of ``width`` indices of points as an array (n, width); refuse anything else."""
    rows = _lists(value)
    if not rows or not all(len(row) == width and _are_indices(row, count) for row in rows):
        raise InvalidInput(
            f"{name} must be a list of {width} numbers of points each, below {count}; got "
            f"{validation.brief(value)}."
        )
    return np.array(rows, dtype=np.int64)


def _lists(value: object) -> list[list[Any]]:
    """Return a list of lists; anything else gives an empty list."""
    rows = list(value) if isinstance(value, Iterable) else []
    return [list(row) for row in rows] if all(isinstance(row, Iterable) for row in rows) else []


def _are_indices(row: list[Any], count: int) -> bool:
    return all(validation.is_whole(i) and 0 <= i < count for i in row)


def _checked(readings: Sequence[Reading]) -> Sequence[Reading]:
    if not readings or not all(isinstance(reading, Reading) for reading in readings):
        raise InvalidInput(
            f"readings must be readings such as values(points); got {validation.brief(readings)}."
        )
    widths = {reading.points.shape[1] for reading in readings if len(reading.points)}
    if len(widths) > 1:
        raise InvalidInput(
            f"readings must be of one function, with points of one dimension; got {sorted(widths)}."
        )
    return readings


def _merged(readings: Sequence[Reading]) -> tuple[Array, Indices, list[Functionals]]:
    """Concatenate the points of readings; their rows get one width and refer to these points."""
    p = max(reading.points.shape[1] for reading in readings)
    points = np.concatenate([own.points.reshape(len(own.points), p) for own in readings])
    axes = np.concatenate([reading.axes for reading in readings])
    width = max(reading.rows.index.shape[2] for reading in readings)
    rows, start = [], 0
    for reading in readings:
        room = [(0, 0), (0, 0), (0, width - reading.rows.index.shape[2])]
        wide = _padded(reading.rows, room)
        rows.append(Functionals(np.where(wide.weight != 0, wide.index + start, 0), wide.weight))
        start += len(reading.points)
    return points, axes, rows


def _packed(rows: Functionals, readings: Sequence[Reading]) -> Functionals:
    """Move the rows of each action to the front and the padding to the end."""
    own = np.concatenate(
        [np.arange(reading.m) < np.array(reading.counts)[:, None] for reading in readings], axis=1
    )
    order = np.argsort(~own, axis=1, kind="stable")
    most = int(own.sum(axis=1).max(initial=0))
    each = np.arange(len(order))[:, None]
    return Functionals(rows.index[each, order][:, :most], rows.weight[each, order][:, :most])


def _joined(rows: Sequence[Functionals], axis: int) -> Functionals:
    index, weight = [own.index for own in rows], [own.weight for own in rows]
    return Functionals(np.concatenate(index, axis), np.concatenate(weight, axis))


def _padded(rows: Functionals, room: list[tuple[int, int]]) -> Functionals:
    return Functionals(np.pad(rows.index, room), np.pad(rows.weight, room))

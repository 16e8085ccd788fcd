"""The points of a box that can be played: a lattice, whose points are numbered and never listed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.candidates import box
from partial_monitoring.validation import Array, Indices

MOST_DIMENSIONS = 12
"""Largest number of coordinates of a point."""

MOST_BITS = 20
"""Number of bits of a coordinate, at most."""

LABEL_DIGITS, MOST_DIGITS = 6, 17
"""Digits of a coordinate in a label; with the second number all doubles are different."""

NUMBER = r"([-+.\de]+)"
"""A coordinate in a label."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points of a box, the same number along each axis, numbered from 0."""

    low: Array
    high: Array
    """The corners, shape (p,)."""
    along: tuple[int, ...]
    """The number of points along each axis, all of them different doubles, p of them."""
    names: tuple[str, ...] = ()
    """Of the coordinates; none if they have no names."""
    units: tuple[str, ...] = ()
    """In which they are measured; none if they have no units, and "" for one that has none."""
    asked: int | list[int] | None = None
    """The levels that were asked for."""

    @classmethod
    def of(
        cls,
        low: ArrayLike,
        high: ArrayLike,
        bits: int,
        levels: int | Iterable[int] | None = None,
        names: Iterable[object] | None = None,
        units: Iterable[object] | None = None,
    ) -> Lattice:
        """Return the lattice of a box whose points have numbers of at most ``bits`` bits."""
        lower, upper = box(low, high)
        if (p := len(lower)) > MOST_DIMENSIONS:
            raise InvalidInput(f"low must have at most {MOST_DIMENSIONS} coordinates; got {p}.")
        apart = np.spacing(np.maximum(np.abs(lower), np.abs(upper)))
        room = int(np.log2(((upper - lower) / apart).min()))
        most = int(2 ** max(1, min(MOST_BITS, bits // p, room - 1)))
        asked: Any = levels
        if levels is not None and not validation.is_whole(levels):
            asked = _each("levels", levels, p)
        each = asked if isinstance(asked, list) else [most if asked is None else asked] * p
        limits = {"at_least": 2, "at_most": most}
        along = tuple(validation.whole_number("levels", own, **limits) for own in each)
        called = () if names is None else validation.labels("names", names, p)
        measured = () if units is None else tuple(map(_unit, _each("units", units, p)))
        return cls(lower, upper, along, called, measured, asked)

    @property
    def count(self) -> int:
        """The number of points."""
        return prod(self.along)

    @property
    def levels(self) -> int | tuple[int, ...]:
        """The number of points along each axis, one number if they are the same."""
        return self.along[0] if len(set(self.along)) == 1 else self.along

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The names of the coordinates; x1, x2, ... if they have none."""
        return self.names or tuple(f"x{i + 1}" for i in range(len(self.low)))

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """The names of the coordinates with their units."""
        units = self.units or ("",) * len(self.axes)
        each = zip(self.axes, units, strict=True)
        return tuple(f"{name} ({unit})" if unit else name for name, unit in each)

    @property
    def options(self) -> dict[str, Any]:
        """What was given apart from the corners, as plain data."""
        given = {"levels": self.asked, "names": list(self.names), "units": list(self.units)}
        return {name: value for name, value in given.items() if value}

    # -- numbers and points --------------------------------------------------------------------

    def points_of(self, numbers: ArrayLike) -> Array:
        """Return the points (..., p) with given numbers (...)."""
        left = np.array(None) if validation.is_ragged(numbers) else np.asarray(numbers)
        whole = left.dtype.kind in "iu" or left.size == 0
        if not whole or left.min(initial=0) < 0 or left.max(initial=0) >= self.count:
            raise InvalidInput(
                f"actions must be numbers of points, below {self.count}; got "
                f"{validation.brief(numbers)}."
            )
        left = left.astype(np.int64)
        shares = np.empty((*left.shape, len(self.low)))
        for axis, count in enumerate(self.along):
            left, place = np.divmod(left, count)
            shares[..., axis] = place / (count - 1)
        inside = self.low + shares * (self.high - self.low)
        return np.minimum(inside, self.high)  # rounding must not leave the box

    def nearest(self, points: ArrayLike) -> Indices:
        """Return the numbers (n,) of the lattice points nearest to points (n, p)."""
        x = validation.real_array("points", points, ("n", len(self.low)))
        shares = np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)
        places = np.round(shares * (np.array(self.along) - 1)).astype(np.int64)
        number = np.zeros(len(x), dtype=np.int64)
        for axis in reversed(range(len(self.low))):
            number = number * self.along[axis] + places[:, axis]
        return number

    def number_at(self, point: Any) -> int:
        """Return the number of a point (p,) of the lattice, or refuse another one."""
        number = int(self.nearest([point])[0])
        if not np.array_equal(self.points_of(number), np.asarray(point, dtype=float)):
            raise InvalidInput(
                f"point must be one of the lattice of the box; got {validation.brief(point)}."
            )
        return number

    def settings(self, number: int) -> dict[str, float]:
        """Return the coordinates of a point by name."""
        return dict(zip(self.axes, self.points_of(number).tolist(), strict=True))

    # -- labels ----------------------------------------------------------------------------------

    @cached_property
    def _digits(self) -> Indices:
        """Number of significant digits of each coordinate in a label, shape (p,).

        As many as give all points different labels, and at least six.
        """
        apart = (self.high - self.low) / (np.array(self.along) - 1)
        needed = np.floor(np.log10(self._largest)) + 1 + np.ceil(-np.log10(apart / 2))
        return np.asarray(np.maximum(needed, LABEL_DIGITS), dtype=np.int64)

    @property
    def _largest(self) -> Array:
        """The largest absolute value of each coordinate, shape (p,)."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def label(self, number: int) -> str:
        """Return the coordinates of a point in words."""
        return self._written(self.points_of(number), self._digits)

    def labels_of(self, numbers: Indices) -> list[str]:
        """Return the labels of some points (n,)."""
        return [self.label(int(a)) for a in numbers]

    def is_called(self, number: int, label: str) -> bool:
        """Whether a point has a label, or had it in older files, with six digits.

        They were counted from the first digit of a coordinate, or from the first in which points
        of the box differ.
        """
        same = np.maximum(np.floor(-np.log10((self.high - self.low) / self._largest)), 0)
        point, p = self.points_of(number), len(self.low)
        older = [LABEL_DIGITS + own for own in (np.zeros(p, dtype=np.int64), same.astype(np.int64))]
        return label == self.label(number) or any(self._written(point, x) == label for x in older)

    def number_called(self, label: str) -> int | None:
        """Return the number of the point with a label; None if there is none."""
        found = self._pattern.fullmatch(label)
        try:
            read = [float(text) for text in found.groups()] if found else None
        except ValueError:
            return None
        if read is None or not np.isfinite(read).all():
            return None
        number = int(self.nearest([read])[0])
        return number if self.label(number) == label else None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """What labels look like."""
        return re.compile(", ".join(self._around(i, NUMBER, re.escape) for i in range(self._p)))

    @property
    def _p(self) -> int:
        return len(self.low)

    def _written(self, point: Array, digits: Indices) -> str:
        """Write the coordinates of a point (p,), each with its number of significant digits."""
        each = zip(point, np.minimum(digits, MOST_DIGITS), strict=True)
        return ", ".join(
            self._around(i, f"{value:.{count}g}") for i, (value, count) in enumerate(each)
        )

    def _around(self, axis: int, text: str, quote: Any = str) -> str:
        """Return a coordinate with its name before and its unit after it."""
        before = f"{quote(self.names[axis])} " if self.names else ""
        unit = self.units[axis] if self.units else ""
        return f"{before}{text}" + (f" {quote(unit)}" if unit else "")


def _each(name: str, value: Any, p: int) -> list[Any]:
    """Return a list with one entry per coordinate."""
    given = validation.items(name, value)
    if len(given) != p:
        raise InvalidInput(f"{name} must hold one entry per coordinate, {p}; got {len(given)}.")
    return given


def _unit(unit: object) -> str:
    """Return a unit as text."""
    return validation.labels("units", [unit], 1)[0]

"""Exact arithmetic: floats read as the fractions they stand for, integer matrices, elimination.

A rational array is kept as an integer array and one positive common denominator. Integer arrays
hold ``int64`` where everything fits and Python integers (dtype ``object``) where it does not.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, lcm, log10, sqrt, ulp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.validation import Array

Integers = NDArray[Any]
"""An integer array of dtype ``int64`` or ``object``."""

LARGEST_DENOMINATOR = 10**6
"""Largest q of fractions p/q as which floats are read."""

MOST_DIGITS = 12
"""Largest number of digits of decimals as which floats are read."""

FEW_DIGITS = 9
"""The same for floats that may come from a subtraction."""

FITS = 2**62


class Rational(NamedTuple):
    """The array ``numerators / denominator``; the denominator is positive."""

    numerators: Integers
    denominator: int

    def fractions(self) -> NDArray[Any]:
        """Return the entries as ``Fraction`` objects."""
        result = np.empty(self.numerators.shape, dtype=object)
        for index, numerator in np.ndenumerate(self.numerators):
            result[index] = Fraction(int(numerator), self.denominator)
        return result

    def floats(self) -> Array:
        """Return the nearest floats."""
        return np.asarray(self.fractions(), dtype=np.float64)


def simplest(value: float, size: float = 0.0) -> Fraction | None:
    """Return the fraction or decimal that a float stands for, or None for any other float.

    With a ``size``, the value may come from a subtraction of numbers of that size, and a decimal of
    few digits within their rounding errors is meant; only 0 itself is read as 0.

    >>> simplest(0.1), simplest(0.3 - 0.1), simplest(1 / 3), simplest(2**0.5)
    (Fraction(1, 10), Fraction(1, 5), Fraction(1, 3), None)
    """
    if value == round(value):
        return Fraction(round(value))
    decimal = f"{value:.15g}"  # forgets the last bits: 0.3 - 0.1 stands for 0.2
    digits = decimal.split("e")[0].replace(".", "").replace("-", "").strip("0")
    if len(digits) <= MOST_DIGITS:
        return Fraction(decimal)
    if size > abs(value):
        places = FEW_DIGITS - ceil(log10(size))
        rounded = round(value, places)
        if rounded and abs(rounded - value) <= 4 * ulp(size):
            return Fraction(f"{rounded:.{max(places, 0)}f}")
    plain = Fraction(value).limit_denominator(1000)
    if abs(float(plain) - value) <= 4 * ulp(value):
        return plain
    # Fractions with denominators up to q are 1/q^2 apart: beyond this one float has several.
    largest = min(LARGEST_DENOMINATOR, int(0.5 / sqrt(ulp(value))))
    near = Fraction(value).limit_denominator(largest) if largest >= 1 else Fraction(0)
    return near if float(near) == value else None


def rationalize(array: Array) -> Rational | None:
    """Read a float array as fractions with one common denominator; None if it is not rational.

    >>> rationalize(np.array([0.5, 0.2]))
    Rational(numerators=array([5, 2]), denominator=10)
    """
    if np.array_equal(array, np.round(array)) and (np.abs(array) < 2**53).all():
        return Rational(array.astype(np.int64), 1)
    size = float(np.abs(array).max(initial=0.0))
    entries = [simplest(float(value), size) for value in array.flat]
    if any(entry is None for entry in entries):
        return None
    return from_fractions(np.array(entries, dtype=object).reshape(array.shape))


def from_fractions(array: NDArray[Any]) -> Rational:
    """Put an array of fractions on a common denominator."""
    denominator = lcm(1, *(entry.denominator for entry in array.flat))
    numerators = np.empty(array.shape, dtype=object)
    for index, entry in np.ndenumerate(array):
        numerators[index] = entry.numerator * (denominator // entry.denominator)
    return Rational(compact(numerators), denominator)


def integer_rows(matrix: Rational, right: Rational) -> tuple[Integers, Integers]:
    """Return rational rows matrix x <= right (or =) in integers."""
    rows = scaled(matrix.numerators, right.denominator)
    return rows, scaled(right.numerators, matrix.denominator)


def rounded(array: Array, denominator: int) -> Integers:
    """Return the numerators of the nearest multiples of ``1 / denominator``."""
    scaled = np.rint(array * denominator)
    if (np.abs(scaled) < 2**53).all():
        return scaled.astype(np.int64)
    numerators = np.empty(array.shape, dtype=object)
    for index, value in np.ndenumerate(array):
        numerators[index] = round(Fraction(float(value)) * denominator)
    return numerators


def compact(array: Integers) -> Integers:
    """Store an integer array as ``int64`` if every entry fits."""
    if array.dtype == np.int64 or magnitude(array) >= FITS:
        return array
    return array.astype(np.int64)


def magnitude(array: Integers) -> int:
    """Return the largest absolute value, 0 for an empty array."""
    return int(np.abs(array).max()) if array.size else 0


def product(left: Integers, right: Integers) -> Integers:
    """Return the exact matrix product."""
    inner = left.shape[-1]
    if inner == 0:
        return np.zeros(left.shape[:-1] + right.shape[1:], dtype=np.int64)
    if max(1, magnitude(left)) * max(1, magnitude(right)) * inner < FITS:
        return left.astype(np.int64, copy=False) @ right.astype(np.int64, copy=False)
    return np.asarray(left.astype(object) @ right.astype(object))


def scaled(array: Integers, factor: int) -> Integers:
    """Return the array times an integer, exactly."""
    if max(1, magnitude(array)) * abs(factor) < FITS:
        return array.astype(np.int64, copy=False) * factor
    return np.asarray(array.astype(object) * factor)


def total(*arrays: Integers) -> Integers:
    """Return the exact sum of integer arrays."""
    if sum(magnitude(array) for array in arrays) < FITS:
        return np.asarray(sum(array.astype(np.int64, copy=False) for array in arrays))
    return np.asarray(sum(array.astype(object) for array in arrays))


class Eliminated(NamedTuple):
    """A matrix after elimination: pivot column j has ``pivot`` in pivot row i, else 0."""

    matrix: Integers
    columns: tuple[int, ...]
    """The pivot column of each of the first ``rank`` rows; the other rows vanish."""
    pivot: int

    @property
    def rank(self) -> int:
        """Return how many rows are independent."""
        return len(self.columns)


def eliminate(matrix: Integers, width: int | None = None) -> Eliminated:
    """Bring an integer matrix to reduced echelon form without fractions (Bareiss, Jordan).

    Pivots of the matrix (n, d) are taken from the first ``width`` columns only; the others are
    carried along. Every division is exact and every entry is a minor of the input, so entries stay
    as short as possible. Cost O(rank n d) integer operations.
    """
    t = compact(np.array(matrix))
    n = len(t)
    width = t.shape[1] if width is None else width
    columns: list[int] = []
    pivot, column = 1, 0
    while (row := len(columns)) < n:
        ahead = np.flatnonzero((t[row:, column:width] != 0).any(axis=0))
        if len(ahead) == 0:
            break
        column += int(ahead[0])
        candidates = row + np.flatnonzero(t[row:, column])
        best = candidates[np.abs(t[candidates, column]).argmin()]
        t[[row, best]] = t[[best, row]]
        lead = int(t[row, column])
        if t.dtype == np.int64 and 2 * magnitude(t) ** 2 >= FITS:
            t = t.astype(object)
        others = np.arange(n) != row
        t[others] = (t[others] * lead - np.outer(t[others, column], t[row])) // pivot
        pivot = lead
        columns.append(column)
        column += 1
    return Eliminated(t.astype(object), tuple(columns), pivot)


def kernel(reduced: Eliminated, width: int) -> Integers:
    """Return integer columns that span {x : matrix x = 0}, shape (width, width - rank)."""
    pivots = list(reduced.columns)
    free = np.setdiff1d(np.arange(width), pivots)
    basis = np.zeros((width, len(free)), dtype=object)
    basis[free, np.arange(len(free))] = reduced.pivot
    basis[pivots] = -reduced.matrix[: len(pivots)][:, free]
    return compact(basis)

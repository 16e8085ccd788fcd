"""Linear programs in exact arithmetic: the last word when floating point cannot decide."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.numerics.rational import Integers

LARGEST_TABLEAU = 400_000
"""Largest number of entries of an exact linear program that is attempted."""


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """An optimum with its proof: <c, point> = value = <multipliers, b>, multipliers >= 0."""

    value: Fraction
    point: NDArray[Any]
    """Shape (n,), of ``Fraction``."""
    multipliers: NDArray[Any]
    """One per inequality, shape (m,), of ``Fraction``: A' multipliers = c."""


def maximize(objective: Integers, matrix: Integers, bounds: Integers) -> ExactSolution | str:
    """Maximise <c, x> subject to A x <= b over all x in R^n, exactly.

    The simplex method with Bland's rule (which cannot cycle) on an integer tableau: all entries
    share one denominator, the last pivot, and every division is exact. Given c (n,), A (m, n) and
    b (m,), return the optimum, or "infeasible", or "unbounded".
    """
    tableau = _Tableau(objective, matrix, bounds)
    if not tableau.find_feasible():
        return "infeasible"
    if not tableau.improve():
        return "unbounded"
    return tableau.solution()


def too_large(matrix: Integers) -> bool:
    """Whether a program with such rows A (m, n) is too large to be attempted."""
    rows, columns = matrix.shape
    return bool(rows * (2 * columns + rows) > LARGEST_TABLEAU)


def implied_equalities(
    upper: tuple[Integers, Integers], equal: tuple[Integers, Integers]
) -> tuple[NDArray[np.bool_], NDArray[Any]] | None:
    """Return which rows of A x <= b only hold with equality, and a point where no other one does.

    A (m, n), b (m,) and the equalities C x = d are integers; the mask has shape (m,), the point, of
    ``Fraction``, shape (n,). None if no x satisfies all rows, or if the program is too large.

    Notes
    -----
    Maximise t <= 1 subject to A x + t |A| <= b, with the lengths |A| of the rows rounded up. If the
    maximum is 0, some multipliers of these rows are positive and their combination is 0 = 0, so
    that every x satisfies such rows with equality; they lose their t, and the rest is tried again.
    """
    (rows, right), (known, level) = upper, equal
    m, n = rows.shape
    lengths = np.array([isqrt(int((row.astype(object) ** 2).sum())) + 1 for row in rows])
    implied = np.zeros(m, dtype=bool)
    zeros = np.zeros((len(known), 1), dtype=int)
    top = np.append(np.zeros(n, dtype=int), 1)
    bounds = np.concatenate([right, level, -level, [1]]).astype(object)
    while True:
        wide = np.column_stack([rows, np.where(implied, 0, lengths)])
        fixed = np.hstack([known, zeros])
        matrix = np.concatenate([wide, fixed, -fixed, top[None]]).astype(object)
        best = None if too_large(matrix) else maximize(top, matrix, bounds)
        if best is None or isinstance(best, str) or best.value < 0:
            return None
        if best.value > 0:
            return implied, best.point[:n]
        implied |= best.multipliers[:m] > 0


class _Tableau:
    """Rows: constraints, then the objective. Columns: x+, x-, slacks, an auxiliary, right side."""

    def __init__(self, objective: Integers, matrix: Integers, bounds: Integers) -> None:
        m, n = matrix.shape
        self.m, self.n = m, n
        self.auxiliary = 2 * n + m
        t = np.zeros((m + 1, 2 * n + m + 2), dtype=object)
        t[:m, :n], t[:m, n : 2 * n] = matrix, -matrix
        t[np.arange(m), 2 * n + np.arange(m)] = 1
        t[:m, -1] = bounds
        t[m, :n], t[m, n : 2 * n] = -objective, objective
        self.table = t
        self.denominator = 1
        self.basis = list(range(2 * n, 2 * n + m))

    def pivot(self, row: int, column: int) -> None:
        t = self.table
        if t[row, column] < 0:
            t[row] = -t[row]
        lead = t[row, column]
        others = np.arange(len(t)) != row
        t[others] = (t[others] * lead - np.outer(t[others, column], t[row])) // self.denominator
        self.denominator = lead
        self.basis[row] = column

    def improve(self) -> bool:
        """Pivot until the objective row has no negative entry; False if there is no maximum."""
        t, allowed = self.table, self.auxiliary
        while True:
            entering = next((j for j in range(allowed) if t[-1, j] < 0), None)
            if entering is None:
                return True
            rows = [i for i in range(self.m) if t[i, entering] > 0]
            if not rows:
                return False
            leaving = min(rows, key=lambda i: (Fraction(t[i, -1], t[i, entering]), self.basis[i]))
            self.pivot(leaving, entering)

    def find_feasible(self) -> bool:
        """Phase one: with a variable added to every row, drive that variable out again."""
        t = self.table
        if self.m == 0 or min(t[: self.m, -1]) >= 0:
            return True
        target = t[-1].copy()
        t[: self.m, self.auxiliary] = -1
        t[-1] = 0
        t[-1, self.auxiliary] = 1
        self.pivot(int(np.argmin(t[: self.m, -1])), self.auxiliary)
        self.improve()
        if t[-1, -1] < 0:
            return False
        if self.auxiliary in self.basis:
            row = self.basis.index(self.auxiliary)
            column = next((j for j in range(self.auxiliary) if t[row, j]), None)
            if column is not None:
                self.pivot(row, column)
        t[:, self.auxiliary] = 0
        t[-1] = target * self.denominator
        for row, column in enumerate(self.basis):
            if column != self.auxiliary:
                t[-1] -= target[column] * t[row]
        return True

    def solution(self) -> ExactSolution:
        t, n = self.table, self.n
        values = np.full(self.auxiliary + 1, Fraction(0), dtype=object)
        for row, column in enumerate(self.basis):
            values[column] = Fraction(t[row, -1], self.denominator)
        multipliers = np.array(
            [Fraction(entry, self.denominator) for entry in t[-1, 2 * n : self.auxiliary]],
            dtype=object,
        )
        point = np.array(values[:n] - values[n : 2 * n], dtype=object)
        return ExactSolution(Fraction(t[-1, -1], self.denominator), point, multipliers)

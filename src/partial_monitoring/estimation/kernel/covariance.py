"""The covariance of the numbers of a function, kept as a base minus the rows that came since."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partial_monitoring.estimation.kernel.append_only import AppendOnly
from partial_monitoring.kernels.gram import (
    DenseGram,
    Functionals,
    Gram,
    weighted_columns,
    weighted_rows,
)
from partial_monitoring.validation import Array

FOLD = 64
"""Number of rows that are folded at once into a base that is stored."""

TILE = 64
"""The side of the tiles in which they are: BLAS starts no threads for products this small."""

FEW = 2
"""Functionals of one or two weights are put together from columns of C, which are kept."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """C = base - rows' rows of one replicate."""

    gram: Gram
    base: Array | None
    """Shape (d, d); without one it is K, which is not written down."""
    rows: AppendOnly

    def times(self, row: Functionals) -> Array:
        """Return C s for one row s, shape (d,)."""
        if len(row.index) <= FEW:
            columns = zip(row.index.tolist(), row.weight.tolist(), strict=True)
            parts = [self.column(i) * weight for i, weight in columns]
            return parts[0] if len(parts) == 1 else np.asarray(parts[0] + parts[1])
        if self.base is None:
            whole = weighted_columns(self.gram, row)
        else:
            whole = row.weight @ self.base[row.index]
        known = self.rows.rows
        return np.asarray(whole - (known[:, row.index] @ row.weight) @ known)

    def products(self, rows: Functionals) -> Array:
        """Return s C for rows s (q, w), shape (q, d)."""
        known = self.rows.rows
        if self.base is not None and rows.index.shape[1] == 1:
            whole = self.base[rows.index[:, 0]] * rows.weight
        else:
            whole = weighted_rows(self.gram if self.base is None else DenseGram(self.base), rows)
        whole -= rows.of(known).T @ known
        return whole

    def column(self, i: int) -> Array:
        """Return one column of C, shape (d,), computed once: deciding and learning share it."""
        if i not in self._columns:
            whole = self.gram.columns(np.array([i]))[:, 0] if self.base is None else self.base[i]
            known = self.rows.rows
            self._columns[i] = whole - known[:, i] @ known
        return self._columns[i]

    @cached_property
    def _columns(self) -> dict[int, Array]:
        return {}

    def without(self, row: Array) -> Covariance:
        """Return C - w w'."""
        rows = self.rows.added(row)
        if self.base is None or rows.count < FOLD:
            return Covariance(self.gram, self.base, rows)
        return Covariance(self.gram, folded(self.base, rows.rows), AppendOnly.empty(len(row), FOLD))

    @cached_property
    def matrix(self) -> Array:
        """C, shape (d, d)."""
        whole = self.gram.matrix if self.base is None else self.base
        return np.asarray(whole - self.rows.rows.T @ self.rows.rows)


def folded(base: Array, rows: Array) -> Array:
    """Return base - rows' rows for a symmetric base, itself exactly symmetric."""
    found = np.empty_like(base)
    parts = [slice(start, start + TILE) for start in range(0, len(base), TILE)]
    for i, own in enumerate(parts):
        for other in parts[: i + 1]:
            tile = rows[:, own].T @ rows[:, other]
            np.subtract(base[own, other], tile, out=tile)
            found[own, other] = tile
            found[other, own] = tile.T
    return found

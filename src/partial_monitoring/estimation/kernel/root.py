"""Roots of the covariance of a function, for draws from its posterior.

The covariance of the d numbers is C = U U' with U = F P, where K = F F' is that before the first
round. A row s that is seen with noise lambda takes C s s' C / v from C, v = lambda + s' C s, and

    P - P a a' / (v + (lambda v)^(1/2)),    a = U' s,

gives a root of what is left (Potter's form of the Kalman filter). Nothing is factored after the
first round and nothing can become negative; a round costs O(D^2), a draw O(d D), however many
rounds came before. D is the number of columns of F, far below d for smooth kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel.design import KernelDesign
from partial_monitoring.kernels.gram import Functionals, Gram, factor
from partial_monitoring.validation import Array, frozen

MOST_ROOT = 2**25
"""Entries that F may have."""

LEFT = 1e-12
"""What is left of a variance may be this fraction of the largest one."""


@dataclass(frozen=True, eq=False)
class Root:
    """U = F P of one replicate."""

    prior: Array
    """F, shape (d, D), shared by all."""
    inner: Array
    """P, shape (D, D)."""

    def times(self, normals: Array) -> Array:
        """Return U z, shape (d,): with z (D,) standard normal, its covariance is C."""
        return np.asarray(self.prior @ (self.inner @ normals))

    def after(self, rows: Functionals, noise: float) -> Root:
        """Return the root when rows (m, w) were seen with noise of this variance."""
        inner = self.inner
        for j in range(len(rows.index)):
            known = (rows.weight[j] @ self.prior[rows.index[j]]) @ inner  # a
            size = noise + float(known @ known)
            scale = 1.0 / (size + np.sqrt(noise * size))
            inner = inner - np.outer(inner @ known, known * scale)
        return Root(self.prior, inner)


def prior_root(design: KernelDesign) -> Root:
    """Return the root before the first round."""
    own = factor(design.gram) if design.dense else pivoted(design.gram)
    return Root(frozen(own), np.eye(own.shape[1]))


def pivoted(gram: Gram) -> Array:
    """Return F (d, D) with K = F F' up to rounding, from some columns of K (pivoted Cholesky).

    It is for kernels so smooth that few columns tell all others.
    """
    left = np.array(gram.diagonal)
    least = LEFT * float(left.max())
    most = MOST_ROOT // gram.size
    found = np.empty((gram.size, min(most, gram.size, 64)))
    count = 0
    while (pivot := int(left.argmax())) >= 0 and left[pivot] > least:
        if count == min(most, gram.size):
            raise InvalidInput(
                f"draws need a root of the Gram matrix with at most {most} columns; that of "
                f"{gram.size} numbers needs more: take fewer candidates or a smoother kernel."
            )
        if count == found.shape[1]:
            more = min(count, most - count, gram.size - count)
            found = np.concatenate([found, np.empty((gram.size, more))], axis=1)
        column = gram.columns(np.array([pivot]))[:, 0] - found[:, :count] @ found[pivot, :count]
        found[:, count] = column / np.sqrt(left[pivot])
        left -= found[:, count] ** 2
        left[pivot] = 0.0
        count += 1
    return np.ascontiguousarray(found[:, :count])

"""Gram matrices of the d numbers through which one unknown function enters a game.

The numbers are values of the function at points, its derivatives there, or whatever three kernels
describe. Rewards and observations are weighted sums of them, and their Gram matrix K is all that is
known beforehand: how large each of them can be, and how they are correlated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.kernels.wrapped import as_kernel
from partial_monitoring.numerics.linalg import equal_rows
from partial_monitoring.validation import Array, Indices, ReadOnly, frozen

MOST_ENTRIES = 2**27
"""Largest number of entries of a Gram matrix that is stored."""

INDEFINITE = 1e-8
"""Tolerance for negative eigenvalues of a Gram matrix, relative to its largest entry and size."""

ROUNDING = 1e-14
"""Share of its largest entry by which a Gram matrix may be indefinite without being corrected."""

SYMMETRY_TOLERANCE = 1e-8
"""Share of its largest entry by which a Gram matrix may fail to be symmetric."""

BLOCK = 2**22
"""Number of entries of a Gram matrix that are computed at once when it is not stored."""


@dataclass(frozen=True, eq=False)
class Functionals(ReadOnly):
    """Weighted sums of d numbers: each is the sum of weight[..., j] * numbers[index[..., j]].

    Shorter sums are padded with weights of zero.
    """

    index: Indices
    """Shape (..., w)."""
    weight: Array
    """Shape (..., w)."""

    @cached_property
    def plain(self) -> bool:
        """Whether row i is the number i, for all rows of one axis."""
        count = len(self.index)
        return (
            self.index.shape == (count, 1)
            and bool((self.weight == 1.0).all())
            and np.array_equal(self.index[:, 0], np.arange(count))
        )

    def of(self, numbers: Array) -> Array:
        """Return the sums of numbers (..., d), shape (..., rows)."""
        if self.plain and len(self.index) == numbers.shape[-1]:
            return numbers
        if self.index.shape[-1] == 1:
            return np.asarray(numbers[..., self.index[..., 0]] * self.weight[..., 0])
        return np.asarray((numbers[..., self.index] * self.weight).sum(axis=-1))

    def dense(self, d: int) -> Array:
        """Return the rows as vectors, shape (..., d)."""
        flat_index = self.index.reshape(-1, self.index.shape[-1])
        flat_weight = self.weight.reshape(flat_index.shape)
        if len(flat_index) * d > MOST_ENTRIES:
            raise InvalidInput(
                f"{len(flat_index)} rows of length {d} are too many to store; a kernel game of "
                f"this size is played without them."
            )
        full = np.zeros((len(flat_index), d))
        np.add.at(full, (np.arange(len(flat_index))[:, None], flat_index), flat_weight)
        return frozen(full.reshape(*self.index.shape[:-1], d))

    def __getitem__(self, chosen: Any) -> Functionals:
        return Functionals(self.index[chosen], self.weight[chosen])


@dataclass(frozen=True, eq=False)
class DenseGram(ReadOnly):
    """A Gram matrix K of d numbers that is given as an array."""

    matrix: Array
    """K, shape (d, d)."""

    @property
    def size(self) -> int:
        """The number d."""
        return len(self.matrix)

    @property
    def diagonal(self) -> Array:
        """The diagonal of K, shape (d,)."""
        return np.asarray(self.matrix.diagonal())

    @cached_property
    def copies(self) -> Indices:
        """Numbers (d,) that are the same for entries of the function that are always the same."""
        return equal_rows(self.matrix)

    def columns(self, index: Indices) -> Array:
        """Return some columns of K, shape (d, q)."""
        return self.matrix[:, index]


@dataclass(frozen=True, eq=False)
class KernelGram(ReadOnly):
    """The Gram matrix of values and derivatives of a function; it may be too large to store."""

    kernel: Kernel
    points: Array
    """Where the function is read, shape (d, p)."""
    axes: Indices
    """Coordinate of the derivative, -1 for the value, shape (d,)."""

    @property
    def size(self) -> int:
        return len(self.points)

    @cached_property
    def diagonal(self) -> Array:
        if (self.axes < 0).all():
            return frozen(self.kernel.evaluate_diagonal(self.points))
        each = [
            _block(self.kernel, self.points[[i]], self.axes[[i]], self.points[[i]], self.axes[[i]])
            for i in range(self.size)
        ]
        return frozen(np.concatenate(each)[:, 0])

    @cached_property
    def copies(self) -> Indices:
        return equal_rows(np.column_stack([self.points, self.axes]))

    def columns(self, index: Indices) -> Array:
        return _block(self.kernel, self.points, self.axes, self.points[index], self.axes[index])

    @cached_property
    def matrix(self) -> Array:
        if self.size**2 > MOST_ENTRIES:
            raise InvalidInput(f"the Gram matrix of {self.size} numbers is too large to store.")
        if (self.axes < 0).all():
            full = self.kernel.evaluate(self.points)
        else:
            full = _block(self.kernel, self.points, self.axes, self.points, self.axes)
            full = (full + full.T) / 2
        if not self.kernel.certified:
            refuse_indefinite(full, "kernel")
        return frozen(full)


Gram = DenseGram | KernelGram


def refuse_indefinite(matrix: Array, name: str) -> tuple[Array, Array]:
    """Refuse an indefinite matrix; return its eigenvalues, smallest first, and eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    if float(values[0]) < -INDEFINITE * float(np.abs(matrix).max()) * len(matrix):
        raise InvalidInput(
            f"{name} must be positive semidefinite; the smallest eigenvalue of the Gram matrix is "
            f"{values[0]:.3g}."
        )
    return values, vectors


def cholesky(matrix: Array) -> Array:
    """Return L with L L' = I + the Gram matrix of the observations."""
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        raise InvalidInput(
            "kernel must be positive semidefinite; its Gram matrix of what was played is not."
        ) from None


def gram_of(kernel: object, points: Array, axes: Indices | None = None) -> KernelGram:
    """Return the Gram matrix of a kernel at points (d, p), of values unless axes (d,) are given."""
    own = as_kernel(kernel)
    try:
        own.diagonal(points[:1])
    except InvalidInput as error:
        shape = f"(n, {points.shape[1]})"
        raise InvalidInput(f"kernel must fit points of shape {shape}: {error}") from None
    return KernelGram(own, points, np.full(len(points), -1) if axes is None else axes)


def _block(kernel: Kernel, x: Array, x_axes: Indices, y: Array, y_axes: Indices) -> Array:
    """Return the covariances of what is read at x (n, p) and at y (q, p), shape (n, q)."""
    values, others = x_axes < 0, y_axes < 0
    if values.all() and others.all():
        return kernel.evaluate(x, y)
    full = np.empty((len(x), len(y)))
    if values.any() and others.any():
        full[np.ix_(values, others)] = kernel.evaluate(x[values], y[others])
    if (~values).any() and others.any():
        slopes = kernel.evaluate_gradient(x[~values], y[others])
        full[np.ix_(~values, others)] = _along(slopes, x_axes[~values])
    if values.any() and (~others).any():
        slopes = kernel.evaluate_gradient(y[~others], x[values])
        full[np.ix_(values, ~others)] = _along(slopes, y_axes[~others]).T
    if (~values).any() and (~others).any():
        bends = kernel.evaluate_mixed(x[~values], y[~others])  # (n, q, p, p)
        i, j = np.ogrid[: bends.shape[0], : bends.shape[1]]
        own = bends[i, j, x_axes[~values][:, None], y_axes[~others]]
        full[np.ix_(~values, ~others)] = own
    return full


def _along(slopes: Array, axes: Indices) -> Array:
    """Take one coordinate per point from gradients (n, q, p), shape (n, q)."""
    return np.asarray(slopes[np.arange(len(slopes)), :, axes])


def inner(gram: Gram, left: Functionals, right: Functionals) -> Array:
    """Return left_i K right_i' for rows (q, w) of both kinds, shape (q,)."""
    count, width = left.index.shape
    if width == 1 and right.index.shape[1] == 1 and np.array_equal(left.index, right.index):
        each = gram.diagonal[left.index[:, 0]]
        return np.asarray(left.weight[:, 0] * right.weight[:, 0] * each)
    found = np.empty(count)
    step = max(1, BLOCK // (gram.size * right.index.shape[1]))
    for start in range(0, count, step):
        block = slice(start, start + step)
        columns, place = _needed_columns(gram, right.index[block])
        covariances = columns[left.index[block][:, :, None], place[:, None, :]]  # (q, w, w')
        weights = left.weight[block][:, :, None] * right.weight[block][:, None, :]
        found[block] = (covariances * weights).sum(axis=(1, 2))
    return found


def factor(gram: Gram, tolerance: float = 1e-15) -> Array:
    """Return F with K = F F', shape (d, D), without directions at the level of rounding.

    Numbers with equal rows of K, such as values at equal points, have equal rows of F: otherwise
    their difference, which is rounding, would pass for something that can be observed.
    """
    matrix = gram.matrix
    _, first, group = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    distinct = np.sort(first)
    place = np.searchsorted(distinct, first)[group.reshape(-1)]
    values, vectors = np.linalg.eigh(matrix[np.ix_(distinct, distinct)])
    kept: NDArray[np.bool_] = values > tolerance * len(matrix) * max(float(values[-1]), 1e-300)
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept]))[place])


def weighted_columns(gram: Gram, row: Functionals) -> Array:
    """Return K s for one row s (w,), shape (d,)."""
    return np.asarray(gram.columns(row.index) @ row.weight)


def weighted_rows(gram: Gram, rows: Functionals) -> Array:
    """Return s K for rows s (q, w), shape (q, d)."""
    columns, chosen = _needed_columns(gram, rows.index)
    found = np.empty((len(chosen), gram.size))
    for a, (own, weight) in enumerate(zip(chosen, rows.weight, strict=True)):
        found[a] = columns[:, own] @ weight
    return found


def _needed_columns(gram: Gram, index: Indices) -> tuple[Array, Indices]:
    """Return each column of K that occurs once, (d, q), and where the indices are among them."""
    atoms, place = np.unique(index, return_inverse=True)
    return gram.columns(atoms), np.reshape(place, index.shape)


def joint_gram(
    rewards: Array, shown: Array, cross: Array
) -> tuple[DenseGram, Functionals, Functionals]:
    """Return the Gram matrix of what three kernels describe, and its rewards and observations.

    The kernels are those of rewards (k, k), of observations (k m, k m), and of both (k, k, m).
    """
    k, m = len(rewards), cross.shape[2]
    own = Functionals(np.arange(k)[:, None], np.ones((k, 1)))
    flat = cross.reshape(k, k * m)
    if m == 1 and np.array_equal(rewards, shown) and np.array_equal(rewards, flat):
        return _semidefinite(rewards), own, own[:, None]
    whole = np.block([[rewards, flat], [flat.T, shown]])
    places = k + np.arange(k * m).reshape(k, m, 1)
    return _semidefinite(whole), own, Functionals(places, np.ones((k, m, 1)))


def _semidefinite(matrix: Array) -> DenseGram:
    """Return a Gram matrix, if it can be one."""
    size = float(np.abs(matrix).max(initial=0.0))
    if float(np.abs(matrix - matrix.T).max(initial=0.0)) > SYMMETRY_TOLERANCE * size:
        raise InvalidInput("reward_kernel and observation_kernel must be symmetric; they are not.")
    even = (matrix + matrix.T) / 2
    values, vectors = refuse_indefinite(even, "the three kernels together")
    if float(values[0]) < -ROUNDING * size * len(matrix):  # the nearest that is
        even = (vectors * np.maximum(values, 0.0)) @ vectors.T
        even = (even + even.T) / 2
    return DenseGram(frozen(even))

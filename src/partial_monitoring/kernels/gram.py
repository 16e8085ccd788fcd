"""The finitely many numbers through which one unknown function enters a game, and how they vary.

The numbers are values of the function at points, its derivatives there, or whatever three kernels
describe. Rewards and observations are weighted sums of them, and all that is known beforehand is
their Gram matrix K: how large the function can be in each of them and how they hang together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.kernels.combined import Combined
from partial_monitoring.kernels.elementary import Elementary
from partial_monitoring.validation import Array, Indices, frozen

MOST_ENTRIES = 2**27
"""Larger Gram matrices are not written down."""

INDEFINITE = 1e-8
"""By how much of its largest entry, times its size, a Gram matrix may fail to be semidefinite."""

BLOCK = 2**22
"""Entries of a Gram matrix that are computed at once when it is not written down."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Weighted sums of d numbers: each reads the sum of weight[..., j] * numbers[index[..., j]].

    Shorter sums are padded with weights of zero.
    """

    index: Indices
    """Shape (..., w)."""
    weight: Array
    """Shape (..., w)."""

    @cached_property
    def plain(self) -> bool:
        """Whether row i reads the number i, for all of one axis of them."""
        count = len(self.index)
        return (
            self.index.shape == (count, 1)
            and bool((self.weight == 1.0).all())
            and np.array_equal(self.index[:, 0], np.arange(count))
        )

    def of(self, numbers: Array) -> Array:
        """Return what the rows read of numbers (..., d), shape (..., rows)."""
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
                f"{len(flat_index)} rows of length {d} are too many to write down; a kernel game "
                f"of this size is played without."
            )
        full = np.zeros((len(flat_index), d))
        np.add.at(full, (np.arange(len(flat_index))[:, None], flat_index), flat_weight)
        return frozen(full.reshape(*self.index.shape[:-1], d))

    def __getitem__(self, chosen: Any) -> Rows:
        return Rows(self.index[chosen], self.weight[chosen])


class Gram(Protocol):
    """How d numbers hang together: K, which may be too large to be written down."""

    @property
    def size(self) -> int:
        """The number d."""
        ...

    @property
    def diagonal(self) -> Array:
        """The diagonal of K, shape (d,)."""
        ...

    def columns(self, index: Indices) -> Array:
        """Return some columns of K, shape (d, q)."""
        ...

    @property
    def matrix(self) -> Array:
        """K, shape (d, d)."""
        ...


@dataclass(frozen=True, eq=False)
class Written:
    """A Gram matrix that is given."""

    matrix: Array

    @property
    def size(self) -> int:
        """The number d."""
        return len(self.matrix)

    @property
    def diagonal(self) -> Array:
        """The diagonal of K, shape (d,)."""
        return np.asarray(self.matrix.diagonal())

    def columns(self, index: Indices) -> Array:
        """Return some columns of K, shape (d, q)."""
        return self.matrix[:, index]


@dataclass(frozen=True, eq=False)
class Computed:
    """The Gram matrix of values and derivatives of a function, from its kernel."""

    kernel: Kernel
    points: Array
    """Where the function is read, shape (d, p)."""
    axes: Indices
    """Along which coordinate it is derived, -1 for its value, shape (d,)."""

    @property
    def size(self) -> int:
        """The number d."""
        return len(self.points)

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of K, shape (d,)."""
        if (self.axes < 0).all():
            return frozen(np.array(self.kernel.diagonal(self.points)))
        each = [
            _block(self.kernel, self.points[[i]], self.axes[[i]], self.points[[i]], self.axes[[i]])
            for i in range(self.size)
        ]
        return frozen(np.concatenate(each)[:, 0])

    def columns(self, index: Indices) -> Array:
        """Return some columns of K, shape (d, q)."""
        return _block(self.kernel, self.points, self.axes, self.points[index], self.axes[index])

    @cached_property
    def matrix(self) -> Array:
        """K, shape (d, d)."""
        if self.size**2 > MOST_ENTRIES:
            raise InvalidInput(
                f"the Gram matrix of {self.size} numbers is too large to be written down."
            )
        if (self.axes < 0).all():
            full = np.array(self.kernel(self.points))
        else:
            full = _block(self.kernel, self.points, self.axes, self.points, self.axes)
            full = (full + full.T) / 2
        if _foreign(self.kernel):
            refuse_indefinite(full, "kernel")
        return frozen(full)


AnyGram = Written | Computed


def refuse_indefinite(matrix: Array, name: str) -> tuple[Array, Array]:
    """Refuse a matrix that is no Gram matrix; return eigenvalues, smallest first, and vectors."""
    values, vectors = np.linalg.eigh(matrix)
    if float(values[0]) < -INDEFINITE * float(np.abs(matrix).max()) * len(matrix):
        raise InvalidInput(
            f"{name} must be positive semidefinite; the smallest eigenvalue of the Gram matrix is "
            f"{values[0]:.3g}."
        )
    return values, vectors


def cholesky(matrix: Array) -> Array:
    """Return L with L L' = I + a Gram matrix, of what was seen of a function."""
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        raise InvalidInput(
            "kernel must be positive semidefinite; its Gram matrix of what was played is not."
        ) from None


def refuse_unfit(kernel: Kernel, points: Array) -> None:
    """Refuse a kernel that cannot be computed at points (n, p)."""
    try:
        kernel.diagonal(points[:1])
    except InvalidInput as error:
        raise InvalidInput(
            f"kernel must fit points of shape (n, {points.shape[1]}): {error}"
        ) from None


def _foreign(kernel: Kernel) -> bool:
    """Whether a kernel is not one of this library, which are all semidefinite."""
    if isinstance(kernel, Combined):
        return any(map(_foreign, kernel._parts))
    return not isinstance(kernel, Elementary)


def _block(kernel: Kernel, x: Array, x_axes: Indices, y: Array, y_axes: Indices) -> Array:
    """Return the covariances of what is read at x (n, p) and at y (q, p), shape (n, q)."""
    values, others = x_axes < 0, y_axes < 0
    if values.all() and others.all():
        return np.asarray(kernel(x, y))
    full = np.empty((len(x), len(y)))
    if values.any() and others.any():
        full[np.ix_(values, others)] = kernel(x[values], y[others])
    if (~values).any() and others.any():
        slopes = kernel.gradient(x[~values], y[others])
        full[np.ix_(~values, others)] = _along(slopes, x_axes[~values])
    if values.any() and (~others).any():
        slopes = kernel.gradient(y[~others], x[values])
        full[np.ix_(values, ~others)] = _along(slopes, y_axes[~others]).T
    if (~values).any() and (~others).any():
        bends = kernel.mixed(x[~values], y[~others])  # (n, q, p, p)
        first = np.arange(len(bends))[:, None]
        second = np.arange(bends.shape[1])[None]
        full[np.ix_(~values, ~others)] = bends[
            first, second, x_axes[~values][:, None], y_axes[~others][None]
        ]
    return full


def _along(slopes: Array, axes: Indices) -> Array:
    """Take one coordinate per point from gradients (n, q, p), shape (n, q)."""
    return np.asarray(slopes[np.arange(len(slopes)), :, axes])


def inner(gram: Gram, left: Rows, right: Rows) -> Array:
    """Return left_i K right_i' for rows (q, w) of both kinds, shape (q,)."""
    count, width = left.index.shape
    if width == 1 and right.index.shape[1] == 1 and np.array_equal(left.index, right.index):
        each = gram.diagonal[left.index[:, 0]]
        return np.asarray(left.weight[:, 0] * right.weight[:, 0] * each)
    found = np.empty(count)
    step = max(1, BLOCK // (gram.size * right.index.shape[1]))
    for start in range(0, count, step):
        part = slice(start, start + step)
        atoms, place = np.unique(right.index[part], return_inverse=True)
        columns = gram.columns(atoms)  # (d, atoms)
        place = np.reshape(place, right.index[part].shape)
        covariances = columns[left.index[part][:, :, None], place[:, None, :]]  # (q, w, w')
        weights = left.weight[part][:, :, None] * right.weight[part][:, None, :]
        found[part] = (covariances * weights).sum(axis=(1, 2))
    return found


def factor(gram: Gram, tolerance: float = 1e-15) -> Array:
    """Return F with K = F F', shape (d, D), without directions that are rounding."""
    values, vectors = np.linalg.eigh(gram.matrix)
    kept: NDArray[np.bool_] = values > tolerance * len(values) * max(float(values[-1]), 1e-300)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def weighted_columns(gram: Gram, row: Rows) -> Array:
    """Return K s for one row s (w,), shape (d,)."""
    return np.asarray(gram.columns(row.index) @ row.weight)


def weighted_rows(gram: Gram, rows: Rows) -> Array:
    """Return s K for rows s (q, w), shape (q, d)."""
    atoms, place = np.unique(rows.index, return_inverse=True)
    columns = gram.columns(atoms)  # (d, atoms)
    chosen = np.reshape(place, rows.index.shape)
    found = np.empty((len(chosen), gram.size))
    for a, (own, weight) in enumerate(zip(chosen, rows.weight, strict=True)):
        found[a] = columns[:, own] @ weight
    return found

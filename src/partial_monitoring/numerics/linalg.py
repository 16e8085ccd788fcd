"""Spans and bases of row spaces, with one tolerance for what counts as zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.numerics import compiled
from partial_monitoring.validation import Array, frozen

RANK_TOLERANCE = 1e-9
"""A direction counts as absent when unit rows have less than this of it."""

ILL_CONDITIONED = 1e6
"""A Gram matrix that is larger than its least eigenvalue by this factor has lost as many digits."""


def halved(vector: Array) -> tuple[Array, int]:
    """Return a vector of entries of at most 1 and how often it has to be doubled; exact.

    Its squares neither overflow nor vanish, whatever the size of the vector.

    >>> halved(np.array([6.0, -4.0]))
    (array([ 0.75, -0.5 ]), 3)
    """
    exponent = int(np.frexp(np.abs(vector).max(initial=0.0))[1])
    return np.ldexp(vector, -exponent), exponent


def length(vector: Array) -> float:
    """Return the Euclidean length of a vector of any size.

    >>> length(np.ldexp([3.0, 4.0], 600)) == 5.0 * 2.0**600
    True
    """
    small, exponent = halved(vector)
    return float(np.ldexp(np.linalg.norm(small), exponent))


def unit_rows(rows: Array) -> Array:
    """Scale every row to Euclidean length 1; rows of zeros are dropped. Shape (n, d) -> (n', d)."""
    lengths = np.linalg.norm(rows, axis=1)
    seen = lengths > 0
    return np.asarray(rows[seen] / lengths[seen, None])


def row_space(rows: Array) -> Array:
    """Orthonormal basis of the span of the rows.

    The rows should be of comparable size (see :func:`unit_rows`), because the singular values are
    compared with ``RANK_TOLERANCE`` itself: rows that are noise of size 1e-16 span nothing. Shape
    (n, d) -> (d, r), with r = 0 if all rows are zero.
    """
    values, right = singular(rows)
    rank = int((values > RANK_TOLERANCE).sum())
    return np.asarray(right[:rank].T.copy())


def equal_rows(rows: Array) -> NDArray[np.int64]:
    """Return for each row the number of a row that it equals, the same for all of them, (n,).

    >>> equal_rows(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]])).tolist()
    [0, 1, 0]
    """
    n, width = rows.shape
    if width == 0:
        return np.zeros(n, dtype=np.int64)
    if len(set(rows.sum(axis=1).tolist())) == n:
        return np.arange(n)  # equal rows have equal sums
    plain = np.ascontiguousarray(
        rows + 0.0
    )  # -0.0 becomes 0.0, so that equal rows have equal bytes
    whole = plain.view(np.dtype((np.void, plain.itemsize * width)))[:, 0]
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    return np.asarray(first[np.reshape(place, n)])


def in_basis(rows: Array, basis: Array) -> Array:
    """Return rows @ basis, shape (..., r); the rows themselves if the basis is the identity."""
    d, r = basis.shape
    if d == r and np.array_equal(basis, np.eye(d)):
        return rows
    return frozen(np.ascontiguousarray(rows @ basis))


def null_space(rows: Array) -> Array:
    """Orthonormal basis of the directions on which all rows vanish. Shape (n, d) -> (d, d - r)."""
    d = rows.shape[1]
    if not rows.any():
        return np.eye(d)
    values, right = singular(np.concatenate([rows, np.zeros((d, d))]))
    rank = int((values > RANK_TOLERANCE).sum())
    return np.asarray(right[rank:].T.copy())


def singular(rows: Array, block: int = 65_536) -> tuple[Array, Array]:
    """Return singular values and right singular vectors (as rows) in O(n d^2).

    Tall matrices are reduced to a triangle of d rows, in blocks that bound the memory.
    """
    n, d = rows.shape
    if n > 2 * d:
        triangle = np.zeros((0, d))
        for start in range(0, n, block):
            stacked = np.concatenate([triangle, rows[start : start + block]])
            triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
        rows = triangle
    if not rows.any():
        return np.zeros(0), np.zeros((0, d))
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    return values, right


def is_ill_conditioned(gram: Array, least: float) -> NDArray[np.bool_]:
    """Return which Gram matrices (n, r, r) have lost digits of their least eigenvalue."""
    size = np.trace(gram, axis1=1, axis2=2)
    return np.asarray(size > ILL_CONDITIONED * least)


def applied(matrices: Array, vectors: Array) -> Array:
    """Multiply a matrix (or one per replicate) with one vector per replicate, shape (n, ...)."""
    stacked = np.ascontiguousarray(matrices[None] if matrices.ndim == 2 else matrices[:])
    return np.asarray(compiled.linear.transform_each(frozen(stacked), vectors))

"""Kernels of the inner product of two points: constant, linear, polynomial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from partial_monitoring.kernels.elementary import Elementary
from partial_monitoring.validation import Array


@dataclass(frozen=True)
class Constant(Elementary):
    """k(x, y) = value: functions that are the same everywhere.

    >>> Constant(2.0)([[0.0], [1.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    TYPE: ClassVar[str] = "constant"
    FREE: ClassVar[tuple[str, ...]] = ("value",)
    SIZE: ClassVar[str] = "value"
    value: float = 1.0

    def _values(self, x: Array, y: Array) -> Array:
        return np.full((len(x), len(y)), self.value)

    def _diagonal(self, x: Array) -> Array:
        return np.full(len(x), self.value)

    def _gradient(self, x: Array, y: Array) -> Array:
        return np.zeros((len(x), len(y), x.shape[1]))

    def _mixed(self, x: Array, y: Array) -> Array:
        return np.zeros((len(x), len(y), x.shape[1], x.shape[1]))


class _InnerProduct(Elementary):
    """k(x, y) = variance s^degree with s = <x, y> + offset."""

    FREE: ClassVar[tuple[str, ...]] = ("offset", "variance")
    degree: int
    offset: float
    variance: float

    def _values(self, x: Array, y: Array) -> Array:
        values = _power(self._inner(x, y), self.degree)
        values *= self.variance
        return values

    def _diagonal(self, x: Array) -> Array:
        return self.variance * _power(np.einsum("ni,ni->n", x, x) + self.offset, self.degree)

    def _gradient(self, x: Array, y: Array) -> Array:
        """dk/dx_i = variance degree s^(degree-1) y_i."""
        rate = self.variance * self.degree * _power(self._inner(x, y), self.degree - 1)
        return np.asarray(rate[:, :, None] * y[None, :, :])

    def _mixed(self, x: Array, y: Array) -> Array:
        """d^2 k / dx_i dy_j = variance n (s^(n-1) [i = j] + (n-1) s^(n-2) y_i x_j), n = degree."""
        s, n = self._inner(x, y), self.degree
        size = self.variance * n
        result: Array = (size * _power(s, n - 1))[:, :, None, None] * np.eye(x.shape[1])
        if n > 1:
            rate = size * (n - 1) * _power(s, n - 2)
            result += rate[:, :, None, None] * (y[None, :, :, None] * x[:, None, None, :])
        return result

    def _inner(self, x: Array, y: Array) -> Array:
        s: Array = x @ y.T
        s += self.offset
        return s


@dataclass(frozen=True)
class Linear(_InnerProduct):
    """k(x, y) = variance (<x, y> + offset): linear functions, with an offset also affine ones.

    An offset of zero stays zero: it is not a free parameter.

    >>> Linear(variance=2.0, offset=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[24.]])
    """

    TYPE: ClassVar[str] = "linear"
    FREE: ClassVar[tuple[str, ...]] = ("variance", "offset")
    degree: ClassVar[int] = 1  # type: ignore[misc]
    variance: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Polynomial(_InnerProduct):
    """k(x, y) = variance (<x, y> + offset)^degree: polynomials of at most that degree.

    With an offset of zero they are homogeneous, and the offset is not a free parameter; the degree
    never is.

    >>> Polynomial(2, offset=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    TYPE: ClassVar[str] = "polynomial"
    degree: int = 2
    offset: float = 1.0
    variance: float = 1.0


def _power(s: Array, n: int) -> Array:
    """Return s^n by multiplication, which is many times faster than NumPy's power."""
    power = s.copy() if n else np.ones_like(s)
    for _ in range(n - 1):
        power *= s
    return power

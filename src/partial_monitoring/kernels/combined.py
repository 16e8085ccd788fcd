"""Sums and products of kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import iadd, imul
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.base import Arithmetic, Kernel
from partial_monitoring.kernels.polynomial import Constant
from partial_monitoring.validation import Array, brief, set_fields

T = TypeVar("T")


MOST_LEVELS = 50
"""Largest depth of sums of products of sums ..."""


class Combined(Kernel):
    """A frozen dataclass with one field, the tuple of the kernels that are combined."""

    TYPE: ClassVar[str]
    """Its name in files."""
    FIELD: ClassVar[str]
    """The name of the field, with which the names of the parameters begin."""

    def __post_init__(self) -> None:
        parts = getattr(self, self.FIELD)
        if not isinstance(parts, tuple | list) or not parts:
            raise InvalidInput(
                f"{self.FIELD} must be one kernel or more, in a row; got {brief(parts)}."
            )
        flat: list[Kernel] = []
        for part in parts:
            if not isinstance(part, Kernel):
                raise InvalidInput(f"{self.FIELD} must be kernels; got {brief(part)}.")
            flat += part._parts_of(self.TYPE)
        levels = 1 + max(part.levels for part in flat)
        if levels > MOST_LEVELS:
            raise InvalidInput(f"{self.FIELD} must be nested at most {MOST_LEVELS} levels deep.")
        set_fields(self, **{self.FIELD: tuple(flat), "levels": levels})

    @property
    def differentiable(self) -> bool:
        return all(part.differentiable for part in self._parts)

    @property
    def certified(self) -> bool:
        return all(part.certified for part in self._parts)

    @property
    def lengthscales(self) -> list[Array]:
        own = [part.lengthscales for part in self._parts]
        return [scales for part in own for scales in part] if all(own) else []

    @property
    def parameters(self) -> dict[str, float]:
        return self._named([part.parameters for part in self._parts])

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        return self._named([part.bounds for part in self._parts])

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.TYPE, self.FIELD: [part.to_dict() for part in self._parts]}

    @property
    def _parts(self) -> tuple[Kernel, ...]:
        parts: tuple[Kernel, ...] = getattr(self, self.FIELD)
        return parts

    def _parts_of(self, kind: str) -> tuple[Kernel, ...]:
        return self._parts if kind == self.TYPE else (self,)

    def _named(self, of_parts: Sequence[Mapping[str, T]]) -> dict[str, T]:
        return {
            f"{self.FIELD}[{i}].{name}": value
            for i, part in enumerate(of_parts)
            for name, value in part.items()
        }

    def _with(self, values: Mapping[str, float]) -> Self:
        new = tuple(
            part._with({name: values[f"{self.FIELD}[{i}].{name}"] for name in part.parameters})
            for i, part in enumerate(self._parts)
        )
        return replace(self, **{self.FIELD: new})  # type: ignore[type-var]

    def _require_derivatives(self) -> None:
        for part in self._parts:
            part._require_derivatives()

    def _values(self, x: Array, y: Array) -> Array:
        return self._joined(part._values(x, y) for part in self._parts)

    def _square(self, x: Array) -> Array:
        return self._joined(part._square(x) for part in self._parts)

    def _diagonal(self, x: Array) -> Array:
        return self._joined(part._diagonal(x) for part in self._parts)

    @abstractmethod
    def _joined(self, values: Iterable[Array]) -> Array:
        """Return the sum or the product of arrays, stored in the first of them."""


@dataclass(frozen=True, repr=False)
class Sum(Combined):
    """k(x, y) = sum of the terms: a function that is the sum of independent ones.

    >>> from partial_monitoring.kernels import Linear, SquaredExponential
    >>> trend = SquaredExponential(0.5) + Linear()
    >>> trend
    SquaredExponential(lengthscale=0.5, variance=1.0) + Linear(variance=1.0, offset=0.0)
    >>> trend.parameters
    {'terms[0].lengthscale': 0.5, 'terms[0].variance': 1.0, 'terms[1].variance': 1.0}
    """

    TYPE: ClassVar[str] = "sum"
    FIELD: ClassVar[str] = "terms"
    terms: tuple[Kernel, ...]

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def _joined(self, values: Iterable[Array]) -> Array:
        return reduce(iadd, values)

    def _gradient(self, x: Array, y: Array) -> Array:
        return self._joined(term._gradient(x, y) for term in self.terms)

    def _mixed(self, x: Array, y: Array) -> Array:
        return self._joined(term._mixed(x, y) for term in self.terms)

    def _scaled(self, factor: float) -> Kernel:
        return Sum(tuple(term._scaled(factor) for term in self.terms))


@dataclass(frozen=True, repr=False)
class Product(Combined):
    """k(x, y) = product of the factors.

    Each factor has its own variance; data can determine only their product.

    >>> from partial_monitoring.kernels import Periodic, SquaredExponential
    >>> fading = 2.0 * SquaredExponential(10.0) * Periodic(1.0)
    >>> fading([[0.0]], [[0.0], [1.0], [10.0]]).round(4)
    array([[2.    , 1.99  , 1.2131]])
    """

    TYPE: ClassVar[str] = "product"
    FIELD: ClassVar[str] = "factors"
    factors: tuple[Kernel, ...]

    def __repr__(self) -> str:
        return " * ".join(f"({f!r})" if isinstance(f, Sum) else repr(f) for f in self.factors)

    def _joined(self, values: Iterable[Array]) -> Array:
        return reduce(imul, values)

    def _gradient(self, x: Array, y: Array) -> Array:
        value, slope = self.factors[0]._values(x, y), self.factors[0]._gradient(x, y)
        for factor in self.factors[1:]:
            other = factor._values(x, y)
            slope = slope * other[..., None] + value[..., None] * factor._gradient(x, y)
            value = value * other
        return slope

    def _mixed(self, x: Array, y: Array) -> Array:
        return reduce(_times, [_jet(factor, x, y) for factor in self.factors]).mixed

    def _scaled(self, factor: float) -> Kernel:
        return Product((self.factors[0]._scaled(factor), *self.factors[1:]))


Kernel.arithmetic = Arithmetic(Sum, Product, Constant)


class _Jet(NamedTuple):
    """Values (n, m), derivatives in x and in y (n, m, p), and in both (n, m, p, p)."""

    value: Array
    in_x: Array
    in_y: Array
    mixed: Array


def _jet(kernel: Kernel, x: Array, y: Array) -> _Jet:
    in_y = np.swapaxes(kernel._gradient(y, x), 0, 1)
    return _Jet(kernel._values(x, y), kernel._gradient(x, y), in_y, kernel._mixed(x, y))


def _times(f: _Jet, g: _Jet) -> _Jet:
    return _Jet(
        f.value * g.value,
        f.in_x * g.value[..., None] + f.value[..., None] * g.in_x,
        f.in_y * g.value[..., None] + f.value[..., None] * g.in_y,
        f.mixed * g.value[..., None, None]
        + f.in_x[..., :, None] * g.in_y[..., None, :]
        + g.in_x[..., :, None] * f.in_y[..., None, :]
        + f.value[..., None, None] * g.mixed,
    )

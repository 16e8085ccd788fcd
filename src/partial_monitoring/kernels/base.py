"""The base class of covariance functions, with checks of the points they are called with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.validation import Array, brief, positive_number, real_array


class Arithmetic(NamedTuple):
    """How kernels are combined; :mod:`combined` installs it, so that the base knows no kernel."""

    total: Callable[[tuple[Kernel, ...]], Kernel]
    product: Callable[[tuple[Kernel, ...]], Kernel]
    constant: Callable[[Any], Kernel]


class Kernel(ABC):
    """A symmetric positive semidefinite function k(x, y) of two points of R^p.

    Kernels are added and multiplied with each other; a number times a kernel scales its variance,
    and a kernel plus a number adds a :class:`Constant`.

    A subclass computes with points that have been checked and returns new arrays: ``_values``,
    ``_diagonal`` and, if ``differentiable``, ``_gradient`` and ``_mixed``; and it has
    ``parameters`` and ``_with``. For a plain function there is :func:`from_function`.
    """

    levels = 1
    """The depth of its sums and products."""

    arithmetic: ClassVar[Arithmetic]
    """How kernels are added and multiplied."""

    __array_ufunc__: ClassVar[None] = None
    """Products of NumPy numbers and kernels are left to the kernel."""

    def __call__(self, x: ArrayLike, y: ArrayLike | None = None) -> Array:
        """Return the matrix of k(x_i, y_j). Shapes (n, p), (m, p) -> (n, m).

        Without y the matrix is that of x with itself: exactly symmetric, ``diagonal(x)`` on its
        diagonal.
        """
        left = points("x", x)
        return self.evaluate(left, None if y is None else points("y", y, left.shape[1]))

    def diagonal(self, x: ArrayLike) -> Array:
        """Return k(x_i, x_i) for each point. Shape (n, p) -> (n,)."""
        return self.evaluate_diagonal(points("x", x))

    def gradient(self, x: ArrayLike, y: ArrayLike | None = None) -> Array:
        """Return d k(x, y) / d x_i. Shapes (n, p), (m, p) -> (n, m, p); y is x if not given.

        The derivatives in y are ``gradient(y, x)`` with its first two axes exchanged.
        """
        return self.evaluate_gradient(*_pair(x, y))

    def mixed(self, x: ArrayLike, y: ArrayLike | None = None) -> Array:
        """Return d^2 k(x, y) / d x_i d y_j. Shapes (n, p), (m, p) -> (n, m, p, p)."""
        return self.evaluate_mixed(*_pair(x, y))

    def evaluate(self, x: Array, y: Array | None = None) -> Array:
        """Return what a call does, for points that need no check: (n, p), (m, p) -> (n, m)."""
        return _finite(self._square, x) if y is None else _finite(self._values, x, y)

    def evaluate_diagonal(self, x: Array) -> Array:
        """Return what ``diagonal`` does, for points that need no check: (n, p) -> (n,)."""
        return _finite(self._diagonal, x)

    def evaluate_gradient(self, x: Array, y: Array) -> Array:
        """Return what ``gradient`` does, for points that need no check: (n, m, p)."""
        self._require_derivatives()
        return _finite(self._gradient, x, y)

    def evaluate_mixed(self, x: Array, y: Array) -> Array:
        """Return what ``mixed`` does, for points that need no check: (n, m, p, p)."""
        self._require_derivatives()
        return _finite(self._mixed, x, y)

    @property
    def differentiable(self) -> bool:
        """Whether ``gradient`` and ``mixed`` exist."""
        return False

    @property
    def lengthscales(self) -> list[Array]:
        """Distances over which functions change, shapes (p,) or (1,); none if they are unknown."""
        return []

    @property
    def certified(self) -> bool:
        """Whether the kernel is positive semidefinite by construction; otherwise games check it."""
        return False

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float]:
        """The free numbers, all positive, by name and always in the same order.

        One number per dimension gives ``lengthscale[0]``, ``lengthscale[1]``, ...; the parts of
        sums and products give ``terms[0].variance``, ``factors[1].period``, ... Everything else is
        fixed: ``nu``, ``degree``, and an offset of zero.
        """

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Lower and upper limit of the search for each parameter; (0, inf) by default."""
        return dict.fromkeys(self.parameters, (0.0, np.inf))

    def with_parameters(self, values: Mapping[str, float] | ArrayLike) -> Self:
        """Return the same kernel with other parameters.

        Parameters
        ----------
        values
            New numbers by name, for some or all of ``parameters``; or one number for each, in
            their order.
        """
        known = self.parameters
        if isinstance(values, Mapping):
            for name in values:
                if not known:
                    raise InvalidInput(f"{brief(self)} has no parameters; got {brief(name)}.")
                if name not in known:
                    raise unknown_name("parameter", name, known)
            given: Mapping[str, Any] = values
        else:
            given = dict(zip(known, real_array("values", values, (len(known),)), strict=True))
        new = {name: positive_number(name, value) for name, value in given.items()}
        return self._with(known | new)

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain words, numbers and lists; ``from_dict`` reads them."""
        raise InvalidInput(
            f"kernel must be one of this library's to be written; got {brief(self)}."
        )

    def __add__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return self.arithmetic.total((self, other))
        return self._plus(other, lambda constant: (self, constant))

    def __radd__(self, other: object) -> Kernel:
        return self._plus(other, lambda constant: (constant, self))

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return self.arithmetic.product((self, other))
        return self.__rmul__(other)

    def __rmul__(self, other: object) -> Kernel:
        if not isinstance(other, Real):
            return NotImplemented
        return self._scaled(positive_number("a number times a kernel", other))

    @abstractmethod
    def _values(self, x: Array, y: Array) -> Array: ...

    @abstractmethod
    def _diagonal(self, x: Array) -> Array: ...

    @abstractmethod
    def _with(self, values: Mapping[str, float]) -> Self:
        """Return the kernel with these parameters, all of them given."""

    def _square(self, x: Array) -> Array:
        values = self._values(x, x)
        even = np.asarray(values + values.T)
        even *= 0.5
        np.fill_diagonal(even, self._diagonal(x))
        return even

    def _gradient(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def _mixed(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def _plus(self, number: object, terms: Callable[[Kernel], tuple[Kernel, ...]]) -> Kernel:
        if not isinstance(number, Real):
            return NotImplemented  # type: ignore[no-any-return]
        if number == 0:  # with which Python's sum begins
            return self
        return self.arithmetic.total(terms(self.arithmetic.constant(number)))

    def _scaled(self, factor: float) -> Kernel:
        return self.arithmetic.product((self.arithmetic.constant(factor), self))

    def _parts_of(self, kind: str) -> tuple[Kernel, ...]:
        """Return the parts of a combination of this kind, or the kernel itself as the only one."""
        return (self,)

    def _require_derivatives(self) -> None:
        if not self.differentiable:
            raise InvalidInput(f"kernel must be differentiable; {brief(self)} is not.")


def points(name: str, value: ArrayLike, p: int | None = None) -> Array:
    """Validate points in rows; with ``p`` they must have that many coordinates."""
    array = real_array(name, value, ("n", "p" if p is None else p))
    if array.shape[1] == 0:
        raise InvalidInput(f"{name} must have at least one column; got shape {array.shape}.")
    return array


def _pair(x: ArrayLike, y: ArrayLike | None) -> tuple[Array, Array]:
    left = points("x", x)
    return left, left if y is None else points("y", y, left.shape[1])


def _finite(covariances: Callable[..., Array], *points: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        values = covariances(*points)
    good = np.isfinite(values)
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        raise InvalidInput(
            f"x and y must be of a size that gives finite covariances; got {values[where]} at "
            f"index {where}."
        )
    return values

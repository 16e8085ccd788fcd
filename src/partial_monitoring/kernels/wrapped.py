"""Kernels that come from elsewhere: any function, or an object of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.validation import Array, brief, frozen, real_array

KernelFunction = Callable[[Array, Array], ArrayLike]
"""(points (n, p), points (m, p)) -> covariances (n, m)."""

BLOCK = 64
"""Size of the square blocks from which the diagonal of a function is taken."""

ASYMMETRY = 1e-9
"""How far f(x, x) may be from its transpose, relative to its largest entry."""


@dataclass(frozen=True)
class FromFunction(Kernel):
    """k(x, y) = function(x, y); see :func:`from_function`. It has no free parameters."""

    function: KernelFunction
    diagonal_function: Callable[[Array], ArrayLike] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidInput(f"function must be a function; got {brief(self.function)}.")
        if self.diagonal_function is not None and not callable(self.diagonal_function):
            raise InvalidInput(f"diagonal must be a function; got {brief(self.diagonal_function)}.")

    def __repr__(self) -> str:
        return f"from_function({getattr(self.function, '__name__', None) or repr(self.function)})"

    @property
    def parameters(self) -> dict[str, float]:
        return {}

    def _with(self, values: Mapping[str, float]) -> Self:
        return self

    def _values(self, x: Array, y: Array) -> Array:
        return _returned(self, self.function(_read_only(x), _read_only(y)), (len(x), len(y)))

    def _square(self, x: Array) -> Array:
        values = _even(self, self._values(x, x))
        if self.diagonal_function is not None:
            np.fill_diagonal(values, self._diagonal(x))
        return values

    def _diagonal(self, x: Array) -> Array:
        if self.diagonal_function is not None:
            return _returned(self, self.diagonal_function(_read_only(x)), (len(x),))
        blocks = [x[start : start + BLOCK] for start in range(0, len(x), BLOCK)]
        return np.concatenate([np.zeros(0), *(self._values(b, b).diagonal() for b in blocks)])


@dataclass(frozen=True, eq=False)
class FromSklearn(Kernel):
    """A kernel object of scikit-learn; its parameters are the exponentials of its ``theta``."""

    kernel: Any

    def __repr__(self) -> str:
        return f"as_kernel({' '.join(repr(self.kernel).split())})"

    @property
    def parameters(self) -> dict[str, float]:
        return dict(zip(self._names, np.exp(self._theta).tolist(), strict=True))

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        limits = getattr(self.kernel, "bounds", None)
        if limits is None or np.shape(limits) != (len(self._theta), 2):
            return super().bounds
        pairs = [(low, high) for low, high in np.exp(np.asarray(limits, dtype=float)).tolist()]
        return dict(zip(self._names, pairs, strict=True))

    def _with(self, values: Mapping[str, float]) -> Self:
        if not values:
            return self
        theta = np.log([values[name] for name in self._names])
        return type(self)(self.kernel.clone_with_theta(theta))

    def _values(self, x: Array, y: Array) -> Array:
        return _returned(self, self.kernel(_read_only(x), _read_only(y)), (len(x), len(y)))

    def _square(self, x: Array) -> Array:
        values = _even(self, _returned(self, self.kernel(_read_only(x)), (len(x), len(x))))
        np.fill_diagonal(values, self._diagonal(x))
        return values

    def _diagonal(self, x: Array) -> Array:
        return _returned(self, self.kernel.diag(_read_only(x)), (len(x),))

    @property
    def _theta(self) -> Array:
        if not hasattr(self.kernel, "clone_with_theta"):
            return np.zeros(0)
        return np.asarray(getattr(self.kernel, "theta", ()), dtype=float)

    @property
    def _names(self) -> list[str]:
        names: list[str] = []
        for entry in getattr(self.kernel, "hyperparameters", ()):
            count = 0 if entry.fixed else entry.n_elements
            names += [entry.name] if count == 1 else [f"{entry.name}[{i}]" for i in range(count)]
        count = len(self._theta)
        return names if len(names) == count else [f"theta[{i}]" for i in range(count)]


def from_function(
    function: KernelFunction, *, diagonal: Callable[[Array], ArrayLike] | None = None
) -> FromFunction:
    """Return a kernel that calls the function.

    Parameters
    ----------
    function
        (points (n, p), points (m, p)) -> covariances (n, m). It must be symmetric, k(x, y) =
        k(y, x), and positive semidefinite; the latter is checked only by games that store
        its matrix.
    diagonal
        points (n, p) -> k(x_i, x_i) (n,), for speed.

    Examples
    --------
    >>> import numpy as np
    >>> smaller = from_function(lambda x, y: np.minimum(x, y.T))
    >>> smaller([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """
    return FromFunction(function, diagonal)


def as_kernel(kernel: object) -> Kernel:
    """Return a kernel of this library as it is; a kernel of scikit-learn, or a function, wrapped.

    >>> as_kernel(lambda x, y: x @ y.T)([[2.0]])
    array([[4.]])
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type):
        raise InvalidInput(
            f"kernel must be an object or a function; got the class {kernel.__name__}."
        )
    if not callable(kernel):
        raise InvalidInput(
            f"kernel must be a kernel, an object of scikit-learn or a function; got "
            f"{brief(kernel)}."
        )
    if callable(getattr(kernel, "diag", None)):
        return FromSklearn(kernel)
    return FromFunction(kernel)


def _returned(kernel: Kernel, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    return np.array(real_array(f"what {brief(kernel)} returns", values, shape))


def _read_only(points: Array) -> Array:
    """Return points that a function from elsewhere cannot change."""
    return frozen(points.view())


def _even(kernel: Kernel, values: Array) -> Array:
    even: Array = (values + values.T) / 2
    gap = np.abs(values - values.T).max(initial=0.0)
    if gap > ASYMMETRY * np.abs(values).max(initial=0.0):
        raise InvalidInput(
            f"kernel must be symmetric; {brief(kernel)} returns a matrix that differs from its "
            f"transpose by {gap:g}."
        )
    return even

"""Standard test functions of optimisation, to be maximised over the unit cube.

They are brought to the cube [0, 1]^p, turned upside down where they are usually minimised, and
scaled to mean 0 and standard deviation 1 over the cube: f(x) = (raw(x) - mean) / deviation. A
function takes points (n, p) and returns values (n,), so it can be the truth of a kernel game:
``pm.simulate(game, "ids", theta="branin", ...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput, entry
from partial_monitoring.validation import Array, brief, frozen, real_array, whole_number

__all__ = ["KNOWN", "Known", "ackley", "branin", "hartmann3", "hartmann6", "named"]


def __dir__() -> list[str]:
    return __all__


Function = Callable[[Array], Any]
"""(n, p) -> (n,)."""

BRANIN = -54.307198, 51.251218
HARTMANN_3 = 0.943533738, 0.955586276
HARTMANN_6 = 0.258927499, 0.384827213
"""Mean and standard deviation of the raw functions over the cube, in closed form or by Gauss
quadrature; ``tests/games/test_functions.py`` computes them again."""

WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
STEEPNESS_3 = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
CENTERS_3 = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)
STEEPNESS_6 = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
CENTERS_6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)

BEST_BRANIN = (
    ((np.pi + 5) / 15, 2.275 / 15),
    ((5 - np.pi) / 15, 12.275 / 15),
    ((3 * np.pi + 5) / 15, 2.475 / 15),
)
BEST_HARTMANN_3 = 0.1145888713, 0.5556488956, 0.8525469839
BEST_HARTMANN_6 = 0.2016895106, 0.1500106946, 0.4768739766, 0.2753324285, 0.3116516172, 0.6573005330
"""Where the functions are largest."""

ACKLEY_SIDE = 10.0
"""Ackley's function is taken from -5 to 5, where one can see its peak; it has a ripple per unit."""

SPREAD = 2**16
"""Number of points from which the mean and deviation of Ackley's function are computed."""


def branin(x: ArrayLike) -> Array:
    """Return Branin's function in two dimensions, which has three best points.

    raw = -((v - 5.1 u^2 / (4 pi^2) + 5 u / pi - 6)^2 + 10 (1 - 1 / (8 pi)) cos u + 10) with
    u = 15 x_1 - 5 and v = 15 x_2.

    >>> branin([[0.5428, 0.1517]]).round(3)
    array([1.052])
    """
    points = real_array("x", x, ("n", 2), largest=1e50)  # of which fourth powers are taken
    u, v = 15 * points[:, 0] - 5, 15 * points[:, 1]
    bowl = (v - 5.1 * u**2 / (4 * np.pi**2) + 5 * u / np.pi - 6) ** 2
    raw = -(bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10)
    return np.asarray((raw - BRANIN[0]) / BRANIN[1])


def hartmann3(x: ArrayLike) -> Array:
    """Return Hartmann's function in three dimensions.

    raw = sum over four centres of weight exp(-sum over j of steepness_j (x_j - center_j)^2).

    >>> hartmann3([[0.1146, 0.5556, 0.8525]]).round(3)
    array([3.055])
    """
    return _hartmann(real_array("x", x, ("n", 3)), STEEPNESS_3, CENTERS_3, HARTMANN_3)


def hartmann6(x: ArrayLike) -> Array:
    """Return Hartmann's function in six dimensions, as :func:`hartmann3`.

    >>> hartmann6([[0.2017, 0.15, 0.4769, 0.2753, 0.3117, 0.6573]]).round(3)
    array([7.961])
    """
    return _hartmann(real_array("x", x, ("n", 6)), STEEPNESS_6, CENTERS_6, HARTMANN_6)


def ackley(x: ArrayLike) -> Array:
    """Return Ackley's function in any dimension: one peak in the middle, and ripples.

    raw = 20 exp(-0.2 (mean of u_j^2)^(1/2)) + exp(mean of cos(2 pi u_j)) with u = 10 x - 5.

    >>> ackley([[0.5, 0.5]]).round(2)
    array([3.82])
    """
    points = real_array("x", x, ("n", "p"))
    if points.shape[1] == 0:
        raise InvalidInput(f"x must have at least one column; got shape {points.shape}.")
    mean, deviation = _ackley_moments(points.shape[1])
    return np.asarray((_ackley(points) - mean) / deviation)


@dataclass(frozen=True, eq=False)
class Known:
    """What is known about a test function."""

    function: Function
    dimension: int | None
    """p; None for a function in any dimension."""
    best: Array
    """Where it is largest, shape (points, p); for any dimension one coordinate, (points, 1)."""

    def __call__(self, x: ArrayLike) -> Any:
        return self.function(x)  # type: ignore[arg-type]

    def maximizers(self, dimension: int | None = None) -> Array:
        """Return where the function is largest, shape (points, p)."""
        if self.dimension is None:
            return np.tile(
                self.best, whole_number("dimension", dimension, at_least=1, at_most=10_000)
            )
        if dimension not in (None, self.dimension):
            raise InvalidInput(f"dimension must be {self.dimension}; got {brief(dimension)}.")
        return self.best

    def maximum(self, dimension: int | None = None) -> float:
        """Return the largest value.

        >>> round(KNOWN["hartmann3"].maximum(), 3)
        3.055
        """
        return float(self.function(self.maximizers(dimension)).max())


KNOWN: Mapping[str, Known] = MappingProxyType(
    {
        "branin": Known(branin, 2, frozen(np.array(BEST_BRANIN))),
        "hartmann3": Known(hartmann3, 3, frozen(np.array([BEST_HARTMANN_3]))),
        "hartmann6": Known(hartmann6, 6, frozen(np.array([BEST_HARTMANN_6]))),
        "ackley": Known(ackley, None, frozen(np.array([[0.5]]))),
    }
)
"""Every test function by name, with where it is largest."""


def named(name: str) -> Function:
    """Return a test function by name."""
    return entry("test function", name, KNOWN).function


def with_maximizers(function: Function | None) -> Function | None:
    """Return a test function with what is known about it, and any other as it is."""
    return next((known for known in KNOWN.values() if known.function is function), function)


def _hartmann(x: Array, steepness: Array, centers: Array, moments: tuple[float, float]) -> Array:
    away = ((x[:, None, :] - centers) ** 2 * steepness).sum(axis=2)
    return np.asarray((np.exp(-away) @ WEIGHTS - moments[0]) / moments[1])


def _ackley(x: Array) -> Array:
    u = ACKLEY_SIDE * (x - 0.5)
    ripples = np.exp(np.cos(2 * np.pi * u).mean(axis=1))
    return np.asarray(20 * np.exp(-0.2 * np.sqrt((u**2).mean(axis=1))) + ripples)


@lru_cache
def _ackley_moments(dimension: int) -> tuple[float, float]:
    """Return mean and deviation over the cube, from multiples of the powers of one number.

    The number is the root of r^(p+1) = r + 1, which spreads its multiples (modulo 1) evenly.
    """
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    blocks = np.arange(SPREAD).reshape(-1, 4096, 1)
    raw = np.concatenate([_ackley((0.5 + block * steps) % 1) for block in blocks])
    return float(raw.mean()), float(raw.std())

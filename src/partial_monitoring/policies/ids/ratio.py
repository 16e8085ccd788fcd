"""The information ratio and its conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import Array, axes, brief, real_array, real_number

FLOAT = np.dtype(np.float64)

ZERO_GAP = 1e-9
"""A gap below this fraction of the largest one is solver noise and counts as zero."""


def information_ratio(
    distribution: ArrayLike, gaps: ArrayLike, information: ArrayLike, *, kappa: float = 2.0
) -> Array:
    """Return Psi_kappa(mu) = gap(mu)^kappa / information(mu).

    With 0/0 = 0 (no regret needs no information) and 1/0 = inf. Shapes (..., k) -> (...).

    >>> float(information_ratio([0.5, 0.5], [0, 2], [0, 1]))
    2.0
    """
    mu, d, i = (np.asarray(x, dtype=float) for x in (distribution, gaps, information))
    gap, gain = (mu * d).sum(axis=-1), (mu * i).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap <= 0, 0.0, np.where(gain > 0, gap**kappa / gain, np.inf))


def right_shape(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    """Return what a function of the user's gave, if it has the right shape."""
    if isinstance(values, np.ndarray) and values.shape == shape and values.dtype == FLOAT:
        return values
    return real_array(f"what {name} returns", values, shape)


def checked(gaps: ArrayLike, information: ArrayLike) -> tuple[Array, Array]:
    """Validate gaps and information of one shape (..., k), not negative; tiny gaps become zero."""
    d, i = as_arrays(gaps, information)
    refuse_misfits(d, i)
    return without_noise(d), i


def as_arrays(gaps: ArrayLike, information: ArrayLike) -> tuple[Array, Array]:
    """Return gaps and information as float arrays of one shape (..., k), k at least 1."""
    d, i = gaps, information
    if not (
        isinstance(d, np.ndarray)
        and isinstance(i, np.ndarray)
        and d.dtype == i.dtype == np.float64
        and d.shape == i.shape
        and d.ndim > 0
    ):
        names = tuple(f"n{axis}" for axis in range(axes(gaps) - 1))
        d = real_array("gaps", gaps, (*names, "k"))
        i = real_array("information", information, d.shape)
    if d.size == 0:
        raise InvalidInput("gaps must hold at least one action; got none.")
    return d, i


def refuse_misfits(gaps: Array, information: Array) -> None:
    """Refuse numbers that are negative or not finite, and say which."""
    for name, array in (("gaps", gaps), ("information", information)):
        if not (array.min() >= 0 and array.max() < np.inf):
            real_array(name, array, array.shape)
            raise InvalidInput(f"{name} must not be negative; got {array.min():g}.")


def without_noise(gaps: Array) -> Array:
    """Set gaps that are noise to zero, shape (..., k)."""
    return np.where(gaps <= ZERO_GAP * gaps.max(axis=-1, keepdims=True), 0.0, gaps)


def checked_kappa(kappa: float) -> float:
    """Return the exponent of the ratio, a number of at least 2."""
    number = real_number("kappa", kappa)
    if not number >= 2:
        raise InvalidInput(f"kappa must be at least 2; got {brief(kappa)}.")
    return number

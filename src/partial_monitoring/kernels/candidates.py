"""Candidates in a box: a grid, points that fill it evenly, or those of a sampler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import Array, axes, brief, known_keys, real_array, whole_number

__all__ = ["grid", "sampled", "sobol"]


def __dir__() -> list[str]:
    return __all__


MOST_CANDIDATES = 1_000_000
"""Largest number of points."""

KEYS = ("low", "high", "count", "per_axis", "seed")
"""Keys of points that are given as a table."""


def box(low: ArrayLike, high: ArrayLike) -> tuple[Array, Array]:
    """Return the corners of a box as arrays (p,), if low is below high everywhere."""
    lower = np.atleast_1d(real_array("low", low, ("p",) if axes(low) else ()))
    upper = np.atleast_1d(real_array("high", high, ("p",) if axes(high) else ()))
    if lower.shape != upper.shape or len(lower) == 0 or not (lower < upper).all():
        raise InvalidInput(
            f"low must be below high in every coordinate; got {brief(lower.tolist())} and "
            f"{brief(upper.tolist())}."
        )
    return lower, upper


def grid(low: ArrayLike, high: ArrayLike, per_axis: int) -> Array:
    """Return a grid over a box, corners included, shape (per_axis^p, p).

    >>> grid([0, 0], [1, 2], 2)
    array([[0., 0.],
           [0., 2.],
           [1., 0.],
           [1., 2.]])
    """
    lower, upper = box(low, high)
    count = whole_number("per_axis", per_axis, at_least=1)
    if count ** len(lower) > MOST_CANDIDATES:
        raise InvalidInput(
            f"per_axis must give at most {MOST_CANDIDATES:,} candidates; got {count} in "
            f"{len(lower)} dimensions."
        )
    edges = [np.linspace(a, b, count) for a, b in zip(lower, upper, strict=True)]
    return np.stack(np.meshgrid(*edges, indexing="ij"), axis=-1).reshape(-1, len(lower))


def sobol(low: ArrayLike, high: ArrayLike, count: int, *, seed: int = 0) -> Array:
    """Return points that fill a box evenly (a scrambled Sobol sequence), shape (count, p).

    >>> sobol([0, 0], [1, 1], 4).shape
    (4, 2)
    """
    from scipy.stats import qmc

    lower, upper = box(low, high)
    number = whole_number("count", count, at_least=1, at_most=MOST_CANDIDATES)
    rng = np.random.default_rng(whole_number("seed", seed, at_least=0))
    engine = qmc.Sobol(len(lower), seed=rng)
    # A power of two keeps the sequence balanced; its first points are spread evenly, too.
    unit = engine.random_base2(int(np.ceil(np.log2(number))))[:number]
    return np.asarray(lower + unit * (upper - lower))


def from_dict(data: Mapping[str, Any]) -> Array:
    """Return the points of a table, as it is written in files.

    ``low`` and ``high`` are corners of a box; with ``per_axis`` there is a grid, with ``count`` a
    Sobol sequence (``seed``: another one).

    >>> from_dict({"low": 0, "high": 1, "per_axis": 3}).tolist()
    [[0.0], [0.5], [1.0]]
    """
    known_keys("points", data, KEYS)
    if "low" not in data or "high" not in data or ("count" in data) == ("per_axis" in data):
        raise InvalidInput(
            f"points as a table must have low, high and one of count and per_axis; got "
            f"{', '.join(data) or 'none of them'}."
        )
    if "count" in data:
        return sobol(**data)
    if "seed" in data:
        raise InvalidInput("points as a table have a seed only with count, not with per_axis.")
    return grid(**data)


def sampled(
    sampler: Callable[[np.random.Generator, int], ArrayLike], count: int, *, seed: int = 0
) -> Array:
    """Return the points of a sampler, a function (generator, count) -> (count, p).

    >>> sampled(lambda rng, n: rng.normal(size=(n, 3)), 5).shape
    (5, 3)
    """
    if not callable(sampler):
        raise InvalidInput(f"sampler must be a function (generator, count); got {brief(sampler)}.")
    number = whole_number("count", count, at_least=1, at_most=MOST_CANDIDATES)
    rng = np.random.default_rng(whole_number("seed", seed, at_least=0))
    return real_array("what the sampler returns", sampler(rng, number), (number, "p"))

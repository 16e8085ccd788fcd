"""Combinatorial bandits: choose a set of items, earn their sum (example 5)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.games.linear_bandit import unit_ball
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import brief, is_whole, one_of, real_array, whole_number

MOST_ITEMS = 5000
"""Largest number of items."""

MOST_SUBSETS = 1_000_000
"""Largest number of subsets that are listed."""


def combinatorial_bandit(
    items: int = 4,
    size: int | None = 2,
    *,
    subsets: Iterable[Iterable[int]] | None = None,
    feedback: str = "semi-bandit",
    features: ArrayLike | None = None,
    parameters: ParameterSet | None = None,
    noise_std: float = 1.0,
) -> Game:
    """Combinatorial bandit: choose a set of items, earn their sum.

    Model: phi_a is the sum of phi_i over i in a. With "bandit" feedback M_a = phi_a' (the sum is
    seen), with "semi-bandit" feedback M_a has a row phi_i for each chosen item.

    Parameters
    ----------
    items
        Number of items in the ground set.
    size
        All subsets of this size are actions, unless ``subsets`` lists them.
    subsets
        The allowed subsets, as item indices.
    features
        Item features, the unit vectors unless given. Theta is the unit ball unless given.

    Example
    -------
    >>> combinatorial_bandit(4, 2).k
    6

    Reference: example 5; Cesa-Bianchi and Lugosi (2012).
    """
    n = whole_number("items", items, at_least=1, at_most=MOST_ITEMS)
    one_of("feedback", feedback, ("bandit", "semi-bandit"))
    chosen = _all_subsets(n, size) if subsets is None else _checked_subsets(subsets, n)
    phi = np.eye(n) if features is None else real_array("features", features, (n, "d"))
    rows = [phi[list(subset)] for subset in chosen]
    sums = np.array([own.sum(axis=0) for own in rows])
    maps = rows if feedback == "semi-bandit" else sums[:, None, :]
    names = ["{" + ", ".join(map(str, subset)) + "}" for subset in chosen]
    theta = unit_ball(phi) if parameters is None else parameters
    return Game(sums, maps, theta, noise_std, names)


def _all_subsets(n: int, size: int | None) -> list[tuple[int, ...]]:
    m = whole_number("size", size, at_least=1)
    if m > n:
        raise InvalidInput(f"size must not exceed the number of items, {n}; got {m}.")
    if comb(n, m) > MOST_SUBSETS:
        raise InvalidInput(
            f"size {m} of {n} items gives {comb(n, m)} subsets, more than {MOST_SUBSETS}; list the "
            f"ones you need in subsets."
        )
    return list(combinations(range(n), m))


def _checked_subsets(subsets: Iterable[Iterable[int]], n: int) -> list[tuple[int, ...]]:
    try:
        chosen = [tuple(sorted(subset)) for subset in subsets]
        hash(tuple(chosen))
    except (TypeError, ValueError):
        raise InvalidInput(
            f"subsets must be lists of item indices; got {brief(subsets)}."
        ) from None
    for subset in chosen:
        if len(set(subset)) < len(subset) or not all(is_whole(i) and 0 <= i < n for i in subset):
            raise InvalidInput(
                f"subsets must hold different item indices below {n}; got {brief(list(subset))}."
            )
    return chosen

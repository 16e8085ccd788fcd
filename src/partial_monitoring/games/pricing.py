"""Dynamic pricing: an offer shows only "sold" or "not sold" (example 10)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.validation import check_entries, real_array, real_number


def dynamic_pricing(
    prices: ArrayLike = (1, 2, 3), valuations: ArrayLike | None = None, cost: float = 2.0
) -> FiniteGame:
    """Dynamic pricing: offer a price, learn only whether the customer bought.

    Model: an offer a to a customer who would pay x earns a - x if a <= x (what was given away
    compared with the best price) and -cost if a > x (no sale); the signal is "yes" or "no".
    Regret is that of a shop that books a for a sale and x - cost, unseen, for a customer it loses.

    Parameters
    ----------
    prices
        The prices that can be offered.
    valuations
        What customers may be willing to pay; the prices unless given.
    cost
        What a lost sale costs, compared with the best price for that customer.

    Example
    -------
    >>> print(dynamic_pricing([1, 2, 3], cost=2).rewards)
    [[ 0. -1. -2.]
     [-2.  0. -1.]
     [-2. -2.  0.]]

    Reference: example 10 with E29 of the paper notes; Kleinberg and Leighton (2003).
    """
    offers = real_array("prices", prices, ("k",))
    worth = offers if valuations is None else real_array("valuations", valuations, ("d",))
    check_entries("rewards", len(offers), len(worth))
    sold = offers[:, None] <= worth[None, :]
    rewards = np.where(sold, offers[:, None] - worth[None, :], -real_number("cost", cost))
    return FiniteGame(
        rewards,
        np.where(sold, "yes", "no").tolist(),
        actions=[f"${price:.15g}" for price in offers],
        outcomes=[f"${value:.15g}" for value in worth],
    )

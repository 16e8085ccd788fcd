"""What answers that come late if they are good do to a learner, and what a window does about it.

A subscription is offered at one of five prices, to ten customers a day. That a customer leaves is
known within days; that one stays, only after 30 days. Nothing changes over time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

import partial_monitoring as pm

PRICES = (9, 19, 29, 39, 49)
DEMAND = (0.9, 0.62, 0.5, 0.28, 0.15)
"""The shares of customers who stay at each price; the best price is $29, which earns 14.5."""

DAYS, A_DAY, WINDOW = 120, 10, 30
RUNS = 60
DAY = 86400.0

WAYS = {
    "at once": {},
    "as they come": {"late": True},
    "with a window": {"late": True, "window": True},
}


def subscriptions() -> pm.FiniteGame:
    """Return the game: earn the price if the customer stays, and see only whether that happens.

    The outcomes are the highest prices at which a customer stays, the first of them none at all.
    """
    stays = np.tri(len(PRICES), len(PRICES) + 1, 0).T[::-1].T  # placeholder, replaced below
    stays = np.array([[limit > price for limit in range(len(PRICES) + 1)] for price in range(5)])
    return pm.FiniteGame(
        np.where(stays, np.array(PRICES)[:, None], 0),
        np.where(stays, "stayed", "left").tolist(),
        actions=[f"${price}" for price in PRICES],
    )

"""What answers that come late if they are good do to a learner, and what a window does about it.

A subscription is offered at one of five prices to five customers a day. That a customer leaves is
known on the same day; that one stays, after 30 days. Nothing changes over time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

import partial_monitoring as pm

PRICES = (9, 19, 29, 39, 49)
STAY = (0.9, 0.7, 0.55, 0.34, 0.22)
"""The shares of customers who stay at each price: the best is $29, which earns 15.95 on average."""

DAYS, PER_DAY, WAIT, RUNS = 120, 5, 30, 60
DAY = 86400.0

WAYS: dict[str, dict[str, Any]] = {
    "at once": {"wait": 0},
    "as they come": {"wait": WAIT},
    "with a window": {"wait": WAIT, "window": pm.Window(days=WAIT, unanswered="stayed")},
}
"""When answers are told."""


EVERY = 10
"""Days from one look at the learner to the next."""


class Run(NamedTuple):
    """What a learner said."""

    early: bool
    """Whether another price than the best one looked best 30 days before the end."""
    wrong: bool
    """Whether one did at the end."""
    drifting: bool
    """Whether it ever warned that the truth may be drifting, which it is not."""


def subscriptions() -> pm.FiniteGame:
    """Return the game: a price is earned if the customer stays, and only that is seen.

    The outcome is how many of the prices a customer accepts.
    """
    stays = np.arange(len(PRICES))[:, None] < np.arange(len(PRICES) + 1)
    return pm.FiniteGame(
        np.where(stays, np.array(PRICES)[:, None], 0.0),
        np.where(stays, "stayed", "left").tolist(),
        actions=[f"${price}" for price in PRICES],
    )


def play(
    seed: int, wait: int, window: pm.Window | None = None, days: int = DAYS, policy: Any = None
) -> Run:
    """Return what a learner says on the way and at the end.

    Parameters
    ----------
    seed
        Of the learner and of the customers.
    wait
        After how many days it is known that a customer stays.
    window
        Of the learner. With one, only customers who leave are told.
    days, policy
        How long it is played, a multiple of 10, and what decides.
    """
    game = subscriptions()
    learner = pm.Learner(game, policy, seed=seed, window=window)
    best = game.actions[int(np.argmax(np.array(PRICES) * STAY))]
    limits = 1.0 - np.random.default_rng(seed).random((days, PER_DAY))
    stayed: dict[int, list[str | int]] = {}
    looks: dict[int, pm.Status] = {}
    for day in range(days + 1):
        now, known = day * DAY, stayed.pop(day, [])
        if window is None:
            learner.tell(known, ["stayed"] * len(known), now=now)
        learner.settle(now=now)
        if day % EVERY == 0:
            looks[day] = learner.status()
        if day == days:
            break
        for decision, limit in zip(learner.ask(count=PER_DAY, now=now), limits[day], strict=True):
            if limit > STAY[decision.action]:
                learner.tell(decision, "left", now=now)
            elif wait == 0:
                learner.tell(decision, "stayed", now=now)
            else:
                stayed.setdefault(day + wait, []).append(decision.id)
    warnings = [warning for status in looks.values() for warning in status.warnings]
    return Run(
        looks[days - WAIT].best != best,
        looks[days].best != best,
        any("drifting" in warning for warning in warnings),
    )


def counts(runs: int = RUNS, days: int = DAYS) -> dict[str, Run]:
    """Return by way of telling how many runs are wrong early, wrong in the end, and drifting."""
    return {
        name: Run(*np.array([play(x, days=days, **options) for x in range(runs)]).sum(axis=0))
        for name, options in WAYS.items()
    }


def run(runs: int = RUNS) -> Table:
    """Wrong prices and false warnings, by when answers are told."""
    title = f"Prices of a subscription, {PER_DAY} customers a day, {runs} runs of {DAYS} days"
    table = Table(title=title)
    for name in ("answers told", f"wrong on day {DAYS - WAIT}", f"wrong on day {DAYS}", "drift"):
        table.add_column(name)
    for name, found in counts(runs).items():
        table.add_row(name, *(f"{x} of {runs}" for x in found))
    return table

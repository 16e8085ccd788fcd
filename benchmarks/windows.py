"""What answers that come late if they are good do to a learner, and what a window does about it.

A subscription is offered at one of five prices to ten customers a day. That a customer leaves is
known on the same day; that one stays, after 30 days. Nothing changes over time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

import partial_monitoring as pm

PRICES = (9, 19, 29, 39, 49)
STAY = (0.9, 0.78, 0.55, 0.38, 0.22)
"""The shares of customers who stay at each price: the best is $29, which earns 15.95 on average,
its neighbours 14.82."""

DAYS, PER_DAY, WAIT, RUNS = 120, 10, 30, 60
DAY = 86400.0

WAYS: dict[str, dict[str, Any]] = {
    "at once": {"wait": 0},
    "as they come": {"wait": WAIT},
    "with a window": {"wait": WAIT, "window": pm.Window(days=WAIT, unanswered="stayed")},
}
"""When answers are told."""


BUSY = 40
"""Customers a day with whom a drift would be noticed."""

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
    seed: int,
    wait: int,
    window: pm.Window | None = None,
    days: int = DAYS,
    per_day: int = PER_DAY,
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
    days, per_day
        How long it is played, a multiple of 10, and to how many customers a day.
    """
    game = subscriptions()
    learner = pm.Learner(game, seed=seed, window=window)
    best = game.actions[int(np.argmax(np.array(PRICES) * STAY))]
    limits = 1.0 - np.random.default_rng(seed).random((days, per_day))
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
        for decision, limit in zip(learner.ask(count=per_day, now=now), limits[day], strict=True):
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


def counts(runs: int = RUNS, **options: Any) -> dict[str, Run]:
    """Return by way of telling how many runs are wrong early, wrong in the end, and drifting."""
    return {
        name: Run(*np.array([play(x, **way, **options) for x in range(runs)]).sum(axis=0).tolist())
        for name, way in WAYS.items()
    }


def shown(runs: int, days: int, per_day: int) -> Table:
    """Wrong prices and false warnings, by when answers are told."""
    table = Table(title=f"{runs} runs of {days} days, {per_day} customers a day")
    for name in ("answers told", f"wrong on day {days - WAIT}", f"wrong on day {days}", "drift"):
        table.add_column(name)
    for name, found in counts(runs, days=days, per_day=per_day).items():
        table.add_row(name, *map(str, found))
    return table


def run() -> list[Table]:
    return [shown(RUNS, DAYS, PER_DAY), shown(RUNS // 3, DAYS // 2, BUSY)]

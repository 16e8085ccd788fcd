"""Simulated rounds: time of one core per round and seed, of one seed, and of two threads."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.timing import fastest, show

ROUNDS, SEEDS = 1000, 400


def features(k: int = 10, d: int = 3) -> Any:
    return np.random.default_rng(0).normal(size=(k, d)) / np.sqrt(d)


class Row(NamedTuple):
    """A game, and a policy with a name."""

    build: Callable[[], Any]
    theta: Any
    policy: Any = pm.Calibrated()


DEFAULT = {
    "linear bandit, k = 10, d = 3": Row(lambda: pm.games.linear_bandit(features()), [0.5, 0, 0]),
    "apple tasting": Row(pm.games.apple_tasting, [0.7, 0.3]),
    "label-efficient prediction": Row(pm.games.label_efficient, [0.7, 0.3]),
    "pricing with 5 prices": Row(
        lambda: pm.games.dynamic_pricing(range(1, 6)), [0.1, 0.2, 0.3, 0.3, 0.1]
    ),
    "Bernoulli bandit, 5 arms": Row(
        lambda: pm.games.bernoulli_bandit_linear(5), [0.1, 0.3, 0.5, 0.6, 0.7]
    ),
    "pricing for segments": Row(pm.games.segment_pricing, "random"),
    "survey in contexts": Row(pm.games.survey, [0.3, 0.7]),
    "duels of 10 items, d = 3": Row(lambda: pm.games.dueling(features()), [0.5, 0, 0]),
    "kernelized bandit, 51 points": Row(pm.games.kernelized_bandit, "random"),
    "kernelized duels of 21 points": Row(pm.games.kernelized_dueling, "random"),
}

ALL = pm.AllParameters(3)
SPECIAL = {
    "linear bandit on R^d, IDS, relaxed gaps": Row(
        lambda: pm.games.linear_bandit(features(), ALL), [0.5, 0, 0], pm.IDS(gap=pm.gaps.relaxed)
    ),
    "linear bandit on R^d, IDS": Row(
        lambda: pm.games.linear_bandit(features(), ALL), [0.5, 0, 0], pm.IDS()
    ),
    "linear bandit, IDS": Row(lambda: pm.games.linear_bandit(features()), [0.5, 0, 0], pm.IDS()),
    "linear bandit, LinUCB": Row(
        lambda: pm.games.linear_bandit(features()), [0.5, 0, 0], pm.LinUCB()
    ),
    "linear bandit, LinTS": Row(
        lambda: pm.games.linear_bandit(features()), [0.5, 0, 0], pm.LinTS()
    ),
    "pricing with 5 prices, IDS": DEFAULT["pricing with 5 prices"]._replace(policy=pm.IDS()),
    "pricing with 5 prices, RandCBP": DEFAULT["pricing with 5 prices"]._replace(
        policy=pm.RandCBP()
    ),
    "duels of 10 items, DuelingIDS": DEFAULT["duels of 10 items, d = 3"]._replace(
        policy=pm.DuelingIDS()
    ),
    "kernelized bandit, IDS": DEFAULT["kernelized bandit, 51 points"]._replace(policy=pm.IDS()),
    "kernelized bandit, IDS, mean gaps": DEFAULT["kernelized bandit, 51 points"]._replace(
        policy=pm.IDS(gap=pm.gaps.mean)
    ),
    "kernelized bandit, GP-UCB": DEFAULT["kernelized bandit, 51 points"]._replace(
        policy=pm.GPUCB()
    ),
}


def timed(
    row: Row, seeds: int, *, threads: int = 1, clock: Callable[[], float] = process_time
) -> float:
    """Return the seconds of a round of a seed, those before the second left out."""
    game = row.build()

    def seconds(horizon: int) -> float:
        options: dict[str, Any] = {"horizon": horizon, "seeds": seeds, "threads": threads}
        return fastest(
            lambda: pm.simulate(game, {"own": row.policy}, row.theta, **options),
            repeat=5,
            clock=clock,
        )

    return (seconds(ROUNDS) - seconds(1)) / ((ROUNDS - 1) * seeds)


def table_of(title: str, rows: dict[str, Row]) -> Table:
    """Return the table of some rows."""
    table = Table(title=title)
    for column in ("game", "backend", f"{SEEDS} seeds", "one seed", "ratio", "two threads gain"):
        table.add_column(column)
    for name, row in rows.items():
        options: dict[str, Any] = {"horizon": 2, "seeds": 2}
        backend = pm.simulate(row.build(), {"own": row.policy}, row.theta, **options).backend["own"]
        many, single = timed(row, SEEDS), timed(row, 1)
        one, two = (timed(row, SEEDS, threads=n, clock=perf_counter) for n in (1, 2))
        table.add_row(
            name, backend, show(many), show(single), f"{single / many:.2f}", f"{one / two:.2f}x"
        )
    return table


def run() -> list[Table]:
    """Return what a user gets without options, and other policies and games."""
    return [
        table_of("Default options: time of one core per round and seed", DEFAULT),
        table_of("Other options: time of one core per round and seed", SPECIAL),
    ]

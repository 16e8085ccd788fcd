"""Simulated rounds with default options on default games: time of one core per round and seed."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

from rich.table import Table

import partial_monitoring as pm
from benchmarks.timing import fastest, show

ROUNDS, SEEDS = 1000, 400

GAMES: dict[str, tuple[Callable[[], Any], Any]] = {
    "apple tasting": (pm.games.apple_tasting, [0.7, 0.3]),
    "label-efficient prediction": (pm.games.label_efficient, [0.7, 0.3]),
    "pricing with 5 prices": (
        lambda: pm.games.dynamic_pricing(range(1, 6)),
        [0.1, 0.2, 0.3, 0.3, 0.1],
    ),
    "Bernoulli bandit, 5 arms": (
        lambda: pm.games.bernoulli_bandit_linear(5),
        [0.1, 0.3, 0.5, 0.6, 0.7],
    ),
    "pricing for segments": (pm.games.segment_pricing, "random"),
    "survey in contexts": (pm.games.survey, [0.3, 0.7]),
}


def timed(game: Any, theta: Any, seeds: int) -> float:
    """Return the seconds of one thread for a round of a seed, those before the second left out."""

    def seconds(horizon: int) -> float:
        return fastest(
            lambda: pm.simulate(game, theta=theta, horizon=horizon, seeds=seeds, threads=1),
            repeat=5,
            clock=process_time,
        )

    return (seconds(ROUNDS) - seconds(1)) / ((ROUNDS - 1) * seeds)


def run() -> Table:
    table = Table(title="Simulation with default options: time of one core per round and seed")
    for column in ("game", "backend", f"{SEEDS} seeds", "one seed", "ratio"):
        table.add_column(column)
    for name, (build, theta) in GAMES.items():
        game = build()
        backend = pm.simulate(game, theta=theta, horizon=2, seeds=2).backend["calibrated"]
        many, single = timed(game, theta, SEEDS), timed(game, theta, 1)
        table.add_row(name, backend, show(many), show(single), f"{single / many:.2f}")
    return table

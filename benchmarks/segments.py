"""Segments: one pooled learner, separate learners, and segments that share, on one truth.

The truth is hierarchical: the unknown of every segment is a mixture of a common one and one of its
own. Regret is measured against the best action of each segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm

HORIZON, LONGER, SEGMENTS = 1000, 4000, 5
GUESSED = 0.3
"""The scale of deviations that the prior says, whatever the true one is."""

Array = np.ndarray


@dataclass(frozen=True)
class Pooled:
    """One learner for all segments, as if they had the same unknown."""

    inner: Any

    def init(self, game: Any, replicates: int) -> Any:
        same = pm.ContextualGame(game.segments, game.context_distribution, game.contexts)
        return self.inner.init(same, replicates)

    def draws(self, state: Any) -> int:
        return self.inner.draws(state)

    def decide(
        self, state: Any, uniforms: Array, available: Any = None, context: Any = None
    ) -> Any:
        return self.inner.decide(state, uniforms, available, context=context)

    def update(self, state: Any, action: Array, observation: Array, context: Any = None) -> Any:
        return self.inner.update(state, action, observation, context=context)


def linear() -> pm.Game:
    """A bandit with eight actions in the plane."""
    angles = np.arange(8) * np.pi / 4
    features = np.column_stack([np.cos(angles), np.sin(angles)])
    return pm.Game(features, features[:, None], pm.AllParameters(2), 0.5)


GAMES = {"five prices": lambda: pm.games.dynamic_pricing([1, 2, 3, 4, 5]), "bandit": linear}


def regrets(
    own: pm.Game, scale: float, seeds: int, horizon: int = HORIZON, count: int = SEGMENTS
) -> dict[str, Array]:
    """Return the regret of each seed after all rounds (seeds,), by who learned."""
    games = {f"segment {z}": own for z in range(count)}
    apart, guessed = pm.segments(games), pm.segments(games, GUESSED)
    truth = pm.segments(games, scale)
    theta = truth.draw_truths(np.arange(seeds))
    run = {"seeds": seeds, "horizon": horizon, "checkpoints": [horizon]}
    pooled = pm.simulate(apart, {"own": Pooled(pm.Calibrated())}, theta, **run)
    found = {"pooled": pooled.regret["own"][:, -1]}
    single = run | {"horizon": horizon // count, "checkpoints": [horizon // count]}
    parts = [pm.simulate(own, "calibrated", part, **single) for part in apart.split(theta).values()]
    found["separate learners"] = np.sum([p.regret["calibrated"][:, -1] for p in parts], axis=0)
    ways = {"segments": apart, "right prior": truth, f"{GUESSED:g}": guessed}
    for name, game in ways.items():
        result = pm.simulate(game, "calibrated", theta, **run)
        found[name] = result.regret["calibrated"][:, -1]
    return found


def run(seeds: int = 200) -> list[Table]:
    """Return the mean regret of all ways to learn: for several true scales, and in more rounds."""
    return [compared((0.1, 0.3, 1.0, 10.0), seeds, HORIZON), compared((0.3,), seeds, LONGER)]


def compared(scales: tuple[float, ...], seeds: int, horizon: int) -> Table:
    """Return the mean regret of all ways to learn on truths of several scales."""
    table = Table(
        title=f"Regret after {horizon:,} rounds in {SEGMENTS} segments, {seeds} seeds, by default"
    )
    for column in (
        "game",
        "true scale",
        "pooled",
        "separate learners",
        "segments",
        "right prior",
        "0.3",
    ):
        table.add_column(column)
    for name, build in GAMES.items():
        for scale in scales:
            found = regrets(build(), scale, seeds, horizon)
            cells = [f"{r.mean():.1f} ± {r.std() / np.sqrt(len(r)):.1f}" for r in found.values()]
            table.add_row(name, f"{scale:g}", *cells)
    return table

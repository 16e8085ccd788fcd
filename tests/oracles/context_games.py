"""Games with listed contexts over sets that cut, and policies that play them."""

from __future__ import annotations

from typing import Any

import numpy as np

import partial_monitoring as pm

RNG = np.random.default_rng(4)
FEATURES = RNG.normal(size=(5, 3)) / 2
FACETS = np.vstack([np.eye(3), -np.eye(3)])
SETS: dict[str, Any] = {
    "ball": pm.Ball([0.0] * 3, 1.0),
    "small ball": pm.Ball([0.1, 0.0, 0.0], 0.2),
    "box": pm.Box([-1.0] * 3, [1.0] * 3),
    "simplex": pm.Simplex(3),
    "polytope": pm.Polytope(FACETS, [1.0, 0.5, 0.7, 0.2, 0.6, 1.0]),
}


def rows(*counts: int) -> list[Any]:
    return [RNG.normal(size=(count, 3)) for count in counts]


def games_over(parameters: Any) -> dict[str, Any]:
    def bandit(features: Any) -> pm.Game:
        return pm.games.linear_bandit(features, parameters, noise_std=0.5)

    several = [
        pm.Game(FEATURES, rows(0, 1, 2, 3, 1), parameters, 0.7, actions=list("cabde")),
        pm.Game(FEATURES[:3], [[]] * 3, parameters, 0.7, actions=list("dba")),
        pm.Game(FEATURES[:2], rows(2, 2), parameters, [0.3, 2.0], actions=list("ec")),
    ]
    dominated = pm.Game([[1.0, 2.0, 1.0], [0.9, 1.8, 0.9]], rows(0, 1), parameters)
    return {
        "bandits": pm.ContextualGame([bandit(FEATURES), bandit(RNG.normal(size=(7, 3)))]),
        "several rows": pm.ContextualGame(several, [0.5, 0.2, 0.3]),
        "copies": pm.ContextualGame([bandit(np.repeat(np.eye(3), 2, axis=0)), dominated]),
    }


GAMES = {
    f"{name}, {kind}": game
    for kind, parameters in SETS.items()
    for name, game in games_over(parameters).items()
}
REGISTRY = [name for name in pm.games.GAMES if pm.games.make(name).traits.contexts]
DIRECTED = pm.information.directed
IMPROVING: dict[str, Any] = {
    "gap": pm.gaps.improvement,
    "information": pm.information.improvement,
}
PLAIN: dict[str, Any] = {
    "exact": pm.IDS(),
    "relaxed": pm.IDS(gap=pm.gaps.relaxed, sampling=pm.sampling.deterministic),
    "mean, e2d": pm.IDS(gap=pm.gaps.mean, sampling=pm.sampling.e2d(0.4)),
    "anytime": pm.IDS(sampling=pm.sampling.e2d("anytime")),
}
"""IDS with every gap estimate and sampling rule."""
POLICIES: dict[str, Any] = PLAIN | {
    "directed": pm.IDS(information=DIRECTED),
    "improving": pm.IDS(**IMPROVING),
    "mixed": pm.IDS(gap=pm.gaps.mean, information=pm.information.improvement),
    "probes": pm.Probing(pm.IDS(), 0.2),
    "together, exact": pm.ContextualIDS(),
    "together, relaxed": pm.ContextualIDS(gap=pm.gaps.relaxed, chances="growing"),
    "together, mean": pm.ContextualIDS(gap=pm.gaps.mean, sampling=pm.sampling.generalized(3.0)),
    "together, directed": pm.ContextualIDS(information=DIRECTED, chances="estimated"),
    "together, mixed": pm.ContextualIDS(information=pm.information.improvement),
    "together, probes": pm.Probing(pm.ContextualIDS(), 0.2),
}
COMPARING: dict[str, Any] = {
    "greedy": pm.Greedy(),
    "epsilon": pm.EpsilonGreedy(),
    "weights": pm.SquareCB(exploration=2.0),
    "probes": pm.Probing(pm.SquareCB(), 0.2),
}

"""Linear games of all shapes, over R^d and over sets that cut."""

from __future__ import annotations

from typing import Any

import numpy as np

import partial_monitoring as pm

RNG = np.random.default_rng(3)
FEATURES = RNG.normal(size=(6, 3)) / 2
ALL = pm.AllParameters(3)
MAPS = [RNG.normal(size=(rows, 3)) for rows in (0, 1, 2, 3, 1, 0)]

GAMES: dict[str, Any] = {
    "bandit": pm.games.linear_bandit(FEATURES, ALL, noise_std=0.5),
    "copies and ties": pm.games.linear_bandit(np.repeat(np.eye(3), 2, axis=0), ALL),
    "several rows": pm.Game(FEATURES, MAPS, ALL, 0.7),
    "own noise each": pm.Game(FEATURES, MAPS, ALL, [0.2, 0.4, 1.0, 3.0, 0.5, 1.0]),
    "hidden directions": pm.Game(FEATURES, [[[1.0, 0, 0]]] * 6, ALL),
    "nothing is shown": pm.Game(FEATURES, [[]] * 6, ALL),
    "one action": pm.Game([[1.0, 2.0]], [[[1.0, 0.0]]], pm.AllParameters(2)),
    "large rows": pm.games.linear_bandit(300.0 * FEATURES, ALL, noise_std=0.5),
    "a point": pm.Game([[1.0], [2.0], [2.0]], [[[1.0]], [[0.0]], []], pm.Simplex(1)),
}
OUTER, INNER = np.vstack([np.eye(3), -np.eye(3)]), np.array([1.0, 0.5, 0.7, 0.2, 0.6, 1.0])
CUT: dict[str, Any] = {
    "ball": pm.games.linear_bandit(FEATURES, noise_std=0.5),
    "small ball, several rows": pm.Game(FEATURES, MAPS, pm.Ball(np.zeros(3), 0.1), 0.7),
    "ball, hidden directions": pm.Game(FEATURES, [[[1.0, 0, 0]]] * 6, pm.Ball(np.zeros(3), 1.0)),
    "box": pm.games.linear_bandit(FEATURES, pm.Box([-1.0] * 3, [1.0] * 3)),
    "simplex": pm.Game(FEATURES, MAPS, pm.Simplex(3), 0.7),
    "polytope": pm.Game(FEATURES, MAPS, pm.Polytope(OUTER, INNER)),
    "five prices": pm.games.dynamic_pricing([1, 2, 3, 4, 5], cost=2),
    "apple tasting": pm.games.apple_tasting(),
    "always best": pm.Game([[1.0, 1.0], [0.0, 0.5]], [[[1.0, 0.0]], []], pm.Simplex(2)),
}

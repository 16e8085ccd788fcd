"""Games with contexts over every kind of parameter set."""

from __future__ import annotations

from typing import Any

import numpy as np

import partial_monitoring as pm

SETS = {
    "everything": pm.AllParameters(3),
    "ball": pm.Ball([0.2, 0, 0], 1.0),
    "box": pm.Box([-1, -1, 0], [1, 1, 0.5]),
    "polytope": pm.Polytope([[1, 1, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [1, 0, 0, 0]),
    "simplex": pm.Simplex(3),
}


DOMINATED = pm.Game([[1, 1], [1, 0], [0, 1]], [[], [[1, 0]], [[0, 1]]], pm.Box([0, 0], [1, 1]), 0.5)
"""The first action is best whatever the parameter, and shows nothing."""


def random_game(seed: int, kind: str) -> pm.ContextualGame:
    """Return a game with three contexts that offer different actions with different noise."""
    rng = np.random.default_rng(seed)
    games = []
    for z in range(3):
        actions = [["a", "b", "c"], ["c", "a"], ["d", "b", "e", "a"]][z]
        maps = [rng.normal(size=(rng.integers(0, 3), 3)) for _ in actions]
        noise: Any = 0.7 if seed % 2 else rng.uniform(0.3, 2.0, len(actions))
        games.append(pm.Game(rng.normal(size=(len(actions), 3)), maps, SETS[kind], noise, actions))
    return pm.ContextualGame(games, rng.dirichlet(np.ones(3)))


def game(maps: list[list[list[float]]], chi: list[float] | None = None) -> pm.ContextualGame:
    """Two actions with rewards theta_1 and theta_2 in each context, and what these show."""
    box = pm.Box([0, 0], [1, 1])
    features = [[1, 0], [0, 1]]
    games = [pm.Game(features, [rows, []], box, actions=["a", "b"]) for rows in maps]
    return pm.ContextualGame(games, chi)


def in_square(seed: int) -> pm.ContextualGame:
    """Contexts over a square of parameters, with a constant in the rewards."""
    rng = np.random.default_rng(seed)
    square = pm.Box([-1, -1, 1], [1, 1, 1])
    games = []
    for _ in range(int(rng.integers(1, 5))):
        k = int(rng.integers(1, 5))
        maps = [rng.integers(-1, 2, (int(rng.integers(0, 3)), 3)) for _ in range(k)]
        games.append(pm.Game(rng.integers(-2, 3, (k, 3)), maps, square))
    chi = np.ones(len(games))
    if len(games) > 2 and seed % 3 == 0:
        chi[-1] = 0.0
    return pm.ContextualGame(games, chi / chi.sum())


CUT = 10

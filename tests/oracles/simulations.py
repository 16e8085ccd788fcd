"""Games to be simulated, and a small simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.simulation.result import Result

PRICING = pm.games.dynamic_pricing()
THETA = [0.2, 0.5, 0.3]

GAMES: dict[str, Callable[[], pm.Game]] = {
    "simplex": pm.games.dynamic_pricing,
    "ball": pm.games.linear_bandit,
    "own noise": pm.games.heteroscedastic_linear_bandit,
    "box": pm.games.bernoulli_bandit_linear,
    "all": pm.games.graph_dueling,
    "signs": lambda: pm.games.graph_dueling(feedback="sign"),
    "duels": pm.games.dueling,
    "semi-bandit": pm.games.combinatorial_bandit,
    "polytope": lambda: pm.Game(
        np.eye(3) + 0.1,
        [[[1.0, 0, 0]], [[1.0, 1, 0], [0, 1, 1]], [[0.3, 0.2, 0.1]]],
        pm.Polytope(-np.eye(3), [0.0] * 3, np.ones((1, 3)), [1.0]),
    ),
    "many arms": lambda: pm.games.linear_bandit(
        np.random.default_rng(0).normal(size=(320, 3)), pm.AllParameters(3)
    ),
}


def small(
    game: pm.Game = PRICING, policies: Any = "ids", theta: Any = "random", **kw: Any
) -> Result:
    options = {"horizon": 20, "seeds": 3} | kw
    return pm.simulate(game, policies, theta, **options)

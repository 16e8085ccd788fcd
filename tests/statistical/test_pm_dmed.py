"""In the long run regret of PM-DMED is about C(theta) log n, and not far below it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm

HALVED = pm.games.finite(
    losses=np.array([[0, 1, 2], [2, 0, 1], [2, 2, 0]]) / 2, signals=["aaa", "baa", "bba"]
)
ARMS = pm.games.finite(losses=[[0, 0, 1, 1], [0, 1, 0, 1]], signals=["aabb", "abab"])
CASES: dict[str, tuple[pm.FiniteGame, Any]] = {
    "apples": (pm.games.apple_tasting(), [0.6, 0.4]),
    "labels": (pm.games.label_efficient(), [0.4, 0.6]),
    "arms": (ARMS, [0.24, 0.36, 0.16, 0.24]),
    "prices": (HALVED, [0.2, 0.3, 0.5]),
}


def ratio(name: str, policy: str, horizon: int, seeds: int) -> float:
    """Mean regret over C(theta) log n."""
    game, theta = CASES[name]
    regret = pm.simulate(game, policy, theta, horizon=horizon, seeds=seeds).mean(policy)[-1]
    return float(regret / (pm.asymptotic_constant(game, theta) * np.log(horizon)))


@pytest.mark.parametrize("name", ["apples", "labels"])
def test_regret_is_near_the_bound(name: str) -> None:
    assert 0.5 < ratio(name, "pm_dmed", 3000, 30) < 1.6


@pytest.mark.nightly
@pytest.mark.parametrize("policy", ["pm_dmed", "pm_dmed_hinge"])
@pytest.mark.parametrize("name", CASES)
def test_regret_is_near_the_bound_in_the_long_run(name: str, policy: str) -> None:
    assert 0.5 < ratio(name, policy, 100_000, 20) < 2.0

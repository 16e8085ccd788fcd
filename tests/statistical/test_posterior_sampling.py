"""How fast the regret of TSPM, Mario sampling and Bayesian IDS grows; all seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.finite_games import NAMED

LABELS = pm.games.finite(losses=[[1, 1], [1, 0], [0, 1]], signals=["ab", "cc", "cc"])
SIZES = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
COINS = np.concatenate([0.5 + SIZES / 2, 0.5 - SIZES / 2])
POLICIES: dict[str, Any] = {
    "tspm": pm.TSPM(allow_outside=True),
    "gaussian": pm.TSPMGaussian(allow_outside=True),
    "path": pm.Mario(allow_outside=True),
    "level": pm.Mario("level", samples=50, allow_outside=True),
    "variance": pm.BayesianIDS(samples=50),
    "mutual": pm.BayesianIDS("mutual", samples=50),
}


def slope(game: Any, policy: Any, horizon: int, replicates: int) -> float:
    """The growth exponent of the worst case over parameters near a tie."""
    marks = np.unique(np.geomspace(horizon / 16, horizon, 10).astype(int))
    theta = np.repeat(np.stack([COINS, 1 - COINS], axis=1), replicates, axis=0)
    result = pm.simulate(
        game, {"own": policy}, theta, horizon=horizon, seeds=len(theta), checkpoints=marks
    )
    means = result.regret["own"].reshape(len(COINS), replicates, -1).mean(axis=1).max(axis=0)
    return float(np.polyfit(np.log(marks), np.log(means), 1)[0])


@pytest.mark.parametrize("name", ["tspm", "path"])
def test_easy_games_are_learned(name: str) -> None:
    assert slope(NAMED["apples"], POLICIES[name], 1600, 20) < 0.7


def test_thompson_sampling_does_not_learn_hard_games() -> None:
    assert slope(LABELS, POLICIES["tspm"], 1600, 10) > 0.9


@pytest.mark.nightly
@pytest.mark.parametrize("name", POLICIES)
def test_growth_on_easy_games(name: str) -> None:
    """Of order n^(1/2) at most, with room for chance."""
    for game in ("apples", "path"):
        assert slope(NAMED[game], POLICIES[name], 4000, 40) < 0.66


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["path", "level", "variance", "mutual"])
def test_helpers_between_neighbours_are_used(name: str) -> None:
    assert slope(NAMED["midpoint tells"], POLICIES[name], 4000, 40) < 0.75


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["variance", "mutual"])
def test_bayesian_ids_learns_hard_games(name: str) -> None:
    """Of order n^(2/3) at most."""
    assert slope(LABELS, POLICIES[name], 4000, 40) < 0.85

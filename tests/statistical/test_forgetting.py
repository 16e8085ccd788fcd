"""What forgetting saves when the world switches, and what it costs when it stands still."""

from __future__ import annotations

import pytest

import partial_monitoring as pm
from benchmarks.forgetting import GAMES, HALF_LIFE, HORIZON, forgetting, regrets


def ratio(game: str, name: str, world: str, horizon: int, count: int, seeds: int) -> float:
    """Return the regret with a half-life of a fifth of the rounds, over that without."""
    lives, scale = (None, HALF_LIFE), horizon / HORIZON
    chosen = {
        own: policy
        for own, policy in forgetting(game, lives, scale).items()
        if own.rpartition(", ")[0] == name
    }
    found = regrets(game, chosen, world, horizon, count, seeds)
    plain, forgot = (found[f"{name}, {life}"].mean() for life in lives)
    return float(forgot / plain)


def test_a_switch_costs_the_default_at_most_half() -> None:
    assert ratio("dynamic_pricing", "default", "switch", 4000, 8, 2) <= 0.5


def test_regret_is_measured_against_the_moving_best() -> None:
    """Whoever stays with the action that was best at first loses after the switch only."""
    game = pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]], pm.AllParameters(2))
    theta = pm.truths.switching([[1.0, 0.0], [0.0, 1.0]], at=[50])
    marks = [50, 100]
    stays = pm.Greedy(prior_mean=[1.0, 0.0], regularization=1e9)
    result = pm.simulate(game, stays, theta, horizon=100, seeds=2, checkpoints=marks)
    assert result.regret["greedy"].tolist() == [[0.0, 50.0]] * 2


@pytest.mark.nightly
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("name", ["default", "IDS, calibrated"])
def test_the_promise(game: str, name: str) -> None:
    """Ten thousand rounds, one switch at half of them, a half-life of 2,000."""
    assert ratio(game, name, "switch", HORIZON, 20, 4) <= 0.5
    assert ratio(game, name, "still", HORIZON, 20, 4) <= 2.0

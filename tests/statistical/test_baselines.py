"""The competing algorithms against each other and against their known growth; all seeded."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.finite_games import NAMED

COINS = pm.games.finite(
    losses=pm.games.bernoulli_bandit(3).rewards, signals=pm.games.bernoulli_bandit(3).signals
)
PATTERNS = np.array(list(np.ndindex(2, 2, 2)))

GAMES: dict[str, tuple[pm.FiniteGame, list[float]]] = {
    "apples": (
        pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"]),
        [0.4, 0.6],
    ),
    "labels": (
        pm.games.finite(losses=[[1, 1], [1, 0], [0, 1]], signals=["ab", "cc", "cc"]),
        [0.6, 0.4],
    ),
    "pricing": (pm.games.dynamic_pricing([1, 2, 3]), [0.2, 0.3, 0.5]),
    "path": (NAMED["path"], [0.9, 0.1]),
    "coins": (
        COINS,
        np.where(PATTERNS == 1, [0.3, 0.5, 0.5], [0.7, 0.5, 0.5]).prod(axis=1).tolist(),
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", GAMES)
def test_random_widths_explore_less(name: str) -> None:
    """RandCBP beats CBP on every game, by three standard errors after 10,000 rounds."""
    game, theta = GAMES[name]
    result = pm.simulate(
        game, ["cbp", "randcbp"], theta, horizon=10_000, seeds=200, checkpoints=[1000, 10_000]
    )
    difference = result.regret["cbp"][:, -1] - result.regret["randcbp"][:, -1]
    assert difference.mean() > 3 * difference.std() / np.sqrt(200)
    for policy in ("cbp", "randcbp"):
        mean = result.mean(policy)
        assert mean[1] < 9 * mean[0]  # sublinear
        if name == "path":
            assert mean[1] < 1.5 * mean[0]  # flat


@pytest.mark.nightly
def test_apples_cost_what_the_width_says() -> None:
    """CBP tastes until n gap^2 = alpha log t: about 175 apples in 1000 rounds, 233 in 10,000.

    A lucky streak decides early and is found out only as log t grows, so it is rather less.
    """
    game, theta = GAMES["apples"]
    result = pm.simulate(game, "cbp", theta, horizon=10_000, seeds=200, checkpoints=[1000, 10_000])
    tasted = result.plays["cbp"][:, :, 1].mean(axis=0)
    expected = 1.01 * np.log([1000, 10_000]) / 0.2**2
    assert (tasted > 0.6 * expected).all()
    assert (tasted < 1.15 * expected).all()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["linucb", "lints"])
def test_bandits_are_learned(name: str) -> None:
    phi = np.random.default_rng(0).standard_normal((10, 3))
    game = pm.games.linear_bandit(phi / np.linalg.norm(phi, axis=1, keepdims=True))
    result = pm.simulate(game, name, [0.4, 0.2, -0.3], horizon=10_000, seeds=20)
    assert result.exponent(name, start=0.05).value < 0.6

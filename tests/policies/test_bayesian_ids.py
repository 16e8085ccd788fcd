"""Bayesian IDS: gaps and information of posterior draws against plain formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.finite.posterior import Drawing
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.two_ways import compare

Array = NDArray[Any]

SAMPLES = 60
GAMES = {**NAMED, **{f"random {seed}": random_game(seed) for seed in range(12)}}


def after_rounds(policy: Any, game: Any, rounds: int, n: int = 2) -> Any:
    """The state after random actions and outcomes."""
    rng, state = np.random.default_rng(rounds), policy.init(game, n)
    for _ in range(rounds):
        action, outcome = rng.integers(0, game.k, n), rng.integers(0, game.d, n)
        state = policy.update(state, action, game.observation_maps[action, :, outcome])
    return state


def plain(game: Any, theta: Array) -> tuple[Array, Array, Array]:
    """Gaps, variances and mutual information (k,) of draws (M, d)."""
    rewards = theta @ game.rewards.T
    best, mean = rewards.argmax(axis=1), theta.mean(axis=0)
    gaps = rewards.max(axis=1).mean() - game.rewards @ mean
    variance, mutual = np.zeros(game.k), np.zeros(game.k)
    for b in range(game.k):
        own = theta[best == b]
        if len(own) == 0:
            continue
        share, given = len(own) / len(theta), own.mean(axis=0)
        for a in range(game.k):
            seen, before = game.rows(a) @ given, game.rows(a) @ mean
            variance[a] += share * ((seen - before) ** 2).sum()
            mutual[a] += share * sum(
                x * np.log(x / y) for x, y in zip(seen, before, strict=True) if x > 0
            )
    return gaps, variance, mutual


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("rounds", [0, 15])
def test_gaps_and_information_are_those_of_the_draws(name: str, rounds: int) -> None:
    """And the mutual information is never below the variance."""
    game, uniforms = GAMES[name], np.array([[0.1, 0.5], [0.8, 0.2]])
    for gain in ("variance", "mutual"):
        policy = pm.BayesianIDS(gain, SAMPLES)
        state = after_rounds(policy, game, rounds)
        choice = policy.decide(state, uniforms)
        theta, _ = state.posterior.draw(Drawing(), uniforms[:, 0], SAMPLES)
        assert choice.gaps is not None
        assert choice.information is not None
        for i in range(2):
            gaps, variance, mutual = plain(game, theta[i])
            assert (mutual >= variance - 1e-12).all()
            assert np.allclose(choice.gaps[i], np.maximum(gaps, 0), atol=1e-12)
            expected = variance if gain == "variance" else mutual
            assert np.allclose(choice.information[i], expected, atol=1e-12)
            mu = pm.sampling.exact(choice.gaps[i], choice.information[i])
            assert np.allclose(choice.distribution[i], mu, atol=1e-6)


def test_where_all_draws_agree_their_best_action_is_played() -> None:
    trivial = pm.games.finite(losses=[[0, 1, 2], [3, 2, 3]], signals=["abb", "aab"])
    for gain in ("variance", "mutual"):
        result = pm.simulate(trivial, {"own": pm.BayesianIDS(gain, 20)}, horizon=20, seeds=3)
        assert (result.regret["own"] == 0).all()


def test_one_informative_action_makes_both_gains_the_same() -> None:
    """Only the ratio matters, and in it the scale of the information cancels."""
    uniforms = np.random.default_rng(0).random((20, 2))
    one, two = (
        pm.BayesianIDS(gain).decide(pm.BayesianIDS(gain).init(NAMED["labels"], 20), uniforms)
        for gain in ("variance", "mutual")
    )
    assert np.allclose(one.distribution, two.distribution)


def test_two_arms_with_normal_rewards() -> None:
    """theta ~ N(0, I): the best of two is larger by pi^(-1/2) than its mean, the other smaller."""
    game = pm.games.linear_bandit(np.eye(2), pm.AllParameters(2))
    policy = pm.BayesianIDS(samples=50_000)
    choice = policy.decide(policy.init(game, 1), np.array([[0.3, 0.5]]))
    assert choice.gaps is not None
    assert choice.information is not None
    away = game.noise_std / np.sqrt(np.pi)
    assert np.allclose(choice.gaps, away, rtol=0.05)
    assert np.allclose(choice.information, 0.5 * away**2 / game.noise_std**2, rtol=0.05)


def test_only_finite_games_have_mutual_information() -> None:
    with pytest.raises(InvalidInput, match="gain='mutual' plays finite games"):
        pm.BayesianIDS("mutual").init(pm.games.linear_bandit(), 1)


def test_as_if_there_were_no_other_actions() -> None:
    policy, game = pm.BayesianIDS(samples=50), NAMED["pricing"]
    state, uniforms = policy.init(game, 30), np.random.default_rng(1).random((30, 2))
    choice = policy.decide(state, uniforms, np.array([False, True, False, True]))
    assert set(choice.action.tolist()) <= {1, 3}
    fewer = pm.FiniteGame(game.rewards[[1, 3]], [game.signals[1], game.signals[3]])
    alone = policy.decide(policy.init(fewer, 30), uniforms)
    assert np.array_equal(choice.distribution[:, [1, 3]].round(9), alone.distribution.round(9))


@pytest.mark.parametrize("gain", ["variance", "mutual"])
@pytest.mark.parametrize("name", ["apples", "pricing", "one outcome", "bandit", "copies"])
def test_compiled_rounds_are_those_of_the_batches(name: str, gain: str) -> None:
    compare(NAMED[name], pm.BayesianIDS(gain, 20), 40)


def test_checks() -> None:
    pm.testing.check_policy(pm.BayesianIDS(samples=20))
    pm.testing.check_policy(pm.BayesianIDS("mutual", samples=20), on=[NAMED["pricing"]])


def test_hard_games_are_learned() -> None:
    """Where Thompson sampling never asks for a label."""
    policies = {"own": pm.BayesianIDS(), "tspm": pm.TSPM(allow_outside=True)}
    game = NAMED["labels"]
    result = pm.simulate(game, policies, [0.7, 0.3], horizon=500, seeds=20)
    assert result.mean("own")[-1] < 0.5 * result.mean("tspm")[-1]

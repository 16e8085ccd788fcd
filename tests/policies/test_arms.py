"""Plain bandits: how rewards are read, UCB1, Thompson sampling, and uniform random actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.bandit.readout import readout
from tests.oracles.two_ways import compare

BERNOULLI = pm.games.bernoulli_bandit(3)
LINEAR = pm.games.linear_bandit([[1.0, 0.0], [0.0, 2.0], [0.6, 0.6]], noise_std=[0.5, 1.0, 0.1])
LOTTERY = pm.FiniteGame([[0, 3, 7], [5, 5, 1]], ["abc", "xxy"])
"""Three rewards of one action, two of the other."""


def told(policy: Any, game: Any, rewards: dict[int, list[Any]], replicates: int = 1) -> Any:
    """The state after some observations of each action."""
    state = policy.init(game, replicates)
    for action, seen in rewards.items():
        for each in seen:
            shown = np.repeat(np.asarray(each, dtype=float)[None], replicates, axis=0)
            state = policy.update(state, np.full(replicates, action), shown)
    return state


# -- reading rewards -------------------------------------------------------------------------


@pytest.mark.parametrize("game", [BERNOULLI, LOTTERY])
def test_symbols_are_read_as_the_rewards_of_their_outcomes(game: Any) -> None:
    read = readout(game)
    for a in range(game.k):
        for z in range(game.d):
            shown = game.observation_maps[a, :, z]
            assert read.weights[a] @ shown + read.constants[a] == game.rewards[a, z]
    assert (read.low, read.high) == (game.rewards.min(), game.rewards.max())


def test_numbers_are_read_up_to_what_theta_determines() -> None:
    box = pm.Box([0.0, 0.0, 1.0], [1.0, 1.0, 1.0])  # the last entry is known
    maps = np.array([[[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]], [[0.0, 3.0, 2.0], [0.0, 0.0, 0.0]]])
    game = pm.Game([[2.0, 0.5, -1.0], [0.0, 1.0, 4.0]], maps, box, 0.3)
    read = readout(game)
    for theta in box.sample(range(20)):
        shown = game.observation_maps @ theta
        rewards = (read.weights * shown).sum(axis=1) + read.constants
        np.testing.assert_allclose(rewards, game.features @ theta, atol=1e-9)
    assert read.deviation == pytest.approx(0.3 * np.hypot(1.25, 0.75))


def test_an_action_that_shows_nothing_has_no_weights() -> None:
    game = pm.FiniteGame([[1.0, 1.0], [0.0, 2.0]], ["xx", "ab"])
    assert readout(game).deviation == 1.0
    assert pm.simulate(game, "ucb1", [0.5, 0.5], horizon=50, seeds=2).backend["ucb1"] == "compiled"


# -- UCB1 ------------------------------------------------------------------------------------


def test_ucb1_plays_every_arm_once_and_then_the_largest_index() -> None:
    policy = pm.UCB1()
    win, lose = [0.0, 1.0], [1.0, 0.0]
    read = readout(BERNOULLI).weights
    ones = {a: win if read[a, 1] > read[a, 0] else lose for a in range(3)}
    zeros = {a: lose if ones[a] == win else win for a in range(3)}
    state = told(policy, BERNOULLI, {0: [ones[0], zeros[0]], 1: [ones[1]]})
    choice = policy.decide(state, np.array([0.5]))
    assert choice.action[0] == 2
    assert choice.index is not None
    expected = [0.5 + np.sqrt(2 * np.log(4) / 2), 1 + np.sqrt(2 * np.log(4) / 1), np.inf]
    np.testing.assert_allclose(choice.index[0], expected)


def test_ucb1_scales_with_the_rewards() -> None:
    scaled = pm.FiniteGame(7 * BERNOULLI.rewards - 3, BERNOULLI.signals)
    theta = np.full(8, 1 / 8)
    plays = [
        pm.simulate(game, "ucb1", theta, horizon=500, seeds=5).plays["ucb1"]
        for game in (BERNOULLI, scaled)
    ]
    assert np.array_equal(*plays)


# -- Thompson sampling -----------------------------------------------------------------------


def test_draws_follow_the_beta_posterior() -> None:
    policy, many = pm.Thompson(wins=2.0, losses=0.5), 4000
    read = readout(LOTTERY).weights
    seen = {0: [np.eye(3)[j] for j in (0, 2, 2, 1)], 1: [np.eye(3)[0]]}
    state = told(policy, LOTTERY, seen, many)
    index = policy.decide(state, np.random.default_rng(1).random(many)).index
    assert index is not None
    for a, shown in seen.items():
        wins = sum(read[a] @ each for each in shown) / 7
        law = stats.beta(2.0 + wins, 0.5 + len(shown) - wins)
        assert stats.kstest(index[:, a], law.cdf).pvalue > 1e-3


def test_draws_follow_the_normal_posterior() -> None:
    policy, many = pm.Thompson(), 4000
    state = told(policy, LINEAR, {0: [[1.0], [0.0]], 1: [[2.0]], 2: [[0.3]]}, many)
    index = policy.decide(state, np.random.default_rng(1).random(many)).index
    assert index is not None
    for a, (mean, plays) in enumerate([(0.5, 2), (2.0, 1), (0.3, 1)]):
        law = stats.norm(mean, 1.0 / np.sqrt(plays))
        assert stats.kstest(index[:, a], law.cdf).pvalue > 1e-3


# -- all of them -----------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [pm.UCB1(), pm.UCB1(0.3), pm.Thompson(), pm.Random()])
@pytest.mark.parametrize("game", [BERNOULLI, LINEAR, LOTTERY])
def test_compiled_rounds_are_the_batched_ones(policy: Any, game: Any) -> None:
    compare(game, policy, 600)


@pytest.mark.parametrize("policy", [pm.UCB1(), pm.Thompson(), pm.Random()])
def test_policies_keep_what_is_asked_of_every_policy(policy: Any) -> None:
    pm.testing.check_policy(policy)


@pytest.mark.parametrize("policy", [pm.UCB1(), pm.Thompson()])
def test_games_that_hide_rewards_are_refused_unless_asked_for(policy: Any) -> None:
    with pytest.raises(InvalidInput, match="show their own reward"):
        pm.simulate("label_efficient", policy, horizon=5)
    allowed = type(policy)(allow_partial=True)
    pm.simulate("label_efficient", allowed, horizon=50, seeds=2)


def test_random_actions_are_uniform_among_those_that_can_be_played() -> None:
    policy, many = pm.Random(), 6000
    uniforms = np.random.default_rng(0).random(many)
    state = policy.init(BERNOULLI, many)
    choice = policy.decide(state, uniforms, available=np.array([True, False, True]))
    np.testing.assert_array_equal(choice.distribution, [[0.5, 0.0, 0.5]] * many)
    assert stats.binomtest(int((choice.action == 0).sum()), many).pvalue > 1e-3
    assert not (choice.action == 1).any()


def test_one_arm_costs_nothing() -> None:
    game = pm.FiniteGame([[1.0, 2.0]], ["ab"])
    for policy in ("ucb1", "thompson", "random"):
        assert pm.simulate(game, policy, horizon=20).mean(policy)[-1] == 0


@pytest.mark.parametrize("options", [{"factor": 0.0}, {"factor": np.nan}, {"allow_partial": 1}])
def test_bad_options_of_ucb1_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        pm.UCB1(**options)


@pytest.mark.parametrize("options", [{"wins": -1.0}, {"losses": 0.0}])
def test_bad_options_of_thompson_sampling_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        pm.Thompson(**options)

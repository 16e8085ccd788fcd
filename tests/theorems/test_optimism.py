"""LinUCB and LinTS: their indices by the definition, their draws by their moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtri

import partial_monitoring as pm
from partial_monitoring.estimation.linear.state import LinearState
from partial_monitoring.policies.needs import shows_reward

Array = NDArray[np.float64]


def played(policy: Any, game: pm.Game, rounds: int, seed: int = 0) -> tuple[LinearState, Array]:
    """Play random actions; return the state and V_t with the vector sum, computed plainly."""
    rng = np.random.default_rng(seed)
    state = policy.init(game, 2)
    gram = np.stack([np.eye(game.d) * policy.regularization] * 2)
    total = np.zeros((2, game.d))
    for _ in range(rounds):
        action = rng.integers(game.k, size=2)
        seen = rng.standard_normal((2, game.m))
        state = policy.update(state, action, seen)
        for i, a in enumerate(action):
            rows = game.observation_maps[a]
            gram[i] += rows.T @ rows
            total[i] += rows.T @ seen[i]
    return state, np.concatenate([gram, total[:, :, None]], axis=2)


def bandit(k: int, d: int, seed: int) -> pm.Game:
    phi = np.random.default_rng(seed).standard_normal((k, d))
    return pm.Game(phi, phi[:, None, :], pm.AllParameters(d), noise_std=0.5)


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 1000))
def test_the_index_is_the_mean_plus_the_width(k: int, d: int, seed: int) -> None:
    policy = pm.LinUCB(regularization=0.7, norm_bound=2.0)
    game = bandit(k, d, seed)
    state, plain = played(policy, game, 5, seed)
    choice = policy.decide(state, np.zeros(2))
    assert choice.index is not None
    for i in range(2):
        gram, total = plain[i, :, :d], plain[i, :, d]
        theta = np.linalg.solve(gram, total)
        logs = np.linalg.slogdet(gram)[1] - d * np.log(0.7)
        radius = 0.5 * np.sqrt(4 * np.log(6) + logs) + np.sqrt(0.7) * 2.0
        width = np.sqrt(np.einsum("ki,ij,kj->k", game.features, np.linalg.inv(gram), game.features))
        index = game.features @ theta + radius * width
        assert choice.index[i] == pytest.approx(index, rel=1e-8, abs=1e-10)
        assert choice.beta[i] == pytest.approx(radius**2, rel=1e-9)
        assert choice.estimate[i] == pytest.approx(theta, rel=1e-8, abs=1e-10)
        assert index[choice.action[i]] == pytest.approx(index.max())


def test_the_relative_index_compares_with_the_greedy_action() -> None:
    policy = pm.LinUCB(relative=True)
    game = bandit(5, 3, 1)
    state, plain = played(policy, game, 8)
    choice = policy.decide(state, np.zeros(2))
    assert choice.index is not None
    for i in range(2):
        gram, total = plain[i, :, :3], plain[i, :, 3]
        theta = np.linalg.solve(gram, total)
        greedy = int((game.features @ theta).argmax())
        away = game.features - game.features[greedy]
        width = np.sqrt(np.einsum("ki,ij,kj->k", away, np.linalg.inv(gram), away))
        index = away @ theta + np.sqrt(choice.beta[i]) * width
        assert choice.index[i] == pytest.approx(index, rel=1e-8, abs=1e-9)


def test_what_all_actions_share_does_not_move_the_relative_index() -> None:
    """A coordinate that is 1 for all actions and never seen on its own."""
    phi = np.eye(3)
    shared = np.column_stack([phi, np.ones(3)])
    maps = np.column_stack([phi, np.zeros(3)])[:, None, :]
    plain = pm.Game(phi, phi[:, None, :], pm.AllParameters(3))
    more = pm.Game(shared, maps, pm.AllParameters(4))
    policy = pm.LinUCB(relative=True, norm_bound=1.0, allow_partial=True)
    one, two = (policy.decide(policy.init(g, 1), np.zeros(1)).index for g in (plain, more))
    assert one == pytest.approx(two)


@pytest.mark.parametrize("width", ["posterior", "confidence"])
def test_draws_have_the_covariance_of_the_posterior(width: str) -> None:
    """Mean and covariance of 40,000 draws, within five standard errors; the seed is fixed."""
    policy = pm.LinTS(width=width, factor=1.5)
    game = bandit(4, 3, 2)
    state, plain = played(policy, game, 6)
    one = LinearState(state.estimate)
    confidence = policy.confidence_set(one)
    n = 40_000
    rng = np.random.default_rng(0)
    draws = np.stack(
        [policy.index(confidence, np.tile(rng.random(3), (2, 1)))[0] for _ in range(n)]
    )
    gram, total = plain[0, :, :3], plain[0, :, 3]
    c = 1.5 * (0.5 if width == "posterior" else np.sqrt(confidence.beta[0]))
    expected = c**2 * game.features @ np.linalg.inv(gram) @ game.features.T
    means = game.features @ np.linalg.solve(gram, total)
    sizes = np.sqrt(np.diag(expected))
    assert np.abs(draws.mean(axis=0) - means).max() <= 5 * sizes.max() / np.sqrt(n)
    found = np.cov(draws.T)
    assert np.abs(found - expected).max() <= 5 * np.sqrt(2 / n) * sizes.max() ** 2


def test_unseen_directions_keep_the_prior() -> None:
    """Where nothing is seen a draw is theta_0 + rho lambda^(-1/2) z, coordinate by coordinate."""
    game = pm.Game(np.eye(2), [[], []], pm.AllParameters(2), noise_std=3.0)
    policy = pm.LinTS(allow_partial=True, regularization=4.0)
    state = policy.init(game, 1)
    uniforms = np.array([[0.2, 0.9]])
    index = policy.decide(state, uniforms).index
    assert np.sort(np.abs(index[0])) == pytest.approx(  # type: ignore[index]
        np.sort(np.abs(3.0 / 2.0 * ndtri(uniforms[0]))), rel=1e-12
    )


def test_a_draw_is_a_function_of_its_numbers() -> None:
    policy, game = pm.LinTS(), bandit(4, 3, 0)
    state, _ = played(policy, game, 3)
    numbers = np.random.default_rng(0).random((2, 3))
    one, two = policy.decide(state, numbers), policy.decide(state, numbers)
    assert np.array_equal(one.index, two.index)  # type: ignore[arg-type]
    middle = policy.decide(state, np.full((2, 3), 0.5))
    assert middle.index == pytest.approx(state.estimate.means, abs=1e-12)


@pytest.mark.parametrize("name", ["linucb", "lints"])
def test_without_noise_the_best_action_is_found(name: str) -> None:
    game = bandit(6, 3, 4)
    theta, marks = [0.5, -0.3, 0.2], [50, 2000, 4000]
    result = pm.simulate(game, name, theta, horizon=4000, seeds=4, noise="none", checkpoints=marks)
    early, _, last = np.diff(result.mean(name), prepend=0.0)
    assert last / 2000 < 0.02 * early / 50


@pytest.mark.parametrize("policy", [pm.LinUCB(), pm.LinTS()], ids=["linucb", "lints"])
def test_one_action(policy: Any) -> None:
    game = pm.Game([[1.0, 2.0]], [[[1.0, 2.0]]], pm.Ball([0.0, 0.0], 1.0))
    assert (pm.simulate(game, {"p": policy}, "random", horizon=10, seeds=2).regret["p"] == 0).all()


def test_optimism_gets_stuck_where_it_cannot_see() -> None:
    """The negative control: where only a costly action tells, its regret is linear."""
    game = pm.games.label_efficient()
    for policy in (pm.LinUCB(allow_partial=True), pm.LinTS(allow_partial=True)):
        result = pm.simulate(game, {"p": policy}, [0.3, 0.7], horizon=600, seeds=12)
        assert result.mean("p")[-1] > 0.15 * 600 * 0.4


def test_which_actions_show_their_reward() -> None:
    assert shows_reward(pm.games.linear_bandit()).all()
    assert shows_reward(pm.games.bernoulli_bandit(3)).all()
    assert shows_reward(pm.games.full_information()).all()
    assert shows_reward(pm.games.apple_tasting()).tolist() == [True, False]
    assert shows_reward(pm.games.finite_versus_linear("simplex")).all()  # known rewards
    assert not shows_reward(pm.games.finite_versus_linear("silent ball"))[0]
    assert not shows_reward(pm.games.matching_pennies("none")).any()

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

PRICING = pm.games.dynamic_pricing()
ROUNDS = 4000


def means_and_spread(instance: pm.Instance, action: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    draws = np.array([instance.observe(action, rng) for _ in range(ROUNDS)])
    return draws.mean(axis=0), draws.std(axis=0)


def test_rewards_gaps_and_the_best_action() -> None:
    instance = pm.Instance(PRICING, [0.2, 0.5, 0.3])
    np.testing.assert_allclose(instance.rewards, [-1.1, -0.7, -1.4])
    np.testing.assert_allclose(instance.gaps, [0.4, 0, 0.7])
    assert instance.best_action == 1
    assert instance.reward("$3") == pytest.approx(-1.4)


def test_ties_go_to_the_lowest_index() -> None:
    assert pm.Instance(pm.games.linear_bandit(), [0.5, 0.5, 0.5]).best_action == 3
    assert pm.Instance(pm.games.linear_bandit(), [0.5, 0.5, 0]).best_action == 0


def test_finite_games_show_signals_at_their_rates() -> None:
    instance = pm.Instance(PRICING, [0.2, 0.5, 0.3])
    rng = np.random.default_rng(0)
    sold = np.mean([instance.observe("$3", rng) == "yes" for _ in range(ROUNDS)])
    assert sold == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / ROUNDS))


@pytest.mark.parametrize("vertex", [0, 1, 2])
def test_outcomes_of_probability_zero_never_happen(vertex: int) -> None:
    game = pm.FiniteGame(np.zeros((1, 3)), ["abc"])
    theta = np.eye(3)[vertex] + np.array([1e-12, -1e-12, 0])
    instance = pm.Instance(game, theta)
    rng = np.random.default_rng(0)
    assert {instance.observe(0, rng) for _ in range(200)} == {"abc"[vertex]}


def test_gaussian_noise_has_the_mean_and_size_of_the_action() -> None:
    game = pm.games.heteroscedastic_linear_bandit()
    instance = pm.Instance(game, [0.3, 0.2, 0.1])
    for action, std in ((0, 1.0), (3, 0.1)):
        mean, spread = means_and_spread(instance, action)
        assert mean[0] == pytest.approx(instance.reward(action), abs=5 * std / np.sqrt(ROUNDS))
        assert spread[0] == pytest.approx(std, rel=0.1)


def test_bernoulli_noise() -> None:
    instance = pm.Instance(pm.games.bernoulli_bandit_linear(2), [0.25, 1.0])
    rng = np.random.default_rng(0)
    assert {float(instance.observe(0, rng)[0]) for _ in range(100)} == {0.0, 1.0}
    assert means_and_spread(instance, 0)[0] == pytest.approx(0.25, abs=0.04)
    assert means_and_spread(instance, 1)[0] == 1.0


def test_sign_noise() -> None:
    game = pm.games.dueling(feedback="sign")
    instance = pm.Instance(game, [0.4, 0.1, 0.0])
    action = game.action_index("0 | 1")
    rng = np.random.default_rng(0)
    assert {float(instance.observe(action, rng)[0]) for _ in range(100)} == {-1.0, 1.0}
    assert means_and_spread(instance, action)[0] == pytest.approx(0.3, abs=0.08)


def test_own_noise_and_none() -> None:
    game = pm.games.transductive()
    probe = game.action_index("probe 0")
    quiet = pm.Instance(game, [0.3, 0.2], noise="none")
    np.testing.assert_array_equal(quiet.observe(probe, np.random.default_rng(0)), [0.3, 0.2])
    shifted = pm.Instance(game, [0.3, 0.2], noise=lambda means, std, rng: means + std)
    np.testing.assert_allclose(shifted.observe(probe, np.random.default_rng(0)), [1.3, 1.2])
    assert quiet.observe(0, np.random.default_rng(0)).shape == (0,)


def test_the_same_generator_gives_the_same_observations() -> None:
    instance = pm.Instance(pm.games.linear_bandit(), [0.1, 0.2, 0.3])
    first, second = (instance.observe(1, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


BAD: list[tuple[Any, str]] = [
    (lambda: pm.Instance(PRICING, [0.5, 0.5, 0.5]), "theta_star must lie in the game's parameter"),
    (lambda: pm.Instance(PRICING, [0.5, 0.5]), "theta_star must have shape (3,); got (2,)."),
    (lambda: pm.Instance(PRICING, [0.5, 0.5, np.nan]), "theta_star must be finite; got nan at ind"),
    (lambda: pm.Instance(PRICING, [1, 0, 0], "gaussian"), "noise must be left out for a finite ga"),
    (lambda: pm.Instance(pm.games.linear_bandit(), [0, 0, 2]), "theta_star must lie in the game's"),
    (lambda: pm.Instance(pm.games.linear_bandit(), [0, 0, 1], "gausian"), "no noise named 'gausia"),
    (
        lambda: pm.Instance(pm.games.linear_bandit(), [0, 0, -1], "bernoulli"),
        "bernoulli observations need means between 0 and 1; action '2' has mean -1.",
    ),
    (lambda: pm.Instance(PRICING, [1, 0, 0]).observe(0, 5), "rng must be a numpy.random.Generator"),
    (lambda: pm.Instance(PRICING, [1, 0, 0]).observe(7, 5), "rng must be a numpy.random.Generator"),
    (lambda: pm.Instance(PRICING, [1, 0, 0]).reward("$9"), "no action named '$9'"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)

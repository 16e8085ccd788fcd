"""Tsallis-INF: weights against bisection, estimates by enumeration, and what rewards count as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.compiled import tsallis_inf
from tests.oracles.histories import after, history, own_history, relabelled
from tests.oracles.two_ways import compare

OPTIONS = {
    "reduced variance": pm.TsallisINF(),
    "importance weighting": pm.TsallisINF("importance weighting"),
}
every_estimator = pytest.mark.parametrize("policy", OPTIONS.values(), ids=OPTIONS.keys())

GAMES: dict[str, Any] = {
    "arms": pm.games.bernoulli_bandit(3),
    "coins": pm.games.bernoulli_bandit_linear(4),
    "gaussian": pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]),
    "unbounded": pm.games.linear_bandit(np.eye(2), pm.AllParameters(2)),
    "function": pm.games.kernelized_bandit([0.0, 0.3, 0.5, 1.0]),
    "payments": pm.games.finite(rewards=[[5, -3, 1], [0, 2, 0]], signals=["abc", "aba"]),
    "one action": pm.games.finite(rewards=[[1, 0]], signals=["ab"]),
    "always the same": pm.games.finite(rewards=[[2.0], [2.0]], signals=["a", "a"]),
}
every_game = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
ARMS, PAYMENTS = GAMES["arms"], GAMES["payments"]


def distribution(policy: pm.TsallisINF, state: Any) -> Any:
    return policy.decide(state, np.full(len(state.round), 0.5)).distribution


# -- weights ---------------------------------------------------------------------------------------


def bisected(eta: float, losses: Any) -> Any:
    """Return the weights by bisection of y = min losses - x, whose bounds are 2 / eta and sqrt k.

    At most k weights of at most 4 / (eta y)^2 sum to one.
    """
    above = losses - losses.min()
    low, high = 2 / eta, 2 * np.sqrt(len(losses)) / eta
    for _ in range(200):
        middle = (low + high) / 2
        if (4 / (eta * (above + middle)) ** 2).sum() > 1:
            low = middle
        else:
            high = middle
    return 4 / (eta * (above + low)) ** 2


@pytest.mark.parametrize("seed", range(30))
def test_weights_against_bisection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses = 10.0 ** rng.uniform(-3, 6) * rng.random(int(rng.integers(1, 30)))
    losses += rng.choice([0.0, -1e4, 1e6])
    eta = 10.0 ** rng.uniform(-4, 0.6)
    found = np.empty(len(losses))
    tsallis_inf.fill(eta, losses, found)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found, bisected(eta, losses), rtol=1e-8)


def test_two_arms_by_hand() -> None:
    """With Lhat = (0, 3 / 2) and eta = 2: 1 / y^2 + 1 / (y + 3/2)^2 = 1, by a quartic equation."""
    found = np.empty(2)
    tsallis_inf.fill(2.0, np.array([0.0, 1.5]), found)
    y = max(root.real for root in np.roots([1, 3, 0.25, -3, -2.25]) if abs(root.imag) < 1e-9)
    np.testing.assert_allclose(found, [1 / y**2, 1 / (y + 1.5) ** 2], rtol=1e-9)


def test_losses_of_any_size_give_distributions() -> None:
    for losses in ([0.0, 1e300, 5.0], [-1e300, 1e300, 0.0], [1e15, 1e15, 1e15 + 2]):
        found = np.empty(3)
        tsallis_inf.fill(1e-3, np.array(losses), found)
        assert np.isfinite(found).all()
        assert found.sum() == pytest.approx(1.0, abs=1e-12)


@every_estimator
def test_actions_that_others_chose_do_no_harm(policy: pm.TsallisINF) -> None:
    """Estimates of actions that were most unlikely are huge, but finite."""
    state = after(policy, ARMS, history(ARMS, 500, seed=1))
    assert np.isfinite(state.losses).all()
    assert distribution(policy, state).sum() == pytest.approx(1.0, abs=1e-12)


# -- estimates -------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("game", [ARMS, PAYMENTS])
def test_estimates_are_unbiased_whatever_the_outcome(
    game: pm.FiniteGame, policy: pm.TsallisINF
) -> None:
    low, high = game.rewards.min(), game.rewards.max()
    for rounds in (0, 3, 200):
        state = after(policy, game, own_history(policy, game, rounds, seed=1))
        chances = distribution(policy, state)[0]
        for x in range(game.d):
            change = np.zeros(game.k)
            for a in range(game.k):
                moved = policy.update(state, np.array([a]), game.observation_maps[a, :, x][None])
                change += chances[a] * (moved.losses - state.losses)[0]
            losses = (high - game.rewards[:, x]) / (high - low)
            np.testing.assert_allclose(change, losses, atol=1e-10)


def test_reduced_variance_by_hand() -> None:
    """In round 400, eta^2 = 16 / 400: arms of at least that probability get 1/2 to start with."""
    policy, game = pm.TsallisINF(), GAMES["coins"]
    state = policy.init(game, 1)
    state.round[:] = 400
    state.losses[:] = [0.0, 10.0, 60.0, 5000.0]
    chances = distribution(policy, state)[0]
    base = np.where(chances >= 0.04, 0.5, 0.0)
    assert base.tolist() == [0.5, 0.5, 0.0, 0.0]
    for a, reward in ((1, 1.0), (1, 0.0), (2, 0.0)):
        moved = policy.update(state, np.array([a]), np.array([[reward]]))
        expected = base.copy()
        expected[a] += (1 - reward - base[a]) / chances[a]
        np.testing.assert_allclose((moved.losses - state.losses)[0], expected, rtol=1e-9)


UNITS = {
    "arms": (1, 1),
    "coins": (1, 1),
    "payments": (5, 8),
    "always the same": (2, 1),
    "gaussian": (3, 6),
    "unbounded": (3, 6),
}
"""The reward without loss, and the unit; with noise of size 1 two more on both sides."""


@pytest.mark.parametrize("name", UNITS)
def test_what_rewards_count_as(name: str) -> None:
    rule = pm.TsallisINF().init(GAMES[name], 1).rule
    assert (rule.high, rule.unit) == pytest.approx(UNITS[name], abs=1e-9)


# -- what must not matter, and edges ---------------------------------------------------------------


@every_estimator
def test_names_do_not_matter(policy: pm.TsallisINF) -> None:
    for seed in range(3):
        other, actions, outcomes = relabelled(PAYMENTS, seed)
        played = own_history(policy, PAYMENTS, 30, seed)
        renamed = [(actions.index(a), outcomes.index(x)) for a, x in played]
        one = distribution(policy, after(policy, PAYMENTS, played))[0]
        two = distribution(policy, after(policy, other, renamed))[0]
        np.testing.assert_allclose(two, one[actions], atol=1e-9)


@every_estimator
@every_game
def test_compiled_rounds_are_those_of_the_formulas(game: Any, policy: pm.TsallisINF) -> None:
    compare(game, policy, 200)


@every_estimator
def test_the_checks_of_policies(policy: pm.TsallisINF) -> None:
    pm.testing.check_policy(policy, rounds=10)


def test_nothing_is_lost_where_nothing_can_be() -> None:
    for name in ("one action", "always the same"):
        result = pm.simulate(GAMES[name], "tsallis_inf", "random", horizon=50, seeds=5)
        assert not result.regret["tsallis_inf"].any()


def test_refusals() -> None:
    apples = pm.games.apple_tasting()
    with pytest.raises(InvalidInput, match="plays bandits, whose actions show their own reward"):
        pm.TsallisINF().init(apples, 1)
    compare(apples, pm.TsallisINF(allow_partial=True), 20)
    with pytest.raises(InvalidInput, match="available cannot be given with TsallisINF"):
        pm.TsallisINF().decide(pm.TsallisINF().init(ARMS, 1), np.zeros(1), np.ones(3, dtype=bool))
    for options in ({"estimator": "best"}, {"allow_partial": 1}):
        with pytest.raises(InvalidInput, match=next(iter(options))):
            pm.TsallisINF(**options)  # type: ignore[arg-type]

"""TSPM and its Gaussian version: which games they play, and how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.two_ways import compare

POLICIES: dict[str, Any] = {
    "tspm": pm.TSPM(allow_outside=True),
    "tspm, published envelope": pm.TSPM(envelope=1, initial=0, allow_outside=True),
    "tspm, R = 0.1": pm.TSPM(R=0.1, allow_outside=True),
    "gaussian": pm.TSPMGaussian(allow_outside=True),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("name", NAMED)
def test_compiled_rounds_are_those_of_the_batches(name: str, policy: Any) -> None:
    compare(NAMED[name], policy, 60)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_rounds_of_random_games(seed: int) -> None:
    compare(random_game(seed), list(POLICIES.values())[seed % len(POLICIES)], 60)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_checks(policy: Any) -> None:
    pm.testing.check_policy(policy, on=[NAMED["apples"], NAMED["labels"], NAMED["one outcome"]])


def test_every_action_is_played_first_but_not_in_trivial_games() -> None:
    result = pm.simulate(NAMED["pricing"], {"own": pm.TSPM(initial=3, allow_outside=True)},
                         horizon=12, seeds=5)  # fmt: skip
    assert (result.plays["own"][:, -1] == 3).all()
    trivial = pm.games.finite(losses=[[0, 1, 2], [3, 2, 3]], signals=["abb", "aab"])
    for name in ("tspm", "tspm_gaussian"):
        assert (pm.simulate(trivial, name, horizon=30, seeds=5).regret[name] == 0).all()


@pytest.mark.parametrize("name", ["tspm", "tspm_gaussian", "mario"])
def test_games_outside_its_class_are_refused(name: str) -> None:
    for game in (NAMED["labels"], pm.games.matching_pennies("none")):
        with pytest.raises(InvalidInput, match=r"plays easy games at most.*allow_outside=True"):
            pm.policies.make(name).init(game, 1)
        policy = pm.policies.make(name, allow_outside=True)
        pm.simulate(game, {"own": policy}, horizon=20, seeds=2)
    with pytest.raises(InvalidInput, match="plays finite games"):
        pm.policies.make(name).init(pm.games.linear_bandit(), 1)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tspm", {"lam": 0}),
        ("tspm", {"envelope": 3}),
        ("tspm", {"R": 1.5}),
        ("tspm", {"R": float("nan")}),
        ("tspm", {"initial": -1}),
        ("tspm", {"allow_outside": "yes"}),
        ("tspm_gaussian", {"lam": "much"}),
        ("mario", {"operator": "pipe"}),
        ("mario", {"samples": 0}),
        ("bayesian_ids", {"gain": "all"}),
        ("bayesian_ids", {"samples": 1}),
        ("bayesian_ids", {"regularization": -1}),
    ],
)
def test_bad_options_are_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))) as refusal:
        pm.policies.make(name, **options)
    assert str(refusal.value).endswith(".")


def test_the_best_available_action_is_played() -> None:
    policy = pm.TSPM(initial=0, allow_outside=True)
    state = policy.init(NAMED["pricing"], 50)
    uniforms = np.random.default_rng(0).random((50, 1))
    free = policy.decide(state, uniforms)
    bound = policy.decide(state, uniforms, np.array([True, False, True, True]))
    assert free.index is not None
    assert bound.index is not None
    assert (bound.action != 1).all()
    assert (bound.action[free.action != 1] == free.action[free.action != 1]).all()
    assert np.array_equal(bound.index[:, [0, 2, 3]], free.index[:, [0, 2, 3]])


def test_shifts_and_scales_of_losses_do_not_matter() -> None:
    losses, signals = -NAMED["pricing"].rewards, NAMED["pricing"].signals
    other = pm.games.finite(losses=2 * losses + np.array([1, 0, -3, 2]), signals=signals)
    uniforms = np.random.default_rng(1).random((200, 1))
    for policy in POLICIES.values():
        one, two = (policy.init(game, 200) for game in (NAMED["pricing"], other))
        assert np.array_equal(
            policy.decide(one, uniforms).action, policy.decide(two, uniforms).action
        )


def test_probabilities_of_actions_are_those_of_the_posterior() -> None:
    """Apple tasting after 3 rotten and 5 good apples: P(theta_0 > 1/2) under beta(6, 4)."""
    from scipy.stats import beta

    game = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"])
    policy, n = pm.TSPM(initial=0), 20_000
    state = policy.init(game, n)
    for outcome in [0] * 5 + [1] * 3:
        shown = np.tile(game.observation_maps[1, :, outcome], (n, 1))
        state = policy.update(state, np.ones(n, dtype=np.int64), shown)
    action = policy.decide(state, np.random.default_rng(2).random((n, 1))).action
    expected = 1 - beta(6, 4).cdf(0.5)
    assert abs(action.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / n)


def test_eight_outcomes_do_not_take_long() -> None:
    """Four of seven directions are never seen, where plain rejection would not end."""
    game = pm.games.bernoulli_bandit(3)
    arms = np.array(list(np.ndindex(2, 2, 2)))
    theta = np.where(arms == 1, [0.9, 0.5, 0.5], [0.1, 0.5, 0.5]).prod(axis=1)
    result = pm.simulate(game, {"own": pm.TSPM()}, theta, horizon=10_000, seeds=2)
    assert (result.regret["own"][:, -1] < 100).all()

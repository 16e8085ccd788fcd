"""How often the intervals of a status hold the truth, with learners that choose what they see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm


def covered(game: Any, policy: Any, truths: Any, rounds: int) -> tuple[float, float]:
    """Return the share of learners all of whose intervals hold, and the share of intervals."""
    every, each = [], []
    for seed, theta in enumerate(truths):
        instance, rng = pm.Instance(game, theta), np.random.default_rng(seed)
        learner = pm.Learner(game, policy, seed=seed)
        for _ in range(rounds):
            decision = learner.ask()
            learner.tell(decision, instance.observe(decision.action, rng))
        rewards = game.features @ theta
        held = [
            row.low - 1e-9 <= rewards[row.action] <= row.high + 1e-9
            for row in learner.status().table
        ]
        every.append(all(held))
        each.append(np.mean(held))
    return float(np.mean(every)), float(np.mean(each))


def prices(count: int) -> tuple[Any, Any]:
    game = pm.games.dynamic_pricing()
    return game, game.draw_truths(np.arange(count))


def normal_bandit(count: int) -> tuple[Any, Any]:
    """Truths from the prior under which deviations are those of the posterior: N(0, rho^2)."""
    phi = np.array([[1.0, 0.2], [0.1, 0.9], [-0.5, 0.6], [0.4, -0.8]])
    game = pm.Game(phi, phi[:, None], pm.AllParameters(2), 0.5)
    return game, 0.5 * np.random.default_rng(5).standard_normal((count, 2))


def proven(policy: Any, count: int, rounds: int) -> float:
    """Return the share of learners of prices all of whose intervals hold."""
    game, truths = prices(count)
    return covered(game, policy, truths, rounds)[0]


CERTAIN = [pm.IDS(confidence=pm.confidence.fixed(0.2)), pm.RandCBP(), pm.Calibrated()]
"""Those of the default are not proven; that all of them hold is as likely as that."""


@pytest.mark.parametrize("policy", CERTAIN, ids=["ids", "randcbp", "default"])
def test_all_intervals_hold(policy: Any) -> None:
    assert proven(policy, 12, 30) >= 0.8


@pytest.mark.nightly
@pytest.mark.parametrize("policy", CERTAIN, ids=["ids", "randcbp", "default"])
def test_all_intervals_hold_in_many_runs(policy: Any) -> None:
    assert proven(policy, 200, 100) >= 0.8


def shop() -> Any:
    prices = (9, 19, 29, 49)
    return pm.FiniteGame(
        [[price if worth >= price else 0 for worth in prices] for price in prices],
        [["sold" if worth >= price else "left" for worth in prices] for price in prices],
    )


FINITE = (shop, pm.games.dynamic_pricing, pm.games.apple_tasting, pm.games.label_efficient)


@pytest.mark.nightly
@pytest.mark.parametrize("rounds", [30, 300])
@pytest.mark.parametrize("make", FINITE, ids=lambda make: make.__name__)
def test_intervals_of_the_default_hold_about_as_often_as_they_say(make: Any, rounds: int) -> None:
    """Two standard deviations of the likelihood, 95 % each; docs/learn-and-simulate.md."""
    game = make()
    share = covered(game, pm.Calibrated(), game.draw_truths(np.arange(200)), rounds)[1]
    assert 0.92 <= share <= 1.0


def deviating(count: int, rounds: int) -> float:
    """Return the share of intervals of two deviations that hold, one by one."""
    game, truths = normal_bandit(count)
    policy = pm.IDS(confidence=pm.confidence.deviations(2), regularization=1.0)
    return covered(game, policy, truths, rounds)[1]


def test_about_95_percent_of_two_deviations_hold() -> None:
    assert deviating(60, 12) >= 0.85


@pytest.mark.nightly
def test_about_95_percent_of_two_deviations_hold_in_many_runs() -> None:
    """Whatever is observed: the posterior of normal noise does not mind who chose it."""
    assert deviating(600, 40) == pytest.approx(0.9545, abs=0.02)

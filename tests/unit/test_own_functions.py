"""What users plug in returns what it should, or one sentence says that it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

POLICIES = [pm.IDS, pm.LinUCB, pm.LinTS]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (lambda t: t * np.nan, r"log\(1 / delta\) of each replicate, must be finite; got nan"),
        (lambda t: np.full(len(t), np.inf), "must be finite; got inf"),
        (lambda t: np.zeros(len(t) + 1), r"must have shape \(1,\); got \(2,\)"),
        (lambda t: 1.0, r"must have shape \(1,\); got \(\)"),
        (lambda t: "often", "must be real numbers"),
    ],
)
def test_schedules(policy: Callable[..., Any], schedule: Any, message: str) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), policy(confidence=schedule))
    with pytest.raises(InvalidInput, match=message):
        learner.ask()


def test_a_schedule_of_ones_own() -> None:
    own = pm.Learner(pm.games.linear_bandit(), pm.IDS(confidence=lambda t: 2 * np.log(t)))
    assert own.ask().beta == pm.Learner(pm.games.linear_bandit()).ask().beta


NOISE: list[tuple[Any, str]] = [
    (lambda means, std, rng: means * np.nan, "what noise returns must be finite; got nan"),
    (lambda means, std, rng: np.zeros(3), r"must have shape \(1,\); got \(3,\)"),
    (lambda means, std, rng: None, "what noise returns must be real numbers"),
]


@pytest.mark.parametrize(("noise", "message"), NOISE)
def test_noise(noise: Any, message: str) -> None:
    game = pm.games.linear_bandit()
    with pytest.raises(InvalidInput, match=message):
        pm.simulate(game, "ids", [0.5, 0, 0], horizon=3, seeds=2, noise=noise)
    instance = pm.Instance(game, [0.5, 0, 0], noise)
    with pytest.raises(InvalidInput, match=message):
        instance.observe(0, np.random.default_rng(0))

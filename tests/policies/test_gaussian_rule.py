"""The default policy keeps what all policies promise, on games with Gaussian noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring import testing
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.calibrated.gaussian import gaussian_rule

PHI = np.random.default_rng(0).standard_normal((6, 3))
GAMES: dict[str, Callable[[], Any]] = {
    "R^d": lambda: pm.games.linear_bandit(PHI, pm.AllParameters(3)),
    "ball": lambda: pm.games.linear_bandit(PHI),
    "box": lambda: pm.games.linear_bandit(PHI, pm.Box([-1.0] * 3, [1.0] * 3)),
    "own noise": pm.games.heteroscedastic_linear_bandit,
    "several rows": pm.games.combinatorial_bandit,
    "duels": pm.games.dueling,
    "graph duels": pm.games.graph_dueling,
    "contexts": pm.games.contextual_linear_bandit,
    "greedy exploration": pm.games.greedy_exploration,
    "contextual duels": pm.games.contextual_dueling,
    "function": pm.games.kernelized_bandit,
    "transductive": pm.games.kernelized_transductive,
    "preferences": pm.games.kernelized_dueling,
    "function over a box": lambda: pm.KernelBoxGame(
        pm.kernels.SquaredExponential(0.3), [0.0], [1.0], noise_std=0.1
    ),
}


@pytest.mark.parametrize("name", GAMES)
def test_it_is_a_policy(name: str) -> None:
    testing.check_policy(pm.Calibrated(), GAMES[name]())


@pytest.mark.parametrize("build", [pm.games.survey, pm.games.contextual_apple_tasting])
def test_bernoulli_rewards_can_be_played_as_gaussian(build: Callable[[], Any]) -> None:
    testing.check_policy(gaussian_rule(build()), build())


def test_very_many_items_are_never_listed() -> None:
    items = np.random.default_rng(0).standard_normal((3000, 4))
    learner = pm.Learner(pm.games.dueling(items), pm.Calibrated(), seed=0)
    for _ in range(3):
        learner.tell(learner.ask(), [0.1])


def test_an_unlisted_context_is_decided_by_itself() -> None:
    game = pm.games.contextual_linear_bandit()
    learner = pm.Learner(game, pm.Calibrated(), seed=0)
    for own in np.random.default_rng(0).standard_normal((4, 5, 3)) / 3:
        learner.tell(learner.ask(context=pm.games.linear_bandit(own)), [0.2])
    assert learner.ask(context=0).round == 5


def test_rows_that_are_too_large_are_refused_by_their_name() -> None:
    with pytest.raises(InvalidInput, match="observation maps must not be so large"):
        pm.Learner(pm.games.linear_bandit([[1e90, 0], [0, 1e90]]))
    quiet = pm.games.linear_bandit([[1, 0], [0, 1]], noise_std=1e-60)
    assert pm.Learner(quiet, seed=0).ask().action in (0, 1)

"""PEGE, GCB and ETC in simulations and learners: compiled rounds, options, order, restrictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from tests.oracles.two_ways import compare

POLICIES = {
    "pege": pm.PEGE(),
    "pege, gap": pm.PEGE("gap"),
    "gcb": pm.GCB(0.3),
    "etc": pm.ETC(),
    "etc, 20": pm.ETC(20),
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())

GAMES: dict[str, Any] = {
    "finite": pm.games.dynamic_pricing(),
    "hard": pm.games.label_efficient(),
    "linear": pm.games.linear_bandit(np.random.default_rng(0).standard_normal((12, 3))),
    "rows": pm.games.combinatorial_bandit(4, 2),
    "noise": pm.games.heteroscedastic_linear_bandit(),
    "duels": pm.games.dueling(np.eye(3)),
    "function": pm.games.kernelized_bandit([0.0, 0.3, 0.5, 1.0]),
    "one action": pm.Game([[1.0, 2.0]], [[[1.0, 0.0]]], pm.Ball([0.0, 0.0], 1.0)),
}


@every_policy
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_compiled_rounds_are_the_batched_ones(game: Any, policy: Any) -> None:
    compare(game, policy, 600)


@pytest.mark.parametrize("policy", [pm.PEGE(), pm.GCB(), pm.ETC()])
def test_the_checks_of_every_policy(policy: Any) -> None:
    pm.testing.check_policy(policy)


def test_observations_out_of_turn_are_not_used() -> None:
    learner = pm.Learner(pm.games.bernoulli_bandit_linear(2), "pege")
    first, again = learner.ask(), learner.ask()
    assert first.action == again.action == 0
    learner.tell(first, 1.0)
    learner.tell(again, 0.0)
    following = learner.ask()
    assert following.action == 1
    learner.tell(following, 0.0)
    assert learner.ask().estimate.tolist() == [1.0, 0.0]


def test_only_available_actions_are_played() -> None:
    learner = pm.Learner(pm.games.bernoulli_bandit_linear(3), "etc", seed=1)
    assert learner.ask(available=[2]).action == 2
    assert learner.ask(available=[0, 2]).action == 0


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (pm.PEGE, {"mode": "gaps"}),
        (pm.PEGE, {"alpha": -1}),
        (pm.PEGE, {"beta": "a"}),
        (pm.GCB, {"alpha": 0}),
        (pm.ETC, {"rounds": 0}),
        (pm.ETC, {"share": 0}),
    ],
)
def test_wrong_options_are_refused(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))) as caught:
        kind(**options)
    assert str(caught.value).endswith(".")


def test_many_actions_have_an_upper_bound_of_the_noise() -> None:
    features = np.random.default_rng(0).standard_normal((400, 2))
    few, many = (pm.games.linear_bandit(features[:k]) for k in (300, 400))
    assert pm.GCB().init(many, 1).rule.first >= pm.GCB().init(few, 1).rule.first

"""Policies that forget play the same compiled and batched, and are written with their option."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.experiments.content_key import described
from partial_monitoring.policies import policy_from_dict, policy_to_dict
from tests.oracles.two_ways import compare

BANDIT, PRICING = pm.games.linear_bandit(), pm.games.dynamic_pricing()

PLAYED: dict[str, tuple[Any, Any]] = {
    "IDS": (pm.games.linear_bandit(parameters=pm.AllParameters(3)), pm.IDS(half_life=9)),
    "IDS cut by Theta": (PRICING, pm.IDS(half_life=30)),
    "improvements": (BANDIT, pm.Calibrated(half_life=9)),
    "signals": (PRICING, pm.Calibrated(half_life=9)),
    "signals in contexts": (pm.games.survey(), pm.Calibrated(half_life=20)),
    "draws": (BANDIT, pm.LinTS(half_life=9)),
    "optimism": (pm.games.heteroscedastic_linear_bandit(), pm.LinUCB(half_life=9)),
    "weights": (BANDIT, pm.SquareCB(half_life=9)),
    "probes": (BANDIT, pm.Probing(pm.EpsilonGreedy(half_life=9), 0.2)),
    "contextual IDS": (pm.games.survey(), pm.ContextualIDS(half_life=9, gap=pm.gaps.improvement)),
}


@pytest.mark.parametrize("name", PLAYED)
def test_compiled_rounds_are_the_batched_ones(name: str) -> None:
    compare(*PLAYED[name], 120, seeds=2)


def test_what_is_not_compiled_says_so() -> None:
    large = pm.IDS(half_life=1e6, regularization=1e-3)
    result = pm.simulate(BANDIT, {"it": large}, [0.1, 0.2, 0.3], horizon=3, seeds=1)
    assert "forgetting is compiled for small games" in result.backend["it"]


@pytest.mark.parametrize("build", [pm.IDS, pm.Calibrated, pm.LinTS, pm.Greedy])
def test_without_a_half_life_nothing_is_different(build: Any) -> None:
    policies = {"none": build(), "infinite": build(half_life=np.inf), "long": build(half_life=1e30)}
    regret = pm.simulate(BANDIT, policies, [0.1, 0.2, 0.3], horizon=200, seeds=3).regret
    np.testing.assert_array_equal(regret["none"], regret["infinite"])
    np.testing.assert_array_equal(regret["none"], regret["long"])


def test_seeds_do_not_depend_on_each_other() -> None:
    options: dict[str, Any] = {"theta": [0.2, 0.5, 0.3], "horizon": 150}
    policy = {"it": pm.Calibrated(half_life=20)}
    many = pm.simulate(PRICING, policy, seeds=4, **options).regret["it"]
    alone = pm.simulate(PRICING, policy, seeds=[2], **options).regret["it"]
    np.testing.assert_array_equal(many[2:3], alone)


def test_policies_are_written_with_their_half_life_and_keys_stay_without() -> None:
    for policy in (pm.IDS(half_life=20), pm.Calibrated(half_life=3.5), pm.SquareCB()):
        assert policy_from_dict(policy_to_dict(policy)) == policy
    assert "half_life" not in described(pm.IDS())
    assert described(pm.IDS(half_life=20))["half_life"] == 20.0


def test_open_decisions_are_expected_by_policies_that_forget() -> None:
    for policy in (pm.Calibrated(half_life=50), pm.LinTS(half_life=50)):
        result = pm.simulate(BANDIT, {"it": policy}, [0.1, 0.2, 0.3], horizon=60, seeds=2, batch=10)
        assert np.isfinite(result.regret["it"]).all()

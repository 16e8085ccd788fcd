"""Games in which one action is always best cost nothing."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.known_games import KNOWN, load

GAPS = {"exact": pm.gaps.exact, "relaxed": pm.gaps.relaxed, "mean": pm.gaps.mean}
TRIVIAL = [name for name in KNOWN if pm.analyze(load(name)).category == "trivial"]
RULES = {
    "exact": pm.sampling.exact,
    "approximate": pm.sampling.approximate,
    "generalized": pm.sampling.generalized(3.0),
    "deterministic": pm.sampling.deterministic,
    "anytime": pm.sampling.e2d("anytime"),
    "always curious": pm.sampling.e2d(1e9),
}


DOMINATED: dict[str, pm.ParameterSet] = {
    "simplex": pm.Simplex(3),
    "ball": pm.Ball([3.0, 0.0, 0.0], 1.0),
    "box": pm.Box([1.0, -1.0, -1.0], [2.0, 1.0, 1.0]),
    "flat box": pm.Box([1.0, -1.0, 0.5], [1.0, 1.0, 0.5]),
    "polytope": pm.Polytope(
        [[-1, 0, 0], [1, 1, 1], [0, -1, 0], [0, 0, -1], [0, 1, -1]], [-1, 4, 1, 1, 1]
    ),
}


@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS.keys())
@pytest.mark.parametrize("kind", DOMINATED)
def test_games_with_one_dominating_action_cost_nothing(kind: str, gap: pm.gaps.GapEstimate) -> None:
    """Action 2 (and its copy 4) beat all others on Theta, where theta_1 >= 1 or the sum is 1."""
    rng = np.random.default_rng(3)
    for rule in RULES.values():
        features = rng.uniform(-0.3, 0.3, size=(5, 3))
        features[[2, 4]] = 9.0 if kind == "simplex" else [9.0, 0.0, 0.0]
        game = pm.Game(features, rng.normal(size=(5, 1, 3)), DOMINATED[kind])
        result = pm.simulate(game, pm.IDS(gap=gap, sampling=rule), "random", horizon=8, seeds=3)
        assert (result.regret["ids"] == 0.0).all()
        assert (result.plays["ids"][:, -1, 2] == 8).all()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS.keys())
@pytest.mark.parametrize("name", TRIVIAL)
def test_trivial_games_cost_nothing(
    name: str, gap: pm.gaps.GapEstimate, rule: pm.sampling.SamplingRule
) -> None:
    """There is one best action on all of Theta, which IDS plays from the first round on."""
    game = load(name)
    for information in (pm.information.log_det, pm.information.directed):
        policy = pm.IDS(gap=gap, information=information, sampling=rule)
        result = pm.simulate(game, policy, "random", horizon=12, seeds=4)
        assert (result.regret["ids"] == 0.0).all()

"""Compiled rounds of policies that play what looks best are the batched ones, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from tests.oracles.linear_games import GAMES
from tests.oracles.two_ways import compare

OVER_SETS = {
    "ball": pm.games.linear_bandit(),
    "box": pm.games.bernoulli_bandit_linear(),
    "noise of each action": pm.games.heteroscedastic_linear_bandit(),
    "simplex": pm.games.dynamic_pricing(),
}
POLICIES: dict[str, Any] = {
    "optimism": pm.LinUCB(allow_partial=True),
    "relative optimism": pm.LinUCB(
        relative=True, allow_partial=True, confidence=pm.confidence.fixed(0.1)
    ),
    "draws": pm.LinTS(allow_partial=True, regularization=0.3),
    "wide draws": pm.LinTS(
        width="confidence", factor=0.5, allow_partial=True, confidence=pm.confidence.calibrated()
    ),
    "greedy": pm.Greedy(),
    "epsilon": pm.EpsilonGreedy(),
    "decaying epsilon": pm.EpsilonGreedy(decay=True, epsilon=0.3),
    "weights": pm.SquareCB(exploration=2.0),
}
PROBING = {
    "ids": pm.Probing(pm.IDS(), 0.2),
    "improvement": pm.Probing(pm.Calibrated(), 0.3),
    "draws": pm.Probing(pm.LinTS(allow_partial=True), 0.1),
    "epsilon": pm.Probing(pm.EpsilonGreedy(), 1.0),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("game", (GAMES | OVER_SETS).values(), ids=(GAMES | OVER_SETS).keys())
def test_all_games(game: Any, policy: Any) -> None:
    compare(game, policy, 150)


@pytest.mark.parametrize("policy", PROBING.values(), ids=PROBING.keys())
@pytest.mark.parametrize("name", ["bandit", "several rows", "one action", "a point", "ball"])
def test_probes(name: str, policy: Any) -> None:
    compare((GAMES | OVER_SETS)[name], policy, 150)


def test_past_a_refresh() -> None:
    compare(GAMES["large rows"], POLICIES["wide draws"], 1100, seeds=2)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("name", pm.games.GAMES)
def test_long_runs_on_all_games(name: str, policy: Any) -> None:
    game = pm.games.make(name)
    try:
        policy.init(game, 1)
    except InvalidInput:
        pytest.skip("not made for this game")
    if game.traits.contexts or game.traits.function:
        pytest.skip("played by others")
    compare(game, policy, 2000, seeds=5)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", [*POLICIES.values(), *PROBING.values()])
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_long_runs(game: Any, policy: Any) -> None:
    compare(game, policy, 2000, seeds=5)


def reason(game: Any, policy: Any) -> str:
    return pm.simulate(game, {"own": policy}, horizon=2, seeds=1).backend["own"]


def test_own_functions_are_played_by_themselves() -> None:
    class Shy(pm.EpsilonGreedy):
        def distribution(self, means: Any, rounds: Any) -> Any:
            return np.full(means.shape, 1.0 / means.shape[1])

    class Bold(pm.LinUCB):
        def index(self, confidence: Any, uniforms: Any) -> Any:
            return 2.0 * super().index(confidence, uniforms)

    bandit = GAMES["bandit"]
    assert reason(bandit, Shy()) == "batched: Shy has no compiled rounds"
    assert reason(bandit, Bold()) == "batched: Bold has no compiled rounds"
    own = pm.LinUCB(confidence=lambda t: 2 * np.log(t))
    assert "a function of your own" in reason(bandit, own)
    assert "probes of TSPM" in reason(pm.games.apple_tasting(), pm.Probing(pm.TSPM(), 0.1))


def test_sets_of_likely_distributions_are_no_ellipsoids() -> None:
    policy = pm.IDS(gap=pm.gaps.relaxed, confidence=pm.confidence.likelihood_ratio(0.1))
    assert "no ellipsoids" in reason(pm.games.apple_tasting(), policy)

"""Compiled rounds in listed contexts are the batched ones, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.context_games import PLAIN
from tests.oracles.two_ways import compare

RNG = np.random.default_rng(1)
ALL = pm.AllParameters(3)
FEATURES = RNG.normal(size=(5, 3)) / 2


def bandit(features: Any, **options: Any) -> pm.Game:
    return pm.games.linear_bandit(features, ALL, **{"noise_std": 0.5} | options)


def rows(*counts: int) -> list[Any]:
    return [RNG.normal(size=(count, 3)) for count in counts]


GAMES: dict[str, Any] = {
    "bandits": pm.ContextualGame(
        [bandit(FEATURES), bandit(2 * FEATURES[:2]), bandit(RNG.normal(size=(7, 3)))],
        [0.5, 0.2, 0.3],
    ),
    "several rows, other numbers": pm.ContextualGame(
        [
            pm.Game(FEATURES, rows(0, 1, 2, 3, 1), ALL, 0.7, actions=list("cabde")),
            pm.Game(FEATURES[:3], [[]] * 3, ALL, 0.7, actions=list("dba")),
            pm.Game(FEATURES[:2], rows(2, 2), ALL, [0.3, 2.0], actions=list("ec")),
        ]
    ),
    "one row for all": pm.ContextualGame(
        [pm.Game(FEATURES, [[[1.0, 0, 0]]] * 5, ALL), pm.Game(FEATURES[:1], [[[1.0, 0, 0]]], ALL)]
    ),
    "large rows": pm.ContextualGame([bandit(300 * FEATURES), bandit(300 * FEATURES[:3])]),
    "nothing is shown": pm.ContextualGame(
        [pm.Game(FEATURES, [[]] * 5, ALL), pm.Game(FEATURES[:2], [[]] * 2, ALL)]
    ),
    "copies": pm.ContextualGame(
        [bandit(np.repeat(np.eye(3), 2, axis=0)), bandit(FEATURES[[1, 1]])]
    ),
    "one context": pm.ContextualGame([bandit(FEATURES)]),
    "one never comes": pm.ContextualGame([bandit(FEATURES), bandit(FEATURES[:2])], [1.0, 0.0]),
}
REGISTRY = {
    name: pm.games.make(name)
    for name in ("contextual_linear_bandit", "greedy_exploration", "contextual_dueling")
}
POLICIES: dict[str, Any] = PLAIN | {
    "optimism": pm.LinUCB(allow_partial=True),
    "relative": pm.LinUCB(relative=True, allow_partial=True),
    "draws": pm.LinTS(allow_partial=True),
    "epsilon": pm.EpsilonGreedy(),
    "weights": pm.SquareCB(exploration=2.0),
    "probes": pm.Probing(pm.IDS(), 0.2),
    "probes and draws": pm.Probing(pm.LinTS(allow_partial=True), 0.2),
}
IMPROVING: dict[str, Any] = {
    "gap": pm.gaps.improvement,
    "information": pm.information.improvement,
}
JOINTLY: dict[str, Any] = {
    "default": pm.Calibrated(),
    "exact": pm.ContextualIDS(),
    "relaxed": pm.ContextualIDS(gap=pm.gaps.relaxed),
    "mean": pm.ContextualIDS(gap=pm.gaps.mean, sampling=pm.sampling.generalized(3.0)),
    "estimated": pm.ContextualIDS(chances="estimated", **IMPROVING),
    "growing": pm.ContextualIDS(chances="growing", **IMPROVING),
    "mixed": pm.ContextualIDS(gap=pm.gaps.improvement),
    "probes": pm.Probing(pm.ContextualIDS(**IMPROVING), 0.1),
}
UNCUT = ("default", "estimated", "growing", "mixed", "probes")
"""Those that Theta does not matter to."""


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_one_context_at_a_time(game: Any, policy: Any) -> None:
    compare(game, policy, 120)


@pytest.mark.parametrize("policy", JOINTLY.values(), ids=JOINTLY.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_all_contexts_together(game: Any, policy: Any) -> None:
    compare(game, policy, 120)


@pytest.mark.parametrize("name", UNCUT)
@pytest.mark.parametrize("game", REGISTRY.values(), ids=REGISTRY.keys())
def test_games_of_the_library(game: Any, name: str) -> None:
    compare(game, JOINTLY[name], 150)


@pytest.mark.parametrize("policy", ["optimism", "draws"])
@pytest.mark.parametrize("name", ["contextual_linear_bandit", "greedy_exploration"])
def test_bandits_of_the_library(name: str, policy: str) -> None:
    compare(REGISTRY[name], POLICIES[policy], 150)


def test_past_a_refresh() -> None:
    compare(GAMES["several rows, other numbers"], pm.IDS(gap=pm.gaps.relaxed), 1100, seeds=2)
    compare(GAMES["large rows"], pm.Calibrated(), 1100, seeds=2)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", [*POLICIES.values(), *JOINTLY.values()])
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_long_runs(game: Any, policy: Any) -> None:
    compare(game, policy, 2000, seeds=5)


@pytest.mark.nightly
@pytest.mark.parametrize("name", UNCUT)
@pytest.mark.parametrize("game", REGISTRY.values(), ids=REGISTRY.keys())
def test_long_runs_on_games_of_the_library(game: Any, name: str) -> None:
    compare(game, JOINTLY[name], 2000, seeds=5)


def test_reasons() -> None:
    def reason(game: Any, policy: Any) -> str:
        return pm.simulate(game, {"own": policy}, horizon=2, seeds=1).backend["own"]

    survey = pm.games.survey()
    for policy in (pm.IDS(), pm.ContextualIDS(), pm.Greedy()):
        assert reason(survey, policy) == "compiled"
    assert "plans" in reason(GAMES["bandits"], pm.ContextualIDS(integrated=True))
    many = pm.ContextualGame([bandit(RNG.normal(size=(3000, 3)))])
    assert "large" in reason(many, pm.LinUCB())
    several = pm.ContextualGame([bandit(RNG.normal(size=(150, 3)))])
    assert "so many actions" in reason(several, pm.ContextualIDS())

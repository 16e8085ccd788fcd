"""Compiled rounds in listed contexts over sets that cut E_t are the batched ones, bit by bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.ids.context_program import ProvenProgram
from tests.oracles.two_ways import compare

RNG = np.random.default_rng(4)
FEATURES = RNG.normal(size=(5, 3)) / 2
FACETS = np.vstack([np.eye(3), -np.eye(3)])
SETS: dict[str, Any] = {
    "ball": pm.Ball([0.0] * 3, 1.0),
    "small ball": pm.Ball([0.1, 0.0, 0.0], 0.2),
    "box": pm.Box([-1.0] * 3, [1.0] * 3),
    "simplex": pm.Simplex(3),
    "polytope": pm.Polytope(FACETS, [1.0, 0.5, 0.7, 0.2, 0.6, 1.0]),
}


def rows(*counts: int) -> list[Any]:
    return [RNG.normal(size=(count, 3)) for count in counts]


def games_over(parameters: Any) -> dict[str, Any]:
    def bandit(features: Any) -> pm.Game:
        return pm.games.linear_bandit(features, parameters, noise_std=0.5)

    several = [
        pm.Game(FEATURES, rows(0, 1, 2, 3, 1), parameters, 0.7, actions=list("cabde")),
        pm.Game(FEATURES[:3], [[]] * 3, parameters, 0.7, actions=list("dba")),
        pm.Game(FEATURES[:2], rows(2, 2), parameters, [0.3, 2.0], actions=list("ec")),
    ]
    dominated = pm.Game([[1.0, 2.0, 1.0], [0.9, 1.8, 0.9]], rows(0, 1), parameters)
    return {
        "bandits": pm.ContextualGame([bandit(FEATURES), bandit(RNG.normal(size=(7, 3)))]),
        "several rows": pm.ContextualGame(several, [0.5, 0.2, 0.3]),
        "copies": pm.ContextualGame([bandit(np.repeat(np.eye(3), 2, axis=0)), dominated]),
    }


GAMES = {
    f"{name}, {kind}": game
    for kind, parameters in SETS.items()
    for name, game in games_over(parameters).items()
}
REGISTRY = [name for name in pm.games.GAMES if pm.games.make(name).traits.contexts]
DIRECTED = pm.information.directed
IMPROVING: dict[str, Any] = {
    "gap": pm.gaps.improvement,
    "information": pm.information.improvement,
}
POLICIES: dict[str, Any] = {
    "exact": pm.IDS(),
    "relaxed": pm.IDS(gap=pm.gaps.relaxed, sampling=pm.sampling.deterministic),
    "mean, e2d": pm.IDS(gap=pm.gaps.mean, sampling=pm.sampling.e2d(0.4)),
    "anytime": pm.IDS(sampling=pm.sampling.e2d("anytime")),
    "directed": pm.IDS(information=DIRECTED),
    "improving": pm.IDS(**IMPROVING),
    "mixed": pm.IDS(gap=pm.gaps.mean, information=pm.information.improvement),
    "probes": pm.Probing(pm.IDS(), 0.2),
    "together, exact": pm.ContextualIDS(),
    "together, relaxed": pm.ContextualIDS(gap=pm.gaps.relaxed, chances="growing"),
    "together, mean": pm.ContextualIDS(gap=pm.gaps.mean, sampling=pm.sampling.generalized(3.0)),
    "together, directed": pm.ContextualIDS(information=DIRECTED, chances="estimated"),
    "together, mixed": pm.ContextualIDS(information=pm.information.improvement),
    "together, probes": pm.Probing(pm.ContextualIDS(), 0.2),
}
COMPARING: dict[str, Any] = {
    "greedy": pm.Greedy(),
    "epsilon": pm.EpsilonGreedy(),
    "weights": pm.SquareCB(exploration=2.0),
    "probes": pm.Probing(pm.SquareCB(), 0.2),
}


@pytest.mark.parametrize("policy", (POLICIES | COMPARING).values(), ids=POLICIES | COMPARING)
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_all_sets(game: Any, policy: Any) -> None:
    compare(game, policy, 40, seeds=2)


@pytest.mark.parametrize("policy", ["exact", "directed", "together, exact", "together, mean"])
@pytest.mark.parametrize("name", REGISTRY)
def test_games_of_the_library(name: str, policy: str) -> None:
    compare(pm.games.make(name), POLICIES[policy], 60, seeds=2)


def test_directed_information_where_nothing_is_cut() -> None:
    every = games_over(pm.AllParameters(3))
    for game, name in product(every.values(), ("directed", "together, directed", "improving")):
        compare(game, POLICIES[name], 40, seeds=2)


@pytest.mark.parametrize("name", ["exact", "directed", "together, exact", "together, relaxed"])
def test_rounds_that_are_left_to_the_batched_formulas(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fifth round of some replicates is decided elsewhere: nothing changes."""
    from partial_monitoring.numerics.compiled import world as worlds

    prepared, left = ProvenProgram._prepared, []

    def stopping(self: Any, world: Any, totals: Any, reached: Any) -> Any:
        inner, due, unproven, contexts, memory = prepared(self, world, totals, reached)

        def run(stop: int, first: int, last: int) -> None:
            for i in range(first, last):
                while reached[i] < stop and not (unproven[i] or due[i]):
                    t = int(reached[i])
                    if t % 5 == 3:
                        worlds.start_round(world, i, t)
                        contexts[i], unproven[i] = worlds.context(world, i, t), True
                        left.append(t)
                    else:
                        inner(t + 1, i, i + 1)

        return run, due, unproven, contexts, memory

    monkeypatch.setattr(ProvenProgram, "_prepared", stopping)
    policy = POLICIES[name]
    for key in ("several rows, ball", "bandits, simplex"):
        compare(GAMES[key], policy, 30, seeds=2)
        compare(GAMES[key], pm.Probing(policy, 0.3), 30, seeds=2)
    assert left


def test_few_rounds_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    decide, left = ProvenProgram.decide, []

    def counted(self: Any, *arguments: Any) -> bool:
        left.append(1)
        return decide(self, *arguments)

    monkeypatch.setattr(ProvenProgram, "decide", counted)
    for name in ("exact", "together, exact", "directed", "together, directed"):
        left.clear()
        compare(GAMES["bandits, ball"], POLICIES[name], 150, seeds=2)
        most = 2 * (2 * 2 + 12) if "directed" in name else 0  # when Pareto actions are asked for
        assert len(left) <= most


def test_past_a_refresh() -> None:
    compare(GAMES["several rows, box"], POLICIES["relaxed"], 1100, seeds=2)
    compare(GAMES["several rows, ball"], COMPARING["epsilon"], 1100, seeds=2)


def test_reasons() -> None:
    def reason(game: Any, policy: Any) -> str:
        return pm.simulate(game, {"own": policy}, horizon=2, seeds=1).backend["own"]

    curved = pm.Product(pm.Ball([0.0], 1.0), pm.Ball([0.0, 0.0], 1.0))
    game = pm.ContextualGame([pm.games.linear_bandit(FEATURES, curved)])
    for policy in (pm.IDS(), pm.ContextualIDS(), pm.Greedy()):
        assert reason(game, policy) == "batched: Theta is a set of your own"
    assert reason(game, pm.LinUCB()) == "compiled"
    assert reason(game, pm.ContextualIDS(**IMPROVING)) == "compiled"


@pytest.mark.nightly
@pytest.mark.parametrize("policy", (POLICIES | COMPARING).values(), ids=POLICIES | COMPARING)
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_long_runs(game: Any, policy: Any) -> None:
    compare(game, policy, 2000, seeds=2)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("name", REGISTRY)
def test_long_runs_on_games_of_the_library(name: str, policy: Any) -> None:
    compare(pm.games.make(name), policy, 2000, seeds=2)

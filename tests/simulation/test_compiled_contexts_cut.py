"""Compiled rounds in listed contexts over sets that cut E_t are the batched ones, bit by bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.policies.ids.context_program import ProvenProgram
from tests.oracles.context_games import (
    COMPARING,
    FEATURES,
    GAMES,
    IMPROVING,
    POLICIES,
    REGISTRY,
    games_over,
)
from tests.oracles.two_ways import compare


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

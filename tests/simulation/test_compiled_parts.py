"""Compiled rounds of IDS with any gaps and any information are the batched ones, bit by bit."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.compiled import directed as compiled
from partial_monitoring.policies.ids.program import PartsProgram
from partial_monitoring.policies.program import program_of
from tests.oracles.linear_games import CUT, FEATURES, GAMES
from tests.oracles.two_ways import compare

GAPS = {
    "exact": pm.gaps.exact,
    "relaxed": pm.gaps.relaxed,
    "mean": pm.gaps.mean,
    "improvement": pm.gaps.improvement,
}
INFORMATION = {
    "log_det": pm.information.log_det,
    "directed": pm.information.directed,
    "directed_relaxed": pm.information.directed_relaxed,
    "improvement": pm.information.improvement,
}
PARTS = list(product(GAPS, INFORMATION))
RULES = {
    "exact": pm.sampling.exact,
    "approximate": pm.sampling.approximate,
    "deterministic": pm.sampling.deterministic,
    "e2d": pm.sampling.e2d(0.4),
    "anytime": pm.sampling.e2d("anytime"),
}


def listed_games() -> dict[str, Any]:
    """The games of the library whose actions are listed, without contexts."""
    found = {name: pm.games.make(name) for name in pm.games.GAMES}
    return {
        name: game
        for name, game in found.items()
        if game.traits.listed and not game.traits.contexts and not game.traits.function
    }


@pytest.mark.parametrize("information", ["directed", "directed_relaxed"])
@pytest.mark.parametrize("game", (GAMES | CUT).values(), ids=(GAMES | CUT).keys())
def test_directed_information(game: Any, information: str) -> None:
    compare(game, pm.IDS(information=INFORMATION[information]), 60, seeds=2)


@pytest.mark.parametrize(("gap", "information"), PARTS)
def test_all_gaps_with_all_information(gap: str, information: str) -> None:
    policy = pm.IDS(gap=GAPS[gap], information=INFORMATION[information])
    for name in ("several rows", "copies and ties"):
        compare(GAMES[name], policy, 40, seeds=2)
    for name in ("ball", "simplex", "polytope", "always best"):
        compare(CUT[name], policy, 40, seeds=2)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_all_rules(rule: Any) -> None:
    policy = pm.IDS(information=pm.information.directed, sampling=rule)
    for game in (GAMES["several rows"], CUT["ball"], CUT["five prices"]):
        compare(game, policy, 60, seeds=2)


def test_probes_and_forgetting() -> None:
    directed = pm.IDS(information=pm.information.directed)
    compare(CUT["ball"], pm.Probing(directed, 0.2), 60)
    forgetful = pm.IDS(information=pm.information.directed, half_life=20)
    compare(GAMES["bandit"], forgetful, 60)


def test_few_rounds_are_left_to_the_batched_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those that ask for the first time whether an action is Pareto."""
    left = []
    decide = PartsProgram.decide

    def counted(self: Any, *arguments: Any) -> None:
        left.append(1)
        decide(self, *arguments)

    monkeypatch.setattr(PartsProgram, "decide", counted)
    policy = pm.IDS(information=pm.information.directed)
    for game in (GAMES["bandit"], CUT["ball"], CUT["box"], CUT["simplex"], CUT["five prices"]):
        left.clear()
        compare(game, policy, 200)
        assert 0 < len(left) <= 2 * (3 + game.k)  # three seeds, on one thread and on two


def test_what_is_not_proven_is_left_to_the_batched_formulas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loops(self: Any, world: Any, totals: Any, reached: Any, due: Any, unproven: Any) -> Any:
        inner = ordinary(self, world, totals, reached, due, unproven)

        def run(stop: int, first: int, last: int) -> None:
            for i in range(first, last):
                while reached[i] < stop and not unproven[i]:
                    unproven[i] = reached[i] % 5 == 3
                    if not unproven[i]:
                        inner(int(reached[i]) + 1, i, i + 1)

        return run

    ordinary = PartsProgram.loops
    monkeypatch.setattr(PartsProgram, "loops", loops)
    policy = pm.IDS(information=pm.information.directed)
    for game in (GAMES["several rows"], CUT["ball"], CUT["box"]):
        compare(game, policy, 30)


def test_what_is_left_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first round asks whether actions are Pareto, and nobody asks twice."""
    policy, game = pm.IDS(information=pm.information.directed), CUT["ball"]
    program = program_of(policy, policy.init(game, 2))
    design = program.estimate.design  # type: ignore[attr-defined]
    assert (design.contest.pareto == -1).all()
    policy.decide(policy.init(game, 1), np.zeros(1))
    confidence = policy.confidence_set(policy.init(game, 1))
    asked = []
    fill = compiled.fill_directed

    def counted(*arguments: Any) -> Any:
        found = fill(*arguments)
        asked.append(found[0])
        return found

    monkeypatch.setattr(compiled, "fill_directed", counted)
    first = pm.information.directed(game, confidence)
    assert asked[0] == compiled.IS_PARETO
    asked.clear()
    assert (pm.information.directed(game, confidence) == first).all()
    assert asked == [compiled.DONE]


def test_reasons() -> None:
    def reason(game: Any, policy: Any) -> str:
        return pm.simulate(game, {"own": policy}, horizon=2, seeds=1).backend["own"]

    own = pm.IDS(information=lambda game, confidence: pm.information.log_det(game, confidence))
    assert reason(GAMES["bandit"], own) == "batched: the information gain is not compiled"
    pairs = pm.Product(pm.Ball([0.0], 1.0), pm.Ball([0.0, 0.0], 1.0))
    curved = pm.games.linear_bandit(FEATURES, pairs)
    directed = pm.IDS(information=pm.information.directed)
    assert reason(curved, directed) == "batched: Theta is a set of your own"
    assert reason(curved, pm.IDS(gap=pm.gaps.improvement)) == "compiled"
    many = pm.games.linear_bandit(np.random.default_rng(0).normal(size=(60, 3)))
    assert "so many actions" in reason(many, directed)
    assert reason(many, pm.IDS(gap=pm.gaps.relaxed, information=directed.information)) == "compiled"


def test_not_on_a_gpu() -> None:
    policy = pm.IDS(information=pm.information.directed)
    program: Any = program_of(policy, policy.init(GAMES["bandit"], 1))
    with pytest.raises(InvalidInput, match="on the processor only"):
        program.kernel(None, None)


@pytest.mark.nightly
@pytest.mark.parametrize("information", ["directed", "directed_relaxed"])
@pytest.mark.parametrize("name", list(listed_games()))
def test_long_runs_on_games_of_the_library(name: str, information: str) -> None:
    compare(listed_games()[name], pm.IDS(information=INFORMATION[information]), 2000, seeds=3)


@pytest.mark.nightly
@pytest.mark.parametrize(("gap", "information"), PARTS)
@pytest.mark.parametrize("game", (GAMES | CUT).values(), ids=(GAMES | CUT).keys())
def test_long_runs(game: Any, gap: str, information: str) -> None:
    policy = pm.IDS(gap=GAPS[gap], information=INFORMATION[information])
    compare(game, policy, 2000, seeds=2)


def test_no_index_is_out_of_bounds() -> None:
    """The interpreter runs compiled rounds as they are written, and looks at every index."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.tools.uncompiled"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "all indices in bounds" in done.stdout

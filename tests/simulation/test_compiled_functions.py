"""Compiled rounds on the posterior of a function play what the batched formulas play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.ids import function_program
from partial_monitoring.simulation.play import play, play_batched
from tests.oracles.kernel_routes import GAMES, bandit
from tests.oracles.two_ways import agree

GAPS = {"exact": pm.gaps.exact, "relaxed": pm.gaps.relaxed, "mean": pm.gaps.mean}
RULES = {
    "approximate": pm.sampling.approximate,
    "deterministic": pm.sampling.deterministic,
    "generalized": pm.sampling.generalized(3.0),
    "e2d": pm.sampling.e2d(0.4),
    "anytime": pm.sampling.e2d("anytime"),
}
INDICES = {
    "ucb": pm.GPUCB(),
    "ucb, narrow": pm.GPUCB(factor=0.4, confidence=pm.confidence.fixed(0.1)),
    "ucb, srinivas": pm.GPUCB(width="srinivas", regularization=0.3),
    "ts": pm.GPTS(),
    "ts, wide": pm.GPTS(width="confidence", factor=0.5),
    "improvement": pm.ExpectedImprovement(),
    "improvement, jitter": pm.ExpectedImprovement(jitter=0.01),
}
IMPROVING = pm.IDS(gap=pm.gaps.improvement, information=pm.information.improvement)
BANDITS = ("bandit", "matern", "own noise", "low rank", "offset", "copies", "one action", "cubic")


@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS.keys())
@pytest.mark.parametrize("name", GAMES)
def test_all_games(name: str, gap: Any) -> None:
    assert agree(GAMES[name](), pm.IDS(gap=gap), 80) <= 1


@pytest.mark.parametrize("name", GAMES)
def test_improvements(name: str) -> None:
    assert agree(GAMES[name](), IMPROVING, 80) <= 1


@pytest.mark.parametrize("policy", INDICES.values(), ids=INDICES.keys())
@pytest.mark.parametrize("name", BANDITS)
def test_indices(name: str, policy: Any) -> None:
    assert agree(GAMES[name](), policy, 80) <= 1


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("name", ["bandit", "three rows", "silent"])
def test_all_rules(name: str, rule: Any) -> None:
    assert agree(GAMES[name](), pm.IDS(sampling=rule, regularization=0.5), 80) <= 1


@pytest.mark.parametrize("name", ["bandit", "three rows"])
def test_past_a_refresh(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is computed anew after round 1024, from counts and sums here."""
    refreshed = []
    inner = function_program.FunctionProgram._refresh
    monkeypatch.setattr(
        function_program.FunctionProgram,
        "_refresh",
        lambda self, row: (refreshed.append(row), inner(self, row)),
    )
    assert agree(GAMES[name](), pm.IDS(gap=pm.gaps.mean), 1200, seeds=2) == 0
    assert sorted(refreshed) == [0, 1]


def test_the_default() -> None:
    assert agree(pm.games.kernelized_bandit(), pm.Calibrated(), 300) == 0


@pytest.mark.parametrize("noise", ["none", "gaussian"])
def test_kinds_of_noise(noise: str) -> None:
    assert agree(bandit(), pm.Calibrated(), 80, noise=noise) <= 1


def test_a_truth_that_moves() -> None:
    game, path = bandit(), np.random.default_rng(2).normal(size=(3, 12)) / 4
    ready = pm.truths.switching(path, at=[30, 60]).prepared(game, 100)
    marks, seeds = np.arange(1, 101), np.arange(3)
    for policy in (pm.Calibrated(), pm.GPTS()):
        slow = play_batched(game, policy, ready.environment(game, seeds, 100), marks)
        quick = play(game, policy, ready.environment(game, seeds, 100), marks)
        assert quick.backend == "compiled"
        assert np.array_equal(slow.plays, quick.plays)


def test_probes() -> None:
    game = pm.games.kernelized_bandit(np.linspace(0, 1, 8))
    assert agree(game, pm.Probing(pm.GPTS(), 0.2), 100) == 0
    assert agree(game, pm.Probing(pm.Calibrated(), 0.2), 100) == 0


def reason(game: Any, policy: Any, **options: Any) -> str:
    result = pm.simulate(game, {"own": policy}, "random", horizon=2, seeds=1, **options)
    return result.backend["own"]


def test_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    line = bandit()
    assert reason(line, pm.IDS()) == "compiled"
    assert "information" in reason(line, pm.IDS(information=pm.information.directed))
    assert "gap" in reason(line, pm.IDS(gap=lambda game, known: known.exact_gaps()))
    assert "of your own" in reason(line, pm.GPUCB(confidence=lambda t: 2 * np.log(t)))
    many = pm.games.kernelized_bandit(np.linspace(0, 1, 300))
    assert "only where they matter" in reason(many, pm.IDS())
    assert reason(many, pm.IDS(gap=pm.gaps.mean)) == "compiled"
    large = pm.games.kernelized_bandit(np.linspace(0, 1, function_program.LARGEST + 1))
    assert "is not written down" in reason(large, pm.Calibrated())
    box = pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0.0], [1.0])
    for policy in (pm.Calibrated(), pm.GPUCB(), pm.GPUCB(width="srinivas")):
        assert reason(box, policy).startswith("batched: ")
    monkeypatch.setattr(function_program, "MOST_NUMBERS", 100)
    assert "memory" in reason(line, pm.IDS())


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["kernelized_bandit", "kernelized_transductive"])
@pytest.mark.parametrize("gap", [None, *GAPS.values()])
def test_long_runs(name: str, gap: Any) -> None:
    policy = pm.Calibrated() if gap is None else pm.IDS(gap=gap)
    assert agree(getattr(pm.games, name)(), policy, 2000, seeds=5) <= 1

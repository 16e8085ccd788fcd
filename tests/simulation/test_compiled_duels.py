"""Compiled rounds of duels play what the batched formulas play."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.calibrated.gaussian import ImprovingDuels
from partial_monitoring.policies.ids import duel_program
from partial_monitoring.simulation.play import play, play_batched
from tests.oracles.kernel_routes import points
from tests.oracles.two_ways import agree

RNG = np.random.default_rng(5)
ITEMS = RNG.normal(size=(7, 3)) / 2
FACETS, BOUNDS = np.vstack([np.eye(3), -np.eye(3)]), np.array([1.0, 0.5, 0.7, 0.2, 0.6, 1.0])


def duels(items: Any = ITEMS, theta: Any = None, noise: float = 0.5) -> pm.DuelingGame:
    return pm.DuelingGame(items, pm.Ball(np.zeros(3), 1.0) if theta is None else theta, noise)


GAMES: dict[str, Callable[[], Any]] = {
    "named": pm.games.dueling,
    "ball": duels,
    "small ball": lambda: duels(theta=pm.Ball(np.zeros(3), 0.1)),
    "all parameters": lambda: duels(theta=pm.AllParameters(3)),
    "box": lambda: duels(theta=pm.Box([-1.0] * 3, [1.0] * 3)),
    "simplex": lambda: duels(theta=pm.Simplex(3)),
    "polytope": lambda: duels(theta=pm.Polytope(FACETS, BOUNDS)),
    "copies and ties": lambda: duels(np.repeat(np.eye(3), 2, axis=0)),
    "a common part": lambda: duels(ITEMS + 100.0),
    "large rows": lambda: duels(300.0 * ITEMS, pm.AllParameters(3)),
    "many coordinates": lambda: pm.games.dueling(RNG.normal(size=(20, 12)) / 3),
    "kernel": lambda: pm.games.kernelized_dueling(points(9), noise_std=0.6, norm_bound=1.5),
    "kernel, copies": lambda: pm.games.kernelized_dueling(np.repeat(points(4), 2, axis=0)),
    "kernel, matern": lambda: pm.games.kernelized_dueling(
        points(12, 2), kernel=pm.kernels.Matern(1.5, 0.4), noise_std=0.2
    ),
}
RULES = {
    "approximate": pm.sampling.approximate,
    "deterministic": pm.sampling.deterministic,
    "generalized": pm.sampling.generalized(3.0),
    "e2d": pm.sampling.e2d(0.4),
    "anytime": pm.sampling.e2d("anytime"),
}


@pytest.mark.parametrize("name", GAMES)
def test_the_default(name: str) -> None:
    assert agree(GAMES[name](), pm.Calibrated(), 150) <= 1


@pytest.mark.parametrize("name", GAMES)
def test_dueling_ids(name: str) -> None:
    assert agree(GAMES[name](), pm.DuelingIDS(), 150) <= 1


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("name", ["box", "kernel"])
def test_all_rules(name: str, rule: Any) -> None:
    assert agree(GAMES[name](), pm.DuelingIDS(sampling=rule, regularization=0.5), 100) <= 1


@pytest.mark.parametrize("missed", [0.5, 1.0, 3.0])
def test_what_counts_as_missed(missed: float) -> None:
    policy = ImprovingDuels(missed=missed)
    assert agree(GAMES["ball"](), policy, 100) == 0
    assert agree(GAMES["kernel"](), policy, 100) == 0


@pytest.mark.parametrize("name", ["ball", "kernel"])
def test_past_a_refresh(name: str) -> None:
    for policy in (pm.Calibrated(), pm.DuelingIDS()):
        assert agree(GAMES[name](), policy, 1100, seeds=2) == 0


@pytest.mark.parametrize("half_life", [5.0, 60.0])
def test_forgetting(half_life: float) -> None:
    for name in ("ball", "copies and ties", "all parameters"):
        for build in (pm.Calibrated, pm.DuelingIDS):
            assert agree(GAMES[name](), build(half_life=half_life), 150) <= 1


def test_signs() -> None:
    game = pm.games.dueling(ITEMS, feedback="sign")
    assert agree(game, pm.DuelingIDS(), 150) == 0


def test_a_truth_that_moves() -> None:
    game, path = GAMES["ball"](), np.random.default_rng(2).normal(size=(3, 3)) / 6
    ready = pm.truths.switching(path, at=[30, 60]).prepared(game, 100)
    marks, seeds = np.arange(1, 101), np.arange(3)
    for policy in (pm.Calibrated(), pm.DuelingIDS()):
        slow = play_batched(game, policy, ready.environment(game, seeds, 100), marks)
        quick = play(game, policy, ready.environment(game, seeds, 100), marks)
        assert quick.backend == "compiled"
        assert np.array_equal(slow.plays, quick.plays)


def test_probes() -> None:
    for name in ("ball", "kernel"):
        for policy in (pm.Calibrated(), pm.DuelingIDS()):
            assert agree(GAMES[name](), pm.Probing(policy, 0.2), 100) == 0


def test_unproven_rounds_are_left_to_the_batched_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every seventh round of some replicates is decided elsewhere: nothing changes."""
    whole = duel_program.DuelProgram.loops
    asked = []

    def loops(self: Any, world: Any, totals: Any, reached: Any, due: Any, unproven: Any) -> Any:
        inner = whole(self, world, totals, reached, due, unproven)

        def run(stop: int, first: int, last: int) -> None:
            for i in range(first, last):
                while reached[i] < stop and not unproven[i]:
                    unproven[i] = reached[i] % 7 == 3
                    asked.append(bool(unproven[i]))
                    if not unproven[i]:
                        inner(int(reached[i]) + 1, i, i + 1)

        return run

    monkeypatch.setattr(duel_program.DuelProgram, "loops", loops)
    assert agree(GAMES["ball"](), pm.DuelingIDS(), 60) == 0
    assert agree(GAMES["ball"](), pm.Probing(pm.DuelingIDS(), 0.2), 60) == 0
    assert any(asked)
    assert not all(asked)


def test_ill_conditioned_data_are_refactored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of the loops, from the orthogonal factor of all rows, which these keep."""
    seen = []
    inner = duel_program.DuelProgram.learned

    def learned(self: Any, rows: Any) -> Any:
        seen.append(np.abs(self.triangles[rows]).max())
        return inner(self, rows)

    monkeypatch.setattr(duel_program.DuelProgram, "learned", learned)
    steep = duels(1e4 * ITEMS, pm.AllParameters(3))
    assert agree(steep, pm.DuelingIDS(), 60) <= 1
    assert max(seen) > 1e4


def reason(game: Any, policy: Any) -> str:
    result = pm.simulate(game, {"own": policy}, "random", horizon=2, seeds=1)
    return result.backend["own"]


def test_reasons() -> None:
    ball = GAMES["ball"]()
    assert reason(ball, pm.Calibrated()) == reason(ball, pm.DuelingIDS()) == "compiled"
    assert "of your own" in reason(ball, pm.DuelingIDS(confidence=lambda t: 2 * np.log(t)))
    own = pm.DuelingIDS(sampling=lambda d, i: pm.sampling.exact(d, i))
    assert "of your own" in reason(ball, own)
    assert "best whatever" in reason(duels(ITEMS[:1]), pm.DuelingIDS())
    steep = duels(100 * ITEMS, pm.AllParameters(3))
    assert "well conditioned" in reason(steep, pm.DuelingIDS(half_life=10.0))
    wide = pm.games.dueling(RNG.normal(size=(60, 40)))
    assert "products of matrices" in reason(wide, pm.Calibrated())
    assert "no compiled rounds" in reason(GAMES["kernel"](), pm.DuelingTS())
    line = pm.KernelBoxDuelingGame(pm.kernels.Matern(2.5, 0.3), [0.0], [1.0])
    assert reason(line, pm.Calibrated()).startswith("batched: ")


@pytest.mark.nightly
@pytest.mark.parametrize("policy", [pm.Calibrated(), pm.DuelingIDS()])
@pytest.mark.parametrize("name", GAMES)
def test_long_runs(name: str, policy: Any) -> None:
    assert agree(GAMES[name](), policy, 2000, seeds=5) <= 1

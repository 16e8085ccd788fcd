"""Compiled rounds are the batched ones, on any number of threads; who cannot have them is told."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.ids import program
from partial_monitoring.policies.ids.program import LeastSquaresProgram
from partial_monitoring.simulation import play as playing
from partial_monitoring.simulation.play import ends_between
from tests.oracles.linear_games import ALL, CUT, FEATURES, GAMES
from tests.oracles.two_ways import compare

GAPS = {"exact": pm.gaps.exact, "relaxed": pm.gaps.relaxed, "mean": pm.gaps.mean}
RULES = {
    "exact": pm.sampling.exact,
    "approximate": pm.sampling.approximate,
    "deterministic": pm.sampling.deterministic,
    "generalized": pm.sampling.generalized(3.0),
    "e2d": pm.sampling.e2d(0.4),
    "anytime": pm.sampling.e2d("anytime"),
}
WIDTHS = {
    "fixed": pm.confidence.fixed(0.05),
    "likelihood ratio": pm.confidence.likelihood_ratio(0.05),
    "deviations": pm.confidence.deviations(2.0),
    "calibrated": pm.confidence.calibrated(),
}


@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_all_games(game: Any, gap: Any) -> None:
    compare(game, pm.IDS(gap=gap), 300)


@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS.keys())
@pytest.mark.parametrize("game", CUT.values(), ids=CUT.keys())
def test_sets_that_cut(game: Any, gap: Any) -> None:
    compare(game, pm.IDS(gap=gap), 100)


@pytest.mark.parametrize("name", ["exact", "anytime", "deterministic"])
def test_rules_on_sets_that_cut(name: str) -> None:
    for game in CUT.values():
        compare(game, pm.IDS(sampling=RULES[name]), 40, seeds=2)


IMPROVING = pm.IDS(
    gap=pm.gaps.improvement,
    information=pm.information.improvement,
    confidence=pm.confidence.deviations(2.0),
)


@pytest.mark.parametrize("game", (GAMES | CUT).values(), ids=(GAMES | CUT).keys())
def test_improvements(game: Any) -> None:
    compare(game, IMPROVING, 300)


def test_the_default_on_a_linear_bandit() -> None:
    compare(CUT["ball"], pm.Calibrated(), 300)
    compare(GAMES["bandit"], pm.Calibrated(), 1100, seeds=2)


def test_unproven_rounds_are_left_to_the_batched_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every seventh round of some replicates is decided elsewhere: nothing changes."""
    asked = []

    def loops(self: Any, world: Any, totals: Any, reached: Any, due: Any, unproven: Any) -> Any:
        inner = LeastSquaresProgram.loops(self, world, totals, reached, due, unproven)

        def run(stop: int, first: int, last: int) -> None:
            for i in range(first, last):
                while reached[i] < stop and not unproven[i]:
                    unproven[i] = reached[i] % 7 == 3
                    asked.append(bool(unproven[i]))
                    if not unproven[i]:
                        inner(int(reached[i]) + 1, i, i + 1)

        return run

    class Halting(LeastSquaresProgram):
        pass

    Halting.loops = loops  # type: ignore[method-assign]
    monkeypatch.setattr(program, "_program_for", lambda *unused, **options: Halting)
    for name in ("bandit", "several rows"):
        compare(GAMES[name], pm.IDS(), 40)
    assert any(asked)
    assert not all(asked)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("name", ["bandit", "several rows", "nothing is shown"])
def test_all_rules(name: str, rule: Any) -> None:
    compare(GAMES[name], pm.IDS(sampling=rule), 300)


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_all_widths(width: Any) -> None:
    compare(GAMES["several rows"], pm.IDS(confidence=width, regularization=0.3), 300)


@pytest.mark.parametrize("noise", ["bernoulli", "sign", "none", "gaussian"])
def test_all_kinds_of_noise(noise: str) -> None:
    features = np.abs(FEATURES) / np.linalg.norm(FEATURES, axis=1).max() / 2
    game = pm.games.linear_bandit(features, pm.Box([0.0] * 3, [1.0] * 3))
    open_game = pm.games.linear_bandit(features, ALL)
    theta = np.full((3, 3), 0.5)
    marks = np.array([200])
    for own in (open_game, game):
        worlds = [playing.Environment(own, theta, np.arange(3), noise=noise) for _ in range(2)]
        policy = pm.IDS(gap=pm.gaps.mean)
        slow = playing.play_batched(own, policy, worlds[0], marks)
        quick = playing.play(own, policy, worlds[1], marks)
        assert np.array_equal(slow.plays, quick.plays)


def test_past_a_refresh() -> None:
    compare(GAMES["several rows"], pm.IDS(), 2100, seeds=2)


@pytest.mark.nightly
@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS.keys())
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_long_runs(game: Any, gap: Any, rule: Any) -> None:
    compare(game, pm.IDS(gap=gap, sampling=rule), 2000, seeds=5)


def reason(game: Any, policy: Any, **options: Any) -> str:
    result = pm.simulate(game, {"own": policy}, horizon=2, seeds=1, **options)
    return result.backend["own"]


def test_reasons() -> None:
    bandit = GAMES["bandit"]

    def gap(game: Any, confidence: Any) -> Any:
        return pm.gaps.exact(game, confidence)

    class Mine(pm.IDS):
        def choose(self, view: Any, uniforms: Any) -> Any:
            return super().choose(view, uniforms)

    assert reason(bandit, pm.IDS()) == "compiled"
    assert reason(bandit, pm.IDS(gap=gap)) == "batched: the gap estimate is not compiled"
    own_rule = pm.IDS(sampling=lambda d, i: pm.sampling.exact(d, i))
    assert "a function of your own" in reason(bandit, own_rule)
    assert "a function of your own" in reason(bandit, pm.IDS(confidence=lambda t: 2 * np.log(t)))
    noise = lambda means, std, rng: means + std * rng.normal(size=means.shape)  # noqa: E731
    assert "noise" in reason(bandit, pm.IDS(), noise=noise)
    assert reason(bandit, Mine()) == "batched: Mine has no compiled rounds"


def test_backend_is_saved_and_merged(tmp_path: Path) -> None:
    bandit = GAMES["bandit"]
    one = pm.simulate(bandit, {"a": pm.IDS()}, horizon=5, seeds=2)
    two = pm.simulate(bandit, {"b": pm.IDS(gap=pm.gaps.mean)}, horizon=5, seeds=2)
    assert one.merged(two).backend == {"a": "compiled", "b": "compiled"}
    one.save(tmp_path / "one.parquet")
    assert pm.Result.load(tmp_path / "one.parquet").backend == {"a": "compiled"}


@pytest.mark.parametrize("threads", [0, -1, 1.5, "all", True])
def test_threads_are_counted(threads: Any) -> None:
    with pytest.raises(InvalidInput, match="threads must be"):
        pm.simulate("apple_tasting", horizon=2, seeds=1, threads=threads)


def test_more_threads_than_seeds() -> None:
    bandit = GAMES["bandit"]
    one = pm.simulate(bandit, pm.IDS(), horizon=50, seeds=3, threads=1)
    many = pm.simulate(bandit, pm.IDS(), horizon=50, seeds=3, threads=50)
    assert np.array_equal(one.regret["ids"], many.regret["ids"])


def test_an_interruption_keeps_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Stopped:
        def play(self, world: Any, totals: Any, reached: Any, stop: int, *rows: int) -> None:
            calls.append(threading.current_thread())
            if stop > 10:
                raise KeyboardInterrupt
            totals.regret[rows[0] : rows[1]] = stop

    monkeypatch.setattr(playing, "program_of", lambda policy, state: Stopped())
    for threads in (1, 3):
        result = pm.simulate(
            GAMES["bandit"],
            pm.IDS(),
            horizon=100,
            seeds=6,
            checkpoints=[5, 10, 50],
            threads=threads,
        )
        assert result.checkpoints.tolist() == [5, 10]
        assert result.regret["ids"].tolist() == [[5.0, 10.0]] * 6
    assert len(set(calls)) > 1


def test_an_interruption_keeps_only_checkpoints_that_all_seeds_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Uneven:
        def play(self, world: Any, totals: Any, reached: Any, stop: int, *rows: int) -> None:
            if stop > (50 if rows[0] < 3 else 5):
                raise KeyboardInterrupt
            totals.regret[rows[0] : rows[1]] = stop

    monkeypatch.setattr(playing, "program_of", lambda policy, state: Uneven())
    result = pm.simulate(
        GAMES["bandit"], pm.IDS(), horizon=100, seeds=6, checkpoints=[5, 10, 50], threads=2
    )
    assert result.checkpoints.tolist() == [5]
    assert result.regret["ids"].tolist() == [[5.0]] * 6


def test_threads_do_not_wait_for_each_other_at_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    slices = []

    def noted(*given: Any) -> Any:
        slices.append(ends_between(*given))
        return slices[-1]

    monkeypatch.setattr(playing, "ends_between", noted)
    marks = range(1, 101)
    many = pm.simulate(
        GAMES["bandit"], pm.IDS(), horizon=100, seeds=6, checkpoints=marks, threads=2
    )
    assert len(slices) < 20
    assert [i for ends in slices for _, i in ends] == list(range(100))
    one = pm.simulate(GAMES["bandit"], pm.IDS(), horizon=100, seeds=6, checkpoints=marks, threads=1)
    assert np.array_equal(one.regret["ids"], many.regret["ids"])
    assert np.array_equal(one.ratio["ids"], many.ratio["ids"], equal_nan=True)
    assert np.array_equal(one.plays["ids"], many.plays["ids"])


def test_what_fails_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def play(self, *unused: Any) -> None:
            raise InvalidInput("a certain sentence")

    monkeypatch.setattr(playing, "program_of", lambda policy, state: Failing())
    with pytest.raises(InvalidInput, match="a certain sentence"):
        pm.simulate(GAMES["bandit"], pm.IDS(), horizon=5, seeds=4, threads=2)

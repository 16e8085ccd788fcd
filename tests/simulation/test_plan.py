"""Plans: what it means to know the best action, on runs made by hand and on simulated ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.simulation.plan import checkpoints_of, known_since


def counted(actions: list[int], marks: np.ndarray, k: int) -> np.ndarray:
    """Return how often actions were played until checkpoints, shape (1, checkpoints, k)."""
    return np.array([[np.bincount(actions[:t], minlength=k) for t in marks]])


def since_by_hand(actions: list[int], best: set[int], marks: np.ndarray) -> float:
    """Return the same as ``known_since`` for one run, from its actions."""
    found = np.inf
    for t in marks[::-1].tolist():
        start = max((m for m in marks.tolist() if m <= t // 2), default=0)
        recent = actions[start:t]
        if 2 * sum(a in best for a in recent) <= len(recent):
            break
        found = t
    return found if 2 * found <= marks[-1] else np.inf


@pytest.mark.parametrize("seed", range(20))
def test_knowing_is_what_it_is_said_to_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    marks = checkpoints_of(64)
    turn = int(rng.integers(1, 60))
    late = rng.choice([0, 1, 2], p=[0.7, 0.2, 0.1], size=64 - turn)
    actions = [*rng.integers(0, 3, turn).tolist(), *late.tolist()]
    best = np.array([[[True, False, bool(seed % 2)]]])
    found = known_since(counted(actions, marks, 3), best, marks)
    assert found[0] == since_by_hand(actions, {0, 2} if seed % 2 else {0}, marks)


def test_a_plan_agrees_with_the_simulation() -> None:
    found = pm.plan("dynamic_pricing", theta=[0.2, 0.5, 0.3], seeds=40)
    theta = [0.2, 0.5, 0.3]
    marks = found.result.checkpoints
    result = pm.simulate(
        "dynamic_pricing", theta=theta, horizon=found.horizon, seeds=40, checkpoints=marks
    )
    np.testing.assert_array_equal(result.plays["calibrated"], found.result.plays["calibrated"])
    place = list(marks).index(found.rounds)
    assert found.cost == result.mean("calibrated")[place]
    assert found.share[place] >= 0.95 > found.share[place - 1]
    low, high = found.interval
    assert low <= found.rounds <= high
    assert "known with 95 %" in found.explain()
    assert "uniform play would lose" in str(found).replace("\n ", " ")


def test_longer_runs_do_not_change_what_was_played_before() -> None:
    short = pm.plan("apple_tasting", theta=[0.7, 0.3], horizon=500, seeds=20)
    long = pm.plan("apple_tasting", theta=[0.7, 0.3], horizon=1000, seeds=20)
    shared = np.intersect1d(short.result.checkpoints, long.result.checkpoints)
    for t in shared:
        one, two = (
            p.result.plays["calibrated"][:, list(p.result.checkpoints).index(t)]
            for p in (short, long)
        )
        np.testing.assert_array_equal(one, two)


def test_more_chance_and_less_slack_take_longer() -> None:
    strict = pm.plan("dynamic_pricing", seeds=60, horizon=2000)
    loose = pm.plan("dynamic_pricing", seeds=60, horizon=2000, within=0.3)
    assert (loose.since <= strict.since).all()
    rounds = [strict.rounds_for(c) for c in (0.5, 0.8, 0.95)]
    assert rounds == sorted(rounds)
    assert [row["chance"] for row in strict.table()] == [0.5, 0.8, 0.9, 0.95, 0.99]


def test_what_is_not_known_is_said() -> None:
    found = pm.plan("dynamic_pricing", "random", theta=[0.2, 0.5, 0.3], horizon=200, seeds=20)
    assert found.rounds == np.inf
    assert "is not known with 95 %" in found.explain()
    assert "within=" in found.explain()
    assert found.table()[3]["rounds"] is None
    assert "> 100" in str(found)
    assert "inf" in repr(found)


def test_moving_truths_are_known_after_they_moved() -> None:
    theta = pm.truths.switching([[0.2, 0.5, 0.3], [0.8, 0.1, 0.1]], at=[40])
    found = pm.plan("dynamic_pricing", pm.IDS(), theta, seeds=20, horizon=4000)
    assert found.rounds > 40
    with pytest.raises(InvalidInput, match="theta must be parameters"):
        pm.plan("dynamic_pricing", theta=pm.truths.outcomes([0, 1, 2] * 40), horizon=100)


def test_the_worst_case_takes_longer_than_the_middle() -> None:
    options: Any = {"within": 0.2, "horizon": 400, "seeds": 40}
    worst = pm.plan("dynamic_pricing", theta="worst", **options)
    assert worst.theta.startswith("worst (")
    middle = pm.plan("dynamic_pricing", **options)
    assert worst.rounds_for(0.8) >= middle.rounds_for(0.8)


@pytest.mark.parametrize("runs", [5, 20, 50, 200])
@pytest.mark.parametrize("chance", [0.5, 0.8, 0.95, 0.99])
def test_the_interval_contains_the_number_of_rounds_as_often_as_it_says(
    runs: int, chance: float
) -> None:
    """By the round that is asked for, a binomial number of runs knows."""
    played = pm.plan("apple_tasting", theta=[0.8, 0.2], seeds=2, horizon=10)
    found = replace(played, since=2.0 + np.arange(runs), chance=chance)
    low, high = (x - 1.0 for x in found.interval)  # the numbers of the runs at its ends
    chances = binom.pmf(np.arange(runs + 1), runs, chance)
    assert chances[int(low) : int(min(high, runs + 1))].sum() >= 0.95


def test_chances_of_a_plan_are_checked() -> None:
    found = pm.plan("apple_tasting", theta=[0.8, 0.2], seeds=5, horizon=20)
    assert found.rounds_for(1.0) == found.since.max()
    for chance in (0.0, 2.0, "most"):
        with pytest.raises(InvalidInput, match="chance must"):
            found.cost_for(chance)  # type: ignore[arg-type]


def test_pictures_and_pages() -> None:
    found = pm.plan("apple_tasting", theta=[0.8, 0.2], seeds=20, horizon=200)
    figure = found.plot(title="mine")
    assert figure.axes[0].get_xlabel() == "rounds"
    assert figure.axes[0].get_title() == "mine"
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chance": 1.0}, "chance must lie between 0 and 1"),
        ({"within": -0.1}, "within must"),
        ({"horizon": 1}, "horizon must"),
        ({"game": "segment_pricing"}, "game must have no contexts"),
        ({"threads": 0}, "threads must"),
    ],
)
def test_bad_arguments_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pm.plan(**{"game": "apple_tasting", "horizon": 10, "seeds": 2} | options)

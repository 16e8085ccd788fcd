"""The default policy has the lowest regret on finite games; all runs are seeded.

In CI a few seeds play a fifth of the rounds, and limits leave room for three standard errors. The
nightly tests claim the whole; ``python -m benchmarks regret`` prints the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pytest
from benchmarks.standard_games import COLUMNS, NAMED, TABLE, Column, random_games
from numpy.typing import NDArray

import partial_monitoring as pm

Array = NDArray[np.float64]

POLICIES = {"calibrated": pm.Calibrated(), "randcbp": pm.RandCBP(levels=5)}

LOWEST = {
    "AT .9": 0.0,  # IDS: the best action is the one that shows something
    "AT .45": 29.1,  # Bayesian IDS
    "LE .9": 9.3,  # RandCBP by its authors' code
    "LE .45": 245.0,  # RandCBP
    "DP3": 26.9,  # Bayesian IDS, 50 seeds
    "DP5": 71.8,  # the same
    "BB3 .9": 3.28,  # Bayesian IDS, 560 seeds
    "BB3 .6": 29.2,  # Bayesian IDS, 340 seeds
}
"""The least mean regret of others after 10,000 rounds: of RandCBP as published, and of all policies
at their default options that learn in every column of the game (1000 seeds, unless it says so)."""

WITHIN = {"LE .9": 1.25}
"""How many times the least regret of the others is allowed; 1.15 elsewhere."""

SLOW = {"easy": 0.002, "hard": 0.007}
"""The largest shares of seeds that are slow after 100,000 rounds."""


def played(
    game: pm.FiniteGame, names: Sequence[str], theta: object, horizon: int, seeds: Sequence[int]
) -> dict[str, Array]:
    """Return the regret of some policies after half of the rounds and after all, (n, 2)."""
    chosen = {name: POLICIES[name] for name in names}
    marks = [horizon // 2, horizon]
    result = pm.simulate(game, chosen, theta, horizon=horizon, seeds=seeds, checkpoints=marks)
    return result.regret


def geometric(ratios: Sequence[float]) -> float:
    return float(np.exp(np.log(ratios).mean()))


def ratio(ours: Array, theirs: Array) -> float:
    """Compare mean regrets at the horizon; one is added to both, since either may be zero."""
    return float((ours[:, 1].mean() + 1) / (theirs[:, 1].mean() + 1))


@cache
def few_rounds(name: str) -> dict[str, Array]:
    column = next(own for own in COLUMNS if own.name == name)
    return played(column.game, ["calibrated", "randcbp"], column.theta, 2000, range(60))


def test_regret_of_few_rounds() -> None:
    """The standard error of the logarithm of the geometric mean is 0.045 with so few seeds."""
    ratios = [ratio(*few_rounds(column.name).values()) for column in TABLE]
    assert geometric(ratios) <= 0.62 * np.exp(3 * 0.045)


@pytest.mark.parametrize("column", TABLE, ids=lambda own: own.name)
def test_no_column_is_lost_in_few_rounds(column: Column) -> None:
    """Within 1.15 (1.25 on LE .9) of RandCBP, up to three standard errors of the difference."""
    ours, theirs = (own[:, 1] for own in few_rounds(column.name).values())
    excess = ours - WITHIN.get(column.name, 1.15) * theirs
    assert excess.mean() <= 3 * excess.std(ddof=1) / np.sqrt(len(excess))


def test_no_seed_is_slow_where_gaps_are_large() -> None:
    """If one of 500 is slow, more than three of these 240 are in one of 660 such tests."""
    large = [column for column in TABLE if column.smallest_gap >= 0.3]
    slow = [column.slow(few_rounds(column.name)["calibrated"], 2000) for column in large]
    assert np.concatenate(slow).sum() <= 3


def compared(
    games: Mapping[str, pm.FiniteGame], opponents: int, horizon: int, draw: int
) -> tuple[float, float]:
    """Return the geometric mean of the ratios, and how far behind the worst setting is.

    Opponents are uniformly random, and both policies meet each of them once. The second number
    counts standard errors of the paired difference.
    """
    seeds = range(1_000_000 * draw, 1_000_000 * draw + opponents)
    ratios, behind = [], []
    for game in games.values():
        found = played(game, [*POLICIES], "random", horizon, seeds)
        difference = found["calibrated"][:, 1] - found["randcbp"][:, 1]
        error = difference.std(ddof=1) / np.sqrt(opponents)
        ratios.append(ratio(found["calibrated"], found["randcbp"]))
        behind.append(float(difference.mean() / max(error, 1e-9)))
    return geometric(ratios), max(behind)


def test_a_few_random_games() -> None:
    """The standard error of the logarithm of the geometric mean is 0.1 with so few opponents."""
    mean, behind = compared(random_games(4, draw=7), opponents=40, horizon=2000, draw=7)
    assert mean <= 0.25 * np.exp(3 * 0.1)
    assert behind <= 3


def test_named_games_with_a_few_random_opponents() -> None:
    """The standard error of the logarithm of the geometric mean is 0.1 with so few opponents."""
    mean, behind = compared(NAMED, opponents=40, horizon=2000, draw=7)
    assert mean <= 0.60 * np.exp(3 * 0.1)
    assert behind <= 3


@cache
def whole(name: str) -> Array:
    """Return the regret of the default policy after half of 10,000 rounds and after all."""
    column = next(own for own in COLUMNS if own.name == name)
    return played(column.game, ["calibrated"], column.theta, 10_000, range(1000))["calibrated"]


@pytest.mark.nightly
@pytest.mark.parametrize("column", TABLE, ids=lambda own: own.name)
def test_the_lowest_regret(column: Column) -> None:
    found = whole(column.name)[:, 1].mean()
    assert found <= WITHIN.get(column.name, 1.15) * LOWEST[column.name]


@pytest.mark.nightly
def test_regret_beside_the_published_one() -> None:
    ratios = [(whole(own.name)[:, 1].mean() + 1) / (own.authors + 1) for own in TABLE]
    assert geometric(ratios) <= 0.62


@pytest.mark.nightly
@pytest.mark.parametrize("column", COLUMNS, ids=lambda own: own.name)
def test_slow_seeds_are_rare(column: Column) -> None:
    found = played(column.game, ["calibrated"], column.theta, 100_000, range(4000))
    slow = column.slow(found["calibrated"], 100_000)
    assert slow.mean() <= SLOW[column.category]


@pytest.mark.nightly
def test_random_games() -> None:
    mean, behind = compared(random_games(10, draw=1), opponents=60, horizon=10_000, draw=1)
    assert mean <= 0.25
    assert behind <= 3


@pytest.mark.nightly
def test_many_random_games() -> None:
    """They were drawn, and played, after the rule was settled."""
    mean, behind = compared(random_games(100, draw=8), opponents=60, horizon=10_000, draw=8)
    assert mean <= 0.25
    assert behind <= 3


@pytest.mark.nightly
def test_named_games_with_random_opponents() -> None:
    mean, behind = compared(NAMED, opponents=300, horizon=10_000, draw=1)
    assert mean <= 0.60
    assert behind <= 3

"""How fast the worst-case regret of IDS grows: n^(1/2), n^(2/3) or n, by the class of the game.

The opponent moves with the horizon: the worst case at n is the largest mean regret over parameters
whose gaps range from 0.01 to 0.32, each with its own seeds. The slope of its logarithm over log n
is the growth exponent. All runs are seeded, so that the outcome is the same every time; limits
leave room for other machines and versions of NumPy.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm

Array = NDArray[np.float64]

SIZES = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32])


def coins(both: bool = True) -> Array:
    """Distributions of two outcomes near the fair one, on one side or on both."""
    right = np.column_stack([0.5 + SIZES / 2, 0.5 - SIZES / 2])
    return np.concatenate([right, right[:, ::-1]]) if both else right


GAMES: dict[str, tuple[pm.Game, Array]] = {
    "easy: bernoulli": (
        pm.games.bernoulli_bandit_linear(2),
        np.column_stack([0.5 + SIZES, np.full(6, 0.5)]),
    ),
    "easy: apples": (pm.games.apple_tasting(), coins()),
    "hard: labels": (pm.games.label_efficient(), coins()),
    "hard: spam": (pm.games.spam_filter(1.5), coins()),
    "hopeless": (pm.games.matching_pennies("none"), coins()),
}


@cache
def worst_case(
    name: str, policy: pm.IDS, horizon: int, replicates: int, start: int
) -> tuple[Array, Array]:
    """Return horizons and the largest mean regret over the parameters at each."""
    game, theta = GAMES[name]
    marks = np.unique(np.geomspace(start, horizon, 12).astype(int))
    result = pm.simulate(
        game,
        {"policy": policy},
        np.repeat(theta, replicates, axis=0),
        horizon=horizon,
        seeds=len(theta) * replicates,
        checkpoints=marks,
    )
    means = result.regret["policy"].reshape(len(theta), replicates, -1).mean(axis=1)
    return marks.astype(float), means.max(axis=0)


def slope(horizons: Array, regret: Array) -> float:
    return float(np.polyfit(np.log(horizons), np.log(regret), 1)[0])


def greedy(gaps: Array, information: Array) -> Array:
    """Play the least gap estimate and never explore: what IDS must not degenerate to."""
    mu = np.zeros(gaps.shape)
    np.put_along_axis(mu, gaps.argmin(axis=-1, keepdims=True), 1.0, axis=-1)
    return mu


def test_the_games_are_in_their_class() -> None:
    for name, (game, _) in GAMES.items():
        assert pm.analyze(game).category == name.split(":")[0]


@pytest.mark.parametrize("name", GAMES)
def test_growth(name: str) -> None:
    """Over 150 to 2500 rounds. The classes do not overlap: 0.5, 0.67 and 1 with room for logs."""
    low, high = {"easy": (0.40, 0.63), "hard": (0.64, 0.83), "hopeless": (0.97, 1.03)}[
        name.split(":")[0]
    ]
    replicates = 8 if name.startswith("easy") else 4
    horizons, regret = worst_case(name, pm.IDS(), 2500, replicates, start=150)
    assert low <= slope(horizons, regret) <= high


@pytest.mark.parametrize("name", ["easy: bernoulli", "hard: labels"])
@pytest.mark.parametrize("gap", [pm.gaps.relaxed, pm.gaps.mean], ids=["relaxed", "mean"])
def test_growth_with_other_gaps(name: str, gap: pm.gaps.GapEstimate) -> None:
    low, high = (0.40, 0.72) if name.startswith("easy") else (0.62, 0.88)
    horizons, regret = worst_case(name, pm.IDS(gap=gap), 2500, 4, start=150)
    assert low <= slope(horizons, regret) <= high


def test_never_exploring_is_found_out() -> None:
    """The measure itself: the greedy rule has linear regret on a game that IDS learns."""
    policy = pm.IDS(sampling=greedy)
    horizons, regret = worst_case("easy: apples", policy, 2500, 4, start=150)
    assert slope(horizons, regret) > 0.85


@pytest.mark.parametrize("name", ["easy: apples", "hard: labels"])
def test_average_regret_vanishes(name: str) -> None:
    """Where something can be learned the regret per round falls, even in the worst case."""
    replicates = 8 if name.startswith("easy") else 4  # the runs of test_growth
    horizons, regret = worst_case(name, pm.IDS(), 2500, replicates, start=150)
    per_round = regret / horizons
    assert per_round[-1] < 0.65 * per_round[0]


@pytest.mark.nightly
@pytest.mark.parametrize("name", GAMES)
def test_growth_over_many_rounds(name: str) -> None:
    """Over 1000 to 30,000 rounds, closer to 1/2, 2/3 and 1."""
    low, high = {"easy": (0.42, 0.60), "hard": (0.60, 0.74), "hopeless": (0.99, 1.01)}[
        name.split(":")[0]
    ]
    horizons, regret = worst_case(name, pm.IDS(), 30_000, 12, start=1000)
    assert low <= slope(horizons, regret) <= high


RULES = {
    "approximate": pm.sampling.approximate,
    "generalized": pm.sampling.generalized(3.0),
    "anytime": pm.sampling.e2d("anytime"),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@every_rule
def test_growth_of_other_rules_on_a_hard_game(rule: pm.sampling.SamplingRule) -> None:
    """Neither always exploring nor never: with lambda = 1/2 (sum Psi / gamma)^(1/2) also E2D.

    Of two actions between which the exact rule mixes, always playing the informative one costs a
    constant each round, always playing the other one teaches nothing.
    """
    horizons, regret = worst_case("hard: labels", pm.IDS(sampling=rule), 2500, 4, start=150)
    assert 0.55 <= slope(horizons, regret) <= 0.86


@pytest.mark.nightly
@every_rule
def test_growth_of_other_rules_over_many_rounds(rule: pm.sampling.SamplingRule) -> None:
    """On the easy game regret is small and scatters, so it takes more runs to see its slope."""
    policy = pm.IDS(sampling=rule)
    horizons, regret = worst_case("easy: bernoulli", policy, 10_000, 24, start=500)
    assert 0.38 <= slope(horizons, regret) <= 0.68
    horizons, regret = worst_case("hard: labels", policy, 10_000, 8, start=500)
    assert 0.55 <= slope(horizons, regret) <= 0.80

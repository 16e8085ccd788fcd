"""Regret of policies for outcomes that an opponent may choose: random, switching, in blocks.

All runs are seeded, so that the outcome is the same every time; limits leave room for other
machines and versions of NumPy.
"""

from __future__ import annotations

from math import e, log
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from tests.oracles.finite_games import NAMED

Array = NDArray[np.float64]

SIZES = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
RIGHT = np.column_stack([0.5 + SIZES / 2, 0.5 - SIZES / 2])
COINS = np.concatenate([RIGHT, RIGHT[:, ::-1]])
TILTED = np.column_stack([1 / 3 + SIZES / 2, 2 / 3 - SIZES / 2])

GAMES: dict[str, tuple[Any, Array]] = {
    "apples": (NAMED["apples"], COINS),
    "labels": (NAMED["labels"], COINS),
    "path": (NAMED["path"], np.concatenate([TILTED, TILTED[:, ::-1]])),
    "midpoint tells": (NAMED["midpoint tells"], COINS),
    "arms": (
        pm.games.bernoulli_bandit_linear(3),
        np.column_stack([0.5 + SIZES, *[np.full(6, 0.5)] * 2]),
    ),
}
"""With random outcomes near those where two actions tie."""

CASES: list[tuple[str, Any, float]] = [
    ("apples", pm.FeedExp3(), 2 / 3),
    ("apples", pm.FeedExp3(exploration="all"), 2 / 3),
    ("apples", pm.FeedExp3(tuning="ps"), 3 / 4),
    ("apples", pm.NeighborhoodWatch(), 1 / 2),
    ("apples", pm.NeighborhoodWatch2(), 1 / 2),
    ("labels", pm.FeedExp3(), 2 / 3),
    ("labels", pm.FeedExp3(tuning="ps"), 3 / 4),
    ("path", pm.FeedExp3(), 2 / 3),
    ("path", pm.NeighborhoodWatch(), 1 / 2),
    ("path", pm.NeighborhoodWatch2(), 1 / 2),
    ("midpoint tells", pm.NeighborhoodWatch2(), 1 / 2),
    ("arms", pm.TsallisINF(), 1 / 2),
    ("arms", pm.TsallisINF("importance weighting"), 1 / 2),
]
"""Games, policies and the promised exponent."""


def growth(name: str, policy: Any, horizon: int, replicates: int) -> float:
    """Return the exponent of the largest mean regret over the parameters of a game."""
    game, theta = GAMES[name]
    marks = np.unique(np.geomspace(horizon / 10, horizon, 8).astype(int))
    result = pm.simulate(
        game,
        {"policy": policy},
        np.repeat(theta, replicates, axis=0),
        horizon=horizon,
        seeds=len(theta) * replicates,
        checkpoints=marks,
    )
    means = result.regret["policy"].reshape(len(theta), replicates, -1).mean(axis=1)
    return float(np.polyfit(np.log(marks), np.log(means.max(axis=0)), 1)[0])


@pytest.mark.parametrize(("name", "policy", "rate"), CASES)
def test_growth(name: str, policy: Any, rate: float) -> None:
    assert growth(name, policy, 3000, 10) <= rate + 0.12


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "policy", "rate"), CASES)
def test_growth_over_many_rounds(name: str, policy: Any, rate: float) -> None:
    assert growth(name, policy, 40_000, 20) <= rate + 0.07


def test_outside_their_class_regret_is_linear() -> None:
    assert growth("labels", pm.NeighborhoodWatch2(allow_outside=True), 3000, 4) > 0.95


def test_random_rewards_cost_tsallis_inf_a_logarithm() -> None:
    game, marks = pm.games.bernoulli_bandit_linear(3), [500, 5000]
    for policy in (pm.TsallisINF(), pm.TsallisINF("importance weighting")):
        result = pm.simulate(
            game, {"p": policy}, [0.8, 0.5, 0.5], horizon=5000, seeds=50, checkpoints=marks
        )
        early, late = result.regret["p"].mean(axis=0)
        assert late <= 2.3 * early  # 10^(1/2) would be the other rate


# -- outcomes that are chosen ----------------------------------------------------------------------


def against(policy: Any, game: pm.FiniteGame, outcomes: Any, seed: int = 0) -> Array:
    """Return the realised regret against the best fixed action, shape (n,).

    Outcomes are (rounds, n).
    """
    rng, (rounds, n) = np.random.default_rng(seed), outcomes.shape
    state, earned = policy.init(game, n), np.zeros(n)
    for t in range(rounds):
        action = policy.decide(state, rng.random(n)).action
        state = policy.update(state, action, game.observation_maps[action, :, outcomes[t]])
        earned += game.rewards[action, outcomes[t]]
    best = game.rewards[:, outcomes].sum(axis=1).max(axis=0)
    return np.asarray(best - earned)


def switching(rounds: int, n: int) -> Any:
    """Outcome 1 with probability 0.1 in the first half and 0.85 in the second, (rounds, n)."""
    chance = np.where(np.arange(rounds) < rounds // 2, 0.1, 0.85)
    return (np.random.default_rng(1).random((rounds, n)) < chance[:, None]).astype(int)


ENDS = 3**7 - 1
"""A block ends there, and two actions differ by half the rounds."""


def in_blocks(rounds: int, n: int) -> Any:
    """Outcomes 0 and 1 in turn, each for three times as long as before, (rounds, n)."""
    block = np.floor(np.log(np.arange(rounds) + 1) / log(3)).astype(int)
    return np.repeat((block % 2)[:, None], n, axis=1)


@pytest.mark.parametrize("build", [pm.NeighborhoodWatch, pm.NeighborhoodWatch2])
@pytest.mark.parametrize("horizon", [None, 4000])
def test_learners_notice_a_switch(build: Any, horizon: int | None) -> None:
    regret = against(build(horizon=horizon), NAMED["path"], switching(4000, 20))
    assert regret.mean() < np.sqrt(4000)


@pytest.mark.nightly
@pytest.mark.parametrize("build", [pm.NeighborhoodWatch, pm.NeighborhoodWatch2])
def test_learners_notice_a_late_switch(build: Any) -> None:
    """They follow it, and so earn more than any fixed action.

    The learner of the first action needs (1/3 - 0.1) / (0.85 - 1/3) of the first half to change its
    advice, so that about 1000 could be earned, without exploration.
    """
    regret = against(build(horizon=20_000), NAMED["path"], switching(20_000, 20))
    assert -1200 < regret.mean() < 0


LIMITS: list[tuple[str, Any, float, float]] = [
    ("apples", pm.NeighborhoodWatch2(), 5, 1 / 2),
    ("apples", pm.NeighborhoodWatch(), 5, 1 / 2),
    ("path", pm.NeighborhoodWatch2(), 5, 1 / 2),
    ("apples", pm.FeedExp3(), 2, 2 / 3),
    ("labels", pm.FeedExp3(), 2, 2 / 3),
    ("bandit", pm.TsallisINF(), 4, 1 / 2),
    ("bandit", pm.FeedExp3(), 2, 2 / 3),
]
"""Games, policies and factor and exponent of a limit."""


@pytest.mark.parametrize(("name", "policy", "factor", "rate"), LIMITS)
def test_blocks_that_grow(name: str, policy: Any, factor: float, rate: float) -> None:
    """What was best so far is soon worst, as often as it takes; two arms take opposite turns."""
    outcomes = in_blocks(ENDS, 20)
    if name == "bandit":
        outcomes = 1 + outcomes  # of the outcomes of two coins those where they differ
    regret = against(policy, NAMED[name], outcomes)
    assert regret.mean() <= factor * ENDS**rate


def test_following_what_was_best_is_found_out() -> None:
    """The measure itself: a policy for random outcomes loses a constant share of the rounds."""
    blocks = in_blocks(ENDS, 4)
    regret = [against(pm.Greedy(), NAMED["apples"], own).mean() for own in (blocks, 1 - blocks)]
    assert max(regret) > 0.4 * ENDS


@pytest.mark.parametrize("name", ["apples", "labels", "pricing"])
def test_the_bound_of_feedexp3(name: str) -> None:
    """3 (k* (e - 2)^(1/2) m n)^(2/3) log(N)^(1/3), whatever the outcomes."""
    game, n = NAMED[name], 2000
    policy = pm.FeedExp3(horizon=n)
    shape = policy.init(game, 1).shape
    size, explored = max(1.0, np.abs(shape.estimates).max()), np.count_nonzero(shape.explored)
    bound = 3 * (size * (e - 2) ** 0.5 * explored * n) ** (2 / 3)
    bound *= log(shape.estimates.shape[2]) ** (1 / 3) * np.ptp(game.rewards, axis=0).max()
    for outcomes in (in_blocks(n, 10), switching(n, 10)):
        assert against(policy, game, outcomes * (game.d - 1)).mean() <= bound

"""How often alarms are false, and how soon they are raised; all seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.alarms import WORLDS, play
from scipy.stats import binom

from partial_monitoring.games import dynamic_pricing
from partial_monitoring.learner.alarms.answers import dependence
from partial_monitoring.learner.alarms.drift import drift, is_split
from partial_monitoring.learner.alarms.misfit import misfit
from partial_monitoring.learner.alarms.model import Watched
from partial_monitoring.learner.alarms.sums import Sums
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import Ball

HOLDS = [name for name, (_, kind, _) in WORLDS.items() if not kind]
FOUND = {
    "pricing, demand rises with the price": 800,
    "pricing, demand halves after 500": 1200,
    "pricing, fewer answers from $4 on": 300,
    "linear bandit, the last arm earns 1.5 more": 100,
    "linear bandit, noise 1.3 times as large": 500,
    "linear bandit, theta turns after 500": 700,
}
"""The round by which half of the runs have found what is wrong."""

PRICING = Watched(dynamic_pricing([1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]))
LINEAR = Watched(Game(np.eye(3), np.eye(3)[:, None] + 0.5, Ball(np.zeros(3), 2.0)))


def largest(watched: Watched, rounds: int, seed: int) -> dict[str, float]:
    """Return the largest log e of each kind; the action changes with what was seen last."""
    rng, k = np.random.default_rng(seed), watched.size
    theta = watched.game.parameters.sample(np.array([seed]))[0]
    sums: dict[Any, Sums] = {}
    splits: list[Any] = []
    counts: dict[Any, tuple[int, int]] = {}
    found = dict.fromkeys(("misfit", "drift", "answers"), -np.inf)
    favourite = 0
    for t in range(1, rounds + 1):
        a = favourite if rng.random() < 0.7 else int(rng.integers(k))
        yes, no = counts.get((None, a), (0, 0))
        answered = rng.random() < 0.7
        counts[None, a] = (yes + answered, no + (not answered))
        mean = watched.rows((None, a)) @ theta
        if watched.signals:
            shown = np.eye(len(mean))[rng.choice(len(mean), p=mean)]
            good = shown[0] > 0
        else:
            shown = mean + rng.choice([-1.0, 1.0], len(mean))
            good = shown[0] > mean[0]
        new = Sums(1, tuple(shown.tolist()))
        sums[None, a] = sums[None, a].joined(new) if (None, a) in sums else new
        favourite = a if good else int(rng.integers(k))
        if is_split(t):
            splits.append((t, dict(sums)))
        if is_split(t) or t % 25 == 0:
            every = misfit(watched, sums), drift(watched, splits, sums), dependence(watched, counts)
            for kind, own in zip(found, every, strict=True):
                found[kind] = max(found[kind], own.log_e)
    return found


def check_rarely_large(watched: Watched, runs: int, rounds: int) -> None:
    """P(e >= 1/alpha at some time) <= alpha, for several alpha."""
    each = [largest(watched, rounds, seed) for seed in range(runs)]
    for kind in each[0]:
        log_e = np.array([own[kind] for own in each])
        for alpha in (0.5, 0.1, 0.01):
            false = int((log_e >= -np.log(alpha)).sum())
            assert false <= binom.ppf(0.9999, runs, alpha), (kind, alpha, false)


@pytest.mark.parametrize("watched", [PRICING, LINEAR], ids=["pricing", "linear"])
def test_large_e_values_are_rare_in_short_studies(watched: Watched) -> None:
    check_rarely_large(watched, 20, 100)


@pytest.mark.nightly
@pytest.mark.parametrize("watched", [PRICING, LINEAR], ids=["pricing", "linear"])
def test_large_e_values_are_rare(watched: Watched) -> None:
    check_rarely_large(watched, 1000, 1500)


def test_rising_demand_is_found_with_ids_playing() -> None:
    game, kind, world = WORLDS["pricing, demand rises with the price"]
    assert kind in play(game, world, 0, 600, warn=False).first


@pytest.mark.nightly
@pytest.mark.parametrize("name", HOLDS)
def test_no_false_alarms_with_ids_playing(name: str) -> None:
    game, _, world = WORLDS[name]
    runs = [play(game, world, seed, warn=False) for seed in range(60)]
    assert sum(bool(own.first) for own in runs) <= 3  # with 1 % each, more have probability 4e-4


@pytest.mark.nightly
@pytest.mark.parametrize("name", FOUND)
def test_what_is_wrong_is_found_in_time(name: str) -> None:
    game, kind, world = WORLDS[name]
    rounds = [play(game, world, seed, warn=False).first.get(kind, 10**9) for seed in range(20)]
    assert np.median(rounds) <= FOUND[name]
    assert max(sorted(rounds)[:15]) < 10**9  # the others have stopped to explore before

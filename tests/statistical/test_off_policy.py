"""Off-policy intervals contain the truth about as often as they say, over seeded logs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm

GAME = pm.games.dynamic_pricing(prices=[1, 2, 3, 4, 5])
THETA = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
OTHERS = (0, 1, 3, 4)


@cache
def logged(seed: int, rounds: int, probe: float) -> list[dict[str, Any]]:
    """Return the log of a learner with probes, with its distributions."""
    learner, rng = pm.Learner(GAME, seed=seed, probe=probe), np.random.default_rng(seed)
    rows = []
    for _ in range(rounds):
        decision = learner.ask()
        shown = GAME.signal(decision.action, int(rng.choice(5, p=THETA)))
        learner.tell(decision, shown)
        row = {"action": decision.action, "probability": decision.probability}
        rows.append(row | {"distribution": decision.distribution, "observation": shown})
    return rows


def coverage(
    runs: int, rounds: int, probe: float, *, known: bool, **options: Any
) -> tuple[float, np.ndarray]:
    """Return how often intervals contain the truth, and the errors of estimates (runs, 4)."""
    rewards = GAME.features @ THETA
    truth = rewards[list(OTHERS)] - rewards[2]
    inside, errors = [], []
    for seed in range(runs):
        rows = logged(seed, rounds, probe)
        if not known:
            rows = [{k: x for k, x in row.items() if k != "distribution"} for row in rows]
            options["observers"] = range(5)  # in some logs one of them was never played
        values = pm.off_policy(rows, against=2, game=GAME, **options).values
        assert all(value.possible for value in values)
        estimates = np.array([(value.low, value.estimate, value.high) for value in values])
        inside.append((estimates[:, 0] <= truth) & (truth <= estimates[:, 2]))
        errors.append(estimates[:, 1] - truth)
    return float(np.mean(inside)), np.array(errors)


def test_a_few_logs() -> None:
    share, errors = coverage(12, 150, 0.2, known=True)
    assert share >= 0.85
    assert np.abs(errors.mean(axis=0)).max() < 0.5


def few_probes(method: str, runs: int, *, known: bool = True) -> float:
    """Return how often intervals contain the truth if the action was played about seven times.

    Sometimes it showed the same signal every time.
    """
    game, theta, chances = pm.games.dynamic_pricing(), [0.2, 0.5, 0.3], [1 / 30, 14 / 15, 1 / 30]
    rewards, inside = game.features @ theta, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        played, outcome = rng.choice(3, 200, p=chances), rng.choice(3, 200, p=theta)
        rows = [
            {"action": a, "probability": chances[a], "observation": game.signal(a, x)}
            | ({"distribution": chances} if known else {})
            for a, x in zip(played.tolist(), outcome.tolist(), strict=True)
        ]
        value = pm.off_policy(rows, "$3", "$2", game=game, method=method, observers=range(3))
        inside.append(value.low <= rewards[2] - rewards[1] <= value.high)
    return float(np.mean(inside))


def test_intervals_know_that_a_few_plays_may_look_alike() -> None:
    assert few_probes("doubly_robust", 150) >= 0.93
    assert few_probes("self_normalised", 80, known=False) >= 0.93


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["importance", "doubly_robust", "self_normalised"])
def test_intervals_cover_after_few_probes(method: str) -> None:
    assert few_probes(method, 1000) >= 0.94


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("method", "known", "least"),
    [
        ("importance", True, 0.94),
        ("importance", False, 0.93),
        ("doubly_robust", True, 0.94),
        ("doubly_robust", False, 0.93),
        ("self_normalised", True, 0.92),
        ("self_normalised", False, 0.89),
    ],
)
def test_normal_intervals_cover(method: str, known: bool, least: float) -> None:
    share, errors = coverage(150, 400, 0.05, known=known, method=method)
    assert share >= least
    if method != "self_normalised":
        standard = errors.std(axis=0) / np.sqrt(len(errors))
        assert (np.abs(errors.mean(axis=0)) < 4 * standard).all()


@pytest.mark.nightly
def test_bernstein_intervals_always_cover() -> None:
    for known in (True, False):
        share, _ = coverage(60, 400, 0.05, known=known, interval="bernstein")
        assert share == 1.0

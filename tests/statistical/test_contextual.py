"""How fast the regret of CBPside, RandCBPside, PG-TS and PG-IDS grows in contexts.

As in ``test_rates`` the worst case at n is the largest mean regret over parameters whose gaps range
from 0.02 to 0.32, here with two contexts that have to be told apart. All runs are seeded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm

SIZES = np.array([0.02, 0.04, 0.08, 0.16, 0.32])
APPLES = pm.games.contextual_apple_tasting(np.eye(2))
LABELS = pm.games.contextual_label_efficient(np.eye(2))

OUTSIDE = pm.RandCBPside(width="plays", forced=False, allow_outside=True)
RATES: dict[str, tuple[Any, Any, int, int, float, float]] = {
    "easy: randcbpside": (APPLES, pm.RandCBPside(), 50_000, 8, 0.4, 0.67),
    "easy: cbpside": (APPLES, pm.CBPside(), 400_000, 4, 0.4, 0.67),
    "easy: cbpside, selfnorm": (APPLES, pm.CBPside(width="selfnorm"), 200_000, 4, 0.4, 0.67),
    "easy: cbpside, plays": (APPLES, pm.CBPside(width="plays"), 50_000, 8, 0.4, 0.75),
    "hard: randcbpside": (LABELS, pm.RandCBPside(), 100_000, 6, 0.6, 0.82),
    "hard: not forced": (LABELS, OUTSIDE, 100_000, 6, 0.9, 1.05),
    "easy: pg_ts": (APPLES, pm.PGTS(), 10_000, 4, 0.4, 0.72),
    "easy: pg_ids": (APPLES, pm.PGIDS(samples=10), 10_000, 4, 0.4, 0.75),
}


def slope(game: Any, policy: Any, horizon: int, replicates: int) -> float:
    """Return the growth exponent of the worst case over the last two decades."""
    ahead = np.concatenate([0.5 + SIZES / 2, 0.5 - SIZES / 2])
    theta = np.column_stack([ahead, 1 - ahead, np.ones(len(ahead))])
    marks = np.unique(np.geomspace(horizon // 100, horizon, 10).astype(int))
    result = pm.simulate(
        game,
        {"own": policy},
        np.repeat(theta, replicates, axis=0),
        horizon=horizon,
        seeds=len(theta) * replicates,
        checkpoints=marks,
    )
    means = result.regret["own"].reshape(len(theta), replicates, -1).mean(axis=1).max(axis=0)
    return float(np.polyfit(np.log(marks), np.log(means), 1)[0])


@pytest.mark.nightly
@pytest.mark.parametrize("name", RATES)
def test_the_worst_case_grows_at_the_rate_of_its_class(name: str) -> None:
    *run, least, most = RATES[name]
    assert least < slope(*run) < most


@pytest.mark.parametrize(
    "policy",
    [pm.CBPside(width="plays"), pm.RandCBPside(), pm.PGTS(sweeps=4), pm.PGIDS(samples=4, sweeps=3)],
    ids=["cbpside", "randcbpside", "pg_ts", "pg_ids"],
)
def test_regret_flattens_where_contexts_differ(policy: Any) -> None:
    marks = [1000, 2000]
    result = pm.simulate(
        pm.games.contextual_apple_tasting(np.eye(3)),
        {"own": policy},
        [0.15, 0.9, 0.2, 1.0],
        horizon=2000,
        seeds=20,
        checkpoints=marks,
    )
    early, late = result.mean("own")[-2:]
    assert late - early < 0.35 * early
    assert late < 150


def test_hard_contexts_are_learned_by_force() -> None:
    theta = [0.2, 0.8, 0.3, 1.0]
    game = pm.games.contextual_label_efficient()
    policies = {"own": pm.RandCBPside(), "random": "random"}
    result = pm.simulate(game, policies, theta, horizon=4000, seeds=20, checkpoints=[2000, 4000])
    early, late = result.mean("own")[-2:]
    assert late - early < 0.6 * early
    assert late < 0.5 * result.mean("random")[-1]

"""How fast the regret of BPM grows on easy games, over parameters near and far from ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm

SIZES = np.array([0.02, 0.05, 0.1, 0.2, 0.4])
GAPS = np.concatenate([SIZES, -SIZES]) / 2
THETA = np.column_stack([0.5 + GAPS, 0.5 - GAPS])

POLICIES: dict[str, Any] = {
    "ts": pm.BPMTS(),
    "least": pm.BPMLeast(),
    "derived": pm.BPMLeast(radius="derived", scale=1.0),
}


def slope(policy: Any, horizon: int, replicates: int) -> float:
    """The exponent of the largest mean regret over the parameters."""
    marks = np.unique(np.geomspace(horizon / 16, horizon, 6).astype(int))
    result = pm.simulate(
        pm.games.apple_tasting(),
        {"own": policy},
        np.repeat(THETA, replicates, axis=0),
        horizon=horizon,
        seeds=len(THETA) * replicates,
        checkpoints=marks,
    )
    worst = result.regret["own"].reshape(len(THETA), replicates, -1).mean(axis=1).max(axis=0)
    return float(np.polyfit(np.log(marks), np.log(worst), 1)[0])


@pytest.mark.parametrize("name", ["ts", "least"])
def test_growth(name: str) -> None:
    assert slope(POLICIES[name], 4000, 20) < 0.72


@pytest.mark.nightly
@pytest.mark.parametrize("name", POLICIES)
def test_growth_of_long_runs(name: str) -> None:
    assert slope(POLICIES[name], 20_000, 40) < 0.66

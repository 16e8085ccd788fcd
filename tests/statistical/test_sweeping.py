"""How fast the regret of PEGE, GCB and ETC grows, and what games with an oracle cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm

SIZES = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
OPPONENTS = np.column_stack([0.5 + SIZES / 2, 0.5 - SIZES / 2])
GAMES = {"easy": pm.games.apple_tasting(), "hard": pm.games.label_efficient()}
POLICIES: dict[str, Any] = {
    "pege": pm.PEGE(),
    "gcb": pm.GCB(),
    "gcb, 0.1": pm.GCB(0.1),
    "etc": pm.ETC(),
}


def worst_slope(game: Any, policy: Any, horizon: int, replicates: int) -> float:
    """Return the slope of the worst mean regret over opponents, on logarithmic scales."""
    opponents = np.concatenate([OPPONENTS, OPPONENTS[:, ::-1]])
    marks = np.geomspace(horizon / 30, horizon, 8).astype(int)
    result = pm.simulate(
        game,
        {"own": policy},
        np.repeat(opponents, replicates, axis=0),
        horizon=horizon,
        seeds=len(opponents) * replicates,
        checkpoints=marks,
    )
    means = result.regret["own"].reshape(len(opponents), replicates, -1).mean(axis=1).max(axis=0)
    return float(np.polyfit(np.log(result.checkpoints), np.log(means), 1)[0])


def test_regret_grows_like_two_thirds_in_small() -> None:
    for name in ("pege", "etc"):
        assert 0.5 < worst_slope(GAMES["hard"], POLICIES[name], 6000, 10) < 0.8


@pytest.mark.nightly
@pytest.mark.parametrize("kind", GAMES)
@pytest.mark.parametrize("name", POLICIES)
def test_regret_grows_like_two_thirds(kind: str, name: str) -> None:
    """GCB with its own alpha still sweeps all the time at the beginning: slope 1 until then."""
    horizon = 1_000_000 if name == "gcb" else 100_000
    assert worst_slope(GAMES[kind], POLICIES[name], horizon, 40) < 0.8


@pytest.mark.nightly
def test_a_clear_gap_costs_a_logarithm() -> None:
    """GCB and PEGE in mode gap: ten times the rounds add less than half of the regret."""
    policies = {"gcb": pm.GCB(), "pege": pm.PEGE("gap")}
    result = pm.simulate(
        GAMES["hard"], policies, [0.9, 0.1], horizon=1_000_000, seeds=100, checkpoints=[100_000]
    )
    for name in policies:
        before, end = result.mean(name)
        assert end < 1.5 * before


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["pege", "etc"])
def test_regret_with_an_oracle_grows_like_two_thirds(name: str) -> None:
    game = pm.games.shortest_path(noise_std=0.3)
    marks = np.geomspace(1000, 30_000, 6).astype(int)
    result = pm.simulate(game, name, "random", horizon=30_000, seeds=40, checkpoints=marks)
    assert result.exponent(name, start=0.03).value < 0.75

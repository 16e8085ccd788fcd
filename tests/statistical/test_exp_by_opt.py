"""How fast the regret of ExpByOpt grows: n^(1/2) on easy games, n^(2/3) on hard ones."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm

SIZES = np.array([0.02, 0.05, 0.1, 0.2, 0.4])
GAPS = np.concatenate([SIZES, -SIZES]) / 2
THETA = np.column_stack([0.5 + GAPS, 0.5 - GAPS])

GAMES: dict[str, tuple[pm.FiniteGame, float]] = {
    "easy": (pm.games.apple_tasting(), 0.62),
    "easy, with help": (
        pm.games.finite(losses=[[0, 1], [1, 0], [0.5, 0.5]], signals=["aa", "aa", "ab"]),
        0.62,
    ),
    "hard": (pm.games.label_efficient(), 0.78),
}


def slope(game: pm.FiniteGame, policy: pm.ExpByOpt, horizon: int, replicates: int) -> float:
    """The exponent of the largest mean regret over the parameters."""
    marks = np.unique(np.geomspace(horizon / 16, horizon, 6).astype(int))
    result = pm.simulate(
        game,
        {"own": policy},
        np.repeat(THETA, replicates, axis=0),
        horizon=horizon,
        seeds=len(THETA) * replicates,
        checkpoints=marks,
    )
    worst = result.regret["own"].reshape(len(THETA), replicates, -1).mean(axis=1).max(axis=0)
    return float(np.polyfit(np.log(marks), np.log(worst), 1)[0])


@pytest.mark.parametrize("name", GAMES)
def test_growth(name: str) -> None:
    game, most = GAMES[name]
    assert slope(game, pm.ExpByOpt(), 4000, 10) < most


@pytest.mark.nightly
@pytest.mark.parametrize("estimates", ["bounded", "free"])
@pytest.mark.parametrize("name", GAMES)
def test_growth_of_long_runs(name: str, estimates: str) -> None:
    game, most = GAMES[name]
    assert slope(game, pm.ExpByOpt(estimates), 30_000, 40) < most - 0.02

"""Duels over a box: what the default loses against random pairs, when a panel tunes a machine.

The utility is a sum of two bumps at random places, between 0 and 0.9. Random pairs of settings are
what a panel would be shown without a policy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm

DUELS, LAST = 60, 20
LOW, HIGH = np.array([80.0, 5.0, 20.0]), np.array([100.0, 12.0, 40.0])
NAMES, UNITS = ("temperature", "pressure", "time"), ("°C", "bar", "s")
SHOWN = {"who won": ("sign", 1.0), "by how much": ("gaussian", 0.1)}
POLICIES = {
    "default": pm.Calibrated(),
    "dueling_ids, two deviations": pm.DuelingIDS(
        confidence=pm.confidence.deviations(2), regularization=0.1
    ),
    "random": pm.Random(),
}

Array = np.ndarray


def machine(p: int, noise: str, size: float) -> pm.KernelBoxDuelingGame:
    """Return the duels of settings of a machine with p dials."""
    return pm.KernelBoxDuelingGame(
        pm.kernels.SquaredExponential(0.3 * (HIGH - LOW)[:p], variance=0.1),
        LOW[:p],
        HIGH[:p],
        noise=noise,
        noise_std=size,
        norm_bound=3.0,
        names=NAMES[:p],
        units=UNITS[:p],
    )


def taste(p: int, seed: int) -> Any:
    """Return a utility between 0 and 0.9 over the first p dials."""
    rng = np.random.default_rng(seed)
    centers, heights = rng.random((2, p)), np.array([0.9, 0.5])

    def utility(x: Array) -> Array:
        share = (x - LOW[:p]) / (HIGH - LOW)[:p]
        away = ((share[:, None] - centers) ** 2).sum(axis=2)
        return np.asarray((heights * np.exp(-0.5 * away / 0.25**2)).max(axis=1))

    return utility


def lost(p: int, shown: str, seeds: int, duels: int = DUELS, last: int = LAST) -> dict[str, Array]:
    """Return what a duel loses on average, and one of the last, (seeds, 2), by policy."""
    game, found = machine(p, *SHOWN[shown]), {name: np.zeros((seeds, 2)) for name in POLICIES}
    for seed in range(seeds):
        result = pm.simulate(
            game,
            POLICIES,
            taste(p, seed),
            horizon=duels,
            seeds=[seed],
            checkpoints=[duels - last, duels],
        )
        for name, rows in found.items():
            before, after = result.regret[name][0]
            rows[seed] = after / duels, (after - before) / last
    return found


def run(seeds: int = 20) -> Table:
    """Return what duels over one, two and three dials lose."""
    columns = ("dials", "shown", "policy", "a duel loses", f"one of the last {LAST}")
    table = Table(*columns, title=f"{DUELS} duels over a box, {seeds} utilities")
    for p in (1, 2, 3):
        for shown in SHOWN:
            for name, rows in lost(p, shown, seeds).items():
                error = rows.std(axis=0, ddof=1) / np.sqrt(seeds)
                cells = [
                    f"{m:.2f} ± {e:.2f}" for m, e in zip(rows.mean(axis=0), error, strict=True)
                ]
                table.add_row(str(p), shown, name, *cells)
    return table

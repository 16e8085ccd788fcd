"""The regret of certified confidence sets: those of the paper, and those of likelihood ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm

HORIZON = 10_000

WIDTHS = {
    "paper": pm.confidence.paper(),
    "fixed(.05)": pm.confidence.fixed(0.05),
    "likelihood_ratio(.05)": pm.confidence.likelihood_ratio(0.05),
}


def apples() -> pm.FiniteGame:
    return pm.FiniteGame([[-1, 0], [0, -1]], ["aa", "ab"])


def labels() -> pm.FiniteGame:
    return pm.FiniteGame([[-1, -1], [-1, 0], [0, -1]], ["ab", "cc", "cc"])


def bandit() -> pm.Game:
    points = np.random.default_rng(0).normal(size=(10, 3))
    return pm.games.linear_bandit(points / np.linalg.norm(points, axis=1, keepdims=True))


COLUMNS: dict[str, tuple[Any, Any, int]] = {
    "AT .9": (apples, [0.9, 0.1], 100),
    "AT .45": (apples, [0.45, 0.55], 100),
    "AT .3": (apples, [0.3, 0.7], 100),
    "AT .55": (apples, [0.55, 0.45], 100),
    "LE .9": (labels, [0.9, 0.1], 100),
    "LE .45": (labels, [0.45, 0.55], 100),
    "LE .3": (labels, [0.3, 0.7], 100),
    "DP3": (lambda: pm.games.dynamic_pricing(range(1, 4)), [0.2, 0.5, 0.3], 40),
    "DP5": (lambda: pm.games.dynamic_pricing(range(1, 6)), [0.1, 0.2, 0.3, 0.3, 0.1], 16),
    "linear, d = 3, k = 10": (bandit, "random", 16),
}
"""Games with their truth and the number of seeds."""


def column(name: str) -> dict[str, np.ndarray]:
    """Return the regrets (seeds,) of IDS with each width."""
    game, theta, seeds = COLUMNS[name]
    policies = {width: pm.IDS(confidence=schedule) for width, schedule in WIDTHS.items()}
    result = pm.simulate(game(), policies, theta, horizon=HORIZON, seeds=seeds)
    return {width: regret[:, -1] for width, regret in result.regret.items()}


def run() -> Table:
    """Regret of IDS with certified confidence sets, mean and standard error."""
    table = Table(title=f"Regret of IDS with certified confidence sets, {HORIZON} rounds")
    for title in ("game", "seeds", *WIDTHS):
        table.add_column(title)
    for name, (_, _, seeds) in COLUMNS.items():
        found = column(name).values()
        cells = [f"{own.mean():.1f} ± {own.std(ddof=1) / len(own) ** 0.5:.1f}" for own in found]
        table.add_row(name, str(seeds), *cells)
    return table

"""The regret of IDS with certified and with calibrated confidence sets."""

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


def unit(k: int, d: int) -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(k, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def bandit(k: int = 10, d: int = 3) -> pm.Game:
    return pm.games.linear_bandit(unit(k, d))


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


OTHERS: dict[str, tuple[Any, int, int, dict[str, Any]]] = {
    "linear bandit, d = 3, k = 10": (bandit, 2000, 20, {"LinTS": pm.LinTS()}),
    "linear bandit, d = 5, k = 30": (lambda: bandit(30, 5), 2000, 20, {"LinTS": pm.LinTS()}),
    "duels of 5 items, d = 3": (lambda: pm.games.dueling(unit(5, 3)), 500, 20, {}),
    "survey, with contexts": (pm.games.survey, 1000, 20, {}),
    "kernelized bandit": (pm.games.kernelized_bandit, 100, 20, {"GP-TS": pm.GPTS()}),
    "a finite game": (
        lambda: pm.FiniteGame(
            [[0, -0.25, -1], [-0.75, 0, -0.5], [-0.5, -0.5, -0.25]], ["aab", "abb", "ccc"]
        ),
        3000,
        20,
        {"RandCBP": pm.RandCBP(levels=5)},
    ),
}
"""Games that the constants of calibrated widths were not chosen on: rounds, seeds and a peer."""


def shown(regret: np.ndarray) -> str:
    """Show a mean with its standard error."""
    return f"{regret.mean():.1f} ± {regret.std(ddof=1) / len(regret) ** 0.5:.1f}"


def certified() -> Table:
    """Regret of IDS with certified confidence sets, mean and standard error."""
    table = Table(title=f"Regret of IDS with certified confidence sets, {HORIZON} rounds")
    for title in ("game", "seeds", *WIDTHS):
        table.add_column(title)
    for name, (_, _, seeds) in COLUMNS.items():
        table.add_row(name, str(seeds), *map(shown, column(name).values()))
    return table


def calibrated() -> Table:
    """Regret of IDS with calibrated widths beside those of the paper, true parameters drawn."""
    table = Table(title="Regret of IDS with calibrated widths")
    for title in ("game", "rounds", "calibrated", "paper", "peer"):
        table.add_column(title)
    for name, (build, horizon, seeds, peers) in OTHERS.items():
        game = build()
        prior = float(game.noise_std) ** 2 if game.traits.function else 1.0
        policies = {
            "calibrated": pm.IDS(confidence=pm.confidence.calibrated(), regularization=prior),
            "paper": pm.IDS(regularization=prior),
            **peers,
        }
        regret = pm.simulate(game, policies, "random", horizon=horizon, seeds=seeds).regret
        cells = [shown(regret[own][:, -1]) for own in policies]
        peer = f"{cells[2]} ({next(iter(peers))})" if peers else "-"
        table.add_row(name, str(horizon), cells[0], cells[1], peer)
    return table


def run() -> list[Table]:
    return [certified(), calibrated()]

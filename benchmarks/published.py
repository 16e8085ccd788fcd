"""Regret against published runs: 20,000 rounds, 96 opponents (Heuillet, Ahmad and Durand 2024)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.standard_games import NAMED

ROUNDS, OPPONENTS = 20_000, 96

GAMES = {"apple tasting": NAMED["AT"], "label-efficient": NAMED["LE"]}

POLICIES: dict[str, Any] = {
    "CBP": pm.CBP(),
    "RandCBP": pm.RandCBP(),
    "TSPM": pm.TSPM(initial=0),
    "BPM-TS": pm.TSPMGaussian(initial=0),
    "BPM-TS, normal posterior": pm.BPMTS(),
    "BPM-Least": pm.BPMLeast(),
}
"""With the options of the published runs; what these call BPM-TS draws from the normal posterior
restricted to the simplex, which is TSPM-Gaussian."""


class Figure(NamedTuple):
    """A published mean over the opponents, and the standard deviation."""

    mean: float
    deviation: float


PUBLISHED = {
    ("CBP", "apple tasting", "imbalanced"): Figure(8.7, 8.5),
    ("CBP", "apple tasting", "balanced"): Figure(72.7, 138.0),
    ("CBP", "label-efficient", "imbalanced"): Figure(16.5, 8.2),
    ("CBP", "label-efficient", "balanced"): Figure(727.0, 643.0),
    ("RandCBP", "apple tasting", "imbalanced"): Figure(5.4, 7.2),
    ("RandCBP", "apple tasting", "balanced"): Figure(35.7, 53.0),
    ("RandCBP", "label-efficient", "imbalanced"): Figure(10.8, 7.8),
    ("RandCBP", "label-efficient", "balanced"): Figure(338.0, 372.0),
    ("TSPM", "apple tasting", "imbalanced"): Figure(9.4, 9.0),
    ("TSPM", "apple tasting", "balanced"): Figure(43.1, 45.5),
    ("BPM-TS", "apple tasting", "imbalanced"): Figure(19.4, 15.9),
    ("BPM-TS", "apple tasting", "balanced"): Figure(67.7, 56.0),
    ("BPM-TS, normal posterior", "apple tasting", "imbalanced"): Figure(19.4, 15.9),
    ("BPM-TS, normal posterior", "apple tasting", "balanced"): Figure(67.7, 56.0),
    ("BPM-Least", "apple tasting", "imbalanced"): Figure(15.1, 8.1),
    ("BPM-Least", "apple tasting", "balanced"): Figure(165.0, 112.0),
}
"""By policy, game and kind of opponents."""


def opponents(kind: str, count: int = OPPONENTS) -> Any:
    """Return outcome distributions (count, 2).

    "imbalanced": the first outcome has a probability uniform in [0, 0.2] or [0.8, 1]; "balanced":
    in [0.4, 0.6].
    """
    rng = np.random.default_rng(16)
    p = rng.random(count) * 0.2
    p = p + 0.8 * (rng.random(count) < 0.5) if kind == "imbalanced" else p + 0.4
    return np.stack([p, 1 - p], axis=1)


def regret(policy: str, game: str, kind: str) -> Any:
    """Return our regrets against the opponents, shape (count,)."""
    played = pm.simulate(
        GAMES[game], {policy: POLICIES[policy]}, opponents(kind), horizon=ROUNDS, seeds=OPPONENTS
    )
    return played.regret[policy][:, -1]


def apart(figure: Figure, own: Any) -> float:
    """Return how many standard errors of their difference two means lie apart."""
    error = np.hypot(figure.deviation, own.std(ddof=1)) / np.sqrt(len(own))
    return float((own.mean() - figure.mean) / error)


def run() -> Table:
    """Return published and own means, each with its standard deviation over the opponents."""
    table = Table(title=f"Regret after {ROUNDS:,} rounds, {OPPONENTS} opponents")
    for column in ("policy", "game", "opponents", "published", "here", "standard errors apart"):
        table.add_column(column)
    for key, figure in PUBLISHED.items():
        own = regret(*key)
        shown = f"{figure.mean:g} (sd {figure.deviation:g})"
        here = f"{own.mean():.3g} (sd {own.std(ddof=1):.3g})"
        table.add_row(*key, shown, here, f"{apart(figure, own):+.1f}")
    return table

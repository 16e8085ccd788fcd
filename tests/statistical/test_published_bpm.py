"""BPM-TS and BPM-Least lose what published runs of them lose, on apple tasting."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm

OPPONENTS = 96

PUBLISHED = {
    ("bpm_ts", "imbalanced"): (19.4, 15.9),
    ("bpm_ts", "balanced"): (67.7, 56.0),
    ("bpm_least", "imbalanced"): (15.1, 8.1),
    ("bpm_least", "balanced"): (165.0, 112.0),
}
"""Mean and standard deviation of the regret after 20,000 rounds over 96 opponents: Heuillet, Ahmad
and Durand (2024)."""


def opponents(kind: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    if kind == "balanced":
        p = rng.uniform(0.4, 0.6, OPPONENTS)
    else:
        p = rng.uniform(0.0, 0.2, OPPONENTS)
        p = np.where(rng.random(OPPONENTS) < 0.5, p, 1 - p)
    return np.column_stack([p, 1 - p])


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "kind"), PUBLISHED)
def test_published_figures(name: str, kind: str) -> None:
    mean, std = PUBLISHED[name, kind]
    game = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"])
    regret = pm.simulate(game, name, opponents(kind), horizon=20_000, seeds=OPPONENTS).regret
    own = regret[name][:, -1]
    assert abs(own.mean() - mean) < 3 * np.sqrt((std**2 + own.var()) / OPPONENTS)

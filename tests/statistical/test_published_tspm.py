"""TSPM against published figures: 20,000 rounds of apple tasting, 96 opponents.

The published runs (Heuillet, Ahmad and Durand, ICML 2024) have lam = 0.001, R = 1 and no initial
rounds. What they call BPM-TS is the same program with R = 0, that is TSPM-Gaussian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm

GAME = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"])
POLICIES = {"tspm": pm.TSPM(initial=0), "gaussian": pm.TSPMGaussian(initial=0)}
PUBLISHED = {
    ("tspm", "imbalanced"): (9.4, 9.0),
    ("tspm", "balanced"): (43.1, 45.5),
    ("gaussian", "imbalanced"): (19.4, 15.9),
    ("gaussian", "balanced"): (67.7, 56.0),
}
"""Mean and standard deviation of the regret over 96 opponents."""


def opponents(kind: str, count: int) -> Any:
    """Imbalanced: p uniform in [0, 0.2] or [0.8, 1]; balanced: in [0.4, 0.6]."""
    rng = np.random.default_rng(16)
    p = rng.random(count) * 0.2
    p = p + 0.8 * (rng.random(count) < 0.5) if kind == "imbalanced" else p + 0.4
    return np.stack([p, 1 - p], axis=1)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "kind"), PUBLISHED)
def test_the_published_regret(name: str, kind: str) -> None:
    """Within three standard errors of the difference of two means over 96 opponents."""
    mean, deviation = PUBLISHED[name, kind]
    result = pm.simulate(
        GAME, {name: POLICIES[name]}, opponents(kind, 96), horizon=20_000, seeds=96
    )
    regret = result.regret[name][:, -1]
    assert abs(regret.mean() - mean) < 3 * np.hypot(deviation, regret.std()) / np.sqrt(96)

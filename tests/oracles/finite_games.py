"""Finite games that make trouble: drawn at random, and by name."""

from __future__ import annotations

import numpy as np

import partial_monitoring as pm


def random_game(seed: int) -> pm.FiniteGame:
    """A game of few small numbers with copies, mixtures and silent actions; never hopeless."""
    rng = np.random.default_rng(seed)
    while True:
        k, d = rng.integers(1, 6), rng.integers(1, 5)
        losses = rng.integers(0, 4, size=(k, d)).astype(float)
        if k >= 3 and rng.random() < 0.5:
            losses[-1] = losses[0] if rng.random() < 0.5 else (losses[0] + losses[1]) / 2
        signals = rng.integers(0, rng.integers(1, 4), size=(k, d)).tolist()
        game = pm.games.finite(losses=losses, signals=signals)
        if pm.analyze(game).category != "hopeless":
            return game


NAMED: dict[str, pm.FiniteGame] = {
    "apples": pm.games.apple_tasting(),
    "labels": pm.games.label_efficient(),
    "pricing": pm.games.dynamic_pricing([1, 2, 3, 4]),
    "path": pm.games.finite(losses=[[0, 1], [1 / 3, 1 / 3], [1, 0]], signals=["aa", "ab", "aa"]),
    "midpoint tells": pm.games.finite(
        losses=[[0, 1], [1, 0], [0.5, 0.5]], signals=["aa", "aa", "ab"]
    ),
    "copies": pm.games.finite(losses=[[0, 1], [0, 1], [1, 0]], signals=["aa", "ab", "aa"]),
    "dominated tells": pm.games.finite(losses=[[0, 1], [1, 0], [2, 2]], signals=["aa", "aa", "ab"]),
    "one action": pm.games.finite(losses=[[1, 0]], signals=["ab"]),
    "one outcome": pm.games.finite(losses=[[1], [0]], signals=["a", "a"]),
    "bandit": pm.games.bernoulli_bandit(2),
}

"""PM-DMED for one run, as one would write it down: sets, loops and a conic solver."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

import partial_monitoring as pm
from tests.oracles import semi_infinite

Array = NDArray[np.float64]

BORDER = 1e-3
"""Actions whose plays are that near to their rate (relative) may be in a list or not."""


def divergence(p: Array, q: Array) -> float:
    return float(sum(a * log(a / b) for a, b in zip(p, q, strict=True) if a > 0))


class Lists:
    """The lists Z_C (here with what is left of it, Z_R) and Z_N; estimates are given."""

    def __init__(
        self, game: pm.FiniteGame, c: float = 1.0, hinge: tuple[float, float] | None = None
    ) -> None:
        self.game, self.c, self.hinge = game, c, hinge
        losses = -game.rewards
        self.losses = losses / np.ptp(losses, axis=0).max()
        self.left = set(range(game.k))
        self.later: set[int] = set()
        self.border: set[int] = set()
        """Actions that rounding may put into Z_N or not."""

    def halves(self, leader: int) -> list[Array]:
        analysis = pm.analyze(self.game)
        rivals = [
            c for c in analysis.representatives if tuple(sorted((leader, c))) in analysis.neighbors
        ]
        rows = [self.losses[c] - self.losses[leader] for c in rivals]
        return [row / np.abs(row).max() for row in rows]

    def after(self, action: int, plays: Array, sums: Array, theta: Array, t: int) -> None:
        """Move on after the action of round t was played; plays and sums include it."""
        self.left.discard(action)
        game, outside = self.game, set(range(self.game.k)) - self.left
        expected = self.losses @ theta
        held = np.array(
            [np.array_equal(row, self.losses[expected.argmin()]) for row in self.losses]
        )
        gaps = expected - expected.min()
        self.later |= outside & set(np.flatnonzero(held))
        self.later |= {a for a in outside if plays[a] < self.c * sqrt(log(t))}
        clear = np.where(theta > 1e-7, theta, 0.0)
        targets, slacks = game.observation_maps @ (clear / clear.sum()), np.zeros(game.k)
        unsure = gaps[~held].min() <= 1e-9
        if self.hinge is not None:
            a, b = self.hinge
            known = np.maximum(plays, 1)
            targets, slacks = sums / known[:, None], np.where(plays > 0, b / np.sqrt(known), 1.0)
            chances = game.observation_maps @ theta
            away = np.array(list(map(divergence, targets, chances)))
            margin = a / max(log(max(log(t), 1.0)), 1.0)
            unsure = unsure or gaps[~held].min() < margin or bool((away > slacks * 1.0001).any())
        if t > 1 and not unsure:
            halves = self.halves(int(np.flatnonzero(held)[0]))
            weights = np.where(held, 0.0, plays / log(t))
            hinged = self.hinge is not None
            short = any(
                semi_infinite.nearest(game, targets, slacks, weights, held, half, hinged=hinged)[0]
                < 1
                for half in halves
            )
            if short:
                value, rates = semi_infinite.constant(
                    game, targets, slacks, gaps, held, halves, hinged=hinged
                )
                unsure = value == np.inf
                wanted = rates * log(t)
                self.later |= {a for a in outside if not held[a] and plays[a] < wanted[a]}
                near = np.abs(plays - wanted) <= BORDER * (1 + wanted)
                self.border |= outside & set(np.flatnonzero(near & ~held))
        if unsure:
            self.later |= outside
        if not self.left:
            self.left = self.later or {int(np.flatnonzero(held)[0])}
            self.later = set()

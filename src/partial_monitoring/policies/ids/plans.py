"""Gap estimates over whole plans: one action for every context at the same time (section 6).

The gap of a plan a, which plays a(z) in context z, is the largest <phi_b - phi_a, theta> over plans
b and theta in E_t, with the features averaged over contexts. One theta has to serve all contexts,
so this is at most the average of the gaps of the contexts, and smaller where they pull in different
directions. The number of plans is the product of the numbers of actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import Estimate
from partial_monitoring.estimation.linear.through import through
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.policies.ids.gaps import GapEstimate
from partial_monitoring.policies.ids.ids import asked
from partial_monitoring.validation import Array, Indices

MOST = 4096
"""Largest number of plans."""


@dataclass(frozen=True, eq=False)
class Plans:
    """Every way to choose one action in each context that may come."""

    contexts: Indices
    """The contexts that may come, shape (Z,)."""
    actions: Indices
    """What each plan plays there, numbered over all actions, shape (plans, Z)."""
    chances: Array
    """chi of these contexts, shape (Z,)."""
    design: Design
    """The plans as actions of a game that shows nothing."""

    def gaps(self, estimate: Estimate, gap: GapEstimate, schedule: Schedule) -> Array:
        """Return the gap estimates of the plans, shape (n, plans); the always best have none."""
        confidence = Ellipsoid.around(estimate.through(self.design), schedule)
        own = np.maximum(asked("gap", gap, confidence), 0.0)
        best = confidence.always_best
        return np.where(best, 0.0, own) if best.any() else own

    def averaged(self, table: Array) -> Array:
        """Return the average over contexts of a table (n, contexts, k) for each plan."""
        chosen = table[:, self.contexts[None, :], self.actions]  # (n, plans, Z)
        return np.asarray((chosen * self.chances).sum(axis=2))


def plans_of(game: ContextualGame, whole: Design) -> Plans:
    """Return the plans of a game, or say that there are too many."""
    possible = np.flatnonzero(game.context_distribution > 0)
    count = prod(game.at(int(z)).k for z in possible)
    if count > MOST:
        raise InvalidInput(
            f"integrated gaps need at most {MOST} plans, one action for each context; the game has "
            f"{count}."
        )
    actions = np.array(list(product(*(game.positions(int(z)) for z in possible))), dtype=np.int64)
    chances = game.context_distribution[possible]
    features = (chances[:, None] * game.features[possible[None, :], actions]).sum(axis=1)
    silent = np.zeros((count, 0, game.d))
    design = through(whole, Game(features, silent, game.parameters, whole.noise_std))
    return Plans(possible, actions, chances, design)

"""The alignment constants of a game with contexts (equations 33 to 35).

With a direction omega^z for every context and one pair of Pareto actions in each,

    alpha(chi) = max (sum_z chi(z) <phi_a^z - phi_b^z, omega^z>)^2
                     / sum_z' chi(z') max_c sum_z chi(z) |M_c^z' omega^z|^2.

The observing action c of a context serves the directions of all contexts (E20). Of the signs of
the differences nothing depends, because every omega^z may be turned. The integrated constant has
one omega for all contexts (E21), so that signs count:

    alpha-bar(chi) = max (<sum_z chi(z) (phi_a^z - phi_b^z), omega>)^2
                         / sum_z' chi(z') max_c |M_c^z' omega|^2.

alpha-bar(chi) <= alpha(chi) <= sum_z alpha(z), and alpha-bar(chi) <= sum_z chi(z) alpha(z), by
estimating every difference in its own context. alpha(chi) can exceed the average of alpha(z): in
two contexts that have nothing to do with each other it is alpha(1) + alpha(2), however likely they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from partial_monitoring.analysis.contextual.choices import (
    MOST_CHOICES,
    NOTHING,
    UNSEEN,
    ContextualAlignment,
    best_first,
    largest_value,
)
from partial_monitoring.analysis.contextual.programs import Mask, Need, Observers, value_of
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.validation import Array

Actions = Sequence[Sequence[int]]
"""For every context, some of its actions."""


def contextual_alignment(
    game: ContextualGame, plausible: Actions, observers: Actions | None = None
) -> ContextualAlignment:
    """Return alpha(chi), from the Pareto actions of every context (one of each duplicates).

    Parameters
    ----------
    game
        The game.
    plausible
        The actions that have to be told apart in each context.
    observers
        The actions that may observe in each context; all of them unless given.
    """
    shown = observers_of(game, observers)
    everyone = np.ones(len(shown), dtype=bool)
    possible = possible_contexts(game)
    options = [[Need(d, everyone) for d in differences(game, z, plausible[z])] for z in possible]
    return largest_value(options, [float(game.context_distribution[z]) for z in possible], shown)


def integrated_alignment(
    game: ContextualGame, plausible: Actions, observers: Actions | None = None
) -> ContextualAlignment:
    """Return alpha-bar(chi), the constant of gaps that are estimated over whole plans (E21).

    Arguments are those of :func:`contextual_alignment`.
    """
    shown = observers_of(game, observers)
    everyone = np.ones(len(shown), dtype=bool)
    chi = game.context_distribution
    options = [chi[z] * differences(game, z, plausible[z]) for z in possible_contexts(game)]
    options = [own for own in options if len(own)]
    if not options:
        return NOTHING
    if not all(shown.sees(Need(d, everyone)) for own in options for d in own):
        return UNSEEN
    # The sign of one context is free, those of the others count.
    signed = [options[0], *(np.concatenate([own, -own]) for own in options[1:])]
    if prod(map(len, signed)) * signed[0].shape[1] > 10 * MOST_CHOICES:
        return _triangle(options, everyone, shown)
    total = np.zeros((1, signed[0].shape[1]))
    for own in signed:
        total = (total[:, None] + own[None]).reshape(-1, own.shape[1])

    def solve(choice: int) -> tuple[float, Array]:
        return value_of([Need(total[choice], everyone)], [1.0], shown)

    def bounds(kernel: Array) -> Array:
        return shown.lengths(everyone, total, kernel)

    return best_first(bounds(shown.spread(np.zeros(len(shown)))), solve, bounds)


def _triangle(options: Sequence[Array], everyone: Mask, shown: Observers) -> ContextualAlignment:
    """Bound alpha-bar: its square root is a norm of the integrated difference."""
    roots = 0.0
    lower = 0.0
    for own in options:
        found = largest_value([[Need(d, everyone) for d in own]], [1.0], shown)
        roots += float(np.sqrt(found))
        lower = max(lower, found.lower)
    return ContextualAlignment(roots**2, False, lower)


def possible_contexts(game: ContextualGame) -> list[int]:
    """Return the contexts that may come."""
    return [int(z) for z in np.flatnonzero(game.context_distribution > 0)]


def observers_of(game: ContextualGame, actions: Actions | None = None) -> Observers:
    """Return the actions that show something of Theta, in the contexts that may come."""
    places = observing_places(game, actions)
    q = game.parameters.difference_basis()
    rows = [game.at(z).rows(c) @ q for z, c in places]
    chances = {z: float(game.context_distribution[z]) for z, _ in places}
    return Observers(rows, [z for z, _ in places], chances)


def observing_places(game: ContextualGame, actions: Actions | None = None) -> list[tuple[int, int]]:
    """Return (context, action) of the observers, in their order."""
    q = game.parameters.difference_basis()
    return [
        (z, int(c))
        for z in possible_contexts(game)
        for c in (range(game.at(z).k) if actions is None else actions[z])
        if _shows(game.at(z).rows(int(c)), q)
    ]


def _shows(rows: Array, q: Array) -> bool:
    """Whether a map shows something of Theta; what is left of rows across it is rounding noise."""
    raw = np.linalg.norm(rows, axis=1)
    return bool((np.linalg.norm(rows @ q, axis=1) > 1e-9 * raw).any())


def differences(game: ContextualGame, context: int, actions: Sequence[int]) -> Array:
    """Return the reward differences of all pairs of actions of a context, shape (pairs, D)."""
    q = game.parameters.difference_basis()
    own = game.at(context).features @ q
    pairs = [own[b] - own[a] for a, b in combinations(actions, 2)]
    return np.array(pairs).reshape(len(pairs), q.shape[1])

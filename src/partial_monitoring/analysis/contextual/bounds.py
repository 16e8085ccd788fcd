"""Regret bounds for games with contexts (section 6, with E16, E22 and E23).

Conditional IDS pays, in every context, what IDS pays in the game of that context: the alignment
constants of the contexts are averaged. Contextual IDS has one constant for all of them, alpha(chi)
or, near the plausible parameters, alpha(E, chi). Its information ratio is at most the average of
the contexts' own ones by Jensen's inequality, so that the bounds of conditional IDS also hold
for it. (alpha(chi) itself may exceed the average of alpha(z).)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.analysis.bounds import (
    Learning,
    horizons,
    learning,
    uniform_local_alignment,
    whitened,
)
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis, analyze_contexts
from partial_monitoring.analysis.contextual.local import uniform_contextual_alignment
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.validation import Array, positive_number


@dataclass(frozen=True, eq=False)
class ContextualBounds(Learning):
    """Regret bounds with their constants; arrays are over the horizons."""

    alignment: float
    """alpha(chi), or an upper bound of it."""
    conditional_alignment: float
    """The average of alpha(z) over chi."""
    local_alignment: float
    """The average over chi of a bound of alpha(E, z) that holds for every E."""
    contextual_local_alignment: float
    """A bound of alpha(E, chi) that holds for every convex E."""
    conditional_global: Array
    """The bound with the average of alpha(z)."""
    conditional_local: Array
    """The bound with the average of alpha(E, z)."""
    contextual_global: Array
    """The bound with alpha(chi) (E22)."""
    contextual_local: Array
    """The bound with alpha(E, chi)."""

    @property
    def conditional_regret(self) -> Array:
        """The regret bound of conditional IDS."""
        return np.minimum(self.conditional_global, self.conditional_local)

    @property
    def regret(self) -> Array:
        """The regret bound of contextual IDS."""
        own = np.minimum(self.contextual_global, self.contextual_local)
        return np.minimum(self.conditional_regret, own)


def contextual_bounds(
    game: ContextualGame,
    horizon: ArrayLike,
    *,
    analysis: ContextualAnalysis | None = None,
    regularization: float = 1.0,
    norm_bound: float | None = None,
) -> ContextualBounds:
    """Return the regret bounds of conditional and of contextual IDS.

    Parameters
    ----------
    game, horizon
        The game, and n or several of them.
    analysis
        The analysis of the game, if it was computed before.
    regularization, norm_bound
        As for :func:`partial_monitoring.bounds`.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> found = pm.contextual_bounds(pm.games.survey(), [10**4])
    >>> bool(np.isinf(found.conditional_regret[0])), bool(np.isfinite(found.regret[0]))
    (True, True)
    """
    n, lam = horizons(horizon), positive_number("regularization", regularization)
    if analysis is not None and analysis.game is not game:
        raise InvalidInput("analysis must be one of the same game; got one of another game.")
    found = analyze_contexts(game) if analysis is None else analysis
    even = evenly_noisy(game)
    learned = learning(even.games, n, lam, norm_bound)
    if found.category == "trivial":
        return ContextualBounds(*vars(learned).values(), *[0.0] * 4, *[np.zeros_like(n)] * 4)
    whole = found if even is game else analyze_contexts(even)
    chi = game.context_distribution
    near = sum(chi[z] * uniform_local_alignment(whole.contexts[z]) for z in whole.possible)
    together = uniform_contextual_alignment(whole)
    return ContextualBounds(
        **vars(learned),
        alignment=whole.alignment,
        conditional_alignment=whole.conditional_alignment,
        local_alignment=float(near),
        contextual_local_alignment=together,
        conditional_global=learned.bound_far(whole.conditional_alignment),
        conditional_local=learned.bound_near(float(near)),
        contextual_global=learned.bound_far(whole.alignment),
        contextual_local=learned.bound_near(together),
    )


def evenly_noisy(game: ContextualGame) -> ContextualGame:
    """Return the game with the same noise everywhere: itself, or with noise divided out."""
    noises = {float(x) for own in game.games for x in np.atleast_1d(own.noise_std)}
    if len(noises) == 1:
        return game
    games = [whitened(own) for own in game.games]
    return ContextualGame(games, game.context_distribution, game.contexts)

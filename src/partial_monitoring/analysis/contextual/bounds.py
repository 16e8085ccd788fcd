"""Regret bounds for games with contexts (section 6, with E16, E22 and E23).

Conditional IDS pays, in every context, what IDS pays in the game of that context: the alignment
constants of the contexts are averaged. Contextual IDS has one constant for all of them, alpha(chi)
or, near the plausible parameters, alpha(E, chi). Its information ratio is at most the average of
the contexts' own ones by Jensen's inequality, so that the bounds of conditional IDS hold for it,
too. (alpha(chi) itself may exceed the average of alpha(z).)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.analysis.bounds import (
    FAILED_ROUNDS,
    bound_or_inf,
    delta_max,
    horizons,
    learning,
    uniform_local_alignment,
    whitened,
)
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis, analyze_contexts
from partial_monitoring.analysis.contextual.local import uniform_contextual_alignment
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, positive_number


@dataclass(frozen=True, eq=False)
class ContextualBounds:
    """Regret bounds with their constants; arrays are over the horizons."""

    horizon: Array
    alignment: float
    """alpha(chi), or an upper bound of it."""
    conditional_alignment: float
    """The average of alpha(z) over chi."""
    local_alignment: float
    """The average over chi of a bound of alpha(E, z) that holds for every E."""
    contextual_local_alignment: float
    """A bound of alpha(E, chi) that holds for every convex E."""
    total_information: Array
    beta: Array
    conditional_global: Array
    """n^(2/3) (54 mean alpha(z) beta gamma (Delta_max + 4B))^(1/3) + ..."""
    conditional_local: Array
    """(16 mean alpha(E, z) beta gamma n)^(1/2) + ... (E16)."""
    contextual_global: Array
    """n^(2/3) (54 alpha(chi) beta gamma (Delta_max + 4B))^(1/3) + ... (E22)."""
    contextual_local: Array
    """(16 alpha(E, chi) beta gamma n)^(1/2) + ... (E16)."""

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
        The analysis of the game, if it is at hand.
    regularization, norm_bound
        As for :func:`partial_monitoring.bounds`.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> found = pm.contextual_bounds(pm.games.survey(), [10**4])
    >>> bool(np.isinf(found.conditional_regret[0])), bool(np.isfinite(found.regret[0]))
    (True, True)
    """
    n = horizons(horizon)
    lam = positive_number("regularization", regularization)
    if analysis is not None and analysis.game is not game:
        raise InvalidInput("analysis must be one of the same game; got one of another game.")
    found = analyze_contexts(game) if analysis is None else analysis
    even = evenly_noisy(game)
    learned = learning(everything(even), n, lam, norm_bound)
    gap = max(delta_max(own, learned.norm_bound) for own in even.games)
    if found.category == "trivial":
        nothing = np.zeros_like(n)
        zeros = (nothing, nothing, nothing, nothing)
        return ContextualBounds(n, 0.0, 0.0, 0.0, 0.0, learned.information, learned.beta, *zeros)
    whole = found if even is game else analyze_contexts(even)
    far = whole.conditional_alignment
    near = _average(game, [uniform_local_alignment(own) for own in whole.contexts])
    together = uniform_contextual_alignment(whole)
    missed = gap * FAILED_ROUNDS

    def third(alpha: float) -> Array:
        psi = 27 / 2 * learned.constant * alpha * learned.beta * (gap + learned.apart)
        return bound_or_inf(psi, learned.information, n, 3, missed)

    def half(alpha: float) -> Array:
        psi = 4 * learned.constant * alpha * learned.beta
        return bound_or_inf(psi, learned.information, n, 2, missed)

    return ContextualBounds(
        n,
        whole.alignment,
        far,
        near,
        together,
        learned.information,
        learned.beta,
        third(far),
        half(near),
        third(whole.alignment),
        half(together),
    )


def evenly_noisy(game: ContextualGame) -> ContextualGame:
    """Return the game with the same noise everywhere: itself, or with noise divided out."""
    noises = {float(x) for own in game.games for x in np.atleast_1d(own.noise_std)}
    if len(noises) == 1:
        return game
    games = [whitened(own) for own in game.games]
    return ContextualGame(games, game.context_distribution, game.contexts)


def everything(game: ContextualGame) -> Game:
    """Return the plain game of all pairs of context and action."""
    features = np.concatenate([own.features for own in game.games])
    maps = [own.rows(a) for own in game.games for a in range(own.k)]
    noise = float(np.atleast_1d(game.games[0].noise_std)[0])
    return Game(features, maps, game.parameters, noise)


def _average(game: ContextualGame, values: list[float]) -> float:
    """Return the average over the contexts that may come."""
    pairs = zip(game.context_distribution, values, strict=True)
    return float(sum(p * value for p, value in pairs if p > 0))

"""Regret bounds for games with contexts (section 6, with E16, E22 and E23).

Conditional IDS pays, in every context, what IDS pays in the game of that context: the alignment
constants of the contexts are averaged. Contextual IDS has one constant for all of them, alpha(chi)
or, near the plausible parameters, alpha(E, chi). Its information ratio is at most the average of
the contexts' own ones by Jensen's inequality, so that the bounds of conditional IDS also hold
for it. (alpha(chi) itself may exceed the average of alpha(z).)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import games
from partial_monitoring.analysis.bounds import uniform_local_alignment, whitened
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis, analyze_contexts
from partial_monitoring.analysis.contextual.local import uniform_contextual_alignment
from partial_monitoring.analysis.guarantees import (
    Growth,
    Guarantee,
    Learning,
    amount,
    horizons,
    informative_from,
    refuse_other_analysis,
)
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.validation import Array, brief, positive_number

REGRETS = ("conditional_global", "conditional_local", "contextual_global", "contextual_local")


@dataclass(frozen=True, eq=False, repr=False)
class ContextualBounds(Guarantee):
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

    def _constants(self) -> list[str]:
        conditional = self.conditional_regret[-1]
        own = (
            f"{amount(conditional)} after {amount(self.horizon[-1])} rounds"
            if np.isfinite(conditional)
            else "infinity: some context does not show by itself what matters in it"
        )
        return [
            f"This is for contextual IDS; for conditional IDS the bound is {own}.",
            *super()._constants(),
            f"The alignment constant is {amount(self.alignment)} over all contexts and "
            f"{amount(self.conditional_alignment)} on average within one.",
        ]


def contextual_bounds(
    game: ContextualGame | str,
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
        The game or its name in ``pm.games``, and n or several of them.
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
    known: Any = games.named(game)
    if not known.traits.contexts:
        raise InvalidInput(f"game must be a ContextualGame; got {brief(known)}.")
    refuse_other_analysis(analysis, known)
    found = analyze_contexts(known) if analysis is None else analysis
    even = evenly_noisy(known)
    growth = Growth.of(even.games, lam, norm_bound)
    if found.category == "trivial":
        numbers: Any = [*vars(growth.at(n)).values(), 1.0, *[0.0] * 4, *[np.zeros_like(n)] * 4]
        return ContextualBounds(*numbers)
    whole = found if even is known else analyze_contexts(even)
    chi = known.context_distribution
    near = float(sum(chi[z] * uniform_local_alignment(whole.contexts[z]) for z in whole.possible))
    together = uniform_contextual_alignment(whole)

    def regrets_of(learned: Learning) -> tuple[Array, ...]:
        """Return the bounds of conditional and contextual IDS, globally and locally."""
        return (
            learned.bound_far(whole.conditional_alignment),
            learned.bound_near(near),
            learned.bound_far(whole.alignment),
            learned.bound_near(together),
        )

    regrets: Any = dict(zip(REGRETS, regrets_of(growth.at(n)), strict=True))
    return ContextualBounds(
        **vars(growth.at(n)),
        informative_from=informative_from(
            lambda rounds: np.min(regrets_of(growth.at(rounds)), axis=0), growth.max_gap
        ),
        alignment=whole.alignment,
        conditional_alignment=whole.conditional_alignment,
        local_alignment=near,
        contextual_local_alignment=together,
        **regrets,
    )


def evenly_noisy(game: ContextualGame) -> ContextualGame:
    """Return the game with the same noise everywhere: itself, or with noise divided out."""
    noises = {float(x) for own in game.games for x in np.atleast_1d(own.noise_std)}
    if len(noises) == 1:
        return game
    games = [whitened(own) for own in game.games]
    return ContextualGame(games, game.context_distribution, game.contexts)

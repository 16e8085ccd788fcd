"""The public questions about a game of any kind; the kind decides here who answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple, overload

from partial_monitoring import games
from partial_monitoring.analysis.alignment import Alignment, alignment_near
from partial_monitoring.analysis.analysis import Analysis, analyze_game, refuse_hopeless_game
from partial_monitoring.analysis.contextual import analysis as contextual
from partial_monitoring.analysis.contextual.alignment import ContextualAlignment
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis
from partial_monitoring.analysis.contextual.certificates import refuse_hopeless_contexts
from partial_monitoring.analysis.contextual.local import contextual_local_alignment
from partial_monitoring.analysis.duels import (
    analyze_duels,
    many_duels,
    never_hopeless,
    refuse_many_duels,
)
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.dueling import Duels
from partial_monitoring.model.game import Game
from partial_monitoring.validation import boolean


@overload
def analyze(game: Game) -> Analysis: ...
@overload
def analyze(game: ContextualGame) -> ContextualAnalysis: ...
@overload
def analyze(game: str) -> Analysis | ContextualAnalysis: ...


def analyze(game: AnyGame | str) -> Analysis | ContextualAnalysis:
    """Classify a game and prove it.

    Parameters
    ----------
    game
        Any game over R^d, a ball, a box, the simplex or a polytope, also with contexts; a kernel
        game in the coordinates of its linear game. Or the name of one in ``pm.games``.

    Returns
    -------
    Analysis
        The class, the sets of actions, the neighbours, what can be observed, and the certificates;
        with contexts a ``ContextualAnalysis``: that of each context, and of all together; for more
        than 200 duels a ``DuelAnalysis``, which considers items instead of pairs.

    Notes
    -----
    One linear program (over a ball: a second-order cone program) per action and per pair of Pareto
    actions. When the data are rational and the parameter set is polyhedral, every answer is proved
    in exact arithmetic; where floating point was wrong, the exact answer is returned. On a terminal
    anything that takes long shows how far it is.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> analysis = pm.analyze(pm.games.dynamic_pricing())
    >>> analysis
    Analysis(hard, regret n^2/3, certified)
    >>> analysis.neighbors
    [(0, 1), (0, 2), (1, 2)]

    References
    ----------
    Section 4 of the paper; Bartok et al. (2014); Lattimore and Szepesvari (2019).
    """
    known = games.named(game)
    found: Analysis | ContextualAnalysis = _answers(known).analyze(known)
    return found


@overload
def alignment(game: Game) -> Alignment: ...
@overload
def alignment(game: ContextualGame) -> ContextualAlignment: ...
@overload
def alignment(game: str) -> Alignment | ContextualAlignment: ...


def alignment(game: Game | ContextualGame | str) -> Alignment | ContextualAlignment:
    """Return the global alignment constant alpha of a game, with the pair and direction.

    With contexts it is alpha(chi), or an upper bound of it, as its ``exact`` says.

    >>> import partial_monitoring as pm
    >>> round(pm.alignment(pm.games.dynamic_pricing()).value, 6)
    12.5
    """
    return analyze(game).alignment_details


@overload
def local_alignment(game: Game, confidence: Any, *, integrated: bool = False) -> Alignment: ...
@overload
def local_alignment(
    game: ContextualGame, confidence: Any, *, integrated: bool = False
) -> ContextualAlignment: ...
@overload
def local_alignment(
    game: str, confidence: Any, *, integrated: bool = False
) -> Alignment | ContextualAlignment: ...


def local_alignment(
    game: AnyGame | str, confidence: Any, *, integrated: bool = False
) -> Alignment | ContextualAlignment:
    """Return alpha(E), the alignment constant of a game near the plausible parameters E.

    With contexts it is alpha(E, chi), or an upper bound of it, as its ``exact`` says.

    Parameters
    ----------
    game
        The game, or its name in ``pm.games``.
    confidence
        The convex set E: a bounded parameter set (only its intersection with Theta counts), or a
        confidence set of one replicate.
    integrated
        For games with contexts: alpha-bar(E, chi), for gaps estimated over whole plans.

    Examples
    --------
    Dynamic pricing is hard: around a tie of $1 and $3 the constant grows without bound.

    >>> import numpy as np
    >>> import partial_monitoring as pm
    >>> def around_the_tie(width):
    ...     sides = [0.5 + width, width, 0.5 + width, width - 0.5, 0, width - 0.5]
    ...     return pm.Polytope(np.concatenate([np.eye(3), -np.eye(3)]), sides, [[1, 1, 1]], [1])
    >>> game = pm.games.dynamic_pricing()
    >>> wide, narrow = (pm.local_alignment(game, around_the_tie(w)) for w in (0.1, 0.01))
    >>> narrow > 30 * wide
    True
    """
    known = games.named(game)
    near: Alignment | ContextualAlignment = _answers(known).alignment_near(
        known, confidence, boolean("integrated", integrated)
    )
    return near


def refuse_hopeless(game: AnyGame) -> None:
    """Refuse a game in which no policy can learn, unless that is clearly not the case."""
    _answers(game).refuse_hopeless(game)


class _Answers(NamedTuple):
    """The functions that answer for one kind of game."""

    analyze: Callable[[Any], Any]
    alignment_near: Callable[[Any, Any, bool], Any]
    refuse_hopeless: Callable[[Any], None]


@singledispatch
def _answers(game: Any) -> _Answers:
    return _Answers(analyze_game, alignment_near, refuse_hopeless_game)


@_answers.register
def _(game: Duels) -> _Answers:
    if not many_duels(game):  # type: ignore[arg-type]
        return _Answers(analyze_game, alignment_near, never_hopeless)
    return _Answers(analyze_duels, refuse_many_duels, never_hopeless)


@_answers.register
def _(game: ContextualGame) -> _Answers:
    return _Answers(
        contextual.analyze_contexts, contextual_local_alignment, refuse_hopeless_contexts
    )

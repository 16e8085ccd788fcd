"""Alignment constants of a game as a whole, and near the parameters that are still plausible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from partial_monitoring.analysis.advantage import advantage_over
from partial_monitoring.analysis.alignment import (
    PLAUSIBLE,
    Alignment,
    AlignmentProgram,
    largest_alignment,
    least_alignment,
)
from partial_monitoring.analysis.classify import analyze
from partial_monitoring.analysis.coordinates import LocalCoordinates, local_coordinates
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.conic import Cone, minimize_conic
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array

if TYPE_CHECKING:
    from partial_monitoring.analysis.contextual.choices import ContextualAlignment


@overload
def alignment(game: Game) -> Alignment: ...
@overload
def alignment(game: ContextualGame) -> ContextualAlignment: ...


def alignment(game: Game | ContextualGame) -> Alignment | ContextualAlignment:
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


def local_alignment(
    game: Game | ContextualGame, confidence: Any, *, integrated: bool = False
) -> Alignment | ContextualAlignment:
    """Return alpha(E), the alignment constant of a game near the plausible parameters E.

    With contexts it is alpha(E, chi), or an upper bound of it, as its ``exact`` says.

    Parameters
    ----------
    game
        The game.
    confidence
        The convex set E: a bounded parameter set (of which the part in Theta counts), or a
        confidence set of one replicate.
    integrated
        For games with contexts: alpha-bar(E, chi), for gaps estimated over whole plans.

    Examples
    --------
    Dynamic pricing is hard: around a tie of $1 and $3 the constant grows without bound.

    >>> import partial_monitoring as pm
    >>> def around_the_tie(width):
    ...     sides = [0.5 + width, width, 0.5 + width, width - 0.5, 0, width - 0.5]
    ...     return pm.Polytope(np.concatenate([np.eye(3), -np.eye(3)]), sides, [[1, 1, 1]], [1])
    >>> game = pm.games.dynamic_pricing()
    >>> wide, narrow = (pm.local_alignment(game, around_the_tie(w)) for w in (0.1, 0.01))
    >>> narrow > 30 * wide
    True
    """
    if isinstance(game, ContextualGame):
        from partial_monitoring.analysis.contextual.regions import contextual_local_alignment

        return contextual_local_alignment(game, confidence, integrated=integrated)
    game = game if game.traits.listed else game.linear  # which refuses
    plausible, gaps = plausible_actions(game, confidence)

    def align(actions: Sequence[int], observers: Sequence[int]) -> Alignment:
        alignments = AlignmentProgram(game, observers)
        features = game.reduced.features
        for a in actions[1:]:
            if not alignments.sees(features[a] - features[actions[0]]):
                return Alignment(np.inf, 0.0, (actions[0], a))
        return largest_alignment(alignments, actions)

    return least_alignment(gaps, plausible, align)


def plausible_actions(game: Game, confidence: Any) -> tuple[list[int], Array]:
    """Return the actions that are best somewhere in E, and the largest gaps over E, shape (k,).

    Of duplicates only the first is listed.
    """
    analysis, chart = analyze(game), local_coordinates(game)
    region = chart.pulled_back(region_cones(confidence, game))
    gaps = _largest_gaps(chart, region)
    program = advantage_over(chart, region)
    return (
        [a for a in analysis.representatives if program.solve(a, ()).value >= -PLAUSIBLE],
        gaps,
    )


def _largest_gaps(chart: LocalCoordinates, region: list[Cone]) -> Array:
    """Return the largest gap of every action over a region, shape (k,)."""
    k = len(chart.offsets)
    gaps = np.zeros(k)
    for a in range(k):
        sizes = chart.sizes(a)
        for b in range(k):
            if a == b:
                continue
            try:
                best = minimize_conic((chart.slopes[a] - chart.slopes[b]) / sizes[b], region)
            except SolverError:
                raise InvalidInput(
                    "confidence must be a bounded set; got an unbounded one."
                ) from None
            if best is None:
                raise InvalidInput(
                    "confidence must meet the game's parameter set; got one that does not."
                )
            gaps[a] = max(gaps[a], chart.offsets[b] - chart.offsets[a] - best.value * sizes[b])
    return gaps


def region_cones(confidence: Any, game: Game) -> list[Cone]:
    """Return a set of plausible parameters, cut by Theta, as conic constraints on theta."""
    if isinstance(confidence, ParameterSet):
        if confidence.d != game.d:
            raise InvalidInput(
                f"confidence must lie in dimension {game.d} like the game; got {confidence.d}."
            )
        return [*game.parameters.cones(), *confidence.cones()]
    if not all(hasattr(confidence, name) for name in ("center", "gram", "beta")):
        raise InvalidInput(
            f"confidence must be a parameter set or a confidence set; got {confidence!r}."
        )
    if np.size(confidence.beta) != 1:
        raise InvalidInput(
            f"confidence must be the set of one replicate; got {np.size(confidence.beta)}."
        )
    # A root by eigenvalues, which exists even where rounding has made a small one negative.
    squares, turn = np.linalg.eigh(np.reshape(confidence.gram, (game.d, game.d)))
    least = float(np.finfo(float).eps) * squares[-1]
    root = np.sqrt(np.maximum(squares, least))[:, None] * turn.T
    matrix = np.concatenate([np.zeros((1, game.d)), -root])
    center, beta = np.ravel(confidence.center), float(np.ravel(confidence.beta)[0])
    bound = np.append(np.sqrt(beta), -root @ center)
    return [*game.parameters.cones(), Cone("norm", matrix, bound)]

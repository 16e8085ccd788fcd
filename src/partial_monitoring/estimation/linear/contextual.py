"""Policies in context: one estimate for all contexts, one game for each (section 6).

In context z a policy plays ``game.at(z)``. What it has learned elsewhere counts, because the
parameter is the same: the estimate keeps the Gram matrix and no actions, and is looked at through
the actions of the context that comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.design import Model, model, part_of
from partial_monitoring.estimation.linear.least_squares import (
    Estimate,
    initial,
    rows_of,
    updated_by_rows,
    viewed,
)
from partial_monitoring.estimation.shapes import Shape, shape_of
from partial_monitoring.model.contextual import ContextualGame, check_offered
from partial_monitoring.model.game import Game
from partial_monitoring.policies.policy import Choices
from partial_monitoring.validation import Array, Indices

Context = Indices | Game
"""The contexts of the replicates (n,), or one that is given by its game."""


@dataclass(frozen=True, eq=False)
class ContextualState:
    """What a policy knows after some rounds with contexts."""

    estimate: Estimate
    """Of the parameter; it has no actions of its own."""
    shape: Shape
    game: ContextualGame
    parts: tuple[tuple[Model, Shape], ...]
    """Every context as the estimate sees it."""

    @property
    def replayed(self) -> bool:
        """Whether the state is saved as what was told: a context came louder than all listed."""
        return self.estimate.model.loudness > loudest(self.parts)


def initial_state(
    game: ContextualGame,
    replicates: int,
    *,
    regularization: float,
    prior_mean: ArrayLike | None,
    norm_bound: float | None,
) -> ContextualState:
    """Return the state before the first round."""
    whole = whole_model(
        game, regularization=regularization, prior_mean=prior_mean, norm_bound=norm_bound
    )
    parts = tuple((own, shape_of(own)) for own in (part_of(whole, g) for g in game.games))
    whole = replace(whole, loudness=loudest(parts))
    blank = initial(whole, replicates, by_rows=True)
    return ContextualState(blank, shape_of(whole), game, parts)


def loudest(parts: tuple[tuple[Model, Shape], ...]) -> float:
    """Return the loudness of the loudest context."""
    return max(part.loudness for part, _ in parts)


def whole_model(game: ContextualGame, **options: Any) -> Model:
    """Return the model of the parameter alone: everything may be observed in some context.

    The noise is that of all contexts, or 1 if it differs between them.
    """
    d = game.d
    noises = np.unique(np.concatenate([np.atleast_1d(own.noise_std) for own in game.games]))
    noise = float(noises[0]) if len(noises) == 1 else 1.0
    everything = Game(np.zeros((1, d)), np.eye(d)[None], game.parameters, noise)
    whole = model(everything, **options)
    return replace(whole, maps=np.zeros((1, 0, whole.rank)), expected=np.zeros((1, 0)))


def decide_in_context(
    decide: Callable[[Estimate, Shape, Array, Array | None], Choices],
    state: ContextualState,
    uniforms: Array,
    available: Array | None,
    context: Context | None,
) -> Choices:
    """Let a policy decide in the game of each replicate's context.

    ``decide`` is handed the estimate, seen through the actions of one context, of the replicates
    that are in it. The answer is over all actions of the contextual game; those that a context does
    not offer have an infinite gap and no probability.
    """
    if isinstance(context, Game):
        part = part_of(state.estimate.model, checked_context(state, context))
        return decide(viewed(state.estimate, part), shape_of(part), uniforms, available)
    filled: Choices | None = None
    for z, rows in groups(checked_indices(state, context)):
        part, shape = state.parts[z]
        own = viewed(rows_of(state.estimate, rows), part)
        places = state.game.positions(z)
        mask = None if available is None else np.asarray(available, dtype=bool)[places]
        if mask is not None:
            some_action(mask[None])
        choice = decide(own, shape, uniforms[rows], mask)
        filled = _placed(filled, choice, rows, places, state.game.k)
    assert filled is not None
    return filled


def update_in_context(
    state: ContextualState, action: Indices, observation: Array, context: Context | None
) -> ContextualState:
    """Return the state after the observations (n, m) of actions (n,) in their contexts."""
    estimate = state.estimate
    n, r = len(action), estimate.model.rank
    m = observation.shape[1]
    rows, residual = np.zeros((n, m, r)), np.zeros((n, m))
    if isinstance(context, Game):
        part = part_of(estimate.model, checked_context(state, context))
        check_offered(context.actions, action, (action >= 0) & (action < context.k))
        if part.loudness > estimate.model.loudness:
            estimate = replace(estimate, model=replace(estimate.model, loudness=part.loudness))
        _take_in(part, action, observation, rows, residual, np.ones(n, dtype=bool))
    else:
        indices = checked_indices(state, context)
        state.game.check_offered(indices, action)
        for z, own in groups(indices):
            local = state.game.local_actions[z, action[own]]
            _take_in(state.parts[z][0], local, observation[own], rows, residual, own)
    return replace(state, estimate=updated_by_rows(estimate, rows, residual))


def _take_in(
    part: Model,
    action: Indices,
    observation: Array,
    rows: Array,
    residual: Array,
    own: NDArray[np.bool_],
) -> None:
    """Fill in the rows that were seen and what they showed beyond the prior mean."""
    m = part.maps.shape[1]
    counted = np.arange(m) < part.counts[action][:, None]
    heard = np.where(counted, observation[:, :m], 0.0)
    seen = np.zeros((len(action), *rows.shape[1:]))
    seen[:, :m] = part.maps[action]
    rows[own] = seen
    beyond = np.zeros((len(action), residual.shape[1]))
    beyond[:, :m] = heard * part.whitening[action][:, None] - part.expected[action]
    residual[own] = beyond


def groups(context: Indices) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Return each context that occurs, with the replicates that are in it."""
    for z in np.unique(context):
        yield int(z), context == z


def part_at(state: ContextualState, context: Context | None) -> tuple[Model, Shape]:
    """Return one context as the estimate sees it; replicates must all be in it."""
    if isinstance(context, Game):
        part = part_of(state.estimate.model, checked_context(state, context))
        return part, shape_of(part)
    return state.parts[int(checked_indices(state, context)[0])]


def checked_indices(state: ContextualState, context: Context | None) -> Indices:
    """Return the contexts of the replicates, which must be there."""
    if context is None:
        raise InvalidInput("context must be given, the game has contexts.")
    assert not isinstance(context, Game)
    return np.asarray(context, dtype=np.int64)


def some_action(offered: NDArray[np.bool_]) -> None:
    """Refuse a restriction that leaves no action of the context, shape (n, k)."""
    if not offered.any(axis=1).all():
        raise InvalidInput("available must hold an action of the context; got none.")


def checked_context(state: ContextualState, game: Game) -> Game:
    """Return a context that is given by its game, if it is over the same parameters."""
    return state.game.checked_context(game)


def _placed(
    filled: Choices | None, choice: Choices, rows: NDArray[np.bool_], places: Any, k: int
) -> Choices:
    """Put the answers of some replicates, over the actions of their context, into the whole."""
    n = len(rows)
    if filled is None:
        nothing = np.zeros(n)
        filled = Choices(
            np.zeros(n, dtype=np.int64),
            np.zeros((n, k)),
            np.full((n, k), np.inf),
            np.zeros((n, k)),
            nothing.copy(),
            nothing.copy(),
            np.zeros((n, choice.estimate.shape[1])),
            index=None if choice.index is None else np.full((n, k), -np.inf),
        )
    filled.action[rows] = places[choice.action]
    for name in ("distribution", "gaps", "information", "index"):
        values = getattr(choice, name)
        if values is not None:
            getattr(filled, name)[np.ix_(rows, places)] = values
    for name in ("ratio", "beta", "estimate"):
        getattr(filled, name)[rows] = getattr(choice, name)
    return filled

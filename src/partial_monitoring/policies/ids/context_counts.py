"""The contexts that contextual IDS knows of: those of the game, and those that came unannounced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partial_monitoring.estimation.linear.contextual import (
    Context,
    ContextualState,
    checked_context,
    checked_indices,
)
from partial_monitoring.estimation.linear.design import Model, part_of
from partial_monitoring.estimation.shapes import Shape, shape_of
from partial_monitoring.model.contextual import same_context
from partial_monitoring.model.game import Game
from partial_monitoring.policies.ids.all_contexts import Joined, joined
from partial_monitoring.policies.ids.plans import Plans
from partial_monitoring.validation import Array, Indices

MOST_NEWCOMERS = 1000
"""Of the contexts that are not those of the game the last ones are kept, up to so many."""


@dataclass(frozen=True, eq=False)
class Newcomer:
    """A context that the game does not list, but that has come."""

    part: Model
    """Its game as the estimate sees it."""
    shape: Shape
    seen: Indices
    """How often it has come, shape (n,)."""


@dataclass(frozen=True, eq=False)
class CountingState(ContextualState):
    """What contextual IDS knows, and how often each context has come."""

    seen: Indices
    """Shape (n, contexts of the game)."""
    lists: Joined
    """The actions of all contexts, of those that came unannounced as well."""
    plans: Plans | None = None
    """What gaps are estimated over, if they are integrated over contexts."""
    newcomers: tuple[Newcomer, ...] = ()

    @property
    def replayed(self) -> bool:
        """Whether the state is saved as what was told, because it has grown since the start."""
        return len(self.newcomers) > 0 or super().replayed

    @property
    def counts(self) -> Indices:
        """How often each context has come, first those of the game, shape (n, contexts)."""
        return np.column_stack([self.seen, *(own.seen for own in self.newcomers)])


def joined_parts(state: ContextualState, newcomers: tuple[Newcomer, ...] = ()) -> Joined:
    """Return the actions of the contexts of a game and of those that came, in one list."""
    listed = [(*part, state.game.positions(z)) for z, part in enumerate(state.parts)]
    more = [(own.part, own.shape, np.arange(own.part.game.k)) for own in newcomers]
    return joined(state.estimate.model, [*listed, *more], state.game.k)


def located(state: CountingState, context: Context | None) -> tuple[CountingState, Indices]:
    """Return the numbers (n,) of the contexts that came, in a state that knows them."""
    if not isinstance(context, Game):
        return state, checked_indices(state, context)
    n = len(state.seen)
    for z, own in enumerate(state.newcomers):
        if same_context(own.part.game, context):
            return state, np.full(n, len(state.parts) + z)
    part = part_of(state.estimate.model, checked_context(state, context))
    blank = Newcomer(part, shape_of(part), np.zeros(n, dtype=np.int64))
    kept = (*state.newcomers, blank)[-MOST_NEWCOMERS:]
    grown = replace(state, newcomers=kept, lists=joined_parts(state, kept))
    return grown, np.full(n, len(state.parts) + len(kept) - 1)


def counted(state: CountingState, context: Indices) -> CountingState:
    """Return the state after the contexts (n,) have come once more."""
    counts = state.counts.copy()
    counts[np.arange(len(context)), context] += 1
    listed = len(state.parts)
    newcomers = tuple(
        replace(own, seen=counts[:, listed + z]) for z, own in enumerate(state.newcomers)
    )
    return replace(state, seen=counts[:, :listed], newcomers=newcomers)


def chances(state: CountingState, context: Indices, *, kind: str) -> Array:
    """Return chi as each replicate knows it in its context (n,), shape (n, contexts)."""
    if kind == "known":
        listed = state.game.context_distribution
        blank = np.zeros(len(state.newcomers))
        return np.broadcast_to(np.append(listed, blank), state.counts.shape)
    counts: Any = state.counts.astype(float)
    if kind == "estimated":
        counts += 1.0
    else:
        counts[np.arange(len(context)), context] += 1.0
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))

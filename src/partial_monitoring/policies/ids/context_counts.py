"""The contexts that contextual IDS knows of: those of the game, and unlisted ones that came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.linear.contextual import ContextualState
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.state import Context, is_unlisted
from partial_monitoring.model.contextual import same_context
from partial_monitoring.policies.ids.plans import Plans
from partial_monitoring.validation import Array, Indices

MOST_UNLISTED = 100
"""Largest number of unlisted contexts that are kept, the last ones that came: a decision is made
for all of them together."""


@dataclass(frozen=True, eq=False)
class AllContexts:
    """The actions of all contexts in one list of length N, each context a group."""

    design: Design
    where: tuple[Indices, Indices]
    """The context and the position among its actions of every entry, each (N,)."""
    offered: NDArray[np.bool_]
    """A(z) of every context as a mask, shape (contexts, actions)."""

    @classmethod
    def of(cls, state: ContextualState, unlisted: tuple[Design, ...] = ()) -> AllContexts:
        """Return the contexts of a game and those that came besides."""
        designs = [*state.parts, *unlisted]
        listed = [state.game.positions(z) for z in range(len(state.parts))]
        positions = [*listed, *(np.arange(own.game.k) for own in unlisted)]
        context = np.repeat(np.arange(len(designs)), [len(own) for own in positions])
        width = max([state.game.k, *(int(own.max()) + 1 for own in positions)])
        offered = np.zeros((len(designs), width), dtype=bool)
        where = context, np.concatenate(positions)
        offered[where] = True
        return cls(state.design.joined(designs), where, offered)

    def table(self, values: Array) -> Array:
        """Return values (n, N) as a table (n, contexts, actions), zero where not offered."""
        whole = np.zeros((len(values), *self.offered.shape))
        whole[:, *self.where] = values
        return whole


@dataclass(frozen=True, eq=False)
class CountingState(ContextualState):
    """What contextual IDS knows, and how often each context has come."""

    seen: Indices
    """How often, first those of the game, shape (n, contexts)."""
    contexts: AllContexts
    plans: Plans | None = None
    """What gaps are estimated over, if they are integrated over contexts."""
    unlisted: tuple[Design, ...] = ()
    """The games of contexts that came without being listed, as the estimate sees them."""

    @property
    def replayed(self) -> bool:
        """Whether the state is saved as its observations, because it has grown since the start."""
        return len(self.unlisted) > 0

    def everywhere(self, schedule: Schedule) -> Ellipsoid:
        """Return E_t, seen through the actions of all contexts."""
        return Ellipsoid.around(self.estimate.through(self.contexts.design), schedule)

    def find_context(self, context: Context | None) -> tuple[CountingState, Indices]:
        """Return the numbers (n,) of the contexts that came, in a state that knows them."""
        n = len(self.seen)
        if not is_unlisted(context):
            self.met(context)
            return self, np.asarray(context, dtype=np.int64)
        for z, own in enumerate(self.unlisted):
            if same_context(own.game, context):
                return self, np.full(n, len(self.parts) + z)
        (met,) = self.met(context)
        kept = (*self.unlisted, met.design)[-MOST_UNLISTED:]
        listed, late = np.split(self.seen, [len(self.parts)], axis=1)
        late = np.column_stack([late, np.zeros(n, dtype=np.int64)])[:, -MOST_UNLISTED:]
        seen, contexts = np.column_stack([listed, late]), AllContexts.of(self, kept)
        grown = replace(self, seen=seen, unlisted=kept, contexts=contexts)
        return grown, np.full(n, seen.shape[1] - 1)

    def counted(self, context: Indices, often: Indices | int = 1) -> CountingState:
        """Return the state after the contexts (n,) have come once more, or more often (n,)."""
        seen = self.seen.copy()
        seen[np.arange(len(context)), context] += often
        return replace(self, seen=seen)


def chances(state: CountingState, context: Indices, *, kind: str) -> Array:
    """Return chi as each replicate knows it in its context (n,), shape (n, contexts)."""
    if kind == "known":
        listed = state.game.context_distribution
        blank = np.zeros(len(state.unlisted))
        return np.broadcast_to(np.append(listed, blank), state.seen.shape)
    counts: Any = state.seen.astype(float)
    if kind == "estimated":
        counts += 1.0
    else:
        counts[np.arange(len(context)), context] += 1.0
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))

"""The state of finite games with contexts that counts signals, for sets of likely distributions."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from partial_monitoring.estimation.confidence import LikelihoodRatio
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.likelihood.channels import Channels, channels_of
from partial_monitoring.estimation.likelihood.likely_set import LikelySet
from partial_monitoring.estimation.linear.contextual import ContextualState, Met
from partial_monitoring.estimation.state import Context, is_unlisted, state_for
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class LikelyContexts(ContextualState):
    """An estimate of the distribution that all contexts share, and what was seen in all of them.

    Signals of unlisted contexts are not counted; without them E_t holds as well.
    """

    channels: Channels
    """Of the games of all contexts."""
    counts: Array
    """How often each signal of each channel was seen, shape (n, q)."""

    def after(self, action: Indices, observation: Array, context: Context | None = None) -> Self:
        return self._counting(
            super().after(action, observation, context), action, observation, context
        )

    def after_often(
        self,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> Self:
        known = super().after_often(action, observation, often, weight, context)
        once = self._counting(known, action, observation, context)
        more = often[:, None] * (once.counts - self.counts)
        return replace(once, counts=self.counts + more)

    def _counting(
        self, known: Self, action: Indices, observation: Array, context: Context | None
    ) -> Self:
        """Return a state that knows more, with the signals counted once."""
        if context is None or is_unlisted(context):
            return known
        counts, where = self.counts.copy(), np.asarray(context, dtype=np.int64)
        for z in np.unique(where):
            own = where == z
            played = self.game.local_actions[z, action[own]]
            counts[own] = self.channels.added(counts[own], int(z), played, observation[own])
        return replace(known, counts=counts)

    def through(self, met: Met, schedule: Any, rows: Any = slice(None)) -> ConfidenceSet:
        estimate = self.estimate.through(met.design, rows)
        return LikelySet.around(estimate, schedule, self.channels, self.counts[rows])


@state_for.register
def _with_counts(schedule: LikelihoodRatio, state: Any, traits: Any) -> Any:
    if not (traits.contexts and traits.finite):
        return state
    channels = channels_of(*state.game.games)
    counts = np.zeros((state.estimate.replicates, len(channels.rows)))
    kept = {field.name: getattr(state, field.name) for field in fields(state)}
    return LikelyContexts(**kept, channels=channels, counts=counts)

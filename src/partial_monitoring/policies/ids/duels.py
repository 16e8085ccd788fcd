"""What policies for duels share: they estimate the items and never list the pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.later import attribute
from partial_monitoring.estimation.state import Context, State, initial_duels
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.estimating import EstimatingPolicy
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.needs import refuse
from partial_monitoring.policies.policy import Choices
from partial_monitoring.validation import Array, Indices


class DuelPolicy(EstimatingPolicy):
    """A policy that is handed the confidence set of the items and chooses two of them."""

    def init(self, game: AnyGame, replicates: int) -> Any:
        refuse(self, game)
        self.refuse_to_forget(game)
        return initial_duels(game, replicates, self.prior, draws=self.drawing)

    def decide(
        self,
        state: State,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        if available is not None:
            name = type(self).__name__
            raise InvalidInput(f"available cannot be given with {name}, which chooses items.")
        return super().decide(state, uniforms)


def duels_of(
    confidence: ConfidenceSet,
    first: Indices,
    second: Indices,
    distribution: Array,
    base: Array,
    information: Array,
    index: Array | None = None,
) -> Choices:
    """Return the duels of items (n,) with items (n,) that were chosen from all (n, k).

    The gap of a pair is the sum of the gaps of its items, ``base`` (n, k); ``information`` (n, k)
    is that of the duels with the first item.
    """
    gaps = base + np.take_along_axis(base, first[:, None], axis=1)
    count = base.shape[1]
    return Choices(
        first * count + second,
        distribution,
        gaps,
        information,
        information_ratio(distribution, gaps, information),
        confidence.beta,
        attribute(confidence, "estimate"),
        candidates=first[:, None] * count + np.arange(count),
        index=index,
    )

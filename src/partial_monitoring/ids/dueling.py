"""Duels in time proportional to the number of items instead of pairs.

The gap of a pair is the sum of the gaps of its items, and psi(a, b) = |phi_a - phi_b|^2 in the norm
of V_t^-1 is the square of a metric. So for any pair (a, b) one of (ah, a), (ah, b) with the greedy
item ah has a gap no larger and at least a quarter of the information: looking only at pairs with ah
costs at most a factor of 4 in the information ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.dueling_game import DuelingGame
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import ConfidenceSet, Schedule, confidence_set
from partial_monitoring.estimation.least_squares import (
    initial,
    updated_by_rows,
)
from partial_monitoring.estimation.model import checked_options, model
from partial_monitoring.estimation.shapes import shape_of
from partial_monitoring.game import Game
from partial_monitoring.ids import sampling as sampling_rules
from partial_monitoring.ids.policy import apply_rule
from partial_monitoring.ids.ratio import information_ratio
from partial_monitoring.ids.sampling import SamplingRule
from partial_monitoring.linear_policy import LinearState
from partial_monitoring.policy import Choices, all_on, draw
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True)
class DuelingIDS:
    """Information-directed sampling among the duels of the greedy item with every item.

    Parameters
    ----------
    sampling, confidence, regularization, prior_mean, norm_bound
        As for :class:`partial_monitoring.IDS`.

    Examples
    --------
    A million duels, none of which is ever listed:

    >>> import partial_monitoring as pm
    >>> items = np.random.default_rng(0).standard_normal((1000, 5))
    >>> learner = pm.Learner(pm.games.dueling(items), pm.DuelingIDS(), seed=0)
    >>> decision = learner.ask()
    >>> learner.tell(decision, [0.3])
    """

    sampling: SamplingRule = sampling_rules.exact
    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None

    def __post_init__(self) -> None:
        checked_options(self, ("sampling", "confidence"))

    def init(self, game: Game, replicates: int) -> LinearState:
        """Return the state before the first round."""
        if not isinstance(game, DuelingGame):
            raise InvalidInput(f"DuelingIDS plays dueling games (pm.games.dueling); got {game!r}.")
        phi = game.item_features
        # As a game of its own: the items, of which differences are seen.
        items = Game(phi, (phi - phi[0])[:, None, :], game.parameters, game.noise_std, game.items)
        prior = model(
            items,
            regularization=self.regularization,
            prior_mean=self.prior_mean,
            norm_bound=self.norm_bound,
        )
        nothing = np.zeros((game.count, 0, prior.rank))
        prior = replace(prior, maps=nothing, expected=np.zeros((game.count, 0)))
        return LinearState(initial(prior, replicates, by_rows=True), shape_of(prior))

    def decide(
        self, state: LinearState, uniforms: Array, available: Array | None = None
    ) -> Choices:
        """Choose duels."""
        from partial_monitoring.compiled import linear

        if available is not None:
            raise InvalidInput("available cannot be given with DuelingIDS, which chooses items.")
        data, items = state.estimate, state.estimate.model
        confidence = self.confidence_set(state)
        base, greedy, psi = linear.duels(
            confidence.means,
            data.variances,
            data.inverse,
            confidence.beta,
            items.seen,
            items.columns,
            items.unseen,
            items.regularization,
        )
        base = np.minimum(base, items.largest_gap)
        if items.dominant.any():  # such an item loses nothing against any other
            base = np.where(items.dominant, 0.0, base)
            greedy = np.full_like(greedy, items.dominant.argmax())
            away = items.seen - items.seen[greedy[0]]
            psi = np.maximum(((away @ data.inverse) * away).sum(axis=2), 0.0)
        gaps = base + np.take_along_axis(base, greedy[:, None], axis=1)
        information = 0.5 * np.log1p(psi)
        if items.dominant.any():
            distribution = all_on(greedy, items.game.k)
        else:
            distribution = apply_rule(self.sampling, confidence, gaps, information)
        partner = draw(distribution, uniforms)
        count = items.game.k
        return Choices(
            greedy * count + partner,
            distribution,
            gaps,
            information,
            information_ratio(distribution, gaps, information),
            confidence.beta,
            confidence.center,
            position=partner,
            candidates=greedy[:, None] * count + np.arange(count),
        )

    def confidence_set(self, state: LinearState) -> ConfidenceSet:
        """Return E_t of the utilities."""
        return confidence_set(state.estimate, state.shape, self.confidence)

    def update(self, state: LinearState, action: Indices, observation: Array) -> LinearState:
        """Return the state after the outcomes of duels."""
        items = state.estimate.model
        first, second = np.divmod(action, items.game.k)
        rows = items.seen[first] - items.seen[second]
        expected = items.offsets[first] - items.offsets[second]
        residual = observation[:, 0] - expected
        moved = updated_by_rows(state.estimate, rows[:, None, :], residual[:, None])
        return LinearState(moved, state.shape)

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

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import (
    AnyConfidence,
    ConfidenceSet,
    Schedule,
    confidence_set,
)
from partial_monitoring.estimation.kernel import posterior as kernel
from partial_monitoring.estimation.kernel.design import kernel_model, refuse_loud
from partial_monitoring.estimation.kernel.ellipsoid import KernelConfidence
from partial_monitoring.estimation.linear.design import checked_options, model
from partial_monitoring.estimation.linear.least_squares import initial, updated_by_rows
from partial_monitoring.estimation.shapes import shape_of
from partial_monitoring.kernels.gram import Functionals
from partial_monitoring.model.dueling import DuelingGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.kernel_dueling import KernelDuelingGame
from partial_monitoring.policies.estimating import KernelState, LinearState
from partial_monitoring.policies.ids import sampling as sampling_rules
from partial_monitoring.policies.ids.gaps import through_greedy
from partial_monitoring.policies.ids.ids import apply_rule
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.ids.sampling import SamplingRule
from partial_monitoring.policies.policy import Choices, all_on, draw
from partial_monitoring.validation import Array, Indices

DuelingState = LinearState | KernelState


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

    def init(self, game: Game, replicates: int) -> DuelingState:
        """Return the state before the first round."""
        if isinstance(game, KernelDuelingGame):
            return self._init_functions(game, replicates)
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

    def _init_functions(self, game: KernelDuelingGame, replicates: int) -> KernelState:
        if self.prior_mean is not None:
            raise InvalidInput("prior_mean must be left out, a kernel game has prior mean 0.")
        prior = kernel_model(
            game.as_items(), regularization=self.regularization, norm_bound=self.norm_bound
        )
        refuse_loud(float(prior.distances(0).max()) / prior.regularization)
        return KernelState(kernel.initial(prior, replicates, width=2))

    def decide(
        self, state: DuelingState, uniforms: Array, available: Array | None = None
    ) -> Choices:
        """Choose duels."""
        if available is not None:
            raise InvalidInput("available cannot be given with DuelingIDS, which chooses items.")
        items = state.estimate.model
        confidence = self.confidence_set(state)
        if isinstance(confidence, KernelConfidence):
            base, greedy, psi = _compared_functions(confidence)
        else:
            base, greedy, psi = _compared(confidence)
        base = np.minimum(base, items.largest_gap)
        if items.dominant.any():  # such an item loses nothing against any other
            base = np.where(items.dominant, 0.0, base)
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
            confidence.estimate,
            position=partner,
            candidates=greedy[:, None] * count + np.arange(count),
        )

    def confidence_set(self, state: DuelingState) -> AnyConfidence:
        """Return E_t of the utilities."""
        return confidence_set(state.estimate, state.shape, self.confidence)

    def update(self, state: DuelingState, action: Indices, observation: Array) -> DuelingState:
        """Return the state after the outcomes of duels."""
        if isinstance(state, KernelState):
            seen = compared_by(state.estimate.model.game.k, action, observation)
            return KernelState(kernel.updated_by_rows(state.estimate, seen))
        items = state.estimate.model
        first, second = np.divmod(action, items.game.k)
        rows = items.seen[first] - items.seen[second]
        expected = items.offsets[first] - items.offsets[second]
        residual = observation[:, 0] - expected
        moved = updated_by_rows(state.estimate, rows[:, None, :], residual[:, None])
        return LinearState(moved, state.shape)


def compared_by(count: int, action: Indices, observation: Array) -> list[tuple[Functionals, Array]]:
    """Return the rows (1, 2) of duels (n,) among so many items, and what they showed (1,)."""
    return [
        (Functionals(np.array([divmod(int(a), count)]), np.array([[1.0, -1.0]])), shown[:1])
        for a, shown in zip(action, observation, strict=True)
    ]


def _compared(confidence: ConfidenceSet) -> tuple[Array, Indices, Array]:
    """Return the gaps of items (n, k), the greedy ones (n,), and psi of their duels (n, k)."""
    from partial_monitoring.numerics.compiled import linear

    data, items = confidence.data, confidence.data.model
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
    if items.dominant.any():
        greedy = np.full_like(greedy, items.dominant.argmax())
        away = items.seen - items.seen[greedy[0]]
        psi = np.maximum(((away @ data.inverse) * away).sum(axis=2), 0.0)
    return base, greedy, psi


def _compared_functions(confidence: KernelConfidence) -> tuple[Array, Indices, Array]:
    """Return the same for utilities that are functions."""
    base, greedy = through_greedy(confidence, through_mean=True)
    psi = [confidence.distances(row, int(g)) for row, g in enumerate(greedy)]
    return base, greedy, np.array(psi)

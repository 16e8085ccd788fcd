"""Information-directed sampling for linear partial monitoring (Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import AnyConfidence, Schedule, confidence_set
from partial_monitoring.estimation.kernel import posterior as kernel
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.linear.least_squares import Estimate, restricted
from partial_monitoring.estimation.shapes import Everything, Shape, shape_of
from partial_monitoring.policies.estimating import LinearPolicy
from partial_monitoring.policies.ids import gaps as gap_estimates
from partial_monitoring.policies.ids import information as information_gains
from partial_monitoring.policies.ids import sampling as sampling_rules
from partial_monitoring.policies.ids.gaps import GapEstimate
from partial_monitoring.policies.ids.information import InformationGain
from partial_monitoring.policies.ids.lazy_gaps import FROM as LAZY_FROM
from partial_monitoring.policies.ids.lazy_gaps import lazy_exact
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.ids.sampling import E2D, AnytimeE2D, SamplingRule, pair_rule
from partial_monitoring.policies.policy import Choices, all_on, draw
from partial_monitoring.validation import Array, Indices, real_array


@dataclass(frozen=True)
class IDS(LinearPolicy):
    """Play the distribution that trades least regret for most information.

    Parameters
    ----------
    gap
        Gap estimate: ``pm.gaps.exact``, ``.relaxed`` or ``.mean``.
    information
        Information gain: ``pm.information.log_det`` or ``.directed``.
    sampling
        Sampling rule: ``pm.sampling.exact``, ``.approximate``, ``.generalized(kappa)``,
        ``.deterministic`` or ``.e2d(tradeoff)``.
    confidence
        How wide E_t is: ``pm.confidence.paper()``, ``.fixed(delta)`` or ``.deviations(number)``.
    regularization, prior_mean, norm_bound
        lambda, theta_0 and B; see :func:`partial_monitoring.estimation.linear.design.model`.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> learner = pm.Learner(pm.games.apple_tasting(), pm.IDS(), seed=0)
    >>> decision = learner.ask()
    >>> learner.tell(decision, pm.Instance(learner.game, [0.9, 0.1]).observe(
    ...     decision.action, np.random.default_rng(0)))
    >>> learner.ask().round
    2
    """

    kernelized: ClassVar[bool] = True

    gap: GapEstimate = gap_estimates.exact
    information: InformationGain = information_gains.log_det
    sampling: SamplingRule = sampling_rules.exact
    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None

    def __post_init__(self) -> None:
        checked_options(self, ("gap", "information", "sampling", "confidence"))

    def choose(
        self,
        estimate: Estimate | KernelEstimate,
        shape: Shape,
        uniforms: Array,
        available: Array | None = None,
        *,
        alone: bool = True,
    ) -> Choices:
        """Choose actions: E_t, the gaps, the information, mu_t, a_t.

        An action that is best whatever the parameter in Theta is played whatever the rule: it loses
        nothing, and there is nothing to find out. In one of several contexts (not ``alone``) there
        may be for others: there it has no gap, and E2D trades that against information.
        """
        if available is not None:
            return self._among(estimate, uniforms, np.flatnonzero(available), alone)
        game = estimate.model.game
        confidence = confidence_set(estimate, shape, self.confidence)
        size = (estimate.replicates, game.k)
        information = fitting("information", self.information(game, confidence), size)
        if self._lazily(confidence):
            gaps, _ = lazy_exact(confidence, information, self.sampling)
        else:
            gaps = fitting("gap", self.gap(game, confidence), size)
        dominant, rule = estimate.model.dominant, pair_rule(self.sampling)
        if dominant.any():
            gaps = np.where(dominant, 0.0, gaps)
        if dominant.any() and (alone or not isinstance(self.sampling, E2D | AnytimeE2D)):
            action = np.full(len(gaps), dominant.argmax())
            distribution, ratio = all_on(action, game.k), np.zeros(len(gaps))
        elif rule is not None:
            pairs = rule.pairs(gaps, information)
            action, distribution = pairs.draw(uniforms), pairs.distribution(game.k)
            ratio = pairs.ratio
        else:
            distribution = apply_rule(self.sampling, confidence, gaps, information)
            action = draw(distribution, uniforms)
            ratio = information_ratio(distribution, gaps, information)
        return Choices(
            action, distribution, gaps, information, ratio, confidence.beta, confidence.estimate
        )

    def choose_in_context(
        self, estimate: Estimate, shape: Shape, uniforms: Array, available: Array | None
    ) -> Choices:
        """Choose actions in the game of one of several contexts (conditional IDS)."""
        return self.choose(estimate, shape, uniforms, available, alone=False)

    def _lazily(self, confidence: AnyConfidence) -> bool:
        """Whether exact gaps are better computed only where the sampling rule needs them."""
        ratio_rule = self.sampling is sampling_rules.exact or isinstance(
            self.sampling, sampling_rules.Generalized
        )
        many = confidence.data.model.game.k >= LAZY_FROM
        free = isinstance(confidence.shape, Everything)
        return self.gap is gap_estimates.exact and ratio_rule and many and free

    def _among(
        self,
        estimate: Estimate | KernelEstimate,
        uniforms: Array,
        chosen: Indices,
        alone: bool,
    ) -> Choices:
        """Decide in the game with only the chosen actions, and place the answer in the whole."""
        whole = estimate.model.game
        if isinstance(estimate, KernelEstimate):
            choice = self.choose(kernel.restricted(estimate, chosen), Everything(), uniforms)
            choice = replace(choice, estimate=estimate.means.copy())
        else:
            part = restricted(estimate, chosen)
            choice = self.choose(part, shape_of(part.model), uniforms, alone=alone)

        def placed(values: Array, other: float) -> Array:
            full = np.full((len(values), whole.k), other)
            full[:, chosen] = values
            return full

        return replace(
            choice,
            action=chosen[choice.action],
            distribution=placed(choice.distribution, 0.0),
            gaps=placed(choice.gaps, np.inf),
            information=placed(choice.information, 0.0),
        )


def apply_rule(
    rule: SamplingRule, confidence: AnyConfidence, gaps: Array, information: Array
) -> Array:
    """Apply a sampling rule, telling it of the rounds played if it wants to know."""
    if isinstance(rule, sampling_rules.AnytimeE2D):
        gained = 0.5 * confidence.data.log_det
        return rule.after(gaps, information, confidence.round, gained)
    mu = rule(gaps, information)
    if sampling_rules.is_ours(rule):
        return mu
    mu = fitting("sampling", mu, gaps.shape)
    if not (mu.min() >= 0 and np.abs(mu.sum(axis=1) - 1.0).max() <= 1e-9):
        raise InvalidInput(
            f"what sampling returns must be probabilities; got a row with entries from "
            f"{mu.min():g} to {mu.max():g} and sums from {mu.sum(axis=1).min():g} to "
            f"{mu.sum(axis=1).max():g}."
        )
    return mu


def fitting(name: str, values: Array, shape: tuple[int, ...]) -> Array:
    """Return what a part of a policy gave, if it has the shape it should have."""
    if isinstance(values, np.ndarray) and values.shape == shape and values.dtype == np.float64:
        return values
    return real_array(f"what {name} returns", values, shape)

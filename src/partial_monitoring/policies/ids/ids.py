"""Information-directed sampling for linear partial monitoring (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.later import attribute
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.state import View
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.estimating import EstimatingPolicy
from partial_monitoring.policies.ids import gaps as gap_estimates
from partial_monitoring.policies.ids import information as information_gains
from partial_monitoring.policies.ids import sampling as sampling_rules
from partial_monitoring.policies.ids.gaps import GapEstimate
from partial_monitoring.policies.ids.information import InformationGain
from partial_monitoring.policies.ids.lazy_gaps import lazily, pays
from partial_monitoring.policies.ids.ratio import right_shape
from partial_monitoring.policies.ids.sampling import Generalized, Rule, SamplingRule, as_rule
from partial_monitoring.policies.needs import Needs
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.promise import Promise, of_parts
from partial_monitoring.policies.units import Units, units_of_parts
from partial_monitoring.validation import Array


@dataclass(frozen=True)
class IDS(EstimatingPolicy):
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
        How wide E_t is: ``pm.confidence.paper()``, ``.fixed(delta)``, ``.likelihood_ratio(delta)``,
        ``.deviations(number)`` or ``.calibrated(c0, c1)``.
    regularization
        lambda > 0, the weight of the prior mean in the least-squares estimate.
    prior_mean
        theta_0; by default 0, the centre, the midpoint, the uniform distribution or a point of the
        relative interior, depending on Theta. It is projected onto the affine hull of Theta.
    norm_bound
        B, the largest distance of the truth from it; by default that of Theta, and 1 on unbounded
        sets.
    half_life
        After how many rounds an observation weighs half, for a world that changes, and sooner where
        the same was observed again; None: nothing is forgotten. Not for games over functions or
        boxes.

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

    card: ClassVar[Card] = Card(
        "stochastic",
        "every kind of game that can be learned",
        "O~(n^(1/2)) on easy and O~(n^(2/3)) on hard games",
        "O(k^2 + k d^2) with exact gaps, O(k d) with relaxed ones",
        "Kirschner, Lattimore and Krause (2023)",
    )

    needs: ClassVar[Needs] = Needs(listed=False)
    kernelized: ClassVar[bool] = True

    gap: GapEstimate = gap_estimates.exact
    information: InformationGain = information_gains.log_det
    sampling: SamplingRule = sampling_rules.exact
    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None
    half_life: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checked_options(self, ("gap", "information", "sampling", "confidence"))

    def choose(self, view: View, uniforms: Array) -> Choices:
        """Choose actions: E_t, the information, the gaps, mu_t, a_t (Algorithm 2).

        An action that is best whatever the parameter in Theta is played whatever the rule: it loses
        nothing, and there is nothing to find out. In one of several contexts there may be for
        others: there it has no gap, and E2D trades that against information.
        """
        confidence, rule = view.confidence, as_rule(self.sampling)
        information = asked("information", self.information, confidence)
        gaps = self._gaps(confidence, information, rule)
        best, k = confidence.always_best, gaps.shape[1]
        first = best.argmax()
        if best[first]:
            gaps = np.where(best, 0.0, gaps)
        if best[first] and (view.alone or not rule.explores_for_others):
            action = np.full(len(gaps), first)
            distribution, ratio = point_mass(action, k), np.zeros(len(gaps))
        else:
            answer = rule.solve(gaps, information, confidence)
            action, distribution = answer.play(uniforms, k)
            ratio = answer.ratio
        later = attribute(confidence, "beta"), attribute(confidence, "estimate")
        return Choices(action, distribution, gaps, information, ratio, *later)

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this policy, or say why there are none."""
        from partial_monitoring.policies.ids.program import ids_program

        return ids_program(self, state)

    def units(self, state: Any = None) -> Units:
        """Return what gaps and information are measured in."""
        return units_of_parts(self.gap, self.information)

    def promise(self, game: AnyGame | None = None) -> Promise:
        """Return what is proven of these parts, on a game or wherever the theory holds."""
        words: str = getattr(self.confidence, "promise", "")
        return of_parts(words, [] if not words else self.uncovered(game))

    def uncovered(self, game: AnyGame | None = None) -> list[str]:
        """Return what the theory does not cover, confidence sets aside.

        Gaps may be exact, relaxed (they keep the bounds), or mean where Theta does not cut E_t,
        since they are then at most the relaxed ones.
        """
        gaps = [gap_estimates.exact, gap_estimates.relaxed]
        if self.gap is gap_estimates.mean and not self._is_cut(game):
            gaps.append(self.gap)
        gains = [information_gains.log_det]
        if game is None or not game.traits.contexts:
            gains.append(information_gains.directed)
        covered = {
            "these gaps": self.gap in gaps,
            "this information": self.information in gains,
            "this sampling rule": as_rule(self.sampling) == Generalized(),
            "candidates of a box": game is None or game.traits.listed,
            "forgetting": self.half_life is None,
        }
        return [part for part, known in covered.items() if not known]

    def _is_cut(self, game: AnyGame | None) -> bool:
        """Whether Theta cuts E_t, in the first of several contexts."""
        if game is None:
            return False
        context = game.context(0 if game.traits.contexts else None)
        plausible = self.confidence_set(self.init(game, 1), **context.options)
        return plausible.uncut is not plausible

    def _gaps(self, confidence: ConfidenceSet, information: Array, rule: Rule) -> Array:
        """Return the gaps; among many actions, exact ones only where the rule needs them."""
        if rule.minimizes_ratio and pays(confidence):
            lazy, answers = lazily(confidence, information, rule)
            gaps = asked("gap", self.gap, lazy)
            if not answers or gaps is answers[-1]:
                return gaps
        return asked("gap", self.gap, confidence)


def asked(name: str, function: Callable[[Any, Any], Array], confidence: Any) -> Array:
    """Return what a gap estimate or an information gain says, if it has the right shape (n, k)."""
    values = function(confidence.game, confidence)
    return right_shape(name, values, (len(confidence.round), confidence.k))

"""Duels in time proportional to the number of items instead of pairs.

The gap of a pair is the sum of the gaps of its items, and psi(a, b) = |phi_a - phi_b|^2 in the norm
of V_t^-1 is the square of a metric. So for any pair (a, b) one of (ah, a), (ah, b) with the greedy
item ah has a gap no larger and at least a quarter of the information: considering only pairs with
ah costs at most a factor of 4 in the information ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.state import View
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.ids import gaps
from partial_monitoring.policies.ids import sampling as sampling_rules
from partial_monitoring.policies.ids.duels import DuelPolicy, duels_of
from partial_monitoring.policies.ids.sampling import Generalized, SamplingRule, as_rule
from partial_monitoring.policies.needs import Needs
from partial_monitoring.policies.policy import Choices, draw, point_mass
from partial_monitoring.policies.promise import Promise, of_parts
from partial_monitoring.policies.units import NATS, Units
from partial_monitoring.validation import Array


@dataclass(frozen=True)
class DuelingIDS(DuelPolicy):
    """Information-directed sampling among the duels of the greedy item with every item.

    Parameters
    ----------
    sampling, confidence, regularization, prior_mean, norm_bound, half_life
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

    card: ClassVar[Card] = Card(
        "stochastic",
        "duels",
        "O~(n^(1/2))",
        "O(items d^2), pairs are never listed",
        "Kirschner and Krause (2021); Kirschner, Lattimore and Krause (2023)",
    )

    needs: ClassVar[Needs] = Needs(listed=False, duels=True, contexts=False)

    sampling: SamplingRule = sampling_rules.exact
    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None
    half_life: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checked_options(self, ("sampling", "confidence"))

    def promise(self, game: AnyGame | None = None) -> Promise:
        """Return what is proven: considering only the greedy item's duels costs a factor of 4."""
        words: str = getattr(self.confidence, "promise", "")
        missing = [] if as_rule(self.sampling) == Generalized() else ["this sampling rule"]
        missing += [] if self.half_life is None else ["forgetting"]
        return of_parts(words and f"{words}, with 4 times the information ratio", missing)

    def units(self, state: Any = None) -> Units:
        """Return what gaps and information are measured in."""
        return Units(gaps.AT_MOST, NATS)

    def choose(self, view: View, uniforms: Array) -> Choices:
        confidence = view.confidence
        base, greedy, psi = confidence.duels()
        base = np.minimum(base, confidence.gap_ceiling)
        best = confidence.always_best
        if best.any():  # such an item loses nothing against any other
            base = np.where(best, 0.0, base)
            distribution = point_mass(greedy, base.shape[1])
        else:
            gaps = base + np.take_along_axis(base, greedy[:, None], axis=1)
            answer = as_rule(self.sampling).solve(gaps, 0.5 * np.log1p(psi), confidence)
            distribution = answer.distribution(base.shape[1])
        second = draw(distribution, uniforms)
        return duels_of(confidence, greedy, second, distribution, base, 0.5 * np.log1p(psi))

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this policy, or say why there are none."""
        from partial_monitoring.policies.ids.duel_program import duel_program

        return duel_program(self, state, improving=False)

"""The rule for Gaussian feedback: information-directed sampling on expected improvements.

Under the posterior N(theta_hat, rho^2 V_t^-1) with the prior variance B^2 / D in each of the D
directions of Theta (of functions: that of a Gaussian process with the kernel of the game), what may
be lost is the sum of the expected improvements over the action that looks best, and what is worth
knowing are the differences that decide between it and its rivals. Nothing depends on a width, so
nothing is to be tuned; no bound is proven.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.state import Context, View
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.ids import gaps, information
from partial_monitoring.policies.ids.contextual import ContextualIDS
from partial_monitoring.policies.ids.duel_program import duel_program
from partial_monitoring.policies.ids.dueling import DuelingIDS
from partial_monitoring.policies.ids.duels import duels_of
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.policies.ids.sampling import as_rule
from partial_monitoring.policies.policy import Choices, Policy, draw, gathered, point_mass
from partial_monitoring.policies.units import Units, units_of_parts
from partial_monitoring.validation import LARGEST, SMALLEST, Array

SHOWN = schedules.deviations(2.0)
"""The confidence set that is reported; candidates of boxes are searched for with it."""

MISSED_BY_SIGNS = 0.5
"""What counts as missed in a duel that shows who won. A sign tells little, so that a long search
would cost more than it finds in the few duels that people answer; chosen on fifty items in the
plane and forty duels, and no worse in thousands of duels of few items."""

LARGEST_LEVERAGE = 1e10
"""The prior is at least so strong that no row is larger than this many lambda."""


def gaussian_rule(game: AnyGame, half_life: float | None = None) -> Policy[Any]:
    """Return the rule for a game whose feedback counts as Gaussian."""
    lam = prior_weight(game)
    if game.traits.duels and not game.traits.contexts:
        signs = bool(game.feedback().chances)
        return ImprovingDuels(
            confidence=SHOWN,
            regularization=lam,  # type: ignore[arg-type]
            missed=MISSED_BY_SIGNS if signs else 2.0,
            half_life=half_life,
        )
    build = ContextualIDS if game.traits.contexts else IDS
    parts = {"gap": gaps.improvement, "information": information.improvement}
    options = {"confidence": SHOWN, "regularization": lam, "half_life": half_life}
    return build(**parts, **options)  # type: ignore[arg-type]


def prior_weight(game: Any) -> float | None:
    """Return lambda = D rho^2 / B^2; None for functions, whose kernel says how large they are.

    Noise that differs between actions is divided out, which leaves rho = 1.
    """
    if game.traits.function:
        return None
    parameters, games = game.parameters, game.games if game.traits.contexts else (game,)
    noises = np.unique(np.concatenate([np.atleast_1d(own.noise_std) for own in games]))
    rho = float(noises[0]) if len(noises) == 1 else 1.0
    bound = parameters.assumed_bound(parameters.relative_interior_point()) or 1.0
    weight = max(parameters.dimension, 1) * (rho / bound) ** 2
    weight = max(weight, max(map(_largest_row, games)) / LARGEST_LEVERAGE)
    return float(np.clip(weight, SMALLEST, LARGEST))  # rows that stay too large are refused as such


def _largest_row(game: Any) -> float:
    """Return the largest squared row that is observed, in units of the noise where it differs."""
    if game.traits.duels:
        items = game.item_features
        return 4.0 * float((items**2).sum(axis=1).max())
    squared = (game.observation_maps**2).sum(axis=2)
    noise = np.asarray(game.noise_std)
    return float((squared / noise[:, None] ** 2 if noise.ndim else squared).max(initial=0.0))


@dataclass(frozen=True)
class ImprovingDuels(DuelingIDS):
    """Let the greedy item meet one that may be better, or that tells about those that may.

    If only some duels are available they are listed, and rivals of each other.
    """

    missed: float = 2.0
    """How often the expected improvements over the greedy item count against a duel: each of two
    items misses them."""

    def decide(
        self,
        state: Any,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        if available is None:
            return super().decide(state, uniforms)
        actions, width = np.flatnonzero(available), len(available)
        view = View(state.through_pairs(actions, self.confidence), actions=actions, width=width)
        return gathered([(view, _listed(self).choose(view, uniforms))])

    def units(self, state: Any = None) -> Units:
        return units_of_parts(gaps.improvement, information.improvement)

    def choose(self, view: View, uniforms: Array) -> Choices:
        confidence = view.confidence
        (base, told), greedy, _ = confidence.improvement_of_duels()
        best = confidence.always_best
        if best.any():  # such an item loses nothing against any other
            base, greedy = np.where(best, 0.0, base), np.full_like(greedy, best.argmax())
            distribution = point_mass(greedy, base.shape[1])
        else:
            improvements = np.take_along_axis(base, greedy[:, None], axis=1)
            pairs = base + (self.missed - 1.0) * improvements
            answer = as_rule(self.sampling).solve(pairs, told, confidence)
            distribution = answer.distribution(base.shape[1])
        second = draw(distribution, uniforms)
        return duels_of(confidence, greedy, second, distribution, base, told)

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this rule, or say why there are none."""
        return duel_program(self, state, improving=True, missed=self.missed)


def _listed(rule: DuelingIDS) -> IDS:
    """Return the same rule for actions that are listed."""
    return IDS(gap=gaps.improvement, information=information.improvement, sampling=rule.sampling)

"""What theory guarantees the policies of an instance: a bound of regret, where one holds.

The bounds of :func:`partial_monitoring.bounds` are about IDS with the paper's confidence sets and
sampling rule, and a truth within B of the prior mean; kernels have norms instead of distances.
Which parts they cover, ``IDS.uncovered`` knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring.analysis.bounds import Bounds, bounds
from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.estimation import confidence
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.policies.ids import information
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.report.game_class import Verdict
from partial_monitoring.simulation.comparison import Comparison
from partial_monitoring.validation import Array, Indices

INFORMATION = {information.log_det: "log_det", information.directed: "directed"}
"""Information gains with a bound, and what the bound is called."""

OUTSIDE = 1e-6
"""Share of the norm bound by which a truth may exceed it, for rounding."""

FLAT = 1e-15
"""Eigenvalues of a Gram matrix below this share of the largest, times its size, are rounding."""


@dataclass(frozen=True, eq=False)
class Guarantee:
    """The bound of some policies of an instance, which share their options."""

    policies: tuple[str, ...]
    norm_bound: float
    """B."""
    norm: float
    """The largest norm of the truths, or distance from the prior mean."""
    kernel: bool
    """Whether it is a norm."""
    of: Callable[[Any], Bounds]

    @property
    def holds(self) -> bool:
        """Whether all truths are within the norm bound."""
        return self.norm <= (1 + OUTSIDE) * self.norm_bound

    def at(self, rounds: Indices) -> Array:
        """Return the bound after each of the rounds; nan where more cannot be lost anyway."""
        found = self.of(rounds)
        return np.where(found.regret < found.largest_loss, found.regret, np.nan)

    @property
    def start(self) -> float:
        """The first round from which the bound says something; infinite if there is none."""
        return self.of(1).informative_from


def guarantees(comparison: Comparison, verdict: Verdict) -> list[Guarantee]:
    """Return the bounds of the policies that have one, in the order of the policies."""
    if verdict.analysis is None or verdict.analysis.category == "trivial":
        return []
    if comparison.result.against:  # the bounds are about a truth that stays the same
        return []
    together: dict[Any, list[str]] = {}
    for name in comparison.result.policies:
        policy: Any = comparison.policies.get(name)
        if has_bound(policy, verdict.game):
            key = policy.information, policy.regularization, policy.prior_mean, policy.norm_bound
            together.setdefault(key, []).append(name)
    found = (_guarantee(comparison, verdict, names) for names in together.values())
    return [own for own in found if own is not None]


def has_bound(policy: object, game: Any) -> bool:
    """Whether the theory is about this policy."""
    if type(policy) is not IDS or policy.confidence != confidence.paper():
        return False
    return not policy.uncovered(game)


def _guarantee(comparison: Comparison, verdict: Verdict, names: list[str]) -> Guarantee | None:
    policy: Any = comparison.policies[names[0]]
    game: Any = verdict.game
    design = policy.init(game, 1).design
    options: dict[str, Any] = {
        "analysis": verdict.analysis,
        "information": INFORMATION[policy.information],
        "regularization": design.regularization,
        "norm_bound": design.norm_bound,
        "max_gap": design.largest_gap,
    }
    try:
        found = bounds(game, 1, **options)
    except PartialMonitoringError:
        return None
    if not np.isfinite(found.regret).all():
        return None
    options |= {"local_alignment": found.local_alignment}
    theta, kernel = comparison.result.theta, bool(game.traits.function)
    away = np.linalg.norm(theta - design.prior_mean, axis=1).max(initial=0.0)
    norm = largest_norm(game, theta) if kernel else float(away)
    return Guarantee(
        tuple(names), design.norm_bound, norm, kernel, lambda n: bounds(game, n, **options)
    )


def largest_norm(game: FunctionGame, theta: Array) -> float:
    """Return the largest norm (theta' K^+ theta)^(1/2) of truths (n, d)."""
    values, vectors = np.linalg.eigh(game.gram.matrix)
    floor = max(FLAT * len(values) * float(values[-1]), 1e-300)
    parts = theta @ vectors / np.sqrt(np.maximum(values, floor))
    return float(np.sqrt((parts**2).sum(axis=1).max(initial=0.0)))

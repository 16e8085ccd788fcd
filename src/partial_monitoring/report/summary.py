"""The numbers of a report: one summary per policy and instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.report.game_class import Verdict, verdicts
from partial_monitoring.report.series import Curves, Plays, curves, plays
from partial_monitoring.report.significance import Pair, pairs
from partial_monitoring.simulation.result import Comparison, Exponent, Result
from partial_monitoring.validation import Array, Indices

OUTSIDE = 1e-6
"""Share of the norm bound by which a truth may exceed it, for rounding."""

FLAT = 1e-15
"""Eigenvalues of a Gram matrix below this share of the largest, times its size, are rounding."""


@dataclass(frozen=True)
class Summary:
    """One policy on all seeds of one instance, at the horizon."""

    policy: str
    mean: float
    error: float
    """Standard error of the mean; nan for a single seed."""
    median: float
    q95: float
    exponent: Exponent | None
    """The fitted growth; None with fewer than two late checkpoints."""
    seconds: float
    seconds_per_round: float
    """Time of one decision of one seed; all seeds advance together."""


@dataclass(frozen=True, eq=False)
class Section:
    """A comparison with all numbers that are computed before it is shown."""

    comparison: Comparison
    verdict: Verdict
    summaries: list[Summary]
    """In the order of the experiment."""
    pairs: list[Pair]

    @property
    def by_policy(self) -> dict[str, Summary]:
        """The summaries by the name of the policy."""
        return {summary.policy: summary for summary in self.summaries}

    @property
    def best(self) -> str | None:
        """The policy with the least mean regret, the first of equals; None if none played."""
        if not self.summaries:
            return None
        return min(self.summaries, key=lambda summary: summary.mean).policy

    @property
    def leaders(self) -> list[str]:
        """The best policy and those that are not clearly worse."""
        pairs = {s.policy: self.against_best(s.policy) for s in self.summaries}
        return [name for name, pair in pairs.items() if not pair or pair.better != self.best]

    def against_best(self, policy: str) -> Pair | None:
        """Return the pair of a policy and the best one; None for the best itself."""
        wanted = {policy, self.best}
        return next((pair for pair in self.pairs if {pair.first, pair.second} == wanted), None)

    @cached_property
    def excess(self) -> float | None:
        """The largest norm of the truths of a kernel game if it exceeds the bound, else None."""
        game: Any = self.comparison.game
        if not game.traits.function:
            return None
        largest = largest_norm(game, self.comparison.result.theta)
        return largest if largest > (1 + OUTSIDE) * game.norm_bound else None

    def bound(self, rounds: Indices) -> Array | None:
        """Return the regret that theory guarantees for IDS after each of the rounds, if any."""
        found = self.verdict.bound(rounds)
        return None if found is None or self.excess is not None else found

    @cached_property
    def curves(self) -> dict[str, Curves]:
        """What is drawn over the rounds, by policy."""
        result = self.comparison.result
        return {name: curves(result, name) for name in result.policies}

    @cached_property
    def plays(self) -> Plays | None:
        """The shares of the actions; None if plays were not counted."""
        return plays(self.comparison)

    @property
    def unplayed(self) -> dict[str, str]:
        """The policies without numbers, and why they have none."""
        comparison, why = self.comparison, "The run was interrupted before its first checkpoint."
        missing = [name for name in comparison.policies if name not in comparison.result.policies]
        return dict.fromkeys(missing, why) | dict(comparison.refused)


def largest_norm(game: FunctionGame, theta: Array) -> float:
    """Return the largest norm (theta' K^+ theta)^(1/2) of truths (n, d)."""
    values, vectors = np.linalg.eigh(game.gram.matrix)
    floor = max(FLAT * len(values) * float(values[-1]), 1e-300)
    parts = theta @ vectors / np.sqrt(np.maximum(values, floor))
    return float(np.sqrt((parts**2).sum(axis=1).max(initial=0.0)))


def sections(comparisons: Comparison | Iterable[Comparison]) -> list[Section]:
    """Compute everything that tables, figures and the page show."""
    given = [comparisons] if isinstance(comparisons, Comparison) else list(comparisons)
    if not given:
        raise InvalidInput("comparisons must hold at least one comparison; got none.")
    for item in given:
        if not isinstance(item, Comparison):
            raise InvalidInput(f"comparisons must hold Comparison objects; got {item!r}.")
    found = []
    for comparison, verdict in zip(given, verdicts(given), strict=True):
        result = comparison.result
        summaries = [summarize(result, name) for name in result.policies]
        found.append(Section(comparison, verdict, summaries, pairs(result)))
    return found


def summarize(result: Result, policy: str) -> Summary:
    """Return the summary of one policy."""
    try:
        exponent = result.exponent(policy)
    except InvalidInput:  # too few checkpoints
        exponent = None
    seconds = float(result.seconds.get(policy, np.nan))
    return Summary(
        policy,
        float(result.mean(policy)[-1]),
        float(result.standard_error(policy)[-1]),
        float(result.quantile(policy, 0.5)[-1]),
        float(result.quantile(policy, 0.95)[-1]),
        exponent,
        seconds,
        seconds / (result.horizon * len(result.seeds)),
    )


def summary_rows(comparisons: Comparison | Iterable[Comparison]) -> list[dict[str, Any]]:
    """Return one plain row per policy and instance, as ``--json`` prints them."""
    return section_rows(sections(comparisons))


def section_rows(counted: Sequence[Section]) -> list[dict[str, Any]]:
    """Return one plain row per policy and instance, as files hold them.

    A number that does not exist (the error of a single seed, the exponent of one checkpoint) is
    None. ``seconds`` is the time of all rounds of all seeds.
    """
    return [_row(section, summary) for section in counted for summary in section.summaries]


def _row(section: Section, summary: Summary) -> dict[str, Any]:
    comparison, fit = section.comparison, summary.exponent
    pair = section.against_best(summary.policy)
    names = {
        "game": comparison.game_name,
        "instance": comparison.instance,
        "class": section.verdict.category,
        "policy": summary.policy,
        "best": summary.policy == section.best,
        "horizon": comparison.result.horizon,
        "seeds": len(comparison.result.seeds),
    }
    numbers: dict[str, Any] = {
        "regret_mean": summary.mean,
        "regret_se": summary.error,
        "regret_median": summary.median,
        "regret_q95": summary.q95,
        "exponent": fit and fit.value,
        "exponent_low": fit and fit.low,
        "exponent_high": fit and fit.high,
        "class_exponent": section.verdict.exponent,
        "p_against_best": pair and pair.adjusted,
        "seconds": summary.seconds,
        "seconds_per_round": summary.seconds_per_round,
    }
    known = {
        key: value if value is not None and np.isfinite(value) else None
        for key, value in numbers.items()
    }
    return names | known

"""The numbers of a report: one summary per policy and instance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.report.game_class import Verdict, verdicts
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


@dataclass(frozen=True)
class Excess:
    """True functions outside the norm bound of a kernel game, for which no theory holds."""

    norm: float
    """The largest norm of a truth."""
    bound: float
    """The norm bound of the game."""


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
        beaten = {
            name
            for pair in self.pairs
            if pair.better == self.best
            for name in (pair.first, pair.second)
            if name != self.best
        }
        return [s.policy for s in self.summaries if s.policy not in beaten]

    def against_best(self, policy: str) -> Pair | None:
        """Return the pair of a policy and the best one; None for the best itself."""
        wanted = {policy, self.best}
        return next((pair for pair in self.pairs if {pair.first, pair.second} == wanted), None)

    @cached_property
    def excess(self) -> Excess | None:
        """By how much the truths of a kernel game exceed its norm bound, if they do."""
        return norm_excess(self.comparison.game, self.comparison.result.theta)

    def bound(self, rounds: Indices) -> Array | None:
        """Return the regret that theory guarantees for IDS after each of the rounds, if any."""
        found = self.verdict.bound(rounds)
        return None if found is None or self.excess is not None else found

    @property
    def unfinished(self) -> list[str]:
        """Policies without numbers that were not refused: the run was interrupted."""
        known = {*self.comparison.result.policies, *self.comparison.refused}
        return [name for name in self.comparison.policies if name not in known]


def norm_excess(game: Any, theta: Array) -> Excess | None:
    """Return the excess of truths (n, d) over the norm bound of their game; None if none is."""
    if not game.traits.function:
        return None
    largest = largest_norm(game, theta)
    return Excess(largest, game.norm_bound) if largest > (1 + OUTSIDE) * game.norm_bound else None


def largest_norm(game: FunctionGame, theta: Array) -> float:
    """Return the largest norm (theta' K^+ theta)^(1/2) of truths (n, d)."""
    values, vectors = np.linalg.eigh(game.gram.matrix)
    floor = max(FLAT * len(values) * float(values[-1]), 1e-300)
    parts = theta @ vectors / np.sqrt(np.maximum(values, floor))
    return float(np.sqrt((parts**2).sum(axis=1).max(initial=0.0)))


def sections(comparisons: Comparison | Iterable[Comparison]) -> list[Section]:
    """Compute everything that tables, figures and the page show."""
    checked = checked_comparisons(comparisons)
    return [
        Section(
            comparison,
            verdict,
            [summarize(comparison.result, name) for name in comparison.result.policies],
            pairs(comparison.result),
        )
        for comparison, verdict in zip(checked, verdicts(checked), strict=True)
    ]


def checked_comparisons(comparisons: Comparison | Iterable[Comparison]) -> list[Comparison]:
    """Return the comparisons; none, or anything else, is refused."""
    given = [comparisons] if isinstance(comparisons, Comparison) else list(comparisons)
    if not given:
        raise InvalidInput("comparisons must hold at least one comparison; got none.")
    for item in given:
        if not isinstance(item, Comparison):
            raise InvalidInput(f"comparisons must hold Comparison objects; got {item!r}.")
    return given


def summarize(result: Result, policy: str) -> Summary:
    """Return the summary of one policy."""
    decisions = result.horizon * len(result.seeds)
    seconds = float(result.seconds.get(policy, np.nan))
    return Summary(
        policy,
        float(result.mean(policy)[-1]),
        float(result.standard_error(policy)[-1]),
        float(result.quantile(policy, 0.5)[-1]),
        float(result.quantile(policy, 0.95)[-1]),
        fitted_exponent(result, policy),
        seconds,
        seconds / decisions,
    )


def fitted_exponent(result: Result, policy: str) -> Exponent | None:
    """Return the fitted exponent; a single seed has no interval, a short run no exponent."""
    try:
        fit = result.exponent(policy)
    except InvalidInput:
        return None
    return fit if len(result.seeds) > 1 else Exponent(fit.value, np.nan, np.nan)


def summary_rows(comparisons: Comparison | Iterable[Comparison]) -> list[dict[str, Any]]:
    """Return one plain row per policy and instance, as files and ``--json`` hold them.

    A number that does not exist (the error of a single seed, the exponent of one checkpoint) is
    None. ``seconds`` is the time of all rounds of all seeds.
    """
    return [row for section in sections(comparisons) for row in section_rows(section)]


def section_rows(section: Section) -> list[dict[str, Any]]:
    """Return the rows of one comparison."""
    comparison, result = section.comparison, section.comparison.result
    rows = []
    for summary in section.summaries:
        fit = summary.exponent
        pair = section.against_best(summary.policy)
        numbers = {
            "regret_mean": summary.mean,
            "regret_se": summary.error,
            "regret_median": summary.median,
            "regret_q95": summary.q95,
            "exponent": None if fit is None else fit.value,
            "exponent_low": None if fit is None else fit.low,
            "exponent_high": None if fit is None else fit.high,
            "class_exponent": section.verdict.exponent,
            "p_against_best": None if pair is None else pair.adjusted,
            "seconds": summary.seconds,
            "seconds_per_round": summary.seconds_per_round,
        }
        rows.append(
            {
                "game": comparison.game_name,
                "instance": comparison.instance,
                "class": section.verdict.category,
                "policy": summary.policy,
                "best": summary.policy == section.best,
                "horizon": result.horizon,
                "seeds": len(result.seeds),
            }
            | {key: _or_none(value) for key, value in numbers.items()}
        )
    return rows


def _or_none(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else value

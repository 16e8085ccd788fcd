"""The numbers of a report: one summary per policy and instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.promise import Promise, promise_of
from partial_monitoring.report.game_class import Verdict, verdicts
from partial_monitoring.report.guarantee import Guarantee, guarantees
from partial_monitoring.report.series import Curves, Plays, curves, plays
from partial_monitoring.report.significance import Pair, pairs, too_few
from partial_monitoring.simulation.comparison import Comparison
from partial_monitoring.simulation.exponent import Exponent
from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import Array, Indices, brief

LONG = 1000
"""Rounds after which the growth of regret is fitted: before, it describes only the start."""


WRONG = 1e-9
"""Fraction of the largest loss beyond which an action is wrong."""


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
    """The fitted growth; None in short runs and with fewer than two late checkpoints."""
    seconds: float
    seconds_per_round: float
    """Time of one decision of one seed; all seeds advance together."""
    linear: float | None = None
    """Share of seeds that in the second half of the rounds still lose at least half the gap between
    the best action and the next one per round; None where there is no such gap."""


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

    @property
    def undecided(self) -> bool:
        """Whether there are too few seeds to prove an order of the policies."""
        return too_few(len(self.comparison.result.seeds))

    @property
    def winner(self) -> str | None:
        """The policy that is clearly better than every other one, if one is."""
        leaders = self.leaders
        return leaders[0] if len(leaders) == 1 and len(self.summaries) > 1 else None

    @cached_property
    def guarantees(self) -> list[Guarantee]:
        """What theory guarantees policies that were played."""
        return guarantees(self.comparison, self.verdict)

    @property
    def promises(self) -> dict[str, Promise]:
        """What the policies promise on this game, by name; those that say so."""
        policies, game = self.comparison.policies, self.comparison.game
        stated = {name: promise_of(policy, game) for name, policy in policies.items()}
        return {name: promise for name, promise in stated.items() if promise is not None}

    def bounds(self, rounds: Indices) -> dict[str, Array]:
        """Return the bounds that hold and say something in these rounds, by what they are called.

        They are nan in rounds in which they say nothing.
        """
        found = {own.policies: own.at(rounds) for own in self.guarantees if own.holds}
        shown = {names: bound for names, bound in found.items() if np.isfinite(bound).any()}
        return {
            "bound for " + ("IDS" if len(shown) == 1 else ", ".join(names)): bound
            for names, bound in shown.items()
        }

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


def sections(comparisons: Comparison | Iterable[Comparison]) -> list[Section]:
    """Compute everything that tables, figures and the page show."""
    if isinstance(comparisons, Comparison):
        comparisons = [comparisons]
    if not isinstance(comparisons, Iterable):
        raise InvalidInput(f"comparisons must be Comparison objects; got {brief(comparisons)}.")
    given = list(comparisons)
    if not given:
        raise InvalidInput("comparisons must hold at least one comparison; got none.")
    for item in given:
        if not isinstance(item, Comparison):
            raise InvalidInput(f"comparisons must hold Comparison objects; got {brief(item)}.")
    found = []
    for comparison, verdict in zip(given, verdicts(given), strict=True):
        result = comparison.result
        gaps = smallest_gaps(comparison)
        summaries = [summarize(result, name, gaps) for name in result.policies]
        found.append(Section(comparison, verdict, summaries, pairs(result)))
    return found


def smallest_gaps(comparison: Comparison) -> Array | None:
    """Return what the best of the wrong actions loses per round, for each seed, shape (seeds,).

    Infinite where no action is wrong; None in games with contexts or without a list of actions, and
    where the truth is not one parameter.
    """
    game, result = comparison.game, comparison.result
    unlike = game.traits.contexts or not game.traits.listed or result.theta.shape[1:] != (game.d,)
    if unlike or result.against:
        return None
    tables = game.truths(result.theta).tables()
    if tables is None:
        return None
    losses = np.asarray(tables.losses)[:, 0]  # (seeds, k)
    wrong = losses > WRONG * np.abs(losses).max(initial=0.0)
    return np.asarray(np.where(wrong, losses, np.inf).min(axis=1))


def linear_share(result: Result, policy: str, gaps: Array) -> float | None:
    """Return the share of seeds with linear regret; None in runs with too few checkpoints."""
    halves = np.flatnonzero(2 * result.checkpoints <= result.horizon)
    if not len(halves) or 4 * result.checkpoints[halves[-1]] < result.horizon:
        return None
    half, played = halves[-1], result.played(policy)
    regret = result.regret[policy][played]
    rounds = result.horizon - result.checkpoints[half]
    return float((regret[:, -1] - regret[:, half] >= rounds / 2 * gaps[played]).mean())


def summarize(result: Result, policy: str, gaps: Array | None = None) -> Summary:
    """Return the summary of one policy, given the smallest gaps of the seeds, if they are known."""
    try:
        exponent = result.exponent(policy) if result.horizon >= LONG else None
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
        seconds / (result.horizon * int(result.played(policy).sum())),
        None if gaps is None else linear_share(result, policy, gaps),
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
        "seeds": int(comparison.result.played(summary.policy).sum()),
        "against": comparison.result.against or "the best action",
    }
    numbers: dict[str, Any] = {
        "regret_mean": summary.mean,
        "regret_se": summary.error,
        "regret_median": summary.median,
        "regret_q95": summary.q95,
        "linear_share": summary.linear,
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

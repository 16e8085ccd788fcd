"""Which policy does best over the games of a report, and with which confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from partial_monitoring.report.significance import LEVEL, betting_test, difference, holm, too_few
from partial_monitoring.report.summary import Section
from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import Array


@dataclass(frozen=True)
class Standing:
    """One policy over instances that the same policies played."""

    policy: str
    mean_rank: float
    """1 is best: the rank among the policies of an instance, averaged over seeds and instances."""
    ahead: float
    """Share of (instance, seed, other policy) with less regret than the other; a tie is a half."""
    wins: int
    """On how many instances it has the least mean regret (shared where means are equal)."""
    among_best: int
    """On how many instances no policy is clearly better."""
    clear_wins: int
    clear_losses: int
    """Pairs (instance, other policy) in which it is clearly better, or worse."""
    seconds_per_round: float
    """Median over the instances."""


@dataclass(frozen=True)
class Duel:
    """How often one policy has less regret than another, over instances and seeds."""

    first: str
    second: str
    share: float
    """A tie counts a half."""
    adjusted: float
    """p-value of the share one half, seeds as blocks, after Holm's correction."""

    @property
    def clear(self) -> bool:
        """Whether the share differs significantly from one half."""
        return self.adjusted < LEVEL


@dataclass(frozen=True, eq=False)
class Ranking:
    """The policies that played some instances, all of them each, best first."""

    sections: list[Section]
    standings: list[Standing]

    @property
    def games(self) -> list[str]:
        """The names of the games."""
        return list(dict.fromkeys(section.comparison.game_name for section in self.sections))

    @property
    def undecided(self) -> bool:
        """Whether the seeds of every instance are too few to prove an order."""
        return all(section.undecided for section in self.sections)

    @property
    def unjudged(self) -> list[str]:
        """The policies that played too few seeds to be proven worse than others."""
        results = [section.comparison.result for section in self.sections if not section.undecided]
        return [
            own.policy
            for own in self.standings
            if any(too_few(np.isfinite(x.regret[own.policy][:, -1]).sum()) for x in results)
        ]


def rankings(sections: Sequence[Section]) -> list[Ranking]:
    """Rank the policies: those first that are ahead of the others most often.

    One that was refused by some games may have played only easy ones and cannot be compared with
    one that played all. So instances are ranked together only if the same policies played them.
    """
    together: dict[frozenset[str], list[Section]] = {}
    for section in sections:
        if section.summaries:
            together.setdefault(frozenset(section.by_policy), []).append(section)
    return [_ranking(own) for own in together.values()]


def _ranking(sections: list[Section]) -> Ranking:
    standings = [_standing(name, sections) for name in sections[0].by_policy]
    return Ranking(sections, sorted(standings, key=lambda s: -np.nan_to_num(s.ahead)))


def _standing(policy: str, own: Sequence[Section]) -> Standing:
    ranks, ahead, seconds = [], [], []
    wins = among_best = clear_wins = clear_losses = 0
    for section in own:
        result = section.comparison.result
        others = [ahead_of(result, policy, name) for name in result.policies if name != policy]
        beats = np.array(others).reshape(-1, len(result.seeds)).T  # (seeds, other policies)
        shares = [own[~np.isnan(own)].mean() for own in beats.T]  # on the seeds both have played
        ranks.append(1.0 + sum(1.0 - share for share in shares))
        ahead += [np.mean(shares)] if shares else []
        means = {summary.policy: summary.mean for summary in section.summaries}
        least = np.array(min(means.values()))
        wins += not difference(np.array(means[policy]), least).any()
        judged = [pair for pair in section.pairs if policy in (pair.first, pair.second)]
        clear_wins += sum(pair.better == policy for pair in judged)
        lost = sum(pair.better not in (policy, None) for pair in judged)
        clear_losses += lost
        among_best += lost == 0
        seconds += [s.seconds_per_round for s in section.summaries if s.policy == policy]
    return Standing(
        policy,
        float(np.mean(ranks)),
        float(np.mean(ahead)) if ahead else np.nan,
        wins,
        among_best,
        clear_wins,
        clear_losses,
        float(np.median(seconds)),
    )


def ahead_of(result: Result, first: str, second: str) -> Array:
    """Return for each seed 1 if the first policy has less regret, 0 if more, 1/2 in a tie."""
    apart = difference(result.regret[first][:, -1], result.regret[second][:, -1])
    return np.asarray((1.0 - np.sign(apart)) / 2.0)


def ahead_of_others(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return how often each policy is ahead, averaged over the rankings it is in."""
    shares: dict[str, list[float]] = {}
    for ranking in rankings:
        for standing in ranking.standings:
            shares.setdefault(standing.policy, []).append(float(np.nan_to_num(standing.ahead)))
    return {name: float(np.mean(own)) for name, own in shares.items()}


def duels(sections: Sequence[Section], policies: Sequence[str]) -> Mapping[tuple[str, str], Duel]:
    """Compare every two policies over all instances on which both played.

    The results of one seed on several games may be dependent, so the average over the games of a
    seed is one block of the test.
    """
    pairs = {pair: _blocks(sections, *pair) for pair in combinations(policies, 2)}
    met = {pair: blocks for pair, blocks in pairs.items() if len(blocks)}
    p = [float(betting_test(2 * blocks[:, None] - 1, 1.0)[0]) for blocks in met.values()]
    found = {}
    for ((first, second), blocks), adjusted in zip(met.items(), holm(p), strict=True):
        share = float(blocks.mean())
        found[first, second] = Duel(first, second, share, float(adjusted))
        found[second, first] = Duel(second, first, 1 - share, float(adjusted))
    return found


def _blocks(sections: Sequence[Section], first: str, second: str) -> Array:
    """Return the share of games on which the first policy is ahead, for each seed."""
    by_seed: dict[int, list[float]] = {}
    for section in sections:
        result = section.comparison.result
        if first in result.regret and second in result.regret:
            both = result.played(first) & result.played(second)
            won = ahead_of(result, first, second)
            for seed, ahead in zip(result.seeds[both], won[both], strict=True):
                by_seed.setdefault(int(seed), []).append(float(ahead))
    return np.array([np.mean(values) for values in by_seed.values()])

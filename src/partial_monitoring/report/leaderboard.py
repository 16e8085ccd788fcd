"""All policies in one table, also if each of them played other games than the rest.

On every instance the regret of a policy is divided by the least mean regret of all that played it;
the geometric mean of these ratios over the instances that a policy played is its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partial_monitoring.report.summary import Section


@dataclass(frozen=True)
class Place:
    """One policy over all instances that it played."""

    policy: str
    instances: int
    """How many count: those on which all regrets are positive."""
    ratio: float
    """Geometric mean of its regret over the least one; nan if no instance counts."""
    worst: float
    """The largest of these ratios."""
    wins: int
    """On how many instances it has the least mean regret."""
    linear: float
    """Share of seeds with linear regret, where that is known; nan if nowhere."""
    seconds_per_round: float
    """Median over the instances."""


def leaderboard(sections: Sequence[Section]) -> list[Place]:
    """Return the policies, those first that lose least compared with the best of each instance."""
    ratios: dict[str, list[float]] = {}
    for section in sections:
        means = {summary.policy: summary.mean for summary in section.summaries}
        least = min(means.values(), default=0.0)
        for policy, mean in means.items():
            ratios.setdefault(policy, []).extend([mean / least] if least > 0 else [])
    places = [_place(policy, own, sections) for policy, own in ratios.items()]
    return sorted(places, key=lambda place: np.nan_to_num(place.ratio, nan=np.inf))


def _place(policy: str, ratios: list[float], sections: Sequence[Section]) -> Place:
    own = [section.by_policy[policy] for section in sections if policy in section.by_policy]
    linear = [summary.linear for summary in own if summary.linear is not None]
    return Place(
        policy,
        len(ratios),
        float(np.exp(np.mean(np.log(ratios)))) if ratios else np.nan,
        max(ratios, default=np.nan),
        sum(section.best == policy for section in sections),
        float(np.mean(linear)) if linear else np.nan,
        float(np.median([summary.seconds_per_round for summary in own])),
    )

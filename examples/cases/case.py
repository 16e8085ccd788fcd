"""A case: a decision that repeats, the rows that decide it, and the policies that play it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import partial_monitoring as pm
from examples.cases.replay import Rows, play

POLICIES: Mapping[str, Any] = {
    "calibrated": pm.Calibrated(),
    "ids": pm.IDS(),
    "randcbp": pm.RandCBP(),
    "greedy": pm.Greedy(),
    "epsilon_greedy": pm.EpsilonGreedy(),
}
"""The default, the certified mode, and what they are compared with."""


@dataclass(frozen=True)
class Case:
    """A decision that repeats, in segments that are games of their own."""

    name: str
    title: str
    unit: str
    segments: Mapping[str, Rows]
    policies: Mapping[str, Any] = field(default_factory=lambda: POLICIES)
    orders: int = 50

    @property
    def rounds(self) -> int:
        """The rounds of all segments."""
        return sum(rows.rounds for rows in self.segments.values())

    def played(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return total regret at 101 times, (orders, 101), and plays, (orders, k), by policy."""
        found, orders = {}, self.orders
        for name, policy in self.policies.items():
            regret, plays = np.zeros((orders, 101)), np.zeros(())
            for rows in self.segments.values():
                own, counts = play(rows, policy, orders)
                own = np.concatenate([np.zeros((orders, 1)), own], axis=1)
                regret += own[:, np.linspace(0, rows.rounds, 101).round().astype(int)]
                plays = plays + counts
            found[name] = regret, plays
        return found

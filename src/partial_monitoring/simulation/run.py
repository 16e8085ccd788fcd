"""What is recorded while one policy plays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring.validation import Array, Indices


@dataclass(eq=False)
class Run:
    """One policy on all seeds, recorded at the checkpoints."""

    regret: Array
    """Cumulative pseudo-regret, shape (seeds, checkpoints)."""
    information: Array
    """Information gained, shape (seeds, checkpoints)."""
    ratio: Array
    """Average information ratio so far, shape (seeds, checkpoints)."""
    plays: Indices
    """How often each action was played, shape (seeds, checkpoints, k)."""
    reached: Indices
    """How many checkpoints are recorded of each seed, shape (seeds,)."""
    seconds: float = 0.0
    interrupted: bool = False
    backend: str = ""
    """Which way was taken: "compiled", or "batched: " and why."""

    @classmethod
    def empty(cls, seeds: int, checkpoints: int, k: int) -> Run:
        """Return a run in which nothing is recorded yet."""
        regret, information, ratio = np.full((3, seeds, checkpoints), np.nan)
        plays = np.zeros((seeds, checkpoints, k), dtype=np.int64)
        return cls(regret, information, ratio, plays, np.zeros(seeds, dtype=np.int64))

    @property
    def recorded(self) -> int:
        """How many checkpoints are recorded of all seeds."""
        return int(self.reached.min())

    def record(self, i: int, t: int, totals: Any, rows: slice = slice(None)) -> None:
        """Fill checkpoint i with the totals after t rounds, of all seeds or of some."""
        self.regret[rows, i], self.information[rows, i] = totals.regret[rows], totals.gained[rows]
        self.ratio[rows, i], self.plays[rows, i] = totals.ratios[rows] / t, totals.plays[rows]
        self.reached[rows] = i + 1

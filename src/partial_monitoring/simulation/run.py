"""What is recorded while one policy plays."""

from __future__ import annotations

from dataclasses import dataclass

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
    seconds: float = 0.0
    recorded: int = 0
    interrupted: bool = False
    backend: str = ""
    """Which way was taken: "compiled", or "batched: " and why."""

    @classmethod
    def empty(cls, seeds: int, checkpoints: int, k: int) -> Run:
        """Return a run in which nothing is recorded yet."""
        regret, information, ratio = np.full((3, seeds, checkpoints), np.nan)
        return cls(regret, information, ratio, np.zeros((seeds, checkpoints, k), dtype=np.int64))

    def record(
        self, i: int, regret: Array, information: Array, ratio: Array, plays: Indices
    ) -> None:
        """Fill checkpoint i."""
        self.regret[:, i], self.information[:, i] = regret, information
        self.ratio[:, i], self.plays[:, i] = ratio, plays

"""The different observations that the actions of a finite game make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.validation import Array, Indices, frozen


@dataclass(frozen=True, eq=False)
class Channels:
    """Partitions of the outcomes into signals, one for all actions that show the same.

    Actions that show nothing have none.
    """

    rows: Array
    """The signals of all channels as 0/1 rows over the outcomes, shape (q, d)."""
    starts: Indices
    """Where the signals of each channel begin, then q."""
    place: Indices
    """The row of each signal of each action, q if there is none, shape (k, m)."""

    def counts(self, sums: Array) -> Array:
        """Return how often each row was seen (n, q), from sums of one-hot signals (n, k, m)."""
        found = np.zeros((len(sums), len(self.rows) + 1))
        for a, m in zip(*np.nonzero(self.place < len(self.rows)), strict=True):
            found[:, self.place[a, m]] += sums[:, a, m]
        return np.ascontiguousarray(found[:, :-1])


@lru_cache(maxsize=64)
def channels_of(game: FiniteGame) -> Channels:
    """Return the channels of a game."""
    rows: list[tuple[int, ...]] = []
    starts, known = [0], {}
    place = np.full((game.k, game.m), -1, dtype=np.int64)
    for a, count in enumerate(game.row_counts):
        if count == 1:
            continue
        own = [tuple(row) for row in game.observation_maps[a, :count].astype(int).tolist()]
        partition = frozenset(own)
        if partition not in known:
            known[partition] = {row: len(rows) + s for s, row in enumerate(own)}
            rows.extend(own)
            starts.append(len(rows))
        place[a, :count] = [known[partition][row] for row in own]
    place[place < 0] = len(rows)
    table = np.array(rows, dtype=float).reshape(len(rows), game.d)
    return Channels(frozen(table), np.array(starts), place)

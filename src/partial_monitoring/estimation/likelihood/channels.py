"""The different observations that the actions of finite games make."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.validation import Array, Indices, frozen


@dataclass(frozen=True, eq=False)
class Channels:
    """Partitions of the outcomes into signals, one for all actions that show the same.

    Actions that show nothing have none. The games, one for each context, have the same outcomes.
    """

    rows: Array
    """The signals of all channels as 0/1 rows over the outcomes, shape (q, d)."""
    starts: Indices
    """Where the signals of each channel begin, then q."""
    places: tuple[Indices, ...]
    """For each game the row of each signal of each action, q if there is none, shape (k, m)."""

    @cached_property
    def _collect(self) -> Array:
        """From the signals of all actions of the first game to rows, shape (k m, q)."""
        return np.asarray(self.places[0].reshape(-1, 1) == np.arange(len(self.rows)), dtype=float)

    def counts(self, sums: Array) -> Array:
        """Return how often each row was seen (n, q), from sums of one-hot signals (n, k, m).

        They are those of the first game.
        """
        return np.asarray(sums.reshape(len(sums), -1) @ self._collect)

    def added(self, counts: Array, game: int, action: Indices, observation: Array) -> Array:
        """Return counts (n, q) after one-hot signals (n, m) of the actions (n,) of a game."""
        place = self.places[game]
        row = place[action, observation[:, : place.shape[1]].argmax(axis=1)]
        each = np.flatnonzero(row < len(self.rows))
        more = counts.copy()
        more[each, row[each]] += 1.0
        return more


@lru_cache(maxsize=64)
def channels_of(*games: FiniteGame) -> Channels:
    """Return the channels of games with the same outcomes."""
    rows: list[tuple[int, ...]] = []
    known: dict[Hashable, dict[tuple[int, ...], int]] = {}
    starts, places = [0], []
    for game in games:
        place = np.full((game.k, game.m), -1, dtype=np.int64)
        for a, count in enumerate(game.row_counts):
            own = [tuple(row) for row in game.observation_maps[a, :count].astype(int).tolist()]
            if count > 1 and frozenset(own) not in known:
                known[frozenset(own)] = {row: len(rows) + s for s, row in enumerate(own)}
                rows.extend(own)
                starts.append(len(rows))
            if count > 1:
                place[a, :count] = [known[frozenset(own)][row] for row in own]
        places.append(place)
    for place in places:
        place[place < 0] = len(rows)
    table = np.array(rows, dtype=float).reshape(len(rows), games[0].d)
    return Channels(frozen(table), np.array(starts), tuple(places))

"""Environments that change from round to round: on a schedule, or in answer to what was played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.model.truths import Truths
from partial_monitoring.policies.program import NotCompiled
from partial_monitoring.simulation.environment import Environment, Schedule
from partial_monitoring.validation import Array, Indices

MOST_ROUNDS = 200_000_000
"""Largest number of rounds of all seeds together of which a number is kept."""

Choose = Callable[[int, Indices], Indices]
"""(t, actions of the rounds before (n, t)) -> the outcomes of round t, (n,)."""


class Scheduled(Environment):
    """One of some parameters in every round, known in advance.

    Parameters
    ----------
    game, seeds, noise
        As for :class:`Environment`.
    bank
        The parameters, shape (q, d).
    rows
        Which of them holds in each round, shape (1 or n, rounds): for all seeds, or for each.
    fixed
        Whether regret is measured against the best fixed action, instead of that of each round.
    """

    def __init__(
        self,
        game: Any,
        bank: Array,
        rows: Indices,
        seeds: Indices,
        noise: str | NoiseFunction | None = None,
        *,
        fixed: bool = False,
    ) -> None:
        super().__init__(game, bank, seeds, noise)
        self._bank, self._rows = self.truths, _small(rows)
        self._rewards = game.earned(bank) if fixed else None
        shares = np.array([np.bincount(own, minlength=len(bank)) for own in rows]) / rows.shape[1]
        self.theta = np.broadcast_to(shares @ bank, (len(seeds), bank.shape[1]))
        self._known: dict[bytes, Truths] = {}

    def observe(self, action: Indices, t: int) -> Array:
        self._move(t)
        return super().observe(action, t)

    def gap(self, action: Indices, t: int = 0) -> Array:
        self._move(t)
        return super().gap(action, t)

    def _move(self, t: int) -> None:
        """Let the parameters of round t hold."""
        rows = self._rows[:, t]
        key = rows.tobytes()
        if key not in self._known:
            each = np.broadcast_to(rows, len(self.seeds))
            if len(self._known) >= len(self._bank.theta):
                self._known.clear()
            self._known[key] = self.game.truths(self._bank.theta[each])
        self.truths = self._known[key]

    def schedule(self) -> Schedule:
        return Schedule(self._bank, self._rows)

    def lead(self, marks: Indices) -> Array | None:
        if self._rewards is None:
            return None
        return lead_over_fixed(self._rewards, self._rows, marks)


class Answering(Environment):
    """Outcomes of a finite game that are chosen in answer to the actions of the rounds before.

    Parameters
    ----------
    game, seeds
        As for :class:`Environment`; the game is finite.
    rounds
        How many rounds are played at most.
    begin
        Called before the first round: returns a function that chooses the outcomes.
    """

    def __init__(self, game: Any, seeds: Indices, rounds: int, begin: Callable[[], Choose]) -> None:
        corners = np.eye(game.d)
        super().__init__(game, corners, seeds)
        self.theta = np.full((len(seeds), game.d), np.nan)  # depends on who plays
        self._corners, self._rewards, self._begin = corners, game.earned(corners), begin
        check_rounds(len(seeds), rounds)
        self._actions, self._outcomes = _small(np.zeros((2, len(seeds), rounds), dtype=np.int32))

    def observe(self, action: Indices, t: int) -> Array:
        if t == 0:
            self._choose = self._begin()
        past = self._actions[:, :t]
        past.flags.writeable = False
        self._outcomes[:, t] = self._choose(t, past)
        self._actions[:, t] = action
        return self.truths.columns(action, self._outcomes[:, t])

    def gap(self, action: Indices, t: int = 0) -> Array:
        self.truths = self.game.truths(self._corners[self._outcomes[:, t]])
        return self.truths.gap(action)

    def schedule(self) -> Schedule:
        raise NotCompiled("the opponent answers what was played before")

    def lead(self, marks: Indices) -> Array:
        return lead_over_fixed(self._rewards, self._outcomes, marks)


def _small(numbers: Any) -> Indices:
    """Return whole numbers in half of the memory."""
    small: Any = np.ascontiguousarray(numbers, dtype=np.int32)
    return small  # type: ignore[no-any-return]


def check_rounds(seeds: int, rounds: int) -> None:
    """Refuse more rounds of all seeds together than can be kept."""
    if seeds * rounds > MOST_ROUNDS:
        raise InvalidInput(
            f"theta must be kept for every round of every seed, at most {MOST_ROUNDS:,}; got "
            f"{seeds:,} seeds of {rounds:,} rounds."
        )


def lead_over_fixed(rewards: Array, rows: Indices, marks: Indices) -> Array:
    """Return by how much the best actions of all rounds beat the best fixed one, (seeds, marks).

    ``rewards`` (q, k) are those of all actions in q cases, ``rows`` (seeds, rounds) the cases.
    """
    q, starts = len(rewards), np.append(0, marks[:-1])
    counts = np.array(
        [
            [np.bincount(own[i:j], minlength=q) for i, j in zip(starts, marks, strict=True)]
            for own in rows
        ]
    ).cumsum(axis=1)  # (seeds, marks, q)
    moving = counts @ rewards.max(axis=1)
    return np.asarray(moving - (counts @ rewards).max(axis=2))

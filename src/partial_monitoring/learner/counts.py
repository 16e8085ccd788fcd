"""What was observed, as sufficient statistics: numbers whose count does not grow with the rounds.

For each context, and in it for each action that was played: how often, the sum of what it showed,
how much that scatters about its mean, and the sums over some parts of the time, so that early and
late observations can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any

import numpy as np

from partial_monitoring.learner.persistent import PersistentMap
from partial_monitoring.validation import Array

BLOCKS = 32
"""The largest number of parts of the time that are told apart."""

MOST_UNLISTED = 100
"""The largest number of unlisted contexts; of more, those that came last are counted."""

Part = tuple[int, int, Array]
"""The first round of a part of the time, how often the action was played in it, and the sum of what
it showed, shape (m_a,)."""


@dataclass(frozen=True, eq=False, slots=True)
class Tally:
    """What one action has shown in one context."""

    plays: int
    total: Array
    """The sum of the observations, shape (m_a,)."""
    scatter: float
    """The sum of their squared distances from their mean."""
    parts: tuple[Part, ...]
    """At most 32. None reaches from one block of the time into the next, see ``width``."""

    def added(self, t: int, shown: Array) -> Tally:
        """Return the tally after one more observation (m_a,) in round t, counted from 0."""
        away = self.plays * shown - self.total
        size = width(t + 1)
        first, plays, total = self.parts[-1]
        if first // size == t // size:
            parts = (*self.parts[:-1], (first, plays + 1, total + shown))
        else:
            parts = (*self.parts, (t, 1, shown))
            if len(parts) > BLOCKS:
                parts = tuple(_merged(parts, size))
        return Tally(
            self.plays + 1,
            self.total + shown,
            self.scatter + float(away @ away) / (self.plays * (self.plays + 1)),
            parts,
        )

    def squares(self, expected: Array) -> float:
        """Return the sum of squared distances of the observations from a vector (m_a,)."""
        away = self.total / self.plays - expected
        return self.scatter + self.plays * float(away @ away)

    def before(self, t: int) -> tuple[int, Array]:
        """Return plays and sum (m_a,) before round t, which is a border of blocks."""
        chosen = [part for part in self.parts if part[0] < t]
        return sum(part[1] for part in chosen), sum((part[2] for part in chosen), 0 * self.total)


@dataclass(frozen=True, eq=False, slots=True)
class Tallies:
    """What the actions have shown in one context."""

    rounds: int = 0
    """The number of observations in this context."""
    actions: PersistentMap[int, Tally] = field(default_factory=PersistentMap)

    def added(self, action: int, shown: Array) -> Tallies:
        """Return the tallies after one more observation (m_a,) of an action."""
        t, old = self.rounds, self.actions.get(action)
        new = Tally(1, shown, 0.0, ((t, 1, shown),)) if old is None else old.added(t, shown)
        return Tallies(t + 1, self.actions.with_item(action, new))

    @property
    def middle(self) -> int:
        """The border of blocks that is nearest to half of the rounds.

        Up to 32 rounds it is the half itself, later at most a 32nd of the rounds away from it.
        """
        size = width(self.rounds)
        return (self.rounds // 2 + size // 2) // size * size


@dataclass(frozen=True, eq=False, slots=True)
class Counts:
    """What was observed in every context; a game without contexts has one, None."""

    listed: PersistentMap[str | None, Tallies] = field(default_factory=PersistentMap)
    unlisted: Mapping[str, Tallies] = field(default_factory=dict)
    """By a hash of their content, the one that came last at the end; at most 100."""

    def added(self, context: Any, action: int, shown: Array) -> Counts:
        """Return the counts after one more observation (m_a,), of a context as plain data."""
        new = self.at(context).added(action, shown)
        if not isinstance(context, Mapping):
            return Counts(self.listed.with_item(context, new), self.unlisted)
        key = _content_hash(context)
        kept = {name: own for name, own in self.unlisted.items() if name != key} | {key: new}
        return Counts(self.listed, dict(list(kept.items())[-MOST_UNLISTED:]))

    def at(self, context: Any) -> Tallies:
        """Return what was observed in a context, which is given as plain data."""
        if isinstance(context, Mapping):
            return self.unlisted.get(_content_hash(context), _NOTHING)
        return self.listed.get(context, _NOTHING)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        listed = sorted(self.listed.items(), key=lambda item: item[0] or "")
        return {
            "listed": [[name, _tallies_to_dict(own)] for name, own in listed],
            "unlisted": [[name, _tallies_to_dict(own)] for name, own in self.unlisted.items()],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Counts:
        """Return the counts from plain data."""
        listed, unlisted = (
            [(name, _tallies_from_dict(own)) for name, own in data[key]]
            for key in ("listed", "unlisted")
        )
        return cls(PersistentMap(listed), dict(unlisted))


_NOTHING = Tallies()


def width(rounds: int) -> int:
    """Return the length of a block: the least power of 2 with which 32 blocks are long enough."""
    return 1 << ((rounds - 1) // BLOCKS).bit_length() if rounds > 0 else 1


def _merged(parts: Iterable[Part], size: int) -> Iterator[Part]:
    """Yield the parts with those of one block in one."""
    first, plays, total = None, 0, np.zeros(0)
    for start, more, shown in parts:
        if first is not None and first // size == start // size:
            plays, total = plays + more, total + shown
            continue
        if first is not None:
            yield first, plays, total
        first, plays, total = start, more, shown
    if first is not None:
        yield first, plays, total


def _content_hash(context: Mapping[str, Any]) -> str:
    return sha256(dumps(context, sort_keys=True).encode()).hexdigest()


def _tallies_to_dict(tallies: Tallies) -> dict[str, Any]:
    actions = [
        [a, own.plays, own.total.tolist(), own.scatter, [_part(*part) for part in own.parts]]
        for a, own in sorted(tallies.actions.items())
    ]
    return {"rounds": tallies.rounds, "actions": actions}


def _part(first: int, plays: int, total: Array) -> list[Any]:
    return [first, plays, total.tolist()]


def _tallies_from_dict(data: Mapping[str, Any]) -> Tallies:
    actions = []
    for action, plays, total, scatter, parts in data["actions"]:
        own = tuple((first, count, np.array(x, dtype=float)) for first, count, x in parts)
        actions.append((action, Tally(plays, np.array(total, dtype=float), scatter, own)))
    return Tallies(data["rounds"], PersistentMap(actions))

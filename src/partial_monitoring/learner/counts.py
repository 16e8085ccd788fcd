"""What was observed, as sufficient statistics: numbers whose count does not grow with the rounds.

For each context and each action played in it: how often, the sum of what it showed, how much that
scatters about its mean, and the sums over blocks of rounds, so that early and late observations can
be compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.learner.contexts import Unlisted, key_of
from partial_monitoring.validation import Array

BLOCKS = 32
"""Largest number of blocks of rounds that are kept apart."""

TOGETHER = 64
"""Number of observations that are added to the tallies together, which is faster."""

MOST_UNLISTED = 100
"""Largest number of unlisted contexts with counts; the oldest are dropped."""

Row = Sequence[float]
"""What an action shows, m_a numbers; plain ones, because there are few."""

Key = str | Unlisted | None
"""What a context is found by: None without contexts; its label if it is listed; itself or, if it
was read from a file, a hash if it is not."""

Seen = tuple[Any, int, Row]
"""A context as in an event, an action and what it showed."""


class Part(NamedTuple):
    """What one action has shown in some rounds of one block."""

    first: int
    """The round of its first observation, counted from 0."""
    plays: int
    total: Row
    """The sum of the observations, shape (m_a,)."""


class Tally(NamedTuple):
    """What one action has shown in one context."""

    plays: int
    total: Row
    """The sum of the observations, shape (m_a,)."""
    scatter: float
    """The sum of their squared distances from their mean."""
    parts: tuple[Part, ...]
    """At most 32, each within one block of rounds, see ``width``."""

    @classmethod
    def of(cls, first: int, rows: Sequence[Row], often: Sequence[int]) -> Tally:
        """Return the tally of observations in one block, the first of them in a given round.

        Each of them came as often as it says.
        """
        columns, plays = list(zip(*rows, strict=True)), sum(often)
        total = [sum(map(mul, often, own)) for own in columns]
        means = [x / plays for x in total]
        each = zip(columns, means, strict=True)
        away = [n * (y - x) ** 2 for own, x in each for n, y in zip(often, own, strict=True)]
        return cls(plays, total, sum(away), (Part(first, plays, total),))

    def joined(self, other: Tally, size: int) -> Tally:
        """Return the tally of these observations and later ones, in blocks of a given length."""
        one, two = self.plays, other.plays
        apart = [y / two - x / one for x, y in zip(self.total, other.total, strict=True)]
        scatter = sum([x**2 for x in apart]) * (one * two / (one + two))
        parts = self.parts[:-1] + _merged(self.parts[-1:] + other.parts, size)
        return Tally(
            one + two,
            _sum(self.total, other.total),
            self.scatter + other.scatter + scatter,
            parts if len(parts) <= BLOCKS else _merged(parts, size),
        )

    def squares(self, expected: Array) -> float:
        """Return the sum of squared distances of the observations from a vector (m_a,)."""
        away = np.array(self.total) / self.plays - expected
        return self.scatter + self.plays * float(away @ away)

    def before(self, t: int) -> tuple[int, Array]:
        """Return plays and sum (m_a,) before round t, with which a block begins."""
        chosen = [part for part in self.parts if part.first < t]
        totals = np.array([part.total for part in chosen]).reshape(len(chosen), len(self.total))
        return sum(part.plays for part in chosen), totals.sum(axis=0)


class Tallies(NamedTuple):
    """What the actions have shown in one context."""

    rounds: int = 0
    """The number of observations in this context."""
    actions: Mapping[int, Tally] = {}

    def added(self, seen: Iterable[tuple[int, Row, int]]) -> Tallies:
        """Return the tallies after more observations: an action, what it showed, and how often."""
        seen, t = list(seen), self.rounds
        if t == 0 and len(seen) == 1:
            action, shown, often = seen[0]
            if often == 1 and shown:  # of a context that comes once, as most unlisted ones do
                total = [0 + x for x in shown]
                return Tallies(1, {action: Tally(1, total, 0.0, (Part(0, 1, total),))})
        rounds = t + sum([often for *_, often in seen])
        size = width(rounds)
        groups: dict[tuple[int, int], tuple[int, list[Row], list[int]]] = {}
        for action, shown, often in seen:
            while often:
                here = min(often, size - t % size)  # the rest is in later blocks
                _, rows, counts = groups.setdefault((action, t // size), (t, [], []))
                rows.append(shown)
                counts.append(here)
                t, often = t + here, often - here
        actions = dict(self.actions)
        for (action, _), own in groups.items():
            old, new = actions.get(action), Tally.of(*own)
            actions[action] = new if old is None else old.joined(new, size)
        return Tallies(rounds, actions)

    @property
    def middle(self) -> int:
        """The beginning of a block that is nearest to half of the rounds.

        With at most 32 rounds it is the half itself, otherwise at most a 32nd of them away.
        """
        size = width(self.rounds)
        return (self.rounds // 2 + size // 2) // size * size


class Counts(NamedTuple):
    """What was observed in every context; a game without contexts has one, None."""

    contexts: Mapping[Key, Tallies] = {}
    unlisted: tuple[Key, ...] = ()
    """The unlisted ones among them, at most 100, the latest at the end."""
    recent: tuple[Seen, ...] = ()
    """The latest observations, fewer than 64, which are not in the tallies yet."""
    others: int = 0
    """The number of observations of actions that the game does not have, see ``moved.py``."""

    def added(self, context: Any, action: int, shown: Row, often: int = 1) -> Counts:
        """Return the counts after an observation in a context, given as in an event.

        It came once unless it says otherwise.
        """
        if often > 1:
            return self.settled()._settled([(context, action, shown, often)])
        recent = *self.recent, (context, action, shown)
        more = Counts(self.contexts, self.unlisted, recent, self.others)
        return more if len(recent) < TOGETHER else more.settled()

    def settled(self) -> Counts:
        """Return the same counts with all observations in the tallies."""
        return self._settled([(*seen, 1) for seen in self.recent])

    def _settled(self, recent: Iterable[tuple[Any, int, Row, int]]) -> Counts:
        """Return the tallies with some observations in them, each as often as it says."""
        contexts, unlisted = dict(self.contexts), dict.fromkeys(self.unlisted)
        hashed = any(isinstance(own, str) for own in unlisted)
        groups: dict[Key, list[tuple[int, Row, int]]] = {}
        for context, action, shown, often in recent:
            key = context
            if not _is_listed(context):
                key = _key(context, unlisted, hashed=hashed)
                hashed = hashed or isinstance(key, str)
                unlisted.pop(key, None)
                unlisted[key] = None  # the latest
            groups.setdefault(key, []).append((action, shown, often))
        for key, seen in groups.items():
            contexts[key] = contexts.get(key, Tallies()).added(seen)
        kept = tuple(unlisted)[-MOST_UNLISTED:]
        for key in tuple(unlisted)[:-MOST_UNLISTED]:
            del contexts[key]
        return Counts(contexts, kept, (), self.others)

    def at(self, context: Any) -> Tallies:
        """Return what was observed in a context, given as in an event."""
        counts = self.settled()
        key = context if _is_listed(context) else _key(context, counts.unlisted, hashed=True)
        return counts.contexts.get(key, Tallies())

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        named = [(_name(key), own) for key, own in self.contexts.items()]
        contexts = sorted(named, key=lambda item: item[0] or "")
        recent = [(_written(context), *seen) for context, *seen in self.recent]
        found = {
            "contexts": [[name, _tallies_to_dict(own)] for name, own in contexts],
            "unlisted": list(map(_name, self.unlisted)),
            "recent": list(map(list, recent)),
        }
        return found | {"others": self.others} if self.others else found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Counts:
        """Return the counts from plain data."""
        contexts = {name: _tallies_from_dict(own) for name, own in data["contexts"]}
        recent = tuple((context, action, shown) for context, action, shown in data["recent"])
        return cls(contexts, tuple(data["unlisted"]), recent, data.get("others", 0))


def width(rounds: int) -> int:
    """Return the length of a block: the least power of 2 with which 32 blocks suffice."""
    return 1 << ((rounds - 1) // BLOCKS).bit_length() if rounds > 0 else 1


def _sum(one: Row, two: Row) -> Row:
    return [a + b for a, b in zip(one, two, strict=True)]


def _merged(parts: Iterable[Part], size: int) -> tuple[Part, ...]:
    """Return the parts, those of one block merged."""
    merged: list[Part] = []
    for part in parts:
        if merged and merged[-1].first // size == part.first // size:
            first, plays, total = merged.pop()
            part = Part(first, plays + part.plays, _sum(total, part.total))
        merged.append(part)
    return tuple(merged)


def _is_listed(context: Any) -> bool:
    """Whether a context of an event is that of a game without contexts, or a label."""
    return context is None or isinstance(context, str)


def _key(context: Any, unlisted: Collection[Key], *, hashed: bool) -> Key:
    """Return what an unlisted context is found by, or was so far.

    Unless ``hashed``, none of the known ones is found by a hash.
    """
    if isinstance(context, Unlisted):
        return context.key if hashed and context.key in unlisted else context
    found = key_of(context)  # of an event that was read
    return next((own for own in unlisted if _name(own) == found), found)


def _name(key: Key) -> str | None:
    """Return what a context is called in files."""
    return key.key if isinstance(key, Unlisted) else key


def _written(context: Any) -> Any:
    """Return a context of an event as plain data."""
    return context.whole() if isinstance(context, Unlisted) else context


def _tallies_to_dict(tallies: Tallies) -> dict[str, Any]:
    actions = [
        [a, own.plays, own.total, own.scatter, [list(part) for part in own.parts]]
        for a, own in sorted(tallies.actions.items())
    ]
    return {"rounds": tallies.rounds, "actions": actions}


def _tallies_from_dict(data: Mapping[str, Any]) -> Tallies:
    actions = {
        action: Tally(plays, total, scatter, tuple(Part(*part) for part in parts))
        for action, plays, total, scatter, parts in data["actions"]
    }
    return Tallies(data["rounds"], actions)

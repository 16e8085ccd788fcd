"""What a cell has shown, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Row = tuple[float, ...]
"""What an action shows, m_a numbers."""

Cell = tuple[str | None, int]
"""The label of a context, None in a game without contexts, and the number of an action in it."""


class Sums(NamedTuple):
    """Sufficient statistics of observations."""

    plays: int
    total: Row
    """Their sum, shape (m_a,); how often each signal came, if they are signals."""
    scatter: float = 0.0
    """The sum of their squared distances from their mean."""

    def joined(self, other: Sums) -> Sums:
        """Return those of these observations and others."""
        one, two = self.plays, other.plays
        pairs = list(zip(self.total, other.total, strict=True))
        apart = sum([(y / two - x / one) ** 2 for x, y in pairs]) * (one * two / (one + two))
        total = tuple([x + y for x, y in pairs])
        return Sums(one + two, total, self.scatter + other.scatter + apart)


AllSums = Mapping[Cell, Sums]


def joined(one: AllSums, two: AllSums) -> dict[Cell, Sums]:
    """Return the sums of the observations of both."""
    both = dict(one)
    for cell, own in two.items():
        both[cell] = both[cell].joined(own) if cell in both else own
    return both


class Evidence(NamedTuple):
    """How strongly observations contradict a hypothesis."""

    log_e: float
    """The logarithm of the e-value."""
    sentence: str
    """What contradicts it most, in the words of the user's game."""

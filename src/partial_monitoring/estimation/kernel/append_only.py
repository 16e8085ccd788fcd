"""Rows that are only ever added: a list of states can share them, each seeing its own part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.validation import Array


@dataclass(frozen=True, eq=False)
class AppendOnly:
    """The first ``count`` rows of a buffer, of which no row is ever changed once it is taken.

    Adding a row takes the next free place of the buffer. If another state that shares the buffer
    has taken it already, or the buffer is full, the rows move to a buffer of their own.
    """

    buffer: NDArray[Any]
    """Shape (room, width)."""
    count: int
    taken: list[int]
    """How many places of the buffer are taken, shared by all who see it."""

    @classmethod
    def empty(cls, width: int, room: int = 16, dtype: Any = np.float64) -> AppendOnly:
        """Return a stack without rows."""
        return cls(np.empty((room, width), dtype=dtype), 0, [0])

    @property
    def rows(self) -> NDArray[Any]:
        """Shape (count, width)."""
        return self.buffer[: self.count]

    def added(self, row: ArrayLike) -> AppendOnly:
        """Return the stack with one more row; costs O(width) if nobody else has added one."""
        home = self
        if self.taken[0] != self.count or self.count == len(self.buffer):
            room = max(16, 2 * self.count if self.count == len(self.buffer) else len(self.buffer))
            buffer = np.empty((room, self.buffer.shape[1]), dtype=self.buffer.dtype)
            buffer[: self.count] = self.rows
            home = AppendOnly(buffer, self.count, [self.count])
        home.buffer[home.count] = row
        home.taken[0] = home.count + 1
        return AppendOnly(home.buffer, home.count + 1, home.taken)


def stacked(rows: Array) -> AppendOnly:
    """Return a stack of given rows."""
    return AppendOnly(np.ascontiguousarray(rows), len(rows), [len(rows)])

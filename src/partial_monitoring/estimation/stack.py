"""Rows that are only ever added: a list of states can share them, each seeing its own part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partial_monitoring.validation import Array


@dataclass(frozen=True, eq=False)
class Stack:
    """The first ``count`` rows of a buffer, of which no row is ever changed once it is taken.

    Adding a row takes the next free place of the buffer. If another state that shares the buffer
    has taken it already, or the buffer is full, the rows move to a buffer of their own.
    """

    buffer: Array
    """Shape (room, width)."""
    count: int
    taken: list[int]
    """How many places of the buffer are taken, shared by all who see it."""

    @classmethod
    def empty(cls, width: int, room: int = 16) -> Stack:
        """Return a stack without rows."""
        return cls(np.empty((room, width)), 0, [0])

    @property
    def rows(self) -> Array:
        """Shape (count, width)."""
        return self.buffer[: self.count]

    def added(self, row: Array) -> Stack:
        """Return the stack with one more row; costs O(width) if nobody else has added one."""
        home = self
        if self.taken[0] != self.count or self.count == len(self.buffer):
            room = max(16, 2 * self.count if self.count == len(self.buffer) else len(self.buffer))
            buffer = np.empty((room, self.buffer.shape[1]))
            buffer[: self.count] = self.rows
            home = Stack(buffer, self.count, [self.count])
        home.buffer[home.count] = row
        home.taken[0] = home.count + 1
        return Stack(home.buffer, home.count + 1, home.taken)


def stacked(rows: Array) -> Stack:
    """Return a stack of given rows."""
    return Stack(np.ascontiguousarray(rows), len(rows), [len(rows)])

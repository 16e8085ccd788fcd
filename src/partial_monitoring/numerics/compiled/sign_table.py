"""A table of patterns of signs that compiled code reads, and what each pattern leaves.

It is hashed with open addresses. Patterns are only added, between calls of compiled code: a reader
knows how many there were when it was handed the table, and takes later ones for unknown.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

MIXING = -7046029254386353131
"""An odd number (2^64 by the golden ratio) whose multiples differ in their high bits."""


class Table(NamedTuple):
    """Patterns in the order in which they were added, with room for more."""

    slots: np.ndarray
    """The numbers of patterns, -1 where there is none, shape (twice the room or more,)."""
    signs: np.ndarray
    """The patterns, shape (room, pairs)."""
    candidates: np.ndarray
    """The actions that can be played, shape (room, k)."""
    observers: np.ndarray
    """The actions that observe what is undecided, shape (room, k)."""
    consistent: np.ndarray
    """Whether anything is left, shape (room,)."""
    known: int
    """How many patterns there are."""


def with_room(room: int, pairs: int, k: int) -> Table:
    """Return an empty table for a number of patterns, a power of two."""
    return Table(
        np.full(2 * room, -1, dtype=np.int64),
        np.zeros((room, pairs), dtype=np.int8),
        np.zeros((room, k), dtype=np.bool_),
        np.zeros((room, k), dtype=np.bool_),
        np.zeros(room, dtype=np.bool_),
        0,
    )


def added(table: Table, signs, candidates, observers, consistent) -> Table:
    """Return a table with one more pattern (pairs,) and what it leaves.

    While there is room, the arrays are those of the old one, which may still be read.
    """
    room, pairs = table.signs.shape
    if table.known == room:
        wider = with_room(2 * room, pairs, table.candidates.shape[1])
        for number in range(room):
            wider = added(
                wider,
                table.signs[number],
                table.candidates[number],
                table.observers[number],
                table.consistent[number],
            )
        table = wider
    number = table.known
    table.signs[number] = signs
    table.candidates[number] = candidates
    table.observers[number] = observers
    table.consistent[number] = consistent
    table.slots[slot_of(table, table.signs, number)] = number
    return table._replace(known=number + 1)


@compiled(allocates=False)
def slot_of(table, signs, i):
    """Return the slot of pattern i of signs (n, pairs), or the empty one where it belongs."""
    count = signs.shape[1]
    last = len(table.slots) - 1
    code = 0
    for e in range(count):
        code = 3 * code + signs[i, e]
    slot = ((code * MIXING) >> 32) & last
    while True:
        number = table.slots[slot]
        if number < 0 or number >= table.known:
            return slot
        e = 0
        while e < count and table.signs[number, e] == signs[i, e]:
            e += 1
        if e == count:
            return slot
        slot = (slot + 1) & last


@compiled(allocates=False)
def find(table, signs, i):
    """Return the number of pattern i of signs (n, pairs), -1 if it is unknown."""
    number = table.slots[slot_of(table, signs, i)]
    return number if number < table.known else -1


@compiled(allocates=False)
def find_all(table, signs, numbers):
    """Fill numbers (n,) with those of the patterns (n, pairs), -1 where one is unknown."""
    for i in range(len(numbers)):
        numbers[i] = find(table, signs, i)

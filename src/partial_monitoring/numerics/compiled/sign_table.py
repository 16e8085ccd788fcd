"""Patterns of signs, and what they leave of a game: a table that compiled code reads.

It is hashed with open addresses. Patterns are only added, and a reader knows how many there were
when it was handed the table: later ones, which may be written at the same time, it takes for
unknown. What a pattern leaves follows from proofs, each of which serves many patterns.

In a fan, where every order of the actions occurs, nothing has to be proved or remembered: decisions
leave what they do not contradict, and they contradict each other only in a circle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

MIXING = -7046029254386353131
"""An odd number (2^64 by the golden ratio) whose multiples differ in their high bits."""

DONE, FULL = -1, -2
"""Nothing is lacking, or room in the table."""


class Proofs(NamedTuple):
    """What is known about targets, with room for more."""

    points: np.ndarray
    """The signs at points of a target, which is left by all they fit, (targets, room, pairs)."""
    clashes: np.ndarray
    """Signs of which a target has no point, shape (targets, room, pairs)."""
    known: np.ndarray
    """How many points and clashes there are, shape (targets, 2)."""


class Fan(NamedTuple):
    """The pairs of a fan, and what can be played while a target is left."""

    pairs: np.ndarray
    """The number of the pair of two actions, shape (actions, actions); empty if it is no fan."""
    near: np.ndarray
    """The actions that can be played while a target is left, shape (targets, k)."""
    seen: np.ndarray
    """The actions that observe a target, shape (targets, k)."""


class Table(NamedTuple):
    """Patterns in the order in which they were added, with room for more."""

    slots: np.ndarray
    """The numbers of patterns, -1 where there is none, shape (twice the room,), a power of two."""
    signs: np.ndarray
    """The patterns, shape (room, pairs)."""
    left: np.ndarray
    """The targets, first actions and then pairs, that are left, shape (room, targets)."""
    candidates: np.ndarray
    """The actions that can be played, shape (room, k)."""
    observers: np.ndarray
    """The actions that observe what is left, shape (room, k)."""
    consistent: np.ndarray
    """Whether any action is left, shape (room,)."""
    known: int
    """How many patterns there are."""


def grown(table: Table) -> Table:
    """Return a table with twice the room."""
    slots = np.full(2 * len(table.slots), -1, dtype=np.int64)
    rows = (np.concatenate([own, np.zeros_like(own)]) for own in table[1:-1])
    wider = type(table)._make([slots, *rows, table.known])
    for number in range(table.known):
        wider.slots[slot_of(wider, number, wider.signs, number)] = number
    return wider


@compiled(allocates=False)
def find(table, signs, i):
    """Return the number of pattern i of signs (n, pairs), -1 if it is unknown."""
    number = table.slots[slot_of(table, table.known, signs, i)]
    return number if number < table.known else -1


@compiled(allocates=False)
def slot_of(table, known, signs, i):
    """Return the slot of pattern i of signs (n, pairs), or the one that says it is unknown."""
    count = signs.shape[1]
    last = len(table.slots) - 1
    code = 0
    for e in range(count):
        code = 3 * code + signs[i, e]
    slot = ((code * MIXING) >> 32) & last
    while True:
        number = table.slots[slot]
        if number < 0 or number >= known:
            return slot
        e = 0
        while e < count and table.signs[number, e] == signs[i, e]:
            e += 1
        if e == count:
            return slot
        slot = (slot + 1) & last


@compiled(allocates=False)
def add_all(table, ends, fan, lost, proofs, signs, numbers):
    """Fill numbers (n,) with those of the patterns (n, pairs); add unknown ones and what is left.

    ``ends`` (pairs, 2) are the targets that are the actions of a pair, ``lost`` (1, actions) is
    room. Stops at the first pattern
    that lacks room or a proof. Returns how many patterns are known, which one lacks something, and
    what: the target without a proof, or ``FULL``.
    """
    known = table.known
    for i in range(len(numbers)):
        slot = slot_of(table, known, signs, i)
        if not 0 <= table.slots[slot] < known:
            if known == len(table.consistent):
                return known, i, FULL
            lacking = leave(table.left, ends, fan, lost, proofs, signs, i, known)
            if lacking != DONE:
                return known, i, lacking
            for e in range(signs.shape[1]):
                table.signs[known, e] = signs[i, e]
            table.slots[slot] = known
            known += 1
        numbers[i] = table.slots[slot]
    return known, len(numbers), DONE


@compiled(inline="always", allocates=False)
def leave(left, ends, fan, lost, proofs, signs, i, number):
    """Write which targets pattern i leaves to row ``number``; return the first without a proof.

    An action that loses a decided comparison is out at once, and so is a decided pair; both ends
    of a pair that is left are left themselves. If nothing is decided, everything is left.
    """
    if not filter_targets(left, ends, signs, i, number):
        return DONE
    count, total = len(ends), left.shape[1]
    actions = total - count
    if len(fan.pairs) > 0:
        if circular(fan.pairs, signs, i, lost, 0):
            for target in range(total):
                left[number, target] = False
        return DONE
    for target in range(total):
        if target >= actions and not (
            left[number, ends[target - actions, 0]] and left[number, ends[target - actions, 1]]
        ):
            left[number, target] = False
        if left[number, target]:
            proven = meets(proofs, signs, i, target)
            if proven < 0:
                return target
            left[number, target] = proven == 1
    return DONE


@compiled(allocates=False)
def leave_all_in_fan(ends, fan, signs, lost, left, candidates, observers, consistent):
    """Write what all patterns (n, pairs) leave in a fan, and whether that is anything, (n,)."""
    for i in range(len(signs)):
        consistent[i] = leave_in_fan(ends, fan, signs, i, lost, left, candidates, observers)


@compiled(allocates=False)
def leave_in_fan(ends, fan, signs, i, lost, left, candidates, observers):
    """Write to rows i what pattern i leaves in a fan; return whether that is anything.

    Targets (n, targets), actions that can be played and those that observe (n, k); ``lost`` is
    room (n, actions).
    """
    total, k = left.shape[1], candidates.shape[1]
    if filter_targets(left, ends, signs, i, i) and circular(fan.pairs, signs, i, lost, i):
        return False
    for c in range(k):
        candidates[i, c] = False
        observers[i, c] = False
    for target in range(total):
        if left[i, target]:
            for c in range(k):
                candidates[i, c] |= fan.near[target, c]
                observers[i, c] |= fan.seen[target, c]
    return True


@compiled(allocates=False)
def filter_targets(left, ends, signs, i, number):
    """Write to row ``number`` what no single decision of pattern i excludes; return if any does."""
    count, total = len(ends), left.shape[1]
    actions, decided = total - count, False
    for target in range(total):
        left[number, target] = True
    for e in range(count):
        if signs[i, e] != 0:
            decided = True
            left[number, actions + e] = False
            left[number, ends[e, 0 if signs[i, e] > 0 else 1]] = False  # the larger loss
    for e in range(count if decided else 0):
        if not (left[number, ends[e, 0]] and left[number, ends[e, 1]]):
            left[number, actions + e] = False
    return decided


@compiled(allocates=False)
def circular(pairs, signs, i, lost, row):
    """Whether the decisions of pattern i contain a circle of actions that each beat the next.

    Actions that lose to none are taken out one after the other; ``lost`` (rows, actions) counts to
    how many of the others each loses.
    """
    actions = len(pairs)
    for a in range(actions):
        lost[row, a] = 0
        for b in range(actions):
            if beats(pairs, signs, i, b, a):
                lost[row, a] += 1
    for _ in range(actions):
        a = 0
        while a < actions and lost[row, a] != 0:
            a += 1
        if a == actions:
            return True
        lost[row, a] = -1
        for b in range(actions):
            if beats(pairs, signs, i, a, b):
                lost[row, b] -= 1
    return False


@compiled(allocates=False)
def beats(pairs, signs, i, a, b):
    """Whether pattern i decides that an action has a smaller loss than another."""
    return a != b and signs[i, pairs[a, b]] == (-1 if a < b else 1)


@compiled(inline="always", allocates=False)
def meets(proofs, signs, i, target):
    """Return whether a target meets the region of pattern i: 1 or 0, or -1 without a proof."""
    count = signs.shape[1]
    points, clashes = proofs.points, proofs.clashes
    for row in range(proofs.known[target, 0]):
        e = 0
        while e < count and (signs[i, e] == 0 or signs[i, e] == points[target, row, e]):
            e += 1
        if e == count:
            return 1
    for row in range(proofs.known[target, 1]):
        e = 0
        while e < count and (
            clashes[target, row, e] == 0 or clashes[target, row, e] == signs[i, e]
        ):
            e += 1
        if e == count:
            return 0
    return -1

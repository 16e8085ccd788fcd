"""The largest alignment constant over all choices of one need per context.

Every kernel bounds the constants of all choices from above, see ``contextual_programs``. So choices
can be solved in the order of their bounds, and where there are too many of them one kernel that is
good against all gives a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from partial_monitoring.analysis.contextual.programs import Need, Observers, value_of
from partial_monitoring.validation import Array

MOST_CHOICES = 200_000
"""Up to so many choices of one need per context are looked at one by one."""

MOST_PROGRAMS = 1000
"""So many conic programs are solved at most for one constant."""

CLOSE = 1e-7
"""Choices whose upper bound exceeds the largest value found by less than this fraction are done."""


class ContextualAlignment(float):
    """An alignment constant with contexts: a number, the constant itself or a bound from above."""

    exact: bool
    """Whether it is the constant; if not, the number is an upper bound of it."""
    lower: float
    """The constant is at least this."""

    def __new__(
        cls, value: float, exact: bool = True, lower: float | None = None
    ) -> ContextualAlignment:
        self = super().__new__(cls, value)
        self.exact, self.lower = exact, float(value) if lower is None else lower
        return self


NOTHING = ContextualAlignment(0.0)
UNSEEN = ContextualAlignment(np.inf)


def largest_value(
    options: Sequence[Sequence[Need]], weights: Sequence[float], observers: Observers
) -> ContextualAlignment:
    """Return the largest constant over all choices of one need per context.

    Choices are solved in the order of their upper bounds, which every kernel found lowers, until no
    other choice can be larger. Where there are too many choices, one kernel is sought that is good
    for all of them, and what it gives is an upper bound.
    """
    kept = [(own, p) for own, p in zip(options, weights, strict=True) if own and p > 0]
    if not kept:
        return NOTHING
    options, weights = [own for own, _ in kept], [p for _, p in kept]
    if not all(observers.sees(need) for own in options for need in own):
        return UNSEEN

    def tables(kernel: Array) -> list[Array]:
        return [
            p * _lengths(own, kernel, observers) for own, p in zip(options, weights, strict=True)
        ]

    counts = [len(own) for own in options]
    if prod(counts) > MOST_CHOICES:
        return _one_kernel_for_all(options, weights, observers, tables)

    def solve(choice: int) -> tuple[float, Array]:
        numbers = np.unravel_index(choice, counts)
        needs = [own[int(n)] for own, n in zip(options, numbers, strict=True)]
        return value_of(needs, weights, observers)

    def bounds(kernel: Array) -> Array:
        total = np.zeros(1)
        for own in tables(kernel):
            total = (total[:, None] + own[None]).ravel()
        return total

    start = observers.spread(np.zeros(len(observers)))
    return best_first(bounds(start), solve, bounds)


def best_first(
    upper: Array,
    solve: Callable[[int], tuple[float, Array]],
    bounds: Callable[[Array], Array],
) -> ContextualAlignment:
    """Return the largest of many values, from upper bounds that every solution improves."""
    upper, best = upper.copy(), 0.0
    done = np.zeros(len(upper), dtype=bool)
    for _ in range(MOST_PROGRAMS):
        choice = int(upper.argmax())
        if done[choice] or upper[choice] <= best * (1 + CLOSE):
            return ContextualAlignment(best)
        value, kernel = solve(choice)
        best = max(best, value)
        upper = np.where(done, upper, np.minimum(upper, bounds(kernel)))
        upper[choice], done[choice] = value, True
    rest = float(upper.max())
    return ContextualAlignment(max(rest, best), rest <= best * (1 + CLOSE), best)


def _lengths(needs: Sequence[Need], kernel: Array, observers: Observers) -> Array:
    """Return d' G(q)^-1 d of every need."""
    lengths = np.zeros(len(needs))
    groups: dict[bytes, list[int]] = {}
    for j, need in enumerate(needs):
        if need.direction.any():
            groups.setdefault(need.served_by.tobytes(), []).append(j)
    for members in groups.values():
        directions = np.array([needs[j].direction for j in members])
        lengths[members] = observers.lengths(needs[members[0]].served_by, directions, kernel)
    return lengths


def _one_kernel_for_all(
    options: Sequence[Sequence[Need]],
    weights: Sequence[float],
    observers: Observers,
    tables: Callable[[Array], list[Array]],
    rounds: int = 60,
) -> ContextualAlignment:
    """Bound the largest constant by a kernel that is good against a mixture of choices.

    The largest constant is at most min over q of sum_z p_z max_d d' G(q)^-1 d, a game between q and
    mixtures of needs. Each round adds the needs that are worst for the last kernel, and answers the
    mixture of all so far: needs of one context share its probability.
    """
    counts = [np.zeros(len(own)) for own in options]
    kernel = observers.spread(np.zeros(len(observers)))
    average, upper, lower = kernel, np.inf, 0.0
    for done in range(rounds):
        for tried in (kernel, average):
            upper = min(upper, sum(float(own.max()) for own in tables(tried)))
        worst = [int(own.argmax()) for own in tables(average)]
        alone = [own[j] for own, j in zip(options, worst, strict=True)]
        lower = max(lower, value_of(alone, weights, observers)[0])
        if upper <= lower * (1 + CLOSE):
            break
        for own, j in zip(counts, worst, strict=True):
            own[j] += 1
        mixed = [
            (need, p * count / own.sum())
            for needs, own, p in zip(options, counts, weights, strict=True)
            for need, count in zip(needs, own, strict=True)
            if count > 0
        ]
        _, kernel = value_of([need for need, _ in mixed], [p for _, p in mixed], observers)
        average = (average * (done + 1) + kernel) / (done + 2)
    return ContextualAlignment(upper, upper <= lower * (1 + CLOSE), lower)

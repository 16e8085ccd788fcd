"""The alignment constants of a game with contexts (equations 33 to 35).

With a direction omega^z for every context and one pair of Pareto actions in each,

    alpha(chi) = max (sum_z chi(z) <phi_a^z - phi_b^z, omega^z>)^2
                     / sum_z' chi(z') max_c sum_z chi(z) |M_c^z' omega^z|^2.

The observing action c of a context serves the directions of all contexts (E20). The signs of the
differences do not matter, because every omega^z may be reversed. The integrated constant has one
omega for all contexts (E21), so that signs matter:

    alpha-bar(chi) = max (<sum_z chi(z) (phi_a^z - phi_b^z), omega>)^2
                         / sum_z' chi(z') max_c |M_c^z' omega|^2.

alpha-bar(chi) <= alpha(chi) <= sum_z alpha(z), and alpha-bar(chi) <= sum_z chi(z) alpha(z), by
estimating every difference in its own context. alpha(chi) can exceed the average of alpha(z): in
two unrelated contexts it is alpha(1) + alpha(2), whatever their probabilities.

Both are maxima over all choices of one pair per context. Every kernel bounds the constants of all
choices from above, see ``programs``. So choices are solved in the order of their bounds, and where
there are too many of them, one kernel that is good against all gives a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod

import numpy as np

from partial_monitoring.analysis.contextual import programs
from partial_monitoring.analysis.contextual.programs import Contrast, Mask, ObservingActions
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.validation import Array

Actions = Sequence[Sequence[int]]
"""For every context, some of its actions."""

MOST_CHOICES = 200_000
"""Largest number of choices of one contrast per context that are considered one by one."""

MOST_PROGRAMS = 1000
"""Largest number of conic programs that are solved for one constant."""

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


NO_CONTRAST = ContextualAlignment(0.0)
"""The constant where no two actions of a context have to be distinguished."""

UNOBSERVABLE = ContextualAlignment(np.inf)
"""The constant where two actions of a context cannot be distinguished."""


def contextual_alignment(
    game: ContextualGame, plausible: Actions, observers: Actions | None = None
) -> ContextualAlignment:
    """Return alpha(chi), from the Pareto actions of every context (one of each duplicate class).

    ``plausible`` are the actions that have to be distinguished in each context, ``observers`` those
    that may observe, all unless given.
    """
    shown = observing_actions(game, observers)
    everyone = np.ones(len(shown), dtype=bool)
    possible = possible_contexts(game)
    options = [
        [Contrast(d, everyone) for d in reward_differences(game, z, plausible[z])] for z in possible
    ]
    return largest_constant(options, [float(game.context_distribution[z]) for z in possible], shown)


def integrated_alignment(
    game: ContextualGame, plausible: Actions, observers: Actions | None = None
) -> ContextualAlignment:
    """Return alpha-bar(chi), the constant of gaps that are estimated over whole plans (E21)."""
    shown = observing_actions(game, observers)
    everyone = np.ones(len(shown), dtype=bool)
    chi = game.context_distribution
    options = [chi[z] * reward_differences(game, z, plausible[z]) for z in possible_contexts(game)]
    options = [own for own in options if len(own)]
    if not options:
        return NO_CONTRAST
    if not all(shown.sees(Contrast(d, everyone)) for own in options for d in own):
        return UNOBSERVABLE
    # The sign of one context is free, those of the others matter.
    signed = [options[0], *(np.concatenate([own, -own]) for own in options[1:])]
    if prod(map(len, signed)) * signed[0].shape[1] > 10 * MOST_CHOICES:
        return _triangle(options, everyone, shown)
    total = np.zeros((1, signed[0].shape[1]))
    for own in signed:
        total = (total[:, None] + own[None]).reshape(-1, own.shape[1])

    def solve(choice: int) -> tuple[float, Array]:
        return programs.value_of([Contrast(total[choice], everyone)], [1.0], shown)

    def bounds(kernel: Array) -> Array:
        return shown.lengths(everyone, total, kernel)

    return best_first(bounds(shown.spread(np.zeros(len(shown)))), solve, bounds)


def _triangle(
    options: Sequence[Array], everyone: Mask, shown: ObservingActions
) -> ContextualAlignment:
    """Bound alpha-bar: its square root is a norm of the integrated difference."""
    contrasts = [[Contrast(d, everyone) for d in own] for own in options]
    found = [largest_constant([own], [1.0], shown) for own in contrasts]
    upper = sum(float(np.sqrt(own)) for own in found) ** 2
    return ContextualAlignment(upper, False, max(own.lower for own in found))


def possible_contexts(game: ContextualGame) -> list[int]:
    """Return the possible contexts."""
    return [int(z) for z in np.flatnonzero(game.context_distribution > 0)]


def observing_actions(game: ContextualGame, actions: Actions | None = None) -> ObservingActions:
    """Return the informative actions of the possible contexts."""
    places = observing_places(game, actions)
    q = game.parameters.difference_basis()
    rows = [game.at(z).rows(c) @ q for z, c in places]
    chances = {z: float(game.context_distribution[z]) for z, _ in places}
    return ObservingActions(rows, [z for z, _ in places], chances)


def observing_places(game: ContextualGame, actions: Actions | None = None) -> list[tuple[int, int]]:
    """Return (context, action) of the informative actions, in their order."""
    q = game.parameters.difference_basis()
    return [
        (z, int(c))
        for z in possible_contexts(game)
        for c in (range(game.at(z).k) if actions is None else actions[z])
        if _informative(game.at(z).rows(int(c)), q)
    ]


def _informative(rows: Array, q: Array) -> bool:
    """Whether the rows of a map are more than rounding noise on the directions of Theta."""
    raw = np.linalg.norm(rows, axis=1)
    return bool((np.linalg.norm(rows @ q, axis=1) > 1e-9 * raw).any())


def reward_differences(game: ContextualGame, context: int, actions: Sequence[int]) -> Array:
    """Return the reward differences of all pairs of actions of a context, shape (pairs, D)."""
    q = game.parameters.difference_basis()
    own = game.at(context).features @ q
    pairs = [own[b] - own[a] for a, b in combinations(actions, 2)]
    return np.array(pairs).reshape(len(pairs), q.shape[1])


def largest_constant(
    options: Sequence[Sequence[Contrast]], weights: Sequence[float], observers: ObservingActions
) -> ContextualAlignment:
    """Return the largest constant over all choices of one contrast per context.

    Choices are solved in the order of their upper bounds, which every kernel found lowers, until no
    other choice can be larger. Where there are too many choices, one kernel is sought that is good
    for all of them, and what it gives is an upper bound.
    """
    kept = [(own, p) for own, p in zip(options, weights, strict=True) if own and p > 0]
    if not kept:
        return NO_CONTRAST
    options, weights = [own for own, _ in kept], [p for _, p in kept]
    if not all(observers.sees(contrast) for own in options for contrast in own):
        return UNOBSERVABLE

    def tables(kernel: Array) -> list[Array]:
        return [
            p * _lengths(own, kernel, observers) for own, p in zip(options, weights, strict=True)
        ]

    counts = [len(own) for own in options]
    if prod(counts) > MOST_CHOICES:
        return _one_kernel_for_all(options, weights, observers, tables)

    def solve(choice: int) -> tuple[float, Array]:
        numbers = np.unravel_index(choice, counts)
        contrasts = [own[int(n)] for own, n in zip(options, numbers, strict=True)]
        return programs.value_of(contrasts, weights, observers)

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


def _lengths(contrasts: Sequence[Contrast], kernel: Array, observers: ObservingActions) -> Array:
    """Return d' G(q)^-1 d of every contrast."""
    lengths = np.zeros(len(contrasts))
    groups: dict[bytes, list[int]] = {}
    for j, contrast in enumerate(contrasts):
        if contrast.direction.any():
            groups.setdefault(contrast.observers.tobytes(), []).append(j)
    for members in groups.values():
        directions = np.array([contrasts[j].direction for j in members])
        lengths[members] = observers.lengths(contrasts[members[0]].observers, directions, kernel)
    return lengths


def _one_kernel_for_all(
    options: Sequence[Sequence[Contrast]],
    weights: Sequence[float],
    observers: ObservingActions,
    tables: Callable[[Array], list[Array]],
    rounds: int = 60,
) -> ContextualAlignment:
    """Bound the largest constant by a kernel that is good against a mixture of choices.

    The largest constant is at most min over q of sum_z p_z max_d d' G(q)^-1 d, a game between q and
    mixtures of contrasts. Each round adds the contrasts that are worst for the last kernel, and
    answers the mixture of all so far: contrasts of one context share its probability.
    """
    counts = [np.zeros(len(own)) for own in options]
    kernel = observers.spread(np.zeros(len(observers)))
    average, upper, lower = kernel, np.inf, 0.0
    for done in range(rounds):
        for tried in (kernel, average):
            upper = min(upper, sum(float(own.max()) for own in tables(tried)))
        worst = [int(own.argmax()) for own in tables(average)]
        alone = [own[j] for own, j in zip(options, worst, strict=True)]
        lower = max(lower, programs.value_of(alone, weights, observers)[0])
        if upper <= lower * (1 + CLOSE):
            break
        for own, j in zip(counts, worst, strict=True):
            own[j] += 1
        mixed = [
            (contrast, p * count / own.sum())
            for contrasts, own, p in zip(options, counts, weights, strict=True)
            for contrast, count in zip(contrasts, own, strict=True)
            if count > 0
        ]
        _, kernel = programs.value_of(
            [contrast for contrast, _ in mixed], [p for _, p in mixed], observers
        )
        average = (average * (done + 1) + kernel) / (done + 2)
    return ContextualAlignment(upper, upper <= lower * (1 + CLOSE), lower)

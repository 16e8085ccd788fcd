"""Rounds whose answers come late: with a delay, and in batches.

The answer to round t comes ``delay`` rounds later than it would, and is told before the next batch
begins. A policy that can expect answers decides from the state as if the open decisions had been
answered as expected; see :class:`partial_monitoring.policies.policy.Policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.state import Pending
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.policies.policy import (
    PENDING,
    Policy,
    check_choices,
    checked_actions,
    drawn_with,
    expecting,
    seen,
    uniform_stream,
)
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.validation import (
    Array,
    Indices,
    brief,
    is_ragged,
    one_of,
    real_array,
    whole_number,
)

MOST_DELAY = 10**12
"""Largest delay."""

MOST_LISTED = 1_000_000
"""Largest number of delays of a distribution; longer ones, which are rare, count as the longest."""

RARE = 1e-9
"""A chance that is left out."""

Delays = int | Sequence[float] | Array | Callable[[Array], ArrayLike] | Any
"""Rounds; the chances of 0, 1, ... rounds; a function of uniform numbers (n,); a distribution."""


@dataclass(frozen=True, eq=False)
class Late:
    """When answers come, and what open decisions are to a policy."""

    delay: int | tuple[float, ...] | Callable[[Array], ArrayLike] = 0
    """Rounds, the chances of 0, 1, ... rounds, or a function of uniform numbers (n,)."""
    batch: int = 1
    pending: str = "expected"

    @classmethod
    def read(cls, delay: Delays = 0, batch: int = 1, pending: str = "expected") -> Late | None:
        """Return when answers come, as given by a user; None if they come at once."""
        count = whole_number("batch", batch, at_least=1, at_most=MOST_DELAY)
        known = cls(read_delay(delay), count, one_of("pending", pending, PENDING))
        return None if known.delay == 0 and count == 1 else known

    @property
    def same(self) -> bool:
        """Whether the delay of a round is the same with every seed."""
        return isinstance(self.delay, int)

    @cached_property
    def _limits(self) -> Array:
        return np.cumsum(np.asarray(self.delay))

    def told(self, t: int, uniforms: Array) -> Indices:
        """Return before which rounds (n,) the answers of round t are told, both from 0."""
        delay = np.full(len(uniforms), self.delay) if self.same else self._drawn(uniforms)
        due = t + 1 + delay
        return np.asarray(-(-due // self.batch) * self.batch, dtype=np.int64)

    def _drawn(self, uniforms: Array) -> Any:
        if not callable(self.delay):
            found = np.searchsorted(self._limits, uniforms, side="right")
            return np.minimum(found, len(self._limits) - 1)
        given = np.asarray(self.delay(uniforms))
        if given.shape != uniforms.shape or given.dtype.kind not in "iuf":
            raise InvalidInput(
                f"delay must return one number of rounds for each of {len(uniforms)} uniform "
                f"numbers; got {brief(given)}."
            )
        if not ((given >= 0) & (given <= MOST_DELAY)).all():
            raise InvalidInput(f"delay must return rounds of at least 0; got {brief(given)}.")
        return np.floor(given).astype(np.int64)


def read_delay(delay: Any) -> int | tuple[float, ...] | Callable[[Array], ArrayLike]:
    """Return a delay as given by a user; distributions become the chances of 0, 1, ... rounds."""
    if callable(getattr(delay, "cdf", None)):
        return _listed(delay)
    if callable(delay):
        return delay  # type: ignore[no-any-return]
    if not is_ragged(delay) and np.ndim(delay) == 0:
        return whole_number("delay", delay, at_least=0, at_most=MOST_DELAY)
    chances = real_array("delay", delay, ("rounds",))
    if not len(chances) or (chances < 0).any() or abs(chances.sum() - 1.0) > RARE:
        raise InvalidInput(
            f"delay must be rounds, or the chances of 0, 1, ... rounds, which add up to 1; got "
            f"{brief(delay)}."
        )
    return tuple(chances.tolist())


def _listed(distribution: Any) -> tuple[float, ...]:
    """Return the chances of 0, 1, ... whole rounds under a distribution with a ``cdf``."""
    try:
        below_zero = float(distribution.cdf(np.nextafter(0.0, -1.0)))
    except TypeError:
        raise InvalidInput(
            f"delay must be a distribution whose parameters are given, as in geom(0.1); got "
            f"{brief(distribution)}."
        ) from None
    if below_zero > 0:
        raise InvalidInput(f"delay must not be below 0; got {brief(distribution)}.")
    length = 16
    while True:
        below = np.asarray(distribution.cdf(np.nextafter(np.arange(1.0, length + 1.0), 0.0)))
        if not np.isfinite(below).all():
            raise InvalidInput(
                f"delay must be a distribution of rounds; got {brief(distribution)}."
            )
        if below[-1] >= 1.0 - RARE or length >= MOST_LISTED:
            break
        length = min(2 * length, MOST_LISTED)
    kept = below[: 1 + int(np.searchsorted(below, 1.0 - RARE))]
    chances = np.diff(kept, prepend=0.0)
    return tuple((chances / chances.sum()).tolist())


class Answer(NamedTuple):
    """What some replicates will be told before a round, ordered by when."""

    due: int
    t: int
    """The round of the decision."""
    action: Indices
    shown: Array
    context: Any
    probability: Array


class Group:
    """Replicates whose answers come at the same time: what they know, and what is open."""

    def __init__(self, policy: Policy[Any], state: Any, rows: slice, *, expected: bool) -> None:
        self.policy, self.state, self.rows = policy, state, rows
        self._expected = expected and callable(getattr(policy, "expecting", None))
        self._answers: list[Answer] = []
        self._open: dict[int | None, dict[int, Indices]] = {}

    def learn(self, t: int) -> None:
        """Take in all answers that are told before round t."""
        while self._answers and self._answers[0].due <= t:
            _, _, action, shown, context, probability = heappop(self._answers)
            options = seen(context) | drawn_with(self.policy, probability)
            self.state = self.policy.update(self.state, action, shown, **options)
            self._count(action, context, -1)

    def deciding(self) -> Any:
        """Return the state from which to decide."""
        return expecting(self.policy, self.state, self._pending()) if self._open else self.state

    def wait(self, answer: Answer) -> None:
        """Leave a decision open until its answer is told."""
        heappush(self._answers, answer)
        self._count(answer.action, answer.context, 1)

    def _pending(self) -> Iterator[tuple[Any, Pending]]:
        for z, counts in sorted(self._open.items(), key=lambda item: item[0] or 0):
            actions = sorted(counts)
            pending = Pending(np.array(actions), np.stack([counts[a] for a in actions], axis=1))
            yield None if z is None else np.full(len(pending.often), z), pending

    def _count(self, action: Indices, context: Indices | None, step: int) -> None:
        """Add open decisions of actions (n,) in contexts (n,), or take them away."""
        if not self._expected:
            return
        where = [None] * len(action) if context is None else context.tolist()
        for z, a in dict.fromkeys(zip(where, action.tolist(), strict=True)):
            chosen = action == a if context is None else (action == a) & (context == z)
            counts = self._open.setdefault(z, {})
            counts[a] = counts.get(a, 0) + step * chosen
            if step < 0 and not counts[a].any():
                del counts[a]
                if not counts:
                    del self._open[z]


class Delayed:
    """Rounds of one policy whose answers come late, all seeds at once or one after the other."""

    def __init__(
        self, game: AnyGame, policy: Policy[Any], environment: Environment, late: Late, state: Any
    ) -> None:
        self.environment, self.late, self._game = environment, late, game
        seeds, expected = environment.seeds, late.pending == "expected"
        n = len(seeds)
        self._uniforms = uniform_stream(policy, state, seeds)
        self._delays = randomness.Stream(seeds, randomness.DELAY, 1)
        rows = [slice(n)]
        if not late.same and n > 1:  # a state takes in the answers of all its replicates at once
            state, rows = initial_state_of(policy, game, 1), [slice(i, i + 1) for i in range(n)]
        self._groups = [Group(policy, state, own, expected=expected) for own in rows]

    def round(self, t: int) -> tuple[Indices, Array, Array]:
        """Play round t (from 0); return actions (n,), information gained and ratios (n,)."""
        context, uniforms, n = (
            self.environment.context(t),
            self._uniforms(t),
            len(self._delays.seeds),
        )
        told, action = self.late.told(t, self._delays.at(t)[:, 0]), np.empty(n, dtype=np.int64)
        gained, ratio, probability = np.empty((3, n))
        for group in self._groups:
            group.learn(t)
            own = group.rows
            where = None if context is None else context[own]
            choice = group.policy.decide(group.deciding(), uniforms[own], **seen(where))
            if t == 0:
                check_choices(choice, self._game.k, len(told[own]))
            action[own] = checked_actions(choice, len(told[own]), self._game.k)
            gained[own] = choice.gained
            ratio[own] = np.nan if choice.ratio is None else choice.ratio
            probability[own] = choice.chosen
        shown = self.environment.observe(action, t)
        for group in self._groups:
            own = group.rows
            where = None if context is None else context[own]
            mine = action[own], shown[own], where, probability[own]
            group.wait(Answer(int(told[own][0]), t, *mine))
        return action, gained, ratio

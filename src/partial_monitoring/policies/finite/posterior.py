"""What is believed about the outcomes of a finite game: counts of what was seen, and draws.

The posterior depends on the partitions of the outcomes that actions show and on how often each
block was seen; actions that show the same partition share their counts, and symbols that every
outcome shows say nothing. See ``outcome_counts`` and ``posterior_draw`` in ``numerics.compiled``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.validation import Array, Indices, frozen

LAM = 0.001
"""The published precision of the prior N(0, I / lam) on the simplex, which is nearly uniform."""

TRIES = 100
"""How often each exact way to draw is tried before the chain takes over."""

STEPS = 40
"""Steps of the chain to its first draw."""

BETWEEN = 4
"""Steps from one draw to the next of the same round."""


@dataclass(frozen=True)
class Drawing:
    """How is drawn; the default is the exact posterior."""

    lam: float = LAM
    envelope: int = 2
    ratio: float = 1.0
    """R."""
    tries: int = TRIES
    steps: int = STEPS

    @cached_property
    def law(self) -> Any:
        """The same for compiled loops."""
        from partial_monitoring.numerics.compiled.outcome_counts import Law

        with np.errstate(divide="ignore"):
            log_ratio = float(np.log(self.ratio))
        numbers = float(self.lam), float(self.envelope), log_ratio
        return Law(*numbers, self.tries, self.steps, BETWEEN)


@dataclass(frozen=True, eq=False)
class Posterior:
    """What n replicates have seen of a game."""

    game: FiniteGame
    parts: Any
    """The partitions."""
    belief: Any
    """Counts and the middle of the posterior."""

    @property
    def replicates(self) -> int:
        return len(self.belief.plays)

    @property
    def plays(self) -> Indices:
        """How often each action was played, shape (n, k)."""
        return np.asarray(self.belief.plays)

    @property
    def middle(self) -> Array:
        """Nearly the posterior mean, shape (n, d)."""
        return np.asarray(self.belief.middle)

    def after(self, action: Indices, observation: Array) -> Posterior:
        """Return what is known after the observations (n, m) of the actions (n,)."""
        from partial_monitoring.numerics.compiled import outcome_counts

        moved, scratch = self.copied(), np.empty(self.belief.counts.shape)
        shown = np.asarray(action, np.int64), _plain(observation)
        outcome_counts.learn_all(self.parts, moved.belief, scratch, *shown)
        return moved

    def draw(
        self, drawing: Drawing, uniforms: Array, draws: int = 1
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return draws of theta (n, draws, d), one uniform number (n,) each; which are exact."""
        from partial_monitoring.numerics.compiled import posterior_draw

        out = np.empty((self.replicates, draws, self.game.d))
        exact = np.empty(out.shape[:2], dtype=np.bool_)
        posterior_draw.draw_all(
            self.parts, drawing.law, self.belief, self.work(), _plain(uniforms), out, exact
        )
        return out, exact

    def copied(self) -> Posterior:
        """Return the same with arrays of its own."""
        belief = type(self.belief)(*(array.copy() for array in self.belief))
        return replace(self, belief=belief)

    def work(self) -> Any:
        """Return scratch for compiled loops."""
        from partial_monitoring.numerics.compiled.posterior_draw import Work

        n, d, m = self.replicates, self.game.d, self.game.m
        r, p = len(self.parts.size), d - 1
        return Work(
            own=np.zeros((n, 1), dtype=np.uint64),
            theta=np.zeros((n, d)),
            chances=np.zeros((n, r)),
            weight=np.zeros((n, r)),
            factor=np.zeros((n, p, p)),
            mean=np.zeros((n, p)),
            step=np.zeros((n, p)),
            away=np.zeros((n, d)),
            start=np.zeros((n, d)),
            aside=np.zeros((n, d)),
            shown=np.zeros((n, m)),
        )


def initial_posterior(game: FiniteGame, replicates: int) -> Posterior:
    """Return what is known before the first round."""
    from partial_monitoring.numerics.compiled.outcome_counts import Belief

    parts, n, d = partitions(game), replicates, game.d
    belief = Belief(
        plays=np.zeros((n, game.k), dtype=np.int64),
        counts=np.zeros((n, len(parts.size))),
        totals=np.zeros((n, len(parts.block))),
        middle=np.full((n, d), 1.0 / d),
    )
    return Posterior(game, parts, belief)


def partitions(game: FiniteGame) -> Any:
    """Return the partitions that actions show; if none shows anything, that of single outcomes."""
    from partial_monitoring.numerics.compiled.outcome_counts import Partitions

    d = game.d
    known: dict[tuple[int, ...], int] = {}  # the first block of each partition
    blocks: list[Indices] = []
    shown = np.full((game.k, game.m), -1, dtype=np.int64)
    count = 0
    for a in range(game.k):
        own = game.rows(a).argmax(axis=0)  # (d,), symbols in order of first appearance
        key = tuple(own.tolist())
        if max(key) == 0:
            continue
        if key not in known:
            known[key] = count
            blocks.append(own + count)
            count += max(key) + 1
        shown[a, : max(key) + 1] = known[key] + np.arange(max(key) + 1)
    if not blocks:
        blocks, count = [np.arange(d)], d
    block = np.array(blocks, dtype=np.int64)
    rows = np.zeros((count, d))
    for own in block:
        rows[own, np.arange(d)] = 1.0
    basis = np.ascontiguousarray(game.parameters.difference_basis())  # (d, d - 1)
    first = np.array([own.min() for own in block] + [count], dtype=np.int64)
    seen = rows @ basis
    arrays = (block, first, rows.sum(axis=1), shown, basis, seen)
    return Partitions(*(frozen(np.ascontiguousarray(array)) for array in arrays))


def _plain(numbers: Array) -> Array:
    """Return numbers as an array that compiled functions know."""
    return np.array(numbers, dtype=float)

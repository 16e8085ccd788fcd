"""What is known from counted signals: the likelihood, and how sure each comparison is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import (
    Estimate,
    counted,
    initial,
    refreshed,
)
from partial_monitoring.estimation.linear.through import through
from partial_monitoring.estimation.profile.model import Rivals, SignalModel
from partial_monitoring.estimation.state import Pending
from partial_monitoring.numerics import compiled
from partial_monitoring.validation import Array, Indices

if TYPE_CHECKING:
    from partial_monitoring.numerics.compiled.profile import Known, Scratch, Table

MOST_KEPT = 16
"""Number of threads, and of sizes of games, whose room is kept."""

NEWTON_STEPS = 4
"""Of Newton's method towards the maximum of the likelihood, from close by."""


@dataclass(frozen=True, eq=False)
class ProfileState:
    """The counts of all signals, and what follows from them."""

    later: ClassVar[tuple[str, ...]] = ("doubt",)
    """What the states in files of earlier versions lack, and ``completed`` computes."""

    model: SignalModel
    round: Indices
    """t: one more than the number of observations, but at most as many as are remembered, (n,)."""
    seen: Indices
    """How often each context came, shape (n, contexts)."""
    plays: Indices
    """How often each action was observed, those that show nothing excepted, shape (n, K)."""
    fresh: Indices
    """The plays when what follows from the counts was computed, shape (n, K)."""
    counts: Array
    """How often each signal was seen, with the pseudo-counts of the prior, shape (n, R)."""
    coordinates: Array
    """x_hat, the maximum of the likelihood, shape (n, r)."""
    ties: Array
    """x_b, where each action last tied with the best one of its context, shape (n, K, r)."""
    means: Array
    """Rewards at x_hat in the unit of the model, shape (n, K)."""
    worth: Array
    """What one observation of each action is expected to save in a later round, in the same unit,
    shape (n, K)."""
    doubt: Array
    """What is expected to be lost per round, over all contexts, as it is not known which actions
    are best, in the same unit, shape (n, 1)."""

    @classmethod
    def initial(cls, model: SignalModel, replicates: int) -> Self:
        """Return the state before the first round."""
        n, (actions, r), prior = replicates, model.slopes.shape, model.signals.prior
        blank = cls(
            model,
            np.ones(n, dtype=np.int64),
            np.zeros((n, len(model.games)), dtype=np.int64),
            np.zeros((n, actions), dtype=np.int64),
            np.zeros((n, actions), dtype=np.int64),
            np.tile(prior, (n, 1)),
            np.zeros((n, r)),
            np.zeros((n, actions, r)),
            np.zeros((n, actions)),
            np.zeros((n, actions)),
            np.zeros((n, 1)),
        )
        return blank.refreshed(np.ones(n, dtype=bool))

    @property
    def design(self) -> Design:
        """All actions as least squares sees them."""
        return self.model.design

    @property
    def estimate(self) -> Array:
        """Theta at the maximum of the likelihood, shape (n, d); it may lie outside of Theta."""
        return self.model.parameter(self.coordinates)

    def after(self, action: Indices, observation: Array, context: Indices | None = None) -> Self:
        """Return the state after the observations (n, m) of actions (n,) in their contexts."""
        own = self.model.contexts(context, len(action))
        if self.model.withholds and (self.model.positions[own, action] < 0).any():
            whole: Any = self.model.game
            whole.check_offered(own, action)
        return self._learned(self.model.table, own, action, observation, np.zeros(len(own), bool))

    def after_often(
        self, action: Indices, observation: Array, often: Indices, context: Indices | None = None
    ) -> Self:
        """Return the state after observations (n, m) of actions (n,) came often (n,) times.

        The counts are those after as many rounds; what follows from them is up to date.
        """
        own, signals = self.model.contexts(context, len(action)), self.model.signals
        plays, counts, seen = self.plays.copy(), self.counts.copy(), self.seen.copy()
        for i, (z, count) in enumerate(zip(own.tolist(), often.tolist(), strict=True)):
            place = self.model.positions[z, action[i]]
            if place < 0:
                whole: Any = self.model.game
                whole.check_offered(own, action)
            shown = slice(*signals.first[place : place + 2])
            values = signals.scale[shown] * observation[i, signals.source[shown]]
            counts[i, shown] += count * np.clip(values + signals.shift[shown], 0.0, 1.0)
            plays[i, place] += count * (shown.start < shown.stop)
            seen[i, z] += count
        rounds, fresh = self.round + often, plays.copy()
        moved = replace(self, round=rounds, seen=seen, plays=plays, counts=counts, fresh=fresh)
        return moved.refreshed(np.ones(len(action), dtype=bool))

    def expecting(self, pending: Pending, context: Indices | None = None) -> Self:
        """Return the state as if open decisions had been answered with what is expected.

        Signals are counted in fractions, as often as they come at the maximum of the likelihood,
        which stays where it is.
        """
        model, table, x = self.model, self.model.table, self.coordinates
        along = np.concatenate([x, x @ table.extra.T], axis=1) if len(table.extra) else x
        z, known = int(model.contexts(context, len(x))[0]), self._copies()
        own = known, along, z, *pending, tuple(scratch(table))
        compiled.live_index.expect_each(tuple(table), *own)
        t, seen, plays, fresh, counts, _, ties, _, *rest = known
        return type(self)(model, t, seen, plays, fresh, counts, x, ties, self.means, *rest)

    def refreshed(self, stale: NDArray[np.bool_], rivals: Rivals | None = None) -> Self:
        """Return the state with some replicates (n,) up to date, for all rivals unless given."""
        n, table = len(stale), self.model.table
        if rivals is not None:
            table = table._replace(pareto=rivals.pareto, inside=rivals.inside)
        nothing = np.zeros(n, dtype=np.int64), np.full(n, -1), np.zeros((n, 0))
        return self._learned(table, *nothing, stale)

    def completed(self) -> Self:
        """Return the state with what it lacks, computed from the counts; the rest stays."""
        return replace(self, doubt=self.refreshed(np.ones(len(self.round), dtype=bool)).doubt)

    def _learned(self, table: Table, *given: Any) -> Self:
        """Return the state after contexts, actions, observations, and which are stale anyway."""
        known = self._copies()
        compiled.live_index.update_each(tuple(table), known, *given, tuple(scratch(table)))
        return type(self)(self.model, *known)

    def known(self) -> Known:
        """Return copies of the arrays, as compiled functions take them."""
        return compiled.profile.Known(*self._copies())

    def _copies(self) -> tuple[Any, ...]:
        """Return copies of the arrays, in the order of the fields here and of ``Known``."""
        return (
            self.round.copy(),
            self.seen.copy(),
            self.plays.copy(),
            self.fresh.copy(),
            self.counts.copy(),
            self.coordinates.copy(),
            self.ties.copy(),
            self.means.copy(),
            self.worth.copy(),
            self.doubt.copy(),
        )

    def least_squares(self) -> Estimate:
        """Return the least-squares estimate from the same observations."""
        model, signals = self.model, self.model.signals
        k, m = model.joint.k, model.joint.m
        sums = np.zeros((len(self.round), k, m))
        action = np.repeat(np.arange(k), np.diff(signals.first))
        rises = np.flatnonzero(signals.scale > 0)
        seen = (self.counts - signals.prior)[:, rises]
        plays = self._weights if model.forgetting.active else self.plays
        often = plays[:, action[rises]]
        shown = (seen - signals.shift[rises] * often) / signals.scale[rises]
        sums[:, action[rises], signals.source[rises]] = shown
        return replace(counted(model.design, plays, sums), round=self.round)

    @property
    def _weights(self) -> Any:
        """What the observations of each action weigh together, shape (n, K)."""
        signals, k = self.model.signals, self.model.joint.k
        action = np.repeat(np.arange(k), np.diff(signals.first))
        per_play = np.bincount(action, signals.base[: len(action)], k)  # 1 for each of its trials
        seen = (self.counts - signals.prior)[:, : len(action)]
        each = [np.bincount(action, own, k) for own in seen]
        return np.array(each).reshape(len(seen), k) / np.where(per_play > 0.0, per_play, 1.0)

    def likely(self) -> Estimate:
        """Return the likelihood as a normal one: its maximum, and its curvature there.

        The Gram matrix is minus the Hessian of the log-likelihood, times the squared noise. The
        coordinates are first brought up to date, from the counts alone.
        """
        model, signals, x = self.model, self.model.signals, self.coordinates
        directions = np.concatenate([np.eye(x.shape[1]), signals.extra])[signals.direction]
        rows = signals.sign[:, None] * directions  # how probabilities change, (s, r)
        for _ in range(NEWTON_STEPS):
            chances = signals.base + x @ rows.T
            bend = np.einsum("ns,sp,sq->npq", self.counts / chances**2, rows, rows)
            step = np.linalg.solve(bend, (self.counts / chances @ rows)[:, :, None])[:, :, 0]
            fall = (-(step @ rows.T) / chances).max(axis=1, initial=0.5, keepdims=True)
            x = x + step * (0.5 / fall)  # no probability falls by more than half
        seen = np.sqrt(self.counts)[:, :, None] / chances[:, :, None]
        shown = model.design.noise_std * seen * (rows @ np.linalg.inv(model.axes))  # (n, s, r)
        away = (model.parameter(x) - model.design.prior_mean) @ model.joint.reduced.basis
        root = np.linalg.qr(shown, mode="r")
        pulled = root @ away[:, :, None]
        turned = np.swapaxes(root, 1, 2)
        blank = initial(model.design, len(x))
        own = {"gram": turned @ root, "vector": (turned @ pulled)[:, :, 0], "round": self.round}
        factor = np.concatenate([root, pulled], axis=2)
        return refreshed(replace(blank, plays=self.plays, triangle=factor, **own))

    def confidence(self, schedule: Schedule, context: Indices | None = None) -> Ellipsoid:
        """Return E_t of ``likely``, with contexts in the one that all replicates are in."""
        known, model = self.likely(), self.model
        if context is not None:
            known = known.through(through(model.design, model.games[int(context[0])]))
        return Ellipsoid.around(known, schedule)


def scratch(table: Table, shown: int = 0) -> Scratch:
    """Return room for the numbers of one replicate, and for as many as an action shows.

    A thread is handed the same again: nothing is kept there from one call to the next.
    """
    sizes = *table.slopes.shape, len(table.base), len(table.extra), *table.positions.shape
    return _scratch(get_ident(), *sizes, shown)


@lru_cache(MOST_KEPT)
def _scratch(
    thread: int, actions: int, r: int, s: int, extra: int, contexts: int, k: int, shown: int
) -> Scratch:
    return compiled.profile.Scratch(
        np.empty((3, s)),
        np.empty((2, r + extra)),
        np.empty((5, r)),
        np.empty((2, r)),
        np.empty((3, r, r)),
        np.empty(actions, dtype=np.bool_),
        np.empty(contexts),
        np.empty(k),
        np.empty(k),
        np.empty(shown),
    )

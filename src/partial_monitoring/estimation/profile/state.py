"""What is known from counted signals: the likelihood, and how sure each comparison is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import Estimate, counted
from partial_monitoring.estimation.profile.model import Rivals, SignalModel
from partial_monitoring.validation import Array, Indices

GROWTH = 0.002
"""The estimate is brought up to date when the plays of an action have grown by this fraction."""


@dataclass(frozen=True, eq=False)
class ProfileState:
    """The counts of all signals, and what follows from them."""

    model: SignalModel
    damping: float
    """How much less than by the normal distribution a comparison counts that is nearly sure."""
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    seen: Indices
    """How often each context came, shape (n, contexts)."""
    plays: Indices
    """How often each action was observed, those that show nothing excepted, shape (n, K)."""
    counts: Array
    """How often each signal was seen, with the pseudo-counts of the prior, shape (n, R)."""
    fresh: Indices
    """The plays when the following was computed, shape (n, K)."""
    coordinates: Array
    """x_hat, the maximum of the likelihood, shape (n, r)."""
    ties: Array
    """x_b, where each action last tied with the best one of its context, shape (n, K, r)."""
    means: Array
    """Rewards at x_hat in the unit of the model, shape (n, K)."""
    worth: Array
    """What one observation of each action is expected to save in a later round, in the same unit,
    shape (n, K)."""

    @classmethod
    def initial(cls, model: SignalModel, replicates: int, damping: float) -> Self:
        """Return the state before the first round."""
        n, (actions, r), prior = replicates, model.slopes.shape, model.signals.prior
        blank = cls(
            model,
            damping,
            np.ones(n, dtype=np.int64),
            np.zeros((n, len(model.games)), dtype=np.int64),
            np.zeros((n, actions), dtype=np.int64),
            np.tile(prior, (n, 1)),
            np.zeros((n, actions), dtype=np.int64),
            np.zeros((n, r)),
            np.zeros((n, actions, r)),
            np.zeros((n, actions)),
            np.zeros((n, actions)),
        )
        return blank.refreshed(np.ones(n, dtype=bool), model.rivals)

    @property
    def design(self) -> Design:
        """All actions as least squares sees them."""
        return self.model.design

    @property
    def estimate(self) -> Array:
        """Theta at the maximum of the likelihood, shape (n, d); it may lie outside of Theta."""
        reduced = self.model.joint.reduced
        return np.asarray(reduced.center + self.coordinates @ reduced.basis.T)

    def after(self, action: Indices, observation: Array, context: Indices | None = None) -> Self:
        """Return the state after the observations (n, m) of actions (n,) in their contexts."""
        from partial_monitoring.numerics.compiled import profile

        n, own = len(action), self.model.contexts(context, len(action))
        place = self.model.positions[own, action]
        if (place < 0).any():
            whole: Any = self.model.game
            whole.check_offered(own, action)
        signals, stale = self.model.signals, np.zeros(n, dtype=bool)
        seen, plays, counts = self.seen.copy(), self.plays.copy(), self.counts.copy()
        fresh = self.fresh.copy()
        seen[np.arange(n), own] += 1
        profile.count(
            signals.first,
            signals.source,
            signals.scale,
            signals.shift,
            place,
            observation,
            GROWTH,
            plays,
            fresh,
            counts,
            stale,
        )
        moved = replace(
            self, round=self.round + 1, seen=seen, plays=plays, counts=counts, fresh=fresh
        )
        if len(self.model.games) > 1:  # what serves the others depends on how often they come
            stale |= _grows(self.round)
        return moved.refreshed(stale, self.model.rivals) if stale.any() else moved

    def refreshed(self, stale: NDArray[np.bool_], rivals: Rivals) -> Self:
        """Return the state with some replicates (n,) brought up to date, for some rivals."""
        from partial_monitoring.numerics.compiled import profile

        model, signals = self.model, self.model.signals
        came = self.seen + model.chances * len(model.games)
        x, ties, means, worth = (
            values.copy() for values in (self.coordinates, self.ties, self.means, self.worth)
        )
        profile.refresh(
            signals.directions,
            signals.direction,
            signals.sign,
            signals.base,
            signals.alone,
            signals.first,
            model.slopes,
            model.offsets,
            model.groups,
            *rivals,
            came / came.sum(axis=1, keepdims=True),
            self.damping,
            stale,
            self.counts,
            x,
            ties,
            means,
            worth,
        )
        return replace(self, coordinates=x, ties=ties, means=means, worth=worth)

    def least_squares(self) -> Estimate:
        """Return the least-squares estimate from the same observations."""
        model, signals = self.model, self.model.signals
        k, m = model.joint.k, model.joint.m
        sums = np.zeros((len(self.round), k, m))
        action = np.repeat(np.arange(k), np.diff(signals.first))
        rises = signals.scale > 0
        seen = (self.counts - signals.prior)[:, rises]
        often = self.plays[:, action[rises]]
        shown = (seen - signals.shift[rises] * often) / signals.scale[rises]
        sums[:, action[rises], signals.source[rises]] = shown
        return replace(counted(model.design, self.plays, sums), round=self.round)

    def confidence(self, schedule: Schedule, context: Indices | None = None) -> Ellipsoid:
        """Return E_t of least squares, with contexts in the one that all replicates are in."""
        known, model = self.least_squares(), self.model
        if context is not None:
            known = known.through(model.design.through(model.games[int(context[0])]))
        return Ellipsoid.around(known, schedule)


def _grows(t: Indices) -> NDArray[np.bool_]:
    """Whether the number of rounds passes the next power of 1 + GROWTH in round t, shape (n,)."""
    step = np.log1p(GROWTH)
    return np.asarray(np.log(t) // step != np.log(t + 1) // step)

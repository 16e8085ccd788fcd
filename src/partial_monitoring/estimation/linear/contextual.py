"""The state of games with contexts: one estimate for all of them, one game for each (section 6).

In context z a policy plays ``game.at(z)``. Observations in other contexts count, because the
parameter is the same: the estimate keeps the Gram matrix and no actions, and is seen through the
actions of the context at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.forgetting import REMEMBERING
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.expected import expecting_rows
from partial_monitoring.estimation.linear.least_squares import ALL, Estimate, initial
from partial_monitoring.estimation.linear.observed import taken_in, updated_in
from partial_monitoring.estimation.linear.state import linear_design
from partial_monitoring.estimation.linear.through import through
from partial_monitoring.estimation.linear.updating import updated_by_rows
from partial_monitoring.estimation.linear.weighted import (
    Rows,
    updated_by_rows_often,
    updated_by_shown,
)
from partial_monitoring.estimation.state import (
    Context,
    Pending,
    Prior,
    View,
    initial_state,
    is_unlisted,
    offered,
    some_action,
)
from partial_monitoring.model.contextual import ContextualGame, check_offered
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, Indices, frozen


@dataclass(frozen=True, eq=False)
class ContextualState:
    """An estimate of the parameter that all contexts share."""

    estimate: Estimate
    """It has no actions of its own."""
    game: ContextualGame
    parts: tuple[Design, ...]
    """The design of every context, in the coordinates of the estimate."""

    @property
    def design(self) -> Design:
        return self.estimate.design

    @property
    def normals(self) -> int:
        return int(self.design.basis.shape[1])

    def with_estimate(self, estimate: Estimate) -> Self:
        """Return the state with another estimate; faster than ``replace``."""
        state = object.__new__(type(self))
        vars(state).update(vars(self), estimate=estimate)
        return state

    def after(self, action: Indices, observation: Array, context: Context | None = None) -> Self:
        contexts = self.met(context)
        if len(contexts) > 1:
            estimate = updated_by_rows(*self._shown(action, observation, contexts))
        else:
            (met,) = contexts
            own = self._reaching(contexts), met.design, met.local(action)
            estimate = updated_in(*own, observation)
        return self.with_estimate(estimate)

    def after_often(
        self,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> Self:
        shown = self._shown(action, observation, self.met(context))
        return self.with_estimate(updated_by_rows_often(*shown, often, weight))

    def _shown(
        self, action: Indices, observation: Array, contexts: Sequence[Met]
    ) -> tuple[Estimate, Array, Array]:
        """Return an estimate that can take them in, rows (n, m, r) and residuals (n, m)."""
        n, m = observation.shape
        rows, residual = np.empty((n, m, self.design.rank)), np.empty((n, m))
        for met in contexts:
            own = met.rows
            seen = taken_in(met.design, met.local(action[own]), observation[own])
            rows[own], residual[own] = seen
        return self._reaching(contexts), rows, residual

    def _reaching(self, contexts: Sequence[Met]) -> Estimate:
        """Return the estimate, whose design knows of rows as long as those of some contexts."""
        leverage = _largest_leverage([met.design for met in contexts])
        if leverage <= self.design.leverage:
            return self.estimate
        return replace(self.estimate, design=replace(self.design, leverage=leverage))

    def after_rows(
        self, shown: Rows, observed: Array, often: Indices, weight: Array
    ) -> Self | None:
        """Return the state after rows of theta showed values (m,), whatever action it was.

        They did so often (n,) times with a weight (n,); None if no action shows anything of them.
        """
        estimate = updated_by_shown(self.estimate, shown, observed, often, weight)
        return None if estimate is None else self.with_estimate(estimate)

    def expecting(self, pending: Pending, context: Context | None = None) -> Self:
        (met,) = self.met(context)
        rows = met.design.maps[met.local(pending.action)]
        return self.with_estimate(expecting_rows(self.estimate, rows, pending.often))

    def having_seen(self, plays: Indices, sums: Array, rounds: Indices) -> Self:
        """Return the state in rounds (n,), after many observations at one stroke.

        ``plays`` (n, N) are those of the actions of all listed contexts, one context after the
        other, and ``sums`` (n, N, m) of what they showed.
        """
        estimate = replace(self.estimate, design=replace(self.design, forgetting=REMEMBERING))
        for part, first in zip(self.parts, _starts(self.parts), strict=True):
            for a, rows in enumerate(part.maps):
                often = plays[:, first + a, None].astype(float)
                seen = sums[:, first + a, : len(rows)] * part.whitening[a]
                beyond = (seen - often * part.expected[a]) / np.sqrt(np.where(often, often, 1.0))
                estimate = updated_by_rows(estimate, np.sqrt(often)[:, :, None] * rows, beyond)
        return self.with_estimate(replace(estimate, round=rounds, design=self.design))

    def views(
        self, schedule: Schedule, available: Array | None = None, context: Context | None = None
    ) -> Sequence[View]:
        found = []
        for met in self.met(context):
            mask = None if available is None else np.asarray(available, dtype=bool)
            if mask is not None and met.positions is not None:
                mask = mask[met.positions]
                some_action(mask[None])
            options = {"rows": met.rows, "alone": False, "unlisted": met.positions is None}
            whole = self.through(met, schedule, met.rows)
            found.append(offered(whole, mask, met.positions, met.width, **options))
        return found

    def confidence(self, schedule: Schedule, context: Context | None = None) -> ConfidenceSet:
        (met, *_) = self.met(context)
        return self.through(met, schedule)

    def through(self, met: Met, schedule: Schedule, rows: Any = ALL) -> ConfidenceSet:
        """Return E_t of some replicates, seen through the actions of a context."""
        return Ellipsoid.around(self.estimate.through(met.design, rows), schedule)

    def met(self, context: Context | None) -> list[Met]:
        """Return the contexts that occur in a round."""
        if context is None:
            raise InvalidInput("context must be given, the game has contexts.")
        if is_unlisted(context):
            own = through(self.design, self.game.checked_context(context))
            return [Met(own, ALL, None, context.k, partial(_own, context))]
        indices = np.asarray(context, dtype=np.int64)
        return [
            Met(
                self.parts[z],
                indices == z,
                self.game.positions(z),
                self.game.k,
                partial(self._local, z),
            )
            for z in sorted(set(indices.tolist()))
        ]

    def _local(self, z: int, action: Indices) -> Indices:
        """Return the numbers of actions in the game of a listed context."""
        self.game.check_offered(np.full(len(action), z), action)
        return np.asarray(self.game.local_actions[z, action])


class Met(NamedTuple):
    """A context that occurs in a round."""

    design: Design
    rows: Any
    """The replicates that are in it: a mask (n,), or a slice of all."""
    positions: Indices | None
    """Its actions in the whole game, or None if it is unlisted and has actions of its own."""
    width: int
    """The number of actions of an answer."""
    local: Callable[[Indices], Indices]
    """From actions of the answer to those of its own game, which must be offered."""


@initial_state.register
def _of_contexts(
    game: ContextualGame,
    replicates: int,
    prior: Prior,
    *,
    functions: bool = False,
    draws: bool = False,
) -> ContextualState:
    whole = _parameter_design(game, prior)
    parts = tuple(through(whole, own) for own in game.games)
    whole = replace(whole, leverage=_largest_leverage(parts))
    return ContextualState(initial(whole, replicates, by_rows=True), game, parts)


def _own(context: Game, action: Indices) -> Indices:
    """Return the actions of an unlisted context, which must be its own."""
    if len(action) != 1 or not 0 <= action[0] < context.k:
        check_offered(context.actions, action, (action >= 0) & (action < context.k))
    return action


def _parameter_design(game: ContextualGame, prior: Prior) -> Design:
    """Return the design of the parameter alone: everything may be observed in some context.

    The noise is that of all contexts, or 1 if it differs between them.
    """
    d = game.d
    noises = np.unique(np.concatenate([np.atleast_1d(own.noise_std) for own in game.games]))
    noise = float(noises[0]) if len(noises) == 1 else 1.0
    everything = Game(np.zeros((1, d)), np.eye(d)[None], game.parameters, noise)
    whole = linear_design(everything, prior)
    whole = replace(whole, maps=np.zeros((1, 0, whole.rank)), expected=np.zeros((1, 0)))
    if game.alike is None:
        return whole
    return _correlated(whole, game.alike.root(), given=prior.norm_bound is not None)


def _correlated(whole: Design, root: Array, *, given: bool) -> Design:
    """Return a design in coordinates x, theta = theta_0 + L basis x, in which a prior is plain.

    The prior says that theta has the covariance L L' up to scale, so that the regularisation of x
    is lambda I, as always. B bounds |x|: by the distances in Theta (or by those that were
    ``given``); on an unbounded set it is an assumption, about x.
    """
    parameters, basis = whole.game.parameters, frozen(root @ whole.basis)
    bound = whole.norm_bound
    if given or np.isfinite(parameters.diameter()):
        bound /= float(np.linalg.svd(basis, compute_uv=False).min(initial=1.0))
    cut = parameters.cut(whole.prior_mean, basis) if basis.shape[1] else whole.cut
    return replace(whole, norm_bound=bound, basis=basis, cut=cut, correlated=True)


def _starts(parts: Sequence[Design]) -> Indices:
    """Return where the actions of each context start in a list of all, shape (contexts,)."""
    return np.cumsum([0, *(len(part.maps) for part in parts[:-1])])


def _largest_leverage(parts: Sequence[Design]) -> float:
    """Return the largest leverage of a row of any context."""
    return max(part.leverage for part in parts)

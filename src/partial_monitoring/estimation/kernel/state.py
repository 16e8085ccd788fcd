"""States of kernel games: the posterior of a function, or its coordinates in a linear game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.kernel import posterior
from partial_monitoring.estimation.kernel.design import KernelDesign, kernel_design, refuse_leverage
from partial_monitoring.estimation.kernel.ellipsoid import KernelEllipsoid
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.kernel.root import Root, prior_root
from partial_monitoring.estimation.linear.least_squares import initial
from partial_monitoring.estimation.linear.state import LinearState, linear_design
from partial_monitoring.estimation.state import (
    Context,
    Pending,
    Prior,
    View,
    initial_duels,
    initial_state,
    offered,
)
from partial_monitoring.kernels.gram import Functionals
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.kernel_dueling import KernelDuelingGame
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class KernelState:
    """An estimate of the function, and roots of its covariance if it is drawn from."""

    estimate: KernelEstimate
    roots: tuple[Root, ...] = ()
    """U of each replicate, or none."""

    @property
    def replayed(self) -> bool:
        """Saved as its observations, which are much shorter."""
        return True

    @property
    def design(self) -> KernelDesign:
        return self.estimate.design

    @property
    def normals(self) -> int:
        return int(self.roots[0].prior.shape[1])

    def after(self, action: Indices, observation: Array, context: Context | None = None) -> Self:
        return self._after_rows(self._shown(action, observation))

    def after_often(
        self,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> Self:
        sizes = np.sqrt(often * weight).tolist()
        seen = [
            (Functionals(rows.index, size * rows.weight), size * shown)
            for size, (rows, shown) in zip(sizes, self._shown(action, observation), strict=True)
        ]
        known = self._after_rows(seen)
        return replace(known, estimate=replace(known.estimate, round=self.estimate.round + often))

    def _shown(self, action: Indices, observation: Array) -> list[tuple[Functionals, Array]]:
        """Return the rows of actions (n,), and what they showed."""
        return posterior.shown_by(self.design, action, observation)

    def expecting(self, pending: Pending, context: Context | None = None) -> Self:
        rows = self._functionals(pending.action)
        index = np.concatenate([own.index for own in rows])
        weight = np.concatenate([own.weight for own in rows])
        owner, seen = np.repeat(np.arange(len(rows)), [len(own.index) for own in rows]), []
        for often, numbers in zip(pending.often[:, owner], self.estimate.numbers, strict=True):
            shown = often > 0
            several = Functionals(index[shown], np.sqrt(often[shown])[:, None] * weight[shown])
            seen.append((several, several.of(numbers)))
        known = self._after_rows(seen)
        rounds = self.estimate.round + pending.often.sum(axis=1)
        return replace(known, estimate=replace(known.estimate, round=rounds))

    def _functionals(self, action: Indices) -> list[Functionals]:
        """Return the rows that different actions (c,) show."""
        nothing = np.zeros((len(action), self.design.game.m))
        return [rows for rows, _ in posterior.shown_by(self.design, action, nothing)]

    def _after_rows(self, seen: list[tuple[Functionals, Array]]) -> Self:
        """Return the state when each replicate has observed rows."""
        lam, pairs = self.design.regularization, zip(self.roots, seen, strict=False)
        roots = tuple(root.after(rows, lam) for root, (rows, _) in pairs)
        return type(self)(posterior.updated_by_rows(self.estimate, seen), roots)

    def views(
        self, schedule: Schedule, available: Array | None = None, context: Context | None = None
    ) -> Sequence[View]:
        return [offered(self.confidence(schedule), available)]

    def confidence(self, schedule: Schedule, context: Context | None = None) -> KernelEllipsoid:
        return KernelEllipsoid.around(self.estimate, schedule, self.roots)


@dataclass(frozen=True, eq=False)
class KernelDuelState(KernelState):
    """An estimate of the utility from duels, seen through the items."""

    def _shown(self, action: Indices, observation: Array) -> list[tuple[Functionals, Array]]:
        return list(zip(self._functionals(action), observation[:, :1], strict=True))

    def _functionals(self, action: Indices) -> list[Functionals]:
        pair, count = np.array([[1.0, -1.0]]), self.design.game.k
        return [Functionals(np.array([divmod(a, count)]), pair) for a in action.tolist()]

    def through_pairs(self, actions: Indices, schedule: Schedule) -> KernelEllipsoid:
        """Return E_t, seen through some of the duels (q,) instead of the items."""
        items, lam = self.design.game, self.design.regularization
        pair = np.stack(np.divmod(actions, items.k), axis=1)  # (q, 2)
        earned = Functionals(pair, np.ones(pair.shape))
        shown = Functionals(pair[:, None], np.broadcast_to([1.0, -1.0], pair[:, None].shape))
        options = {"noise_std": items.noise_std, "norm_bound": items.norm_bound}
        game = KernelGame.of_functionals(items.gram, earned, shown, (1,) * len(pair), **options)
        seen, place = np.unique(pair, return_inverse=True)
        one, two = np.reshape(place, pair.shape).T
        variances, signals = [], []
        for own in self.estimate.covariances:
            whole = own.products(Functionals(seen[:, None], np.ones((len(seen), 1))))
            cross = whole[:, seen] / lam
            both = cross[one, one] + cross[two, two]
            variances.append(both + 2.0 * cross[one, two])
            signals.append(np.maximum(both - 2.0 * cross[one, two], 0.0))
        estimate = replace(
            self.estimate,
            design=replace(self.design, game=game),
            variances=np.array(variances),
            signals=np.array(signals)[:, :, None, None],
        )
        return KernelEllipsoid.around(estimate, schedule)


@initial_state.register
def _of_kernel_game(
    game: KernelGame, replicates: int, prior: Prior, *, functions: bool = False, draws: bool = False
) -> KernelState | LinearState:
    refuse_prior_mean(prior)
    if functions:
        design = kernel_design(
            game, regularization=prior.regularization, norm_bound=prior.norm_bound
        )
        estimate = posterior.initial(design, replicates)
        return KernelState(estimate, _roots(estimate) if draws else ())
    bound = game.norm_bound if prior.norm_bound is None else prior.norm_bound
    linear = linear_design(game.linear, replace(prior, norm_bound=bound))
    return LinearState(initial(replace(linear, reported=game.linear.features), replicates))


@initial_duels.register
def _of_kernel_duels(
    game: KernelDuelingGame, replicates: int, prior: Prior, *, draws: bool = False
) -> KernelDuelState:
    refuse_prior_mean(prior)
    items = kernel_design(
        game.as_items(), regularization=prior.regularization, norm_bound=prior.norm_bound
    )
    refuse_leverage(float(items.distances(0).max()) / items.regularization)
    estimate = posterior.initial(items, replicates, width=2)
    return KernelDuelState(estimate, _roots(estimate) if draws else ())


def refuse_prior_mean(prior: Prior) -> None:
    """Refuse a prior mean: that of a function is zero."""
    if prior.mean is not None:
        raise InvalidInput("prior_mean must be left out, a kernel game has prior mean 0.")


def _roots(estimate: KernelEstimate) -> tuple[Root, ...]:
    return (prior_root(estimate.design),) * estimate.replicates

"""A kernel game as the estimate sees it: lambda, the norm bound, whitened noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence_set import counted_once, first_of
from partial_monitoring.estimation.linear.design import LARGEST_LEVERAGE, MOST_PAIRED
from partial_monitoring.kernels.gram import Gram, inner, weighted_columns
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.numerics.linalg import equal_rows
from partial_monitoring.validation import (
    Array,
    Indices,
    frozen,
    non_negative_number,
    positive_number,
)

DENSE = 2500
"""Largest number of values whose covariance is stored as a matrix."""


@dataclass(frozen=True, eq=False)
class KernelDesign:
    """A kernel game as the estimate sees it."""

    game: KernelGame
    regularization: float
    norm_bound: float
    """B: how large the norm of the function is at most."""
    noise_std: float
    """rho: the sub-Gaussian constant of the whitened noise."""
    whitening: Array
    """What observations are multiplied with, shape (k,), or one number for all actions."""
    widest: float | None = None
    """A bound of all gaps, if one is known."""

    @property
    def gram(self) -> Gram:
        """K."""
        return self.game.gram

    @property
    def prior_mean(self) -> Array:
        """The estimate of the numbers before the first round is zero."""
        return np.zeros(self.game.d)

    @property
    def dense(self) -> bool:
        """Whether the covariance is written down."""
        return self.game.d <= DENSE

    @cached_property
    def spread(self) -> Array:
        """phi_a phi_a' of every action, shape (k,)."""
        reward = self.game.reward
        return frozen(inner(self.gram, reward, reward))

    @cached_property
    def leverage(self) -> Array:
        """M_a M_a' of every action, whitened, in units of lambda, shape (k, m, m)."""
        shown, (k, m) = self.game.observation, self.game.observation.index.shape[:2]
        if self.game.shows_own_reward:
            whole = self.spread[:, None, None]
        else:
            whole = np.zeros((k, m, m))
            for i in range(m):
                for j in range(i + 1):
                    whole[:, i, j] = whole[:, j, i] = inner(self.gram, shown[:, i], shown[:, j])
        scale = np.broadcast_to(self.whitening**2, (k,))[:, None, None] / self.regularization
        return frozen(whole * scale)

    def distances(self, action: int) -> Array:
        """Return |phi_a - phi_b|^2 of one action and all others, shape (k,)."""
        column = weighted_columns(self.gram, self.game.reward[action])
        cross = self.game.reward.of(column)
        squared = (self.spread - self.spread[action]) + 2 * (cross[action] - cross)
        return np.asarray(np.maximum(squared, 0.0))

    @cached_property
    def largest_gap(self) -> float:
        """T: no function with norm at most B has a larger gap (E6).

        Exact for up to a few hundred actions, at most twice as large beyond.
        """
        if self.widest is not None:
            return self.widest
        k = self.game.k
        if k <= MOST_PAIRED:
            furthest = max(float(self.distances(a).max()) for a in range(k))
            return self.norm_bound * float(np.sqrt(furthest))
        if not self.dense:
            return 2 * self.norm_bound * float(np.sqrt(self.distances(0).max()))
        middle = self.game.reward.weight.copy() / k
        mean = np.zeros(self.game.d)
        np.add.at(mean, self.game.reward.index, middle)
        pulled = self.gram.matrix @ mean
        squared = self.spread - 2 * self.game.reward.of(pulled) + mean @ pulled
        return 2 * self.norm_bound * float(np.sqrt(max(float(squared.max()), 0.0)))

    @cached_property
    def gap_ceiling(self) -> Array:
        """T of every action, shape (k,)."""
        return np.broadcast_to(self.largest_gap, (self.game.k,))

    @cached_property
    def groups(self) -> Indices:
        """All actions compete with each other, shape (2,)."""
        return np.array([0, self.game.k])

    @cached_property
    def rivals(self) -> NDArray[np.bool_]:
        """Which actions are the first of those that always earn the same, shape (1, k)."""
        reward = self.game.reward
        earned = self.gram.copies[reward.index]
        order = np.lexsort((reward.weight, earned), axis=1)
        parts = (np.take_along_axis(own, order, axis=1) for own in (earned, reward.weight))
        return counted_once(
            equal_rows(np.column_stack(list(parts))), np.ones((1, len(order)), bool)
        )

    @cached_property
    def always_best(self) -> NDArray[np.bool_]:
        """Actions that are best whatever the function, shape (k,): all or none."""
        size = max(float(self.spread.max()), 1e-300)
        return np.full(self.game.k, bool((self.distances(0) <= 1e-12 * size).all()))

    @cached_property
    def dominant(self) -> int | None:
        """The first of these actions, if there are any."""
        return first_of(self.always_best)


def refuse_leverage(largest: float) -> None:
    """Refuse observations that are too large, in units of lambda."""
    if not largest <= LARGEST_LEVERAGE:
        raise InvalidInput(
            f"observations must not be so large next to noise and regularization: the largest "
            f"entry of the observation kernel over squared noise_std and regularization is "
            f"{largest:.3g}, above {LARGEST_LEVERAGE:g}; raise regularization or noise_std."
        )


def kernel_design(
    game: KernelGame, *, regularization: float | None = 1.0, norm_bound: float | None = None
) -> KernelDesign:
    """Return the design of a kernel game; its norm bound is that of the game unless given.

    Without a regularization it is rho^2: then the estimate is the posterior mean, and C the
    posterior covariance, of a Gaussian process with this kernel and normal noise.
    """
    varies = np.ndim(game.noise_std) > 0
    bound = game.norm_bound if norm_bound is None else norm_bound
    rho = 1.0 if varies else float(game.noise_std)
    design = KernelDesign(
        game,
        rho**2 if regularization is None else positive_number("regularization", regularization),
        non_negative_number("norm_bound", bound),
        rho,
        frozen(1.0 / np.asarray(game.noise_std)) if varies else np.ones(1),
    )
    refuse_leverage(float(design.leverage.max(initial=0.0)))
    return design

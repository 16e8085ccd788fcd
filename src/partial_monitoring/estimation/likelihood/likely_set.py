"""Confidence sets of finite games that the likelihood cuts out of the simplex.

After counts c_as of the signals s of every action a,

    E_t = {theta : sum_as c_as log p_as(theta) >= log (probability of the mixture) - log 1/delta},

where the mixture predicts the signals of each channel with Dirichlet(1/2), as Krichevsky and
Trofimov do. It is convex and no ellipsoid; docs/certified-sets.md proves that the truth is in all
E_t at once with probability 1 - delta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.estimation.confidence import LikelihoodRatio, squared_radius
from partial_monitoring.estimation.confidence_set import ConfidenceSet, Improvement
from partial_monitoring.estimation.likelihood.channels import Channels, channels_of
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import Estimate
from partial_monitoring.estimation.linear.state import confidence_around
from partial_monitoring.numerics import conic
from partial_monitoring.validation import Array, Indices, real_array

PLAUSIBLE = 1e-9
"""An action that falls short of being best by less than this fraction still counts."""


@dataclass(frozen=True, eq=False)
class LikelySet(ConfidenceSet):
    """E_t of every replicate: the distributions of outcomes under which the data are likely."""

    data: Estimate
    """The least-squares estimate, for the information."""
    channels: Channels
    counts: Array
    """How often each signal of each channel was seen, shape (n, q)."""
    log_inverse_delta: Array
    """log(1 / delta), shape (n,)."""
    wide: Array
    """beta_t of the ellipsoid that holds with the same probability, shape (n,)."""
    schedule: LikelihoodRatio | None = None

    @classmethod
    def around(
        cls, estimate: Estimate, schedule: LikelihoodRatio, channels: Channels, counts: Array
    ) -> LikelySet:
        """Return E_t after counts (n, q), seen through the actions of an estimate."""
        rounds = estimate.round
        wide = squared_radius(schedule, estimate.design, rounds, estimate.log_det)
        delta = schedule(rounds.astype(float))
        return cls(estimate, channels, counts, delta, wide, schedule)

    # -- what is known ---------------------------------------------------------------------------

    @cached_property
    def _found(self) -> tuple[Array, Array, Array]:
        """theta_hat (n, d), how far l(theta_hat) is above the threshold (n,), and below it."""
        from partial_monitoring.numerics.compiled import likelihood

        rows, starts = self.channels.rows, self.channels.starts
        found: tuple[Array, Array, Array] = likelihood.centers(
            rows, starts, self.counts, self.log_inverse_delta
        )
        return found

    @property
    def _likely(self) -> tuple[Array, Array, Array, Array]:
        """E_t as compiled functions are handed it."""
        center, room, _ = self._found
        return self.channels.rows, self.counts, center, room

    @property
    def center(self) -> Array:
        """The mode of the likelihood with half a pseudo-count of each outcome, shape (n, d).

        With fewer pseudo-counts if that one is not in E_t.
        """
        return self._found[0]

    @property
    def estimate(self) -> Array:
        return self.center

    @property
    def beta(self) -> Array:  # type: ignore[override]
        """Twice the room of the log-likelihood: the squared radius in the Fisher information."""
        return 2.0 * self._found[1]

    @property
    def outside(self) -> Array:
        """More than beta where no distribution is likely enough, so that E_t is empty, else 0."""
        missing = self._found[2]
        return np.asarray(np.where(missing > 0, self.beta + 2.0 * missing, 0.0))

    @property
    def means(self) -> Array:
        return np.asarray(self.center @ self.game.features.T)

    @cached_property
    def ellipsoid(self) -> Ellipsoid:
        """The ellipsoid around the least-squares estimate that holds with the same probability."""
        return Ellipsoid(self.data, self.data.design.cut, self.wide)

    @property
    def lengths(self) -> Array:
        return self.ellipsoid.lengths

    @property
    def uncut(self) -> Ellipsoid:
        return self.ellipsoid.uncut

    # -- what a rule asks ------------------------------------------------------------------------

    def exact_gaps(self) -> Array:
        from partial_monitoring.numerics.compiled import likely_support

        return np.asarray(likely_support.exact_gaps(self.game.features, *self._likely)[0])

    def relaxed_gaps(self) -> Array:
        greedy, features = self.means.argmax(axis=1), self.game.features
        gaps = np.zeros(self.means.shape)
        for g in np.unique(greedy):
            rows = greedy == g
            up, down = (
                self.of(rows).support(sign * (features - features[g])) for sign in (1.0, -1.0)
            )
            delta = np.maximum(up.max(axis=1, keepdims=True), 0.0)
            gaps[rows] = delta + np.where(np.arange(self.k) == g, 0.0, np.maximum(down, 0.0))
        return gaps

    def greedy_gaps(self) -> Array:
        _refuse("pm.gaps.mean", "pm.gaps.exact or pm.gaps.relaxed")

    def duels(self) -> tuple[Array, Indices, Array]:
        _refuse("a policy for duels", "pm.IDS")

    @property
    def improvement(self) -> Improvement:
        _refuse("pm.gaps.improvement", "pm.gaps.exact")

    def improvement_of_duels(self) -> tuple[Improvement, Indices, Array]:
        _refuse("a policy for duels", "pm.IDS")

    def directed(self, *, relaxed: bool) -> Array:
        _refuse("pm.information.directed", "pm.information.log_det")

    def sample(self, normals: Array, scale: Array | float) -> Array:
        _refuse("Thompson sampling", "pm.IDS")

    def distances(self, row: int, action: int) -> Array:
        return self.ellipsoid.distances(row, action)

    def expected(self, game: Any, action: int) -> Array:
        rows = game.linear.rows(action)
        return np.array([rows @ theta for theta in self.center])

    def ahead(self, row: int) -> tuple[Array, NDArray[np.bool_], Callable[[], NDArray[np.bool_]]]:
        own, features = self.of(np.arange(len(self.counts)) == row), self.game.features
        greedy = int(own.means[0].argmax())
        values, points = own._supports(features - features[greedy])
        rivals = values[0] >= 0
        rivals[greedy] = True
        return values[0], rivals, lambda: own._plausible(rivals, points[0])

    def _plausible(self, rivals: NDArray[np.bool_], points: Array) -> NDArray[np.bool_]:
        """Return which rivals are best for some theta in E_t (k,), one replicate.

        Most are best at a point (c, d) of E_t that is at hand; a conic program decides the rest.
        """
        features = self.game.features
        values = np.concatenate([points, self.center]) @ features.T
        slack = PLAUSIBLE * np.maximum(np.ptp(values, axis=1, keepdims=True), 1e-300)
        found = (values >= values.max(axis=1, keepdims=True) - slack).any(axis=0) & rivals
        for a in np.flatnonzero(rivals & ~found):
            found[a] = self._may_be_best(features - features[a])
        return np.asarray(found)

    def _may_be_best(self, away: Array) -> bool:
        """Whether <away, theta> <= 0 (k,) somewhere in E_t, so that no action is better.

        The likelihood is maximised there, with t_j <= log (p_j / p_hat_j) in exponential cones.
        """
        (center,), (room,), _ = self._found
        seen = self.counts[0] > 0
        often = self.counts[0, seen] / max(self.counts[0].sum(), 1.0)
        rows = self.channels.rows[seen]
        rows = rows / (rows @ center)[:, None]
        q, d = rows.shape
        likely = np.zeros((q, 3, d + q))
        likely[np.arange(q), 0, d + np.arange(q)] = -1.0
        likely[:, 2, :d] = -rows
        simplex = np.concatenate([-np.eye(d), away / np.maximum(np.abs(away).max(), 1e-300)])
        cones = [
            conic.Cone("zero", np.append(np.ones(d), np.zeros(q))[None], np.ones(1)),
            conic.Cone("nonnegative", np.pad(simplex, ((0, 0), (0, q))), np.zeros(len(simplex))),
            *(conic.Cone("exponential", own, np.array([0.0, 1.0, 0.0])) for own in likely),
        ]
        try:
            best = conic.minimize_conic(np.append(np.zeros(d), -often), cones)
        except SolverError:
            return True  # undecided: keeping it only asks for more information
        if best is None:
            return False
        return bool(-best.value * max(self.counts[0].sum(), 1.0) >= -room * (1 + 1e-6))

    # -- parts of it -----------------------------------------------------------------------------

    def of(self, rows: NDArray[np.bool_]) -> LikelySet:
        """Return the confidence sets of some replicates."""
        return replace(
            self,
            data=self.data.of(rows),
            counts=self.counts[rows],
            log_inverse_delta=self.log_inverse_delta[rows],
            wide=self.wide[rows],
        )

    def restricted(self, actions: Indices) -> LikelySet:
        return replace(self, data=self.data.restricted(actions))

    # -- the set itself --------------------------------------------------------------------------

    def contains(self, theta: ArrayLike) -> NDArray[np.bool_]:
        """Whether a distribution (d,) is in E_t, shape (n,)."""
        point = real_array("theta", theta, (self.game.d,))
        rows, counts, center, room = self._likely
        with np.errstate(divide="ignore"):
            ratio = np.log(rows @ point) - np.log(center @ rows.T)
        rise = np.where(counts > 0, counts * np.where(counts > 0, ratio, 0.0), 0.0).sum(axis=1)
        return np.asarray(self.parameters.contains(point) & (rise >= -room))

    def support(self, directions: ArrayLike) -> Array:
        return self._supports(directions)[0]

    def maximizer(self, directions: ArrayLike) -> Array:
        return self._supports(directions)[1]

    def _supports(self, directions: ArrayLike) -> tuple[Array, Array]:
        from partial_monitoring.numerics.compiled import likely_support

        c = real_array("directions", directions, ("q", self.game.d))
        values, _, points = likely_support.supports(np.ascontiguousarray(c), *self._likely)
        return np.asarray(values), np.asarray(points)

    def observation_covariance(self, maps: ArrayLike) -> Array:
        return self.ellipsoid.observation_covariance(maps)


@confidence_around.register
def _of_likelihood(schedule: LikelihoodRatio, estimate: Estimate) -> ConfidenceSet:
    game = estimate.design.game
    if game.traits.finite:
        channels = channels_of(game)
        return LikelySet.around(estimate, schedule, channels, channels.counts(estimate.sums))
    return Ellipsoid.around(estimate, schedule)


def _refuse(asked: str, instead: str) -> NoReturn:
    raise InvalidInput(
        f"{asked} needs an ellipsoid, and confidence likelihood_ratio gives a finite game none; "
        f"use {instead}, or confidence fixed."
    )

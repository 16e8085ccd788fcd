"""Confidence sets of functions with a kernel (section 7, with E5).

In the coordinates of the d numbers that the function enters through, with their covariance C,

    E_t = {g : |g - g_hat|^2 in the norm of lambda C^-1 <= beta_t},
    max over E_t of <c, g> = <c, g_hat> + (beta_t c' C c / lambda)^(1/2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.estimation.confidence import Schedule, squared_radius
from partial_monitoring.estimation.confidence_set import ConfidenceSet, Improvement
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.kernel.root import Root
from partial_monitoring.validation import Array, Indices, real_array

ROUNDING = 1e-14
"""Squared distances below this fraction of the squared lengths are rounding."""

Mask = NDArray[np.bool_]

NEAREST = 512
"""Largest number of rivals about which information counts, the most promising ones."""

CROWDING = 1.5
"""Improvements of crowded points, nearly copies of each other, add up in this norm."""

PLAUSIBLE = 1e-9
"""An action that falls short of being best by less than this fraction still counts."""


@dataclass(frozen=True, eq=False)
class KernelEllipsoid(ConfidenceSet):
    """E_t of every replicate."""

    data: KernelEstimate
    beta: Array
    """beta_t, shape (n,)."""
    reported: Array | None = None
    """f_hat of all actions, if only some of them are considered, shape (n, k)."""
    roots: tuple[Root, ...] = ()
    """A root of C of each replicate, for draws."""
    schedule: Schedule | None = None
    anywhere: Callable[[Array], tuple[Array, Array]] | None = None
    """The function from points (z, p) to estimated values and lengths there (z,), over a box."""

    @classmethod
    def around(
        cls, estimate: KernelEstimate, schedule: Schedule, roots: tuple[Root, ...] = ()
    ) -> KernelEllipsoid:
        """Return E_t of an estimate with failure probabilities from a schedule."""
        beta = squared_radius(schedule, estimate.design, estimate.round, estimate.log_det)
        return cls(estimate, beta, roots=roots, schedule=schedule)

    # -- what is known ---------------------------------------------------------------------------

    @property
    def means(self) -> Array:
        return self.data.means

    @property
    def estimate(self) -> Array:
        return (self.data.means if self.reported is None else self.reported).copy()

    @property
    def center(self) -> Array:
        return self.data.numbers

    @property
    def lengths(self) -> Array:
        return np.asarray(np.sqrt(np.maximum(self.data.variances, 0.0)))

    @property
    def outside(self) -> Array:
        return np.zeros(len(self.beta))

    @property
    def uncut(self) -> KernelEllipsoid:
        return self

    # -- what a rule asks ------------------------------------------------------------------------

    def exact_gaps(self) -> Array:
        gaps = np.empty(self.means.shape)
        for row, own in enumerate(self.means):
            cross = self.cross(row)  # (k, k)
            lengths = cross.diagonal()
            both = lengths[:, None] + lengths
            squared = both - 2.0 * cross
            squared[squared <= ROUNDING * both] = 0.0
            ahead = own + np.sqrt(squared * self.beta[row])
            gaps[row] = np.maximum(ahead.max(axis=1) - own, 0.0)
        return gaps

    def relaxed_gaps(self) -> Array:
        return self._through_greedy(through_mean=False)[0]

    def greedy_gaps(self) -> Array:
        return self._through_greedy(through_mean=True)[0]

    def _through_greedy(self, *, through_mean: bool) -> tuple[Array, Indices]:
        """Compare all actions with the greedy one: gaps (n, k) and the greedy one (n,).

        With f in place of f_hat(g) inside the maximum, as E5 says.
        """
        means, greedy = self.means, self.means.argmax(axis=1)
        gaps = np.empty(means.shape)
        for row, g in enumerate(greedy.tolist()):
            width, best = self.widths(row, g), means[row, g]
            delta = max(float((means[row] + width).max()) - best, 0.0)
            behind = best - means[row]
            gaps[row] = delta + (behind if through_mean else np.maximum(behind + width, 0.0))
            gaps[row, g] = delta
        return gaps, greedy

    def duels(self) -> tuple[Array, Indices, Array]:
        gaps, greedy = self._through_greedy(through_mean=True)
        squared = [self.distances(row, int(g)) for row, g in enumerate(greedy)]
        return gaps, greedy, np.array(squared)

    def distances(self, row: int, action: int) -> Array:
        data, reward = self.data, self.game.reward
        pulled = data.covariances[row].times(reward[action]) / data.design.regularization
        cross = reward.of(pulled)
        variances = data.variances[row]
        # Written with differences, so that it is exactly zero for copies of b.
        squared = (variances - variances[action]) + 2 * (cross[action] - cross)
        return np.asarray(np.maximum(squared, 0.0))

    @cached_property
    def improvement(self) -> Improvement:
        each = [self._improvement(row) for row in range(len(self.beta))]
        return Improvement(*map(np.array, zip(*each, strict=True)))

    def _improvement(self, row: int) -> tuple[Array, Array]:
        """Return gaps and information of one replicate, each (k,)."""
        data, design, game = self.data, self.data.design, self.data.design.game
        gaps, greedy, weights = self._worth_of_rivals(row)
        pulled = self._pulled(row, greedy, np.flatnonzero(weights))
        scale = np.broadcast_to(design.whitening, (game.k,))[:, None]
        shown = game.observation.of(pulled) * scale  # (q, k, m)
        signals, weight = data.signals[row], weights[weights > 0]
        m = signals.shape[1]
        if m == 1:
            return gaps, weight @ shown[:, :, 0] ** 2 / (1.0 + np.maximum(signals[:, 0, 0], 0.0))
        both = np.einsum("q,qai,qaj->aij", weight, shown, shown)
        explained = np.linalg.solve(np.eye(m) + signals, both)
        return gaps, np.maximum(np.trace(explained, axis1=1, axis2=2), 0.0)

    def improvement_of_duels(self) -> tuple[Improvement, Indices, Array]:
        gaps, information, every, squared = [], [], [], []
        for row in range(len(self.beta)):
            own, greedy, weights = self._worth_of_rivals(row)
            earned = self.game.reward.of(self._pulled(row, greedy, np.flatnonzero(weights)))
            shown = earned - earned[:, [greedy]]  # (q, k)
            psi = self.distances(row, greedy)
            gaps.append(own)
            information.append(weights[weights > 0] @ shown**2 / (1.0 + psi))
            every.append(greedy)
            squared.append(psi)
        return (
            Improvement(np.array(gaps), np.array(information)),
            np.array(every),
            np.array(squared),
        )

    def _worth_of_rivals(self, row: int) -> tuple[Array, int, Array]:
        """Return gaps (k,), the greedy action, and delta / |u|^2 (k,) of its nearest rivals."""
        from partial_monitoring.numerics.compiled import rivals

        means, counted = self.means[row], self.data.design.rivals[0]
        greedy = int(rivals.greedy_of(means, counted))
        delta = np.empty(len(means))
        squared = self.distances(row, greedy)
        squared[squared <= ROUNDING * self.data.variances[row]] = 0.0
        numbers = greedy, counted, self.noise_std, int(self.round[row]), CROWDING, delta
        total = rivals.worth_of_rivals(means, squared, *numbers)
        delta[np.argsort(-delta, kind="stable")[NEAREST:]] = 0.0
        rivals.shares_of_variance(delta, squared)
        return np.maximum(total + means[greedy] - means, 0.0), greedy, delta

    def _pulled(self, row: int, greedy: int, rivals: Indices) -> Array:
        """Return V_t^-1 (phi_b - phi_g) of some rivals b (q,), shape (q, d)."""
        own, reward = self.data.covariances[row], self.game.reward
        away = own.products(reward[rivals])
        away -= own.times(reward[greedy])
        away /= self.data.design.regularization
        return away

    def directed(self, *, relaxed: bool) -> Array:
        rows = range(len(self.beta))
        each = [self._directed(row, relaxed=relaxed) for row in rows]
        return np.array(each).reshape(self.means.shape)

    def expected(self, game: Any, action: int) -> Array:
        rows = game.rows(action)
        return np.array([rows @ numbers for numbers in self.center])

    def sample(self, normals: Array, scale: Array | float) -> Array:
        """Return the rewards of one draw each, f = f_hat + c lambda^(-1/2) U z with U U' = C."""
        away = np.stack([root.times(z) for root, z in zip(self.roots, normals, strict=True)])
        spread = scale / np.sqrt(self.data.design.regularization)
        return np.asarray(self.means + spread * self.game.reward.of(away))

    def intervals(self, actions: Indices, against: int | None = None) -> tuple[Array, Array]:
        middle, reach = self.means[:, actions], np.sqrt(self.beta)[:, None]
        width = reach * self.lengths[:, actions]
        if against is not None:
            middle = middle - self.means[:, [against]]
            rows = range(len(self.beta))
            width = np.array([self.widths(row, against)[actions] for row in rows])
        return middle - width, middle + width

    def cross(self, row: int) -> Array:
        """Return phi_a V_t^-1 phi_b' of all pairs of actions, shape (k, k)."""
        reward, lam = self.game.reward, self.data.design.regularization
        whole = reward.of(self.data.covariances[row].matrix)  # (d, k)
        return np.asarray(reward.of(np.ascontiguousarray(whole.T)) / lam)

    def cross_of(self, row: int, actions: Indices) -> Array:
        """Return phi_a V_t^-1 phi_b' of some actions a (q,) and all actions b, shape (q, k)."""
        reward, lam = self.game.reward, self.data.design.regularization
        return np.asarray(reward.of(self.data.covariances[row].products(reward[actions])) / lam)

    def restricted(self, actions: Indices) -> KernelEllipsoid:
        return KernelEllipsoid(self.data.restricted(actions), self.beta, self.estimate, self.roots)

    # -- which actions may be best (section 5.2) ---------------------------------------------------

    def ahead(self, row: int) -> tuple[Array, Mask, Callable[[], Mask]]:
        means = self.means[row]
        greedy = int(means.argmax())
        far = means - means[greedy] + self.widths(row, greedy)
        rivals = far >= 0
        rivals[greedy] = True
        return far, rivals, lambda: self.plausible(row, rivals)

    def _directed(self, row: int, *, relaxed: bool) -> Array:
        """Return 2 |M_a V_t^-1 u|^2 / |u|^2 in the norm of V_t^-1, with u = phi_b - phi_c, (k,).

        b and c are the two actions that may both be best (``relaxed``: of which one looks best)
        whose rewards may differ most: Pareto actions, since on a space of functions others are
        mixtures of actions that may be best where they are, one of which is at least as far away.
        With C = lambda V_t^-1 this takes two products with C.
        """
        pair = self._furthest(row, relaxed=relaxed)
        if pair is None or self.beta[row] <= 0:
            return np.zeros(self.means.shape[1])
        data, game = self.data, self.data.design.game
        own, lam = data.covariances[row], data.design.regularization
        first, second = (own.times(game.reward[a]) for a in pair)
        pulled = (first - second) / lam  # V_t^-1 u
        size = float(game.reward.of(pulled)[pair[0]] - game.reward.of(pulled)[pair[1]])
        shown = (
            game.observation.of(pulled) * np.broadcast_to(data.design.whitening, (game.k,))[:, None]
        )
        return np.asarray(2 * (shown**2).sum(axis=1) / size)

    def _furthest(self, row: int, *, relaxed: bool) -> tuple[int, int] | None:
        """Return the pair of rivals furthest apart in the norm of V_t^-1, if there is one."""
        greedy = int(self.means[row].argmax())
        _, rivals, decide = self.ahead(row)
        if relaxed:
            away = np.where(rivals, self.distances(row, greedy), 0.0)
            furthest = int(away.argmax())
            return (furthest, greedy) if away[furthest] > 0 else None
        chosen = np.flatnonzero(decide())
        cross = self.cross_of(row, chosen)[:, chosen]
        lengths = cross.diagonal()
        squared = np.triu(lengths[:, None] + lengths - 2 * cross, 1)
        b, c = np.unravel_index(int(squared.argmax()), squared.shape)
        return (int(chosen[b]), int(chosen[c])) if squared[b, c] > 0 else None

    def plausible(self, row: int, rivals: Mask) -> Mask:
        """Return which of the rivals are best for some function in E_t, shape (k,).

        Rivals are the actions that may be ahead of the greedy one, so nothing else can be best.
        Most are found among the functions that are furthest ahead of the greedy action in one
        action.
        """
        means, others = self.means[row][rivals], np.flatnonzero(rivals)
        cross = self.cross_of(row, others)[:, others]
        greedy = int(means.argmax())
        reach = np.sqrt(self.beta[row])
        pulled = cross - cross[greedy]  # (rivals, rivals)
        width = np.sqrt(np.maximum(pulled.diagonal() - pulled[:, greedy], 0.0))
        step = np.where(width > 0, reach / np.where(width > 0, width, 1.0), 0.0)
        # The function that is highest at an action is often highest there of all.
        heights = np.sqrt(np.maximum(cross.diagonal(), 0.0))
        rise = np.where(heights > 0, reach / np.where(heights > 0, heights, 1.0), 0.0)
        values = means + np.concatenate(
            [np.zeros((1, len(means))), step[:, None] * pulled, rise[:, None] * cross]
        )
        top = values.max(axis=1, keepdims=True)
        slack = PLAUSIBLE * np.maximum(np.ptp(values, axis=1, keepdims=True), 1e-300)
        best = (values >= top - slack).any(axis=0)
        if not best.all():
            spread, axes = np.linalg.eigh((cross + cross.T) / 2)
            root = reach * axes * np.sqrt(np.maximum(spread, 0.0))
            for a in np.flatnonzero(~best):
                best[a] = _may_be_best(means, root, int(a))
        found = np.zeros(len(rivals), dtype=bool)
        found[others] = best
        return found

    # -- the set itself --------------------------------------------------------------------------

    def support(self, directions: ArrayLike) -> Array:
        c = real_array("directions", directions, ("q", self.game.d))
        return np.stack([self._supports(row, c)[0] for row in range(self.data.replicates)])

    def maximizer(self, directions: ArrayLike) -> Array:
        c = real_array("directions", directions, ("q", self.game.d))
        return np.stack([self._supports(row, c)[1] for row in range(self.data.replicates)])

    def _supports(self, row: int, directions: Array) -> tuple[Array, Array]:
        lam, center = self.data.design.regularization, self.data.numbers[row]
        pulled = directions @ self.data.covariances[row].matrix / lam  # (q, d)
        width = np.sqrt(np.maximum((pulled * directions).sum(axis=1), 0.0))
        reach = np.sqrt(self.beta[row])
        step = np.where(width > 0, reach / np.where(width > 0, width, 1.0), 0.0)
        return directions @ center + reach * width, center + step[:, None] * pulled

    def observation_covariance(self, maps: ArrayLike) -> Array:
        rows = real_array("maps", maps, ("q", "m", self.game.d))
        lam = self.data.design.regularization
        each = [rows @ own.matrix @ np.swapaxes(rows, 1, 2) / lam for own in self.data.covariances]
        return np.stack(each)


def _may_be_best(means: Array, root: Array, action: int) -> bool:
    """Whether one of the values means + root u, |u| <= 1, is largest for some u.

    The shortest u with G u >= h, where G and h compare the action with the others, has length
    (1 / r^2 - 1)^(1/2), and there is none if r = 0, with r the distance of (0, 1) from the cone of
    the rows of (G, h) (Lawson and Hanson, chapter 23).
    """
    from scipy.optimize import nnls

    rows = np.column_stack([root[action] - root, means - means[action]])
    size = np.abs(rows).max(axis=1)
    rows = rows[size > 0] / size[size > 0, None]
    try:
        far = float(nnls(rows.T, np.append(np.zeros(root.shape[1]), 1.0))[1])
    except RuntimeError:
        return True  # undecided: keeping it only asks for more information
    return far**2 >= 0.5 - PLAUSIBLE

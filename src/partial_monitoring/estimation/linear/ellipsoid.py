"""Confidence sets of a parameter: Theta cut by ellipsoids around the least-squares estimate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.analysis.advantage import advantage_program
from partial_monitoring.analysis.alignment import region_cones
from partial_monitoring.analysis.coordinates import local_coordinates
from partial_monitoring.errors import SolverError
from partial_monitoring.estimation.confidence import Schedule, squared_radius
from partial_monitoring.estimation.confidence_set import ConfidenceSet, Improvement, counted_once
from partial_monitoring.estimation.later import Later, attribute, filled, once
from partial_monitoring.estimation.linear.directed import directed_information
from partial_monitoring.estimation.linear.least_squares import Estimate
from partial_monitoring.numerics import compiled
from partial_monitoring.numerics.linalg import applied
from partial_monitoring.parameter_sets.cut import Cut, Uncut
from partial_monitoring.validation import Array, Indices, real_array

Mask = NDArray[np.bool_]

COMPILED = 128
"""Largest number of actions whose pairs are compared by compiled loops, not by matrix products."""

BLOCK = 2**22
"""Pairs of actions that are compared at once, to bound the memory."""

CERTAIN = np.ones((1, 1))
"""The chances of one group of one replicate."""

PLAUSIBLE = 1e-9
"""An action that falls short of being best by less than this fraction still counts."""


@dataclass(frozen=True, eq=False)
class Ellipsoid(ConfidenceSet):
    """E_t of every replicate."""

    data: Estimate
    cut: Cut
    beta: Later = Later()
    """beta_t, shape (n,)."""
    projected: Array | None = None
    """theta_hat in the coordinates of the design, if it is known already, shape (n, D)."""
    chances: Array | None = None
    """How likely each group is to come, shape (n, groups); one group alone unless given."""
    offered: Mask | None = None
    """Which actions are offered, shape (n, k); all of them unless given."""
    schedule: Schedule | None = None
    """What says with which probability E_t holds theta; None if nothing does."""

    @classmethod
    def around(cls, estimate: Estimate, schedule: Schedule) -> Ellipsoid:
        """Return E_t of an estimate with failure probabilities from a schedule.

        Of what is partly forgotten they say how wide E_t is, but nothing is proven.
        """
        design = estimate.design
        known = schedule, design, estimate.round, estimate.log_det
        beta = partial(squared_radius, *known)
        forgot = design.forgetting.active and bool((estimate.round > 1).any())
        shown = None if forgot else schedule
        found: Ellipsoid = filled(cls, data=estimate, cut=design.cut, beta=beta, schedule=shown)
        return found

    # -- what is known ---------------------------------------------------------------------------

    @property
    def plays(self) -> Indices:
        """How often each action was observed, shape (n, k)."""
        return self.data.plays

    @property
    def sums(self) -> Array:
        """Sums of the observations of each action, shape (n, k, m)."""
        return self.data.sums

    @cached_property
    def local_center(self) -> Array:
        """theta_hat in the coordinates of the design, shape (n, D)."""
        if self.projected is not None:
            return self.projected
        design, x = self.data.design, self.data.coordinates
        hidden = design.basis.shape[1] - design.rank
        if hidden:
            x = np.concatenate([x, np.zeros((len(x), hidden))], axis=1)
        return self.cut.project(self.data.metric, x)

    @cached_property
    def center(self) -> Array:
        design, x = self.data.design, self.local_center
        return design.prior_mean + (x if design.identity else applied(design.basis, x))

    @property
    def estimate(self) -> Array:
        reported = self.data.design.reported
        return self.center if reported is None else applied(reported, self.center)

    @property
    def gram(self) -> Array:
        """V_t on the directions of Theta, lambda on the others, shape (n, d, d)."""
        design = self.data.design
        if design.correlated:  # all directions of Theta are observed
            back = np.linalg.pinv(design.basis)
            beyond = np.eye(design.game.d) - design.basis @ back
            return np.asarray(back.T @ self.data.gram @ back + design.regularization * beyond)
        w = design.basis[:, : design.rank]
        inner = self.data.gram - design.regularization * np.eye(design.rank)
        return np.asarray(w @ inner @ w.T + design.regularization * np.eye(design.game.d))

    @property
    def means(self) -> Array:
        return self.data.means if self.cut.whole else self._cut_means

    @cached_property
    def _cut_means(self) -> Array:
        return self.data.design.offsets + applied(self.data.design.slopes, self.local_center)

    @property
    def lengths(self) -> Array:
        return np.asarray(np.sqrt(self.data.variances + self.data.design.hidden_lengths))

    @property
    def outside(self) -> Array:
        design = self.data.design
        observed = self.data.coordinates - self.local_center[:, : design.rank]
        hidden = self.local_center[:, design.rank :]
        squared = (observed[:, None, :] @ self.data.gram @ observed[:, :, None])[:, 0, 0]
        return np.asarray(squared + design.regularization * (hidden**2).sum(axis=1))

    @property
    def uncut(self) -> Ellipsoid:
        return self if self.cut.whole else Ellipsoid(self.data, Uncut(), attribute(self, "beta"))

    # -- what a rule asks ------------------------------------------------------------------------

    def exact_gaps(self) -> Array:
        if not self.cut.whole:
            return self.cut.exact_gaps(
                self.data.metric, self.local_center, self.beta, self.data.design
            )
        groups, gap_loops = compiled.groups, compiled.gaps
        data, design, features = self.data, self.data.design, self.data.design.centred_features
        ellipsoids = data.means, data.inverse, self.beta
        if len(design.groups) > 2:
            if design.hidden_features.shape[1] or int(np.diff(design.groups).max()) > COMPILED:
                return self._by_group(Ellipsoid.exact_gaps)
            return np.asarray(groups.exact_gaps(*ellipsoids, features, design.groups))
        if len(design.offsets) <= COMPILED:
            return np.asarray(gap_loops.exact_gaps(*ellipsoids, features, design.hidden_distances))
        n, k = data.means.shape
        gaps = np.empty((n, k))
        block = max(1, BLOCK // k)  # the same whatever the number of replicates
        for row in range(n):
            pulled = features @ data.inverse[row]  # (k, r)
            lengths = (pulled * features).sum(axis=1)
            for start in range(0, k, block):
                own = slice(start, start + block)
                gaps[row, own] = gap_loops.furthest(
                    pulled[own] @ features.T,  # (block, k)
                    start,
                    lengths,
                    data.means[row],
                    np.sqrt(self.beta[row]),
                    design.hidden_features,
                    design.regularization,
                )
        return gaps

    def lazy_gaps(self, information: Array, kappa: float, zero: float) -> Array | None:
        known = self.data.metric, self.local_center, self.beta, self.data.design
        return self.cut.lazy_gaps(*known, self.lengths**2, information, kappa, zero)

    def relaxed_gaps(self) -> Array:
        if self.cut.whole:
            return self._through_greedy(through_mean=False)
        return self.cut.relaxed_gaps(
            self.data.metric, self.local_center, self.beta, self.data.design
        )

    def greedy_gaps(self) -> Array:
        return self._through_greedy(through_mean=True)

    def _through_greedy(self, *, through_mean: bool) -> Array:
        """Compare actions with the greedy one of their group, in closed form, shape (n, k)."""
        data, design = self.data, self.data.design
        if len(design.groups) == 2:
            return np.asarray(compiled.gaps.greedy_gaps(*self._numbers, through_mean)[0])
        if design.hidden_features.shape[1]:
            return self._by_group(lambda own: own._through_greedy(through_mean=through_mean))
        ellipsoids = self.means, data.variances, data.inverse, self.beta
        features = design.observed_features
        numbers = *ellipsoids, features, design.groups
        return np.asarray(compiled.groups.greedy_gaps(*numbers, through_mean))

    @property
    def _numbers(self) -> tuple[Any, ...]:
        """What compiled comparisons with the greedy action are handed."""
        data, design = self.data, self.data.design
        ellipsoids = self.means, data.variances, data.inverse, self.beta
        features = design.observed_features, design.features_by_coordinate
        return (*ellipsoids, *features, design.hidden_features, design.regularization)

    def distances(self, row: int, action: int) -> Array:
        from partial_monitoring.numerics.compiled import gaps as gap_loops

        data, design = self.data, self.data.design
        squared, pulled = np.empty(self.k), np.empty(design.rank)
        features = design.observed_features, design.features_by_coordinate, design.hidden_features
        known = data.variances[row], data.inverse[row]
        gap_loops.all_distances(*known, *features, design.regularization, action, pulled, squared)
        return squared

    def duels(self) -> tuple[Array, Indices, Array]:
        design = self.data.design
        gaps, greedy, squared = compiled.gaps.duels(*self._numbers)
        if design.always_best.any():  # such an action is the greedy one
            greedy = np.full_like(greedy, design.always_best.argmax())
            away = design.observed_features - design.observed_features[greedy[0]]
            squared = np.maximum(((away @ self.data.inverse) * away).sum(axis=2), 0.0)
        return gaps, greedy, squared

    @once
    def improvement(self) -> Improvement:
        data, design, own = self.data, self.data.design, self._improvement_numbers
        columns = np.zeros((0, 0)) if design.parts else design.features_by_coordinate
        if self.chances is not None:
            chances = np.ascontiguousarray(self.chances)
        elif len(data.round) == 1 and len(design.groups) == 2:
            chances = CERTAIN
        else:
            chances = np.ones((len(data.round), len(design.groups) - 1))
        maps, signals = design.maps, np.ascontiguousarray(data.signals)
        groups = design.groups, self._counted, chances
        return Improvement(*compiled.improvement.improvement(*own, columns, maps, signals, *groups))

    def improvement_of_duels(self) -> tuple[Improvement, Indices, Array]:
        known = *self._improvement_numbers, self.data.design.features_by_coordinate, self._counted
        *both, greedy, squared = compiled.duels.improvement(*known)
        return Improvement(*both), greedy, squared

    @property
    def _improvement_numbers(self) -> tuple[Any, ...]:
        """What compiled improvements are handed: the posterior on the affine hull of Theta."""
        data, design = self.data, self.data.design
        known = data.means, data.variances, data.inverse, data.round
        return (*known, design.noise_std, design.observed_features)

    @property
    def _counted(self) -> Mask:
        """The rivals of the greedy actions, shape (n, k), or (1, k) if they are always the same."""
        design = self.data.design
        return design.rivals if self.offered is None else counted_once(design.copies, self.offered)

    def directed(self, *, relaxed: bool) -> Array:
        return directed_information(self, relaxed=relaxed)

    def ahead(self, row: int) -> tuple[Array, Mask, Callable[[], Mask]]:
        own = self.of(np.arange(len(self.beta)) == row)
        far, rivals, points = own.compared()
        return far, rivals, lambda: own.plausible(rivals, points)

    def expected(self, game: Any, action: int) -> Array:
        rows = game.linear.rows(action)
        return np.array([rows @ theta for theta in self.center])

    def sample(self, normals: Array, scale: Array | float) -> Array:
        from partial_monitoring.numerics.compiled.posterior import drawn_rewards

        data, design = self.data, self.data.design
        widths = np.broadcast_to(np.ravel(scale), len(normals)).copy()
        features = design.observed_features, design.hidden_features, design.regularization
        return np.asarray(drawn_rewards(data.means, data.gram, widths, *features, normals))

    def intervals(self, actions: Indices, against: int | None = None) -> tuple[Array, Array]:
        slopes, offsets = self.data.design.slopes, self.data.design.offsets
        rows, base = slopes[actions], offsets[actions]
        if against is not None:
            rows, base = rows - slopes[against], base - offsets[against]
        return base - self.local_supports(-rows)[0], base + self.local_supports(rows)[0]

    # -- parts of it -----------------------------------------------------------------------------

    def of(self, rows: Mask) -> Ellipsoid:
        """Return the confidence sets of some replicates."""
        return Ellipsoid(self.data.of(rows), self.cut, self.beta[rows], self.local_center[rows])

    def restricted(self, actions: Indices) -> Ellipsoid:
        return replace(self, data=self.data.restricted(actions), projected=self.local_center)

    def group(self, group: int) -> Ellipsoid:
        """Return E_t, seen through the actions of one of its groups."""
        if not self.data.design.parts:
            return self
        own = slice(self.groups[group], self.groups[group + 1])
        offered = None if self.offered is None else np.ascontiguousarray(self.offered[:, own])
        data, center = self.data.group(group), self.local_center
        return replace(self, data=data, projected=center, chances=None, offered=offered)

    def _by_group(self, gaps: Callable[[Ellipsoid], Array]) -> Array:
        """Return what a function says about one group after the other, shape (n, k)."""
        each = [gaps(self.group(group)) for group in range(len(self.groups) - 1)]
        return np.concatenate(each, axis=1)

    # -- which actions of a single replicate may be best (section 5.2) -----------------------------

    def compared(self) -> tuple[Array, Mask, Array]:
        """Return how far actions may be ahead of the greedy one (k,), and which that may be best.

        With the points (k, D) where they are.
        """
        design, greedy = self.data.design, int(self.means[0].argmax())
        values, points = self.local_supports(design.slopes - design.slopes[greedy])
        far = values[0] + design.offsets - design.offsets[greedy]
        rivals = far >= 0
        rivals[greedy] = True
        return far, rivals, points[0]

    def plausible(self, rivals: Mask, points: Array) -> Mask:
        """Return which of the rivals are best for some parameter in E_t, shape (k,).

        Most are found among the points (c, D) of E_t that are at hand; a conic program decides the
        rest.
        """
        design = self.data.design
        values = design.offsets + np.concatenate([points, self.local_center]) @ design.slopes.T
        top = values.max(axis=1, keepdims=True)
        slack = PLAUSIBLE * np.maximum(np.ptp(values, axis=1, keepdims=True), 1e-300)
        found = (values >= top - slack).any(axis=0) & rivals
        open_cases = np.flatnonzero(rivals & ~found)
        if len(open_cases):
            found[open_cases] = self.may_be_best(open_cases)
        return np.asarray(found)

    def may_be_best(self, actions: Indices) -> Mask:
        """Return which actions are best for some parameter in E_t, by a conic program each."""
        chart, game = local_coordinates(self.data.design.game), self.data.design.game
        program = advantage_program(chart, chart.pulled_back(region_cones(self, game)))
        found = np.ones(len(actions), dtype=bool)
        for i, a in enumerate(actions):
            with suppress(SolverError):  # undecided: keeping it only asks for more information
                found[i] = program.solve(int(a), ()).value >= -PLAUSIBLE
        return found

    # -- the set itself --------------------------------------------------------------------------

    def support(self, directions: ArrayLike) -> Array:
        return self._supports(directions)[0]

    def maximizer(self, directions: ArrayLike) -> Array:
        design = self.data.design
        return design.prior_mean + self._supports(directions)[1] @ design.basis.T

    def _supports(self, directions: ArrayLike) -> tuple[Array, Array]:
        design = self.data.design
        c = real_array("directions", directions, ("q", design.game.d))
        values, points = self.local_supports(c @ design.basis)
        return values + c @ design.prior_mean, points

    def local_supports(self, directions: Array) -> tuple[Array, Array]:
        """Return values and maximisers for directions in the coordinates of the design."""
        return self.cut.supports(self.data.metric, self.local_center, self.beta, directions)

    def observation_covariance(self, maps: ArrayLike) -> Array:
        design = self.data.design
        rows = real_array("maps", maps, ("q", "m", design.game.d))
        observed = rows @ design.basis[:, : design.rank]
        pulled = observed[None] @ self.data.inverse[:, None]
        return np.asarray(pulled @ np.swapaxes(observed, 1, 2)[None])

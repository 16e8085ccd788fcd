"""The state of a linear bandit whose features live on a device: millions of actions.

The host keeps the estimate, d and d^2 numbers; everything with one number per action is computed on
the device when a decision is asked for. So states are never changed, and cost little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.linear.design import MOST_PAIRED, Design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import Estimate, affine_estimate, initial
from partial_monitoring.estimation.linear.updating import updated_by_rows
from partial_monitoring.estimation.state import Context, Prior
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import equal_rows
from partial_monitoring.parameter_sets.cut import Uncut
from partial_monitoring.validation import (
    Array,
    Indices,
    frozen,
    non_negative_number,
    positive_number,
    real_array,
)

ROWS = 2**16
"""Rows of features that the host looks through at once."""

REFRESH = {"float32": 100, "float64": 1000}
"""Number of rounds after which variances are computed from scratch, by the precision."""

LARGEST_LEVERAGE = 1e6
"""Rows whose squared length is above this many lambda are refused: variances would lose digits."""

HIGH_LEVERAGE = 1e4
"""A row that shrinks the uncertainty along it by this factor costs as many digits."""

WITHOUT_ACTIONS = (
    "a learner on a device has no status, which lists what is known of every action; make one "
    "without device from its events (Learner.replay)."
)


@dataclass(frozen=True, eq=False)
class CatalogueState:
    """An estimate of the parameter, and the features on a device; one replicate."""

    estimate: Estimate
    """Of no actions."""
    shelf: Shelf
    ceiling: float = np.inf
    """T, for mean gaps."""
    step: Any = None
    """What the last observation changed, a ``numerics.cuda.catalogue.Step``; None if everything is
    to be computed from scratch."""

    replayed = True
    """It is saved as its observations."""
    normals = 0

    @property
    def design(self) -> Design:
        return self.estimate.design

    def after(self, action: Indices, observation: Array, context: Context | None = None) -> Self:
        """Return the state after the observation (1, 1) of an action (1,)."""
        from partial_monitoring.numerics.cuda.catalogue import Step

        design, before = self.design, self.estimate
        row = self.shelf.game.features[action[0]]
        basis, w = design.basis, row @ design.basis
        residual = observation[:, :1] - row @ design.prior_mean
        estimate = updated_by_rows(before, w[None, None], residual)
        x = before.inverse[0] @ w
        c = 1.0 + w @ x
        due = int(before.round[0]) % REFRESH[self.shelf.precision] == 0
        step = None if due or c >= HIGH_LEVERAGE else Step(before, basis @ x, 1.0 / c)
        return replace(self, estimate=estimate, step=step)

    def confidence(self, schedule: Schedule, context: Context | None = None) -> Ellipsoid:
        """Return E_t, which knows no actions."""
        whole = Ellipsoid.around(self.estimate, schedule)
        return WithoutActions(whole.data, whole.cut, whole.beta)

    def decide(self, schedule: Schedule, rule: int, kappa: float) -> tuple[Any, Ellipsoid]:
        """Return the best pair of actions, and E_t."""
        from partial_monitoring.numerics.cuda import layout
        from partial_monitoring.numerics.cuda.catalogue import Round

        design, confidence = self.design, self.confidence(schedule)
        improving, inverse = rule == layout.IMPROVEMENT, self.estimate.inverse[0]
        now = Round(
            (affine_estimate(self.estimate) if improving else confidence.center)[0],
            inverse if design.identity else design.basis @ inverse @ design.basis.T,
            rule,
            kappa,
            float(confidence.beta[0]),
            self.ceiling,
            design.noise_std,
            float(self.estimate.round[0]),
        )
        return self.shelf.catalogue.decide(self.estimate, self.step, now), confidence


class WithoutActions(Ellipsoid):
    """E_t on the host, which does not hold what is known of every action."""

    @property
    def means(self) -> Array:
        raise InvalidInput(WITHOUT_ACTIONS)


@dataclass(frozen=True, eq=False)
class Shelf:
    """A game, and what is computed of its features once."""

    game: Game

    @cached_property
    def precision(self) -> str:
        """What the features are kept in on the device: single precision if they fit exactly."""
        fits = all(np.array_equal(own, own.astype(np.float32)) for _, own in self._parts())
        return "float32" if fits else "float64"

    @cached_property
    def catalogue(self) -> Any:
        """The features on the device."""
        from partial_monitoring.numerics.cuda.catalogue import Catalogue

        return Catalogue(self.game.features, self.precision, self._counted())

    @cached_property
    def longest(self) -> float:
        """The largest squared length of a row."""
        return max(float((own**2).sum(axis=1).max()) for _, own in self._parts())

    @cached_property
    def always_best(self) -> int | None:
        """The first action that is best whatever the parameter in Theta, if there is one."""
        features, parameters = self.game.features, self.game.parameters
        best = int((features @ parameters.relative_interior_point()).argmax())
        for _, own in self._parts():
            rivals = own - features[best]
            rivals = rivals[rivals.any(axis=1)]
            zero = 1e-12 * parameters.magnitude * np.abs(rivals).max(initial=0.0)
            if len(rivals) and (parameters.support(rivals) > zero).any():
                return None
        return best

    def largest_gap(self, design: Design) -> float:
        """Return T as ``Design.largest_gap`` does, a part of the features after the other."""
        if self.game.k <= MOST_PAIRED:
            return design.largest_gap
        mean, found = self.game.features.mean(axis=0), 0.0
        for sign in (1.0, -1.0):
            found += max(design.reach(sign * (own - mean)) for _, own in self._parts())
        return found

    def _counted(self) -> NDArray[np.bool_]:
        """Return which actions are the first of those with the same features, shape (k,).

        Rows are compared by a hash of their bits; only those with the same hash by themselves.
        """
        hashes = np.empty(self.game.k, dtype=np.uint64)
        odd = np.random.default_rng(0).integers(0, 2**63, self.game.d, dtype=np.uint64) * 2 + 1
        for start, own in self._parts():
            bits = np.ascontiguousarray(own + 0.0).view(np.uint64)
            bits = (bits ^ (bits >> np.uint64(29))) * odd
            hashes[start : start + len(own)] = (bits ^ (bits >> np.uint64(32))).sum(axis=1)
        _, place, count = np.unique(hashes, return_inverse=True, return_counts=True)
        twins = np.flatnonzero(count[place] > 1)
        counted = np.ones(self.game.k, dtype=bool)
        counted[twins] = equal_rows(self.game.features[twins]) == np.arange(len(twins))
        return counted

    def _parts(self) -> Iterator[tuple[int, Array]]:
        """Yield the features in parts, each with the number of its first row."""
        for start in range(0, self.game.k, ROWS):
            yield start, self.game.features[start : start + ROWS]


def catalogue_state(game: Game, prior: Prior, *, capped: bool = False) -> CatalogueState:
    """Return the state before the first round of a linear bandit, with features on a device.

    ``capped`` says whether gaps are at most T, as mean gaps are. Coordinates are those of
    span(Theta - Theta), whether or not the features span it.
    """
    parameters, shelf = game.parameters, Shelf(game)
    if np.ndim(game.noise_std):
        raise InvalidInput("noise_std must be one number on a device; got one per action.")
    center, basis = parameters.relative_interior_point(), parameters.difference_basis()
    lam = positive_number("regularization", prior.regularization)
    theta = np.array(center, dtype=float)
    if prior.mean is not None:
        given = real_array("prior_mean", prior.mean, (game.d,))
        theta = center + basis @ (basis.T @ (given - center))
    if prior.norm_bound is None:
        bound = float(parameters.assumed_bound(theta))
    else:
        bound = non_negative_number("norm_bound", prior.norm_bound)
    leverage = shelf.longest / lam
    if not leverage <= LARGEST_LEVERAGE:
        raise InvalidInput(
            f"features must not be so large next to regularization on a device: the largest "
            f"squared row over it is {leverage:.3g}, above {LARGEST_LEVERAGE:g}."
        )
    width = basis.shape[1]
    design = Design(
        game,
        lam,
        bound,
        float(game.noise_std),
        frozen(theta),
        frozen(np.array(basis)),
        width,
        np.zeros(0),
        np.zeros((0, width)),
        np.zeros((0, 0, width)),
        np.zeros((0, 0)),
        np.zeros(0),
        leverage,
        parameters.cut(theta, basis) if width else Uncut(),
        np.array([0, 0]),
    )
    ceiling = shelf.largest_gap(design) if capped else np.inf
    return CatalogueState(initial(design, 1, by_rows=True), shelf, ceiling)

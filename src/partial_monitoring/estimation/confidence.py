"""Confidence sets E_t and their support function, the one oracle of all geometry (section 3.1).

E_t = {theta in Theta : |theta - theta_hat|_{V_t}^2 <= beta_t}
beta_t^(1/2) = rho (2 log 1/delta + log det W_t - r log lambda)^(1/2) + lambda^(1/2) B
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel.box import Conditioned
from partial_monitoring.estimation.kernel.ellipsoid import KernelConfidence
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.linear.least_squares import Estimate, applied
from partial_monitoring.estimation.shapes import Everything, Shape
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import (
    Array,
    Indices,
    positive_number,
    real_array,
    real_number,
    set_fields,
)

Schedule = Callable[[Array], Array]
"""t (n,) -> log(1 / delta_t) (n,), the logarithm of one over the failure probability."""


@dataclass(frozen=True)
class Paper:
    """delta = 1/t^2, for bounds of the expected regret."""

    def __call__(self, t: Array) -> Array:
        return 2.0 * np.log(t)


@dataclass(frozen=True)
class Fixed:
    """One failure probability for all rounds, for bounds that hold with high probability."""

    failure_probability: float

    def __post_init__(self) -> None:
        delta = real_number("failure_probability", self.failure_probability)
        if not 0 < delta <= 1:
            raise InvalidInput(f"failure_probability must lie in (0, 1]; got {delta!r}.")
        set_fields(self, failure_probability=delta)

    def __call__(self, t: Array) -> Array:
        return np.full(np.shape(t), -np.log(self.failure_probability))


@dataclass(frozen=True)
class Deviations:
    """beta_t^(1/2) = number rho: so many standard deviations of the posterior in each direction."""

    number: float

    def __post_init__(self) -> None:
        set_fields(self, number=positive_number("number", self.number))

    def __call__(self, t: Array) -> Array:
        return 0.5 * self.number**2 * np.ones(np.shape(t))


def paper() -> Paper:
    """Return the schedule delta = 1/t^2."""
    return Paper()


def fixed(failure_probability: float) -> Fixed:
    """Return the schedule with one failure probability for all rounds."""
    return Fixed(failure_probability)


def deviations(number: float) -> Deviations:
    """Return beta_t^(1/2) = number rho, so many standard deviations of the posterior.

    The posterior is that of normal noise and the prior N(theta_0, rho^2 / lambda). Two to four
    deviations are often enough for one action; that the truth is in all of E_t is not guaranteed,
    and no bound of the regret holds.
    """
    return Deviations(number)


@dataclass(frozen=True, eq=False)
class ConfidenceSet:
    """E_t of every replicate."""

    data: Estimate
    shape: Shape
    beta: Array
    """beta_t, shape (n,)."""

    @property
    def parameters(self) -> ParameterSet:
        """Theta."""
        return self.data.model.game.parameters

    @property
    def round(self) -> Indices:
        """t, shape (n,)."""
        return self.data.round

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
        """theta_hat in the coordinates of the model, shape (n, D)."""
        model = self.data.model
        x = self.data.coordinates
        unseen = model.basis.shape[1] - model.rank
        if unseen:
            x = np.concatenate([x, np.zeros((len(x), unseen))], axis=1)
        return self.shape.project(self.data, x)

    @cached_property
    def center(self) -> Array:
        """theta_hat, the least-squares estimate over Theta, shape (n, d)."""
        model = self.data.model
        x = self.local_center
        return model.prior_mean + (x if model.identity else applied(model.basis, x))

    @property
    def estimate(self) -> Array:
        """What a decision reports: theta_hat, shape (n, d)."""
        return self.center

    @property
    def gram(self) -> Array:
        """V_t on the directions of Theta, lambda on the others, shape (n, d, d)."""
        model = self.data.model
        w = model.basis[:, : model.rank]
        inner = self.data.gram - model.regularization * np.eye(model.rank)
        return np.asarray(w @ inner @ w.T + model.regularization * np.eye(model.game.d))

    @cached_property
    def means(self) -> Array:
        """Rewards at theta_hat, shape (n, k)."""
        model = self.data.model
        if isinstance(self.shape, Everything):
            return self.data.means
        return model.offsets + applied(model.slopes, self.local_center)

    def widths(self, row: int, action: int) -> Array:
        """Return beta^(1/2) |phi_a - phi_b| in the norm of V_t^-1 for all a and one b, shape (k,).

        Of one replicate, over the whole ellipsoid.
        """
        data, model = self.data, self.data.model
        cross = model.seen @ (data.inverse[row] @ model.seen[action])
        # Written with differences, so that it is exactly zero for copies of b.
        squared = (data.variances[row] - data.variances[row, action]) + 2 * (cross[action] - cross)
        if model.unseen.shape[1]:
            away = model.unseen - model.unseen[action]
            squared = squared + (away**2).sum(axis=1) / model.regularization
        width: Array = np.sqrt(np.maximum(squared, 0.0) * self.beta[row])
        return width

    def support(self, directions: ArrayLike) -> Array:
        """Return max <c, theta> over E_t for directions (q, d), shape (n, q)."""
        return self._supports(directions)[0]

    def maximizer(self, directions: ArrayLike) -> Array:
        """Return where the maximum is attained, shape (n, q, d)."""
        model = self.data.model
        points = self._supports(directions)[1]
        return model.prior_mean + points @ model.basis.T

    def _supports(self, directions: ArrayLike) -> tuple[Array, Array]:
        model = self.data.model
        c = real_array("directions", directions, ("q", model.game.d))
        values, points = self.local_supports(c @ model.basis)
        return values + c @ model.prior_mean, points

    def observation_covariance(self, maps: ArrayLike) -> Array:
        """Return M W W_t^-1 W' M' for maps (q, m, d), shape (n, q, m, m)."""
        model = self.data.model
        rows = real_array("maps", maps, ("q", "m", model.game.d))
        seen = rows @ model.basis[:, : model.rank]
        pulled = seen[None] @ self.data.inverse[:, None]
        return np.asarray(pulled @ np.swapaxes(seen, 1, 2)[None])

    def local_supports(self, directions: Array) -> tuple[Array, Array]:
        """Return values and maximisers for directions in the coordinates of the model."""
        return self.shape.supports(self.data, self.local_center, self.beta, directions)


AnyConfidence = ConfidenceSet | KernelConfidence
"""E_t of parameters, or of functions with a kernel."""


@overload
def confidence_set(estimate: Estimate, shape: Shape, schedule: Schedule) -> ConfidenceSet: ...
@overload
def confidence_set(
    estimate: KernelEstimate, shape: Shape, schedule: Schedule
) -> KernelConfidence: ...
def confidence_set(
    estimate: Estimate | KernelEstimate, shape: Shape, schedule: Schedule
) -> AnyConfidence:
    """Return E_t of an estimate with failure probabilities from a schedule."""
    beta = squared_radius(estimate, schedule)
    if isinstance(estimate, KernelEstimate):
        return KernelConfidence(estimate, beta)
    return ConfidenceSet(estimate, shape, beta)


def squared_radius(estimate: Estimate | KernelEstimate | Conditioned, schedule: Schedule) -> Array:
    """Return beta_t, shape (n,)."""
    model = estimate.model
    t = estimate.round.astype(float)
    if isinstance(schedule, Deviations):
        return np.full(len(t), (schedule.number * model.noise_std) ** 2)
    logarithms = schedule(t)
    if not isinstance(schedule, Paper | Fixed):
        logarithms = _checked(logarithms, len(t))
    radius = (
        model.noise_std * np.sqrt(np.maximum(2.0 * logarithms + estimate.log_det, 0.0))
        + np.sqrt(model.regularization) * model.norm_bound
    )
    return np.asarray(radius**2)


def _checked(logarithms: object, replicates: int) -> Array:
    """Return what a user's own schedule gave, if it can be used."""
    name = "what the schedule confidence returns, log(1 / delta) of each replicate,"
    return real_array(name, logarithms, (replicates,))  # type: ignore[arg-type]

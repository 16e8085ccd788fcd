"""Kernels fitted to data by their marginal likelihood.

Were the function drawn from a Gaussian process with covariance s k, the data y of rows S with noise
of sizes rho_i would have the density

    log p(y) = -1/2 y' A^-1 y - 1/2 log det A - n/2 log 2 pi,    A = s S K S' + diag(rho_i^2).

Its maximum over the parameters of the kernel is a good guess, but a guess: confidence sets of a
kernel that was fitted to the same data are not guaranteed to hold the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels import as_kernel
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.kernels.gram import Functionals, KernelGram
from partial_monitoring.kernels.readings import Reading, shared
from partial_monitoring.validation import Array, Indices, brief, positive_number, real_array
from partial_monitoring.validation import axes as axes_of

REACH = 100.0
"""Parameters are looked for within this factor of where they start."""

SCALES = (0.1, 1 / 3, 3.0, 10.0)
"""By what length scales are multiplied for other starts."""

PERIODS = tuple(np.geomspace(1 / 6, 6.0, 96).tolist())
"""By what periods are: the likelihood has many maxima in them, all of them narrow."""

SEARCHES = 2
"""So many of the most likely starts of each kind are searched from."""

HOPELESS = 1e12
"""The cost of parameters for which there is no likelihood."""


def log_marginal_likelihood(
    kernel: Any,
    reading: Reading,
    observations: ArrayLike,
    *,
    noise_std: ArrayLike = 1.0,
    scale: float = 1.0,
) -> float:
    """Return the log density of what readings of a function showed.

    Parameters
    ----------
    kernel
        Of the function.
    reading
        What was read, made by ``pm.readings``, k times m rows.
    observations
        What it showed, shape (k, m), or (k,) for one row each; padding is ignored.
    noise_std
        The size of the noise, one number or one per observation.
    scale
        s: the covariance is s times the kernel.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> read = pm.readings.values([[0.0], [1.0]])
    >>> round(log_marginal_likelihood(pm.kernels.Constant(1.0), read, [1.0, 1.0]), 3)
    -2.721
    """
    data = _Data.of(reading, observations, noise_std, scale)
    return data.likelihood(as_kernel(kernel))


def fit_kernel(
    kernel: Any,
    reading: Reading,
    observations: ArrayLike,
    *,
    noise_std: ArrayLike = 1.0,
    scale: float = 1.0,
) -> Kernel:
    """Return the kernel with the parameters under which the observations are most likely.

    The arguments are those of :func:`log_marginal_likelihood`. What is found is a local maximum,
    from a few starts: the parameters that the kernel has, larger and smaller scales, other periods.
    The search stays within a factor of 100 of the parameters, and within their bounds; the answer
    is never less likely than they are.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> x = np.linspace(0, 1, 30)[:, None]
    >>> read = pm.readings.values(x)
    >>> fitted = fit_kernel(pm.kernels.SquaredExponential(0.1), read, np.sin(6 * x[:, 0]),
    ...                     noise_std=0.01)
    >>> 0.2 < fitted.lengthscale < 2
    True
    """
    from scipy.optimize import minimize

    start = as_kernel(kernel)
    data = _Data.of(reading, observations, noise_std, scale)
    if not start.parameters:
        raise InvalidInput(f"kernel must have parameters to fit; got {brief(start)}.")
    limits = np.array(list(start.bounds.values()))
    given = np.array(list(start.parameters.values()))
    free = np.clip(given, limits[:, 0], limits[:, 1])
    if (free != given).any():
        start = start.with_parameters(free)
    low = np.log(np.maximum(free / REACH, np.maximum(limits[:, 0], 1e-300)))
    high = np.log(np.minimum(free * REACH, limits[:, 1]))
    data.likelihood(start)  # what is wrong with the kernel itself is said, not avoided

    def cost(logs: Array) -> float:
        try:
            likelihood = data.likelihood(start.with_parameters(np.exp(logs)))
        except InvalidInput:
            return HOPELESS
        return min(-likelihood, HOPELESS)

    chosen: list[Array] = []
    for moves in _moves(list(start.parameters)):
        starts = [np.clip(np.log(free) + move, low, high) for move in moves]
        chosen += sorted(starts, key=cost)[:SEARCHES]
    best, least = None, cost(np.log(free))
    for logs in chosen:
        found = minimize(cost, logs, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)))
        end = np.clip(found.x, low, high)
        reached = cost(end) if np.isfinite(end).all() else HOPELESS
        if reached < least:
            best, least = end, reached
    return start if best is None else start.with_parameters(np.exp(best))


def _moves(names: list[str]) -> list[list[Array]]:
    """Return where to start, as steps of the logarithms of the parameters: scales, periods."""
    scales = np.array(["scale" in name for name in names], dtype=float)
    periods = np.array(["period" in name for name in names], dtype=float)
    stretched = [np.zeros(len(names))]
    for factor in SCALES if scales.any() else ():
        stretched.append(np.log(factor) * scales)  # all at once
        if scales.sum() > 1:
            stretched += [np.log(factor) * own for own in np.diag(scales) if own.any()]
    return [stretched, [np.log(f) * periods for f in PERIODS] if periods.any() else []]


@dataclass(frozen=True, eq=False)
class _Data:
    """Functionals with what they showed, ready for many kernels."""

    points: Array
    axes: Indices
    rows: Functionals
    shown: Array
    noise: Array
    scale: float

    @classmethod
    def of(
        cls, reading: Reading, observations: ArrayLike, noise_std: ArrayLike, scale: float
    ) -> _Data:
        if not isinstance(reading, Reading):
            raise InvalidInput(f"reading must be one of pm.readings; got {brief(reading)}.")
        k, m = reading.k, reading.m
        shape = (k,) if m == 1 and axes_of(observations) == 1 else (k, m)
        shown = real_array("observations", observations, shape).reshape(k, m)
        noise = real_array("noise_std", noise_std, (k,) if axes_of(noise_std) else ())
        if (noise <= 0).any():
            raise InvalidInput(f"noise_std must be positive; got {float(noise.min()):g}.")
        points, axes, (rows,) = shared(reading)
        own = np.arange(m) < np.array(reading.counts)[:, None]  # not padding
        each = np.broadcast_to(np.broadcast_to(noise, (k,))[:, None], (k, m))[own]
        return cls(points, axes, rows[own], shown[own], each, positive_number("scale", scale))

    def likelihood(self, kernel: Kernel) -> float:
        whole = KernelGram(kernel, self.points, self.axes).matrix
        seen = self.rows.of(np.ascontiguousarray(self.rows.of(whole).T))  # S K S'
        covariance = self.scale * seen + np.diag(self.noise**2)
        try:
            low = cho_factor(covariance, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return -np.inf
        fit = float(self.shown @ cho_solve(low, self.shown, check_finite=False))
        size = 2.0 * float(np.log(low[0].diagonal()).sum())
        return -0.5 * (fit + size + len(self.shown) * float(np.log(2 * np.pi)))

"""The kernel of functions that repeat themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform

from partial_monitoring.kernels.elementary import Elementary, Scales, per_dimension, positive_scales
from partial_monitoring.validation import Array, positive_number, set_fields


@dataclass(frozen=True)
class Periodic(Elementary):
    """k(x, y) = variance exp(-2 sum over i of sin(pi (x_i - y_i) / period_i)^2 / lengthscale_i^2).

    It is the squared exponential kernel of points on circles: x_i becomes the point of the unit
    circle at the angle 2 pi x_i / period_i. Each dimension has a circle of its own, which keeps the
    kernel positive semidefinite for any number of dimensions.

    Parameters
    ----------
    period
        After which the function repeats itself: a number, or one per dimension.
    lengthscale
        The distance on the unit circle over which the function changes: a number, or one per
        dimension.
    variance
        k(x, x).

    Examples
    --------
    >>> Periodic(period=7.0)([[0.0]], [[0.0], [3.5], [7.0], [14.0]]).round(4)
    array([[1.    , 0.1353, 1.    , 1.    ]])
    """

    TYPE: ClassVar[str] = "periodic"
    FREE: ClassVar[tuple[str, ...]] = ("period", "lengthscale", "variance")
    period: Scales = 1.0
    lengthscale: Scales = 1.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        set_fields(
            self,
            period=positive_scales("period", self.period),
            lengthscale=positive_scales("lengthscale", self.lengthscale),
            variance=positive_number("variance", self.variance),
        )

    def _values(self, x: Array, y: Array) -> Array:
        return self._profile(cdist(self._circles(x), self._circles(y), "sqeuclidean"))

    def _square(self, x: Array) -> Array:
        if len(x) < 2:
            return np.diag(self._diagonal(x))
        values: Array = squareform(
            self._profile(pdist(self._circles(x), "sqeuclidean")), checks=False
        )
        np.fill_diagonal(values, self.variance)
        return values

    def _diagonal(self, x: Array) -> Array:
        self._scales(x)
        return np.full(len(x), self.variance)

    def _gradient(self, x: Array, y: Array) -> Array:
        """dk/dx_i = -k c_i with c_i = 2 pi / (period_i l_i^2) sin(2 pi (x_i - y_i) / period_i)."""
        c, _ = self._waves(x, y)
        slope: Array = -self._values(x, y)[:, :, None] * c
        return slope

    def _mixed(self, x: Array, y: Array) -> Array:
        """d^2 k / dx_i dy_j = k ([i = j] dc_i/dx_i - c_i c_j)."""
        c, change = self._waves(x, y)
        result: Array = -c[..., :, None] * c[..., None, :]
        i = np.arange(x.shape[1])
        result[:, :, i, i] += change
        result *= self._values(x, y)[:, :, None, None]
        return result

    def _profile(self, squares: Array) -> Array:
        squares *= -0.5
        values = np.exp(squares, out=squares)
        values *= self.variance
        return values

    def _scales(self, x: Array) -> tuple[Array, Array]:
        return (
            per_dimension("period", self.period, x),
            per_dimension("lengthscale", self.lengthscale, x),
        )

    def _circles(self, x: Array) -> Array:
        """Points whose distance is that of the circles in lengthscales, shape (n, 2p)."""
        period, scale = self._scales(x)
        angle = 2.0 * np.pi * (np.fmod(x, period) / period)
        return np.concatenate([np.cos(angle) / scale, np.sin(angle) / scale], axis=1)

    def _waves(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return c and its derivative in x, each of shape (n, m, p)."""
        period, scale = self._scales(x)
        rate = 2.0 * np.pi / period
        angle = 2.0 * np.pi * (np.fmod(x[:, None, :] - y[None, :, :], period) / period)
        return rate / scale**2 * np.sin(angle), (rate / scale) ** 2 * np.cos(angle)

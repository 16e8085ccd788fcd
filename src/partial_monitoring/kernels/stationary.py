"""Kernels of a distance of two points: squared exponential, Matern, periodic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from partial_monitoring.kernels.elementary import Elementary, Scales, per_dimension
from partial_monitoring.validation import Array

BLOCK = 16_384
"""Number of entries that are computed at once."""

FAR = 800.0
"""exp(-FAR) is zero; larger distances count as this one, so that inf * 0 does not arise."""


class OfDistance(Elementary):
    """k(x, y) = variance g(r^2), with r some distance of x and y."""

    variance: float

    @abstractmethod
    def _squares(self, distance: Callable[..., Array], *points: Array) -> Array:
        """Return r^2 of points, by ``cdist`` or ``pdist``."""

    def _profile(self, squares: Array) -> Array:
        """Return g at each r^2, at most 1; that of the squared exponential unless overridden."""
        return np.asarray(np.exp(-0.5 * squares))

    def _values(self, x: Array, y: Array) -> Array:
        from scipy.spatial.distance import cdist

        return self._applied(self._squares(cdist, x, y))

    def _square(self, x: Array) -> Array:
        if len(x) < 2:
            return np.diag(self._diagonal(x))
        from scipy.spatial.distance import pdist, squareform

        values: Array = squareform(self._applied(self._squares(pdist, x)), checks=False)
        np.fill_diagonal(values, self.variance)
        return values

    def _applied(self, squares: Array) -> Array:
        """Replace each r^2 by variance g, in blocks that fit into the cache."""
        flat = squares.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            block = flat[start : start + BLOCK]
            np.multiply(self._profile(block), self.variance, out=block)
        return squares


class Stationary(OfDistance):
    """k(x, y) = variance g(r^2), with r the length of u, u_i = (x_i - y_i) / lengthscale_i.

    With a = -2 g' and b = 4 g'' (derivatives in r^2),

        dk / dx_i = -variance a u_i / l_i,
        d^2 k / dx_i dy_j = variance (a [i = j] / l_i^2 - b u_i u_j / (l_i l_j)).
    """

    FREE: ClassVar[tuple[str, ...]] = ("lengthscale", "variance")
    lengthscale: Scales

    @abstractmethod
    def _slopes(self, squares: Array) -> tuple[Array, Array]:
        """Return a and b at each r^2."""

    @property
    def lengthscales(self) -> list[Array]:
        return [np.atleast_1d(np.array(self.lengthscale, dtype=float))]

    def _diagonal(self, x: Array) -> Array:
        per_dimension("lengthscale", self.lengthscale, x)
        return np.full(len(x), self.variance)

    def _gradient(self, x: Array, y: Array) -> Array:
        u, scale = self._differences(x, y)
        a, _ = self._slopes(np.einsum("nmi,nmi->nm", u, u))
        return np.asarray((-self.variance * a)[:, :, None] * (u / scale))

    def _mixed(self, x: Array, y: Array) -> Array:
        u, scale = self._differences(x, y)
        a, b = self._slopes(np.einsum("nmi,nmi->nm", u, u))
        v = u / scale
        result: Array = (-self.variance * b)[:, :, None, None] * (v[..., :, None] * v[..., None, :])
        result += (self.variance * a)[:, :, None, None] * np.diag(scale**-2)
        return result

    def _squares(self, distance: Callable[..., Array], *points: Array) -> Array:
        """Return r^2. The differences are scaled, not the points: that would cost them digits."""
        weights = per_dimension("lengthscale", self.lengthscale, points[0]) ** -2
        if isinstance(self.lengthscale, tuple):
            return distance(*points, "sqeuclidean", w=weights)
        squares = distance(*points, "sqeuclidean")
        squares *= weights[0]
        return squares

    def _differences(self, x: Array, y: Array) -> tuple[Array, Array]:
        scale = per_dimension("lengthscale", self.lengthscale, x)
        return (x[:, None, :] - y[None, :, :]) / scale, scale


@dataclass(frozen=True)
class SquaredExponential(Stationary):
    """k(x, y) = variance exp(-r^2 / 2), r the distance in lengthscales; for smooth functions.

    Parameters
    ----------
    lengthscale
        The distance over which the function changes: a number, or one per dimension.
    variance
        k(x, x).

    Examples
    --------
    >>> SquaredExponential(lengthscale=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    TYPE: ClassVar[str] = "squared_exponential"
    lengthscale: Scales = 1.0
    variance: float = 1.0

    def _slopes(self, squares: Array) -> tuple[Array, Array]:
        g = np.exp(-0.5 * squares)
        return g, g


@dataclass(frozen=True)
class Matern(Stationary):
    """Matern's kernel; functions are rougher the smaller nu is.

    With r the distance in lengthscales and z = (2 nu)^(1/2) r, k(x, y) / variance is

        exp(-z)                   for nu = 0.5 (not differentiable),
        (1 + z) exp(-z)           for nu = 1.5,
        (1 + z + z^2/3) exp(-z)   for nu = 2.5.

    Parameters
    ----------
    nu
        0.5, 1.5 or 2.5; never a free parameter.
    lengthscale, variance
        As for :class:`SquaredExponential`.

    Examples
    --------
    >>> Matern(1.5, lengthscale=[1.0, 3.0])([[0.0, 0.0]], [[0.0, 3.0], [1.0, 0.0]]).round(4)
    array([[0.4834, 0.4834]])
    """

    TYPE: ClassVar[str] = "matern"
    nu: float = 2.5
    lengthscale: Scales = 1.0
    variance: float = 1.0

    @property
    def differentiable(self) -> bool:
        return self.nu > 1

    def _profile(self, squares: Array) -> Array:
        z = self._distances(squares)
        values = np.exp(-z)
        if self.nu == 1.5:
            values *= 1.0 + z
        elif self.nu == 2.5:
            values *= 1.0 + z * (1.0 + z / 3.0)
        return np.minimum(values, 1.0, out=values)

    def _slopes(self, squares: Array) -> tuple[Array, Array]:
        z = self._distances(squares)
        decay = np.exp(-z)
        if self.nu == 1.5:  # b u_i u_j is zero at z = 0, though b has no limit
            safe = np.where(z > 0, z, np.inf)
            return 3.0 * decay, 9.0 * decay / safe
        return 5.0 / 3.0 * (1.0 + z) * decay, 25.0 / 3.0 * decay

    def _distances(self, squares: Array) -> Array:
        z = np.sqrt(squares * (2.0 * self.nu))
        return np.minimum(z, FAR, out=z)


@dataclass(frozen=True)
class Periodic(OfDistance):
    """k(x, y) = variance exp(-2 sum over i of sin(pi (x_i - y_i) / period_i)^2 / lengthscale_i^2).

    It is the squared exponential kernel of points on circles: x_i becomes the point of the unit
    circle at the angle 2 pi x_i / period_i. Each dimension has a circle of its own, which keeps the
    kernel positive semidefinite for any number of dimensions.

    Parameters
    ----------
    period
        The distance after which the function repeats itself: a number, or one per dimension.
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

    def _diagonal(self, x: Array) -> Array:
        self._scales(x)
        return np.full(len(x), self.variance)

    def _gradient(self, x: Array, y: Array) -> Array:
        """dk/dx_i = -k c_i with c_i = 2 pi / (period_i l_i^2) sin(2 pi (x_i - y_i) / period_i)."""
        c, _ = self._waves(x, y)
        return np.asarray(-self._values(x, y)[:, :, None] * c)

    def _mixed(self, x: Array, y: Array) -> Array:
        """d^2 k / dx_i dy_j = k ([i = j] dc_i/dx_i - c_i c_j)."""
        c, change = self._waves(x, y)
        result: Array = -c[..., :, None] * c[..., None, :]
        i = np.arange(x.shape[1])
        result[:, :, i, i] += change
        result *= self._values(x, y)[:, :, None, None]
        return result

    def _scales(self, x: Array) -> tuple[Array, Array]:
        period = per_dimension("period", self.period, x)
        return period, per_dimension("lengthscale", self.lengthscale, x)

    def _squares(self, distance: Callable[..., Array], *points: Array) -> Array:
        return distance(*map(self._circles, points), "sqeuclidean")

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

"""Support function of an ellipsoid cut by a ball, by a one-dimensional dual.

Every s in [0, 1] gives an ellipsoid (1 - s) |x - x_hat|_G^2 / beta + s |x - center|^2 / radius^2 <=
1 that contains the intersection, so its support function is an upper bound; the least of them is
exact (Lagrange duality) and the bound is quasi-convex in s. Coordinates are those in which G is
diagonal.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GOLDEN = 0.6180339887498949
STEPS = 90


@njit(cache=True, error_model="numpy")
def bound(s, c, weights, x_hat, beta, center, radius, point):
    """Return the support value of the ellipsoid for s; fill the point where it is attained."""
    inside = 1.0
    reach = 0.0
    value = 0.0
    for j in range(len(c)):
        one = (1.0 - s) * weights[j] / beta
        two = s / (radius * radius)
        both = one + two
        middle = (one * x_hat[j] + two * center[j]) / both
        away = x_hat[j] - center[j]
        inside -= one * two / both * away * away
        reach += c[j] * c[j] / both
        value += c[j] * middle
        point[j] = middle
    inside = max(inside, 0.0)
    step = np.sqrt(inside / reach) if reach > 0.0 else 0.0
    for j in range(len(c)):
        both = (1.0 - s) * weights[j] / beta + s / (radius * radius)
        point[j] += step * c[j] / both
    return value + np.sqrt(inside * reach)


@njit(cache=True, error_model="numpy")
def support(c, weights, x_hat, beta, center, radius, point):
    """Return max <c, x> over both sets; fill a maximiser."""
    best = bound(0.0, c, weights, x_hat, beta, center, radius, point)
    away = 0.0
    for j in range(len(c)):
        away += (point[j] - center[j]) ** 2
    if away <= radius * radius * (1.0 + 1e-12):
        return best
    whole = bound(1.0, c, weights, x_hat, beta, center, radius, point)
    away = 0.0
    for j in range(len(c)):
        away += weights[j] * (point[j] - x_hat[j]) ** 2
    if away <= beta * (1.0 + 1e-12):
        return min(best, whole)
    low, high = 0.0, 1.0
    one = high - GOLDEN * (high - low)
    two = low + GOLDEN * (high - low)
    at_one = bound(one, c, weights, x_hat, beta, center, radius, point)
    at_two = bound(two, c, weights, x_hat, beta, center, radius, point)
    for _ in range(STEPS):
        if at_one <= at_two:
            high, two, at_two = two, one, at_one
            one = high - GOLDEN * (high - low)
            at_one = bound(one, c, weights, x_hat, beta, center, radius, point)
        else:
            low, one, at_one = one, two, at_two
            two = low + GOLDEN * (high - low)
            at_two = bound(two, c, weights, x_hat, beta, center, radius, point)
    found = bound((low + high) / 2, c, weights, x_hat, beta, center, radius, point)
    return min(min(found, best), whole)


@njit(cache=True, error_model="numpy")
def supports(directions, weights, x_hat, beta, center, radius):
    """Return values (n, q) and maximisers (n, q, D) of directions (n, q, D)."""
    n, q, dim = directions.shape
    values = np.empty((n, q))
    points = np.empty((n, q, dim))
    for row in range(n):
        for t in range(q):
            values[row, t] = support(
                directions[row, t],
                weights[row],
                x_hat[row],
                beta[row],
                center[row],
                radius,
                points[row, t],
            )
    return values, points


@njit(cache=True, error_model="numpy")
def projections(weights, x_hat, center, radius):
    """Project estimates (n, D) onto the ball in the norms of diag(weights), shape (n, D).

    x - center = w / (w + mu) (x_hat - center) with mu >= 0 such that it has length radius; Newton's
    method on minus one over the length climbs from mu = 0 to the root.
    """
    n, dim = x_hat.shape
    result = x_hat.copy()
    for row in range(n):
        far = 0.0
        for j in range(dim):
            far += (x_hat[row, j] - center[row, j]) ** 2
        if far <= radius * radius:
            continue
        mu = 0.0
        for _ in range(100):
            length = 0.0
            slope = 0.0
            for j in range(dim):
                x = weights[row, j] / (weights[row, j] + mu) * (x_hat[row, j] - center[row, j])
                length += x * x
                slope += x * x / (weights[row, j] + mu)
            step = length / slope * (np.sqrt(length) / radius - 1.0)
            mu += step
            if step <= 1e-15 * mu:
                break
        scale = radius / np.sqrt(length)
        for j in range(dim):
            x = weights[row, j] / (weights[row, j] + mu) * (x_hat[row, j] - center[row, j])
            result[row, j] = center[row, j] + scale * x
    return result

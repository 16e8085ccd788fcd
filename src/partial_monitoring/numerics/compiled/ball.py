"""Support function of an ellipsoid cut by a ball, by a one-dimensional dual.

Every mu >= 0 gives an ellipsoid |x - x_hat|_G^2 + mu |x - center|^2 <= beta + mu radius^2 that
contains the intersection, so its support function is an upper bound; the least of them is exact
(Lagrange duality). There its maximiser lies on both boundaries, and on either side it violates one
of the two: a root to be found, on a logarithmic scale. Coordinates are those in which G is
diagonal.
"""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

INSIDE = 1e-12
"""A point this little outside, relatively, counts as inside."""

STEPS = 200


@compiled
def bound(mu, c, weights, x_hat, beta, center, radius, point):
    """Return the support value of the ellipsoid for mu, and how the point violates the two sets.

    The violation |x - center|^2 / radius^2 - |x - x_hat|_G^2 / beta is positive if the ball is the
    set that is left further. Fills the point where the value is attained.
    """
    room = beta + mu * radius * radius
    reach = 0.0
    value = 0.0
    for j in range(len(c)):
        both = weights[j] + mu
        away = x_hat[j] - center[j]
        middle = center[j] + weights[j] / both * away
        room -= weights[j] * (mu / both) * away * away
        reach += c[j] * c[j] / both
        value += c[j] * middle
        point[j] = middle
    room = max(room, 0.0)
    step = np.sqrt(room / reach) if reach > 0.0 else 0.0
    from_center = 0.0
    from_estimate = 0.0
    for j in range(len(c)):
        point[j] += step * c[j] / (weights[j] + mu)
        from_center += (point[j] - center[j]) ** 2
        from_estimate += weights[j] * (point[j] - x_hat[j]) ** 2
    return value + np.sqrt(room * reach), from_center / (radius * radius) - from_estimate / beta


@compiled
def support(c, weights, x_hat, beta, center, radius, point):
    """Return max <c, x> over both sets; fill a maximiser."""
    best, violation = bound(0.0, c, weights, x_hat, beta, center, radius, point)
    whole, length, away = 0.0, 0.0, 0.0
    for j in range(len(c)):
        length += c[j] * c[j]
    # On the boundary of the ellipsoid and in the ball; without a direction any point will do.
    if violation <= INSIDE or length == 0.0:
        return best
    for j in range(len(c)):
        point[j] = center[j] + radius * c[j] / np.sqrt(length)
        whole += c[j] * point[j]
        away += weights[j] * (point[j] - x_hat[j]) ** 2
    if away <= beta * (1.0 + INSIDE):
        return min(best, whole)
    # Bracket the root on a logarithmic scale, then take secants; a bracket that a secant did not
    # halve is bisected.
    low = high = np.log(beta / (radius * radius))
    at_low = at_high = bound(np.exp(low), c, weights, x_hat, beta, center, radius, point)[1]
    pace = 1.0
    while at_low < 0.0 and pace < 2000.0:
        high, at_high = low, at_low
        low -= pace
        pace *= 2.0
        at_low = bound(np.exp(low), c, weights, x_hat, beta, center, radius, point)[1]
    pace = 1.0
    while at_high > 0.0 and pace < 2000.0:
        low, at_low = high, at_high
        high += pace
        pace *= 2.0
        at_high = bound(np.exp(high), c, weights, x_hat, beta, center, radius, point)[1]
    found = best
    slow = False
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if not slow and at_low > at_high:
            middle = low + (high - low) * at_low / (at_low - at_high)
        before = high - low
        value, violation = bound(np.exp(middle), c, weights, x_hat, beta, center, radius, point)
        found = min(found, value)
        if violation > 0.0:
            low, at_low = middle, violation
        else:
            high, at_high = middle, violation
        slow = high - low > 0.5 * before
        if high - low <= 1e-15 * max(1.0, abs(high)) or violation == 0.0:
            break
    return min(found, whole)


@compiled
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


@compiled
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


@compiled
def group_gaps(features, offsets, starts, weights, x_hat, beta, center, radius):
    """Return the largest gaps within groups of actions, shape (n, N), by supports of differences.

    The features (n, N, D) are given in coordinates in which G is diagonal. Both sets bound a
    support from above; pairs whose bound is below what another pair reaches are left out.
    """
    n, count, dim = features.shape
    gaps = np.empty((n, count))
    c, point = np.empty(dim), np.empty(dim)
    for row in range(n):
        phi, w, x, mid = features[row], weights[row], x_hat[row], center[row]
        for z in range(len(starts) - 1):
            start, end = starts[z], starts[z + 1]
            above = np.empty(end - start)
            for a in range(start, end):
                for b in range(start, end):
                    reach, length, at_x, at_mid = 0.0, 0.0, 0.0, 0.0
                    for j in range(dim):
                        off = phi[b, j] - phi[a, j]
                        reach += off * off / w[j]
                        length += off * off
                        at_x += off * x[j]
                        at_mid += off * mid[j]
                    both = min(at_x + np.sqrt(beta[row] * reach), at_mid + radius * np.sqrt(length))
                    above[b - start] = both + offsets[b] - offsets[a]
                above[a - start] = 0.0
                best = 0.0
                while True:
                    b = start + above.argmax()
                    if above[b - start] <= best:
                        break
                    for j in range(dim):
                        c[j] = phi[b, j] - phi[a, j]
                    value = support(c, w, x, beta[row], mid, radius, point)
                    best = max(best, value + offsets[b] - offsets[a])
                    above[b - start] = 0.0
                gaps[row, a] = best
    return gaps

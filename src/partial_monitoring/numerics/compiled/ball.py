"""Support function of an ellipsoid cut by a ball, by a one-dimensional dual, for one replicate.

Every mu >= 0 gives an ellipsoid |x - x_hat|_G^2 + mu |x - center|^2 <= beta + mu radius^2 that
contains the intersection, so its support function is an upper bound; the least of them is exact
(Lagrange duality). There its maximiser lies on both boundaries, and on either side it violates one
of the two: a root to be found. With S = G^-1, B = I + mu S, a = center - x_hat, z = B^-1 a and
y = B^-1 S c the maximiser is x = center - z + s y, where

    s^2 = (beta + mu radius^2 - mu <a, z>) / <c, y>,
    |x - x_hat|_G^2 = beta - mu (|x - center|^2 - radius^2).

Coordinates are those in which S is tridiagonal (see ``symmetric``), so each mu takes O(D). What
belongs to a replicate and to a direction is kept in the rows of an array (13, D).
"""

from __future__ import annotations

import math

import numpy as np

from partial_monitoring.numerics.compiled.bodies import (
    FEATURES,
    LENGTH,
    MEANS,
    REACH,
    TOWARD,
    UPPER,
    fill_means,
    keep_rivals,
    most,
    numbered,
    relax,
)
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.symmetric import tridiagonalize, turn, turn_back

INSIDE = 1e-12
"""A point this little outside, relatively, counts as inside."""

CLOSE = 1e-7
"""How close, relatively, a multiplier must be if only the value is asked for,"""

CLOSEST = 1e-13
"""and if the maximiser is."""

SINGULAR = 2.0**-52
"""A pivot below this fraction of its entry is rounding."""

STEPS = 200

DIAGONAL, BESIDE, LOWER, INVERTED, AWAY, C, PULLED, POINT, BELOW, SHARES, Y, Z, W = numbered(13)
"""The rows of a replicate: T, its factors L and 1 / pivots (T = L diag(pivots) L'), and a;
of a direction: c, S c, and the maximiser minus the centre of the ball;
of a multiplier: the factors of B, y, z, and scratch."""


@compiled(allocates=False)
def factor(mu, shift, rows, lower, inverted):
    """Factor shift I + mu T = L diag(pivots) L' into rows: L below its diagonal, and 1 / pivots."""
    drop = 0.0
    for j in range(rows.shape[1]):
        entry = shift + mu * rows[DIAGONAL, j]
        least = max(SINGULAR * entry, shift)  # no pivot is below the least eigenvalue
        rows[inverted, j] = 1.0 / max(entry - drop, least)
        beside = mu * rows[BESIDE, j]
        rows[lower, j] = beside * rows[inverted, j]
        drop = beside * rows[lower, j]


@compiled(allocates=False)
def solve(rows, x):
    """Replace a row x by the solution of B y = x."""
    size = rows.shape[1]
    entry = 0.0
    for j in range(size):
        entry = rows[x, j] - (rows[BELOW, j - 1] * entry if j > 0 else 0.0)
        rows[x, j] = entry
    entry = 0.0
    for j in range(size - 1, -1, -1):
        entry = rows[x, j] * rows[SHARES, j] - rows[BELOW, j] * entry
        rows[x, j] = entry


@compiled(allocates=False)
def pull(rows, x, y):
    """Fill a row y with T x."""
    size, before = rows.shape[1], 0.0
    for j in range(size):
        after = rows[BESIDE, j] * rows[x, j + 1] if j + 1 < size else 0.0
        rows[y, j] = before + rows[DIAGONAL, j] * rows[x, j] + after
        before = rows[BESIDE, j] * rows[x, j]


@compiled(allocates=False)
def product(rows, x, y):
    """Return <x, T y> of two rows."""
    total, before = 0.0, 0.0
    for j in range(rows.shape[1]):
        total += rows[x, j] * (before + rows[DIAGONAL, j] * rows[y, j])
        total += rows[y, j] * (rows[BESIDE, j - 1] * rows[x, j - 1]) if j > 0 else 0.0
        before = rows[BESIDE, j] * rows[y, j]
    return total


@compiled(allocates=False)
def bound(mu, beta, radius, rows):
    """Return the support value of the ellipsoid for mu, above the estimate, and its place.

    That is how the point where it is attained, which is filled in, violates the two sets,
    |x - center|^2 / radius^2 - |x - x_hat|_G^2 / beta (positive if the ball is the set that is left
    further), and the derivative of that.
    """
    size = rows.shape[1]
    if mu > 0.0:
        factor(mu, 1.0, rows, BELOW, SHARES)
    for j in range(size):
        rows[Y, j] = rows[PULLED, j]
        rows[Z, j] = rows[AWAY, j]
    if mu > 0.0:
        solve(rows, Y)
        solve(rows, Z)
    inner, reach, gain, yy, zz = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(size):
        y, z = rows[Y, j], rows[Z, j]
        inner += rows[AWAY, j] * z
        reach += rows[C, j] * y
        gain += rows[PULLED, j] * z
        yy += y * y
        zz += z * z
    squared = radius * radius
    room = max(beta + mu * (squared - inner), 0.0)
    both = room * reach
    share = 1.0 / both if both > 0.0 else 0.0
    step = room * math.sqrt(share)
    from_center, across = 0.0, 0.0
    for j in range(size):
        entry = step * rows[Y, j] - rows[Z, j]
        rows[POINT, j] = entry
        rows[W, j] = entry
        from_center += entry * entry
        across += entry * rows[Y, j]
    if mu > 0.0:
        solve(rows, W)
    # d/dmu |x - center|^2 = 2 ds/dmu <x - center, y> - 2 <x - center, S B^-1 (x - center)>
    faster = 0.5 * step * ((squared - zz) * reach + yy * room) * share
    change = 2.0 * (faster * across - product(rows, W, POINT))
    over, scale = from_center - squared, 1.0 / squared + mu / beta
    if not reach > 0.0:
        over = 0.0  # without a direction any point will do
    return mu * gain + step * reach, over * scale, change * scale + over / beta


@compiled(allocates=False)
def top_of_ball(beta, radius, rows):
    """Return the support value of the ball, above the estimate, and |x - x_hat|_G^2 / beta there.

    Fills the point. The distance is computed with the factors of T.
    """
    size = rows.shape[1]
    length, ahead = 0.0, 0.0
    for j in range(size):
        length += rows[C, j] * rows[C, j]
        ahead += rows[C, j] * rows[AWAY, j]
    length = math.sqrt(length)
    outside, entry = 0.0, 0.0
    for j in range(size):
        rows[POINT, j] = radius / length * rows[C, j]
        entry = rows[POINT, j] + rows[AWAY, j] - (rows[LOWER, j - 1] * entry if j > 0 else 0.0)
        outside += entry * entry * rows[INVERTED, j]
    return ahead + radius * length, outside / beta


@compiled(inline="always", allocates=False)
def support(beta, radius, floor, close, rows):
    """Return max <c, x - x_hat> over both sets in the direction c of the rows.

    Fills the maximiser. If the maximum turns out to be at most ``floor``, it is only bounded from
    above by a number that is not larger. ``close`` is how close, relatively, mu must be: the
    maximiser is as close, the value, which is a least one, to the square of that.
    """
    best, low, high, mu, end = np.inf, 0.0, np.inf, 0.0, 0.0
    for trial in range(STEPS):
        value, violation, slope = bound(mu, beta, radius, rows)
        best = min(best, value)
        # The first is the highest point of the ellipsoid, and may be in the ball.
        if best <= floor or (trial == 0 and violation <= INSIDE):
            break
        if trial == 0:
            value, outside = top_of_ball(beta, radius, rows)
            best = min(best, value)
            if best <= floor or outside <= 1.0 + INSIDE:
                break
            end = 1.0 - outside
        if violation > 0.0:
            low = mu
        else:
            high = mu
        # The violation is nearly end + K / (L + mu), where end < 0 is that of the whole ball.
        step = violation * (violation - end) / (end * slope) if slope < 0.0 else np.inf
        if abs(step) <= close * mu or high <= low * (1.0 + 1e-15):
            break
        mu += step
        if not (mu > low and mu < high):
            if high < np.inf:
                mu = math.sqrt(max(low, 1e-6 * high) * high)
            else:
                mu = max(8.0 * low, beta / (radius * radius))
    return best


@compiled(allocates=False)
def face(middle, inverse, regularization, x, reflectors, rows):
    """Turn to the coordinates of a replicate: S = diag(inverse, I / regularization), x = x_hat."""
    size, dim = len(inverse), len(x)
    tridiagonalize(inverse, reflectors, rows[DIAGONAL], rows[BESIDE], rows[W])
    for j in range(size, dim):
        rows[DIAGONAL, j] = 1.0 / regularization
        rows[BESIDE, j] = 0.0
    for j in range(dim):
        rows[AWAY, j] = middle[j] - x[j]
    turn(reflectors, rows[AWAY])
    factor(1.0, 0.0, rows, LOWER, INVERTED)


@compiled(allocates=False)
def bring(slopes, reflectors, rows, columns):
    """Fill the features (k, D) in the coordinates of a replicate, S times them, and <phi, a>."""
    count, dim = slopes.shape
    for b in range(count):
        for j in range(dim):
            rows[C, j] = slopes[b, j]
        turn(reflectors, rows[C])
        pull(rows, C, PULLED)
        toward = 0.0
        for j in range(dim):
            columns[FEATURES + j, b] = rows[C, j]
            columns[FEATURES + dim + j, b] = rows[PULLED, j]
            toward += rows[C, j] * rows[AWAY, j]
        columns[TOWARD, b] = toward


@compiled(allocates=False)
def bound_pairs(beta, radius, a, start, end, dim, columns):
    """Fill upper bounds of how far actions of a group may be ahead of a, from both bodies."""
    for b in range(start, end):
        columns[REACH, b] = 0.0
        columns[LENGTH, b] = 0.0
    for j in range(FEATURES, FEATURES + dim):
        own, pulled = columns[j, a], columns[dim + j, a]
        for b in range(start, end):
            c = columns[j, b] - own
            columns[REACH, b] += c * (columns[dim + j, b] - pulled)
            columns[LENGTH, b] += c * c
    mean, toward = columns[MEANS, a], columns[TOWARD, a]
    for b in range(start, end):
        narrow = math.sqrt(beta * max(columns[REACH, b], 0.0))
        wide = columns[TOWARD, b] - toward + radius * math.sqrt(columns[LENGTH, b])
        columns[UPPER, b] = columns[MEANS, b] - mean + min(narrow, wide)


@compiled(inline="always", allocates=False)
def project(cut, inverse, regularization, scratch, x):
    """Replace x (D,) by the nearest point of the ball in the norm of G.

    x - center = B^-1 (x_hat - center) with mu >= 0 such that it has length radius; Newton's method
    on minus one over the length climbs from mu = 0 to the root.
    """
    rows, middle, radius, dim = scratch.lines, cut.center, cut.radius, len(x)
    far = 0.0
    for j in range(dim):
        far += (x[j] - middle[j]) ** 2
    if far <= radius * radius:
        return True
    face(middle, inverse, regularization, x, scratch.root, rows)
    mu, last, length = 0.0, False, 0.0
    for _ in range(100):
        factor(mu, 1.0, rows, BELOW, SHARES)
        for j in range(dim):
            rows[Z, j] = -rows[AWAY, j]
        solve(rows, Z)
        length = 0.0
        for j in range(dim):
            rows[W, j] = rows[Z, j]
            length += rows[Z, j] * rows[Z, j]
        if last:
            break
        solve(rows, W)
        step = length / product(rows, W, Z) * (math.sqrt(length) / radius - 1.0)
        mu += step
        last = not step > CLOSE * mu
    turn_back(scratch.root, rows[Z])
    scale = radius / math.sqrt(length)
    for j in range(dim):
        x[j] = middle[j] + scale * rows[Z, j]
    return True


@compiled(allocates=False)
def aim(a, b, rows, columns):
    """Set the direction of the rows to that from action a to action b."""
    dim = rows.shape[1]
    for j in range(dim):
        rows[C, j] = columns[FEATURES + j, b] - columns[FEATURES + j, a]
        rows[PULLED, j] = columns[FEATURES + dim + j, b] - columns[FEATURES + dim + j, a]


@compiled(inline="always", allocates=False)
def gaps(cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out):
    """Fill exact or relaxed gaps within groups, by supports of differences; they are all proven.

    Both bodies bound a support from above; pairs whose bound is below what another pair reaches are
    left out.
    """
    rows, columns, radius, dim = scratch.lines, scratch.columns, cut.radius, len(x)
    size = max(beta, 1e-300)
    face(cut.center, inverse, regularization, x, scratch.root, rows)
    fill_means(x, slopes, offsets, columns)
    bring(slopes, scratch.root, rows, columns)
    for group in range(len(groups) - 1):
        start, end = groups[group], groups[group + 1]
        g = most(columns, MEANS, start, end)
        for a in range(start, end):
            bound_pairs(size, radius, a, start, end, dim, columns)
            keep_rivals(a, g, relaxed, start, end, columns)
            best = 0.0
            while True:
                b = most(columns, UPPER, start, end)
                if columns[UPPER, b] <= best:
                    break
                aim(a, b, rows, columns)
                ahead = columns[MEANS, b] - columns[MEANS, a]
                best = max(best, ahead + support(size, radius, best - ahead, CLOSE, rows))
                columns[UPPER, b] = 0.0
            out[a] = best
        if relaxed:
            relax(g, start, end, out)
    return True


@compiled
def gaps_of_each(
    cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out
):
    """Fill the gaps of n replicates, one after the other; which (n,) are not proven."""
    missed = np.empty(len(x), np.bool_)
    for i in range(len(x)):
        missed[i] = not gaps(
            cut,
            relaxed,
            inverse[i],
            regularization,
            x[i],
            beta[i],
            slopes,
            offsets,
            groups,
            scratch,
            out[i],
        )
    return missed


@compiled
def project_each(cut, inverse, regularization, scratch, x):
    """Project the points (n, D) of n replicates, in place; which (n,) were not found."""
    missed = np.empty(len(x), np.bool_)
    for i in range(len(x)):
        missed[i] = not project(cut, inverse[i], regularization, scratch, x[i])
    return missed


@compiled(allocates=False)
def highest(cut, x, beta, direction, scratch, point):
    """Return max <direction, y - x> over both sets, and fill the maximiser (D,), after ``face``."""
    rows = scratch.lines
    for j in range(len(x)):
        rows[C, j] = direction[j]
    turn(scratch.root, rows[C])
    pull(rows, C, PULLED)
    value = support(max(beta, 1e-300), cut.radius, -np.inf, CLOSEST, rows)
    turn_back(scratch.root, rows[POINT])
    for j in range(len(x)):
        point[j] = cut.center[j] + rows[POINT, j]
    return value


@compiled
def supports_of_each(cut, inverse, regularization, x, beta, directions, scratch):
    """Return support values (n, q), which are not proven, and maximisers (n, q, D)."""
    n, (q, dim) = len(x), directions.shape
    values, points, missed = np.empty((n, q)), np.empty((n, q, dim)), np.empty((n, q), np.bool_)
    for i in range(n):
        face(cut.center, inverse[i], regularization, x[i], scratch.root, scratch.lines)
        for t in range(q):
            value = highest(cut, x[i], beta[i], directions[t], scratch, points[i, t])
            for j in range(dim):
                value += directions[t, j] * x[i, j]
            values[i, t], missed[i, t] = value, False
    return values, missed, points

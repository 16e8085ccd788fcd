"""Support functions and projections on polyhedra cut by an ellipsoid, along one parametric path.

In whitened coordinates z (the ellipsoid is |z|^2 <= beta, its centre 0 is feasible) a polyhedron is
P = {z : N z <= s} with s >= 0. Follow z(u) = the point of P nearest to u c, from z(0) = 0:

* it maximises <c, z> over P and the ball through z(u), so where |z(u)|^2 = beta it maximises <c, z>
  over P and the ellipsoid; and z(1) is the projection of the point c onto P;
* while the rows W are active, z(u) = u p + q with p the part of c orthogonal to N_W and q the
  shortest point of the active faces; the multipliers are mu(u) = u alpha - kappa with
  (N_W N_W') alpha = N_W c and (N_W N_W') kappa = s_W. Since <p, q> = 0, the squared length of z(u)
  is u^2 |p|^2 + |q|^2;
* the next event is a row that becomes active or a multiplier that becomes zero.

Any multipliers mu >= 0 bound the maximum from above by <s, mu> + beta^(1/2) |c - N' mu|. This bound
is computed from the final multipliers: an answer is exact if it agrees with the value, and
otherwise the bound itself is returned, which is too large rather than too small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.validation import Array

CERTIFIED = 1e-9
"""Largest relative gap between value and bound that still counts as exact."""


@compiled(inline="always")
def solve_in_place(matrix, size, first, second):
    """Solve matrix x = first, second by Cholesky's method; the lower part is overwritten."""
    for j in range(size):
        pivot = matrix[j, j]
        for i in range(j):
            pivot -= matrix[j, i] * matrix[j, i]
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        matrix[j, j] = root
        for i in range(j + 1, size):
            entry = matrix[i, j]
            for h in range(j):
                entry -= matrix[i, h] * matrix[j, h]
            matrix[i, j] = entry / root
    for j in range(size):
        for h in range(j):
            first[j] -= matrix[j, h] * first[h]
            second[j] -= matrix[j, h] * second[h]
        first[j] /= matrix[j, j]
        second[j] /= matrix[j, j]
    for j in range(size - 1, -1, -1):
        for h in range(j + 1, size):
            first[j] -= matrix[h, j] * first[h]
            second[j] -= matrix[h, j] * second[h]
        first[j] /= matrix[j, j]
        second[j] /= matrix[j, j]
    return True


@compiled
def squares(x):
    """Return |x|^2."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * x[j]
    return total


@compiled
def product(rows, i, x):
    """Return the product of row i with a vector."""
    total = 0.0
    for j in range(len(x)):
        total += rows[i, j] * x[j]
    return total


@compiled
def ray_path(c, rows, slack, reach, last, z, multipliers):
    """Follow the path until |z|^2 = reach or u = last; fill z (D,) and multipliers (n,).

    Returns (u, finished). With u infinite the path ended at a maximiser over all of P, and the
    multipliers are those of that linear program (for direction c); otherwise they belong to u c.
    """
    n, dim = rows.shape
    active = np.empty(dim + 1, np.int64)
    is_active = np.empty(n, np.bool_)
    gram = np.empty((dim + 1, dim + 1))
    work = np.empty((dim + 1, dim + 1))
    alpha = np.empty(dim + 1)
    kappa = np.empty(dim + 1)
    p = np.empty(dim)
    q = np.empty(dim)
    is_active[:] = False
    z[:] = 0.0
    multipliers[:] = 0.0
    size = 0
    u = 0.0
    length = np.sqrt(squares(c))
    for _ in range(20 * (n + dim) + 50):
        for j in range(dim):
            p[j] = c[j]
            q[j] = 0.0
        for i in range(size):
            alpha[i] = product(rows, active[i], c)
            kappa[i] = slack[active[i]]
            for h in range(i + 1):
                work[i, h] = gram[i, h]
        if size > 0:
            if not solve_in_place(work, size, alpha, kappa):
                break
            for i in range(size):
                for j in range(dim):
                    p[j] -= alpha[i] * rows[active[i], j]
                    q[j] += kappa[i] * rows[active[i], j]
        moving, fixed = squares(p), squares(q)
        still = size >= dim or np.sqrt(moving) <= 1e-12 * length
        end = np.inf
        if not still and reach > fixed:
            end = np.sqrt((reach - fixed) / moving)
        elif not still:
            end = u
        if last < end:
            end = last
        step = np.inf
        event = np.int64(-1)  # not the literal -1, which would be another type
        if not still:
            speed_limit = 1e-12 * np.sqrt(moving)
            for i in range(n):
                if is_active[i]:
                    continue
                speed = 0.0
                place = 0.0
                for j in range(dim):
                    speed += rows[i, j] * p[j]
                    place += rows[i, j] * q[j]
                if speed > speed_limit:
                    at = (slack[i] - place) / speed
                    if at < step:
                        step = at
                        event = i
        for i in range(size):
            if alpha[i] * np.sqrt(gram[i, i]) < -1e-12 * length:
                at = kappa[i] / alpha[i]
                if at < step:
                    step = at
                    event = -2 - i
        step = max(step, u)
        if end <= step or event == -1:
            scale = u if end == np.inf else end
            for j in range(dim):
                z[j] = q[j] if still else scale * p[j] + q[j]
            for i in range(size):
                weight = alpha[i] if end == np.inf else end * alpha[i] - kappa[i]
                multipliers[active[i]] = max(weight, 0.0)
            return end, True
        u = step
        if event >= 0:
            active[size] = event
            for i in range(size + 1):
                dot = product(rows, event, rows[active[i]])
                gram[size, i] = dot
                gram[i, size] = dot
            is_active[event] = True
            size += 1
        else:
            gone = -2 - event
            is_active[active[gone]] = False
            for i in range(gone, size - 1):
                active[i] = active[i + 1]
            for i in range(size - 1):
                for h in range(size - 1):
                    gram[i, h] = gram[i + (i >= gone), h + (h >= gone)]
            size -= 1
    return 0.0, False


@compiled(inline="always")
def support(c, rows, slack, beta, z, multipliers):
    """Return (value, certified) of max <c, z> over N z <= s, |z|^2 <= beta; fill the maximiser.

    If not certified the value is an upper bound.
    """
    n, dim = rows.shape
    u, finished = ray_path(c, rows, slack, beta, np.inf, z, multipliers)
    scale = 1.0 if u == np.inf or not finished else 1.0 / max(u, 1e-300)
    value = 0.0
    bound = 0.0
    rest = 0.0
    over = squares(z) - beta
    for j in range(dim):
        value += c[j] * z[j]
        entry = c[j]
        for i in range(n):
            if multipliers[i] > 0.0:
                entry -= multipliers[i] * scale * rows[i, j]
        rest += entry * entry
    for i in range(n):
        bound += slack[i] * multipliers[i] * scale
        if finished:
            over = max(over, product(rows, i, z) - slack[i])
    bound += np.sqrt(beta * rest)
    plain = np.sqrt(beta * squares(c))
    bound = min(bound, plain)
    tolerance = CERTIFIED * max(plain, 1e-300)
    if finished and bound - value <= tolerance and over <= CERTIFIED * (1.0 + beta):
        return value, True
    return bound, False


@compiled
def whiten(inverse, regularization, dim):
    """Return F with F F' = diag(inverse, I / regularization), lower triangular, shape (D, D)."""
    r = inverse.shape[0]
    root = np.empty((dim, dim))
    root[:] = 0.0
    for j in range(r):
        pivot = inverse[j, j]
        for h in range(j):
            pivot -= root[j, h] * root[j, h]
        # A pivot below the rounding of the inverse is not known to be smaller than that.
        root[j, j] = np.sqrt(max(pivot, 2.0**-52 * inverse[j, j]))
        for i in range(j + 1, r):
            entry = inverse[i, j]
            for h in range(j):
                entry -= root[i, h] * root[j, h]
            root[i, j] = entry / root[j, j]
    for j in range(r, dim):
        root[j, j] = 1.0 / np.sqrt(regularization)
    return root


@compiled
def into_whitened(rows, root):
    """Return rows @ root for a lower triangular root, shape (n, D)."""
    n, dim = rows.shape
    result = np.empty((n, dim))
    result[:] = 0.0
    for i in range(n):
        for h in range(dim):
            entry = rows[i, h]
            if entry != 0.0:
                for j in range(h + 1):
                    result[i, j] += entry * root[h, j]
    return result


def centers(
    inverse: Array,
    x_hat: Array,
    regularization: float,
    facets: Array,
    bounds: Array,
    interior: Array,
) -> tuple[Array, NDArray[np.bool_]]:
    """Project estimates (n, D) onto {x : facets x <= bounds} in their own norms.

    Returns the projections and whether each was found. While all are inside, nothing is compiled
    but the question whether they are.
    """
    if is_inside(x_hat, facets, bounds):
        return x_hat.copy(), np.ones(len(x_hat), np.bool_)
    found = project(inverse, x_hat, regularization, facets, bounds, interior)
    return found[0], found[1]


@compiled
def is_inside(x, facets, bounds):
    """Whether no point (n, D) violates a facet."""
    for row in range(len(x)):
        for i in range(len(bounds)):
            if product(facets, i, x[row]) > bounds[i]:
                return False
    return True


@compiled
def project(inverse, x_hat, regularization, facets, bounds, interior):
    """Project the estimates that are outside.

    The projection of a point is the end at u = 1 of the path that starts at an interior point and
    heads for it.
    """
    n, dim = x_hat.shape
    count = len(bounds)
    result = x_hat.copy()
    done = np.empty(n, np.bool_)
    z = np.empty(dim)
    multipliers = np.empty(count)
    direction = np.empty(dim)
    room = np.empty(count)
    for i in range(count):
        room[i] = bounds[i]
        for j in range(dim):
            room[i] -= facets[i, j] * interior[j]
    for row in range(n):
        done[row] = True
        if is_inside(x_hat[row : row + 1], facets, bounds):
            continue
        root = whiten(inverse[row], regularization, dim)
        rows = into_whitened(facets, root)
        for j in range(dim):  # direction = root^-1 (x_hat - interior), by forward substitution
            entry = x_hat[row, j] - interior[j]
            for h in range(j):
                entry -= root[j, h] * direction[h]
            direction[j] = entry / root[j, j]
        _, done[row] = ray_path(direction, rows, room, np.inf, 1.0, z, multipliers)
        # A far point is replaced by a near one on the ray from the answer, which projects alike.
        for _ in range(2):
            far, near = 0.0, 1.0
            for j in range(dim):
                far = max(far, abs(direction[j] - z[j]))
                near = max(near, abs(z[j]))
            if not done[row] or far <= 10.0 * near:
                break
            for j in range(dim):
                direction[j] = z[j] + (direction[j] - z[j]) * (near / far)
            _, done[row] = ray_path(direction, rows, room, np.inf, 1.0, z, multipliers)
        for j in range(dim):
            result[row, j] = interior[j]
            for h in range(j + 1):
                result[row, j] += root[j, h] * z[h]
    return result, done


@compiled
def room_at(x, facets, bounds, slack):
    """Fill slack (n,) with the room bounds - facets x, not below zero."""
    for i in range(len(bounds)):
        slack[i] = max(bounds[i] - product(facets, i, x), 0.0)


@compiled
def pair_supports(inverse, x, beta, regularization, directions, facets, bounds):
    """Return support values (n, q), certificates and maximisers of directions (q, D)."""
    n, dim = x.shape
    count = len(bounds)
    values = np.empty((n, len(directions)))
    certified = np.empty((n, len(directions)), np.bool_)
    points = np.empty((n, len(directions), dim))
    z = np.empty(dim)
    multipliers = np.empty(count)
    slack = np.empty(count)
    for row in range(n):
        root = whiten(inverse[row], regularization, dim)
        rows = into_whitened(facets, root)
        whitened = into_whitened(directions, root)
        room_at(x[row], facets, bounds, slack)
        for t in range(len(directions)):
            value, certified[row, t] = support(whitened[t], rows, slack, beta[row], z, multipliers)
            for j in range(dim):
                value += directions[t, j] * x[row, j]
                points[row, t, j] = x[row, j]
                for h in range(j + 1):
                    points[row, t, j] += root[j, h] * z[h]
            values[row, t] = value
    return values, certified, points


@compiled
def exact_gaps(inverse, x, beta, regularization, slopes, offsets, facets, bounds, ceiling):
    """Return max over b of the support of phi_b - phi_a for every action, shape (n, k).

    A second array (n,) says where all of them are exact; elsewhere some are bounds from above.
    Competitors are tried in the order of an upper bound (the whole ellipsoid, or the whole set
    Theta, ``ceiling`` (k, k)), until no other can be larger.
    """
    n, dim = x.shape
    k = len(slopes)
    count = len(bounds)
    gaps = np.empty((n, k))
    certified = np.empty(n, np.bool_)
    z = np.empty(dim)
    multipliers = np.empty(count)
    slack = np.empty(count)
    means = np.empty(k)
    upper = np.empty(k)
    c = np.empty(dim)
    for row in range(n):
        certified[row] = True
        root = whiten(inverse[row], regularization, dim)
        rows = into_whitened(facets, root)
        whitened = into_whitened(slopes, root)
        room_at(x[row], facets, bounds, slack)
        for a in range(k):
            means[a] = offsets[a]
            for j in range(dim):
                means[a] += slopes[a, j] * x[row, j]
        for a in range(k):
            for b in range(k):
                length = 0.0
                for j in range(dim):
                    away = whitened[b, j] - whitened[a, j]
                    length += away * away
                wide = means[b] - means[a] + np.sqrt(beta[row] * length)
                upper[b] = min(wide, ceiling[a, b])
            upper[a] = 0.0
            best = 0.0
            while True:
                b = 0
                for other in range(1, k):
                    if upper[other] > upper[b]:
                        b = other
                if upper[b] <= best:
                    break
                for j in range(dim):
                    c[j] = whitened[b, j] - whitened[a, j]
                value, proven = support(c, rows, slack, beta[row], z, multipliers)
                certified[row] = certified[row] and proven
                best = max(best, min(value + means[b] - means[a], upper[b]))
                upper[b] = 0.0
            gaps[row, a] = best
    return gaps, certified

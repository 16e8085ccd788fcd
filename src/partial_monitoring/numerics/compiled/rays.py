"""The path of the point of a polyhedron nearest to a point that moves along a ray.

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

from partial_monitoring.numerics.compiled.just_in_time import compiled

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

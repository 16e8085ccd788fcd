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

import math

import numpy as np

from partial_monitoring.numerics.compiled.bodies import numbered
from partial_monitoring.numerics.compiled.just_in_time import compiled

SLACK, MULTIPLIERS = numbered(2)
"""The rows of the sides: s and mu."""

Z, C, P, Q = numbered(4)
"""The lines: the point, the direction of the ray, and p and q of the path."""

CERTIFIED = 1e-9
"""Largest relative gap between value and bound that still counts as exact."""


@compiled(inline="always", allocates=False)
def solve_in_place(square, size, work, first, second):
    """Solve a system of equations for two right-hand sides by Cholesky's method, in place.

    All are rows of ``square``: the matrix from row ``work`` on (its lower part is used), the sides
    in rows ``first`` and ``second``.
    """
    for j in range(size):
        pivot = square[work + j, j]
        for i in range(j):
            pivot -= square[work + j, i] * square[work + j, i]
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        square[work + j, j] = root
        for i in range(j + 1, size):
            entry = square[work + i, j]
            for h in range(j):
                entry -= square[work + i, h] * square[work + j, h]
            square[work + i, j] = entry / root
    for j in range(size):
        for h in range(j):
            square[first, j] -= square[work + j, h] * square[first, h]
            square[second, j] -= square[work + j, h] * square[second, h]
        square[first, j] /= square[work + j, j]
        square[second, j] /= square[work + j, j]
    for j in range(size - 1, -1, -1):
        for h in range(j + 1, size):
            square[first, j] -= square[work + h, j] * square[first, h]
            square[second, j] -= square[work + h, j] * square[second, h]
        square[first, j] /= square[work + j, j]
        square[second, j] /= square[work + j, j]
    return True


@compiled(allocates=False)
def squares(lines, x):
    """Return |x|^2 of a line."""
    total = 0.0
    for j in range(lines.shape[1]):
        total += lines[x, j] * lines[x, j]
    return total


@compiled(allocates=False)
def product(rows, i, lines, x):
    """Return the product of row i with a line."""
    total = 0.0
    for j in range(rows.shape[1]):
        total += rows[i, j] * lines[x, j]
    return total


@compiled(allocates=False)
def ray_path(reach, last, rows, sides, lines, square, active):
    """Follow the path until |z|^2 = reach or u = last; fill the line Z and the multipliers.

    Returns (u, finished). With u infinite the path ended at a maximiser over all of P, and the
    multipliers are those of that linear program (for direction c); otherwise they belong to u c.

    Given are the facets N as rows (n, D), s in the row SLACK of the sides (2, n), and the direction
    in the line C of the lines (4, D). ``square`` (2 D + 4, D + 1) and ``active`` (D + 1 + n,) are
    scratch: the Gram matrix of the active rows, a copy to be factored, alpha and kappa; the active
    rows, then whether each row is active.
    """
    n, dim = rows.shape
    work, alpha, kappa, flags = dim + 1, 2 * dim + 2, 2 * dim + 3, dim + 1
    for i in range(n):
        active[flags + i] = 0
        sides[MULTIPLIERS, i] = 0.0
    for j in range(dim):
        lines[Z, j] = 0.0
    size = 0
    u = 0.0
    length = math.sqrt(squares(lines, C))
    for _ in range(20 * (n + dim) + 50):
        for j in range(dim):
            lines[P, j] = lines[C, j]
            lines[Q, j] = 0.0
        for i in range(size):
            square[alpha, i] = product(rows, active[i], lines, C)
            square[kappa, i] = sides[SLACK, active[i]]
            for h in range(i + 1):
                square[work + i, h] = square[i, h]
        if size > 0:
            if not solve_in_place(square, size, work, alpha, kappa):
                break
            for i in range(size):
                for j in range(dim):
                    lines[P, j] -= square[alpha, i] * rows[active[i], j]
                    lines[Q, j] += square[kappa, i] * rows[active[i], j]
        moving, fixed = squares(lines, P), squares(lines, Q)
        still = size >= dim or math.sqrt(moving) <= 1e-12 * length
        end = np.inf
        if not still and reach > fixed:
            end = math.sqrt((reach - fixed) / moving)
        elif not still:
            end = u
        if last < end:
            end = last
        step = np.inf
        event = np.int64(-1)  # not the literal -1, which would be another type
        if not still:
            speed_limit = 1e-12 * math.sqrt(moving)
            for i in range(n):
                if active[flags + i]:
                    continue
                speed = 0.0
                place = 0.0
                for j in range(dim):
                    speed += rows[i, j] * lines[P, j]
                    place += rows[i, j] * lines[Q, j]
                if speed > speed_limit:
                    at = (sides[SLACK, i] - place) / speed
                    if at < step:
                        step = at
                        event = i
        for i in range(size):
            if square[alpha, i] * math.sqrt(square[i, i]) < -1e-12 * length:
                at = square[kappa, i] / square[alpha, i]
                if at < step:
                    step = at
                    event = -2 - i
        step = max(step, u)
        if end <= step or event == -1:
            scale = u if end == np.inf else end
            for j in range(dim):
                lines[Z, j] = lines[Q, j] if still else scale * lines[P, j] + lines[Q, j]
            for i in range(size):
                weight = square[alpha, i]
                if end != np.inf:
                    weight = end * weight - square[kappa, i]
                sides[MULTIPLIERS, active[i]] = max(weight, 0.0)
            return end, True
        u = step
        if event >= 0:
            active[size] = event
            for i in range(size + 1):
                dot = 0.0
                for j in range(dim):
                    dot += rows[event, j] * rows[active[i], j]
                square[size, i] = dot
                square[i, size] = dot
            active[flags + event] = 1
            size += 1
        else:
            gone = -2 - event
            active[flags + active[gone]] = 0
            for i in range(gone, size - 1):
                active[i] = active[i + 1]
            for i in range(size - 1):
                for h in range(size - 1):
                    square[i, h] = square[i + (i >= gone), h + (h >= gone)]
            size -= 1
    return 0.0, False


@compiled(inline="always", allocates=False)
def support(beta, rows, sides, lines, square, active):
    """Return (value, certified) of max <c, z> over N z <= s, |z|^2 <= beta; fill the maximiser.

    If not certified the value is an upper bound. The arguments are those of :func:`ray_path`.
    """
    n, dim = rows.shape
    u, finished = ray_path(beta, np.inf, rows, sides, lines, square, active)
    scale = 1.0 if u == np.inf or not finished else 1.0 / max(u, 1e-300)
    value = 0.0
    bound = 0.0
    rest = 0.0
    over = squares(lines, Z) - beta
    for j in range(dim):
        value += lines[C, j] * lines[Z, j]
        entry = lines[C, j]
        for i in range(n):
            if sides[MULTIPLIERS, i] > 0.0:
                entry -= sides[MULTIPLIERS, i] * scale * rows[i, j]
        rest += entry * entry
    for i in range(n):
        bound += sides[SLACK, i] * sides[MULTIPLIERS, i] * scale
        if finished:
            over = max(over, product(rows, i, lines, Z) - sides[SLACK, i])
    bound += math.sqrt(beta * rest)
    plain = math.sqrt(beta * squares(lines, C))
    bound = min(bound, plain)
    tolerance = CERTIFIED * max(plain, 1e-300)
    if finished and bound - value <= tolerance and over <= CERTIFIED * (1.0 + beta):
        return value, True
    return bound, False

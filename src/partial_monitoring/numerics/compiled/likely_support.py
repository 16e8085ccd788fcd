"""Sets of likely distributions: supports and gaps, proven by duality, for all replicates.

E = {theta in the simplex : l(theta) - l(theta_hat) >= -room} for the log-likelihood l of rows g_j
that were seen c_j > 0 times, measured from an estimate theta_hat.

The maximum of <c, theta> over E is found by a primal-dual interior-point method. For any theta > 0
and any mu >= 0 it is at most

    max_x (c + mu grad l(theta))_x + mu (l(theta) - l(theta_hat) + room - sum_j c_j),

because l lies below its tangent at theta. What is returned is the least bound of this kind that was
met, so that it is never below the maximum; it is certified if a point of E comes near.
"""

from __future__ import annotations

import math

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.likelihood import (
    HALVINGS,
    STEPS,
    ahead,
    chances,
    expand,
    largest,
    move,
    seen_rows,
    solve_step,
)
from partial_monitoring.numerics.compiled.linear import FAST, inner

CERTIFIED = 1e-9
"""Largest distance between a bound and the value at a point of E, relative to the bound."""

AIM = 1e-10
"""The distance at which the search ends."""

SHRINK = 0.1
"""What is left of the barrier after the first step."""

SHRINK_FASTER = 1e-3
"""What is left after several that need not be shortened."""


@compiled(fastmath=FAST)
def residual(aim, rows, counts, point, p, slack, off, mu, y, z, level, barrier):
    """Return the squared length of what is missing in the conditions of optimality."""
    found = (mu * slack - barrier) * (mu * slack - barrier) + off * off
    for j in range(len(counts)):
        miss = y[j] * p[j] - mu * counts[j]
        found += miss * miss
    for x in range(len(aim)):
        pull, miss = aim[x] + z[x] - level, z[x] * point[x] - barrier
        for j in range(len(counts)):
            pull += y[j] * rows[j, x]
        found += pull * pull + miss * miss
    return found


@compiled(fastmath=FAST)
def upper_bound(aim, rows, counts, p, height, mu, pulls):
    """Return the bound that a multiplier and the tangent of l prove; pulls (d,) is scratch.

    The tangent is that at probabilities p, where l is ``height`` above the threshold.
    """
    for x in range(len(aim)):
        pulls[x] = aim[x]
    for j in range(len(counts)):
        pull = mu * counts[j] / p[j]
        for x in range(len(aim)):
            pulls[x] += pull * (rows[j, x] - p[j])
    return pulls[largest(pulls)] + mu * height


@compiled
def support(c, rows, counts, theta_hat, origin, room, theta):
    """Return (bound, certified) of max <c, theta> over E; fill theta (d,) with a point of E.

    The conditions of optimality are c + sum_j y_j g_j + z = level, y_j <g_j, theta> = mu c_j,
    l - tau = slack, mu slack = 0 and z theta = 0; zeros are replaced by a barrier that shrinks.
    """
    d, q = len(c), len(counts)
    base, scale, top = inner(c, theta_hat), 0.0, largest(c)
    for x in range(d):
        theta[x] = theta_hat[x]
        scale = max(scale, abs(c[x] - base))
    if not scale > 1e-14 * (abs(base) + scale):
        return base, True
    # A vertex that is in E is the answer.
    rise = 0.0
    for j in range(q):
        rise -= counts[j] * math.log(origin[j]) if rows[j, top] > 0.0 else np.inf
    if rise >= -room:
        for x in range(d):
            theta[x] = 1.0 if x == top else 0.0
        return c[top], True
    aim, point, z, right = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    gradient, diagonal = np.empty(d), np.empty(d)
    u, v, d_z = np.empty(d), np.empty(d), np.empty(d)
    p, y, d_y, curves = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    was_z, was_y, matrix = np.empty(d), np.empty(q), np.empty((d, d))
    # The start: where a quadratic model of l and the barrier has its maximum, well inside.
    for x in range(d):
        aim[x] = (c[x] - base) / scale
        diagonal[x] = 2.0 * room / (theta_hat[x] * theta_hat[x])
    for j in range(q):
        curves[j] = counts[j] / (origin[j] * origin[j])
    pivot = largest(theta_hat)
    expand(rows, counts, origin, curves, diagonal, pivot, gradient, matrix)
    solve_step(matrix, aim, pivot, u)
    reach = math.sqrt(max(inner(u, aim), 1e-300))
    mu = reach / math.sqrt(2.0 * room)
    length = 0.5 * math.sqrt(2.0 * room) / reach
    for x in range(d):
        if u[x] < 0.0:
            length = min(length, -0.5 * theta_hat[x] / u[x])
    move(theta_hat, length, u, point)
    chances(rows, point, p)
    height = ahead(counts, p, origin) + room
    slack = max(height, 0.2 * room)
    level = 0.0
    for j in range(q):
        y[j] = mu * counts[j] / p[j]
        level += y[j] * p[j]
    for x in range(d):
        z[x] = mu * slack / point[x]
        level += point[x] * (aim[x] + z[x])
    best, low, left = np.inf, 0.0, SHRINK
    for _ in range(STEPS):
        best = min(best, upper_bound(aim, rows, counts, p, height, mu, right))
        # l is concave, so that this share of the way from theta_hat stays in E.
        share = 1.0 if height >= 0.0 else room / (room - height)
        value = share * inner(aim, point)
        if value > low:
            low = value
            for x in range(d):
                theta[x] = theta_hat[x] + share * (point[x] - theta_hat[x])
        if best - low <= AIM * best:
            break
        gap, pivot = mu * slack, largest(point)
        for x in range(d):
            gap += z[x] * point[x]
            diagonal[x] = z[x] / point[x]
        for j in range(q):
            curves[j] = y[j] / p[j]
        barrier = left * gap / (d + 1)
        if not expand(rows, counts, p, curves, diagonal, pivot, gradient, matrix):
            break
        for x in range(d):
            right[x] = aim[x] + mu * gradient[x] + barrier / point[x]
        solve_step(matrix, gradient, pivot, v)
        solve_step(matrix, right, pivot, u)
        d_mu = (barrier / mu - height - inner(gradient, u)) / (inner(gradient, v) + slack / mu)
        d_slack = (barrier - slack * d_mu) / mu - slack
        keep = 0.99 if left > SHRINK_FASTER else 0.9999
        length = 1.0 if d_mu >= 0.0 else min(1.0, -keep * mu / d_mu)
        if d_slack < 0.0:
            length = min(length, -keep * slack / d_slack)
        for x in range(d):
            u[x] += d_mu * v[x]
            d_z[x] = barrier / point[x] - z[x] - diagonal[x] * u[x]
            if u[x] < 0.0:
                length = min(length, -keep * point[x] / u[x])
            if d_z[x] < 0.0:
                length = min(length, -keep * z[x] / d_z[x])
        d_level = aim[pivot] + z[pivot] + d_z[pivot] - level
        for j in range(q):
            d_y[j] = (mu + d_mu) * counts[j] / p[j] - y[j] - curves[j] * inner(rows[j], u)
            d_level += (y[j] + d_y[j]) * rows[j, pivot]
            if d_y[j] < 0.0:
                length = min(length, -keep * y[j] / d_y[j])
        off = mu * (height - slack)
        before = residual(aim, rows, counts, point, p, slack, off, mu, y, z, level, barrier)
        for x in range(d):
            v[x], was_z[x] = point[x], z[x]
        for j in range(q):
            was_y[j] = y[j]
        done = False
        for _ in range(HALVINGS):
            move(v, length, u, point)
            chances(rows, point, p)
            for x in range(d):
                z[x] = was_z[x] + length * d_z[x]
            for j in range(q):
                y[j] = was_y[j] + length * d_y[j]
            height = ahead(counts, p, origin) + room
            new_slack, new_mu = slack + length * d_slack, mu + length * d_mu
            new_level, off = level + length * d_level, mu * (height - new_slack)
            now = residual(
                aim, rows, counts, point, p, new_slack, off, new_mu, y, z, new_level, barrier
            )
            if now <= (1.0 - 0.01 * length) * before:
                done = True
                break
            length *= 0.6
        if not done:
            break
        mu, slack, level = new_mu, new_slack, new_level
        if length > 0.9:
            left = max(0.1 * left, SHRINK_FASTER)
        elif length < 0.25:
            left = min(3.0 * left, 0.9)
        if length < 0.1:  # stuck at a boundary: back to the middle
            for j in range(q):
                y[j] = mu * counts[j] / p[j]
            for x in range(d):
                z[x] = gap / (d + 1) / point[x]
            slack = max(slack, gap / (d + 1) / mu)
    return base + scale * best, best - low <= CERTIFIED * best


@compiled
def supports(directions, rows, counts, centers, rooms):
    """Return bounds (n, t), certificates and points (n, t, d) of E for directions (t, d)."""
    n, d = centers.shape
    values, certified = np.empty((n, len(directions))), np.empty((n, len(directions)), np.bool_)
    points = np.empty((n, len(directions), d))
    for i in range(n):
        kept, often = seen_rows(rows, counts[i])
        origin = np.empty(len(often))
        chances(kept, centers[i], origin)
        for t in range(len(directions)):
            values[i, t], certified[i, t] = support(
                directions[t], kept, often, centers[i], origin, rooms[i], points[i, t]
            )
    return values, certified, points


@compiled
def exact_gaps(features, rows, counts, centers, rooms):
    """Return max over b and E of <phi_b - phi_a, theta> for every action (n, k), and certificates.

    With g the action that looks best, no b can be ahead of a by more than b can be of g and g of a:
    most pairs need not be compared.
    """
    n, d = centers.shape
    k = len(features)
    gaps, certified = np.zeros((n, k)), np.empty(n, np.bool_)
    c, point, means = np.empty(d), np.empty(d), np.empty(k)
    up, down = np.empty(k), np.empty(k)
    for i in range(n):
        certified[i] = True
        kept, often = seen_rows(rows, counts[i])
        origin = np.empty(len(often))
        chances(kept, centers[i], origin)
        chances(features, centers[i], means)
        g = largest(means)
        for b in range(k):
            up[b] = down[b] = 0.0
            if b == g:
                continue
            for x in range(d):
                c[x] = features[b, x] - features[g, x]
            up[b], sure = support(c, kept, often, centers[i], origin, rooms[i], point)
            for x in range(d):
                c[x] = -c[x]
            down[b], also = support(c, kept, often, centers[i], origin, rooms[i], point)
            certified[i] = certified[i] and sure and also
            gaps[i, g] = max(gaps[i, g], up[b])
            gaps[i, b] = max(down[b], 0.0)
        order = np.argsort(-up)
        for a in range(k):
            for b in order:
                if a in (g, b) or not up[b] > 0.0:
                    continue
                most = -np.inf
                for x in range(d):
                    c[x] = features[b, x] - features[a, x]
                    most = max(most, c[x])
                if min(most, up[b] + down[a]) <= gaps[i, a]:
                    continue
                value, sure = support(c, kept, often, centers[i], origin, rooms[i], point)
                certified[i] = certified[i] and sure
                gaps[i, a] = max(gaps[i, a], value)
    return gaps, certified

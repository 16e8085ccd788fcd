"""Sets of likely distributions: E = {theta in the simplex : l(theta) >= tau}, for all replicates.

Row g_j in {0, 1}^d was seen c_j > 0 times, and l(theta) = sum_j c_j log <g_j, theta> is concave. With
an estimate theta_hat, l is measured from there: E = {l(theta) - l(theta_hat) >= -room}.

The maximum of <c, theta> over E is found by a primal-dual interior-point method whose points are
all in E, and proven by duality: for any theta > 0 and any mu >= 0,

    max <c, .> over E  <=  max_x (c + mu grad l(theta))_x + mu (l(theta) - tau - sum_j c_j),

because l lies below its tangent at theta. What is returned is this bound, so that it is never below
the maximum; an answer is certified if a point of E comes as near as CERTIFIED.
"""

from __future__ import annotations

import math

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST as SUMS

CERTIFIED = 1e-9
"""Largest distance between a bound and the value at a point of E, relative to the bound."""

AIM = 1e-10
"""The distance at which the search ends."""

PRIOR = 0.5
"""Pseudo-counts of every outcome in the estimate."""

THIN = 1e-6
"""A set whose room is smaller, or that is empty, is taken to have this room."""

STEPS = 100
"""Largest number of steps of Newton's method for one problem."""

HALVINGS = 60
"""Largest number of times that a step is shortened."""

SHRINK = 0.1
"""What is left of the barrier after a step that had to be shortened."""

FAST = 1e-3
"""What is left after several that need not be shortened."""


@compiled
def remainder(x):
    """Return log Gamma(x) - ((x - 1/2) log x - x + 1/2 log 2 pi), Stirling's remainder."""
    if x < 10.0:
        return math.lgamma(x) - ((x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi))
    y = 1.0 / (x * x)
    return (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x


@compiled
def mixture_regret(counts, start, end):
    """Return by how much counts are likelier at their frequencies than under the mixture.

    The mixture of Krichevsky and Trofimov is Dirichlet with 1/2 for each of the m signals. Terms
    that grow with the counts cancel before they are added, so that no digits are lost.
    """
    m, total = end - start, 0.0
    for j in range(start, end):
        total += counts[j]
    if total == 0.0:
        return 0.0
    half = 0.5 * math.log(2.0 * math.pi)
    regret = total * math.log1p(0.5 * m / total) + 0.5 * (m - 1) * math.log(total + 0.5 * m)
    regret += half + remainder(total + 0.5 * m) - math.lgamma(0.5 * m) + m * math.lgamma(0.5)
    for j in range(start, end):
        if counts[j] > 0.0:
            regret -= counts[j] * math.log1p(0.5 / counts[j])
        regret -= half + remainder(counts[j] + 0.5)
    return regret


@compiled(fastmath=SUMS)
def factor(matrix, size):
    """Turn the lower half of a positive definite matrix into its Cholesky factor."""
    for j in range(size):
        pivot = matrix[j, j]
        for h in range(j):
            pivot -= matrix[j, h] * matrix[j, h]
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        matrix[j, j] = root
        for i in range(j + 1, size):
            entry = matrix[i, j]
            for h in range(j):
                entry -= matrix[i, h] * matrix[j, h]
            matrix[i, j] = entry / root
    return True


@compiled(fastmath=SUMS)
def solve(low, out):
    """Replace out (d,) by the solution of L L' x = out."""
    size = len(out)
    for j in range(size):
        entry = out[j]
        for h in range(j):
            entry -= low[j, h] * out[h]
        out[j] = entry / low[j, j]
    for j in range(size - 1, -1, -1):
        entry = out[j]
        for h in range(j + 1, size):
            entry -= low[h, j] * out[h]
        out[j] = entry / low[j, j]


@compiled(fastmath=SUMS)
def dot(x, y):
    """Return <x, y>."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@compiled
def seen_rows(rows, counts):
    """Return the rows that were seen at all, and how often."""
    d, size = rows.shape[1], 0
    for j in range(len(counts)):
        size += counts[j] > 0.0
    kept, often = np.empty((size, d)), np.empty(size)
    size = 0
    for j in range(len(counts)):
        if counts[j] > 0.0:
            often[size] = counts[j]
            for x in range(d):
                kept[size, x] = rows[j, x]
            size += 1
    return kept, often


@compiled(fastmath=SUMS)
def chances(rows, theta, out):
    """Fill out (q,) with the probabilities <g_j, theta> of the rows."""
    for j in range(len(out)):
        out[j] = dot(rows[j], theta)


@compiled(fastmath=SUMS)
def ahead(counts, p, origin):
    """Return l(theta) - l(theta_hat) from the probabilities of the rows at both."""
    found = 0.0
    for j in range(len(counts)):
        found += counts[j] * math.log1p((p[j] - origin[j]) / origin[j])
    return found


@compiled
def largest(values):
    """Return where the largest entry is."""
    top = 0
    for x in range(1, len(values)):
        if values[x] > values[top]:
            top = x
    return top


@compiled(fastmath=SUMS)
def expand(rows, counts, p, curves, diagonal, pivot, gradient, matrix):
    """Fill the gradient of l, and the factor of sum_j curves_j g_j g_j' plus a diagonal.

    The matrix acts on steps that sum to zero, written by their entries other than ``pivot``, whose
    row is that of the identity. From the gradient its mean sum_j c_j is taken, for the digits.
    """
    d = len(gradient)
    for x in range(d):
        gradient[x] = 0.0
        for y in range(x + 1):
            matrix[x, y] = 0.0 if x == pivot or y == pivot else diagonal[pivot]
        matrix[x, x] = 1.0 if x == pivot else diagonal[x] + diagonal[pivot]
    for j in range(len(counts)):
        row, pull, curve = rows[j], counts[j] / p[j], curves[j]
        for x in range(d):
            gradient[x] += pull * (row[x] - p[j])
            away = row[x] - row[pivot]
            if away != 0.0:
                for y in range(x + 1):
                    matrix[x, y] += curve * away * (row[y] - row[pivot])
    return factor(matrix, d)


@compiled(fastmath=SUMS)
def solve_step(low, right, pivot, out):
    """Fill out (d,) with the step that sums to zero and solves the reduced system."""
    for x in range(len(out)):
        out[x] = right[x] - right[pivot]
    solve(low, out)
    rest = 0.0
    for x in range(len(out)):
        rest += out[x] if x != pivot else 0.0
    out[pivot] = -rest


@compiled
def penalized(counts, p, origin, weight, theta):
    """Return l(theta) - l(origin) + weight sum_x log theta_x."""
    found = ahead(counts, p, origin)
    for x in range(len(theta)):
        found += weight * math.log(theta[x])
    return found


@compiled
def move(theta, length, step, moved):
    """Fill moved (d,) with theta + length * step, on the simplex in spite of rounding."""
    sum_ = 0.0
    for x in range(len(theta)):
        moved[x] = theta[x] + length * step[x]
        sum_ += moved[x]
    for x in range(len(theta)):
        moved[x] /= sum_


@compiled
def climb(rows, counts, weight, theta):
    """Move theta to the maximum of l(theta) + weight sum_x log theta_x over the simplex."""
    d, q = len(theta), len(counts)
    p, after, origin, curves = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    gradient, step, diagonal, moved = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    matrix = np.empty((d, d))
    chances(rows, theta, p)
    chances(rows, theta, origin)
    height = penalized(counts, p, origin, weight, theta)
    for _ in range(STEPS):
        pivot = largest(theta)
        for x in range(d):
            diagonal[x] = weight / (theta[x] * theta[x])
        for j in range(q):
            curves[j] = counts[j] / (p[j] * p[j])
        if not expand(rows, counts, p, curves, diagonal, pivot, gradient, matrix):
            return
        for x in range(d):
            gradient[x] += weight / theta[x]
        solve_step(matrix, gradient, pivot, step)
        length, gain = 1.0, dot(step, gradient)
        for x in range(d):
            if step[x] < 0.0:
                length = min(length, -0.95 * theta[x] / step[x])
        if not gain > 1e-18:
            return
        for _ in range(HALVINGS):
            move(theta, length, step, moved)
            chances(rows, moved, after)
            new = penalized(counts, after, origin, weight, moved)
            if new >= height + 0.01 * length * gain or gain < 1e-9:
                break
            length *= 0.5
        height = new
        for x in range(d):
            theta[x] = moved[x]
        chances(rows, theta, p)


@compiled
def centers(rows, channels, counts, log_inverse_delta):
    """Return estimates (n, d), rooms (n,) and by how much no theta is likely enough (n,).

    ``channels`` (c + 1,) says where the rows of each kind of observation begin. The estimate is the
    mode with PRIOR pseudo-counts of each outcome; if that is not in E_t, with fewer.
    """
    n, d, q = len(counts), rows.shape[1], rows.shape[0]
    found, rooms, misses = np.empty((n, d)), np.empty(n), np.zeros(n)
    p = np.empty(q)
    for i in range(n):
        theta, own = found[i], counts[i]
        for x in range(d):
            theta[x] = 1.0 / d
        kept, often = seen_rows(rows, own)
        limit = log_inverse_delta[i]
        for a in range(len(channels) - 1):
            limit += mixture_regret(own, channels[a], channels[a + 1])
        weight = PRIOR
        while True:
            climb(kept, often, weight, theta)
            chances(rows, theta, p)
            room = limit
            for a in range(len(channels) - 1):
                plays = 0.0
                for j in range(channels[a], channels[a + 1]):
                    plays += own[j]
                for j in range(channels[a], channels[a + 1]):
                    if own[j] > 0.0:
                        share = own[j] / plays
                        room += own[j] * math.log1p((p[j] - share) / share)
            if room > THIN or d * weight < 0.1 * THIN:
                break
            weight *= 0.1
        misses[i] = max(-room - d * weight, 0.0)
        rooms[i] = max(room, THIN)
    return found, rooms, misses


@compiled(fastmath=SUMS)
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


@compiled(fastmath=SUMS)
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
    base, scale, top = dot(c, theta_hat), 0.0, largest(c)
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
    reach = math.sqrt(max(dot(u, aim), 1e-300))
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
        value = share * dot(aim, point)
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
        d_mu = (barrier / mu - height - dot(gradient, u)) / (dot(gradient, v) + slack / mu)
        d_slack = (barrier - slack * d_mu) / mu - slack
        keep = 0.99 if left > FAST else 0.9999
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
            d_y[j] = (mu + d_mu) * counts[j] / p[j] - y[j] - curves[j] * dot(rows[j], u)
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
            left = max(0.1 * left, FAST)
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

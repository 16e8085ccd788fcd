"""Expected improvements over the greedy action, and what observations tell about them.

For the greedy action g of a group and every rival b in it, <u_b, theta> with u_b = phi_b - phi_g is
known up to the standard deviation s_b = rho |u_b| in the norm of W_t^-1. The chance that b is
better is worth delta_b in each round. One observation of a explains a fraction of its variance;
summed with the weights delta_b that is a quadratic form of M_a, so actions are never compared in
pairs.
"""

from __future__ import annotations

from math import erfc, exp, log, pi, sqrt

import numpy as np

from partial_monitoring.numerics.compiled.gaps import distances
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, ROUNDING

BLOCK = 1024
"""Number of rows that are multiplied at once, to bound the memory."""

FAR = 5.0
"""From this many standard deviations on the tail is a continued fraction."""

TERMS = 30
"""Its number of terms."""

DENSITY = 1.0 / sqrt(2.0 * pi)


@compiled(allocates=False)
def tail(z):
    """Return phi(z) - z Phi(-z) = E max(X - z, 0) of standard normal X, z >= 0.

    Far out both terms are nearly the same. With the fraction c = 1 / (z + 2 / (z + 3 / ...)) of
    Phi(-z) = phi(z) / (z + c) the difference is phi(z) c / (z + c).
    """
    density = DENSITY * exp(-0.5 * z * z)
    if z < FAR:
        return density - 0.5 * z * erfc(z / sqrt(2.0))
    rest = z
    for j in range(TERMS, 1, -1):
        rest = z + j / rest
    return density / (z * rest + 1.0)


@compiled(allocates=False)
def expected_gain(mean, std):
    """Return E max(X, 0) of normal X with this mean and standard deviation."""
    gain = max(mean, 0.0)
    return gain + std * tail(abs(mean) / std) if std > 0.0 else gain


@compiled(allocates=False)
def worth_of_rivals(means, squared, greedy, counted, noise, t, power, delta):
    """Fill delta (k,) with what the chance to be better is worth, and return them together.

    delta_b = E max(f_b - f_g, 0) + max(0, m_b - m_g + z_t s_b) / t with z_t^2 = 2 log t: the
    second term vanishes more slowly than any chance, so that no rival is given up for good too
    early. Together they are (sum_b delta_b^power)^(1/power). Only rivals that are counted (k,) are
    worth anything.
    """
    reach, best, most = sqrt(2.0 * log(t)), means[greedy], 0.0
    for b in range(len(means)):
        delta[b] = 0.0
        if counted[b] and b != greedy and squared[b] > 0.0:
            ahead, std = means[b] - best, noise * sqrt(squared[b])
            delta[b] = expected_gain(ahead, std) + max(0.0, ahead + reach * std) / t
            most = max(most, delta[b])
    if most == 0.0:
        return 0.0
    total = 0.0
    for b in range(len(means)):
        total += (delta[b] / most) ** power
    return most * total ** (1.0 / power)


@compiled(allocates=False)
def greedy_of(means, counted):
    """Return the first action with the largest mean among those that are counted."""
    best, top = 0, -np.inf
    for a in range(len(means)):
        if counted[a] and means[a] > top:
            best, top = a, means[a]
    return best


@compiled
def add_products(features, greedy, weights, scale, total):
    """Add scale sum_b weights_b u_b u_b' to total (r, r), u_b = features_b - features_greedy.

    ``weights`` (k,) are delta_b / |u_b|^2, or zero.
    """
    k, r = features.shape
    block = np.empty((min(BLOCK, k), r))
    size = 0
    for b in range(k):
        if weights[b] > 0.0 and scale > 0.0:
            root = sqrt(scale * weights[b])
            for p in range(r):
                block[size, p] = root * (features[b, p] - features[greedy, p])
            size += 1
        if size == len(block) or (b == k - 1 and size > 0):
            own = block[:size]
            total += np.dot(own.T, own)
            size = 0


@compiled(fastmath=FAST)
def forms(rows, middle, out):
    """Fill out (q, m, m) with M Q M' for maps M (q, m, r) and a symmetric matrix Q (r, r)."""
    q, m, r = rows.shape
    step = max(1, BLOCK // max(m, 1))
    for start in range(0, q, step):
        stop = min(start + step, q)
        own = rows[start:stop]
        half = np.dot(own.reshape((stop - start) * m, r), middle)
        for a in range(stop - start):
            for i in range(m):
                for j in range(i + 1):
                    entry = 0.0
                    for p in range(r):
                        entry += half[a * m + i, p] * own[a, j, p]
                    out[start + a, i, j] = out[start + a, j, i] = entry


@compiled(allocates=False)
def explained(shown, signal):
    """Return the trace of (I + S)^-1 B for symmetric B (m, m) and S (m, m), which are overwritten.

    Row by row: what the rows before it have shown is taken out of every row.
    """
    total, m = 0.0, len(shown)
    for j in range(m):
        pivot = 1.0 + max(signal[j, j], 0.0)
        total += max(shown[j, j], 0.0) / pivot
        for p in range(m - 1, j, -1):
            share = signal[p, j] / pivot
            for q in range(j + 1, p + 1):
                other = signal[q, j] / pivot
                entry = shown[p, q] - share * shown[j, q] - other * shown[p, j]
                shown[p, q] = shown[q, p] = entry + share * other * shown[j, j]
                signal[p, q] = signal[q, p] = signal[p, q] - share * other * pivot
    return total


@compiled(allocates=False)
def shares_of_variance(delta, squared):
    """Divide delta (k,) by |u_b|^2: then squares of what is shown count by what they explain."""
    for b in range(len(delta)):
        if delta[b] > 0.0:
            delta[b] /= squared[b]


@compiled(allocates=False)
def apart(variances, inverse, features, columns, greedy, pulled, squared):
    """Fill squared (k,) with |phi_b - phi_greedy|^2 in the norm of W_t^-1; rounding is zero."""
    distances(variances, inverse, features, columns, greedy, pulled, squared)
    for b in range(len(squared)):
        if squared[b] <= ROUNDING * (variances[b] + variances[greedy]):
            squared[b] = 0.0


@compiled
def improvement(
    means,
    variances,
    inverse,
    rounds,
    noise,
    features,
    columns,
    maps,
    signals,
    starts,
    counted,
    chances,
):
    """Return gaps and information of n replicates, each (n, k).

    The gap is the sum of delta_b over the rivals of the group, plus what the action earns less
    than the greedy one. The information is tr (I + S_a)^-1 M_a Q M_a' with the signals S_a and Q =
    W_t^-1 (sum_b delta_b u_b u_b' / |u_b|^2) W_t^-1, summed over all groups with their chances
    (n, groups).
    Rivals are the actions that are counted, shape (n, k) or (1, k).
    """
    n, k = means.shape
    m, r = maps.shape[1], maps.shape[2]
    gaps, information = np.empty((n, k)), np.zeros((n, k))
    squared, delta, pulled = np.empty(k), np.empty(k), np.empty(r)
    shown, signal = np.empty((k, m, m)), np.empty((m, m))
    total = np.empty((r, r))
    for i in range(n):
        total[:] = 0.0
        for z in range(len(starts) - 1):
            start, end = starts[z], starts[z + 1]
            own, mine = means[i, start:end], counted[i % len(counted), start:end]
            seen, weights = features[start:end], delta[start:end]
            greedy = greedy_of(own, mine)
            far = squared[start:end]
            apart(variances[i, start:end], inverse[i], seen, columns, greedy, pulled, far)
            more = worth_of_rivals(own, far, greedy, mine, noise, rounds[i], 1.0, weights)
            shares_of_variance(weights, far)
            add_products(seen, greedy, weights, chances[i, z], total)
            for a in range(end - start):
                gaps[i, start + a] = max(more + own[greedy] - own[a], 0.0)
        if m > 0 and r > 0:
            middle = np.dot(inverse[i], np.dot(total, inverse[i]))
            forms(maps, middle, shown)
            for a in range(k):
                for p in range(m):
                    for q in range(m):
                        signal[p, q] = signals[i, a, p, q]
                information[i, a] = explained(shown[a], signal)
    return gaps, information


@compiled
def improvement_of_duels(means, variances, inverse, rounds, noise, features, columns, counted):
    """Return gaps of items and information of duels (n, k), greedy items (n,), and psi (n, k).

    The duels are those of the greedy item g with every item x, which show phi_x - phi_g.
    """
    n, k = means.shape
    r = features.shape[1]
    gaps, information = np.empty((n, k)), np.zeros((n, k))
    psi, greedy = np.empty((n, k)), np.empty(n, np.int64)
    delta, pulled = np.empty(k), np.empty(r)
    total, shown = np.empty((r, r)), np.empty((k, 1, 1))
    away = np.empty((k, 1, r))
    for i in range(n):
        mine, squared = counted[i % len(counted)], psi[i]
        g = greedy_of(means[i], mine)
        greedy[i] = g
        apart(variances[i], inverse[i], features, columns, g, pulled, squared)
        more = worth_of_rivals(means[i], squared, g, mine, noise, rounds[i], 1.0, delta)
        shares_of_variance(delta, squared)
        total[:] = 0.0
        add_products(features, g, delta, 1.0, total)
        middle = np.dot(inverse[i], np.dot(total, inverse[i]))
        for a in range(k):
            gaps[i, a] = max(more + means[i, g] - means[i, a], 0.0)
            for p in range(r):
                away[a, 0, p] = features[a, p] - features[g, p]
        if r > 0:
            forms(away, middle, shown)
            for a in range(k):
                information[i, a] = max(shown[a, 0, 0], 0.0) / (1.0 + squared[a])
    return gaps, information, greedy, psi

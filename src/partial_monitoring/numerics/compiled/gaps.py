"""Closed-form gaps over ellipsoids, one replicate after the other."""

from __future__ import annotations

from math import sqrt

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import (
    FAST,
    ROUNDING,
    inner,
    largest,
    products,
    transform,
)


@compiled(fastmath=FAST, allocates=False)
def exact_gaps_of(means, inverse, beta, centred, apart, pulled, lengths, gaps):
    """Fill gaps (k,) with max over b of means_b - means_a + beta^(1/2) |phi_b - phi_a|.

    ``centred`` (k, r) are the features minus their mean, which no difference sees: what they have
    in common would only cost digits. ``apart`` (k, k) is the squared distance in directions that no
    observation sees, over lambda. ``pulled`` (k, r) and ``lengths`` (k,) are scratch.
    """
    k, r = len(gaps), pulled.shape[1]
    radius = sqrt(beta)
    for a in range(k):
        transform(inverse, centred[a], pulled[a])
        lengths[a] = inner(pulled[a], centred[a])
        gaps[a] = 0.0
    for a in range(k):
        for b in range(a + 1, k):
            cross = 0.0
            for p in range(r):
                cross += pulled[a, p] * centred[b, p]
            both = lengths[a] + lengths[b]
            squared = both - 2.0 * cross
            squared = (squared if squared > ROUNDING * both else 0.0) + apart[a, b]
            width = radius * sqrt(squared)
            ahead = means[b] - means[a]
            gaps[a] = max(gaps[a], ahead + width)
            gaps[b] = max(gaps[b], width - ahead)


@compiled
def exact_gaps(means, inverse, beta, centred, apart):
    """Return the exact gaps of n replicates, shape (n, k)."""
    n, k = means.shape
    gaps, pulled, lengths = np.empty((n, k)), np.empty(centred.shape), np.empty(k)
    for i in range(n):
        exact_gaps_of(means[i], inverse[i], beta[i], centred, apart, pulled, lengths, gaps[i])
    return gaps


@compiled(fastmath=FAST)
def furthest(cross, start, lengths, means, radius, unseen, regularization):
    """Return the gaps (q,) of actions from ``start`` on, from their products with all (q, k)."""
    q, k = cross.shape
    gaps = np.empty(q)
    reach = np.empty(k)
    for a in range(q):
        own, products_of_own = start + a, cross[a]
        for b in range(k):
            both = lengths[own] + lengths[b]
            squared = both - 2.0 * products_of_own[b]
            reach[b] = squared if squared > ROUNDING * both else 0.0
        for p in range(unseen.shape[1]):
            for b in range(k):
                reach[b] += (unseen[b, p] - unseen[own, p]) ** 2 / regularization
        for b in range(k):
            reach[b] = means[b] + radius * sqrt(reach[b])
        gaps[a] = max(largest(reach) - means[own], 0.0)
    return gaps


@compiled(fastmath=FAST, allocates=False)
def distances(variances, inverse, seen, columns, g, pulled, out):
    """Fill out (k,) with |phi_a - phi_g|^2 in the norm of W_t^-1; ``pulled`` (r,) is scratch.

    Written with differences, so that it is exactly zero for copies of g.
    """
    transform(inverse, seen[g], pulled)
    products(seen, columns, pulled, out)
    own, cross = variances[g], out[g]
    for a in range(len(out)):
        out[a] = max((variances[a] - own) + 2.0 * (cross - out[a]), 0.0)


@compiled(fastmath=FAST, allocates=False)
def all_distances(variances, inverse, seen, columns, unseen, regularization, g, pulled, out):
    """Fill out (k,) with |phi_a - phi_g|^2 in the norm of V_t^-1; ``pulled`` (r,) is scratch."""
    distances(variances, inverse, seen, columns, g, pulled, out)
    for p in range(unseen.shape[1]):
        for a in range(len(out)):
            out[a] += (unseen[a, p] - unseen[g, p]) ** 2 / regularization


@compiled(fastmath=FAST, allocates=False)
def greedy_gaps_of(
    means,
    variances,
    inverse,
    beta,
    seen,
    columns,
    unseen,
    regularization,
    through_mean,
    pulled,
    widths,
    gaps,
):
    """Fill gaps (k,) relative to the greedy action g, and return g.

    With delta = max_b means_b - means_g + width_b, where width_b = beta^(1/2) |phi_b - phi_g|, the
    gap of an action is delta + means_g - means_a, plus width_a unless ``through_mean``; that of g
    is delta. ``pulled`` (r,) and ``widths`` (k,) are scratch.
    """
    k, g = len(means), 0
    for a in range(1, k):
        if means[a] > means[g]:
            g = a
    all_distances(variances, inverse, seen, columns, unseen, regularization, g, pulled, widths)
    best = means[g]
    for a in range(k):
        widths[a] = sqrt(beta * widths[a])
    for a in range(k):
        gaps[a] = means[a] + widths[a]
    delta = max(largest(gaps) - best, 0.0)
    for a in range(k):
        gaps[a] = delta + best - means[a]
    if not through_mean:
        for a in range(k):
            gaps[a] = delta + max(best - means[a] + widths[a], 0.0)
    gaps[g] = delta
    return g


@compiled
def greedy_gaps(
    means, variances, inverse, beta, seen, columns, unseen, regularization, through_mean
):
    """Return gaps relative to the greedy actions of n replicates, (n, k), and these, (n,)."""
    n, k = means.shape
    gaps, greedy = np.empty((n, k)), np.empty(n, np.int64)
    pulled, widths = np.empty(seen.shape[1]), np.empty(k)
    for i in range(n):
        greedy[i] = greedy_gaps_of(
            means[i],
            variances[i],
            inverse[i],
            beta[i],
            seen,
            columns,
            unseen,
            regularization,
            through_mean,
            pulled,
            widths,
            gaps[i],
        )
    return gaps, greedy


@compiled(fastmath=FAST)
def duels(means, variances, inverse, beta, seen, columns, unseen, regularization):
    """Return item gaps (n, k), greedy items (n,) and psi of their duels with every item (n, k)."""
    n, k = means.shape
    gaps, greedy = greedy_gaps(
        means, variances, inverse, beta, seen, columns, unseen, regularization, True
    )
    psi = np.empty((n, k))
    pulled = np.empty(seen.shape[1])
    for i in range(n):
        distances(variances[i], inverse[i], seen, columns, greedy[i], pulled, psi[i])
    return gaps, greedy, psi

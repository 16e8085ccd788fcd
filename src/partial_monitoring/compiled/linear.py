"""Rank-one updates and closed-form gaps, one replicate after the other."""

from __future__ import annotations

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered (the same way every time), which lets them run on vector units."""


@njit(cache=True, error_model="numpy", fastmath=FAST)
def transform(matrix, vector, out):
    """Fill out (r,) with matrix @ vector."""
    for p in range(len(out)):
        entry = 0.0
        for q in range(len(vector)):
            entry += matrix[p, q] * vector[q]
        out[p] = entry


@njit(cache=True, error_model="numpy", fastmath=FAST, inline="always")
def products(features, columns, x, out):
    """Fill out (k,) with features @ x, features (k, r), from their columns (r, k) if there are any.

    Columns are better for few actions (the loop over actions runs on vector units), rows for many
    (the features are read once).
    """
    k, r = features.shape
    if columns.shape[0] == r:
        for a in range(k):
            out[a] = 0.0
        for p in range(r):
            weight = x[p]
            for a in range(k):
                out[a] += columns[p, a] * weight
    else:
        for a in range(k):
            entry = 0.0
            for p in range(r):
                entry += features[a, p] * x[p]
            out[a] = entry


@njit(cache=True, error_model="numpy", fastmath=FAST)
def update(
    mirrored,
    rows,
    residual,
    maps,
    seen,
    columns,
    gram,
    inverse,
    vector,
    means,
    variances,
    signals,
    log_det,
):
    """Take in one observation per replicate; all arrays from ``gram`` on are changed in place.

    With x = W_t^-1 w and c = 1 + <w, x> for a row w (n, m, r) of the action's map: the inverse
    loses x x' / c, the log-determinant gains log c, and every product with features or maps loses
    the outer product of their products with x, divided by c. ``mirrored`` says that actions show
    their own rewards, so that one of the two products is enough.
    """
    n, m, r = rows.shape
    k, many = maps.shape[0], maps.shape[1]
    x = np.empty(r)
    pulls = np.empty(k)
    show = np.empty(many)
    for i in range(n):
        for j in range(m):
            w = rows[i, j]
            c = 1.0
            error = residual[i, j]
            blank = True
            for p in range(r):
                if w[p] != 0.0:
                    blank = False
            if blank:
                continue
            transform(inverse[i], w, x)
            for p in range(r):
                c += w[p] * x[p]
            # <w, x_hat> with x_hat = W_t^-1 vector is <x, vector>.
            for p in range(r):
                error -= x[p] * vector[i, p]
            step = error / c
            share = 1.0 / c
            products(seen, columns, x, pulls)
            for a in range(k):
                pull = pulls[a]
                means[i, a] += step * pull
                variances[i, a] = max(variances[i, a] - share * pull * pull, 0.0)
                if mirrored:
                    signals[i, a, 0, 0] -= share * pull * pull
                    continue
                for v in range(many):
                    entry = 0.0
                    for p in range(r):
                        entry += maps[a, v, p] * x[p]
                    show[v] = entry
                for v in range(many):
                    for h in range(many):
                        signals[i, a, v, h] -= share * show[v] * show[h]
            for p in range(r):
                for q in range(r):
                    inverse[i, p, q] -= share * x[p] * x[q]
                    gram[i, p, q] += w[p] * w[q]
                vector[i, p] += w[p] * residual[i, j]
            log_det[i] += np.log(c)


@njit(cache=True, error_model="numpy", fastmath=FAST)
def exact_gaps(means, variances, inverse, beta, seen, apart):
    """Return max over b of means_b - means_a + beta^(1/2) |phi_b - phi_a|, shape (n, k).

    ``apart`` (k, k) is the squared distance in directions that no observation sees, over lambda.
    """
    n, k = means.shape
    r = seen.shape[1]
    gaps = np.zeros((n, k))
    pulled = np.empty(r)
    for i in range(n):
        radius = np.sqrt(beta[i])
        for a in range(k):
            transform(inverse[i], seen[a], pulled)
            for b in range(a + 1, k):
                cross = 0.0
                for p in range(r):
                    cross += pulled[p] * seen[b, p]
                squared = variances[i, a] + variances[i, b] - 2.0 * cross + apart[a, b]
                width = radius * np.sqrt(max(squared, 0.0))
                ahead = means[i, b] - means[i, a]
                gaps[i, a] = max(gaps[i, a], ahead + width)
                gaps[i, b] = max(gaps[i, b], width - ahead)
    return gaps


@njit(cache=True, error_model="numpy", fastmath=FAST)
def greedy_gaps(
    means, variances, inverse, beta, seen, columns, unseen, regularization, through_mean
):
    """Return gaps relative to the greedy action g, shape (n, k), and g, shape (n,).

    With delta = max_b means_b - means_g + width_b, where width_b = beta^(1/2) |phi_b - phi_g|, the
    gap of an action is delta + means_g - means_a, plus width_a unless ``through_mean``; that of g
    is delta.
    """
    n, k = means.shape
    r, rest = seen.shape[1], unseen.shape[1]
    gaps = np.empty((n, k))
    greedy = np.zeros(n, np.int64)
    pulled = np.empty(r)
    crosses = np.empty(k)
    for i in range(n):
        g = 0
        for a in range(1, k):
            if means[i, a] > means[i, g]:
                g = a
        greedy[i] = g
        transform(inverse[i], seen[g], pulled)
        products(seen, columns, pulled, crosses)
        delta = 0.0
        for a in range(k):
            squared = variances[i, a] + variances[i, g] - 2.0 * crosses[a]
            for p in range(rest):
                squared += (unseen[a, p] - unseen[g, p]) ** 2 / regularization
            width = np.sqrt(beta[i] * max(squared, 0.0)) if a != g else 0.0
            ahead = means[i, a] - means[i, g]
            delta = max(delta, ahead + width)
            gaps[i, a] = -ahead if through_mean else max(width - ahead, 0.0)
        for a in range(k):
            gaps[i, a] += delta
        gaps[i, g] = delta
    return gaps, greedy


@njit(cache=True, error_model="numpy", fastmath=FAST)
def duels(means, variances, inverse, beta, seen, columns, unseen, regularization):
    """Return item gaps (n, k), greedy items (n,) and psi of their duels with every item (n, k)."""
    n, k = means.shape
    r = seen.shape[1]
    gaps, greedy = greedy_gaps(
        means, variances, inverse, beta, seen, columns, unseen, regularization, True
    )
    psi = np.zeros((n, k))
    pulled = np.empty(r)
    crosses = np.empty(k)
    for i in range(n):
        g = greedy[i]
        transform(inverse[i], seen[g], pulled)
        products(seen, columns, pulled, crosses)
        for a in range(k):
            if a != g:
                psi[i, a] = max(variances[i, a] + variances[i, g] - 2.0 * crosses[a], 0.0)
    return gaps, greedy, psi

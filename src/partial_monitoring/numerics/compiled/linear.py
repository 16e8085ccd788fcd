"""Rank-one updates of least squares, one replicate after the other."""

from __future__ import annotations

from math import hypot, log, log1p, sqrt

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered (the same way every time), which lets them run on vector units."""

IN_ORDER = {"contract", "nsz"}
"""Sums are not reordered: their terms are added as products of matrices add them."""

EXTREMES = FAST | {"nnan"}
"""For least and largest entries only: those of NaN are nobody's business."""

ROUNDING = 4e-15
"""A squared distance below this fraction of the squares it is computed from is zero."""

HIGH_LEVERAGE = 1e4
"""A row that shrinks the uncertainty along it by this factor costs as many digits."""


@compiled(fastmath=EXTREMES, allocates=False)
def largest(values):
    """Return the largest entry."""
    top = values[0]
    for a in range(len(values)):
        top = max(top, values[a])
    return top


@compiled(fastmath=FAST, allocates=False)
def transform(matrix, vector, out):
    """Fill out (r,) with matrix @ vector."""
    for p in range(len(out)):
        entry = 0.0
        for q in range(matrix.shape[1]):
            entry += matrix[p, q] * vector[q]
        out[p] = entry


@compiled(fastmath=FAST)
def transform_each(matrices, vectors):
    """Return matrices @ vectors, one vector per replicate (n, r), one matrix each or for all."""
    n, same = len(vectors), len(matrices) == 1
    out = np.empty((n, matrices.shape[1]))
    for i in range(n):
        transform(matrices[0 if same else i], vectors[i], out[i])
    return out


@compiled(fastmath=FAST, allocates=False)
def inner(left, right):
    """Return <left, right>."""
    total = 0.0
    for p in range(len(left)):
        total += left[p] * right[p]
    return total


@compiled(fastmath=FAST, allocates=False)
def add_outer(matrix, weight, vector, out):
    """Fill out (r, r) with matrix + weight * vector vector'; out may be the matrix itself."""
    for p in range(out.shape[0]):
        scaled, row, filled = weight * vector[p], matrix[p], out[p]
        for q in range(out.shape[1]):
            filled[q] = row[q] + scaled * vector[q]


@compiled(fastmath=FAST, allocates=False)
def copy_into(matrix, out):
    """Fill out with a matrix, entry by entry: assigning a slice takes Numba seconds to compile."""
    for p in range(out.shape[0]):
        for q in range(out.shape[1]):
            out[p, q] = matrix[p, q]


@compiled(fastmath=FAST, allocates=False)
def products(features, columns, x, out):
    """Fill out (k,) with features @ x, features (k, r), from their columns (r, k) if there are any.

    Columns are better for few actions (the loop over actions runs on vector units; four columns at
    once, so that out is read less often), rows for many (the features are read once).
    """
    k, r = len(out), len(x)
    if columns.shape[0] != r:
        for a in range(k):
            entry = 0.0
            for p in range(r):
                entry += features[a, p] * x[p]
            out[a] = entry
        return
    for a in range(k):
        out[a] = 0.0
    fours = r - r % 4
    for p in range(0, fours, 4):
        x0, x1, x2, x3 = x[p], x[p + 1], x[p + 2], x[p + 3]
        c0, c1, c2, c3 = columns[p], columns[p + 1], columns[p + 2], columns[p + 3]
        for a in range(k):
            out[a] += c0[a] * x0 + c1[a] * x1 + c2[a] * x2 + c3[a] * x3
    for p in range(fours, r):
        x0, c0 = x[p], columns[p]
        for a in range(k):
            out[a] += c0[a] * x0


@compiled(allocates=False)
def squared_radius(width, rounds, log_det):
    """Return beta_t of one replicate in a round; a width is (form, base, slope, factor, shift).

    The forms, with l = base + slope log t: 0 for (factor (2 l + log_det)^(1/2) + shift)^2, 1 for
    factor (2 l + log_det) + shift, and 2 for factor l.
    """
    form, base, slope, factor, shift = width
    logarithm = base + slope * log(float(rounds))
    if form == 0:
        return (factor * sqrt(max(2.0 * logarithm + log_det, 0.0)) + shift) ** 2
    return factor * (2.0 * logarithm + log_det) + shift if form == 1 else factor * logarithm


@compiled
def squared_radii(width, rounds, log_det):
    """Return beta_t of replicates in their rounds (n,), shape (n,)."""
    found = np.empty(len(rounds))
    for i in range(len(rounds)):
        found[i] = squared_radius(width, rounds[i], log_det[i])
    return found


@compiled
def take_in(action, observation, maps, counts, whitening, expected, plays, sums):
    """Return the rows (n, m, r) that were seen, what they showed beyond theta_0, plays and sums.

    Entries beyond the rows of an action are ignored.
    """
    n, m, r = len(action), maps.shape[1], maps.shape[2]
    rows = np.empty((n, m, r))
    residual = np.empty((n, m))
    plays, sums = plays.copy(), sums.copy()
    for i in range(n):
        a = action[i]
        plays[i, a] += 1
        for j in range(m):
            shown = observation[i, j] if j < counts[a] else 0.0
            sums[i, a, j] += shown
            residual[i, j] = shown * whitening[a] - expected[a, j]
            for p in range(r):
                rows[i, j, p] = maps[a, j, p]
    return rows, residual, plays, sums


@compiled(fastmath=FAST, allocates=False)
def take_in_row(
    w,
    residual,
    maps,
    seen,
    columns,
    gram,
    inverse,
    vector,
    coordinates,
    means,
    variances,
    signals,
    x,
    pulls,
    show,
):
    """Let one replicate take in what one row w (r,) showed beyond theta_0; return <w, W_t^-1 w>.

    With x = W_t^-1 w and c = 1 + <w, x>: the inverse loses x x' / c, the log-determinant gains
    log c, and every product with features or maps loses the outer product of their products with
    x, divided by c. Everything is changed in place; x (r,), pulls (k,) and show (m,) are scratch.
    """
    r, empty = len(x), True
    for p in range(r):
        empty = empty and w[p] == 0.0
    if empty:
        return 0.0
    transform(inverse, w, x)
    gain = inner(x, w)
    c = 1.0 + gain
    step, share = (residual - inner(coordinates, w)) / c, 1.0 / c
    products(seen, columns, x, pulls)
    for a in range(len(means)):
        means[a] += step * pulls[a]
        variances[a] = max(variances[a] - share * pulls[a] * pulls[a], 0.0)
    if len(show):
        for a in range(len(means)):
            transform(maps[a], x, show)
            add_outer(signals[a], -share, show, signals[a])
    add_outer(inverse, -share, x, inverse)
    add_outer(gram, 1.0, w, gram)
    for p in range(r):
        vector[p] += w[p] * residual
        coordinates[p] += step * x[p]
    return gain


@compiled
def update(
    rows,
    residual,
    maps,
    seen,
    columns,
    gram,
    inverse,
    vector,
    coordinates,
    means,
    variances,
    signals,
    log_det,
    rounds,
    period,
):
    """Return gram, inverse, ..., rounds after one observation per replicate, and which to refresh.

    Where a row (n, m, r) shrinks what is unknown along it by a large factor, nearly everything is
    lost, and what is left is rounding: such a row has high leverage. Replicates that observed one
    are refreshed, and all of them after a period of rounds.
    """
    n, m, r = rows.shape
    k, many = maps.shape[0], maps.shape[1]
    gram, inverse, vector, log_det = gram.copy(), inverse.copy(), vector.copy(), log_det.copy()
    coordinates, rounds = coordinates.copy(), rounds.copy()
    means, variances, signals = means.copy(), variances.copy(), signals.copy()
    due = np.empty(n, np.bool_)
    x, pulls, show = np.empty(r), np.empty(k), np.empty(many)
    for i in range(n):
        due[i] = rounds[i] % period == 0
        rounds[i] += 1
        for j in range(m):
            gain = take_in_row(
                rows[i, j],
                residual[i, j],
                maps,
                seen,
                columns,
                gram[i],
                inverse[i],
                vector[i],
                coordinates[i],
                means[i],
                variances[i],
                signals[i],
                x,
                pulls,
                show,
            )
            due[i] = due[i] or not 1.0 + gain < HIGH_LEVERAGE
            log_det[i] += log1p(gain)
    return (
        gram,
        inverse,
        vector,
        coordinates,
        means,
        variances,
        signals,
        log_det,
        rounds,
        due,
    )


@compiled(allocates=False)
def half_log_det(signal, rest):
    """Return 1/2 log det(I + S) for one matrix S >= 0 (m, m); ``rest`` (m, m) is scratch.

    Elimination in I + S turns S into S - s s' / (1 + S_jj); kept apart from I it keeps its digits,
    however small it is.
    """
    m = len(signal)
    if m == 1:
        return 0.5 * log1p(max(signal[0, 0], 0.0))
    if m == 2:
        minor = signal[0, 0] * signal[1, 1] - signal[0, 1] * signal[1, 0]
        return 0.5 * log1p(max(signal[0, 0] + signal[1, 1] + minor, 0.0))
    total = 0.0
    copy_into(signal, rest)
    for j in range(m):
        pivot = max(rest[j, j], 0.0)
        total += 0.5 * log1p(pivot)
        for p in range(j + 1, m):
            share = rest[p, j] / (1.0 + pivot)
            for q in range(j + 1, m):
                rest[p, q] -= share * rest[j, q]
    return total


@compiled
def half_log_dets(signals):
    """Return 1/2 log det(I + S) for matrices S >= 0 of shape (n, k, m, m), shape (n, k)."""
    n, k, m, _ = signals.shape
    out, rest = np.empty((n, k)), np.empty((m, m))
    for i in range(n):
        for a in range(k):
            out[i, a] = half_log_det(signals[i, a], rest)
    return out


@compiled(allocates=False)
def rotate_in_row(triangle, w, residual, line):
    """Let an upper triangle (r, r + 1) take in one row w (r,) and what it showed, in place.

    The last column is the right-hand side. Givens rotations zero one entry of the row after the
    other, so the triangle stays the orthogonal factor of all rows so far; ``line`` (r + 1,) is
    scratch.
    """
    r = len(w)
    for p in range(r):
        line[p] = w[p]
    line[r] = residual
    for p in range(r):
        if line[p] == 0.0:
            continue
        own = triangle[p]
        length = hypot(own[p], line[p])
        cosine, sine = own[p] / length, line[p] / length
        for q in range(p, r + 1):
            kept = cosine * own[q] + sine * line[q]
            line[q] = cosine * line[q] - sine * own[q]
            own[q] = kept


@compiled
def rotate_in(triangles, rows, residual):
    """Return upper triangles (n, r, r + 1) after one more observation per replicate."""
    n, m, r = rows.shape
    turned, line = triangles.copy(), np.empty(r + 1)
    for i in range(n):
        for j in range(m):
            rotate_in_row(turned[i], rows[i, j], residual[i, j], line)
    return turned

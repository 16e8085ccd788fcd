"""Rank-one updates and closed-form gaps, one replicate after the other."""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered (the same way every time), which lets them run on vector units."""

EXTREMES = FAST | {"nnan"}
"""For least and largest entries only: those of NaN are nobody's business."""

ROUNDING = 4e-15
"""A squared distance below this fraction of the squares it is computed from is zero."""

HIGH_LEVERAGE = 1e4
"""A row that shrinks the uncertainty along it by this factor costs as many digits."""


@compiled(fastmath=EXTREMES)
def largest(values):
    """Return the largest entry."""
    top = values[0]
    for a in range(len(values)):
        top = max(top, values[a])
    return top


@compiled(fastmath=FAST)
def transform(matrix, vector, out):
    """Fill out (r,) with matrix @ vector."""
    for p in range(len(out)):
        entry = 0.0
        for q in range(len(vector)):
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


@compiled(fastmath=FAST)
def inner(left, right):
    """Return <left, right>."""
    total = 0.0
    for p in range(len(left)):
        total += left[p] * right[p]
    return total


@compiled(fastmath=FAST)
def add_outer(matrix, weight, vector, out):
    """Fill out (r, r) with matrix + weight * vector vector'; out may be the matrix itself."""
    for p in range(len(vector)):
        scaled, row, filled = weight * vector[p], matrix[p], out[p]
        for q in range(len(vector)):
            filled[q] = row[q] + scaled * vector[q]


@compiled(fastmath=FAST)
def copy_into(matrix, out):
    """Fill out with a matrix, entry by entry: assigning a slice takes Numba seconds to compile."""
    for p in range(out.shape[0]):
        for q in range(out.shape[1]):
            out[p, q] = matrix[p, q]


@compiled(fastmath=FAST)
def products(features, columns, x, out):
    """Fill out (k,) with features @ x, features (k, r), from their columns (r, k) if there are any.

    Columns are better for few actions (the loop over actions runs on vector units; four columns at
    once, so that out is read less often), rows for many (the features are read once).
    """
    k, r = features.shape
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


@compiled(fastmath=FAST)
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

    With x = W_t^-1 w and c = 1 + <w, x> for a row w (n, m, r) of the action's map: the inverse
    loses x x' / c, the log-determinant gains log c, and every product with features or maps loses
    the outer product of their products with x, divided by c. Where c is large nearly everything is
    lost, and what is left is rounding: such a row has high leverage. Replicates that observed one
    are refreshed, and all of them after a period of rounds.
    """
    n, m, r = rows.shape
    k, many = maps.shape[0], maps.shape[1]
    new_gram, new_inverse = np.empty((n, r, r)), np.empty((n, r, r))
    new_vector, new_log_det = vector.copy(), log_det.copy()
    new_coordinates = coordinates.copy()
    new_rounds = np.empty(n, np.int64)
    due = np.empty(n, np.bool_)
    new_means, new_variances = means.copy(), variances.copy()
    new_signals = signals.copy()
    x = np.empty(r)
    pulls = np.empty(k)
    show = np.empty(many)
    for i in range(n):
        w_t, w_inverse = gram[i], inverse[i]
        own_vector, own_coordinates = new_vector[i], new_coordinates[i]
        own_means, own_variances, own_signals = new_means[i], new_variances[i], new_signals[i]
        new_rounds[i] = rounds[i] + 1
        due[i] = rounds[i] % period == 0
        moved = False
        for j in range(m):
            w = rows[i, j]
            empty = True
            for p in range(r):
                empty = empty and w[p] == 0.0
            if empty:
                continue
            moved = True
            transform(w_inverse, w, x)
            gain = inner(w, x)
            c = 1.0 + gain
            due[i] = due[i] or not c < HIGH_LEVERAGE
            step = (residual[i, j] - inner(w, own_coordinates)) / c
            share = 1.0 / c
            products(seen, columns, x, pulls)
            for a in range(k):
                own_means[a] += step * pulls[a]
                own_variances[a] = max(own_variances[a] - share * pulls[a] * pulls[a], 0.0)
            if many:
                for a in range(k):
                    transform(maps[a], x, show)
                    add_outer(own_signals[a], -share, show, own_signals[a])
            add_outer(w_inverse, -share, x, new_inverse[i])
            add_outer(w_t, 1.0, w, new_gram[i])
            # The next row starts from here.
            w_t, w_inverse = new_gram[i], new_inverse[i]
            for p in range(r):
                own_vector[p] += w[p] * residual[i, j]
                own_coordinates[p] += step * x[p]
            new_log_det[i] += np.log1p(gain)
        if not moved:
            copy_into(gram[i], new_gram[i])
            copy_into(inverse[i], new_inverse[i])
    return (
        new_gram,
        new_inverse,
        new_vector,
        new_coordinates,
        new_means,
        new_variances,
        new_signals,
        new_log_det,
        new_rounds,
        due,
    )


@compiled
def half_log_dets(signals):
    """Return 1/2 log det(I + S) for matrices S >= 0 of shape (n, k, m, m), shape (n, k).

    Elimination in I + S turns S into S - s s' / (1 + S_jj); kept apart from I it keeps its digits,
    however small it is.
    """
    n, k, m, _ = signals.shape
    out = np.empty((n, k))
    rest = np.empty((m, m))
    for i in range(n):
        for a in range(k):
            out[i, a] = 0.0
            copy_into(signals[i, a], rest)
            for j in range(m):
                pivot = max(rest[j, j], 0.0)
                out[i, a] += 0.5 * np.log1p(pivot)
                for p in range(j + 1, m):
                    share = rest[p, j] / (1.0 + pivot)
                    for q in range(j + 1, m):
                        rest[p, q] -= share * rest[j, q]
    return out


@compiled
def rotate_in(triangles, rows, residual):
    """Return upper triangles (n, r, r + 1) after one more observation per replicate.

    The last column is the right-hand side. Givens rotations zero one entry of a new row after the
    other, so the triangle stays the orthogonal factor of all rows so far.
    """
    n, m, r = rows.shape
    turned = triangles.copy()
    line = np.empty(r + 1)
    for i in range(n):
        for j in range(m):
            for p in range(r):
                line[p] = rows[i, j, p]
            line[r] = residual[i, j]
            for p in range(r):
                if line[p] == 0.0:
                    continue
                own = turned[i, p]
                length = np.hypot(own[p], line[p])
                cosine, sine = own[p] / length, line[p] / length
                for q in range(p, r + 1):
                    kept = cosine * own[q] + sine * line[q]
                    line[q] = cosine * line[q] - sine * own[q]
                    own[q] = kept
    return turned


@compiled(fastmath=FAST)
def exact_gaps(means, inverse, beta, centred, apart):
    """Return max over b of means_b - means_a + beta^(1/2) |phi_b - phi_a|, shape (n, k).

    ``centred`` (k, r) are the features minus their mean, which no difference sees: what they have
    in common would only cost digits. ``apart`` (k, k) is the squared distance in directions that no
    observation sees, over lambda.
    """
    n, k = means.shape
    r = centred.shape[1]
    gaps = np.zeros((n, k))
    pulled = np.empty((k, r))
    lengths = np.empty(k)
    for i in range(n):
        radius = np.sqrt(beta[i])
        for a in range(k):
            transform(inverse[i], centred[a], pulled[a])
            lengths[a] = inner(pulled[a], centred[a])
        for a in range(k):
            for b in range(a + 1, k):
                cross = 0.0
                for p in range(r):
                    cross += pulled[a, p] * centred[b, p]
                both = lengths[a] + lengths[b]
                squared = both - 2.0 * cross
                squared = (squared if squared > ROUNDING * both else 0.0) + apart[a, b]
                width = radius * np.sqrt(squared)
                ahead = means[i, b] - means[i, a]
                gaps[i, a] = max(gaps[i, a], ahead + width)
                gaps[i, b] = max(gaps[i, b], width - ahead)
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
            reach[b] = means[b] + radius * np.sqrt(reach[b])
        gaps[a] = max(largest(reach) - means[own], 0.0)
    return gaps


@compiled(fastmath=FAST)
def distances(variances, inverse, seen, columns, g, pulled, out):
    """Fill out (k,) with |phi_a - phi_g|^2 in the norm of W_t^-1; ``pulled`` (r,) is scratch.

    Written with differences, so that it is exactly zero for copies of g.
    """
    transform(inverse, seen[g], pulled)
    products(seen, columns, pulled, out)
    own, cross = variances[g], out[g]
    for a in range(len(out)):
        out[a] = max((variances[a] - own) + 2.0 * (cross - out[a]), 0.0)


@compiled(fastmath=FAST)
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
    greedy = np.empty(n, np.int64)
    pulled = np.empty(r)
    widths = np.empty(k)
    for i in range(n):
        g = 0
        for a in range(1, k):
            if means[i, a] > means[i, g]:
                g = a
        greedy[i] = g
        distances(variances[i], inverse[i], seen, columns, g, pulled, widths)
        for p in range(rest):
            for a in range(k):
                widths[a] += (unseen[a, p] - unseen[g, p]) ** 2 / regularization
        own, out, best = means[i], gaps[i], means[i, g]
        for a in range(k):
            widths[a] = np.sqrt(beta[i] * widths[a])
        for a in range(k):
            out[a] = own[a] + widths[a]
        delta = max(largest(out) - best, 0.0)
        for a in range(k):
            out[a] = delta + best - own[a]
        if not through_mean:
            for a in range(k):
                out[a] = delta + max(best - own[a] + widths[a], 0.0)
        out[g] = delta
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

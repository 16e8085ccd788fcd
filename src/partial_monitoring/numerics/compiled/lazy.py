"""Exact gaps over a ball only where a decision needs them, for one replicate with many actions.

The information ratio does not decrease when a gap grows. So minimise it with lower bounds of the
gaps: if those on the support of the minimiser are exact, it is the minimiser for the exact gaps as
well; otherwise make them exact and start again. The exact gap of one action takes a pass over the
features to bound its pairs and a few support functions. The same pass bounds the gaps of all other
actions from below, by points of both sets on the way from the estimate to the highest point of the
ball, or to that of the ellipsoid; another one by the parameter where the gap is attained.
"""

from __future__ import annotations

import math

import numpy as np

from partial_monitoring.numerics.compiled.ball import (
    BESIDE,
    CLOSEST,
    DIAGONAL,
    POINT,
    PULLED,
    C,
    face,
    pull,
    support,
)
from partial_monitoring.numerics.compiled.bodies import (
    LENGTH,
    MEANS,
    REACH,
    TOWARD,
    UPPER,
    Cut,
    Scratch,
    make_scratch,
    most,
    numbered,
)
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, ROUNDING, inner
from partial_monitoring.numerics.compiled.ratio import minimize_row
from partial_monitoring.numerics.compiled.symmetric import turn, turn_back

NORMS, EXACT, SCALED_GAPS, SCALED_GAINS, CROSS, IN_G, IN_S, FORMS = numbered(13)[5:]
"""More rows of the columns: |phi|^2, whether a gap is exact (1 or 0), scratch of the ratio,
products with G phi_a, with G a and with S a, and |phi|^2 in the norm of G."""

CENTER, TOP, ONE, TWO = numbered(17)[13:]
"""More lines: a in the coordinates of x, the best point minus the centre, and what is multiplied
with all features."""


def make_lazy_scratch(cut: Cut, r: int, k: int) -> Scratch:
    """Return scratch for k actions, whose features are not copied."""
    dim = cut.facets.shape[1]
    small = make_scratch(cut, r, 0)
    return small._replace(lines=np.zeros((17, dim)), columns=np.zeros((13, k)))


@compiled(fastmath=FAST, allocates=False)
def multiply(features, one, two, columns, row, other):
    """Fill two rows with the products of all features (k, D) with two vectors (D,)."""
    k, dim = features.shape
    for b in range(k):
        first, second = 0.0, 0.0
        for j in range(dim):
            first += features[b, j] * one[j]
            second += features[b, j] * two[j]
        columns[row, b] = first
        columns[other, b] = second


@compiled(fastmath=FAST, allocates=False)
def transform(matrix, rest, x, out):
    """Fill out (D,) with diag(matrix, rest I) x."""
    r = len(matrix)
    for j in range(len(x)):
        entry = rest * x[j]
        if j < r:
            entry = 0.0
            for p in range(r):
                entry += matrix[j, p] * x[p]
        out[j] = entry


@compiled(fastmath=FAST, allocates=False)
def bound_others(a, beta, cut, near, widest, variances, columns, lower):
    """Bound how far others may be ahead of a from above, and their own gaps from below.

    From products with S phi_a, phi_a and G phi_a; with room for the rounding of differences.
    ``near`` is (|a|^2, |a|_G^2) of the way a to the centre, ``widest`` at least the largest
    eigenvalue of S.
    """
    radius, (inside, in_g) = cut.radius, near
    room, wide_room = max(radius * radius - inside, 0.0), beta * widest
    for b in range(len(variances)):
        reach = (variances[b] - variances[a]) + 2.0 * (columns[REACH, a] - columns[REACH, b])
        length = (columns[NORMS, b] - columns[NORMS, a]) + 2.0 * (
            columns[LENGTH, a] - columns[LENGTH, b]
        )
        form = (columns[FORMS, b] - columns[FORMS, a]) + 2.0 * (
            columns[CROSS, a] - columns[CROSS, b]
        )
        slack = ROUNDING * (variances[b] + variances[a])
        loose = ROUNDING * (columns[NORMS, b] + columns[NORMS, a])
        ahead = columns[MEANS, b] - columns[MEANS, a]
        toward = columns[TOWARD, b] - columns[TOWARD, a]
        narrow = math.sqrt(beta * (max(reach, 0.0) + slack))
        wide = toward + radius * math.sqrt(max(length, 0.0) + loose)
        columns[UPPER, b] = ahead + min(narrow, wide)
        # The other way round: how far a may be ahead of b.
        if columns[EXACT, b] == 0.0 and reach > 2.0 * slack and length > 2.0 * loose:
            reach, length = reach - slack, length - loose
            form = max(form, 0.0) + ROUNDING * (columns[FORMS, b] + columns[FORMS, a])
            scale = radius / math.sqrt(length)
            away = in_g - 2.0 * scale * (columns[IN_G, b] - columns[IN_G, a])
            away += scale * scale * form
            share = math.sqrt(beta / away) if away > beta else 1.0
            high = share * (scale * length - toward)
            root = math.sqrt(beta * reach)
            along = (columns[IN_S, a] - columns[IN_S, b]) * (beta / root)
            share = (along + math.sqrt(along * along + wide_room * room)) / wide_room
            high = max(high, min(share, 1.0) * root)
            lower[b] = max(lower[b], (high - ahead) * (1.0 - 1e-12))
    columns[UPPER, a] = 0.0


@compiled(allocates=False)
def start_below(beta, cut, near, regularization, slopes, in_gram, farthest, columns, lower):
    """Fill lower bounds of all gaps: at the estimate, and from the competitor that is furthest off.

    Its highest point of the ball is pulled towards the estimate until it is in the ellipsoid. Fills
    the norms of features, too.
    """
    (k, dim), r, radius = slopes.shape, in_gram.shape[1], cut.radius
    best = columns[MEANS, most(columns, MEANS, 0, k)]
    for a in range(k):
        b = farthest[a]
        own, norm, length, form = 0.0, 0.0, 0.0, 0.0
        for j in range(dim):
            c = slopes[b, j] - slopes[a, j]
            norm += slopes[a, j] * slopes[a, j]
            length += c * c
            if j < r:
                own += slopes[a, j] * in_gram[a, j]
                form += c * (in_gram[b, j] - in_gram[a, j])
            else:
                own += regularization * slopes[a, j] * slopes[a, j]
                form += regularization * c * c
        columns[NORMS, a], columns[FORMS, a], columns[EXACT, a] = norm, own, 0.0
        lower[a] = best - columns[MEANS, a]
        if length > 0.0:
            scale = radius / math.sqrt(length)
            along = columns[IN_G, b] - columns[IN_G, a]
            away = near[1] + 2.0 * scale * along + scale * scale * form
            ahead = columns[TOWARD, b] - columns[TOWARD, a] + scale * length
            share = math.sqrt(beta / away) if away > beta else 1.0
            high = columns[MEANS, b] - columns[MEANS, a] + share * ahead
            lower[a] = max(lower[a], high * (1.0 - 1e-12))


@compiled(inline="always", allocates=False)
def raise_others(cut, slopes, offsets, scratch, lower):
    """Raise lower bounds of gaps to those at the best point."""
    lines, columns = scratch.lines, scratch.columns
    turn_back(scratch.root, lines[TOP])
    for j in range(slopes.shape[1]):
        lines[TOP, j] += cut.center[j]
    for b in range(len(slopes)):
        columns[REACH, b] = offsets[b] + inner(slopes[b], lines[TOP])
    best = columns[REACH, most(columns, REACH, 0, len(slopes))]
    best -= 1e-12 * abs(best)  # the point is known to about as many digits
    for b in range(len(slopes)):
        if columns[EXACT, b] == 0.0:
            lower[b] = max(lower[b], best - columns[REACH, b])


@compiled(allocates=False)
def gaps(
    cut,
    gram,
    inverse,
    regularization,
    x,
    beta,
    slopes,
    offsets,
    variances,
    in_gram,
    farthest,
    information,
    kappa,
    zero,
    scratch,
    lower,
):
    """Fill gaps (k,) that give the same distribution as the exact ones over a ball.

    Those on its support are exact, the others are lower bounds of the exact ones. ``variances``
    (k,) are |phi|^2 in the norm of S, ``in_gram`` (k, r) the observed features times G,
    ``farthest`` (k,) the competitors that can be furthest ahead on the ball, and ``zero`` is the
    fraction of the largest gap that is noise.
    """
    k, dim = slopes.shape
    rest, radius, size = 1.0 / regularization, cut.radius, max(beta, 1e-300)
    lines, columns, widest = scratch.lines, scratch.columns, 0.0
    face(cut.center, inverse, regularization, x, scratch.root, lines)
    for j in range(dim):
        lines[CENTER, j] = cut.center[j] - x[j]
        before = abs(lines[BESIDE, j - 1]) if j > 0 else 0.0
        widest = max(widest, lines[DIAGONAL, j] + before + abs(lines[BESIDE, j]))
    multiply(slopes, x, lines[CENTER], columns, MEANS, TOWARD)
    transform(gram, regularization, lines[CENTER], lines[ONE])
    transform(inverse, rest, lines[CENTER], lines[TWO])
    multiply(slopes, lines[ONE], lines[TWO], columns, IN_G, IN_S)
    near = inner(lines[CENTER], lines[CENTER]), inner(lines[CENTER], lines[ONE])
    for b in range(k):
        columns[MEANS, b] += offsets[b]
    start_below(size, cut, near, regularization, slopes, in_gram, farthest, columns, lower)
    a, follow = most(columns, MEANS, 0, k), True
    while True:
        transform(inverse, rest, slopes[a], lines[ONE])
        transform(gram, regularization, slopes[a], lines[TWO])
        multiply(slopes, lines[ONE], lines[TWO], columns, REACH, CROSS)
        for b in range(k):
            columns[LENGTH, b] = inner(slopes[b], slopes[a])
        bound_others(a, size, cut, near, widest, variances, columns, lower)
        best, rival = 0.0, a
        while True:
            b = most(columns, UPPER, 0, k)
            if columns[UPPER, b] <= best:
                break
            for j in range(dim):
                lines[C, j] = slopes[b, j] - slopes[a, j]
            turn(scratch.root, lines[C])
            pull(lines, C, PULLED)
            ahead = columns[MEANS, b] - columns[MEANS, a]
            value = ahead + support(size, radius, best - ahead, CLOSEST, lines)
            if value > best:
                best, rival = value, b
                for j in range(dim):
                    lines[TOP, j] = lines[POINT, j]
            columns[UPPER, b] = 0.0
        lower[a], columns[EXACT, a] = best, 1.0
        if rival != a:
            raise_others(cut, slopes, offsets, scratch, lower)
        if follow and columns[EXACT, rival] == 0.0:
            a, follow = rival, False
            continue
        first, second, share, _, usable = minimize_row(
            lower, information, kappa, True, zero, columns[SCALED_GAPS], columns[SCALED_GAINS]
        )
        follow = True
        if columns[EXACT, first] == 0.0:
            a = first
        elif share > 0.0 and columns[EXACT, second] == 0.0:
            a = second
        else:
            return usable


@compiled(allocates=False)
def gaps_of_each(
    cut,
    gram,
    inverse,
    regularization,
    x,
    beta,
    slopes,
    offsets,
    variances,
    in_gram,
    farthest,
    information,
    kappa,
    zero,
    scratch,
    out,
):
    """Fill the gaps of n replicates, one after the other."""
    for i in range(len(x)):
        gaps(
            cut,
            gram[i],
            inverse[i],
            regularization,
            x[i],
            beta[i],
            slopes,
            offsets,
            variances[i],
            in_gram[i],
            farthest,
            information[i],
            kappa,
            zero,
            scratch,
            out[i],
        )

"""Kernels over arrays with one number per action: widths, gaps, and the pair with the least ratio.

Every kernel is a reduction. The last block to finish does what follows from it, so that the host
launches one kernel after the other without waiting for an answer. The pair rule is that of
``compiled.ratio``: each pass finds the action on which the ratio improves most.
"""

from __future__ import annotations

from math import inf, log1p, sqrt

from numba import cuda

from partial_monitoring.numerics.compiled.ratio import TIE as RELATIVE_TIE
from partial_monitoring.numerics.compiled.ratio import best_share, ratio
from partial_monitoring.numerics.compiled.rivals import expected_gain
from partial_monitoring.numerics.cuda.blocks import (
    FLAG,
    REAL,
    WHOLE,
    WIDE,
    comes_last,
    least_of_block,
    sum_of_block,
)
from partial_monitoring.numerics.cuda.layout import (
    BETA,
    CEILING,
    DONE,
    FIRST,
    GAIN_1,
    GAIN_2,
    GAP_1,
    GAP_2,
    GREEDY,
    IMPROVEMENT,
    KAPPA,
    LIFT,
    MEAN,
    MODE,
    MOST,
    NOISE,
    PART,
    PARTNER,
    PSI,
    RATIO,
    REACH,
    RELAXED,
    ROUND,
    ROUNDING,
    RULE,
    SECOND,
    SLOPE,
    SLOPED,
    SLOT,
    TIE,
    WIDEST,
    ZEROS,
)

ZERO_GAP = 1e-9
"""A gap below this fraction of the largest one counts as zero, as ``policies.ids.ratio`` says."""

TINY = 1e-300


@cuda.jit(device=True)
def squared_distance(variances, cross, slot, a, g):
    """Return |phi_a - phi_g|^2, written with differences: exactly zero for copies of g."""
    apart = (REAL(variances[a]) - variances[g]) + 2.0 * (REAL(cross[slot, g]) - cross[slot, a])
    return max(apart, 0.0)


@cuda.jit
def widths(numbers, variances, means, cross, least, turn, answer):
    """Find delta = max_b means_b - means_g + beta^(1/2) |phi_b - phi_g|."""
    values = cuda.shared.array(WIDE, REAL)
    places = cuda.shared.array(WIDE, WHOLE)
    flag = cuda.shared.array(1, FLAG)
    t, k = cuda.threadIdx.x, len(means)
    g, slot, beta = int(answer[GREEDY]), int(answer[SLOT]), numbers[BETA]
    low = inf
    for a in range(cuda.grid(1), k, cuda.gridsize(1)):
        width = sqrt(beta * squared_distance(variances, cross, slot, a, g))
        low = min(low, -(means[a] + width))
    low, _ = least_of_block(low, 0, 0.0, values, places)
    if t == 0:
        least[0, cuda.blockIdx.x] = low
    if comes_last(turn, flag):
        low = inf
        for b in range(t, cuda.gridDim.x, WIDE):
            low = min(low, least[0, b])
        low, _ = least_of_block(low, 0, 0.0, values, places)
        if t == 0:
            answer[LIFT] = max(-low - means[g], 0.0)


@cuda.jit
def worths(numbers, counted, variances, means, cross, weights, least, turn, answer):
    """Fill weights (k,) with delta_b / |u_b|^2, and find the sum of the delta_b."""
    values = cuda.shared.array(WIDE, REAL)
    flag = cuda.shared.array(1, FLAG)
    t, k = cuda.threadIdx.x, len(means)
    g, slot = int(answer[GREEDY]), int(answer[SLOT])
    noise, reach, now = numbers[NOISE], numbers[REACH], numbers[ROUND]
    total = 0.0
    for a in range(cuda.grid(1), k, cuda.gridsize(1)):
        squared, worth = squared_distance(variances, cross, slot, a, g), 0.0
        if squared <= numbers[ROUNDING] * (REAL(variances[a]) + variances[g]):
            squared = 0.0
        if counted[a] and a != g and squared > 0.0:
            ahead, std = REAL(means[a]) - means[g], noise * sqrt(squared)
            worth = expected_gain(ahead, std) + max(0.0, ahead + reach * std) / now
            total += worth
            worth /= squared
        weights[a] = worth
    total = sum_of_block(total, values)
    if t == 0:
        least[0, cuda.blockIdx.x] = total
    if comes_last(turn, flag):
        total = 0.0
        for b in range(t, cuda.gridDim.x, WIDE):
            total += least[0, b]
        total = sum_of_block(total, values)
        if t == 0:
            answer[LIFT] = total


@cuda.jit
def gather(parts, out):
    """Fill out (d, d) with sums of partial sums (pairs of tiles, blocks, tile, tile)."""
    d, tile, number = out.shape[0], parts.shape[2], cuda.grid(1)
    if number < d * d:
        i, j = number // d, number % d
        tiles = -(-d // tile)
        pair, total = i // tile * tiles + j // tile, 0.0
        for b in range(parts.shape[1]):
            total += parts[pair, b, i % tile, j % tile]
        out[i, j] = total


@cuda.jit
def gaps_and_gains(
    numbers, variances, means, cross, gaps, gains, least, place, turn, answer
):  # fmt: skip
    """Fill gaps and gains (k,), find the least and the largest, and begin to look for the pair.

    For improvements ``gains`` hold phi' Q phi before.
    """
    values = cuda.shared.array(WIDE, REAL)
    places = cuda.shared.array(WIDE, WHOLE)
    flag = cuda.shared.array(1, FLAG)
    t, k = cuda.threadIdx.x, len(means)
    g, slot, rule = int(answer[GREEDY]), int(answer[SLOT]), int(numbers[RULE])
    beta, ceiling, lift = numbers[BETA], numbers[CEILING], answer[LIFT]
    best = REAL(means[g])
    low, where, widest, most = inf, k, 0.0, 0.0
    for a in range(cuda.grid(1), k, cuda.gridsize(1)):
        variance = max(REAL(variances[a]), 0.0)
        behind = best - means[a]
        if rule == IMPROVEMENT:
            gap, gain = max(lift + behind, 0.0), gains[a] / (1.0 + variance)
        else:
            gain = 0.5 * log1p(variance)
            gap = lift
            if a != g and rule == MEAN:
                gap = lift + behind
            if a != g and rule == RELAXED:
                width = sqrt(beta * squared_distance(variances, cross, slot, a, g))
                gap = lift + max(behind + width, 0.0)
            gap = min(gap, ceiling)
        gaps[a], gains[a] = gap, gain
        gap, gain = REAL(gaps[a]), REAL(gains[a])
        if not (gap >= 0.0 and gain >= 0.0 and gain < inf):
            gap = inf
        if gap < low:
            low, where = gap, a
        widest, most = max(widest, gap), max(most, gain)
    low, where = least_of_block(low, where, 0.0, values, places)
    widest, _ = least_of_block(-widest, 0, 0.0, values, places)
    most, _ = least_of_block(-most, 0, 0.0, values, places)
    if t == 0:
        b = cuda.blockIdx.x
        least[0, b], place[b], least[1, b], least[2, b] = low, where, widest, most
    if comes_last(turn, flag):
        low, where, widest, most = inf, k, 0.0, 0.0
        for b in range(t, cuda.gridDim.x, WIDE):
            other, there = least[0, b], int(place[b])
            if other < low or (other == low and there < where):
                low, where = other, there
            widest, most = min(widest, least[1, b]), min(most, least[2, b])
        low, where = least_of_block(low, where, 0.0, values, places)
        widest, _ = least_of_block(widest, 0, 0.0, values, places)
        most, _ = least_of_block(most, 0, 0.0, values, places)
        if t == 0:
            answer[WIDEST], answer[MOST] = -widest, -most
            answer[FIRST], answer[SECOND], answer[PART] = where, where, 0.0
            begin(gaps, gains, numbers[KAPPA], answer)


@cuda.jit
def look(numbers, gaps, gains, least, place, turn, answer):
    """Make one pass over the actions for what the pair needs next."""
    mode = int(answer[MODE])
    if mode == DONE:
        return
    values = cuda.shared.array(WIDE, REAL)
    places = cuda.shared.array(WIDE, WHOLE)
    flag = cuda.shared.array(1, FLAG)
    t, k, kappa = cuda.threadIdx.x, len(gaps), numbers[KAPPA]
    slope, psi, tie, first = answer[SLOPE], answer[PSI], answer[TIE], int(answer[FIRST])
    d1, i1 = scaled_gap(gaps, first, answer), scaled_gain(gains, first, answer)
    low, where = inf, k
    for a in range(cuda.grid(1), k, cuda.gridsize(1)):
        d, i, value = scaled_gap(gaps, a, answer), scaled_gain(gains, a, answer), inf
        if mode == SLOPED:
            value = slope * d - psi * i
        elif mode == ZEROS:
            value = d
        else:
            p = best_share(d1, i1, d, i, kappa)
            if p > 0.0:
                value = ratio(d1 + p * (d - d1), i1 + p * (i - i1), kappa)
        if value < low:
            if value < low - tie:
                where = a
            low = value
    low, where = least_of_block(low, where, tie, values, places)
    if t == 0:
        least[0, cuda.blockIdx.x], place[cuda.blockIdx.x] = low, where
    if comes_last(turn, flag):
        low, where = inf, k
        for b in range(t, cuda.gridDim.x, WIDE):
            other, there = least[0, b], int(place[b])
            if other < low - tie or (other <= low + tie and there < where):
                where = there
            low = min(low, other)
        low, where = least_of_block(low, where, tie, values, places)
        if t == 0:
            follow(gaps, gains, kappa, low, where, answer)


@cuda.jit(device=True)
def scaled_gap(gaps, a, answer):
    """Return a gap in units of the largest one; noise is zero."""
    gap = REAL(gaps[a])
    return gap * (1.0 / max(answer[WIDEST], TINY)) if gap > ZERO_GAP * answer[WIDEST] else 0.0


@cuda.jit(device=True)
def scaled_gain(gains, a, answer):
    """Return an information gain in units of the largest one."""
    return gains[a] * (1.0 / max(answer[MOST], TINY))


@cuda.jit(device=True)
def begin(gaps, gains, kappa, answer):
    """Decide what to look for first."""
    first = int(answer[FIRST])
    answer[TIE] = 0.0
    if not answer[WIDEST] < inf:
        answer[MODE] = DONE
    elif scaled_gap(gaps, first, answer) <= 0.0:
        answer[MODE] = ZEROS
    elif scaled_gain(gains, first, answer) <= 0.0:
        answer[MODE] = PARTNER
    else:
        aim(gaps, gains, kappa, answer)


@cuda.jit(device=True)
def aim(gaps, gains, kappa, answer):
    """Compute the derivative at the pair, which the next pass follows."""
    gap, gain = of_pair(gaps, gains, answer)
    psi = ratio(gap, gain, kappa)
    slope = kappa * (gap if kappa == 2.0 else gap ** (kappa - 1.0))
    answer[SLOPE], answer[PSI], answer[TIE] = slope, psi, RELATIVE_TIE * slope * gap
    answer[MODE] = SLOPED
    if psi == inf:
        finish(gaps, gains, kappa, answer)


@cuda.jit(device=True)
def of_pair(gaps, gains, answer):
    """Return gap and information of the pair, scaled."""
    first, second, share = int(answer[FIRST]), int(answer[SECOND]), answer[PART]
    gap, gain = scaled_gap(gaps, first, answer), scaled_gain(gains, first, answer)
    gap += share * (scaled_gap(gaps, second, answer) - gap)
    gain += share * (scaled_gain(gains, second, answer) - gain)
    return gap, gain


@cuda.jit(device=True)
def follow(gaps, gains, kappa, low, where, answer):
    """Take in what a pass has found, the action ``where`` with the value ``low``."""
    first, second, mode = int(answer[FIRST]), int(answer[SECOND]), int(answer[MODE])
    if mode == ZEROS:
        answer[FIRST], answer[SECOND] = where, where
        finish(gaps, gains, kappa, answer)
        return
    if mode == PARTNER:
        if low < inf:
            d1, i1 = scaled_gap(gaps, first, answer), scaled_gain(gains, first, answer)
            d2, i2 = scaled_gap(gaps, where, answer), scaled_gain(gains, where, answer)
            answer[SECOND], answer[PART] = where, best_share(d1, i1, d2, i2, kappa)
        aim(gaps, gains, kappa, answer)
        return
    gap, gain = of_pair(gaps, gains, answer)
    slope, psi = answer[SLOPE], answer[PSI]
    if not low < slope * gap - psi * gain - answer[TIE]:
        finish(gaps, gains, kappa, answer)
        return
    best, x, y, p = psi, first, second, answer[PART]
    for turn in range(2):
        old = first if turn == 0 else second
        one, two = old, where
        if scaled_gap(gaps, old, answer) > scaled_gap(gaps, where, answer):
            one, two = where, old
        d1, i1 = scaled_gap(gaps, one, answer), scaled_gain(gains, one, answer)
        d2, i2 = scaled_gap(gaps, two, answer), scaled_gain(gains, two, answer)
        q = best_share(d1, i1, d2, i2, kappa)
        value = ratio(d1 + q * (d2 - d1), i1 + q * (i2 - i1), kappa)
        if value < best:
            best, x, y, p = value, one, two, q
    if best >= psi:
        finish(gaps, gains, kappa, answer)
        return
    answer[FIRST], answer[SECOND], answer[PART] = x, y, p
    aim(gaps, gains, kappa, answer)


@cuda.jit(device=True)
def finish(gaps, gains, kappa, answer):
    """Write the answer: the ratio of the pair, gaps and information of its actions."""
    gap, gain = of_pair(gaps, gains, answer)
    value = ratio(gap, gain, kappa)
    if value > 0.0 and value < inf:
        value = value * answer[WIDEST] ** kappa / answer[MOST]
    first, second = int(answer[FIRST]), int(answer[SECOND])
    answer[RATIO], answer[MODE] = value, DONE
    answer[GAP_1], answer[GAIN_1] = gaps[first], gains[first]
    answer[GAP_2], answer[GAIN_2] = gaps[second], gains[second]

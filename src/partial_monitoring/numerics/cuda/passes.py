"""Passes over the table with one number per action: the pair with the least ratio.

Every pass is a reduction over all blocks, after which each block computes for itself what follows
from it, all of them the same. The pair rule is that of ``compiled.ratio``: each pass finds the
action on which the ratio improves most. Gaps and information are computed where they are needed:
the table has gaps beyond LIFT, and variances.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log1p, sqrt
from typing import Any, NamedTuple

import numba
from numba import cuda, uint64

from partial_monitoring.numerics.compiled.ratio import TIE as RELATIVE_TIE
from partial_monitoring.numerics.compiled.ratio import best_share, power, ratio
from partial_monitoring.numerics.compiled.rivals import expected_gain
from partial_monitoring.numerics.cuda.blocks import (
    REAL,
    THREADS,
    WARPS,
    WHOLE,
    least_of_all,
    least_of_block,
    least_value_of_all,
    least_value_of_block,
    resident,
    sum_of_block,
    wait_for_all,
)
from partial_monitoring.numerics.cuda.layout import (
    AGAIN,
    CEILING,
    COUNTED,
    CROSS,
    DONE,
    FIRST,
    FOUND,
    GAIN_1,
    GAIN_2,
    GAINS,
    GAP_1,
    GAP_2,
    GAPS,
    GREEDY,
    KAPPA,
    KEPT,
    LARGE,
    LIFT,
    LIFTS,
    MEANS,
    MODE,
    MOST,
    NOISE,
    PART,
    PARTNER,
    PER_GAIN,
    PER_GAP,
    PSI,
    RATIO,
    REACH,
    ROUND,
    ROUNDING,
    SECOND,
    SLOPE,
    SLOPED,
    TIE,
    VARIANCES,
    WIDE,
    WIDEST,
    ZEROS,
)

ZERO_GAP = 1e-9
"""A gap below this fraction of the largest one counts as zero, as ``policies.ids.ratio`` says."""

TINY = 1e-300

MOST_PASSES = 10_000

AHEAD = 8
"""Actions of a thread whose numbers are read before the first of them is used; the last action is
read again where there are no more."""


class Passes(NamedTuple):
    """What is compiled for one precision."""

    worths: Any
    """A function of a block: what its rivals are worth, and their weights."""
    best_pair: Any
    """A function of a block: the pair with the least ratio, from gaps and variances."""
    pair: Any
    """The kernel that finds it from improvements."""


@lru_cache(maxsize=2)
def passes_for(name: str) -> Passes:
    """Return the passes over "float32" or "float64" numbers."""
    real = getattr(numba, name)

    @cuda.jit(device=True)
    def worths(sent, table, g, k, out, values):
        """Write the weights delta_b / |u_b|^2 of rivals, and the share of a block in their sum."""
        means, variances, cross = table[MEANS], table[VARIANCES], table[CROSS]
        counted, weights = table[COUNTED], table[GAINS]
        noise, reach, now, total = sent[NOISE], sent[REACH], sent[ROUND], 0.0
        for a in range(cuda.grid(1), k, cuda.gridsize(1)):
            apart = (REAL(variances[a]) - variances[g]) + 2.0 * (REAL(cross[g]) - cross[a])
            both, worth = REAL(variances[a]) + variances[g], 0.0
            if counted[a] > 0.0 and a != g and apart > max(sent[ROUNDING] * both, 0.0):
                ahead, std = REAL(means[a]) - means[g], noise * sqrt(apart)
                worth = expected_gain(ahead, std) + max(0.0, ahead + reach * std) / now
                total += worth
                worth /= apart
            weights[a] = worth
        total = sum_of_block(total, values)
        if cuda.threadIdx.x == 0:
            out[KEPT + LIFTS * cuda.gridDim.x + cuda.blockIdx.x] = total

    @cuda.jit(device=True)
    def improvements(table, g, k, out, turn, values):
        """Write gaps beyond LIFT and information, which was phi' Q phi before.

        Returned are LIFT, the largest gap beyond it, and the largest information.
        """
        means, variances, gaps, gains = table[MEANS], table[VARIANCES], table[GAPS], table[GAINS]
        t, b, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        lift, widest, most = 0.0, 0.0, 0.0
        for c in range(t, blocks, THREADS):
            lift += out[KEPT + LIFTS * blocks + c]
        lift = sum_of_block(lift, values)
        for a in range(cuda.grid(1), k, cuda.gridsize(1)):
            gain, gap = gains[a] / (real(1.0) + variances[a]), means[g] - means[a]
            if not (gain >= 0.0 and gain < inf and gap >= 0.0):
                gap = inf
            gaps[a], gains[a] = gap, gain
            widest, most = max(widest, REAL(gap)), max(most, REAL(gain))
        widest = least_value_of_block(-widest, values)
        most = least_value_of_block(-most, values)
        if t == 0:
            out[KEPT + WIDE * blocks + b], out[KEPT + LARGE * blocks + b] = widest, most
        wait_for_all(turn)
        widest = -least_value_of_all(out, KEPT + WIDE * blocks, values)
        return lift, widest, -least_value_of_all(out, KEPT + LARGE * blocks, values)

    @cuda.jit(device=True)
    def best_pair(table, sent, out, turn, k, g, mean, again, values, places):
        """Find the pair with the least ratio, if g with this mean is the greedy action."""
        blocks = cuda.gridDim.x
        lift = max(-least_value_of_all(out, KEPT + LIFTS * blocks, values) - mean, 0.0)
        widest = -least_value_of_all(out, KEPT + WIDE * blocks, values)
        most = information(real(-least_value_of_all(out, KEPT + LARGE * blocks, values)), False)
        gaps, variances, largest = table[CROSS], table[VARIANCES], (lift, widest, most)
        search(sent, gaps, variances, out, turn, k, False, g, again, largest, values, places)

    @resident
    def pair(table, sent, out, turn, k):
        """Find the pair with the least ratio, from improvements."""
        values = cuda.shared.array(WARPS, REAL)
        places = cuda.shared.array(WARPS, WHOLE)
        g, again = int(out[GREEDY]), out[AGAIN]
        largest = improvements(table, g, k, out, turn, values)
        gaps, gains = table[GAPS], table[GAINS]
        search(sent, gaps, gains, out, turn, k, True, g, again, largest, values, places)

    return Passes(worths, best_pair, pair)


@cuda.jit(device=True)
def search(sent, beyond, shown, out, turn, k, improving, g, again, largest, values, places):
    """Find the pair with the least ratio, from gaps beyond LIFT and what actions show.

    ``largest`` are LIFT, the largest gap beyond it, and the largest information.
    """
    answer = cuda.shared.array(KEPT, REAL)
    t, b, blocks, ceiling = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x, sent[CEILING]
    lift, widest, most = largest
    if t == 0:
        for e in range(KEPT):
            answer[e] = 0.0
        answer[GREEDY], answer[AGAIN], answer[LIFT] = g, again, lift
        answer[WIDEST], answer[MOST] = min(lift + widest, ceiling), most
        first = 0 if lift >= ceiling else g  # the first of all if all are the same
        gap, gain = min(lift + beyond[first], ceiling), information(shown[first], improving)
        answer[FIRST], answer[GAP_1], answer[GAIN_1] = first, gap, gain
        answer[SECOND], answer[GAP_2], answer[GAIN_2] = first, gap, gain
        begin(sent[KAPPA], widest < inf, answer)
    cuda.syncthreads()
    for turns in range(MOST_PASSES):
        if answer[MODE] == DONE:
            break
        low, where = look(sent, beyond, shown, k, improving, answer)
        low, where = least_of_block(low, where, answer[TIE], values, places)
        row = KEPT + (FOUND + 2 * (turns % 2)) * blocks  # others may still read what was before
        if t == 0:
            out[row + b], out[row + blocks + b] = low, where
        wait_for_all(turn)
        low, where = least_of_all(out, row, row + blocks, answer[TIE], values, places)
        if t == 0:
            gap = min(lift + beyond[where], ceiling)
            gain = information(shown[where], improving)
            follow(sent[KAPPA], low, where, gap, gain, answer)
        cuda.syncthreads()
    if b == 0:
        for e in range(t, KEPT, THREADS):
            out[e] = answer[e]


@cuda.jit(device=True)
def information(shown, improving):
    """Return the information of an action from its variance; for improvements it is given."""
    return REAL(shown) if improving else 0.5 * REAL(log1p(shown))


@cuda.jit(device=True)
def look(sent, beyond, shown, k, improving, answer):
    """Make one pass over the actions of a thread for what the pair needs next."""
    if answer[MODE] == SLOPED:
        return steepest(sent[CEILING], beyond, shown, k, improving, answer)
    kappa, low, where = sent[KAPPA], inf, k
    d1, i1 = scaled(answer[GAP_1], answer[GAIN_1], answer)
    for a in range(cuda.grid(1), k, cuda.gridsize(1)):
        gap = min(answer[LIFT] + beyond[a], sent[CEILING])
        d, i = scaled(gap, information(shown[a], improving), answer)
        value = d
        if answer[MODE] == PARTNER:
            p = best_share(d1, i1, d, i, kappa)
            value = ratio(d1 + p * (d - d1), i1 + p * (i - i1), kappa) if p > 0.0 else inf
        if value < low:
            low, where = value, a
    return low, where


@cuda.jit(device=True)
def steepest(ceiling, beyond, shown, k, improving, answer):
    """Return the least derivative of the actions of a thread, and the first with it.

    Only those below the derivative of the pair matter. Logarithms, log(1 + v) <= v, are computed
    only where an action may be one of them.
    """
    lift, tie, where = answer[LIFT], answer[TIE], k - 1
    zero, slope = ZERO_GAP * answer[WIDEST], answer[SLOPE] * answer[PER_GAP]
    psi = answer[PSI] * answer[PER_GAIN]
    rate = psi if improving else 0.5 * psi
    gap, gain = of_pair(answer)
    low = answer[SLOPE] * gap - answer[PSI] * gain
    own_beyond = cuda.local.array(AHEAD, beyond.dtype)
    own_shown = cuda.local.array(AHEAD, beyond.dtype)
    for start in range(cuda.grid(1), k, AHEAD * cuda.gridsize(1)):
        for u in range(AHEAD):
            a = uint64(min(start + u * cuda.gridsize(1), k - 1))  # not tested for being negative
            own_beyond[u], own_shown[u] = beyond[a], shown[a]
        for u in range(AHEAD):
            gap = min(lift + own_beyond[u], ceiling)
            cost = slope * gap if gap > zero else 0.0
            if cost - rate * own_shown[u] < low:
                value = cost - psi * information(own_shown[u], improving)
                if value < low - tie:
                    where = min(start + u * cuda.gridsize(1), k - 1)
                low = min(low, value)
    return low, where


@cuda.jit(device=True)
def scaled(gap, gain, answer):
    """Return a gap and information in units of the largest ones; noise is zero."""
    d = gap * answer[PER_GAP] if gap > ZERO_GAP * answer[WIDEST] else 0.0
    return d, gain * answer[PER_GAIN]


@cuda.jit(device=True)
def begin(kappa, usable, answer):
    """Decide what to look for first."""
    answer[PER_GAP], answer[PER_GAIN] = (
        1.0 / max(answer[WIDEST], TINY),
        1.0 / max(answer[MOST], TINY),
    )
    d, i = scaled(answer[GAP_1], answer[GAIN_1], answer)
    answer[TIE] = 0.0
    if not usable:
        answer[WIDEST], answer[MODE] = inf, DONE
    elif d <= 0.0:
        answer[MODE] = ZEROS
    elif i <= 0.0:
        answer[MODE] = PARTNER
    else:
        aim(kappa, answer)


@cuda.jit(device=True)
def of_pair(answer):
    """Return gap and information of the pair, scaled."""
    d1, i1 = scaled(answer[GAP_1], answer[GAIN_1], answer)
    d2, i2 = scaled(answer[GAP_2], answer[GAIN_2], answer)
    return d1 + answer[PART] * (d2 - d1), i1 + answer[PART] * (i2 - i1)


@cuda.jit(device=True)
def aim(kappa, answer):
    """Compute the derivative at the pair, which the next pass follows."""
    gap, gain = of_pair(answer)
    psi = ratio(gap, gain, kappa)
    slope = kappa * (gap if kappa == 2.0 else gap ** (kappa - 1.0))
    answer[SLOPE], answer[PSI], answer[TIE] = slope, psi, RELATIVE_TIE * slope * gap
    answer[MODE] = SLOPED
    if psi == inf:
        finish(kappa, answer)


@cuda.jit(device=True)
def follow(kappa, low, where, gap, gain, answer):
    """Take in what a pass has found: the action ``where`` with the value ``low``."""
    d, i = scaled(gap, gain, answer)
    d1, i1 = scaled(answer[GAP_1], answer[GAIN_1], answer)
    d2, i2 = scaled(answer[GAP_2], answer[GAIN_2], answer)
    mode = int(answer[MODE])
    if mode == ZEROS:
        answer[FIRST], answer[GAP_1], answer[GAIN_1] = where, gap, gain
        answer[SECOND], answer[GAP_2], answer[GAIN_2] = where, gap, gain
        finish(kappa, answer)
        return
    if mode == PARTNER:
        if low < inf:
            answer[SECOND], answer[GAP_2], answer[GAIN_2] = where, gap, gain
            answer[PART] = best_share(d1, i1, d, i, kappa)
        aim(kappa, answer)
        return
    mean_gap, mean_gain = of_pair(answer)
    slope, psi = answer[SLOPE], answer[PSI]
    if not low < slope * mean_gap - psi * mean_gain - answer[TIE]:
        finish(kappa, answer)
        return
    q1, value1 = mixed(d1, i1, d, i, kappa)
    q2, value2 = mixed(d2, i2, d, i, kappa)
    if not min(value1, value2) < psi:
        finish(kappa, answer)
        return
    if value2 < value1:
        old, share, d1 = (answer[SECOND], answer[GAP_2], answer[GAIN_2]), q2, d2
    else:
        old, share = (answer[FIRST], answer[GAP_1], answer[GAIN_1]), q1
    new = REAL(where), gap, gain
    one, two = (new, old) if d1 > d else (old, new)
    answer[FIRST], answer[GAP_1], answer[GAIN_1] = one
    answer[SECOND], answer[GAP_2], answer[GAIN_2] = two
    answer[PART] = share
    aim(kappa, answer)


@cuda.jit(device=True)
def mixed(d, i, new_d, new_i, kappa):
    """Return how to mix an action with a new one: the share of the larger gap, and the ratio."""
    if d > new_d:
        d, i, new_d, new_i = new_d, new_i, d, i
    share = best_share(d, i, new_d, new_i, kappa)
    return share, ratio(d + share * (new_d - d), i + share * (new_i - i), kappa)


@cuda.jit(device=True)
def finish(kappa, answer):
    """Write the ratio of the pair."""
    gap, gain = of_pair(answer)
    value = ratio(gap, gain, kappa)
    if value > 0.0 and value < inf:
        value = value * power(answer[WIDEST], kappa) / answer[MOST]
    answer[RATIO], answer[MODE] = value, DONE

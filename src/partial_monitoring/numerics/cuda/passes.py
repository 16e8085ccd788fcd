"""Passes over the table with one number per action: gaps, and the pair with the least ratio.

Every pass is a reduction over all blocks, after which each block computes for itself what follows
from it, all of them the same. The pair rule is that of ``compiled.ratio``: each pass finds the
action on which the ratio improves most.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log1p, sqrt
from typing import Any, NamedTuple

import numba
from numba import cuda

from partial_monitoring.numerics.compiled.ratio import TIE as RELATIVE_TIE
from partial_monitoring.numerics.compiled.ratio import best_share, ratio
from partial_monitoring.numerics.compiled.rivals import expected_gain
from partial_monitoring.numerics.cuda.blocks import (
    REAL,
    THREADS,
    WHOLE,
    least_of_all,
    least_of_block,
    least_value_of_all,
    resident,
    sum_of_block,
    wait_for_all,
)
from partial_monitoring.numerics.cuda.layout import (
    BETA,
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
    IMPROVEMENT,
    KAPPA,
    KEPT,
    LARGE,
    LIFT,
    LIFTS,
    LOW,
    LOW_PLACE,
    MEAN,
    MEANS,
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
    VARIANCES,
    WIDE,
    WIDEST,
    ZEROS,
)

ZERO_GAP = 1e-9
"""A gap below this fraction of the largest one counts as zero, as ``policies.ids.ratio`` says."""

TINY = 1e-300

MOST_PASSES = 10_000

AHEAD = 4
"""Actions of a thread whose numbers are read before the first of them is used; the last action is
read again where there are no more."""


class Passes(NamedTuple):
    """What is compiled for one precision."""

    lift: Any
    """A function of a block: its share of LIFT, and the weights of rivals."""
    pair: Any
    """The kernel that finds gaps, information and the best pair."""


@cuda.jit(device=True)
def squared_distance(variances, cross, a, g):
    """Return |phi_a - phi_g|^2, written with differences: exactly zero for copies of g."""
    apart = (REAL(variances[a]) - variances[g]) + 2.0 * (REAL(cross[g]) - cross[a])
    return max(apart, 0.0)


@lru_cache(maxsize=2)
def passes_for(name: str) -> Passes:
    """Return the passes over "float32" or "float64" numbers, which say how precise roots are."""
    real = getattr(numba, name)

    @cuda.jit(device=True)
    def worths(sent, table, g, slot, k):
        """Write weights of rivals, and return the sum of what they are worth for a thread."""
        means, variances, cross = table[MEANS], table[VARIANCES], table[CROSS + slot]
        counted, weights = table[COUNTED], table[GAINS]
        noise, reach, now, total = sent[NOISE], sent[REACH], sent[ROUND], 0.0
        for a in range(cuda.grid(1), k, cuda.gridsize(1)):
            squared, worth = squared_distance(variances, cross, a, g), 0.0
            if squared <= sent[ROUNDING] * (REAL(variances[a]) + variances[g]):
                squared = 0.0
            if counted[a] > 0.0 and a != g and squared > 0.0:
                ahead, std = REAL(means[a]) - means[g], noise * sqrt(squared)
                worth = expected_gain(ahead, std) + max(0.0, ahead + reach * std) / now
                total += worth
                worth /= squared
            weights[a] = worth
        return total

    @cuda.jit(device=True)
    def lift(sent, table, g, slot, k, out, values, places):
        """Write the share of a block in LIFT.

        It is max_b means_b + beta^(1/2) |phi_b - phi_g|, negated; or for improvements the sum of
        delta_b, where delta_b / |u_b|^2 are written, too.
        """
        found = 0.0
        if sent[RULE] == IMPROVEMENT:
            found = sum_of_block(worths(sent, table, g, slot, k), values)
        else:
            means, variances, cross = table[MEANS], table[VARIANCES], table[CROSS + slot]
            root, low = sqrt(sent[BETA]), inf
            most = cuda.local.array(AHEAD, REAL)
            for start in range(cuda.grid(1), k, AHEAD * cuda.gridsize(1)):
                for u in range(AHEAD):
                    a = min(start + u * cuda.gridsize(1), k - 1)
                    apart = squared_distance(variances, cross, a, g)
                    most[u] = means[a] + root * sqrt(real(apart))
                for u in range(AHEAD):
                    low = min(low, -most[u])
            found, _ = least_of_block(low, 0, 0.0, values, places)
        if cuda.threadIdx.x == 0:
            out[KEPT + LIFTS * cuda.gridDim.x + cuda.blockIdx.x] = found

    @cuda.jit(device=True)
    def gaps_and_gains(sent, table, k, answer):
        """Fill gaps and information; return the least gap of a thread, its action, the largest."""
        means, variances, gaps, gains = table[MEANS], table[VARIANCES], table[GAPS], table[GAINS]
        cross, g, lift = table[CROSS + int(answer[SLOT])], int(answer[GREEDY]), answer[LIFT]
        rule, root, ceiling = sent[RULE], sqrt(sent[BETA]), sent[CEILING]
        best = REAL(means[g])
        low, where, widest, most = inf, k, 0.0, 0.0
        for a in range(cuda.grid(1), k, cuda.gridsize(1)):
            variance = max(variances[a], real(0.0))
            behind = best - means[a]
            if rule == IMPROVEMENT:
                gap, gain = max(lift + behind, 0.0), REAL(gains[a]) / (1.0 + REAL(variance))
            else:
                gain = 0.5 * REAL(log1p(variance))
                gap = lift
                if a != g and rule == MEAN:
                    gap = lift + behind
                if a != g and rule == RELAXED:
                    width = root * sqrt(real(squared_distance(variances, cross, a, g)))
                    gap = lift + max(behind + width, 0.0)
                gap = min(gap, ceiling)
            kept_gap, kept_gain = real(gap), real(gain)
            gaps[a], gains[a] = kept_gap, kept_gain
            gap, gain = REAL(kept_gap), REAL(kept_gain)
            if not (gap >= 0.0 and gain >= 0.0 and gain < inf):
                gap = inf
            if gap < low:
                low, where = gap, a
            widest, most = max(widest, gap), max(most, gain)
        return low, where, widest, most

    @resident
    def pair(table, sent, out, turn, k):
        """Fill gaps and information, and find the pair with the least ratio.

        For improvements the row of information holds phi' Q phi before.
        """
        values = cuda.shared.array(THREADS, REAL)
        places = cuda.shared.array(THREADS, WHOLE)
        answer = cuda.shared.array(KEPT, REAL)
        t, b, blocks, kappa = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x, sent[KAPPA]
        gaps, gains = table[GAPS], table[GAINS]
        found, row = 0.0, KEPT + LIFTS * blocks
        if sent[RULE] == IMPROVEMENT:
            for c in range(t, blocks, THREADS):
                found += out[row + c]
            found = sum_of_block(found, values)
        else:
            found = least_value_of_all(out, row, values, places)
            found = max(-found - table[MEANS, int(out[GREEDY])], 0.0)
        for e in range(t, KEPT, THREADS):
            answer[e] = 0.0
        cuda.syncthreads()
        if t == 0:
            answer[GREEDY], answer[SLOT], answer[LIFT] = out[GREEDY], out[SLOT], found
        cuda.syncthreads()
        low, where, widest, most = gaps_and_gains(sent, table, k, answer)
        low, where = least_of_block(low, where, 0.0, values, places)
        widest, _ = least_of_block(-widest, 0, 0.0, values, places)
        most, _ = least_of_block(-most, 0, 0.0, values, places)
        if t == 0:
            out[KEPT + LOW * blocks + b], out[KEPT + LOW_PLACE * blocks + b] = low, where
            out[KEPT + WIDE * blocks + b], out[KEPT + LARGE * blocks + b] = widest, most
        wait_for_all(turn)
        widest = least_value_of_all(out, KEPT + WIDE * blocks, values, places)
        most = least_value_of_all(out, KEPT + LARGE * blocks, values, places)
        row = KEPT + LOW * blocks
        low, where = least_of_all(out, row, row + blocks, 0.0, values, places)
        if t == 0:
            answer[WIDEST], answer[MOST] = -widest, -most
            answer[FIRST], answer[SECOND], answer[PART] = where, where, 0.0
            begin(gaps, gains, kappa, answer)
        cuda.syncthreads()
        for turns in range(MOST_PASSES):
            if answer[MODE] == DONE:
                break
            low, where = look(kappa, gaps, gains, k, answer)
            low, where = least_of_block(low, where, answer[TIE], values, places)
            row = KEPT + (FOUND + 2 * (turns % 2)) * blocks  # others may still read what was before
            if t == 0:
                out[row + b], out[row + blocks + b] = low, where
            wait_for_all(turn)
            low, where = least_of_all(out, row, row + blocks, answer[TIE], values, places)
            if t == 0:
                follow(gaps, gains, kappa, low, where, answer)
            cuda.syncthreads()
        if b == 0:
            for e in range(t, KEPT, THREADS):
                out[e] = answer[e]

    return Passes(lift, pair)


@cuda.jit(device=True)
def look(kappa, gaps, gains, k, answer):
    """Make one pass over the actions of a thread for what the pair needs next."""
    mode = int(answer[MODE])
    slope, psi, tie, first = answer[SLOPE], answer[PSI], answer[TIE], int(answer[FIRST])
    zero, per_gap = ZERO_GAP * answer[WIDEST], 1.0 / max(answer[WIDEST], TINY)
    per_gain = 1.0 / max(answer[MOST], TINY)
    d1, i1 = scaled_gap(gaps, first, answer), scaled_gain(gains, first, answer)
    low, where = inf, k
    own_gaps, own_gains = cuda.local.array(AHEAD, REAL), cuda.local.array(AHEAD, REAL)
    for start in range(cuda.grid(1), k, AHEAD * cuda.gridsize(1)):
        for u in range(AHEAD):
            a = min(start + u * cuda.gridsize(1), k - 1)
            own_gaps[u], own_gains[u] = gaps[a], gains[a]
        for u in range(AHEAD):
            a, gap, i = min(start + u * cuda.gridsize(1), k - 1), own_gaps[u], own_gains[u]
            value, i = inf, i * per_gain
            d = gap * per_gap if gap > zero else 0.0
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
    return low, where


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

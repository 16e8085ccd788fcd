"""The kernel that reads the features of all actions, once or twice.

A row is read by ``LANES`` neighbouring threads, eight bytes each, and several rows at once, so that
much is under way. The inner products meet by exchanges between lanes that halve the number of sums
each time: in the end every lane holds one of them.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, sqrt
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda, int32, uint64

from partial_monitoring.numerics.cuda.blocks import (
    ALL_LANES,
    LANES,
    REAL,
    SIMULATED,
    THREADS,
    WARPS,
    WHOLE,
    halved,
    least_of_all,
    least_of_block,
    passing,
    resident,
    wait_for_all,
)
from partial_monitoring.numerics.cuda.layout import (
    ANCHORED,
    ANCHORS,
    BETA,
    CROSS,
    GREEDY,
    IMPROVEMENT,
    KEPT,
    LARGE,
    LIFTS,
    MEANS,
    RELAXED,
    RULE,
    SENT,
    SHARE,
    SLOT,
    SPARE,
    TOP,
    TOP_PLACE,
    VARIANCES,
    VECTORS,
    WIDE,
)
from partial_monitoring.numerics.cuda.passes import passes_for

GROUPS = THREADS // LANES
"""Rows that a block reads at the same time, times those that a group of lanes does."""

STEPS = LANES.bit_length() - 1
"""Exchanges after which all lanes have met."""

AT_ONCE = LANES // VECTORS
"""Rows that a group of lanes reads at once for all vectors: every lane is left with one product."""

OWN = CROSS + 1
"""What is kept of an anchor: mean, variance, and the product with itself."""

DEPTH = 2
"""Words of each of these rows that a lane reads at once."""


class Words(NamedTuple):
    """Features as the device reads them: words of eight bytes, which are two single numbers."""

    type: Any
    dtype: Any
    """The same as NumPy calls it."""
    held: int
    """Numbers in a word."""
    added: Any
    """added(total, word, vectors, v, place): total and the product with vector v at this word."""
    number: Any
    """number(word, place): one of its numbers."""


@lru_cache(maxsize=2)
def words_of(name: str) -> Words:
    """Return the words of features "float32" or "float64"; numbers themselves if simulated."""
    if name == "float64" or SIMULATED:

        @cuda.jit(device=True)
        def added_number(total, word, vectors, v, place):
            return total + word * vectors[v, place]

        @cuda.jit(device=True)
        def only_number(word, place):
            return word

        return Words(getattr(numba, name), np.dtype(name), 1, added_number, only_number)

    from numba.cuda import libdevice

    @cuda.jit(device=True)
    def added(total, word, vectors, v, place):
        low = libdevice.int_as_float(int32(word))
        high = libdevice.int_as_float(int32(word >> uint64(32)))
        return (total + low * vectors[v, 2 * place]) + high * vectors[v, 2 * place + 1]

    @cuda.jit(device=True)
    def number(word, place):
        return libdevice.int_as_float(int32(word >> uint64(32 * place)))

    return Words(uint64, np.dtype(np.uint64), 2, added, number)


class Reads(NamedTuple):
    """The kernels for features of one type and length."""

    sweep: Any
    """Means, variances after an observation, the greedy action, and gaps beyond LIFT."""
    stream: Any
    """The products with one vector, in one read, for the limit that benchmarks show."""


@lru_cache(maxsize=16)
def reads_for(name: str, d: int) -> Reads:
    """Return the kernels for features "float32" or "float64" of length d."""
    real, worths = getattr(numba, name), passes_for(name).worths
    _, _, held, _, number = words_of(name)
    width = -(-d // held)
    columns, padded = -(-width // LANES), width * held
    read_all = reader(name, width, VECTORS, AT_ONCE, min(DEPTH, columns))
    read_one = reader(name, width, 1, LANES, 1)

    @cuda.jit(device=True)
    def beyond(mean, variance, cross, own, root, rule):
        """Return the gap of an action beyond LIFT, and how large its reward may be.

        ``own`` are mean and variance of the greedy action, and its product with itself; ``root`` is
        beta_t^(1/2). The distance is written with differences: exactly zero for copies of it.
        """
        apart = (variance - own[VARIANCES]) + real(2.0) * (own[CROSS] - cross)
        reach = root * sqrt(max(apart, real(0.0)))
        gap = own[MEANS] - mean
        if rule == RELAXED:
            gap += reach
        if not gap >= real(0.0):
            gap = real(0.0) if gap < real(0.0) else real(inf)  # what is no number is nobody's gap
        return gap, mean + reach

    @cuda.jit(device=True)
    def read_rows(features, table, vectors, share, first, lane, sums):
        """Return the product of one row with one vector, both by lane; of x, the variance."""
        before = table[VARIANCES, uint64(first + lane % AT_ONCE)]
        read_all(features, uint64(first * width), vectors, lane, sums)
        if lane // AT_ONCE == VARIANCES:
            return max(before - share * sums[0] * sums[0], real(0.0))
        return sums[0]

    @cuda.jit(device=True)
    def report(out, row, value, values, places):
        """Store the least value of a block."""
        low, _ = least_of_block(value, 0, 0.0, values, places)
        if cuda.threadIdx.x == 0:
            out[KEPT + row * cuda.gridDim.x + cuda.blockIdx.x] = low

    @cuda.jit(device=True)
    def read_again(features, table, sent, out, vectors, product, g, k, group, lane, values, places):
        """Read all rows once more, for gaps beyond LIFT if g, no anchor, is the greedy action."""
        sums = cuda.local.array(LANES, real)
        t, root, rule = cuda.threadIdx.x, real(sqrt(sent[BETA])), int(sent[RULE])
        for p in range(t, d, THREADS):
            total = 0.0
            for q in range(d):
                value = number(features[g * width + q // held], q % held)
                total += sent[SENT + (VECTORS + q) * d + p] * value
            vectors[0, p] = real(total)
        cuda.syncthreads()
        first = g // LANES * LANES
        read_one(features, uint64(first * width), vectors, lane, sums)
        if group == 0 and first + lane == g:
            product[0] = sums[0]
        cuda.syncthreads()
        own = table[MEANS, g], table[VARIANCES, g], product[0]
        most, widest, step = real(-inf), real(0.0), GROUPS * LANES
        for start in range(cuda.blockIdx.x * step, k, cuda.gridDim.x * step):
            first = start + group * LANES
            read_one(features, uint64(first * width), vectors, lane, sums)
            row, value = first + lane, sums[0]
            if rule != IMPROVEMENT:
                mean, variance = table[MEANS, row], table[VARIANCES, row]
                gap, reach = beyond(mean, variance, value, own, root, rule)
                value = gap
                if row < k:
                    most, widest = max(most, reach), max(widest, gap)
            table[SPARE, row] = value
        report(out, LIFTS + ANCHORS, -most, values, places)
        report(out, WIDE + ANCHORS, -widest, values, places)

    @resident
    def sweep(features, table, sent, out, turn, k):
        """Read every row once: its mean, its variance after an observation, gaps beyond LIFT.

        ``sent`` has theta, x = W_t^-1 w and W_t^-1 phi_h of the anchors h: the variance loses
        share <phi, x>^2. If the greedy action is no anchor, all rows are read once more.
        """
        vectors = cuda.shared.array((VECTORS, padded), real)
        anchors = cuda.shared.array((ANCHORS, OWN), real)
        product = cuda.shared.array(1, real)
        values = cuda.shared.array(WARPS, REAL)
        places = cuda.shared.array(WARPS, WHOLE)
        sums = cuda.local.array(LANES, real)
        t, b, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        group, lane, share = t >> STEPS, t & (LANES - 1), real(sent[SHARE])
        v, root, rule = lane // AT_ONCE, real(sqrt(sent[BETA])), int(sent[RULE])
        anchor = max(v - CROSS, 0)
        for e in range(t, VECTORS * padded, THREADS):
            u, c = e // padded, e % padded
            vectors[u, c] = real(sent[SENT + u * d + c]) if c < d else real(0.0)
        cuda.syncthreads()
        for j in range(ANCHORS):
            h = max(int(sent[ANCHORED + j]), 0)
            first = h // AT_ONCE * AT_ONCE
            value = read_rows(features, table, vectors, share, first, lane, sums)
            if group == 0 and first + lane % AT_ONCE == h and (v < CROSS or v == CROSS + j):
                anchors[j, min(v, CROSS)] = value
        wait_for_all(turn)  # then variances may change
        own = anchors[anchor, MEANS], anchors[anchor, VARIANCES], anchors[anchor, CROSS]
        most, where, widest, step = real(-inf), k, real(0.0), GROUPS * AT_ONCE
        for start in range(b * step, k, blocks * step):
            first = start + group * AT_ONCE
            row = first + lane % AT_ONCE
            value = read_rows(features, table, vectors, share, first, lane, sums)
            other = cuda.shfl_xor_sync(ALL_LANES, value, 2 * AT_ONCE)
            another = cuda.shfl_xor_sync(ALL_LANES, other, AT_ONCE)
            found = value
            if v >= CROSS and rule != IMPROVEMENT:
                mean, variance = (other, another) if anchor == 0 else (another, other)
                value, found = beyond(mean, variance, value, own, root, rule)
                if row < k:
                    widest = max(widest, value)
            table[uint64(v), uint64(row)] = value
            if row < k and found > most:
                most, where = found, row
        low, g = least_of_block(-most if v == MEANS else inf, where, 0.0, values, places)
        if t == 0:
            out[KEPT + TOP * blocks + b], out[KEPT + TOP_PLACE * blocks + b] = low, g
        report(out, LARGE, -most if v == VARIANCES else inf, values, places)
        for j in range(ANCHORS):
            report(out, LIFTS + j, -most if v == CROSS + j else inf, values, places)
            report(out, WIDE + j, -widest if v == CROSS + j else inf, values, places)
        wait_for_all(turn)
        row = KEPT + TOP * blocks
        low, g = least_of_all(out, row, row + blocks, 0.0, values, places)
        slot = ANCHORS
        for j in range(ANCHORS):
            if sent[ANCHORED + j] == g:
                slot = j
        if t == 0 and b == 0:
            out[GREEDY], out[SLOT] = g, slot
        if slot == ANCHORS:
            read_again(
                features, table, sent, out, vectors, product, g, k, group, lane, values, places
            )
        if rule == IMPROVEMENT:
            wait_for_all(turn)
            worths(sent, table, g, slot, k, out, values)

    @resident
    def stream(features, table, k):
        """Fill the spare row with the sum of the features of every action."""
        vectors = cuda.shared.array((1, padded), real)
        sums = cuda.local.array(LANES, real)
        t, step = cuda.threadIdx.x, GROUPS * LANES
        group, lane = t >> STEPS, t & (LANES - 1)
        for e in range(t, padded, THREADS):
            vectors[0, e] = real(1.0)
        cuda.syncthreads()
        for start in range(cuda.blockIdx.x * step, k, cuda.gridDim.x * step):
            first = start + group * LANES
            read_one(features, uint64(first * width), vectors, lane, sums)
            table[SPARE, first + lane] = sums[0]

    return Reads(sweep, stream)


def reader(name: str, width: int, count: int, rows: int, depth: int) -> Any:
    """Return a function that multiplies rows with vectors; afterwards lanes hold shares of sums.

    Of the sums, vector by vector and for each row by row, a lane holds count rows / LANES: the
    first of ``sums`` are those that begin with number lane count rows / LANES.
    """
    real = getattr(numba, name)
    word_type, _, _, added, _ = words_of(name)
    columns = -(-width // LANES)
    size = depth * rows
    full = width % (LANES * depth) == 0

    @cuda.jit(device=True)
    def read(features, start, vectors, lane, sums):
        # ``start`` is unsigned, so that places are not tested for being negative
        words = cuda.local.array(size, word_type)
        for i in range(count * rows):
            sums[i] = real(0.0)
        for c in range(0, columns, depth):
            for e in range(depth):
                place = (c + e) * LANES + lane
                if full or place < width:
                    for r in range(rows):
                        words[e * rows + r] = passing(features, start + uint64(place + r * width))
            for e in range(depth):
                place = (c + e) * LANES + lane
                if full or place < width:
                    for r in range(rows):
                        for v in range(count):
                            i = v * rows + r
                            sums[i] = added(sums[i], words[e * rows + r], vectors, v, place)
        for s in range(STEPS):
            halved(sums, count * rows >> (s + 1), lane, LANES >> (s + 1))

    return read

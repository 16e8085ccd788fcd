"""The kernel that reads the features of all actions, once or twice, and decides.

A row is read by ``LANES`` neighbouring threads, eight bytes each, and several rows at once; the
next ones are on their way while the inner products meet by exchanges between lanes, which halve the
number of sums each time: in the end every lane holds the products of one row.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, isqrt, sqrt
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
    least_value_of_block,
    passing,
    resident,
    wait_for_all,
)
from partial_monitoring.numerics.cuda.layout import (
    AGAIN,
    ANCHOR,
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

AT_ONCE = isqrt(LANES)
"""Rows that a group of lanes reads at once for all vectors; after as many times every lane is left
with the products of one row."""

PRODUCTS = VECTORS * AT_ONCE
"""Their sums."""

HALF = STEPS // 2
"""Exchanges after each of these times, and as many after the last."""

TWICE = LANES // 2
"""Rows that it reads at once for two vectors: every lane is left with one product."""

OWN = CROSS + 1
"""What is kept of the anchor: mean, variance, and the product with itself."""

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


class Reader(NamedTuple):
    """How a group of lanes multiplies rows with vectors."""

    fetch: Any
    """Read the first words of the rows."""
    multiply: Any
    """Multiply these and all others with the vectors; lanes have sums of their own."""
    read: Any
    """Do both, and add the sums of all lanes."""


@lru_cache(maxsize=16)
def reads_for(name: str, d: int) -> Reads:
    """Return the kernels for features "float32" or "float64" of length d."""
    real, (worths, best_pair, _) = getattr(numba, name), passes_for(name)
    word_type, _, held, _, number = words_of(name)
    width = -(-d // held)
    padded = width * held
    fetch, multiply, _ = reader(name, width, VECTORS, AT_ONCE, AT_ONCE, DEPTH)
    read_two = reader(name, width, 2, TWICE, 1, DEPTH).read
    read_one = reader(name, width, 1, LANES, 1, 1).read

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
    def read_rows(features, first, after, vectors, lane, words, sums, found):
        """Multiply LANES rows from ``first`` on, fetched before, and fetch those from ``after`` on.

        They are on their way while lanes exchange sums. ``found`` has the products of one row.
        """
        for j in range(AT_ONCE):
            multiply(features, (first + j) * width, vectors, lane, words, sums)
            following = first + j + 1 if j + 1 < AT_ONCE else after
            fetch(features, following * width, 0, lane, words)
            for s in range(HALF):
                halved(sums, PRODUCTS >> (s + 1), lane, LANES >> (s + 1))
            for v in range(VECTORS):
                found[j * VECTORS + v] = sums[v]
        for s in range(HALF):
            halved(found, PRODUCTS >> (s + 1), lane, AT_ONCE >> (s + 1))

    @cuda.jit(device=True)
    def report(out, row, value, values):
        """Store the least value of a block."""
        low = least_value_of_block(value, values)
        if cuda.threadIdx.x == 0:
            out[KEPT + row * cuda.gridDim.x + cuda.blockIdx.x] = low

    @cuda.jit(device=True)
    def read_again(features, table, sent, out, vectors, g, highest, k, group, lane, values):
        """Read all rows once more, for gaps beyond LIFT if g, no anchor, is the greedy action."""
        product = cuda.shared.array(1, real)
        words, sums = cuda.local.array(LANES, word_type), cuda.local.array(LANES, real)
        t, root, rule = cuda.threadIdx.x, real(sqrt(sent[BETA])), int(sent[RULE])
        for p in range(t, d, THREADS):
            total = 0.0
            for q in range(d):
                value = number(features[g * width + q // held], q % held)
                total += sent[SENT + (VECTORS + q) * d + p] * value
            vectors[1, p] = real(total)
        cuda.syncthreads()
        first, own_row, crossing = g // TWICE * TWICE, lane // 2, lane % 2 == 1
        read_two(features, first * width, vectors, lane, words, sums)
        if group == 0 and crossing and first + own_row == g:
            product[0] = sums[0]
        cuda.syncthreads()
        own = real(highest), table[VARIANCES, g], product[0]
        most, widest, step = real(-inf), real(0.0), GROUPS * TWICE
        for start in range(cuda.blockIdx.x * step, k, cuda.gridDim.x * step):
            first = start + group * TWICE
            read_two(features, first * width, vectors, lane, words, sums)
            row, value = first + own_row, sums[0]
            mean = cuda.shfl_xor_sync(ALL_LANES, value, 1)
            if crossing:
                if rule != IMPROVEMENT:
                    value, reach = beyond(mean, table[VARIANCES, row], value, own, root, rule)
                    if row < k:
                        most, widest = max(most, reach), max(widest, value)
                table[CROSS, row] = value
        report(out, LIFTS, -most, values)
        report(out, WIDE, -widest, values)

    @resident
    def sweep(features, table, sent, out, turn, k):
        """Read every row once, and find the pair with the least ratio, except from improvements.

        ``sent`` has theta, x = W_t^-1 w and W_t^-1 phi_h of the anchor h: the variance loses
        share <phi, x>^2. If the greedy action is not h, all rows are read once more.
        """
        vectors = cuda.shared.array((VECTORS, padded), real)
        anchor = cuda.shared.array(OWN, real)
        values = cuda.shared.array(WARPS, REAL)
        places = cuda.shared.array(WARPS, WHOLE)
        words = cuda.local.array(LANES, word_type)
        sums, found = cuda.local.array(PRODUCTS, real), cuda.local.array(PRODUCTS, real)
        t, b, blocks, step = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x, GROUPS * LANES
        group, lane, share = t >> STEPS, t & (LANES - 1), real(sent[SHARE])
        root, rule, h = real(sqrt(sent[BETA])), int(sent[RULE]), int(sent[ANCHOR])
        for e in range(t, VECTORS * padded, THREADS):
            u, c = e // padded, e % padded
            vectors[u, c] = real(sent[SENT + u * d + c]) if c < d else real(0.0)
        cuda.syncthreads()
        start, first = b * step, h // LANES * LANES
        after = start + group * LANES if start < k else first
        before = table[VARIANCES, first + lane]
        fetch(features, first * width, 0, lane, words)
        read_rows(features, first, after, vectors, lane, words, sums, found)
        if group == 0 and first + lane == h:
            anchor[MEANS], anchor[CROSS] = found[0], found[2]
            anchor[VARIANCES] = max(before - share * found[1] * found[1], real(0.0))
        wait_for_all(turn)  # then variances may change
        own = anchor[MEANS], anchor[VARIANCES], anchor[CROSS]
        top, most, reach, widest, where = real(-inf), real(0.0), real(-inf), real(0.0), 0
        while start < k:
            first, row = start + group * LANES, uint64(start + group * LANES + lane)
            before = table[VARIANCES, row]
            start += blocks * step
            after = start + group * LANES if start < k else first
            read_rows(features, first, after, vectors, lane, words, sums, found)
            mean, product, value = found[0], found[1], found[2]
            variance = max(before - share * product * product, real(0.0))
            table[VARIANCES, row] = variance
            far = real(-inf)
            if rule == IMPROVEMENT:
                table[MEANS, row] = mean
            else:
                value, far = beyond(mean, variance, value, own, root, rule)
            table[CROSS, row] = value
            if first + lane < k:
                most, reach, widest = max(most, variance), max(reach, far), max(widest, value)
                if mean > top:
                    top, where = mean, first + lane
        low, g = least_of_block(-top, where, 0.0, values, places)
        if t == 0:
            out[KEPT + TOP * blocks + b], out[KEPT + TOP_PLACE * blocks + b] = low, g
        report(out, LARGE, -most, values)
        report(out, LIFTS, -reach, values)
        report(out, WIDE, -widest, values)
        wait_for_all(turn)
        row = KEPT + TOP * blocks
        low, g = least_of_all(out, row, row + blocks, 0.0, values, places)
        if g != h:
            read_again(features, table, sent, out, vectors, g, -low, k, group, lane, values)
            wait_for_all(turn)
        if rule != IMPROVEMENT:
            best_pair(table, sent, out, turn, k, g, -low, g != h, values, places)
        else:
            worths(sent, table, g, k, out, values)
            if t == 0 and b == 0:
                out[GREEDY], out[AGAIN] = g, g != h

    @resident
    def stream(features, table, k):
        """Write the sum of the features of every action."""
        vectors = cuda.shared.array((1, padded), real)
        words, sums = cuda.local.array(LANES, word_type), cuda.local.array(LANES, real)
        t, step = cuda.threadIdx.x, GROUPS * LANES
        group, lane = t >> STEPS, t & (LANES - 1)
        for e in range(t, padded, THREADS):
            vectors[0, e] = real(1.0)
        cuda.syncthreads()
        for start in range(cuda.blockIdx.x * step, k, cuda.gridDim.x * step):
            first = start + group * LANES
            read_one(features, first * width, vectors, lane, words, sums)
            table[CROSS, first + lane] = sums[0]

    return Reads(sweep, stream)


def reader(name: str, width: int, count: int, rows: int, apart: int, depth: int) -> Reader:
    """Return functions that multiply rows, so many ``apart``, with vectors.

    The sums are ordered by row, then by vector. If there are as many as lanes, the first of a lane
    is in the end the sum with the number of the lane.
    """
    real, added = getattr(numba, name), words_of(name).added
    columns = -(-width // LANES)
    depth = min(depth, columns)
    full = width % (LANES * depth) == 0

    @cuda.jit(device=True)
    def fetch(features, start, c, lane, words):
        own = features[start + c * LANES + lane :]  # so that other places are known when compiled
        for e in range(depth):
            if full or (c + e) * LANES + lane < width:
                for r in range(rows):
                    words[e * rows + r] = passing(own, e * LANES + r * apart * width)

    @cuda.jit(device=True)
    def multiply(features, start, vectors, lane, words, sums):
        for i in range(count * rows):
            sums[i] = real(0.0)
        for c in range(0, columns, depth):
            if c > 0:
                fetch(features, start, c, lane, words)
            for e in range(depth):
                place = (c + e) * LANES + lane
                if full or place < width:
                    for r in range(rows):
                        for v in range(count):
                            i = r * count + v
                            sums[i] = added(sums[i], words[e * rows + r], vectors, v, place)

    @cuda.jit(device=True)
    def read(features, start, vectors, lane, words, sums):
        fetch(features, start, 0, lane, words)
        multiply(features, start, vectors, lane, words, sums)
        for s in range(STEPS):
            halved(sums, count * rows >> (s + 1), lane, LANES >> (s + 1))

    return Reader(fetch, multiply, read)

"""The kernel that reads the features of all actions, once or twice.

A row is read by ``LANES`` neighbouring threads, eight bytes each, and several rows at once, so that
much is under way. The inner products meet by exchanges between lanes that halve the number of sums
each time: in the end every lane holds one of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda, int32, uint64

from partial_monitoring.numerics.cuda.blocks import (
    LANES,
    REAL,
    SIMULATED,
    THREADS,
    WHOLE,
    halved,
    least_of_all,
    least_of_block,
    resident,
    wait_for_all,
)
from partial_monitoring.numerics.cuda.layout import (
    ANCHORED,
    ANCHORS,
    GREEDY,
    KEPT,
    MEANS,
    SENT,
    SHARE,
    SLOT,
    SPARE,
    TOP,
    TOP_PLACE,
    VARIANCES,
    VECTORS,
)
from partial_monitoring.numerics.cuda.passes import passes_for

GROUPS = THREADS // LANES
"""Rows that a block reads at the same time, times those that a group of lanes does."""

STEPS = LANES.bit_length() - 1
"""Exchanges after which all lanes have met."""

AT_ONCE = max(1, LANES // VECTORS)
"""Rows that a group of lanes reads at once for all vectors: every lane is left with one sum."""

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
    """Means, variances after an observation, products with anchors, the greedy action, and LIFT."""
    stream: Any
    """The products with one vector, in one read, for the limit that benchmarks show."""


@lru_cache(maxsize=16)
def reads_for(name: str, d: int) -> Reads:
    """Return the kernels for features "float32" or "float64" of length d."""
    real, lift = getattr(numba, name), passes_for(name).lift
    _, _, held, _, number = words_of(name)
    width = -(-d // held)
    columns, padded = -(-width // LANES), width * held
    read_all = reader(name, width, VECTORS, AT_ONCE, min(DEPTH, columns))
    read_one = reader(name, width, 1, LANES, 1)
    all_sums, own_sums = VECTORS * AT_ONCE, VECTORS * AT_ONCE // LANES

    @cuda.jit(device=True)
    def read_rows(features, table, out_row, vectors, k, group, lane):
        """Fill a row of the table with the products with the first vector."""
        sums = cuda.local.array(LANES, real)
        step = GROUPS * LANES
        for start in range(cuda.blockIdx.x * step, k, cuda.gridDim.x * step):
            first = start + group * LANES
            read_one(features, uint64(first * width), vectors, lane, sums)
            table[out_row, first + lane] = sums[0]

    @resident
    def sweep(features, table, sent, out, turn, k):
        """Read every row once: its mean, its variance after an observation, its cross products.

        ``sent`` has theta, x = W_t^-1 w and W_t^-1 phi_h of the anchors h: the variance loses
        share <phi, x>^2. If the greedy action is no anchor, all rows are read once more.
        """
        vectors = cuda.shared.array((VECTORS, padded), real)
        values = cuda.shared.array(THREADS, REAL)
        places = cuda.shared.array(THREADS, WHOLE)
        sums = cuda.local.array(all_sums, real)
        before = cuda.local.array(own_sums, real)
        t, b, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        group, lane, share = t >> STEPS, t & (LANES - 1), real(sent[SHARE])
        for e in range(t, VECTORS * padded, THREADS):
            v, c = e // padded, e % padded
            vectors[v, c] = real(sent[SENT + v * d + c]) if c < d else real(0.0)
        cuda.syncthreads()
        best, where = real(-1e30), k
        step = GROUPS * AT_ONCE
        for start in range(b * step, k, blocks * step):
            first = start + group * AT_ONCE
            for h in range(own_sums):
                place = lane * own_sums + h
                if place // AT_ONCE == VARIANCES:
                    before[h] = table[VARIANCES, first + place % AT_ONCE]
            read_all(features, uint64(first * width), vectors, lane, sums)
            for h in range(own_sums):
                place = lane * own_sums + h
                v, row, value = place // AT_ONCE, first + place % AT_ONCE, sums[h]
                if v == VARIANCES:
                    value = max(before[h] - share * value * value, real(0.0))
                table[v, row] = value
                if v == MEANS and row < k and value > best:
                    best, where = value, row
        low, row = least_of_block(-REAL(best), where, 0.0, values, places)
        if t == 0:
            out[KEPT + TOP * blocks + b], out[KEPT + TOP_PLACE * blocks + b] = low, row
        wait_for_all(turn)
        low, g = least_of_all(
            out, KEPT + TOP * blocks, KEPT + TOP_PLACE * blocks, 0.0, values, places
        )
        slot = ANCHORS
        for j in range(ANCHORS):
            if sent[ANCHORED + j] == g:
                slot = j
        if slot == ANCHORS:
            for p in range(t, d, THREADS):
                total = 0.0
                for q in range(d):
                    value = number(features[g * width + q // held], q % held)
                    total += sent[SENT + (VECTORS + q) * d + p] * value
                vectors[0, p] = real(total)
            cuda.syncthreads()
            read_rows(features, table, SPARE, vectors, k, group, lane)
            wait_for_all(turn)
        if t == 0 and b == 0:
            out[GREEDY], out[SLOT] = g, slot
        lift(sent, table, g, slot, k, out, values, places)

    @resident
    def stream(features, table, k):
        """Fill the row of spare products with the sum of the features of every action."""
        vectors = cuda.shared.array((1, padded), real)
        t = cuda.threadIdx.x
        for e in range(t, padded, THREADS):
            vectors[0, e] = real(1.0)
        cuda.syncthreads()
        read_rows(features, table, SPARE, vectors, k, t >> STEPS, t & (LANES - 1))

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
                        words[e * rows + r] = features[start + uint64(place + r * width)]
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

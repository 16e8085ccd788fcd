"""Kernels that read the features of all actions, each of them once.

A row is read by ``LANES`` neighbouring threads, so that a block reads consecutive memory. Each
thread keeps its share of the vectors in registers and adds up its share of the inner products;
these meet in shared memory, where one thread per row finishes them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numba
from numba import cuda

from partial_monitoring.numerics.cuda.blocks import (
    CHUNK,
    EACH,
    FLAG,
    LANES,
    REAL,
    SIDE,
    THREADS,
    TILE,
    WHOLE,
    comes_last,
    least_of_block,
)
from partial_monitoring.numerics.cuda.layout import ANCHORED, ANCHORS, GREEDY, SHARE, SLOT

GROUPS = THREADS // LANES
"""Rows that a block reads at the same time."""

VECTORS = 2 + ANCHORS
"""Inner products of a row: its mean, its product with what was observed, those with anchors."""

APART, CHUNK_APART, SIDE_APART = LANES + 1, CHUNK + 1, SIDE + 1
"""Lengths of rows in shared memory, one longer than they need to be: threads that read one below
the other then use different banks."""


class Reads(NamedTuple):
    """The kernels for features of one type and length."""

    sweep: Any
    """Means, updated variances, products with anchors, and the greedy action, in one read."""
    cross: Any
    """Products with the greedy action, in another read, unless it was an anchor."""
    quadratic: Any
    """phi' M phi of all actions."""
    squares: Any
    """Partial sums of w u u' over actions, u = phi - phi_g."""


@lru_cache(maxsize=16)
def reads_for(name: str, d: int) -> Reads:
    """Return the kernels for features "float32" or "float64" of length d."""
    real = getattr(numba, name)
    columns = -(-d // LANES)
    tiles = -(-d // TILE)

    @cuda.jit
    def sweep(
        features, numbers, vectors, matrix, variances, means, cross, least, place, turn, answer,
        spare,
    ):  # fmt: skip
        """Read every row once: its mean, its variance after an observation, its cross products.

        ``vectors`` are theta, x = W_t^-1 w and W_t^-1 phi_h of the anchors h: the variance loses
        share <phi, x>^2. The last block finds the greedy action; if that is no anchor, it writes
        ``spare`` = W_t^-1 phi_g for another read.
        """
        parts = cuda.shared.array((VECTORS, THREADS, APART), real)
        values = cuda.shared.array(THREADS, REAL)
        places = cuda.shared.array(THREADS, WHOLE)
        flag = cuda.shared.array(1, FLAG)
        own = cuda.local.array((VECTORS, columns), real)
        t, k = cuda.threadIdx.x, features.shape[0]
        group, lane, share = t // LANES, t % LANES, numbers[SHARE]
        for c in range(columns):
            for j in range(VECTORS):
                inside = c * LANES + lane < d
                own[j, c] = real(vectors[j, c * LANES + lane]) if inside else real(0.0)
        best, where = -1e300, k
        for first in range(cuda.blockIdx.x * THREADS, k, cuda.gridDim.x * THREADS):
            for u in range(0, LANES, 2):  # two rows at once: more reads are under way
                line, after = u * GROUPS + group, (u + 1) * GROUPS + group
                row, next_row = min(first + line, k - 1), min(first + after, k - 1)
                one, two, three, four = real(0.0), real(0.0), real(0.0), real(0.0)
                five, six, seven, eight = real(0.0), real(0.0), real(0.0), real(0.0)
                for c in range(columns):
                    if d % LANES == 0 or c * LANES + lane < d:
                        value = features[row, c * LANES + lane]
                        other = features[next_row, c * LANES + lane]
                        one += value * own[0, c]
                        two += value * own[1, c]
                        three += value * own[2, c]
                        four += value * own[3, c]
                        five += other * own[0, c]
                        six += other * own[1, c]
                        seven += other * own[2, c]
                        eight += other * own[3, c]
                parts[0, line, lane], parts[1, line, lane] = one, two
                parts[2, line, lane], parts[3, line, lane] = three, four
                parts[0, after, lane], parts[1, after, lane] = five, six
                parts[2, after, lane], parts[3, after, lane] = seven, eight
            cuda.syncthreads()
            row = first + t
            if row < k:
                one, two, three, four = real(0.0), real(0.0), real(0.0), real(0.0)
                for part in range(LANES):
                    one += parts[0, t, part]
                    two += parts[1, t, part]
                    three += parts[2, t, part]
                    four += parts[3, t, part]
                means[row] = one
                variances[row] = max(variances[row] - share * two * two, 0.0)
                cross[0, row], cross[1, row] = three, four
                if one > best:
                    best, where = REAL(one), row
            cuda.syncthreads()
        value, row = least_of_block(-best, where, 0.0, values, places)
        if t == 0:
            least[cuda.blockIdx.x], place[cuda.blockIdx.x] = value, row
        if comes_last(turn, flag):
            value, row = 1e300, k
            for b in range(t, cuda.gridDim.x, THREADS):
                other, there = least[b], int(place[b])
                if other < value or (other == value and there < row):
                    value, row = other, there
            value, row = least_of_block(value, row, 0.0, values, places)
            slot = ANCHORS
            for j in range(ANCHORS):
                if numbers[ANCHORED + j] == row:
                    slot = j
            if t == 0:
                answer[GREEDY], answer[SLOT] = row, slot
            if slot == ANCHORS:
                for p in range(t, d, THREADS):
                    total = 0.0
                    for q in range(d):
                        total += matrix[p, q] * features[row, q]
                    spare[p] = total

    @cuda.jit
    def cross(features, spare, out, answer):
        """Fill the last row of out with <phi, spare>, unless the greedy action is an anchor."""
        if answer[SLOT] < ANCHORS:
            return
        parts = cuda.shared.array((THREADS, APART), real)
        own = cuda.local.array(columns, real)
        t, k = cuda.threadIdx.x, features.shape[0]
        group, lane = t // LANES, t % LANES
        for c in range(columns):
            inside = c * LANES + lane < d
            own[c] = real(spare[c * LANES + lane]) if inside else real(0.0)
        for first in range(cuda.blockIdx.x * THREADS, k, cuda.gridDim.x * THREADS):
            for u in range(LANES):
                line = u * GROUPS + group
                row = min(first + line, k - 1)
                total = real(0.0)
                for c in range(columns):
                    if d % LANES == 0 or c * LANES + lane < d:
                        total += features[row, c * LANES + lane] * own[c]
                parts[line, lane] = total
            cuda.syncthreads()
            if first + t < k:
                total = real(0.0)
                for part in range(LANES):
                    total += parts[t, part]
                out[ANCHORS, first + t] = total
            cuda.syncthreads()

    @cuda.jit
    def quadratic(features, matrix, out):
        """Fill out (k,) with phi' M phi, for a symmetric matrix M (d, d)."""
        rows = cuda.shared.array((TILE, CHUNK_APART), real)
        block = cuda.shared.array((CHUNK, TILE), real)
        sums = cuda.shared.array((TILE, SIDE_APART), real)
        product = cuda.local.array((EACH, EACH), real)
        forms = cuda.local.array(EACH, real)
        t, k = cuda.threadIdx.x, features.shape[0]
        x, y = t % SIDE, t // SIDE
        for first in range(cuda.blockIdx.x * TILE, k, cuda.gridDim.x * TILE):
            for i in range(EACH):
                forms[i] = real(0.0)
            for right in range(tiles):
                for i in range(EACH):
                    for j in range(EACH):
                        product[i, j] = real(0.0)
                for start in range(0, d, CHUNK):
                    for e in range(t, TILE * CHUNK, SIDE * SIDE):
                        row, column = first + e // CHUNK, start + e % CHUNK
                        inside = row < k and column < d
                        value = features[row, column] if inside else real(0.0)
                        rows[e // CHUNK, e % CHUNK] = value
                    for e in range(t, TILE * CHUNK, SIDE * SIDE):
                        row, column = start + e // TILE, right * TILE + e % TILE
                        inside = row < d and column < d
                        block[e // TILE, e % TILE] = (
                            real(matrix[row, column]) if inside else real(0.0)
                        )
                    cuda.syncthreads()
                    for p in range(CHUNK):
                        for i in range(EACH):
                            left = rows[y + SIDE * i, p]
                            for j in range(EACH):
                                product[i, j] += left * block[p, x + SIDE * j]
                    cuda.syncthreads()
                for i in range(EACH):
                    row = first + y + SIDE * i
                    if row < k:
                        for j in range(EACH):
                            column = right * TILE + x + SIDE * j
                            if column < d:
                                forms[i] += product[i, j] * features[row, column]
            for i in range(EACH):
                sums[y + SIDE * i, x] = forms[i]
            cuda.syncthreads()
            for line in range(t, TILE, SIDE * SIDE):
                if first + line < k:
                    total = real(0.0)
                    for part in range(SIDE):
                        total += sums[line, part]
                    out[first + line] = max(total, real(0.0))
            cuda.syncthreads()

    @cuda.jit
    def squares(features, weights, answer, out):
        """Fill out (pairs of tiles, blocks, TILE, TILE) with partial sums of w u u'.

        A block takes one pair of tiles of columns and every so many rows.
        """
        left = cuda.shared.array((CHUNK, TILE), real)
        right = cuda.shared.array((CHUNK, TILE), real)
        base = cuda.shared.array((2, TILE), real)
        product = cuda.local.array((EACH, EACH), real)
        t, k, g = cuda.threadIdx.x, features.shape[0], int(answer[GREEDY])
        x, y, pair = t % SIDE, t // SIDE, cuda.blockIdx.x
        one, two = pair // tiles * TILE, pair % tiles * TILE
        for c in range(t, TILE, SIDE * SIDE):
            base[0, c] = features[g, one + c] if one + c < d else real(0.0)
            base[1, c] = features[g, two + c] if two + c < d else real(0.0)
        for i in range(EACH):
            for j in range(EACH):
                product[i, j] = real(0.0)
        cuda.syncthreads()
        for first in range(cuda.blockIdx.y * CHUNK, k, cuda.gridDim.y * CHUNK):
            for e in range(t, TILE * CHUNK, SIDE * SIDE):
                line, c = e // TILE, e % TILE
                row = first + line
                weight = weights[row] if row < k else real(0.0)
                mine, other = real(0.0), real(0.0)
                if weight > real(0.0):
                    if one + c < d:
                        mine = weight * (features[row, one + c] - base[0, c])
                    if two + c < d:
                        other = features[row, two + c] - base[1, c]
                left[line, c], right[line, c] = mine, other
            cuda.syncthreads()
            for line in range(CHUNK):
                for i in range(EACH):
                    value = left[line, y + SIDE * i]
                    for j in range(EACH):
                        product[i, j] += value * right[line, x + SIDE * j]
            cuda.syncthreads()
        for i in range(EACH):
            for j in range(EACH):
                out[pair, cuda.blockIdx.y, y + SIDE * i, x + SIDE * j] = product[i, j]

    return Reads(sweep, cross, quadratic, squares)

"""Matrix products with the features of all actions: quadratic forms, and sums of squares.

A block computes a tile of a product, and every thread some rows and columns of it, in registers: in
two halves, so that neighbouring threads read neighbouring numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numba
from numba import cuda, uint64

from partial_monitoring.numerics.cuda.blocks import (
    ALL_LANES,
    REAL,
    SIDE,
    SIMULATED,
    THREADS,
    halved,
    resident,
    wait_for_all,
)
from partial_monitoring.numerics.cuda.layout import GAINS, GREEDY, LARGEST, SENT, VECTORS
from partial_monitoring.numerics.cuda.reads import words_of

ROW_STEP = 2 if SIMULATED else 8
"""Rows that neighbouring threads read: they then write to different banks of shared memory."""

BATCH = 2 if SIMULATED else 8
"""Words that a thread reads before it uses the first of them."""

UNROLLED = 4
"""Terms of a product that are added without counting."""

ALIGNED = 16
"""Bytes of shared memory that are read at once."""

STEPS = SIDE.bit_length() - 1

SQUARED = SIDE * SIDE
"""Threads of a block."""


def each_of(name: str) -> int:
    """Return how many rows, and columns, of a tile a thread computes."""
    return 2 if SIMULATED else {"float32": 8, "float64": 4}[name]


def tile_of(name: str) -> int:
    """Return the number of rows, and columns, of a tile."""
    return SIDE * each_of(name)


class Products(NamedTuple):
    """The kernels for features of one type and length."""

    quadratic: Any
    """phi' M phi of all actions."""
    squares: Any
    """Partial sums of w u u' over actions, u = phi - phi_g."""
    middle: Any
    """Their sum S, and W_t^-1 S W_t^-1."""


@lru_cache(maxsize=16)
def products_for(name: str, d: int) -> Products:
    """Return the kernels for features "float32" or "float64" of length d."""
    real, (word_type, _, held, _, number) = getattr(numba, name), words_of(name)
    each, tile = each_of(name), tile_of(name)
    width, tiles = -(-d // held), -(-d // tile)
    half, words = each // 2, tile // held
    apart = tile + 4  # keeps 16 bytes together and different banks
    stride = tile // 2

    @cuda.jit(device=True)
    def spot(side, i):
        """Return which row or column of a tile is number i of a thread."""
        return i // half * stride + side * half + i % half

    @cuda.jit(device=True)
    def shelf(e):
        """Return row and word of a tile that a thread reads at its place e."""
        q = e // ROW_STEP
        return e % ROW_STEP + q // words * ROW_STEP, q % words

    @cuda.jit
    def quadratic(features, matrix, table, row, k):
        """Fill a row of the table with phi' M phi, for a matrix M (d, d)."""
        rows = cuda.shared.array((tile, apart), real, alignment=ALIGNED)  # transposed
        block = cuda.shared.array((tile, tile), real, alignment=ALIGNED)
        batch = cuda.local.array(BATCH, word_type)
        product = cuda.local.array((each, each), real)
        forms = cuda.local.array(each, real)
        t = cuda.threadIdx.x
        x, y = t & (SIDE - 1), (t >> STEPS) & (SIDE - 1)
        kept = False
        for first in range(cuda.blockIdx.x * tile, k, cuda.gridDim.x * tile):
            for i in range(each):
                forms[i] = real(0.0)
            for right in range(tiles):
                for i in range(each):
                    for j in range(each):
                        product[i, j] = real(0.0)
                for s in range(tiles):
                    left = (right + 1 + s) % tiles  # the columns on the right come last
                    for start in range(t, tile * words, SQUARED * BATCH):
                        for u in range(BATCH):
                            line, word = shelf(start + u * SQUARED)
                            there = min(left * words + word, width - 1)
                            batch[u] = features[uint64((first + line) * width + there)]
                        for u in range(BATCH):
                            line, word = shelf(start + u * SQUARED)
                            inside = left * words + word < width
                            for h in range(held):
                                value = number(batch[u], h) if inside else real(0.0)
                                rows[word * held + h, line] = value
                    if tiles > 1 or not kept:
                        for e in range(t, tile * tile, SQUARED):
                            p, q = left * tile + e // tile, right * tile + e % tile
                            inside = p < d and q < d
                            block[e // tile, e % tile] = real(matrix[p, q]) if inside else real(0.0)
                        kept = True
                    cuda.syncthreads()
                    for start in range(0, tile, UNROLLED):
                        for p in range(UNROLLED):
                            for i in range(each):
                                value = rows[start + p, spot(y, i)]
                                for j in range(each):
                                    product[i, j] += value * block[start + p, spot(x, j)]
                    if s < tiles - 1:
                        cuda.syncthreads()
                for j in range(each):
                    for i in range(each):
                        forms[i] += product[i, j] * rows[spot(x, j), spot(y, i)]
                cuda.syncthreads()
            for s in range(STEPS):
                if each >> (s + 1) > 0:
                    halved(forms, each >> (s + 1), x, SIDE >> (s + 1))
                else:
                    forms[0] += cuda.shfl_xor_sync(ALL_LANES, forms[0], SIDE >> (s + 1))
            for h in range(max(1, each // SIDE)):
                line = spot(y, x * each // SIDE + h)
                table[row, first + line] = max(forms[h], real(0.0))

    @cuda.jit
    def squares(features, table, out, parts, k):
        """Fill parts (pairs of tiles, blocks, tile, tile) with partial sums of w u u'.

        A block takes one pair of tiles of columns and every so many rows.
        """
        left = cuda.shared.array((tile, tile), real, alignment=ALIGNED)
        right = cuda.shared.array((tile, tile), real, alignment=ALIGNED)
        base = cuda.shared.array((2, tile), real)
        batch = cuda.local.array(BATCH, word_type)
        others = cuda.local.array(BATCH, word_type)
        weight = cuda.local.array(BATCH, real)
        product = cuda.local.array((each, each), real)
        t, g, pair = cuda.threadIdx.x, int(out[GREEDY]), cuda.blockIdx.x
        x, y, weights = t & (SIDE - 1), (t >> STEPS) & (SIDE - 1), table[GAINS]
        one, two = pair // tiles * words, pair % tiles * words
        for e in range(t, 2 * tile, SQUARED):
            c = e % tile
            word = (one if e < tile else two) + c // held
            value = real(0.0)
            if word < width:
                value = number(features[g * width + word], c % held)
            base[e // tile, c] = value
        for i in range(each):
            for j in range(each):
                product[i, j] = real(0.0)
        cuda.syncthreads()
        for first in range(cuda.blockIdx.y * tile, k, cuda.gridDim.y * tile):
            for start in range(t, tile * words, SQUARED * BATCH):
                for u in range(BATCH):
                    row, word = first + (start + u * SQUARED) // words, start % words
                    batch[u] = features[uint64(row * width + min(one + word, width - 1))]
                    others[u] = features[uint64(row * width + min(two + word, width - 1))]
                    weight[u] = weights[row] if row < k else real(0.0)
                for u in range(BATCH):
                    line, word = (start + u * SQUARED) // words, start % words
                    for h in range(held):
                        c = word * held + h
                        mine, other = real(0.0), real(0.0)
                        if one + word < width:
                            mine = weight[u] * (number(batch[u], h) - base[0, c])
                        if two + word < width:
                            other = number(others[u], h) - base[1, c]
                        left[line, c], right[line, c] = mine, other
            cuda.syncthreads()
            for start in range(0, tile, UNROLLED):
                for line in range(UNROLLED):
                    for i in range(each):
                        value = left[start + line, spot(y, i)]
                        for j in range(each):
                            product[i, j] += value * right[start + line, spot(x, j)]
            cuda.syncthreads()
        for i in range(each):
            for j in range(each):
                parts[pair, cuda.blockIdx.y, spot(y, i), spot(x, j)] = product[i, j]

    @resident
    def middle(parts, sent, total, turn):
        """Fill total (2, d, d) with the sum S of the partial sums, and W_t^-1 S W_t^-1."""
        sums = cuda.shared.array(THREADS, REAL)
        line = cuda.shared.array(LARGEST, REAL)
        t, inverse, number_of_parts = cuda.threadIdx.x, SENT + VECTORS * d, parts.shape[1]
        columns = min(d, THREADS)
        teams = THREADS // columns
        team, own = t // columns, t % columns
        for i in range(cuda.blockIdx.x, d, cuda.gridDim.x):
            for start in range(0, d, columns):
                j, found = start + own, 0.0
                if team < teams and j < d:
                    pair = i // tile * tiles + j // tile
                    for b in range(team, number_of_parts, teams):
                        found += parts[pair, b, i % tile, j % tile]
                sums[t] = found
                cuda.syncthreads()
                if team == 0 and j < d:
                    for other in range(1, teams):
                        found += sums[other * columns + own]
                    total[0, i, j] = found
                cuda.syncthreads()
        wait_for_all(turn)
        for i in range(cuda.blockIdx.x, d, cuda.gridDim.x):
            for j in range(t, d, THREADS):
                found = 0.0
                for p in range(d):
                    found += sent[inverse + i * d + p] * total[0, p, j]
                line[j] = found
            cuda.syncthreads()
            for j in range(t, d, THREADS):
                found = 0.0
                for p in range(d):
                    found += line[p] * sent[inverse + p * d + j]
                total[1, i, j] = found
            cuda.syncthreads()

    return Products(quadratic, squares, middle)

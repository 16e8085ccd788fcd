"""How threads share work: sizes of blocks, reductions over a block, and who comes last."""

from __future__ import annotations

from numba import config, cuda, float64, int32, int64

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]
"""Whether there is no device: every thread is then one of Python, so there are few of them."""

THREADS = 4 if SIMULATED else 128
"""Threads of a block that reads rows of features, and the rows that it reads at once."""

LANES = 2 if SIMULATED else 8
"""Threads that share a row: neighbours read neighbouring numbers."""

WIDE = 4 if SIMULATED else 256
"""Threads of a block that reads arrays with one number per action."""

SIDE = 2 if SIMULATED else 8
"""Threads along each side of a tile of a matrix product."""

EACH = 2 if SIMULATED else 8
"""Rows, and columns, of a tile that a thread computes."""

TILE = SIDE * EACH
"""Rows, and columns, of a tile."""

CHUNK = 2 if SIMULATED else 16
"""Columns (of a quadratic form) or rows (of a sum of squares) that are in shared memory at once."""

BLOCKS_EACH = 8
"""Blocks per multiprocessor, so that some compute while others wait for memory."""


def block_count(work: int, at_once: int) -> int:
    """Return how many blocks share some work, of which each does ``at_once`` at a time."""
    most = 2
    if not SIMULATED:
        most = BLOCKS_EACH * cuda.get_current_device().MULTIPROCESSOR_COUNT
    return max(1, min(most, -(-work // at_once)))


@cuda.jit(device=True)
def least_of_block(value, place, tie, values, places):
    """Return the least value of a block and the first place where it is, up to a tie.

    ``values`` and ``places`` are shared, one entry per thread, a power of two of them.
    """
    t, size = cuda.threadIdx.x, cuda.blockDim.x
    values[t], places[t] = value, place
    cuda.syncthreads()
    size //= 2
    while size > 0:
        if t < size:
            other, there = values[t + size], places[t + size]
            mine, here = values[t], places[t]
            if other < mine - tie or (other <= mine + tie and there < here):
                places[t] = there
            values[t] = min(mine, other)
        cuda.syncthreads()
        size //= 2
    value, place = values[0], places[0]
    cuda.syncthreads()
    return value, place


@cuda.jit(device=True)
def sum_of_block(value, values):
    """Return the sum of the values of a block; ``values`` is shared, one entry per thread."""
    t, size = cuda.threadIdx.x, cuda.blockDim.x
    values[t] = value
    cuda.syncthreads()
    size //= 2
    while size > 0:
        if t < size:
            values[t] += values[t + size]
        cuda.syncthreads()
        size //= 2
    value = values[0]
    cuda.syncthreads()
    return value


@cuda.jit(device=True)
def comes_last(turn, flag):
    """Whether this block is the last of its grid to get here; ``flag`` (1,) is shared.

    What the others wrote before is then visible. ``turn`` (1,) counts, and is 0 again afterwards.
    """
    cuda.threadfence()
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        flag[0] = cuda.atomic.add(turn, 0, 1) == cuda.gridDim.x - 1
        if flag[0]:
            turn[0] = 0
    cuda.syncthreads()
    last = flag[0]
    cuda.threadfence()
    return last


REAL, WHOLE, FLAG = float64, int64, int32
"""Types of what blocks share."""

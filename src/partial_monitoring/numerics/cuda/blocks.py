"""How threads share work: sizes of blocks, reductions over lanes and blocks, a barrier for all.

A kernel here has one block per multiprocessor, so that all blocks run at the same time and can wait
for each other; matrix products have more, and do not.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from numba import config, cuda, float64, int64

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]
"""Whether there is no device: every thread is then one of Python, so there are few of them."""

THREADS = 4 if SIMULATED else 512
"""Threads of a block."""

WARP = 2 if SIMULATED else 32
"""Threads that exchange numbers without a barrier."""

LANES = 4 if SIMULATED else 16
"""Threads that share a row: neighbours read neighbouring numbers."""

SIDE = 2 if SIMULATED else 8
"""Threads along each side of a tile of a matrix product."""

PRODUCTS_EACH = 1 if SIMULATED else 6
"""Blocks of a matrix product per multiprocessor: some compute while others wait for memory."""

WARPS = THREADS // WARP
"""Warps of a block; in each of them a lane reads what another warp has found."""

ALL_LANES = 0xFFFFFFFF

_LIMITS: dict[str, Any] = {} if SIMULATED else {"max_registers": 128}
resident: Any = cuda.jit(**_LIMITS)
"""Compile a kernel whose blocks all run at the same time: one of them finds room anywhere."""

REAL, WHOLE = float64, int64
"""Types of what blocks share."""


def multiprocessors() -> int:
    """Return how many multiprocessors the device has, which is the number of blocks."""
    return 2 if SIMULATED else int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


def prepared(kernel: Any, blocks: Any, threads: int, *arguments: Any) -> Callable[[Any], None]:
    """Return a function that launches a kernel with these arguments in a stream."""
    own = kernel.specialize(*arguments)
    return lambda stream: own[blocks, threads, stream](*arguments)


def recorded(*calls: Callable[[Any], object]) -> Callable[[], None]:
    """Return a function that repeats what calls put into a stream, and waits for its end.

    They are recorded as a graph, whose launch takes the host some microseconds.
    """
    stream: Any = cuda.stream()

    def call_all() -> None:
        for call in calls:
            call(stream)

    if SIMULATED:
        return call_all
    from numba.cuda.cudadrv import driver as module

    api: Any = module
    handle, driver = int(stream.handle), api.driver
    anything = api.binding.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    driver.cuStreamBeginCapture(handle, anything)
    call_all()
    graph = driver.cuGraphInstantiate(driver.cuStreamEndCapture(handle), 0)

    def replay() -> None:
        driver.cuGraphLaunch(graph, handle)
        stream.synchronize()

    return replay


@cuda.jit(device=True)
def passing(numbers, place):
    """Return a number that is read once: others stay in the caches."""
    return numbers[place] if SIMULATED else cuda.ldcs(numbers, place)


@cuda.jit(device=True)
def wait_for_all(turn):
    """Wait until all blocks are here; what they wrote before is then visible.

    ``turn`` (1,) counts how often a block has come here, in all kernels.
    """
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        before = cuda.atomic.add(turn, 0, 1)
        all_here = (before // cuda.gridDim.x + 1) * cuda.gridDim.x
        while cuda.atomic.add(turn, 0, 0) < all_here:
            pass
        cuda.threadfence()
    cuda.syncthreads()


@cuda.jit(device=True)
def halved(sums, count, lane, apart):
    """Add sums (2 count,) of two lanes so many ``apart``; each keeps a half, the first count."""
    upper = (lane & apart) > 0
    for i in range(count):
        low, high = sums[i], sums[count + i]
        keep = high if upper else low
        give = low if upper else high
        sums[i] = keep + cuda.shfl_xor_sync(ALL_LANES, give, apart)


@cuda.jit(device=True)
def least_of_warp(value, place, tie):
    """Return the least value of a warp and the first place where it is, up to a tie."""
    apart = WARP // 2
    while apart > 0:
        other = cuda.shfl_xor_sync(ALL_LANES, value, apart)
        there = cuda.shfl_xor_sync(ALL_LANES, place, apart)
        if other < value - tie or (other <= value + tie and there < place):
            place = there
        value = min(value, other)
        apart //= 2
    return value, place


@cuda.jit(device=True)
def least_of_block(value, place, tie, values, places):
    """Return the least value of a block and the first place where it is, up to a tie.

    ``values`` and ``places`` are shared, one entry per warp.
    """
    t = cuda.threadIdx.x
    value, place = least_of_warp(REAL(value), WHOLE(place), tie)
    if t % WARP == 0:
        values[t // WARP], places[t // WARP] = value, place
    cuda.syncthreads()
    value, place = values[t % WARPS], places[t % WARPS]
    cuda.syncthreads()
    return least_of_warp(value, place, tie)


@cuda.jit(device=True)
def least_of_all(out, row, place_row, tie, values, places):
    """Return the least value of all blocks, from a row of theirs, and its first place."""
    low, where = inf, 2**62
    for b in range(cuda.threadIdx.x, cuda.gridDim.x, cuda.blockDim.x):
        other, there = out[row + b], int(out[place_row + b])
        if other < low - tie or (other <= low + tie and there < where):
            where = there
        low = min(low, other)
    return least_of_block(low, where, tie, values, places)


@cuda.jit(device=True)
def least_value_of_block(value, values):
    """Return the least value of a block; ``values`` is shared, one entry per warp."""
    t, value, apart = cuda.threadIdx.x, REAL(value), WARP // 2
    while apart > 0:
        value = min(value, cuda.shfl_xor_sync(ALL_LANES, value, apart))
        apart //= 2
    if t % WARP == 0:
        values[t // WARP] = value
    cuda.syncthreads()
    value, apart = values[t % WARPS], WARP // 2
    cuda.syncthreads()
    while apart > 0:
        value = min(value, cuda.shfl_xor_sync(ALL_LANES, value, apart))
        apart //= 2
    return value


@cuda.jit(device=True)
def least_value_of_all(out, row, values):
    """Return the least value of all blocks, from a row of theirs."""
    low = inf
    for b in range(cuda.threadIdx.x, cuda.gridDim.x, cuda.blockDim.x):
        low = min(low, out[row + b])
    return least_value_of_block(low, values)


@cuda.jit(device=True)
def sum_of_block(value, values):
    """Return the sum of the values of a block; ``values`` is shared, one entry per warp."""
    t, apart = cuda.threadIdx.x, WARP // 2
    while apart > 0:
        value += cuda.shfl_xor_sync(ALL_LANES, value, apart)
        apart //= 2
    if t % WARP == 0:
        values[t // WARP] = value
    cuda.syncthreads()
    total = 0.0
    for w in range(WARPS):
        total += values[w]
    cuda.syncthreads()
    return total

"""Measures that survive a noisy machine: the fastest of several repetitions, the most memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter


def fastest(
    call: Callable[[], object],
    *,
    repeat: int = 5,
    seconds: float = 0.2,
    clock: Callable[[], float] = perf_counter,
) -> float:
    """Return the least time of one call, in seconds; short calls are timed in batches."""
    start = clock()
    call()
    once = clock() - start
    batch = max(1, int(seconds / repeat / max(once, 1e-9)))
    best = once
    for _ in range(repeat):
        start = clock()
        for _ in range(batch):
            call()
        best = min(best, (clock() - start) / batch)
    return best


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread, so that the time of the processor tells who did less."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def most_memory(call: Callable[[], object]) -> int:
    """Return the most bytes that a call holds beyond what was there before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def show(seconds: float) -> str:
    """Show a time with its unit.

    >>> show(0.00123)
    '1.23 ms'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"

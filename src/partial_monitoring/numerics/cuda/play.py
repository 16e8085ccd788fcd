"""Whole simulations on a GPU: the compiled rounds of one replicate, one thread each.

The functions that play are those of the processor; numba-cuda compiles the same source. What a
replicate knows lies beside what its neighbours know, number by number, so that threads that read
together read from one place.
"""

# mypy: ignore-errors

from functools import cache

import numpy as np
from numba import cuda

from partial_monitoring.numerics.cuda.blocks import SIMULATED

THREADS = 4 if SIMULATED else 128
"""Threads of a block."""


@cache
def kernel_for(play_one, scratch_row, rule):
    """Return the kernel that plays with these options, which are constants of it."""

    @cuda.jit
    def kernel(world, totals, reached, stop, actions, known, scratch, due):
        i = cuda.grid(1)
        if i < reached.shape[0] and reached[i] < stop:
            own = scratch_row(scratch, i)
            play_one(world, totals, reached, stop, i, actions, known, rule, own, due)

    return kernel


def spread(values):
    """Return a named tuple on the device; arrays with one row per replicate, neighbours together.

    In Fortran's order the first index, that of the replicate, is the fastest.
    """
    moved = (
        cuda.to_device(np.asfortranarray(own)) if isinstance(own, np.ndarray) else own
        for own in values
    )
    return type(values)(*moved)


def shared(values):
    """Return a named tuple on the device that all replicates read."""
    moved = (
        cuda.to_device(np.ascontiguousarray(own)) if isinstance(own, np.ndarray) else own
        for own in values
    )
    return type(values)(*moved)


def room(scratch, count):
    """Return scratch for some replicates, one row each."""
    arrays = (cuda.device_array((count, *own.shape), own.dtype, order="F") for own in scratch)
    return type(scratch)(*arrays)


def fetch(values, into):
    """Copy the arrays of a named tuple from the device into those of the host."""
    for own, host in zip(values, into, strict=True):
        if isinstance(host, np.ndarray) and host.size:
            host[...] = own.copy_to_host()


class OnDevice:
    """A program whose replicates are played on the device, and that of the host beside it."""

    def __init__(self, program, world, totals):
        self.program, self.host, self.totals = program, world, totals
        n = len(world.seeds)
        self.kernel = kernel_for(program.loops.play_one, program.loops.scratch_row, program.rule)
        same = {"kind": world.kind, "width": world.width}
        tables = {
            name: spread_or_shared(getattr(world, name), n)
            for name in world._fields
            if name not in same
        }
        self.world = type(world)(**tables, **same)
        self.sums, self.known = spread(totals), spread(program.known)
        self.actions, self.scratch = shared(program.actions), room(program.scratch(), n)
        self.reached = cuda.to_device(np.zeros(n, dtype=np.int64))
        self.due = cuda.to_device(np.zeros(n, dtype=bool))

    def play(self, stop):
        """Play all replicates until a round; the totals are then those of the host, too."""
        n = self.reached.shape[0]
        while True:
            self.kernel[(n + THREADS - 1) // THREADS, THREADS](
                self.world,
                self.sums,
                self.reached,
                stop,
                self.actions,
                self.known,
                self.scratch,
                self.due,
            )
            rows = np.flatnonzero(self.due.copy_to_host())
            if len(rows) == 0:
                break
            fetch(self.known, self.program.known)
            self.program.settle(rows)
            self.known = spread(self.program.known)
            self.due.copy_to_device(np.zeros(n, dtype=bool))
        fetch(self.sums, self.totals)


def spread_or_shared(values, n):
    """Return a table on the device: one row per replicate, or the same for all."""
    if len(values) == n > 1:
        return cuda.to_device(np.asfortranarray(values))
    return cuda.to_device(np.ascontiguousarray(values))

"""Whole simulations on a GPU: the compiled rounds of one replicate, one thread each.

The functions that play are those of the processor; numba-cuda compiles the same source. Arrays with
one row per replicate lie so that neighbours are side by side, number by number: threads that read
together read from one place. A thread keeps what its replicate knows in memory of its own.
"""

# mypy: ignore-errors

import numpy as np
from numba import cuda

from partial_monitoring.numerics.cuda.blocks import SIMULATED

THREADS = 4 if SIMULATED else 128
"""Threads of a block."""


def threaded(registers):
    """Compile a kernel of which every thread plays one replicate, with at most these registers.

    With fewer registers more threads wait for memory at the same time; with more of them threads
    need less memory, and more of it fits into the caches. Which is faster has been measured.
    """
    return cuda.jit if SIMULATED else cuda.jit(max_registers=registers)


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
    """Return a named tuple on the device whose arrays lie as those of the host."""
    moved = (
        cuda.to_device(np.ascontiguousarray(own)) if isinstance(own, np.ndarray) else own
        for own in values
    )
    return type(values)(*moved)


def world_on_device(world):
    """Return a world on the device: tables with one row per replicate, or the same for all."""
    n, moved = len(world.seeds), []
    for own in world:
        if isinstance(own, np.ndarray):
            each = len(own) == n > 1
            own = cuda.to_device(np.asfortranarray(own) if each else np.ascontiguousarray(own))
        moved.append(own)
    return type(world)(*moved)


def fetch(values, into):
    """Copy the arrays of a named tuple from the device into those of the host."""
    for own, host in zip(values, into, strict=True):
        if host.size:
            host[...] = own.copy_to_host()


class OnDevice:
    """A program whose replicates are played on the device."""

    def __init__(self, program, world, totals):
        self.program, self.totals = program, totals
        n = len(world.seeds)
        self.world, self.sums = world_on_device(world), shared(totals)
        self.states = [spread(own) for own in program.states]
        self.constants = [shared(own) for own in program.constants]
        self.reached = cuda.to_device(np.zeros(n, dtype=np.int64))
        self.due = cuda.to_device(np.zeros(n, dtype=bool))
        self.kernel = program.kernel(world, totals)[(n + THREADS - 1) // THREADS, THREADS]

    def advance(self, stop):
        """Play all replicates until a round."""
        while True:
            states = (*self.states, *self.constants)
            self.kernel(self.world, self.sums, self.reached, stop, *states, self.due)
            rows = np.flatnonzero(self.due.copy_to_host())
            if len(rows) == 0:
                return
            for own, host in zip(self.states, self.program.states, strict=True):
                fetch(own, host)
            self.program.settle(rows)
            self.states = [spread(own) for own in self.program.states]
            self.due.copy_to_device(np.zeros(len(self.due), dtype=bool))

    def collect(self):
        """Bring the totals to the host, where they lie as they do here."""
        for own, host in zip(self.sums, self.totals, strict=True):
            if host.size:
                own.copy_to_host(host)

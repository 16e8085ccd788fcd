"""Information-directed sampling on expected improvements on a GPU."""

# mypy: ignore-errors

from functools import cache

from numba import cuda, float64

from partial_monitoring.numerics.compiled.improvement import Scratch as Weights
from partial_monitoring.numerics.compiled.play_improvement import play_one
from partial_monitoring.numerics.cuda.play import threaded
from partial_monitoring.numerics.cuda.thread import in_thread


@cache
def kernel_for(rule, k, m, r, kind, width, plays):
    """Return the kernel for these options and sizes, which are constants of it."""
    rows = max(m, 1)

    @cuda.jit(device=True)
    def run(world, totals, data, reached, stop, constants, known, scratch, due):
        weights = Weights(
            cuda.local.array(k, float64),
            cuda.local.array(k, float64),
            cuda.local.array(r, float64),
            cuda.local.array((1, r), float64),
            cuda.local.array((r, r), float64),
            cuda.local.array((r, r), float64),
            cuda.local.array((rows, rows), float64),
            cuda.local.array((rows, rows), float64),
        )
        actions, rivals = constants
        own = actions, rivals, known, rule, scratch, weights, due
        play_one(world, totals, data, reached, stop, 0, *own)

    play = in_thread(run, rule, k, m, r, (1, r), kind, width, plays)

    @threaded(168)
    def kernel(world, totals, reached, stop, known, data, actions, rivals, due):
        play(world, totals, reached, stop, known, data, (actions, rivals), due)

    return kernel

"""Information-directed sampling on a GPU, see ``compiled.play_ids``."""

# mypy: ignore-errors

from functools import cache

from numba import cuda

from partial_monitoring.numerics.compiled.play_ids import play_one
from partial_monitoring.numerics.cuda.play import threaded
from partial_monitoring.numerics.cuda.thread import in_thread


@cache
def kernel_for(rule, k, m, r, kind, width, plays):
    """Return the kernel for these options and sizes, which are constants of it."""

    @cuda.jit(device=True)
    def run(world, totals, data, reached, stop, constants, known, scratch, due):
        actions = constants[0]
        play_one(world, totals, data, reached, stop, 0, actions, known, rule, scratch, due)

    play = in_thread(run, rule, k, m, r, (k if rule.gap == 0 else 1, r), kind, width, plays)

    @threaded(255)
    def kernel(world, totals, reached, stop, known, data, actions, due):
        play(world, totals, reached, stop, known, data, (actions,), due)

    return kernel

"""Policies that play what looks best on a GPU, see ``compiled.play_bandits``."""

# mypy: ignore-errors

from functools import cache

from numba import cuda

from partial_monitoring.numerics.compiled.play_bandits import play_one
from partial_monitoring.numerics.cuda.play import threaded
from partial_monitoring.numerics.cuda.thread import in_thread


@cache
def kernel_for(rule, k, m, r, directions, kind, width, plays):
    """Return the kernel for these options and sizes, which are constants of it.

    ``directions`` is the number of directions of Theta.
    """

    @cuda.jit(device=True)
    def run(world, totals, data, reached, stop, constants, known, scratch, due):
        actions = constants[0]
        play_one(world, totals, data, reached, stop, 0, actions, known, rule, scratch, due)

    play = in_thread(run, rule, k, m, r, (1, directions), kind, width, plays)

    @threaded(128)
    def kernel(world, totals, reached, stop, known, data, actions, due):
        play(world, totals, reached, stop, known, data, (actions,), due)

    return kernel

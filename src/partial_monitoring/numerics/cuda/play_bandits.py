"""Policies that play what looks best on a GPU, see ``compiled.play_bandits``."""

# mypy: ignore-errors

from functools import cache

from numba import cuda, float64, int64

from partial_monitoring.numerics.compiled.estimate import Known, Scratch
from partial_monitoring.numerics.compiled.play_bandits import play_one
from partial_monitoring.numerics.cuda.play import threaded
from partial_monitoring.numerics.cuda.play_ids import move


@cache
def kernel_for(rule, k, m, r, width):
    """Return the kernel for these options and sizes, which are constants of it.

    ``width`` is the number of directions of Theta.
    """
    signals, rows = (k if rule.rows else 1), max(m, 1)

    @threaded
    def kernel(world, totals, reached, stop, known, data, actions, due):
        i = cuda.grid(1)
        if i >= reached.shape[0] or reached[i] >= stop:
            return
        own = Known(
            cuda.local.array(1, int64),
            cuda.local.array((1, r, r), float64),
            cuda.local.array((1, r, r), float64),
            cuda.local.array(1, float64),
            cuda.local.array((1, r), float64),
            cuda.local.array((1, r), float64),
            cuda.local.array((1, k), float64),
            cuda.local.array((1, k), float64),
            cuda.local.array((1, signals, rows, rows), float64),
        )
        scratch = Scratch(
            cuda.local.array(k, float64),
            cuda.local.array(1, float64),
            cuda.local.array(k, float64),
            cuda.local.array(k, float64),
            cuda.local.array((1, width), float64),
            cuda.local.array(r, float64),
            cuda.local.array(rows, float64),
            cuda.local.array(rows, float64),
            cuda.local.array((rows, rows), float64),
            cuda.local.array((r, r), float64),
        )
        move(known, i, own, 0)
        play_one(world, totals, data, reached, stop, i, actions, own, 0, rule, scratch, due)
        move(own, 0, known, i)

    return kernel

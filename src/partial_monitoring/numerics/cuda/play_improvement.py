"""Information-directed sampling on expected improvements on a GPU."""

# mypy: ignore-errors

from functools import cache

from numba import cuda, float64, int64

from partial_monitoring.numerics.compiled.estimate import Known, Scratch
from partial_monitoring.numerics.compiled.improvement import Scratch as Weights
from partial_monitoring.numerics.compiled.play_improvement import play_one
from partial_monitoring.numerics.cuda.play import threaded
from partial_monitoring.numerics.cuda.play_ids import move


@cache
def kernel_for(rule, k, m, r):
    """Return the kernel for these options and sizes, which are constants of it."""
    signals, rows, side = (k if rule.rows else 1), max(m, 1), max(r, 1)

    @threaded
    def kernel(world, totals, reached, stop, known, data, actions, rivals, due):
        i = cuda.grid(1)
        if i >= reached.shape[0] or reached[i] >= stop:
            return
        own = Known(
            cuda.local.array(1, int64),
            cuda.local.array((1, side, side), float64),
            cuda.local.array((1, side, side), float64),
            cuda.local.array(1, float64),
            cuda.local.array((1, side), float64),
            cuda.local.array((1, side), float64),
            cuda.local.array((1, k), float64),
            cuda.local.array((1, k), float64),
            cuda.local.array((1, signals, rows, rows), float64),
        )
        scratch = Scratch(
            cuda.local.array(k, float64),
            cuda.local.array(k, float64),
            cuda.local.array(k, float64),
            cuda.local.array(k, float64),
            cuda.local.array((1, side), float64),
            cuda.local.array(side, float64),
            cuda.local.array(rows, float64),
            cuda.local.array(rows, float64),
            cuda.local.array((rows, rows), float64),
            cuda.local.array((side, side), float64),
        )
        weights = Weights(
            cuda.local.array(k, float64),
            cuda.local.array(k, float64),
            cuda.local.array(side, float64),
            cuda.local.array((1, side), float64),
            cuda.local.array((side, side), float64),
            cuda.local.array((side, side), float64),
            cuda.local.array((rows, rows), float64),
            cuda.local.array((rows, rows), float64),
        )
        move(known, i, own, 0)
        play_one(
            world,
            totals,
            data,
            reached,
            stop,
            i,
            actions,
            rivals,
            own,
            0,
            rule,
            scratch,
            weights,
            due,
        )
        move(own, 0, known, i)

    return kernel

"""Information-directed sampling on expected improvements on a GPU."""

# mypy: ignore-errors

from functools import cache

from numba import boolean, cuda, float64, int64, uint64

from partial_monitoring.numerics.compiled.estimate import Data, Known, Scratch
from partial_monitoring.numerics.compiled.improvement import Scratch as Weights
from partial_monitoring.numerics.compiled.play_improvement import play_one
from partial_monitoring.numerics.compiled.random import ROW
from partial_monitoring.numerics.compiled.world import Totals
from partial_monitoring.numerics.cuda.play import threaded
from partial_monitoring.numerics.cuda.play_ids import move
from partial_monitoring.numerics.cuda.thread import (
    keep_numbers,
    move_data,
    move_totals,
    own_world,
)


@cache
def kernel_for(rule, k, m, r, kind, width, plays):
    """Return the kernel for these options and sizes, which are constants of it."""
    signals, rows, side = (k if rule.rows else 1), max(m, 1), max(r, 1)

    counted = max(plays, 1)

    @threaded
    def kernel(world, totals, reached, stop, known, data, actions, rivals, due):
        i = cuda.grid(1)
        if i >= reached.shape[0] or reached[i] >= stop:
            return
        seeds, numbers = cuda.local.array(1, uint64), cuda.local.array((1, 3, ROW), uint64)
        alone = own_world(world, i, kind, width, seeds, numbers)
        sums = Totals(
            cuda.local.array(1, float64),
            cuda.local.array(1, float64),
            cuda.local.array(1, float64),
            cuda.local.array((1, counted), int64)[:, :plays],
        )
        seen = Data(cuda.local.array((1, k), int64), cuda.local.array((1, k, rows), float64))
        done, stopped = cuda.local.array(1, int64), cuda.local.array(1, boolean)
        done[0], stopped[0] = reached[i], False
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
        move_data(data, i, seen, 0)
        move_totals(totals, i, sums, 0)
        play_one(
            alone, sums, seen, done, stop, 0, actions, rivals, own, rule, scratch, weights, stopped
        )
        move(own, 0, known, i)
        move_data(seen, 0, data, i)
        move_totals(sums, 0, totals, i)
        keep_numbers(numbers, world, i)
        reached[i], due[i] = done[0], stopped[0]

    return kernel

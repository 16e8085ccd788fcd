"""One replicate of least squares in a thread: all that a round touches is in memory of its own."""

# mypy: ignore-errors

from numba import boolean, cuda, float64, int64, uint64

from partial_monitoring.numerics.compiled.estimate import Data, Known, Scratch
from partial_monitoring.numerics.compiled.random import ROW
from partial_monitoring.numerics.compiled.world import Totals, World


def in_thread(run, rule, k, m, r, pulled, kind, width, plays):
    """Return a device function that brings a replicate into its thread, plays it and stores it.

    ``run`` plays a world of one replicate. All sizes are constants of the kernel: k actions with at
    most m rows, r coordinates, the shape of what is ``pulled``, how observations are drawn and from
    how many numbers, and of how many actions plays are counted.
    """
    signals, rows, side, counted = (k if rule.rows else 1), max(m, 1), max(r, 1), max(plays, 1)

    @cuda.jit(device=True)
    def play(world, totals, reached, stop, known, data, constants, due):
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
            cuda.local.array(pulled, float64),
            cuda.local.array(side, float64),
            cuda.local.array(rows, float64),
            cuda.local.array(rows, float64),
            cuda.local.array((rows, rows), float64),
            cuda.local.array((side, side), float64),
        )
        move(known, i, own, 0)
        move_data(data, i, seen, 0)
        move_totals(totals, i, sums, 0)
        run(alone, sums, seen, done, stop, constants, own, scratch, stopped)
        move(own, 0, known, i)
        move_data(seen, 0, data, i)
        move_totals(sums, 0, totals, i)
        keep_numbers(numbers, world, i)
        reached[i], due[i] = done[0], stopped[0]

    return play


@cuda.jit(device=True)
def own_world(world, i, kind, width, seeds, numbers):
    """Return the world of replicate i as that of a single one, with its seed and streams."""
    seeds[0] = world.seeds[i]
    for purpose in range(3):
        for j in range(ROW):
            numbers[0, purpose, j] = world.numbers[i, purpose, j]
    first = i if len(world.means) > 1 else 0
    drawn = i if len(world.outcomes) > 1 else 0
    return World(
        seeds,
        numbers,
        kind,
        width,
        world.means[first : first + 1],
        world.sizes,
        world.losses[first : first + 1],
        world.outcomes[drawn : drawn + 1],
        world.signals,
        world.contexts,
    )


@cuda.jit(device=True)
def keep_numbers(numbers, world, i):
    """Store where the streams of replicate i are."""
    for purpose in range(3):
        for j in range(ROW):
            world.numbers[i, purpose, j] = numbers[0, purpose, j]


@cuda.jit(device=True)
def move_totals(totals, i, into, j):
    """Copy the sums of row i into row j of other arrays."""
    into.regret[j], into.gained[j] = totals.regret[i], totals.gained[i]
    into.ratios[j] = totals.ratios[i]
    for a in range(totals.plays.shape[1]):
        into.plays[j, a] = totals.plays[i, a]


@cuda.jit(device=True)
def move_data(data, i, into, j):
    """Copy what row i has seen into row j of other arrays."""
    for a in range(data.plays.shape[1]):
        into.plays[j, a] = data.plays[i, a]
        for p in range(data.sums.shape[2]):
            into.sums[j, a, p] = data.sums[i, a, p]


@cuda.jit(device=True)
def move(known, i, into, j):
    """Copy what row i knows into row j of other arrays."""
    into.round[j], into.log_det[j] = known.round[i], known.log_det[i]
    for p in range(known.vector.shape[1]):
        into.vector[j, p], into.coordinates[j, p] = known.vector[i, p], known.coordinates[i, p]
        for q in range(known.vector.shape[1]):
            into.gram[j, p, q], into.inverse[j, p, q] = known.gram[i, p, q], known.inverse[i, p, q]
    for a in range(known.means.shape[1]):
        into.means[j, a], into.variances[j, a] = known.means[i, a], known.variances[i, a]
    for a in range(known.signals.shape[1]):
        for p in range(known.signals.shape[2]):
            for q in range(known.signals.shape[3]):
                into.signals[j, a, p, q] = known.signals[i, a, p, q]

"""The world of one thread: what it reads and writes in every round is in memory of its own."""

# mypy: ignore-errors

from numba import cuda

from partial_monitoring.numerics.compiled import random
from partial_monitoring.numerics.compiled.world import World


@cuda.jit(device=True)
def own_world(world, i, kind, width, seeds, numbers):
    """Return the world of replicate i as that of a single one, with its seed and streams."""
    seeds[0] = world.seeds[i]
    for purpose in range(3):
        for j in range(random.ROW):
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
        for j in range(random.ROW):
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

"""The anticipating index on a GPU, see ``compiled.play_index``."""

# mypy: ignore-errors

from functools import cache

from numba import boolean, cuda, float64, int64

from partial_monitoring.numerics.compiled.play_index import play_one
from partial_monitoring.numerics.compiled.profile import Known, Scratch
from partial_monitoring.numerics.cuda.play import threaded


@cache
def kernel_for(rule, contexts, actions, r, s, e, k, m):
    """Return the kernel for these options and sizes, which are constants of it.

    The sizes: contexts, actions of all of them, coordinates, signals, directions, actions of the
    whole game, and entries of an observation.
    """

    @threaded(128)
    def kernel(world, totals, reached, stop, known, table, due):
        i = cuda.grid(1)
        if i >= reached.shape[0] or reached[i] >= stop:
            return
        own = Known(
            cuda.local.array(1, int64),
            cuda.local.array((1, contexts), int64),
            cuda.local.array((1, actions), int64),
            cuda.local.array((1, actions), int64),
            cuda.local.array((1, s), float64),
            cuda.local.array((1, r), float64),
            cuda.local.array((1, actions, r), float64),
            cuda.local.array((1, actions), float64),
            cuda.local.array((1, actions), float64),
            cuda.local.array((1, 1), float64),
        )
        scratch = Scratch(
            cuda.local.array((3, s), float64),
            cuda.local.array((2, e), float64),
            cuda.local.array((5, r), float64),
            cuda.local.array((2, r), float64),
            cuda.local.array((3, r, r), float64),
            cuda.local.array(actions, boolean),
            cuda.local.array(contexts, float64),
            cuda.local.array(k, float64),
            cuda.local.array(k, float64),
            cuda.local.array(m, float64),
        )
        move(known, i, own, 0)
        play_one(world, totals, reached, stop, i, table, own, 0, rule, scratch, due)
        move(own, 0, known, i)

    return kernel


@cuda.jit(device=True)
def move(known, i, into, j):
    """Copy what row i knows into row j of other arrays."""
    into.round[j], into.doubt[j, 0] = known.round[i], known.doubt[i, 0]
    for z in range(known.seen.shape[1]):
        into.seen[j, z] = known.seen[i, z]
    for q in range(known.counts.shape[1]):
        into.counts[j, q] = known.counts[i, q]
    for p in range(known.x.shape[1]):
        into.x[j, p] = known.x[i, p]
    for a in range(known.plays.shape[1]):
        into.plays[j, a], into.fresh[j, a] = known.plays[i, a], known.fresh[i, a]
        into.means[j, a], into.worth[j, a] = known.means[i, a], known.worth[i, a]
        for p in range(known.x.shape[1]):
            into.ties[j, a, p] = known.ties[i, a, p]

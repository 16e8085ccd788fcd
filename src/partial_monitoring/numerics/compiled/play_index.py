"""Whole runs of the anticipating index, one replicate after the other."""

# mypy: ignore-errors

import numpy as np

from partial_monitoring.numerics.compiled import index
from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.profile import profile


@compiled(allocates=False)
def probed(world, i, t, share, positions, action):
    """Return the action of a context that is played, a uniform one in some share of rounds."""
    if share == 0.0:
        return action
    worlds.uniform_for_policy(world, i, t)  # nothing depends on it
    count = 0
    for a in range(len(positions)):
        count += positions[a] >= 0
    rank = worlds.probe(world, i, t, share, count)
    for a in range(len(positions)):
        if rank >= 0 and positions[a] >= 0:
            if rank == 0:
                return a
            rank -= 1
    return action


@compiled(allocates=False)
def play_one(world, totals, reached, stop, i, table, known, row, rule, scratch, due):
    """Play replicate i until round ``stop``; none is ever due to be refreshed elsewhere.

    What it knows is in some row, on a processor in its own one.
    """
    own, costs, saved, shown = index.one(known, row), scratch.costs, scratch.saved, scratch.shown
    for t in range(reached[i], stop):
        worlds.start_round(world, i, t)
        z, rounds = worlds.context(world, i, t), known.round[row]
        action = index.decide(
            rule, table.positions[z], table.pareto, own.means, own.worth, own.doubt[0], rounds,
            costs, saved,
        )  # fmt: skip
        action = probed(world, i, t, rule.probe, table.positions[z], action)
        worlds.observe(world, i, z, action, t, shown)
        if index.take_in(table, own, rounds, z, action, shown):
            profile(table, own, scratch)
        lost = worlds.loss(world, i, z, action)
        worlds.count(totals, i, action, lost, table.unit * saved[action], np.nan)
        reached[i] = t + 1
        known.round[row] = min(rounds + 1, table.memory)


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, table, known, rule, scratch, due):
    """Play replicates ``first`` to before ``last``, which share the scratch."""
    for i in range(first, last):
        play_one(world, totals, reached, stop, i, table, known, i, rule, scratch, due)

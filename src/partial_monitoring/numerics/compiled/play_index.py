"""Whole runs of the anticipating index, one replicate after the other."""

# mypy: ignore-errors

import numpy as np

from partial_monitoring.numerics.compiled import index
from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.profile import Scratch


@compiled(allocates=False)
def scratch_row(scratch, i):
    """Return the room of replicate i, out of that of many."""
    return Scratch(
        scratch.lines[i], scratch.slopes[i], scratch.vectors[i], scratch.pivots[i],
        scratch.matrices[i], scratch.refined[i], scratch.chances[i], scratch.costs[i],
        scratch.saved[i], scratch.shown[i],
    )  # fmt: skip


@compiled(allocates=False)
def play_one(world, totals, reached, stop, i, table, known, rule, scratch, due):
    """Play replicate i until round ``stop``; no replicate is ever due to be refreshed elsewhere."""
    own, costs, saved, shown = index.one(known, i), scratch.costs, scratch.saved, scratch.shown
    for t in range(reached[i], stop):
        worlds.start_round(world, i, t)
        z, rounds = worlds.context(world, i, t), known.round[i]
        action = index.decide(
            rule, table.positions[z], table.pareto, own.means, own.worth, rounds, costs, saved
        )
        worlds.observe(world, i, z, action, t, shown)
        index.update(table, own, rounds, z, action, shown, scratch)
        lost = worlds.loss(world, i, z, action)
        worlds.count(totals, i, action, lost, table.unit * saved[action], np.nan)
        reached[i] = t + 1
        known.round[i] = rounds + 1


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, table, known, rule, scratch, due):
    """Play replicates ``first`` to before ``last``, which share the scratch."""
    for i in range(first, last):
        play_one(world, totals, reached, stop, i, table, known, rule, scratch, due)

"""Whole runs of the anticipating index, one replicate after the other."""

# mypy: ignore-errors

import numpy as np

from partial_monitoring.numerics.compiled import index, world
from partial_monitoring.numerics.compiled.just_in_time import compiled


@compiled(allocates=False)
def play_one(
    surroundings, totals, i, start, stop, rule, unit, table, pareto, inside, own, t, scratch, room
):  # fmt: skip
    """Play replicate i from round ``start`` to before round ``stop`` (counted from 0).

    ``t`` is its next round, counted from 1, and ``room`` is overwritten: what actions cost and
    save, shape (k,) each, and what they show, shape (m,).
    """
    costs, saved, shown = room
    for reached in range(start, stop):
        world.start_round(surroundings, i, reached)
        z = world.context(surroundings, i, reached)
        action = index.decide(
            rule, table.positions[z], pareto, own.means, own.worth, t, costs, saved
        )
        world.observe(surroundings, i, z, action, reached, shown)
        index.update(table, pareto, inside, own, t, z, action, shown, scratch)
        lost = world.loss(surroundings, i, z, action)
        world.count(totals, i, action, lost, unit * saved[action], np.nan)
        t += 1
    return t


@compiled(allocates=False)
def play(
    surroundings, totals, reached, stop, first, last, rule, unit, table, pareto, inside, known, t,
    scratch, room,
):  # fmt: skip
    """Play replicates ``first`` to before ``last`` until round ``stop``; see ``Program``."""
    for i in range(first, last):
        t[i] = play_one(
            surroundings, totals, i, reached[i], stop, rule, unit, table, pareto, inside,
            index.one(known, i), t[i], scratch, room,
        )  # fmt: skip
        reached[i] = stop

"""Whole runs in games with listed contexts, one replicate after the other.

Policies decide in the game of the context that came, as ``play_ids`` and ``play_bandits`` do.
"""

# mypy: ignore-errors

from partial_monitoring.numerics.compiled import play_bandits, play_ids
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.listed import finish, meet, probed


@compiled(allocates=False)
def play_ids_in(
    world, totals, triangles, reached, stop, first, last, listed, room, known, rule, scratch, due
):
    """Play replicates ``first`` to before ``last``, which share the scratch, by IDS."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            met = meet(world, i, t, listed, known, room, scratch)
            action, ratio = play_ids.decide(
                world, i, t, met.actions, met.known, 0, met.rows, False, rule, met.scratch
            )
            action = probed(world, i, t, rule.probe, listed, met.context, action)
            gain = met.scratch.information[action]
            reached[i] = t + 1
            place = listed, met.context, met.scratch
            numbers = action, gain, ratio
            memory = known, triangles, room.line, rule
            if not finish(world, totals, i, t, *place, *numbers, *memory):
                due[i] = True
                break


@compiled(allocates=False)
def play_bandits_in(
    world, totals, triangles, reached, stop, first, last, listed, room, known, rule, scratch, due
):
    """Play replicates ``first`` to before ``last`` by policies that play what looks best."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            met = meet(world, i, t, listed, known, room, scratch)
            action, ratio = play_bandits.decide(
                world, i, t, met.actions, met.known, 0, met.rows, rule, met.scratch
            )
            action = probed(world, i, t, rule.probe, listed, met.context, action)
            gain = play_bandits.gained(met.known, 0, met.rows, action, rule, met.scratch.rest)
            reached[i] = t + 1
            place = listed, met.context, met.scratch
            numbers = action, gain, ratio
            memory = known, triangles, room.line, rule
            if not finish(world, totals, i, t, *place, *numbers, *memory):
                due[i] = True
                break

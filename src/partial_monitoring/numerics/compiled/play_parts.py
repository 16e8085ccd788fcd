"""Whole runs of information-directed sampling with any parts, see ``play_ids`` and ``parts``.

Where something cannot be proven, the replicate stops before it draws any number, and the round is
left to the batched formulas.
"""

# mypy: ignore-errors

from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.estimate import finish_round
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import squared_radius
from partial_monitoring.numerics.compiled.parts import fill_parts
from partial_monitoring.numerics.compiled.play_ids import choose


@compiled(allocates=False)
def play(
    world,
    totals,
    data,
    reached,
    stop,
    first,
    last,
    actions,
    known,
    rule,
    scratch,
    parts,
    due,
    unproven,
):
    """Play replicates ``first`` to before ``last``, which share the scratch and the parts."""
    gaps, information = scratch.gaps, scratch.information
    room, weights = parts.room, parts.weights
    for i in range(first, last):
        for t in range(reached[i], stop):
            worlds.start_round(world, i, t)
            rounds, log_det = known.round[i], known.log_det[i]
            beta = squared_radius(rule.width, rounds, log_det)
            own = parts, room, weights
            if not fill_parts(*own, actions, known, i, rule.rows, rule, beta, scratch):
                unproven[i] = True
                break
            uniform = worlds.uniform_for_policy(world, i, t)
            action, ratio = actions.best, 0.0
            if action < 0:
                action, ratio, _ = choose(
                    gaps, information, rule, rounds, log_det, uniform, scratch.one, scratch.two
                )
            learned = finish_round(
                world, totals, data, reached, t, i, actions, known, rule, scratch, action, ratio
            )
            if not learned:
                due[i] = True
                break

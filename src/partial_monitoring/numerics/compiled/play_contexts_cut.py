"""Whole runs in games with listed contexts where Theta cuts E_t, or with any parts of IDS.

Otherwise as ``play_contexts``. Where something cannot be proven, the replicate stops after its
context is drawn, which is kept, and the round is left to the batched formulas.
"""

# mypy: ignore-errors

import numpy as np

from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.chance import drawn_from
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import squared_radius
from partial_monitoring.numerics.compiled.listed import finish, meet, probed
from partial_monitoring.numerics.compiled.listed_parts import cut_at, parts_at, rewards_at
from partial_monitoring.numerics.compiled.parts import fill_parts
from partial_monitoring.numerics.compiled.play_bandits import fill_chances
from partial_monitoring.numerics.compiled.play_cut import fill_means, project_estimate
from partial_monitoring.numerics.compiled.play_ids import TRADEOFF, choose


@compiled(allocates=False)
def decide(world, i, t, met, rule, rounds, log_det):
    """Return the action of a context, and its information ratio.

    One that is always best is played unless the rule explores for other contexts.
    """
    gaps, best = met.scratch.gaps, met.actions.best
    uniform = worlds.uniform_for_policy(world, i, t)
    if best >= 0 and rule.sampling < TRADEOFF:
        return best, 0.0
    if best >= 0:
        for a in range(len(gaps)):
            gaps[a] = 0.0 if met.actions.always_best[a] else gaps[a]
    information, one, two = met.scratch.information, met.scratch.one, met.scratch.two
    action, ratio, _ = choose(gaps, information, rule, rounds, log_det, uniform, one, two)
    return action, ratio


@compiled(allocates=False)
def play_parts_in(
    world,
    totals,
    triangles,
    reached,
    stop,
    first,
    last,
    listed,
    room,
    known,
    rule,
    scratch,
    due,
    parts,
    contexts,
    unproven,
):
    """Play replicates ``first`` to before ``last``, which share the scratch, by IDS."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            met = meet(world, i, t, listed, known, room, scratch)
            own = parts_at(parts, listed, met.context)
            rounds, log_det = known.round[i], known.log_det[i]
            beta = squared_radius(rule.width, rounds, log_det)
            work = own, parts.room, parts.weights
            here = met.actions, met.known, 0, met.rows
            if not fill_parts(*work, *here, rule, beta, met.scratch):
                contexts[i], unproven[i] = met.context, True
                break
            action, ratio = decide(world, i, t, met, rule, rounds, log_det)
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
def play_comparing_in(
    world,
    totals,
    triangles,
    reached,
    stop,
    first,
    last,
    listed,
    room,
    known,
    rule,
    scratch,
    due,
    rewards,
    contexts,
    unproven,
):
    """Do the same by policies that compare estimated rewards."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            met = meet(world, i, t, listed, known, room, scratch)
            own, cut = (
                rewards_at(rewards, listed, met.context),
                cut_at(rewards, listed, met.context),
            )
            if not project_estimate(met.actions, met.known, 0, own, cut, rewards.body):
                contexts[i], unproven[i] = met.context, True
                break
            fill_means(met.actions, own)
            fill_chances(own.means, rule, known.round[i], met.scratch.gaps)
            action = drawn_from(met.scratch.gaps, worlds.uniform_for_policy(world, i, t))
            action = probed(world, i, t, rule.probe, listed, met.context, action)
            reached[i] = t + 1
            place = listed, met.context, met.scratch
            numbers = action, np.nan, np.nan
            memory = known, triangles, room.line, rule
            if not finish(world, totals, i, t, *place, *numbers, *memory):
                due[i] = True
                break

"""What the anticipating index learns and expects between two decisions that are made live.

A live call is short, and most of its time would be spent on finding out the types of named tuples:
these functions take their fields as plain tuples.
"""

# mypy: ignore-errors

from partial_monitoring.numerics.compiled.index import one, take_in
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.profile import Known, Scratch, Table, profile


@compiled(allocates=False)
def update_each(table, known, context, action, observation, stale, scratch):
    """Learn from the observations (n, m) of actions (n,), -1 for none, in contexts (n,).

    Estimates that are stale (n,) are brought up to date in any case. Both in one function: each
    that calls ``profile`` takes seconds to compile.
    """
    table, known, scratch = Table(*table), Known(*known), Scratch(*scratch)
    for i in range(len(action)):
        own, due = one(known, i), stale[i]
        if action[i] >= 0:
            t = known.round[i]
            due = take_in(table, own, t, context[i], action[i], observation[i]) or due
            known.round[i] = min(t + 1, table.memory)
        if due:
            profile(table, own, scratch)


@compiled(allocates=False)
def expect_each(table, known, along, context, action, often, scratch):
    """Count the signals that are expected of open decisions, and bring estimates up to date.

    Each action (c,) was decided on as often as it says (n, c) in a context. Its signals come in
    fractions, by their probabilities, where the estimate is ``along`` the directions (n, e).
    """
    table, known, scratch = Table(*table), Known(*known), Scratch(*scratch)
    for i in range(len(often)):
        own, rounds = one(known, i), 0
        for c in range(len(action)):
            place, times = table.positions[context, action[c]], often[i, c]
            start, stop = table.first[place], table.first[place + 1]
            for s in range(start, stop):
                chance = table.base[s] + table.sign[s] * along[i, table.direction[s]]
                own.counts[s] += times * chance
            if start < stop:
                own.plays[place] += times
            rounds += times
        own.seen[context] += rounds
        known.round[i] += rounds
        if rounds > 0:
            profile(table, own, scratch)

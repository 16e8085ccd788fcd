"""Rounds of uniform random actions."""

# mypy: ignore-errors

from __future__ import annotations

from math import nan

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.world import (
    count,
    drawn,
    loss,
    start_round,
    uniform_for_policy,
)


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, limits):
    """Play replicates first to last (exclusive) to before round ``stop``.

    Below the limits (k,) of uniform numbers actions are drawn. Nobody looks at what they show.
    """
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            action = min(drawn(limits, uniform_for_policy(world, i, t)), len(limits) - 1)
            count(totals, i, np.int64(action), loss(world, i, 0, action), nan, nan)
            reached[i] = t + 1

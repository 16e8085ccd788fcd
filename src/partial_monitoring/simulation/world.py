"""The simulated environment as compiled loops see it: tables and streams of random numbers."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from partial_monitoring.policies.program import NotCompiled
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.validation import Indices

KINDS = MappingProxyType({"gaussian": 0, "bernoulli": 1, "sign": 2, "none": 3, "outcome": 4})
"""How observations are drawn, by the names of kinds of feedback; numbered as in the loops."""


def world_of(environment: Environment) -> Any:
    """Return an environment for compiled loops, or say why there is none."""
    from partial_monitoring.numerics.compiled import random
    from partial_monitoring.numerics.compiled.world import MovingWorld, World

    game, feedback, n = environment.game, environment.feedback, len(environment.seeds)
    if feedback.name not in KINDS:
        raise NotCompiled("the noise is a function of your own")
    truths, rows = environment.schedule()
    tables = truths.tables()
    if tables is None:
        raise NotCompiled("the actions are not listed, or too many")
    limits = game.context_limits
    kind = KINDS[feedback.name]
    world = World(
        environment.seeds.astype(np.uint64),
        np.zeros((n, 3, random.ROW), dtype=np.uint64),
        kind,
        feedback.width(game),
        np.array(tables.means, order="C"),
        np.array(tables.sizes),
        np.array(tables.losses),
        np.array(truths.outcome_limits) if kind == KINDS["outcome"] else np.zeros((1, 1, 0)),
        np.array(tables.signals) if kind == KINDS["outcome"] else np.zeros((1, 1, 0, 0)),
        np.zeros(0) if limits is None else np.array(limits),
    )
    return MovingWorld(*world, np.zeros(n, dtype=np.int64), rows) if rows.shape[1] else world


def no_totals(replicates: int, counted: int) -> Any:
    """Return the totals before the first round, with plays of as many actions as are counted."""
    from partial_monitoring.numerics.compiled.world import Totals

    plays: Indices = np.zeros((replicates, counted), dtype=np.int64)
    return Totals(np.zeros(replicates), np.zeros(replicates), np.zeros(replicates), plays)

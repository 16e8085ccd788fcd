"""Many equal observations at one stroke, and observations that count for more or less than one.

A policy whose state allows it has a method ``update_often(state, action, observation, often,
weight, context=None)``: the state after each replicate has seen its observation ``often`` (n,)
times, each time with a ``weight`` (n,), by which the square of its residual counts. It returns None
for what it cannot do. Other policies are handed one observation after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.weighted import Rows
from partial_monitoring.policies.policy import Policy
from partial_monitoring.validation import Array, Indices

MOST_IN_TURN = 100_000
"""Largest number of equal observations that are learned from one after the other."""


def update_often(
    policy: Policy[Any],
    state: Any,
    action: Indices,
    observation: Array,
    often: int = 1,
    weight: float = 1.0,
    **options: Any,
) -> Any:
    """Return the state after the observations (n, m) of actions (n,) came a number of times.

    Each of them has a weight. ``options`` are those of ``update``: context and probability.
    """
    if often == 1 and weight == 1.0:
        return policy.update(state, action, observation, **options)
    own, n = getattr(policy, "update_often", None), len(action)
    if own is not None and "probability" not in options:
        each = np.full(n, often, dtype=np.int64), np.full(n, float(weight))
        found = own(state, action, observation, *each, **options)
        if found is not None:
            return found
    if weight != 1.0:
        raise InvalidInput(
            f"weights must be 1 for {type(policy).__name__}, which counts what it observes here; "
            f"got {weight:g}."
        )
    if often > MOST_IN_TURN:
        raise InvalidInput(
            f"counts must be at most {MOST_IN_TURN} for {type(policy).__name__}, which learns from "
            f"one observation after the other; got {often}."
        )
    for _ in range(often):
        state = policy.update(state, action, observation, **options)
    return state


def update_rows(
    policy: Policy[Any], state: Any, shown: Rows, observed: Array, often: int, weight: float
) -> Any:
    """Return the state of one replicate after rows of theta showed values (m,).

    It is None if the policy has no ``update_rows``, which learns from what belongs to no action of
    its game, or cannot take these.
    """
    own = getattr(policy, "update_rows", None)
    each = np.array([often], dtype=np.int64), np.array([float(weight)])
    return None if own is None else own(state, shown, observed, *each)

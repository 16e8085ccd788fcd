"""Observations that came more than once, or count for more or less than one.

Events of logged data may have a ``count`` (the observation came as often) and a ``weight`` (by
which its squared residual counts); answers of votes have ``wins`` and ``of``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.votes import votes_of
from partial_monitoring.model.any_game import Context
from partial_monitoring.validation import Array, brief, positive_number, whole_number

KEPT = {"wins": int, "of": int, "count": int, "weight": float, "probability": float}
"""What an event keeps of a request beside its observation."""

MOST = 10**12
"""Largest number of equal observations."""


class Shown(NamedTuple):
    """What an action has shown: once with weight 1, unless it says otherwise."""

    vector: Array
    """The observation as a vector (m,)."""
    often: int = 1
    weight: float = 1.0


def several_of(context: Context, given: Mapping[str, Any], vector: Array) -> tuple[Shown, ...]:
    """Return what a request or an event says of how often its observation (m,) came.

    It is empty if it came once and has no weight.
    """
    if "wins" in given:
        sides = votes_of(context, given["wins"], given["of"], vector)
        return tuple(Shown(*side) for side in sides)
    if given.get("count") is None and given.get("weight") is None:
        return ()
    often, weight = given.get("count"), given.get("weight")
    often = 1 if often is None else whole_number("count", often, at_least=1, at_most=MOST)
    weight = 1.0 if weight is None else positive_number("weight", weight)
    return (Shown(vector, often, weight),)


def fields_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an event keeps of that, and the probability of a logged action, if given."""
    return {name: kind(given[name]) for name, kind in KEPT.items() if given.get(name) is not None}


def logged_probability(given: Mapping[str, Any]) -> float | None:
    """Return the probability with which a logged action was played, if it is known."""
    value = given.get("probability")
    if value is None:
        return None
    found = positive_number("probability", value)
    if found > 1:
        raise InvalidInput(f"probability must be at most 1; got {brief(value)}.")
    return found

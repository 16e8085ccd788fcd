"""Observations that came more than once, or count for more or less than one.

Logged data may have a ``count`` (the observation came as often) and a ``weight`` (by which its
squared residual counts); an answer may be :class:`Votes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.weighted import Rows
from partial_monitoring.learner.votes import Votes
from partial_monitoring.validation import (
    Array,
    brief,
    positive_number,
    real_array,
    whole_number,
    written,
)

KEPT = {"count": int, "weight": float, "probability": float}
"""What an event of logged data keeps of a request beside its observation."""

MOST = 10**12
"""Largest number of equal observations."""


class Shown(NamedTuple):
    """What an action has shown: once with weight 1, unless it says otherwise."""

    vector: Array
    """The observation as a vector (m,)."""
    often: int = 1
    weight: float = 1.0
    of: Rows | None = None
    """What it was of, if not of an action of the game."""


def shown_of(given: Mapping[str, Any], observation: Any, vector: Array) -> tuple[Shown, ...]:
    """Return an observation as a vector (m,), with how often it came by a request or an event.

    Of votes both sides are returned.
    """
    if isinstance(observation, Votes):
        return tuple(Shown(*side) for side in observation.sides(len(vector)))
    often, weight = given.get("count"), given.get("weight")
    if often is None and weight is None:
        return (Shown(vector),)
    often = 1 if often is None else whole_number("count", often, at_least=1, at_most=MOST)
    return (Shown(vector, often, 1.0 if weight is None else positive_number("weight", weight)),)


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


def read_rows(event: Mapping[str, Any], d: int) -> Shown:
    """Return what an event ``shown`` says, of an action that its game does not have."""
    written("name", event["name"])
    rows = real_array("rows", event["rows"], ("m", d))
    noise = positive_number("noise", event["noise"])
    observed = real_array("observation", event["observation"], (len(rows),))
    (found,) = shown_of(event, None, observed)
    return found._replace(of=Rows(rows, noise))

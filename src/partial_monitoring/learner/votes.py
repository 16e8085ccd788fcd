"""Votes: several answers to one duel, told at once as how many of them the first item won."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import Context
from partial_monitoring.validation import Array, brief, whole_number

UNSAID: Any = object()
"""No observation, which is not even None."""

MOST = 10**9
"""Largest number of votes in one answer."""


def vote(decision: Any, observation: Any, wins: Any, of: Any) -> dict[str, Any]:
    """Return the request that tells votes: the observation is what they show on average."""
    if observation is not UNSAID:
        raise InvalidInput("observation must be left out with wins and of, which say it.")
    if wins is None or of is None:
        missing, given = ("of", "wins") if of is None else ("wins", "of")
        raise InvalidInput(f"{missing} must be given along with {given}.")
    of = whole_number("of", of, at_least=1, at_most=MOST)
    wins = whole_number("wins", wins, at_least=0)
    if wins > of:
        raise InvalidInput(f"wins must be at most of, {of}; got {wins}.")
    mean = [(2 * wins - of) / of]
    return {"decision": decision, "observation": mean, "wins": wins, "of": of}


def votes_of(context: Context, wins: Any, of: Any, mean: Array) -> list[tuple[Array, int]]:
    """Return what votes with a mean (m,) have shown, and how often.

    It is 1 where the first item has won, and -1 where the second one has.
    """
    if not (context.game.traits.duels and context.feedback.chances):
        raise InvalidInput(
            "wins and of are for duels that show who won; tell what was observed instead."
        )
    said = vote(None, UNSAID, wins, of)["observation"]
    if mean[:1].tolist() != said:
        raise InvalidInput(f"observation must be the mean of the votes, {said}; got {brief(mean)}.")
    each = ((1.0, wins), (-1.0, of - wins))
    return [(np.eye(1, len(mean))[0] * side, often) for side, often in each if often]

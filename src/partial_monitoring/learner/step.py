"""A step of a session: one event, with what was computed on the way to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from partial_monitoring.learner.decision import Decision
from partial_monitoring.learner.several import Shown
from partial_monitoring.learner.spec import Session
from partial_monitoring.model.any_game import Context
from partial_monitoring.storage.base import Event

ROUNDING = 1e-9
"""By how much a probability may exceed 1."""

Request = Mapping[str, Any]
"""What is asked or reported: ``context``, ``available`` and the ``token`` of the id of an ask,
``decision`` and ``observation`` of a tell, ``action``, ``observation``, ``context``, ``count``,
``weight`` and ``probability`` of logged data."""


class Step(NamedTuple):
    """An event, with what was computed or looked up on the way to it."""

    event: Event
    context: Context
    """The game of its round; of a reset, one that is not asked for anything."""
    action: int
    shown: tuple[Shown, ...] = ()
    """What is to be learned from, of a tell and of history: the observation; of votes, both."""
    decision: Decision | None = None
    """With its reasons, of an ask that was decided here."""
    probability: float | None = None
    """With which the action was drawn, of a tell, and of history if it is known."""
    begun: Session | None = None
    """What a learner begins with that moved from another game."""

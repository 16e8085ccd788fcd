"""What is waiting for an answer, as users read it."""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from partial_monitoring.learner.clock import date
from partial_monitoring.learner.identity import DecisionId
from partial_monitoring.learner.spec import Session
from partial_monitoring.learner.waiting import Waiting


class OpenDecision(NamedTuple):
    """A decision that is waiting for its answer.

    Attributes
    ----------
    id
        By which it is told, cancelled or amended.
    action, label, context
        What was decided, and in which context; None without contexts.
    round
        In which it was made: one more than the number of observations until then.
    since
        When it was made, in UTC; None if that was not recorded.
    """

    id: DecisionId
    action: int
    label: str
    context: Any
    round: int
    since: datetime | None

    def __repr__(self) -> str:
        facts = [f"{self.label!r}"]
        if self.context is not None:
            facts.append(f"context={self.context!r}")
        facts.append(f"round={self.round}")
        if self.since is not None:
            facts.append(f"since={_shown(self.since)}")
        return f"OpenDecision({self.id!r}, {', '.join(facts)})"


def open_decisions(session: Session) -> list[OpenDecision]:
    """Return the open decisions in the order in which they were made."""
    waiting = sorted((own.event["seq"], own) for own in session.open.values())
    return [_record(own) for _, own in waiting]


def _record(own: Waiting) -> OpenDecision:
    asked = own.event
    name, label, number = itemgetter("decision", "label", "round")(asked)
    since = date(asked["time"]) if "time" in asked else None
    return OpenDecision(name, own.action, label, own.context.name, number, since)


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"

"""What is waiting for an answer, as users read it."""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from partial_monitoring.learner.answers import waits
from partial_monitoring.learner.clock import LATEST, date
from partial_monitoring.learner.due import begins, left
from partial_monitoring.learner.identity import DecisionId
from partial_monitoring.learner.spec import Session, Spec


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
    due
        When it is due: a time in UTC or, with a window of rounds, after how many further decisions;
        None without a window.
    answer
        What was told of it and counts when it is due; None if nothing was.
    """

    id: DecisionId
    action: int
    label: str
    context: Any
    round: int
    since: datetime | None
    due: datetime | int | None = None
    answer: Any = None

    def __repr__(self) -> str:
        facts = [f"{self.label!r}"]
        if self.context is not None:
            facts.append(f"context={self.context!r}")
        facts.append(f"round={self.round}")
        if self.since is not None:
            facts.append(f"since={_shown(self.since)}")
        if self.due is not None:
            facts.append(f"due={_shown(self.due)}")
        if self.answer is not None:
            facts.append(f"answer={self.answer!r}")
        return f"OpenDecision({self.id!r}, {', '.join(facts)})"


def open_decisions(spec: Spec, session: Session) -> list[OpenDecision]:
    """Return the open decisions in the order in which they were made."""
    found = []
    for own in session.open.in_order():
        asked, window = own.event, spec.window
        due: datetime | int | None = None
        if window is not None and waits(window, own):
            if window.rounds is not None:
                due = left(window, own, session)
            else:
                due = date(min(begins(own) + window.length, LATEST))
        name, label, number = itemgetter("decision", "label", "round")(asked)
        since = date(asked["time"]) if "time" in asked else None
        answer = None if own.answer is None else own.answer["observation"]
        where = own.context.name
        found.append(OpenDecision(name, own.action, label, where, number, since, due, answer))
    return found


def _shown(time: datetime | int) -> str:
    return str(time) if isinstance(time, int) else f"{time:%Y-%m-%d %H:%M}"

"""Decisions that are held: their windows begin when they are activated.

Nobody knows before whether they will be used at all. A service asks for them.
"""

from __future__ import annotations

from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.answers import open_decision
from partial_monitoring.learner.clock import is_time
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Request, Step
from partial_monitoring.learner.waiting import Waiting
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import brief


def activate(spec: Spec, session: Session, request: Request) -> Step:
    """Return that the window of a decision begins at the time ``now``."""
    own, time = open_decision(session, request["decision"]), request["now"]
    time = time if session.time is None else max(time, session.time)
    check_activation(session, own, time)
    name = own.event["decision"]
    event = {"seq": session.seq + 1, "kind": "activate", "decision": name, "time": time}
    return Step(event, own.context, own.action)


def activated(session: Session, event: Event) -> Session:
    """Return the session after the window of a decision that was held has begun."""
    name, seq, time = event["decision"], session.seq + 1, event["time"]
    waiting = session.open.begun(name, {"seq": seq, "time": time, "asked": session.asked})
    following = session._replace(seq=seq, open=waiting, time=time)
    return following._replace(started=session.started.added(name))


def check_activation(session: Session, own: Waiting, time: Any) -> None:
    """Refuse that a decision is activated which was not held, or not for the first time."""
    if "held" not in own.event or "begins" in own.event:
        raise InvalidInput(f"decision {brief(own.event['decision'])} is not held.")
    if not is_time(time) or time < (session.time or 0.0):
        raise InvalidInput(f"event must not be earlier than those before it; got {brief(time)}.")

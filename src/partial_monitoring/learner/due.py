"""Decisions whose window has ended: they count now, with their answers or without.

The window of a learner is the same for all decisions, and their times never go back. So they are
due in the order of their numbers, and the oldest open one is looked at first. Those that were held
are due in the order in which they were activated.
"""

from __future__ import annotations

from partial_monitoring.learner.answers import closed, encoded, shows_unanswered, waits
from partial_monitoring.learner.identity import decision_number, id_of
from partial_monitoring.learner.observations import from_log
from partial_monitoring.learner.several import shown_of
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Step
from partial_monitoring.learner.waiting import Waiting
from partial_monitoring.learner.window import Window


def first_due(spec: Spec, session: Session, now: float) -> tuple[Session, Step | None]:
    """Return the step of the oldest decision that is due, None if there is none.

    The session is the given one, which remembers where to look the next time.
    """
    if spec.window is None:
        return session, None
    number = session.oldest
    if number is None:
        number = min(map(decision_number, session.open), default=session.asked)
    while number < session.asked:
        own = session.open.get(id_of(session.tokens, session.open, number))
        if own is not None and "held" not in own.event and waits(spec.window, own):
            if not is_due(spec.window, own, session, now):
                break
            return session._replace(oldest=number), due(spec, session, own)
        number += 1
    session = session._replace(oldest=number, started=session.started.among(session.open))
    if session.started.first < session.started.end:
        own = session.open[session.started.names[session.started.first]]
        if is_due(spec.window, own, session, now):
            return session, due(spec, session, own)
    return session, None


def is_due(window: Window, own: Waiting, session: Session, now: float) -> bool:
    """Whether the window of a decision has ended."""
    if window.rounds is not None:
        return left(window, own, session) <= 0
    return max(now, session.time or 0.0) >= begins(own) + window.length


def begins(own: Waiting) -> float:
    """Return when the window of a decision begins that waits to be due."""
    return float(own.event.get("begins", own.event)["time"])


def left(window: Window, own: Waiting, session: Session) -> int:
    """Return after how many further decisions one is due, with a window of rounds."""
    assert window.rounds is not None
    if "begins" in own.event:
        return int(own.event["begins"]["asked"]) + window.rounds - session.asked
    return decision_number(own.event["decision"]) + 1 + window.rounds - session.asked


def due(spec: Spec, session: Session, own: Waiting) -> Step:
    """Return that a decision counts now: with its answer, as unanswered, or not at all."""
    name = own.event["decision"]
    event = {"seq": session.seq + 1, "kind": "tell", "decision": name, "due": True}
    if own.answer is not None:
        event["observation"] = own.answer["observation"]
    elif shows_unanswered(spec, own.context, own.action):
        assert spec.window is not None
        event |= {"observation": spec.window.unanswered, "unanswered": True}
    else:
        return closed(session, own, "lapse", due=True)
    seen = from_log(own.context.game, own.action, event["observation"])
    vector = encoded(spec, own.context, own.action, seen)
    shown, drawn = shown_of({}, seen, vector), own.event["probability"]
    return Step(event, own.context, own.action, shown, None, drawn)

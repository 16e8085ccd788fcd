"""Answers that are corrected, as events and as what is known then. No input or output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.answers import (
    answered,
    check_closed,
    held_decision,
    is_no_answer,
    told_vector,
)
from partial_monitoring.learner.beginning import asked_in
from partial_monitoring.learner.observations import log_form
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Request
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import brief


def amend(
    spec: Spec, session: Session, log: Callable[[], Iterable[Event]], requests: Iterable[Request]
) -> tuple[Session, list[Event]]:
    """Return the session as if answers had been told right, and the events that say so.

    A request is a ``decision``, which is closed or has an answer that waits to be due, and the
    ``observation``; ``log`` returns all that happened so far, and is called if one is closed.
    """
    events, new, asks = list[Event](), list[Event](), dict[Any, Event]()
    for request in requests:
        own, seq = held_decision(session, request["decision"]), session.seq + len(new) + 1
        if own is not None:
            new.append(answered(spec, seq, own, request["observation"]).event)
        else:
            check_closed(session, request["decision"])
            if not events:
                events = list(islice(log(), session.seq))
                asks = {own["decision"]: own for own in asked_in(events)}
            if len(events) != session.seq:
                raise InvalidInput(
                    f"an answer can only be amended if all events are kept, {session.seq:,} so "
                    f"far; got {len(events):,}."
                )
            new.append(_amendment(spec, session, asks, request) | {"seq": seq})
    if steps.has_amendments(new):
        return steps.folded(spec, [*events, *new]), new
    for event in new:
        session = steps.fold(spec, session, event)
    return session, new


def _amendment(spec: Spec, session: Session, asks: Mapping[Any, Event], request: Request) -> Event:
    """Return the amendment of the answer to a decision that is closed."""
    name = check_closed(session, request["decision"])
    asked = asks.get(name)
    if asked is None:
        raise InvalidInput(
            f"decision {brief(name)} was told before the learner was moved to this game, and can "
            f"be amended no more."
        )
    event: Event = {"seq": 0, "kind": "amend"}
    kept = ("decision", "action", "label", "point", "context")
    event |= {key: asked[key] for key in kept if key in asked}
    context, action = steps.played(spec, asked)
    if not is_no_answer(context, action, request["observation"]):
        told_vector(spec, context, action, request["observation"])
        event["observation"] = log_form(request["observation"], signal=spec.signals)
    return event

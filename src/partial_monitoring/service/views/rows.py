"""Rows of the log: events, and decisions with what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.identity import decision_number
from partial_monitoring.learner.spec import Spec
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.views.plainly import plain_row, plainly
from partial_monitoring.service.views.taken import Taken, taken
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import brief, whole_number

MOST = 1000
"""Largest number of rows of a page."""

LARGEST = 2**53
"""Largest number of an event or a decision that is looked for."""

CLOSED = {"tell": "told", "lapse": "closed", "cancel": "cancelled"}
"""What has become of a decision, by the event that closed it."""

ASKED = ("label", "action", "point", "probability", "round", "context", "available", "probed")
"""What is shown of an ask as it is."""

Row = dict[str, Any]


def events(hosted: LearnerBase, after: int = 0, limit: int = 100) -> Row:
    """Return a page of the log, each event with the time ``at`` at which it was stored."""
    whole_number("after", after, at_least=0, at_most=LARGEST)
    whole_number("limit", limit, at_least=1, at_most=MOST)
    own, found = taken(hosted), list[Event]()
    for event in own.storage.after(after, at=True):
        if event["seq"] > own.session.seq or len(found) == limit:
            break
        found.append(event)
    more = bool(found) and found[-1]["seq"] < own.session.seq
    rows = plainly(found)
    return {"events": rows, "next": found[-1]["seq"] if more else None, "last": own.session.seq}


def shown(own: Taken, asked: Event, at: float | None) -> Row:
    """Return what was decided."""
    name = asked["decision"]
    found: Row = {"id": name, "number": decision_number(name), "asked_at": asked.get("time", at)}
    found |= {key: asked[key] for key in (*ASKED, "meta", "key", "actor") if key in asked}
    window = own.spec.window
    begins = asked.get("begins", {} if "held" in asked else asked).get("time")
    if window is not None and window.rounds is None and begins is not None:
        found["due_at"] = begins + window.length
    return found


def ended(
    own: Taken, asked: Event, closed: Event | None = None, others: Iterable[Event] = ()
) -> Row:
    """Return what has become of a decision; a correction counts, whatever was told.

    ``closed`` is the event that has closed it, with its time, and ``others`` are all else about it.
    """
    waiting = own.session.open.get(asked["decision"])
    by_kind = {event["kind"]: event for event in others}
    amendment = by_kind.get("amend")
    if closed is None or (waiting is not None and amendment is None):
        found: Row = {"state": "open", "observation": None}
        if waiting is not None and waiting.answer is not None:
            found = {"state": "waits", "observation": waiting.answer["observation"]}
        elif "held" in asked and "begins" not in asked:
            found["state"] = "held"
        return found
    found = {"state": CLOSED[closed["kind"]], "observation": closed.get("observation")}
    found |= {"closed_at": closed["at"], "due": closed.get("due", False)}
    if closed.get("unanswered"):
        found["state"] = "unanswered"
    if "late" in by_kind:
        found["late"] = by_kind["late"].get("observation")
    if amendment is not None:
        state = "told" if "observation" in amendment else "closed"
        found |= {"state": state, "observation": amendment.get("observation"), "amended": True}
        found |= {"reason": amendment["reason"]} if "reason" in amendment else {}
    return found


def decision(hosted: LearnerBase, decision: Any) -> Row:
    """Return one decision, given by its id or its number, with all events about it."""
    now = taken(hosted)
    own, asked = found_ask(now, decision)
    name = asked["decision"]
    rows = [row for log in (*now.before[::-1], now.storage) for row in log.about(name, at=True)]
    closed = next((row for row in rows if row["kind"] in CLOSED), None)
    at = next((row["at"] for row in rows if row["kind"] == "ask"), None)
    found = shown(own, asked, at) | ended(own, asked, closed, rows)
    return plain_row(found | {"events": rows})


def found_ask(own: Taken, decision: Any) -> tuple[Taken, Event]:
    """Return a decision that is given by its id or its number, and the log in which it was made.

    That is an earlier one if the study was edited since then.
    """
    name = decision if isinstance(decision, str | int) and not isinstance(decision, bool) else None
    number = name if isinstance(name, int) else None
    if isinstance(name, str) and name.isascii() and name.isdecimal() and len(name) < 16:
        number = int(name)
    known = name is not None and (number is None or 0 <= number < own.session.asked)
    for log in (own.storage, *own.before) if known else ():
        found = _in_log(log, name, number)
        if found is not None and decision_number(found["decision"]) < own.session.asked:
            same = log is own.storage
            return own if same else own._replace(spec=Spec.from_dict(log.spec), storage=log), found
    raise Problem(404, f"there is no decision {brief(decision)} in this study.")


def _in_log(log: Any, name: Any, number: int | None) -> Event | None:
    if number is None:
        return log.asked(name)  # type: ignore[no-any-return]
    rows = log.decisions(number - 1, 1)
    return rows[0].asked if rows and rows[0].number == number else None

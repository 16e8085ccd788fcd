"""Rows of the log: events, and decisions with what became of them."""

from __future__ import annotations

from heapq import nsmallest
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

MOST_AMENDED = 10_000
"""Largest number of corrections that are read for a page."""

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


def decisions(
    hosted: LearnerBase, after: int | None = None, limit: int = 100, open: bool = False
) -> Row:
    """Return a page of decisions in the order of their numbers.

    Parameters
    ----------
    after
        The number of the last decision before the page; unless given, the page is the last one (of
        open decisions, the first).
    limit
        The largest number of decisions.
    open
        Only those that wait for their answers.
    """
    own = taken(hosted)
    whole_number("limit", limit, at_least=1, at_most=MOST)
    if after is not None:
        whole_number("after", after, at_least=-1, at_most=LARGEST)
    if open:
        return _open(own, -1 if after is None else after, limit)
    asked = own.session.asked
    first = max(asked - 1 - limit, -1) if after is None else after
    rows = own.storage.decisions(first, limit)
    right = _amendments(own, rows[0].asked["seq"]) if rows else {}
    found = []
    for row in rows:
        if row.number < asked:
            shown = _shown(own, row.asked, row.asked_at)
            found.append(shown | _end(own, row.asked, row.closed, row.closed_at, right))
    return _page(found, asked)


def _open(own: Taken, after: int, limit: int) -> Row:
    waiting = (name for name in own.session.open if decision_number(name) > after)
    names = nsmallest(limit, waiting, key=decision_number)
    rows = []
    for name in names:
        asked = own.session.open[name].event
        rows.append(_shown(own, asked, asked.get("time")) | _end(own, asked, None, None, {}))
    return _page(rows, own.session.asked, more=len(rows) == limit)


def _page(rows: list[Row], asked: int, *, more: bool = True) -> Row:
    last = rows[-1]["number"] if rows and more else None
    following = last if last is not None and last < asked - 1 else None
    return {"decisions": plainly(rows), "next": following, "count": asked}


def _shown(own: Taken, asked: Event, at: float | None) -> Row:
    """Return what was decided."""
    name = asked["decision"]
    found: Row = {"id": name, "number": decision_number(name), "asked_at": asked.get("time", at)}
    found |= {key: asked[key] for key in (*ASKED, "meta", "key", "actor") if key in asked}
    window = own.spec.window
    begins = asked.get("begins", {} if "held" in asked else asked).get("time")
    if window is not None and window.rounds is None and begins is not None:
        found["due_at"] = begins + window.length
    return found


def _end(
    own: Taken, asked: Event, closed: Event | None, at: float | None, right: dict[Any, Event]
) -> Row:
    """Return what has become of a decision; a correction counts, whatever was told."""
    waiting = own.session.open.get(asked["decision"])
    if closed is None or (waiting is not None and asked["decision"] not in right):
        found: Row = {"state": "open", "observation": None}
        if waiting is not None and waiting.answer is not None:
            found = {"state": "waits", "observation": waiting.answer["observation"]}
        elif "held" in asked and "begins" not in asked:
            found["state"] = "held"
        return found
    found = {"state": CLOSED[closed["kind"]], "observation": closed.get("observation")}
    found |= {"closed_at": at, "due": closed.get("due", False)}
    if closed.get("unanswered"):
        found["state"] = "unanswered"
    amendment = right.get(asked["decision"])
    if amendment is not None:
        state = "told" if "observation" in amendment else "closed"
        found |= {"state": state, "observation": amendment.get("observation"), "amended": True}
        found |= {"reason": amendment["reason"]} if "reason" in amendment else {}
    return found


def _amendments(own: Taken, after: int) -> dict[Any, Event]:
    """Return the last correction of each decision, of those that were made after an event."""
    found: dict[Any, Event] = {}
    seq = after
    while len(found) < MOST_AMENDED:
        rows = own.storage.of_kind("amend", seq, MOST)
        found |= {event["decision"]: event for event in rows if event["seq"] <= own.session.seq}
        if len(rows) < MOST:
            break
        seq = rows[-1]["seq"]
    return found


def decision(hosted: LearnerBase, decision: Any) -> Row:
    """Return one decision, given by its id or its number, with all events about it."""
    now = taken(hosted)
    own, asked = found_ask(now, decision)
    name = asked["decision"]
    rows = [row for log in (*now.before[::-1], now.storage) for row in log.about(name, at=True)]
    closed = next((row for row in rows if row["kind"] in CLOSED), None)
    right = {row["decision"]: row for row in rows if row["kind"] == "amend"}
    at = next((row["at"] for row in rows if row["kind"] == "ask"), None)
    found = _shown(own, asked, at)
    found |= _end(own, asked, closed, None if closed is None else closed["at"], right)
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

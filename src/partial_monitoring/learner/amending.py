"""Corrections of answers: what was learned is then as if the right one had been told at once.

An event ``amend`` is a decision that was closed, and the observation that should have been told, or
none if no answer came. It changes what earlier events mean, so a log that has one is rewritten and
folded from its start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from partial_monitoring.learner.beginning import asked_in
from partial_monitoring.learner.several import KEPT
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import is_whole

SHOWN = ("round", "action", "label", "point", "probability", "probed", "context")
"""What the history shows of an ask."""

UNSEEN = ("seq", "kind", "actor", "key")
"""What it does not show of logged data."""

CLOSING = ("tell", "lapse", "cancel")
"""The kinds of events that close a decision."""


def has_amendments(events: Iterable[Any]) -> bool:
    """Whether an event changes what those before it mean."""
    return any(_kind(event) == "amend" for event in events)


def amended(events: Iterable[Event]) -> list[Event]:
    """Return the events as if the last answer to each decision had been told in the first place.

    The rounds of decisions move if an answer came to be one that counts, or ceased to be. The
    amendments stay where they are, and mean nothing any more.
    """
    rows = list(events)
    right = {_decision(event): event for event in rows if _kind(event) == "amend"}
    if not right:
        return rows
    known: dict[Any, int] = {}  # how often each of the amended decisions counted by then
    shift = 0  # how much more they count now
    for place, event in enumerate(rows):
        kind, name = _kind(event), _decision(event)
        if kind == "ask" and shift and is_whole(event.get("round")):
            rows[place] = event | {"round": event["round"] + shift}
        elif kind in CLOSING and name in right:
            rows[place] = told_right(event, right[name])
            known[name] = _count(event)
            shift += _count(rows[place]) - known[name]
        elif kind == "amend" and name in known:
            counts = _count(event)
            shift += known[name] - counts
            known[name] = counts
    return rows


def told_right(event: Event, amendment: Event) -> Event:
    """Return the event that closed a decision with the answer of an amendment."""
    kept = {key: event[key] for key in ("seq", "decision", "due") if key in event}
    if "observation" in amendment:
        return kept | {"kind": "tell", "observation": amendment["observation"]}
    return kept | {"kind": "lapse"}


def _count(event: Event) -> int:
    """Return how many observations an event counts for: one, none, or as many as votes."""
    if "observation" not in event:
        return 0
    match event["observation"]:
        case {"wins": _, "of": int(votes)}:
            return votes
    return 1


def _kind(event: Any) -> Any:
    return event.get("kind") if isinstance(event, Mapping) else None


def _decision(event: Any) -> Any:
    name = event.get("decision") if isinstance(event, Mapping) else None
    return name if isinstance(name, str | int) else None


def history_of(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the decisions of a log as rows of plain data, with what was observed.

    Those that were cancelled are left out: their actions were never taken. Logged data of a time
    before the learner are rows, too, with the id None. An answer that came too late is there as
    ``late``.
    """
    rows: dict[Any, dict[str, Any]] = {}
    for event in amended(events):
        match event:
            case {"kind": "history", "seq": number}:
                row = {key: event[key] for key in event if key not in UNSEEN}
                rows[None, number] = {"id": None} | row
            case {"kind": "shown", "seq": number, "name": label}:
                row = {key: event[key] for key in ("observation", *KEPT) if key in event}
                rows[None, number] = {"id": None, "action": None, "label": label} | row
            case {"kind": "ask"} | {"kind": "moved"}:
                for ask in asked_in([event]):
                    row = {"id": ask["decision"]} | {key: ask[key] for key in SHOWN if key in ask}
                    rows[ask["decision"]] = row | {"observation": None}
            case {"kind": "tell", "decision": name}:
                rows[name]["observation"] = event["observation"]
            case {"kind": "late", "decision": name} if name in rows:
                rows[name]["late"] = event["observation"]
            case {"kind": "cancel", "decision": name}:
                del rows[name]
    return list(rows.values())

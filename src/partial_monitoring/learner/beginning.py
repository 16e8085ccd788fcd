"""How a learner begins that moved from another game: with decisions that were made there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.clock import is_time
from partial_monitoring.learner.identity import DecisionId, Tokens, is_earlier, was_given_out
from partial_monitoring.learner.spec import Session
from partial_monitoring.learner.step import ROUNDING
from partial_monitoring.learner.waiting import OpenDecisions, Started, Waiting
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import brief, is_whole


def begun(session: Session, event: Event, waiting: Mapping[DecisionId, Waiting]) -> Session:
    """Return the session after the event ``moved``, the first of a log, with its open decisions."""
    if session.seq or not is_whole(event["asked"]) or event["asked"] < 1:
        raise InvalidInput(f"event must move a learner that begins; got {brief(event)}.")
    asked, tokens = event["asked"], _tokens(event["tokens"], event["asked"])
    for name, own in waiting.items():
        chance, number = own.event["probability"], own.event["round"]
        fits = type(chance) in (int, float) and 0 <= chance <= 1 + ROUNDING and is_whole(number)
        if not fits or not (was_given_out(tokens, asked, name) or is_earlier(tokens, name)):
            raise InvalidInput(f"event must have decisions that are open; got {brief(own.event)}.")
    time = event.get("time")
    if len(waiting) != len(event["open"]) or not (time is None or is_time(time)):
        raise InvalidInput(f"event must have each decision once, and a time; got {brief(event)}.")
    found, started = OpenDecisions.of(waiting.items()), Started.of(event["open"])
    session = session._replace(seq=1, asked=asked, open=found, tokens=tokens, time=time)
    return session._replace(before=asked, started=started)


def _tokens(given: Any, asked: int) -> Tokens:
    """Return the tokens of the ids of decisions, each with the number of its first one."""
    found: list[tuple[str | None, int]] = []
    for pair in given if isinstance(given, list) else [None]:
        match pair:
            case [None | str() as token, int(first)] if (
                found[-1][1] < first if found else first >= 0
            ) and first < asked:
                found.append((token, first))
            case _:
                raise InvalidInput(f"event must have the tokens of ids; got {brief(given)}.")
    return tuple(found)


def asked_in(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the asks of a log, with those that were open when its learner was moved."""
    for event in events:
        if event["kind"] == "ask":
            yield event
        elif event["kind"] == "moved":
            yield from event["open"]

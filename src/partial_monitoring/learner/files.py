"""Files of learners: what was played and how, all events, a snapshot, and a checksum of it all.

The events are the truth. What a snapshot says must be what they make: every event passes the checks
that it passed when it happened, and up to ``REFOLDED`` of them are learned from again. With more,
the state is the one of the snapshot, after checks that cost little.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.learner import format_1
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.decision import written
from partial_monitoring.learner.session import Step
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.states import alike, check_rounds, with_arrays
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import boolean, brief

FORMAT = 3
"""Version of the files that are written: 2 has no checksum, and numbers as ids; 1 has no events."""

REFOLDED = 10_000
"""Largest number of events from which the state is computed again, which takes about 50 us each."""

DAMAGE = (
    *(ValueError, KeyError, TypeError, IndexError, AttributeError),
    *(ArithmeticError, RecursionError, AssertionError, MemoryError),
)
"""What reading a file may end in that no learner has written."""


def write(path: str | Path, spec: Spec, session: Session, events: list[Event]) -> None:
    """Write a learner to a file, whole or not at all."""
    try:
        described = spec.to_dict()
    except InvalidInput as error:
        raise InvalidInput(
            f"{str(error).rstrip('.')}; with parts of your own, keep learner.events instead and "
            f"make the learner again with Learner.replay."
        ) from None
    everything = {**described, "snapshot": steps.snapshot(spec, session), "events": events}
    first, rest = _texts(everything)
    head = f'"format": {FORMAT}, "digest": "{_digest(first, rest)}"'
    disk.write_text(path, f'{{{head}, "game": {first}, {rest[1:]}')


def read(path: str | Path) -> tuple[Spec, Session, list[Event]]:
    """Return the spec, the session and the events of a learner from its file."""
    data = disk.read_json(path, strict=True)
    version = data.get("format") if isinstance(data, Mapping) else None
    if version is None:
        raise InvalidInput(f"{path}: is not a saved learner.")
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise InvalidInput(
            f"{path}: has format {brief(version)}; this version reads 1 to {FORMAT}."
        )
    try:
        if data.get("digest") != (_digest(*_texts(data)) if version == FORMAT else None):
            raise InvalidInput("its checksum is not that of its content.")
        return format_1.restored(data) if version == 1 else _restored(data)
    except PartialMonitoringError as error:
        raise InvalidInput(f"{path}: is not a saved learner: {error}") from None
    except DAMAGE:
        raise InvalidInput(f"{path}: is not a saved learner.") from None


def _texts(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text of the game of a file, and that of all that follows it."""
    rest = {key: data[key] for key in data if key not in ("format", "digest", "game")}
    return json.dumps(data["game"]), json.dumps(rest)


def _digest(game: str, rest: str) -> str:
    return sha256(f"{FORMAT} {game} {rest}".encode()).hexdigest()


def _restored(data: Mapping[str, Any]) -> tuple[Spec, Session, list[Event]]:
    boolean("allow_hopeless", data["settings"]["allow_hopeless"])
    spec, events, kept = Spec.from_dict(data), data["events"], data["snapshot"]
    # A state is in the units of the game as it was written.
    arrays: Any = kept["state"] if game_to_dict(spec.game) == data["game"] else None
    refolded, session = arrays is None or len(events) <= REFOLDED, spec.start
    for event in steps.amended(events):
        step = steps.event_step(spec, session, event)
        _check_names(spec, step)
        state = steps.learned(spec, session.state, step) if refolded else session.state
        session = steps.noted(session, step, state)
    if not refolded:
        check_rounds(arrays, session.told)
        session = session._replace(state=with_arrays(spec.start.state, arrays))
    found = steps.snapshot(spec, session)
    for name, value in found.items():
        if name == "tokens" and data["format"] == 2:
            continue
        if not (alike(value, kept[name]) or (name == "state" and arrays is None)):
            raise InvalidInput(f"its snapshot has another {name!r} than its events make.")
    return spec, session, events


def _check_names(spec: Spec, step: Step) -> None:
    """Refuse an event whose action or context has another name in the game of the file."""
    event, context = step.event, step.context
    if "label" not in event:
        return
    if event["action"] != step.action or event.get("context") != written(context.name):
        raise InvalidInput(f"event {event['seq']} has another action or context than it says.")
    if "available" in event:
        _, offered = steps.available_actions(spec, context, event["available"])
        if offered != event["available"] or event["label"] not in offered:
            raise InvalidInput(f"event {event['seq']} plays an action that was not available.")

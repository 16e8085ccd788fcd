"""Files of learners: what is played and how, a snapshot, the events, and a checksum of it all.

Events that are kept in memory are in the file, and are the truth: what the snapshot says must be
what they make. Every event passes the checks that it passed when it happened, and up to
``REFOLDED`` of them are learned from again; with more, the state is the one of the snapshot, after
checks that cost little. With a log elsewhere, or none, the file holds the snapshot alone, and its
size does not depend on the history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.learner import format_1, snapshots
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.identity import MOST_TOKENS
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.states import (
    alike,
    check_rounds,
    is_former,
    saved,
    with_arrays,
)
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.storage.base import APART, HERE, NONE, Event, Storage, log_of
from partial_monitoring.storage.memory import Memory
from partial_monitoring.storage.nothing import Nothing
from partial_monitoring.storage.opened import MEMORY, AnyStorage, storage_of
from partial_monitoring.validation import boolean, brief

FORMAT = 6
"""Version of the files that are written: up to 5 states of signals have no doubt; up to 4 what was
observed again did not fade in states that forget; up to 3 all hold events; 2 has no checksum, and
numbers as ids; 1 has no events."""

REFOLDED = 10_000
"""Largest number of events from which the state is computed again, which takes about 50 us each."""


def write(path: str | Path, spec: Spec, session: Session, storage: Storage) -> None:
    """Write a learner to a file, whole or not at all."""
    try:
        described = spec.to_dict()
    except InvalidInput as error:
        raise InvalidInput(
            f"{str(error).rstrip('.')}; with parts of your own, keep learner.events instead and "
            f"make the learner again with Learner.replay."
        ) from None
    log, kept = log_of(storage), steps.snapshot(spec, session)
    if log == NONE and kept["state"] is None:
        raise InvalidInput(
            f"a learner whose events are not kept (storage=None) cannot be saved if the state of "
            f"{type(spec.policy).__name__} is made again from them."
        )
    events = list(storage.after())[: session.seq] if log == HERE else None
    everything = {**described, "snapshot": kept, "log": log, "events": events}
    first, rest = _texts(everything)
    head = f'"format": {FORMAT}, "digest": "{_digest(first, rest)}"'
    disk.write_text(path, f'{{{head}, "game": {first}, {rest[1:]}')


def read(path: str | Path, storage: AnyStorage = MEMORY) -> tuple[Spec, Session, Storage]:
    """Return the spec, the session and the storage of a learner from its file."""
    data = disk.read_json(path, strict=True)
    version = data.get("format") if isinstance(data, Mapping) else None
    if version is None:
        raise InvalidInput(f"{path}: is not a saved learner.")
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise InvalidInput(
            f"{path}: has format {brief(version)}; this version reads 1 to {FORMAT}."
        )
    session: Session | None
    events: list[Event] | None = None
    try:
        if data.get("digest") != (_digest(*_texts(data), version) if version > 2 else None):
            raise InvalidInput("its checksum is not that of its content.")
        if version == 1:
            spec, session, events = format_1.restored(data)
        elif version < 4 or data["log"] == HERE:
            spec, session, events = _with_events(data)
        else:
            spec, session = _alone(data)
    except PartialMonitoringError as error:
        raise InvalidInput(f"{path}: is not a saved learner: {error}") from None
    except snapshots.DAMAGE:
        raise InvalidInput(f"{path}: is not a saved learner.") from None
    log = HERE if version < 4 else data["log"]
    return spec, *_stored(path, spec, session, events, log, storage)


def _texts(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text of the game of a file, and that of all that follows it."""
    rest = {key: data[key] for key in data if key not in ("format", "digest", "game")}
    return json.dumps(data["game"]), json.dumps(rest)


def _digest(game: str, rest: str, version: int = FORMAT) -> str:
    return sha256(f"{version} {game} {rest}".encode()).hexdigest()


def _with_events(data: Mapping[str, Any]) -> tuple[Spec, Session, list[Event]]:
    """Return what the events of a file make, if it is what its snapshot says."""
    spec, arrays = _spec_and_arrays(data)
    events, kept = data["events"], data["snapshot"]
    refolded, session = arrays is None or len(events) <= REFOLDED, spec.start
    for event in steps.amended(events):
        step = steps.event_step(spec, session, event)
        snapshots.check_names(spec, step)
        state = steps.learned(spec, session.state, step) if refolded else session.state
        session = steps.noted(session, step, state)
    if not refolded:
        check_rounds(arrays, spec.counted(session))
        session = session._replace(state=with_arrays(spec.start.state, arrays))
    found = steps.snapshot(spec, session)
    for name, value in found.items():
        if name == "tokens" and data["format"] == 2:
            continue
        said = kept[name][-MOST_TOKENS:] if name == "tokens" else kept[name]
        if not (alike(value, said) or (name == "state" and arrays is None)):
            raise InvalidInput(f"its snapshot has another {name!r} than its events make.")
    return spec, session, events


def _alone(data: Mapping[str, Any]) -> tuple[Spec, Session | None]:
    """Return the session of a snapshot without events; None if it is made again from them."""
    if data["log"] not in (APART, NONE) or data["events"] is not None:
        raise InvalidInput(f"its log is {brief(data['log'])}.")
    spec, arrays = _spec_and_arrays(data)
    if arrays is None and data["log"] == APART:
        return spec, None
    if arrays is None:
        raise InvalidInput("its state is in the units of another version, and it has no events.")
    kept, start = data["snapshot"], spec.start.state
    if data["format"] < 6 and is_former(start, arrays):
        kept = kept | {"state": saved(with_arrays(start, arrays), start)}
    return spec, snapshots.restored(spec, kept)


def _spec_and_arrays(data: Mapping[str, Any]) -> tuple[Spec, Any]:
    """Return the spec of a file, and the arrays of its state in the units of the spec, or None.

    None as well if there are events from which it is made as it is now.
    """
    boolean("allow_hopeless", data["settings"]["allow_hopeless"])
    spec = Spec.from_dict(data)
    same = game_to_dict(spec.game) == data["game"]
    arrays = data["snapshot"]["state"]
    weighed = data["format"] < 5 and spec.forgetting.active
    former = weighed or (data["format"] < 6 and is_former(spec.start.state, arrays))
    return spec, arrays if same and not (former and data.get("log") != NONE) else None


def _stored(
    path: str | Path,
    spec: Spec,
    session: Session | None,
    events: list[Event] | None,
    log: str,
    given: AnyStorage,
) -> tuple[Session, Storage]:
    """Return the session after all that is stored, and where its events go on."""
    if given == MEMORY and log == APART:
        raise InvalidInput(
            f"{path}: its events are kept apart; say where, as in load(path, storage=...) or pm "
            f"status --storage."
        )
    if session is not None and (given is None or (given == MEMORY and log == NONE)):
        return session, Nothing(session.seq)
    if given == MEMORY:
        assert session is not None
        return session, Memory(events or ())
    storage = storage_of(given)
    if events and next(storage.after(), None) is None:
        storage.append(events)
    if session is None:
        return snapshots.caught_up(spec, spec.start, storage), storage
    if session.seq:
        last = next(iter(storage.after(session.seq - 1)), None)
        if last is None or (events and last != events[-1]):
            raise InvalidInput(
                f"{path}: was saved after event {session.seq}, which is not in its storage."
            )
    return snapshots.caught_up(spec, session, storage), storage

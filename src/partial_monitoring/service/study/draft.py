"""What a study would be after some requests, until that is stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from time import thread_time
from typing import Any

from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.amending import CLOSING
from partial_monitoring.learner.due import first_due
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Request, Step
from partial_monitoring.service.problems import Problem, log
from partial_monitoring.service.study.apart import Apart
from partial_monitoring.service.study.clock import APART
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import brief, real_number

ID = re.compile(r"[A-Za-z0-9]+-[0-9]{1,19}")
"""What the id of a decision looks like."""


class Draft:
    """A session that moves on, with the steps on its way; nobody sees it before it is stored.

    Parameters
    ----------
    hosted
        The study.
    session
        After all events that are stored.
    now
        The time.
    halted
        Whether the time is not to be trusted: then nothing is due because of it.
    """

    def __init__(self, hosted: Any, session: Session, now: float, *, halted: bool = False) -> None:
        self.hosted, self.session, self.now, self.halted = hosted, session, now, halted
        self.spec: Spec = hosted._spec
        self.state: str = hosted.state
        self.settings: dict[str, Any] = hosted.settings
        self.successor: Any = None
        """What the study goes on as, if it was edited."""
        self.steps: list[Step] = []
        self._keys: dict[str, Event | None] = {}
        """The events of requests, of all keys that were looked up."""
        self._closed: dict[Any, Event] = {}

    def add(
        self, session: Session, made: Iterable[Step], actor: str, key: str | None = None
    ) -> None:
        """Move on to a session, by steps of which the first that is not due to time has the key."""
        for step in made:
            event = step.event
            if "due" not in event:
                if actor:
                    event["actor"] = actor
                if key is not None:
                    event["key"] = key
                    self._keys[key], key = event, None
            if event["kind"] in CLOSING:
                self._closed[event["decision"]] = event
            self.steps.append(step)
        self.session = session

    def note(self, what: str, actor: str, key: str | None = None, **more: Any) -> None:
        """Add an event that means nothing to the learner."""
        said = {name: value for name, value in more.items() if value is not None}
        event = {"seq": self.session.seq + 1, "kind": "note", "what": what, **said}
        step = steps.event_step(self.spec, self.session, event)
        self.add(steps.advance(self.spec, self.session, step), [step], actor, key)

    def by_key(self, key: str | None) -> Event | None:
        """Return the event that a request with a key has made, if there is one."""
        if key is None:
            return None
        if key not in self._keys:
            self.look_up([key])
        return self._keys[key]

    def repeats(self, key: str | None, kind: str, what: str | None = None) -> bool:
        """Whether a request of a kind came before; one of another kind has another key."""
        earlier = self.by_key(key)
        if earlier is None:
            return False
        found = earlier["kind"]
        if found == "answer" and "reason" in earlier:  # one that waited to be due was amended
            found = "amend"
        if (found, earlier.get("what")) != (kind, what):
            raise Problem(409, f"key {brief(key)} was used for a request of another kind.")
        return True

    def look_up(self, keys: Sequence[str]) -> None:
        """Look up the events of several requests at once."""
        left = [key for key in dict.fromkeys(keys) if key not in self._keys]
        for study in (self.hosted.study, *self.hosted.before):
            if not left:
                return
            found = study.by_keys(left)
            mark = {} if study is self.hosted.study else {"study": study.name}
            self._keys |= {key: event | mark for key, event in found.items()}
            left = [key for key in left if key not in found]
        self._keys |= dict.fromkeys(left)

    def closing(self, decision: Any) -> Event | None:
        """Return the event that has closed a decision, if there is one."""
        if decision in self._closed:
            return self._closed[decision]
        if type(decision) is not int and not ID.fullmatch(str(decision)):
            return None
        studies = (self.hosted.study, *self.hosted.before)
        found = (study.closing(decision) for study in studies)
        return next((event for event in found if event is not None), None)

    def late(self, decision: Any) -> list[Any]:
        """Return what was told of a decision when it was too late."""
        studies = (self.hosted.study, *self.hosted.before)
        stored = [event for study in studies for event in study.about(decision)]
        events = [*stored, *(step.event for step in self.steps)]
        return [
            event["observation"]
            for event in events
            if event["kind"] == "late" and event["decision"] == decision
        ]

    def following(self, seq: int, study: str | None = None) -> Iterable[Event]:
        """Yield the events from a number on, stored or not."""
        if study is not None:
            yield from next(x for x in self.hosted.before if x.name == study).after(seq - 1)
            return
        last = self.session.seq - len(self.steps)
        if seq <= last:
            yield from self.hosted.study.after(seq - 1)
        for step in self.steps:
            if step.event["seq"] >= max(seq, last + 1):
                yield step.event

    def time(self, given: Any) -> float:
        """Return the time that a request gives, or that of the clock."""
        if given is None:
            return self.now
        found = round(real_number("now", given), 3)
        if not 0.0 <= found <= self.now + APART:
            raise InvalidInput(f"now must be a time that is not in the future; got {brief(given)}.")
        return found

    def decide(self, session: Session, request: Request, made: Sequence[Step], more: Event) -> Step:
        """Return what is decided after a session, to which some more steps lead.

        ``more`` is what the event says besides.
        """
        hosted = self.hosted
        own: Apart | None = hosted.process
        unstored = [*self.steps, *made]
        step: Step
        if own is not None and own.ready:
            try:
                step, seconds = own.decide(session, request, hosted.study, unstored, more)
            except (OSError, RuntimeError, KeyError, ValueError) as error:
                if isinstance(error, PartialMonitoringError):
                    raise
                log.exception("study %r decides in a thread from now on", hosted.name)
                own.stop()
            else:
                hosted.note_pace(seconds)
                return step
        begun = thread_time()
        step = steps.decide(self.spec, session, request)
        step.event.update(more)
        hosted.note_pace(thread_time() - begun)
        return step

    def settled(self, session: Session, time: float, made: list[Step]) -> Session:
        """Return a session with all decisions counted that are due; add the steps that do so."""
        window = self.spec.window
        if window is None or (self.halted and window.rounds is None):
            return session
        session, step = first_due(self.spec, session, time)
        while step is not None:
            made.append(step)
            session = steps.advance(self.spec, session, step)
            session, step = first_due(self.spec, session, time)
        return session

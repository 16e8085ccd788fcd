"""One study under watch: what alarms and charts need of its log, up to some event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

from partial_monitoring.learner import session as steps
from partial_monitoring.learner.alarms.watch import LEVEL, Alarm, Watch
from partial_monitoring.learner.amending import CLOSING, amended
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.beginning import asked_in
from partial_monitoring.learner.identity import decision_number
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Step
from partial_monitoring.learner.waiting import OpenDecisions, Waiting
from partial_monitoring.storage.base import Event, plain

COUNTED = ("late", "lapse", "cancel", "history", "amend")
"""The kinds of events that are counted."""

MOST_ASKED = 100_000
"""Largest number of decisions that are remembered while a log is read; of others, it is asked."""

MOST_ALARMS = 100
"""Largest number of alarms that are remembered, the latest."""


class Watching:
    """What is known of a log up to an event.

    It is moved on by the steps of the engine, or by events as they are read from the log: those
    that other processes have appended, and those of the time before.

    Parameters
    ----------
    spec
        What plays.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec, self.seq = spec, 0
        self.watch = Watch(spec.game)
        self.counts = dict.fromkeys(COUNTED, 0)
        self.alarms: list[dict[str, Any]] = []
        """Those that are stored, as plain data, with ``cleared`` if somebody did."""
        self.checks = 0
        """How often the evidence was looked at."""
        self.checked = 0
        """The number of events and answers when it was last looked at."""
        self.evidence: list[Alarm] = []
        """What was found then."""
        self.amended = False
        """Whether an answer was corrected, so that the log must be read again."""
        self.last: Step | None = None
        """The last decision that was made here, with its reasons."""
        self._asked: dict[Any, Event] = {}
        """Open decisions that were read from the log."""

    @property
    def size(self) -> int:
        """The number of events and of the answers since the last reset, each vote for one."""
        return self.seq + self.watch.told

    # -- moving on -----------------------------------------------------------------------------

    def note(self, step: Step) -> None:
        """Move on by one step; the one after the last."""
        event = step.event
        kind = event["kind"]
        if kind == "note":
            self._noted(event)
        elif kind == "history" and not step.shown:  # many are learned from at once
            before = self.spec.start._replace(seq=event["seq"] - 1)
            self.note(steps.event_step(self.spec, before, plain(event)))
        else:
            if kind in COUNTED:
                self.counts[kind] += 1
            if kind == "amend":
                self.amended = True
            elif kind == "ask" and step.decision is not None:
                self.last = step
            self.watch.note(step)
        self.seq = event["seq"]

    def read(self, log: Any, upto: int | None = None, most: int | None = None) -> bool:
        """Move on by events of a log, at most as far or as many as given; whether all are read.

        Of a decision that was made before the first of them, the log is asked.
        """
        for number, event in enumerate(log.after(self.seq)):
            if upto is not None and event["seq"] > upto:
                return True
            if number == most:
                return False
            self._read(log, event)
        self._asked.clear()
        return True

    def _read(self, log: Any, event: Event) -> None:
        kind, name = event["kind"], event.get("decision")
        if kind == "ask":
            self._asked[name] = event
            if len(self._asked) > MOST_ASKED:
                del self._asked[next(iter(self._asked))]
        if kind in ("note", "late", "amend", "answer", "activate"):
            step = Step(event, self.spec.nowhere, -1)
        else:
            before = self._before(log, event)
            step = steps.event_step(self.spec, before, event)
        self.note(step)
        if kind in CLOSING:
            self._asked.pop(name, None)

    def _before(self, log: Any, event: Event) -> Session:
        """Return as much of what was known before an event as is needed to read it."""
        session = self.spec.start._replace(seq=event["seq"] - 1)
        if event["kind"] == "ask":
            number = decision_number(event["decision"])
            return session._replace(asked=number, told=event["round"] - 1)
        if event["kind"] in CLOSING:
            name = event["decision"]
            own = self._asked.get(name) or log.asked(name) or self._moved(log, name)
            if own is not None:
                waiting = Waiting(own, *steps.played(self.spec, own))
                return session._replace(open=OpenDecisions.of([(name, waiting)]))
        return session

    def _moved(self, log: Any, name: Any) -> Event | None:
        """Return the ask of a decision that was open when the study moved to another game."""
        first = list(islice(log.after(), 1))
        return next((own for own in asked_in(first) if own["decision"] == name), None)

    def _noted(self, event: Event) -> None:
        """Remember an alarm, or that it was cleared."""
        what = event.get("what")
        if what == "alarm":
            known = {key: event[key] for key in event if key not in ("kind", "what", "key")}
            self.alarms = [*self.alarms, known | {"kind": event["alarm"]}][-MOST_ALARMS:]
        elif what == "clear":
            kind = event.get("alarm")
            by = {"cleared": event["seq"], "cleared_by": event.get("actor", "")}
            by |= {"cleared_at": event.get("when"), "reason": event.get("reason")}
            self.alarms = [
                own | by if kind in (None, own["kind"]) and "cleared" not in own else own
                for own in self.alarms
            ]

    @classmethod
    def of(cls, spec: Spec, events: Iterable[Event], log: Any) -> Watching:
        """Return it after all events of a log, each answer as it was last amended."""
        found, rows = cls(spec), list(events)
        for event in amended(rows):
            found._read(log, event)
        found._asked.clear()
        found.amended = False
        return found

    # -- alarms --------------------------------------------------------------------------------

    def look(self, level: float = LEVEL) -> list[Alarm]:
        """Return the alarms that are to be stored: evidence enough, and not stored already.

        One that was cleared is raised again if the evidence has grown by as much again.
        """
        self.checked, self.checks = self.size, self.checks + 1
        self.evidence = self.watch.evidence()
        found = []
        for own in self.evidence:
            limit = self.watch.limit(own.kind, level)
            earlier = [alarm for alarm in self.alarms if self._is_of(alarm, own.kind)]
            if earlier and "cleared" not in earlier[-1]:
                continue
            if own.log_e >= limit + (earlier[-1]["log_e"] if earlier else 0.0):
                found.append(own)
        return found

    def stretch(self, kind: str) -> int:
        """Return the number of resets after which evidence of a kind begins anew."""
        return 0 if kind == "answers" else self.watch.resets

    def _is_of(self, alarm: Mapping[str, Any], kind: str) -> bool:
        """Whether an alarm is of a kind, and of the present stretch between resets."""
        return bool(alarm["kind"] == kind and alarm.get("stretch", 0) == self.stretch(kind))

    def key(self, kind: str) -> str:
        """Return the key under which the next alarm of a kind is stored, once by all processes."""
        number = sum(self._is_of(alarm, kind) for alarm in self.alarms)
        return f"alarm/{kind}/{self.stretch(kind)}/{number}"

    @property
    def active(self) -> list[dict[str, Any]]:
        """The alarms that nobody has cleared, in the present stretch between resets."""
        known = [alarm for alarm in self.alarms if "cleared" not in alarm]
        return [alarm for alarm in known if self._is_of(alarm, alarm["kind"])]

    # -- plain data ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "spec": self.spec.digest,
            "seq": self.seq,
            "watch": self.watch.to_dict(),
            "counts": self.counts,
            "alarms": self.alarms,
            "checks": self.checks,
        }

    @classmethod
    def from_dict(cls, spec: Spec, data: Mapping[str, Any]) -> Watching:
        """Return it from plain data."""
        found = cls(spec)
        found.seq, found.checks = data["seq"], data["checks"]
        found.watch = Watch.from_dict(spec.game, data["watch"])
        found.counts |= data["counts"]
        found.alarms = list(data["alarms"])
        return found


_all: WeakKeyDictionary[LearnerBase, Watching] = WeakKeyDictionary()


def watching(hosted: LearnerBase) -> Watching | None:
    """Return the watch of a study, if it has one by now."""
    return _all.get(hosted)


def watched_by(hosted: LearnerBase, own: Watching) -> None:
    """Let views find the watch of a study."""
    _all[hosted] = own

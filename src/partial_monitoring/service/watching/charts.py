"""The points of the charts of a study: few, whatever its size.

There are about fifty for each decade of decisions and one a minute while something happens, at most
five hundred: those that are closest to their neighbours are left out. A point may carry what the
watch of the study knew, see ``study/watched.py``.

While many decisions are made at once, what is known after some of them is remembered in ``Marks``,
and drawn when there is time.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.service.study.hosted import Hosted
from partial_monitoring.service.study.watched import Watching
from partial_monitoring.service.views.tracing import MOST_POINTS, point

KEPT = 400
"""How many points are kept when there are too many."""

PER_DECADE = 50

GROWN = log(10) / PER_DECADE
"""Difference of the logarithms of the numbers of decisions of two points."""

MOST_MARKS = 64
"""Largest number of sessions that are remembered for points."""

MINUTE = 60.0

MANY = 10 * MOST_POINTS
"""Largest number of points that are read."""

AGAIN = 50
"""Number of points after which those that are stored are counted again."""

LATEST = 40
"""Number of points that are never left out: the last ones."""


class Point(NamedTuple):
    """Where a point is."""

    seq: int
    at: float
    decisions: int


class Mark:
    """A session of which a point is to be drawn."""

    def __init__(self, session: Session, at: float) -> None:
        self.session, self.at = session, at
        self.counts: Mapping[str, int] | None = None
        """What the watch had counted by then, as soon as it has come there."""


class Marks:
    """Sessions of which points are to be drawn, by the numbers of their last events."""

    def __init__(self) -> None:
        self.waiting: dict[int, Mark] = {}
        self._asked = 0
        """The number of decisions of the last one."""

    def remember(self, session: Session, at: float) -> None:
        """Remember a session, if there are many more decisions than in the last one."""
        if session.asked > self._asked * exp(GROWN):
            self._asked = session.asked
            self.waiting[session.seq] = Mark(session, at)
            if len(self.waiting) > MOST_MARKS:
                self.waiting = dict(list(self.waiting.items())[1::2])

    def reached(self, seq: int, counts: Mapping[str, int]) -> None:
        """Note what was counted up to an event, if one of them is after it."""
        own = self.waiting.get(seq)
        if own is not None:
            own.counts = dict(counts)

    def taken(self) -> Mark | None:
        """Return the first one, which is forgotten."""
        return self.waiting.pop(next(iter(self.waiting))) if self.waiting else None


class Chart:
    """The points of one study as they are stored."""

    def __init__(self, study: Any) -> None:
        self._study = study
        self._points: list[Point] | None = None
        self._with_state: list[int] = []
        self._known = -1
        """The number of the last event that the watch knew when it was stored."""
        self._drawn = 0

    def state(self, spec: Spec, version: int) -> Mapping[str, Any] | None:
        """Return what the watch of a study knew last, if that is stored and of the same spec."""
        found = None
        self._points, self._with_state = [], []
        for seq, at, body in self._study.traces(limit=MANY):
            self._points.append(Point(seq, at, body["decisions"]))
            own = body.get("state")
            if own is not None:
                self._with_state.append(seq)
                if own["spec"] == spec.digest is not None and own["seq"] <= version:
                    found, self._known = own, own["seq"]
        return found

    def is_due(self, decisions: int, seq: int, now: float) -> bool:
        """Whether it is time for another point."""
        last = self._points[-1] if self._points else None
        if last is None:
            return seq > 0
        if seq == last.seq:
            return False
        grown = log(max(decisions, 1) / max(last.decisions, 1)) >= GROWN
        return (grown and decisions > last.decisions) or now >= last.at + MINUTE

    def draw(self, hosted: Hosted, watching: Watching, now: float, *, save: bool) -> bool:
        """Store a point if it is due or what the watch knows is to be saved; whether it was."""
        if self._points is None:
            self.state(hosted._spec, 0)
        assert self._points is not None
        seq, asked = hosted._session.seq, hosted._session.asked
        if save and self._with_state[-1:] == [seq] and self._known == watching.seq:
            return True
        if not seq or not (save or self.is_due(asked, seq, now)):
            return False
        body = point(hosted, watching)
        seq = body.pop("seq")
        self._study.trace(seq, now, body | ({"state": watching.to_dict()} if save else {}))
        self._points = [own for own in self._points if own.seq != seq]
        self._points.append(Point(seq, now, body["decisions"]))
        if save:
            self._known = watching.seq
            self._strip(seq)
        self._thin()
        return True

    def store(self, points: list[tuple[float, dict[str, Any]]]) -> None:
        """Store points of a time before, each with its time."""
        assert self._points is not None
        known = {own.seq for own in self._points}
        with self._study.turn():
            for at, body in points:
                seq = body.pop("seq")
                if seq not in known:
                    self._study.trace(seq, at, body)
                    self._points.append(Point(seq, at, body["decisions"]))
        self._points.sort()
        self._thin()

    def _strip(self, latest: int) -> None:
        """Leave out what the watch knew at earlier points."""
        for seq, at, body in self._study.traces(limit=MANY) if self._with_state else ():
            if seq in self._with_state and seq != latest:
                self._study.trace(seq, at, {key: body[key] for key in body if key != "state"})
        self._with_state = [latest]

    def _thin(self) -> None:
        """Leave out points that are close to others, if there are too many.

        Other processes draw as well, so that what is stored is counted from time to time.
        """
        self._drawn += 1
        if self._drawn % AGAIN == 0:
            self._points = [
                Point(seq, at, body["decisions"])
                for seq, at, body in self._study.traces(limit=MANY)
            ]
        assert self._points is not None
        if len(self._points) > MOST_POINTS:
            kept = thinned(self._points, KEPT)
            gone = {own.seq for own in self._points} - {own.seq for own in kept}
            self._study.forget_traces(gone - set(self._with_state))
            self._points = kept


def thinned(points: list[Point], most: int) -> list[Point]:
    """Return at most so many points, those left out that are closest to their neighbours.

    Closeness is in time and in the logarithm of the number of decisions, each in parts of the whole
    range; the first and the last ones stay.
    """
    at = np.array([own.at for own in points])
    grown = np.log(np.maximum([own.decisions for own in points], 1))
    whole = [max(float(own[-1] - own[0]), 1e-9) for own in (at, grown)]
    place, kept = at / whole[0] + grown / whole[1], np.arange(len(points))
    while len(kept) > most:
        gaps = place[kept[2:]] - place[kept[:-2]]
        kept = np.delete(kept, 1 + int(gaps[:-LATEST].argmin()))
    return [points[i] for i in kept]

"""Who watches all studies of an engine: alarms, and points of the charts, beside the committer.

The engine hands over the steps that were stored; a thread of its own moves the watch of each study
on by them. At times that grow by a fiftieth it looks at the evidence and stores an alarm, once; and
it stores points of the charts. Neither happens more than once a second for a study, or takes more
than a fiftieth of the time; what is known in between is remembered, and drawn then. What the watch
knows is stored with a point from time to time, so that a service that starts again reads only the
events since then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any

from partial_monitoring.learner.alarms.watch import LEVEL, Alarm
from partial_monitoring.learner.step import Step
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem, log
from partial_monitoring.service.study.hosted import Hosted
from partial_monitoring.service.study.watched import Watching, watched_by
from partial_monitoring.service.views.taken import close_reader, taken
from partial_monitoring.service.views.theory import theory_of
from partial_monitoring.service.views.tracing import point_after
from partial_monitoring.service.watching.charts import Chart, Marks

OFTEN = 1.0
"""Seconds between looks at a study, and between points of its charts."""

SELDOM = 50.0
"""By how much the time between looks is longer than what one takes."""

GROWTH = 50
"""The evidence is looked at when there is a fiftieth more of it."""

MOST_WAITING = 20_000
"""Largest number of steps of a study that wait; more are read from the log."""

CHUNK = 500
"""Number of events that are read from a log before it is the turn of another study."""

PAUSE = 0.002
"""Seconds after each of them, which others use."""

LARGEST = 1e6
"""Largest logarithm of an e-value that is stored."""

WATCHER = "watcher"
"""Who stores alarms."""

PATIENCE = 5.0
"""Seconds that it has to end."""

SHORT = 0.02
"""Seconds in which points of earlier sessions are drawn at a look."""

ANEW = {"history", "reset", "amend"}
"""Kinds of events after which a session that was remembered does not fit the watch."""

REST = 5.0
"""Seconds after which a study is tried again that could not be watched."""

SAVED_EVERY = 5000
"""Number of events after which what the watch knows is stored again."""


class Beside:
    """One study: its watch, its chart, and what waits."""

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        self.waiting: list[Step] = []
        self.watching = Watching(hosted._spec)
        self.chart = Chart(hosted.study)
        self.marks = Marks()
        self.begun = self.current = self.analysed = False
        self.saved = 0
        """The number of the event with which the watch was stored."""
        self.looks = 0.0
        """When the evidence is looked at again, by the monotonic clock."""
        self.rests = 0.0
        """Until when it is left alone, because something went wrong."""


class Watcher:
    """Watches the studies of an engine until it is closed.

    Parameters
    ----------
    engine
        Whose studies, as soon as they are in use.
    clock
        What the times of points are taken from.
    often
        Seconds between two looks at a study.
    """

    def __init__(
        self, engine: Engine, *, clock: Callable[[], float] = time.time, often: float = OFTEN
    ) -> None:
        self._engine, self._clock, self._often = engine, clock, often
        self._own: dict[Hosted, Beside] = {}
        self._changed, self._closing = Condition(), False
        self._working = Condition()
        engine.after_commit.append(self._listen)
        self._thread = Thread(target=self._run, name="pm watcher", daemon=True)
        self._thread.start()

    def watch(self, hosted: Hosted) -> None:
        """Begin to watch a study."""
        with self._changed:
            if hosted not in self._own:
                self._own[hosted] = Beside(hosted)
                self._changed.notify()

    def _listen(self, hosted: Hosted, steps: list[Step]) -> None:
        """Note what was stored; called by a committer, and quick."""
        with self._changed:
            own = self._own.get(hosted)
            if own is None:
                own = self._own[hosted] = Beside(hosted)
            if len(own.waiting) > MOST_WAITING:
                own.waiting.clear()
            own.waiting += steps
            if not ANEW.isdisjoint(step.event["kind"] for step in steps):
                own.marks = Marks()
            own.marks.remember(hosted._session, self._clock())
            own.current = False
            self._changed.notify()

    # -- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing:
            self._find()
            with self._changed:
                studies = [own for own in self._own.values() if self._has_work(own)]
                if not studies:
                    self._changed.wait(self._often)
                    continue
            with self._working:
                for own in studies:
                    self._one(own)
            time.sleep(min(self._often, 0.05))

    def _find(self) -> None:
        """Begin to watch studies that are in use now, and forget those that were replaced."""
        known = list(self._engine.studies.values())
        for hosted in known:
            self.watch(hosted)
        with self._changed:
            for hosted in set(self._own) - set(known):
                del self._own[hosted]

    def _has_work(self, own: Beside) -> bool:
        behind = own.watching.seq < own.hosted.version  # what other processes have stored
        return (behind or not own.current) and time.monotonic() >= own.rests

    def _one(self, own: Beside, *, now: bool = False) -> None:
        """Move the watch of a study on, look at it and draw it, if it is time to."""
        try:
            if not own.begun:
                self._begin(own)
            if self._moved_on(own):
                own.current = self._looked(own, now=now)
                if own.current and not own.analysed and not now:
                    own.analysed = True
                    theory_of(own.hosted).prepare()
        except Exception:
            own.current, own.rests = now, time.monotonic() + REST
            log.exception("study %r cannot be watched", own.hosted.name)

    def _begin(self, own: Beside) -> None:
        """Read what was stored of the watch; the rest follows from the log."""
        state = own.chart.state(own.hosted._spec, own.hosted.version)
        if state is not None:
            own.watching = Watching.from_dict(own.hosted._spec, state)
        own.saved = own.watching.seq
        own.begun = True

    def _moved_on(self, own: Beside) -> bool:
        """Move on by what is stored; whether that was all."""
        with self._changed:
            steps, own.waiting = own.waiting, []
        watching, study = own.watching, taken(own.hosted).storage
        for step in steps:
            seq = step.event["seq"]
            if seq > watching.seq + 1 and not self._read(watching, study, seq - 1):
                return False  # the others are read from the log, too
            if seq == watching.seq + 1:
                watching.note(step)
                own.marks.reached(seq, watching.counts)
        if watching.seq < own.hosted.version and not self._read(watching, study):
            return False
        if watching.amended:
            own.watching = again = Watching.of(own.hosted._spec, study.after(), study)
            again.checks, again.last = watching.checks, watching.last
            own.saved = 0
        watched_by(own.hosted, own.watching)
        return True

    @staticmethod
    def _read(watching: Watching, study: Any, upto: int | None = None) -> bool:
        """Read a part of what is missing; whether that was all."""
        done = watching.read(study, upto, CHUNK)
        if not done:
            time.sleep(PAUSE)
        return done

    def _looked(self, own: Beside, *, now: bool) -> bool:
        """Look at the evidence and draw a point if it is time to; whether nothing is left."""
        begun, clock = time.thread_time(), time.monotonic()
        if not now and clock < own.looks:
            return False
        watching, hosted = own.watching, own.hosted
        grown = watching.size - watching.checked
        if grown < 0 or grown > (0 if now else watching.checked // GROWTH):
            for found in watching.look(hosted.settings.get("alarm_level", LEVEL)):
                self._raise(own, found)
        save = now or watching.seq - own.saved >= SAVED_EVERY
        if own.chart.draw(hosted, watching, self._clock(), save=save) and save:
            own.saved = watching.seq
        self._draw_marks(own, now=now)
        own.looks = clock + max(self._often, SELDOM * (time.thread_time() - begun))
        return not own.marks.waiting

    def _draw_marks(self, own: Beside, *, now: bool) -> None:
        """Draw what was remembered, as much of it as there is time for."""
        begun, found = time.thread_time(), list[Any]()
        while now or time.thread_time() < begun + SHORT:
            with self._changed:
                mark = own.marks.taken()
            if mark is None:
                break
            counts = mark.counts or own.watching.counts
            found.append((mark.at, point_after(own.hosted, mark.session, own.watching, counts)))
        if found:
            own.chart.store(found)

    def _raise(self, own: Beside, found: Alarm) -> None:
        """Store an alarm; that of another process is enough."""
        watching = own.watching
        given = {"what": "alarm", "alarm": found.kind, "round": found.round, "when": self._clock()}
        given |= {"log_e": min(found.log_e, LARGEST), "sentence": found.sentence}
        given |= {"stretch": watching.stretch(found.kind), "key": watching.key(found.kind)}
        try:
            self._engine.submit(own.hosted.name, "note", given, WATCHER)
        except Problem as problem:
            log.warning("an alarm of study %r is not stored: %s", own.hosted.name, problem.detail)

    # -- for others ----------------------------------------------------------------------------

    def flush(self) -> None:
        """Look at all studies now, and store what is known of them."""
        self._find()
        with self._working:
            for own in list(self._own.values()):
                while True:
                    self._one(own, now=True)
                    if own.current:
                        break

    def close(self) -> None:
        """Store what is known, as far as the logs are read, and end."""
        if self._closing:
            return
        self._closing = True
        with self._changed:
            self._changed.notify()
        self._thread.join(PATIENCE)
        if not self._thread.is_alive():  # otherwise what was stored before is enough
            for own in list(self._own.values()):
                self._last(own)
        self._engine.after_commit.remove(self._listen)
        close_reader(self._engine.database)

    def _last(self, own: Beside) -> None:
        try:
            if own.begun and self._moved_on(own):
                self._looked(own, now=True)
            elif own.begun:
                own.chart.draw(own.hosted, own.watching, self._clock(), save=True)
        except Exception:
            log.exception("what is known of study %r is not stored", own.hosted.name)

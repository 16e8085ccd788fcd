"""A study that is served."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import partial_monitoring
from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.learner import session as steps
from partial_monitoring.learner import snapshots
from partial_monitoring.learner.learner import Learner
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.service.problems import later
from partial_monitoring.service.study.apart import Apart
from partial_monitoring.service.study.draft import Draft
from partial_monitoring.storage.base import Event, plain
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.study import Study

RUNNING, PAUSED, ARCHIVED = "running", "paused", "archived"

SETTINGS: dict[str, Any] = {"fallback": None, "max_open": 100_000, "alarm_level": 0.01}
"""The settings of a study that says nothing about them."""

ENGINE = "engine"
"""The setting with the version of the library that has written the last events."""

VERSION = partial_monitoring.__version__

SLOW = 0.005
"""Seconds of a decision from which on others do not wait for it."""

OFTEN, RARELY = 3, 100
"""How many decisions in a row must be slow until it is slow, and fast until it is not."""

QUICK, SETTLED = 0.001, 50
"""Seconds of a request, and requests in a row that take no longer until it is quick."""


class Hosted(Learner):
    """A study that is served: what can be read of it is what is stored.

    It changes through the requests of an engine only. Their steps are made on a ``Draft``, stored,
    and ``published`` then, so that nobody has seen what was not stored.

    Parameters
    ----------
    database, study
        Where its log is.
    spec
        What plays.
    session
        After all events of the log, if it is known.
    before
        What it was before it was edited, the latest first.
    """

    def __init__(
        self,
        database: Database,
        study: Study,
        spec: Spec,
        session: Session | None = None,
        before: tuple[Study, ...] = (),
    ) -> None:
        self._begin(spec, _loaded(spec, study) if session is None else session, study)
        self.database, self.study, self.name, self.before = database, study, study.name, before
        self.successor: Hosted | None = None
        """What it goes on as, under ``entry``."""
        self.waiting: deque[Any] = deque()
        """Requests, in the order of their arrival."""
        self.entry = Lock()
        self.scheduled = False
        """Whether a committer has it, under ``entry``."""
        self.apart = False
        """Whether it has a request that takes long."""
        self.slow = False
        """Whether it is slow to decide, so that others do not wait for it."""
        self.process: Apart | None = None
        """Where it decides, if it is slow."""
        self._kept, self._otherwise = 0, 0  # an old snapshot may be of no use
        self._in_a_row, self._stumbled = 0, False
        self.keeping = False
        """Whether a snapshot is about to be kept."""
        self.read_row()

    def read_row(self) -> None:
        """Read what is not in the log: state and settings."""
        state, settings, created_at = self.study.row
        self.state: str = state
        self.settings: dict[str, Any] = SETTINGS | settings
        self.created_at: float = created_at

    @property
    def version(self) -> int:
        """The number of the last event."""
        return self._session.seq

    @property
    def token(self) -> str:
        """With which the ids of its decisions begin."""
        return self._token

    @contextmanager
    def drafting(self, now: float, *, halted: bool = False) -> Iterator[Draft]:
        """Give a draft, whose steps are stored at the end at the latest."""
        with self.study.turn() as last:
            if last != self._session.seq:
                self._catch_up()
            self.read_row()
            draft = Draft(self, self._session, now, halted=halted)
            self._mark(draft)
            with self._spec.patience:
                yield draft
            self.study.append([plain(step.event) for step in draft.steps])
            if draft.successor is not None:
                spec, events = draft.successor.spec.to_dict(), draft.successor.events
                self.database.replace(self.study, draft.successor.archived, spec, events)
            elif (draft.state, draft.settings) != (self.state, self.settings):
                self.study.set(state=draft.state, settings=draft.settings)

    def _mark(self, draft: Draft) -> None:
        """Say which version of the library goes on with the log, if it is another one."""
        written = draft.settings.get(ENGINE)
        if written != VERSION and draft.state != ARCHIVED:
            if written is not None:
                draft.note("engine", "", version=VERSION, before=written)
            draft.settings = draft.settings | {ENGINE: VERSION}

    def note_pace(self, seconds: float) -> None:
        """Note how long a decision took, to decide apart from others if it takes long."""
        self._stumbled = self._stumbled or seconds > SLOW
        if (seconds > SLOW) == self.slow:
            self._otherwise = 0
            return
        self._otherwise += 1
        if self._otherwise >= (OFTEN if not self.slow else RARELY):
            self.slow, self._otherwise = not self.slow, 0
            self.stop()
            self.process = Apart(self._spec) if self.slow else None

    def note_cost(self, seconds: float, requests: int) -> None:
        """Note how long some requests took that were made together."""
        quick = seconds <= QUICK * requests and not self._stumbled
        self._in_a_row, self._stumbled = self._in_a_row + requests if quick else 0, False

    @property
    def is_quick(self) -> bool:
        """Whether its requests take so little time that no thread is needed for them."""
        return self._in_a_row >= SETTLED and not self.slow and not self.apart

    def lost(self) -> None:
        """Forget what was not stored."""
        if self.process is not None:
            self.process.lost()

    def stop(self) -> None:
        """End its process."""
        if self.process is not None:
            self.process.stop()

    def published(self, draft: Draft) -> None:
        """Move on to a draft that is stored."""
        self._session = draft.session
        if self.process is not None:
            self.process.stored()
        self.state, self.settings = draft.state, draft.settings

    @property
    def is_due(self) -> bool:
        """Whether there are events enough since the last snapshot."""
        session = self._session
        return session.seq - self._kept >= max(snapshots.EVERY, len(session.open))

    def kept(self, *, anyway: bool = False) -> None:
        """Keep a snapshot if it is due, or ``anyway``."""
        session = self._session
        if self.is_due or (anyway and session.seq > self._kept):
            before = session._replace(seq=session.seq - snapshots.EVERY)
            self._kept = session.seq
            snapshots.keep(self._spec, before, session, self.study)

    def _catch_up(self) -> None:
        self._session = _caught_up(self._spec, self._session, self.study)

    def _publish(self, session: Session, events: list[Event]) -> None:
        raise InvalidInput(f"study {self.name!r} is served, and changes through its service.")


def _loaded(spec: Spec, study: Study) -> Session:
    try:
        return snapshots.opened(spec, study)
    except snapshots.DAMAGE as error:
        raise quarantined(spec, study, error) from error


def _caught_up(spec: Spec, session: Session, study: Study) -> Session:
    try:
        return snapshots.caught_up(spec, session, study)
    except snapshots.DAMAGE as error:
        raise quarantined(spec, study, error) from error


def quarantined(spec: Spec, study: Study, error: BaseException) -> Exception:
    """Return that a study cannot be used because of an event, with the number of that event."""
    session = spec.start
    try:
        for event in steps.amended(study.after()):
            session = steps.advance(spec, session, steps.event_step(spec, session, event))
    except Exception as found:
        error = found
    why = error.said if isinstance(error, StorageError) else str(error)
    return later(
        f"study {study.name!r} cannot be used: its event {session.seq + 1} cannot be read "
        f"({why.rstrip('.')}).",
        60,
    )

"""What a service does once a second, whether somebody asks for it or not."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

from partial_monitoring.errors import StorageError
from partial_monitoring.learner.due import first_due
from partial_monitoring.service.engine import collector
from partial_monitoring.service.problems import log
from partial_monitoring.service.study.hosted import ARCHIVED, Hosted
from partial_monitoring.storage.database import Database

SECONDS = 1.0
"""Between two ticks."""


class Timer:
    """A thread that lets decisions be counted that are due, and notices what others have stored.

    Parameters
    ----------
    engine
        Whose studies they are.
    """

    def __init__(self, engine: Any) -> None:
        self._engine, self._ended = engine, Event()
        self._thread = Thread(target=self._run, name="pm timer", daemon=True)
        self._thread.start()

    def stop(self, patience: float) -> None:
        """End."""
        self._ended.set()
        self._thread.join(patience)

    def _run(self) -> None:
        while not self._ended.wait(SECONDS):
            try:
                self.tick()
            except Exception:
                log.exception("the timer failed")

    def tick(self) -> None:
        """Count what is due by now, fold what others have stored, collect garbage if idle."""
        engine, busy, versions = self._engine, False, dict[int, int]()
        now, database = engine.clock.now(), engine.database
        try:
            if engine.why_not:
                probe(database)
                engine.stored()
            if not database.handle.owns:
                versions = dict(database.handle.rows("SELECT id, version FROM pm_study"))
        except StorageError as error:
            engine.failed(error)
            return
        for hosted in list(engine.studies.values()):
            busy = busy or hosted.scheduled
            if not hosted.scheduled and hosted.state != ARCHIVED:
                last = versions.get(hosted.study._number, hosted.version)
                if last != hosted.version or self._has_due(hosted, now):
                    engine.submit(hosted.name, "settle", {})
        if not busy:
            collector.idle()

    def _has_due(self, hosted: Hosted, now: float) -> bool:
        """Whether a decision is due."""
        window, session = hosted.window, hosted._session
        if window is None or self._engine.clock.halted or not session.open:
            return False
        return first_due(hosted._spec, session, now)[1] is not None


def probe(database: Database) -> None:
    """Write something that changes nothing, to see whether a database can be used."""
    with database.handle.transaction():
        database.handle.run("UPDATE pm_meta SET value = value WHERE key = 'schema'")

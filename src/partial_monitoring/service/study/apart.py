"""Decisions in a process of their own, for studies that are slow to decide.

A thread that decides keeps others from running most of the time. With a process, it only waits. The
events are still made one after another, stored and published here: the process holds a copy of what
the study knows, and is sent the events that it has not seen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock, Thread, Timer
from time import monotonic
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Request, Step
from partial_monitoring.service.problems import log
from partial_monitoring.storage.base import Event, plain
from partial_monitoring.storage.study import Study

MOST_EVENTS = 1000
"""Largest number of events that are sent instead of a snapshot."""

MOST = max(1, (os.cpu_count() or 1) - 1)
"""Largest number of processes; other studies decide in threads."""

LIMIT = 30.0
"""Seconds after which a process that does not answer is ended, at least."""

SLACK = 20.0
"""How many times as long as its slowest answer so far a process may take beyond that."""

PATIENCE = 2.0
"""Seconds that a process has to end by itself."""

_lock = Lock()
_running = 0


class Apart:
    """A process that decides for a study, once it is ready.

    Parameters
    ----------
    spec
        What plays.
    """

    def __init__(self, spec: Spec) -> None:
        global _running
        self._spec = spec
        self._process: subprocess.Popen[str] | None = None
        self._ready = self._ended = False
        self._stored = self._seen = 0
        self._slowest = 0.0
        """Seconds of an answer."""
        with _lock:
            if _running < MOST:
                _running += 1
                Thread(target=self._start, name="pm starting", daemon=True).start()
            else:
                self._ended = True

    @property
    def ready(self) -> bool:
        """Whether it can be asked."""
        return self._ready and not self._ended

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                command("partial_monitoring.service.study.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            if self._ended:  # in the meantime
                self._end(self._process)
                return
            self._said(self._spec.to_dict())
            self._slowest, self._ready = 0.0, True
        except Exception:
            if not self._ended:
                log.exception("no process for a slow study")
            self.stop()

    def decide(
        self, session: Session, request: Request, study: Study, made: Sequence[Step], more: Event
    ) -> tuple[Step, float]:
        """Return what is decided after a session, and in how many seconds.

        ``made`` are the steps until then that are not stored, ``more`` what the event says besides.
        """
        given = {name: value for name, value in request.items() if value is not None}
        asked = {"request": given, "more": more}
        found = self._said(self._message(session, study, made) | asked)
        if "unknown" in found:
            found = self._said(self._message(session, study, made, anew=True) | asked)
        if "refused" in found:
            raise InvalidInput(found["refused"])
        event = found["event"]
        self._seen = event["seq"]
        return steps.event_step(self._spec, session, event), found["seconds"]

    def _message(
        self, session: Session, study: Study, made: Sequence[Step], *, anew: bool = False
    ) -> dict[str, Any]:
        """Return what the process has not seen; all of it if it is to begin ``anew``."""
        stored = session.seq - len(made)
        if not anew and self._seen > 0 and stored - self._seen <= MOST_EVENTS:
            events: list[Event] = []
            if self._seen < stored:
                events = [event for event in study.after(self._seen) if event["seq"] <= stored]
            events += [plain(x.event) for x in made if x.event["seq"] > self._seen]
            if not steps.has_amendments(events):
                return {"after": self._seen, "keep": self._stored, "events": events}
        kept = steps.snapshot(self._spec, session)
        found: dict[str, Any] = {"after": session.seq, "keep": self._stored, "events": []}
        if kept["state"] is not None:
            return found | {"snapshot": kept}
        events = [event for event in study.after() if event["seq"] <= stored]
        return found | {"anew": True, "events": [*events, *(plain(x.event) for x in made)]}

    def stored(self) -> None:
        """Note that all that it has seen is stored."""
        self._stored = self._seen

    def lost(self) -> None:
        """Note that what it has seen last is not stored."""
        self._seen = self._stored

    def _said(self, message: dict[str, Any]) -> dict[str, Any]:
        """Write a line and read another one; a process that hangs is killed, which ends both."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        begun, limit = monotonic(), LIMIT + SLACK * self._slowest
        killing = Timer(limit, process.kill)
        killing.start()
        try:
            process.stdin.write(f"{json.dumps(message)}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        finally:
            killing.cancel()
        seconds = monotonic() - begun
        if not line:
            late = f" because it did not answer within {limit:.3g} s" if seconds > limit else ""
            raise OSError(f"the process has ended{late}.")
        self._slowest = max(self._slowest, seconds)
        found: dict[str, Any] = json.loads(line)
        if "failed" in found:
            raise RuntimeError(found["failed"])
        return found

    def stop(self) -> None:
        """End the process."""
        global _running
        with _lock:
            if self._ended:
                return
            self._ended = True
            _running -= 1
        if self._process is not None:
            self._end(self._process)

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError, AttributeError):
                pipe.close()  # type: ignore[union-attr]
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def command(module: str) -> list[str]:
    """Return what starts a process that runs a module."""
    return [sys.executable, "-m", module]


def environment() -> dict[str, str]:
    """Return its environment, in which it finds what this process does."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def answered_apart(module: str, asked: Any, seconds: float) -> Any:
    """Return what a process answers that runs a module, reads one object and writes another."""
    try:
        done = subprocess.run(
            command(module),
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=seconds,
            env=environment(),
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)

"""All studies of a database that are served: their requests, and who hears of what was stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import RLock
from types import MappingProxyType
from typing import Any

from partial_monitoring.errors import StorageError, entry
from partial_monitoring.learner.opening import spec_of
from partial_monitoring.learner.step import Step
from partial_monitoring.service import collector, playing
from partial_monitoring.service.clock import Clock
from partial_monitoring.service.committer import Answer, Committer, Verb, Waiting
from partial_monitoring.service.creating import created
from partial_monitoring.service.hosted import Hosted
from partial_monitoring.service.problems import Problem, later, log, problem_of
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.study import study_name

MOST_WAITING = 2000
"""Largest number of requests of a study that wait."""

PATIENCE = 10.0
"""Seconds that requests have to be answered when the service ends."""

AGAIN = 30.0
"""Seconds after which a study that could not be read is read again."""

VERBS: Mapping[str, Verb] = {"ask": playing.ask, "tell": playing.tell}

Listener = Callable[[Hosted, list[Step]], None]


class Engine:
    """The studies of a database, as many callers use them at once.

    Parameters
    ----------
    database
        Of which this process is the only writer, if it is a file.
    clock
        The clock of the system.

    Attributes
    ----------
    after_commit
        Called with a study and the steps that were stored, in the thread of a committer.
    new_future, deliver
        What ``submit`` returns, and how a list of answers reaches those who wait: a caller with an
        event loop can wake it once per commit.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.database, self.clock = database, Clock(clock)
        self.after_commit: list[Listener] = []
        self.new_future: Callable[[], Any] = Future
        self.deliver: Callable[[list[Answer]], None] = delivered
        self._studies: dict[str, Hosted] = {}
        self._broken: dict[str, tuple[float, Problem]] = {}
        self._lock = RLock()
        self._closed, self._trouble = False, ""
        self._committers: dict[str, Committer] = {}
        self._loading = ThreadPoolExecutor(1, "pm loading")
        collector.tame()

    # -- studies -------------------------------------------------------------------------------

    @property
    def studies(self) -> Mapping[str, Hosted]:
        """Those that are in use, by name."""
        return MappingProxyType(self._studies)

    def names(self) -> list[str]:
        """Return the names of all studies."""
        return self.database.names()

    def hosted(self, name: str) -> Hosted:
        """Return a study, which is read if it is not in use."""
        found = self._studies.get(name)
        if found is not None:
            return found
        with self._lock:
            found = self._studies.get(name)
            if found is None:
                found = self._loaded(name)
            return found

    def _loaded(self, name: str) -> Hosted:
        when, problem = self._broken.get(name, (0.0, None))
        if problem is not None and time.monotonic() < when + AGAIN:
            raise problem
        try:
            study = self.database.study(study_name(name))
            if study is None:
                raise Problem(404, f"there is no study {name!r}.")
            found = Hosted(study, spec_of(self.database, name))
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 503:
                self._broken[name] = time.monotonic(), problem
            raise (Problem(404, problem.detail) if problem.status == 422 else problem) from error
        self._broken.pop(name, None)
        self._studies[name] = found
        collector.freeze()
        return found

    def create(self, arguments: dict[str, Any], actor: str = "") -> Hosted:
        """Create a study from what plays, as plain data; with the same ``key``, once."""
        try:
            with self._lock:
                created(self.database, arguments, actor)
                return self.hosted(arguments["name"])
        except Exception as error:
            raise problem_of(error) from error

    # -- requests ------------------------------------------------------------------------------

    def submit(self, name: str, verb: str, arguments: dict[str, Any], actor: str = "") -> Any:
        """Return a future with the answer to a request, which is a ``Problem`` if it is refused."""
        if self._closed:
            raise later("the service ends.", 5)
        do = VERBS.get(verb)
        if do is None:
            raise Problem(404, str(_unknown(verb)))
        request = Waiting(do, arguments, actor, self.new_future())
        hosted = self._studies.get(name)
        if hosted is not None:
            self._enter(hosted, request)
        else:
            self._loading.submit(self._enter_later, name, request)
        return request.future

    def _enter(self, hosted: Hosted, request: Waiting) -> None:
        with hosted.entry:
            if len(hosted.waiting) >= MOST_WAITING:
                raise later(f"{MOST_WAITING:,} requests of study {hosted.name!r} wait already.")
            hosted.waiting.append(request)
            if not hosted.scheduled:
                hosted.scheduled = True
                self.committer(hosted).ready.put(hosted)

    def _enter_later(self, name: str, request: Waiting) -> None:
        try:
            self._enter(self.hosted(name), request)
        except Exception as error:
            self.deliver([Answer(request.future, None, problem_of(error))])

    def committer(self, hosted: Hosted) -> Committer:
        """Return who runs the requests of a study."""
        shared = self.database.handle.dialect == "sqlite"
        name = "" if shared and not hosted.slow else hosted.name
        found = self._committers.get(name)
        if found is None:
            with self._lock:
                found = self._committers.get(name)
                if found is None:
                    together = self._together if name == "" else None
                    found = Committer(self, name or "committer", together)
                    self._committers[name] = found
        return found

    def _together(self) -> Any:
        together = getattr(self.database, "together", None)
        return self.database.handle.transaction() if together is None else together()

    def announce(self, hosted: Hosted, made: list[Step]) -> None:
        """Tell listeners what was stored; what they fail in is logged."""
        for listener in self.after_commit if made else ():
            try:
                listener(hosted, made)
            except Exception:
                log.exception("a listener failed after a commit of study %r", hosted.name)
        try:
            hosted.kept()
        except StorageError:
            log.exception("no snapshot of study %r", hosted.name)

    # -- how it is -----------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether requests are accepted and the last commit succeeded."""
        return not self._closed and not self._trouble

    @property
    def why_not(self) -> str:
        """Why it is not ready, in one sentence; nothing if it is."""
        return "the service ends." if self._closed else self._trouble

    def failed(self, error: BaseException) -> None:
        """Note that a batch could not be stored."""
        self._trouble = problem_of(error).detail

    def stored(self) -> None:
        """Note that a batch was stored."""
        self._trouble = ""

    def close(self) -> None:
        """Answer what is waiting, keep snapshots, and end."""
        if self._closed:
            return
        self._closed = True
        self._loading.shutdown()
        for own in list(self._committers.values()):
            own.stop(PATIENCE)
        for hosted in list(self._studies.values()):
            try:
                hosted.kept(least=1)
            except Exception:
                log.exception("no snapshot of study %r", hosted.name)
        collector.release()


def delivered(answers: list[Answer]) -> None:
    """Hand answers to futures."""
    for future, result, problem in answers:
        if not future.set_running_or_notify_cancel():
            continue
        if problem is None:
            future.set_result(result)
        else:
            future.set_exception(problem)


def _unknown(verb: object) -> Exception:
    try:
        entry("verb", verb, VERBS)
    except Exception as error:
        return error
    raise AssertionError

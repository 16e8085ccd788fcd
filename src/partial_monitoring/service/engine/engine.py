"""All studies of a database that are served: their requests, and who hears of what was stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, RLock
from types import MappingProxyType
from typing import Any

from partial_monitoring.errors import unknown_name
from partial_monitoring.learner.deciding import decide
from partial_monitoring.learner.opening import spec_of
from partial_monitoring.learner.step import Step
from partial_monitoring.service.engine import collector
from partial_monitoring.service.engine.committer import Answer, Committer, Verb, Waiting
from partial_monitoring.service.engine.timer import Timer
from partial_monitoring.service.problems import Problem, later, log, problem_of
from partial_monitoring.service.study.clock import Clock
from partial_monitoring.service.study.hosted import ARCHIVED, Hosted
from partial_monitoring.service.verbs import changing, clearing, editing, managing, playing
from partial_monitoring.service.verbs.creating import created
from partial_monitoring.service.verbs.editing import Successor
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.editions import editions
from partial_monitoring.storage.study import read_study, study_name

MOST_WAITING = 2000
"""Largest number of requests of a study that wait."""

PATIENCE = 10.0
"""Seconds that requests have to be answered when the service ends."""

LOADS = 64
"""Number of locks under which studies are read, each for its share of the names."""

AGAIN = 30.0
"""Seconds after which a study that could not be read is read again."""

VERBS: Mapping[str, Verb] = {
    "ask": playing.ask,
    "tell": playing.tell,
    "activate": changing.activate,
    "cancel": changing.cancel,
    "history": changing.history,
    "amend": changing.amend,
    "void": changing.void,
    "reset": changing.reset,
    "edit": editing.edit,
    "pause": managing.pause,
    "resume": managing.resume,
    "settings": managing.settings,
    "clear": clearing.clear,
}
"""What callers may do."""

OWN: Mapping[str, Verb] = {"settle": playing.settle, "note": managing.note}
"""What the service itself does."""

HEAVY = {"amend", "void", "edit"}
"""What may take as long as to learn from all events again."""

MANY = 100
"""Number of decisions, answers or rows of logged data for which others do not wait."""

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
    timed
        Called with the seconds that a batch took to be decided and stored.
    new_future, deliver
        What ``submit`` returns, and how a list of answers reaches those who wait: a caller with an
        event loop can wake it once per commit.
    rouse
        How a committer hears of a study that has requests: a caller with an event loop can do so
        once for all requests that arrived together.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.database, self.clock = database, Clock(clock)
        self.after_commit: list[Listener] = []
        self.new_future: Callable[[], Any] = Future
        self.deliver: Callable[[list[Answer]], None] = delivered
        self.timed: Callable[[float], None] = lambda seconds: None
        self.rouse: Callable[[Committer, Hosted], None] = Committer.wake
        self._studies: dict[str, Hosted] = {}
        self._broken: dict[str, tuple[float, Problem]] = {}
        self._lock, self._creating = RLock(), Lock()
        self._loads = [RLock() for _ in range(LOADS)]
        self._closed, self._trouble = False, ""
        self._committers, self._starting = dict[str, Committer](), Lock()
        self._loading = ThreadPoolExecutor(4, "pm loading")
        collector.tame()
        self._timer = Timer(self)

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
        with self._loads[hash(name) % LOADS]:
            found = self._studies.get(name)
            return self._loaded(name) if found is None else found

    def _loaded(self, name: str) -> Hosted:
        when, problem = self._broken.get(name, (0.0, None))
        if problem is not None and time.monotonic() < when + AGAIN:
            raise problem
        try:
            study = self.database.study(study_name(name))
            if study is None:
                raise Problem(404, f"there is no study {name!r}.")
            spec, before = spec_of(self.database, name), editions(self.database, name)
            found = Hosted(self.database, study, spec, before=before)
        except Exception as error:
            problem = problem_of(error)
            if problem is error and problem.status == 503:  # not a database that is away
                self._broken[name] = time.monotonic(), problem
            raise (Problem(404, problem.detail) if problem.status == 422 else problem) from error
        self._broken.pop(name, None)
        self._studies[name] = found
        collector.freeze()
        return found

    def succeed(self, hosted: Hosted, successor: Successor) -> None:
        """Let a study go on as another one that is stored by now, with its name and requests."""
        try:
            with self._lock:
                study = self.database.study(hosted.name)
                assert study is not None
                before = (hosted.study, *hosted.before)
                spec, session = successor.spec, successor.session
                following = Hosted(self.database, study, spec, session, before)
                self._studies[hosted.name] = following
                self._hand_over(hosted, following, [])
                hosted.name = successor.archived
        except Exception:  # who asks it for anything next finds the other one
            log.exception("study %r cannot be opened after an edit", hosted.name)

    def moved(self, hosted: Hosted, requests: list[Waiting]) -> Problem | None:
        """Let requests to an archived study go on with the one that has its name by now, if any."""
        try:
            with self._loads[hash(hosted.name) % LOADS]:  # nobody else reads it in the meantime
                row = read_study(self.database.handle, hosted.name)
                if row is None or row[0] == hosted.study._number:
                    return Problem(409, f"study {hosted.name!r} is archived.")
                following = self._studies.get(hosted.name)
                if following is None or following is hosted:
                    if self.database._known.get(hosted.name) is hosted.study:
                        del self.database._known[hosted.name]
                    try:
                        following = self._loaded(hosted.name)  # until then, this one has requests
                    except Exception:
                        self._studies.pop(hosted.name, None)  # who needs it next reads it again
                        raise
                self._hand_over(hosted, following, requests)
        except Exception as error:
            return problem_of(error)
        return None

    def _hand_over(self, old: Hosted, new: Hosted, requests: list[Waiting]) -> None:
        old.stop()
        with old.entry, new.entry:
            old.successor = new
            new.waiting.extend([*requests, *old.waiting])
            old.waiting.clear()
            self._wake(new)

    def warm_up(self, most: int = 100) -> None:
        """Read studies and decide once, without storing it, so that the first caller need not wait.

        What cannot be read is left for who asks for it.
        """
        for name in self.names()[-most:]:
            try:
                hosted = self.hosted(name)
                listed = getattr(hosted.game, "contexts", None)
                request = {"context": listed[0] if listed else None, "token": hosted.token}
                with hosted._spec.patience:
                    if hosted.state != ARCHIVED:
                        decide(hosted._spec, hosted._session, request)
            except Exception:
                log.exception("study %r cannot be warmed up", name)
        collector.freeze(first=True)

    def create(self, arguments: dict[str, Any], actor: str = "") -> Hosted:
        """Create a study from what plays, as plain data; with the same ``key``, once."""
        try:
            with self._creating:
                created(self.database, arguments, actor)
            return self.hosted(arguments["name"])
        except Exception as error:
            raise problem_of(error) from error

    # -- requests ------------------------------------------------------------------------------

    def submit(self, name: str, verb: str, arguments: dict[str, Any], actor: str = "") -> Any:
        """Return a future with the answer to a request, which is a ``Problem`` if it is refused."""
        if self._closed:
            raise later("the service ends.", 5)
        do = VERBS.get(verb) or OWN.get(verb)
        if do is None:
            raise Problem(404, str(unknown_name("verb", verb, VERBS)))
        size = _size(arguments)
        heavy = verb in HEAVY or size > MANY
        request = Waiting(do, heavy, size, arguments, actor, self.new_future())
        hosted = self._studies.get(name)
        if hosted is not None:
            self._enter(hosted, request)
        else:
            self._loading.submit(self._enter_later, name, request)
        return request.future

    def _enter(self, hosted: Hosted, request: Waiting) -> None:
        with hosted.entry:
            following = hosted.successor
            if following is None:
                if len(hosted.waiting) >= MOST_WAITING:
                    raise later(f"{MOST_WAITING:,} requests of study {hosted.name!r} wait already.")
                hosted.waiting.append(request)
                self._wake(hosted)
                return
        self._enter(following, request)

    def reschedule(self, hosted: Hosted) -> None:
        """Let a study wait for its next turn after one, if it has requests."""
        with hosted.entry:
            hosted.scheduled = False
            self._wake(hosted)

    def _wake(self, hosted: Hosted) -> None:
        """Let a study with requests wait for a turn, unless it does so already."""
        if hosted.waiting and not hosted.scheduled and hosted.successor is None:
            hosted.scheduled = True
            self.rouse(self.committer(hosted), hosted)

    def _enter_later(self, name: str, request: Waiting) -> None:
        try:
            self._enter(self.hosted(name), request)
        except Exception as error:
            self.deliver([Answer(request.future, None, problem_of(error))])

    def committer(self, hosted: Hosted) -> Committer:
        """Return who runs the requests of a study."""
        shared = self.database.handle.dialect == "sqlite"
        name = "" if shared and not (hosted.slow or hosted.apart) else hosted.name
        found = self._committers.get(name)
        if found is None:
            with self._starting:
                found = self._committers.get(name)
                if found is None:
                    together = self._together if name == "" else None
                    found = Committer(self, name or "committer", together)
                    self._committers[name] = found
        return found

    def _together(self) -> Any:
        together = getattr(self.database, "together", None)
        return self.database.handle.transaction() if together is None else together()

    # -- who hears of it -----------------------------------------------------------------------

    def announce(self, hosted: Hosted, made: list[Step]) -> None:
        """Tell listeners what was stored; what they fail in is logged."""
        for listener in self.after_commit if made else ():
            try:
                listener(hosted, made)
            except Exception:
                log.exception("a listener failed after a commit of study %r", hosted.name)
        if hosted.is_due and not hosted.keeping:
            hosted.keeping = True
            with suppress(RuntimeError):  # the service ends, which keeps one anyway
                self._loading.submit(self._keep, hosted)

    def _keep(self, hosted: Hosted) -> None:
        """Keep a snapshot, for which nobody waits."""
        try:
            hosted.kept()
        except Exception:
            log.exception("no snapshot of study %r", hosted.name)
        hosted.keeping = False

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

    def tick(self) -> None:
        """Do what the timer does once a second."""
        self._timer.tick()

    def stored(self) -> None:
        """Note that a batch was stored."""
        self._trouble = ""

    def close(self) -> None:
        """Answer what is waiting, keep snapshots, and end."""
        if self._closed:
            return
        self._closed = True
        self._timer.stop(PATIENCE)
        self._loading.shutdown()
        until = time.monotonic() + PATIENCE
        while any(own.scheduled for own in self._studies.values()) and time.monotonic() < until:
            time.sleep(0.005)
        for own in list(self._committers.values()):
            own.stop(PATIENCE)
        for hosted in list(self._studies.values()):
            left = [hosted.waiting.popleft() for _ in range(len(hosted.waiting))]
            self.deliver([Answer(own.future, None, later("the service ends.", 5)) for own in left])
        for hosted in list(self._studies.values()):
            try:
                hosted.stop()
                hosted.kept(anyway=True)
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


def _size(arguments: Any) -> int:
    """Return how many decisions, answers or rows a request is about."""
    if not isinstance(arguments, dict):
        return 1
    lists = (arguments.get(name) for name in ("rows", "answers", "decisions"))
    sizes = [len(own) for own in lists if isinstance(own, list)]
    count = arguments.get("count", 1)
    return max([1, *sizes, count if type(count) is int else 1])

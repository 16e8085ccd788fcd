"""Requests of many callers, stored with one commit.

A committer takes the studies that have requests waiting, makes their steps in the order of their
arrival, stores all of them with one commit, and only then answers. A file of SQLite has one for all
of its studies, and one for each study that is slow to decide; a study in PostgreSQL has its own.

It has a thread, so that nobody waits for what takes long. Two threads of one interpreter take turns
though, and every turn costs more than a small request: where studies are quick and the disk is, the
thread that received the requests makes their steps itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import perf_counter, thread_time
from typing import Any, NamedTuple

from partial_monitoring.errors import StorageError
from partial_monitoring.service.arguments import is_key
from partial_monitoring.service.problems import Problem, later, log, problem_of
from partial_monitoring.service.study.draft import Draft
from partial_monitoring.service.study.hosted import ARCHIVED, Hosted
from partial_monitoring.storage.log import DamagedEvent

MOST = 256
"""Largest number of decisions and answers that share a commit."""

MOST_HERE = 64
"""The same, in the thread that received them."""

SLOW_DISK = 0.005
"""Seconds of a commit for which a thread is needed, so that requests are received meanwhile."""

Verb = Callable[[Draft, dict[str, Any], str], dict[str, Any]]


class Waiting(NamedTuple):
    """A request, and who waits for its answer."""

    verb: Verb
    heavy: bool
    """Whether it may take long, so that others do not wait for it."""
    size: int
    """How many decisions, answers or rows it is about."""
    arguments: dict[str, Any]
    actor: str
    future: Any


class Answer(NamedTuple):
    """A future, and what becomes of it."""

    future: Any
    result: dict[str, Any] | None
    problem: Problem | None


class NotNow(Exception):
    """What was decided cannot be stored without waiting."""


class Archived(Exception):
    """A study was archived while requests were waiting."""


class Committer:
    """A thread that runs requests in batches.

    Parameters
    ----------
    engine
        Whose clock, database and listeners it uses.
    name
        Of the thread.
    together
        The context in which the turns of all studies share a commit; none if it has one study.
    """

    def __init__(
        self, engine: Any, name: str, together: Callable[[], AbstractContextManager[Any]] | None
    ) -> None:
        self._engine, self._together = engine, together or nullcontext
        self.shared = together is not None
        self._ready: SimpleQueue[Hosted | None] = SimpleQueue()
        self._running = Lock()
        self._seconds = 0.0
        """Of a commit, as the last ones took."""
        self._thread = Thread(target=self._run, name=f"pm {name}", daemon=True)
        self._thread.start()

    def wake(self, hosted: Hosted) -> None:
        """Let the thread run the requests of a study."""
        self._ready.put(hosted)

    def run_here(self, chosen: list[Hosted]) -> None:
        """Run the requests of some studies in this thread, if they are quick; else wake the other.

        This thread waits for nobody: neither for the other one, nor for a lock or the file.
        """
        quick, done = self._quick(chosen), False
        if quick and self._running.acquire(blocking=False):
            try:
                with self._engine.database.handle.at_once([own.study for own in quick]) as taken:
                    done = taken and self._safely(quick, MOST_HERE, here=True)
            finally:
                self._running.release()
        ran = set(quick) if done else set()
        for own in chosen:
            if own not in ran:
                self.wake(own)

    def _quick(self, chosen: list[Hosted]) -> list[Hosted]:
        """Return some of the studies whose requests together take no time."""
        if not self.shared or self._seconds > SLOW_DISK or self._engine.why_not:
            return []
        left, found = MOST_HERE, list[Hosted]()
        for own in chosen:
            sizes = [request.size for request in list(own.waiting)]
            if own.is_quick and sizes and sizes[0] <= left:
                left -= sum(sizes)
                found.append(own)
        return found

    def stop(self, patience: float) -> None:
        """End after all that is waiting."""
        self._ready.put(None)
        self._thread.join(patience)

    def _run(self) -> None:
        while True:
            found = self._ready.get()
            chosen, last = [], found is None
            if found is not None:
                chosen.append(found)
            count = 0 if found is None else len(found.waiting)
            while not last and count < MOST:
                try:
                    found = self._ready.get_nowait()
                except Empty:
                    break
                if found is None:
                    last = True
                else:
                    chosen.append(found)
                    count += len(found.waiting)
            if chosen:
                with self._running:
                    self._safely(chosen, MOST)
            if last:
                return

    def _safely(self, chosen: list[Hosted], most: int, *, here: bool = False) -> bool:
        """Run some of the requests of some studies, and go on whatever happens.

        Return whether they were run: ``here``, those that cannot be stored are left for the other
        thread, which can wait.
        """
        try:
            return self._batch(chosen, most, here=here)
        except Exception:
            log.exception("a committer failed after a commit")
        return True

    def _batch(self, chosen: list[Hosted], most: int, *, here: bool) -> bool:
        """Run some of the requests of some studies."""
        left, taken = most, list[tuple[Hosted, list[Waiting]]]()
        for hosted in chosen:
            found = self._taken(hosted, left)
            left -= sum(request.size for request in found)
            if found:
                taken.append((hosted, found))
        stored, begun = list[Draft](), perf_counter()
        try:
            answers = self._committed(taken, stored, here=here)
        except NotNow:
            for hosted, requests in taken:
                hosted.waiting.extendleft(reversed(requests))
            return False
        except Exception as error:
            answers = [x for _, own in taken for x in _refused_all(problem_of(error), own)]
        for hosted in chosen:
            self._engine.reschedule(hosted)
        self._engine.deliver(answers)
        self._engine.timed(perf_counter() - begun)
        for draft in stored:
            self._engine.announce(draft.hosted, draft.steps)
        return True

    def _committed(
        self,
        taken: list[tuple[Hosted, list[Waiting]]],
        stored: list[Draft],
        *,
        here: bool = False,
    ) -> list[Answer]:
        """Run requests, store what they did with one commit, and publish it."""
        answers, drafts = list[Answer](), list[Draft]()
        try:
            with self._together():
                for hosted, requests in taken:
                    self._study(hosted, requests, answers, drafts)
                begun = perf_counter()
            if any(draft.steps for draft in drafts):
                self._seconds += (perf_counter() - begun - self._seconds) / 8
                self._engine.stored()
        except Exception as error:  # nothing is stored, or nobody knows
            for hosted, _ in taken:
                hosted.lost()
            if here and isinstance(error, StorageError):
                raise NotNow from error
            single = [(hosted, [own]) for hosted, requests in taken for own in requests]
            if not isinstance(error, StorageError) and len(single) > 1:  # one of them is to blame
                return [answer for own in single for answer in self._committed([own], stored)]
            self._engine.failed(error)
            problem = _failed(error)
            return [answer for _, own in taken for answer in _refused_all(problem, own)]
        for draft in drafts:
            draft.hosted.published(draft)
            if draft.successor is not None:
                self._engine.succeed(draft.hosted, draft.successor)
        stored += drafts
        return answers

    def _taken(self, hosted: Hosted, most: int) -> list[Waiting]:
        """Take requests that can be run together; a heavy one is run apart, and alone."""
        found: list[Waiting] = []
        while hosted.waiting and (most > 0 or not found):
            if hosted.waiting[0].heavy:
                hosted.apart = True
                if self.shared or found:
                    break
                hosted.apart = False  # for those that follow
                return [hosted.waiting.popleft()]
            found.append(hosted.waiting.popleft())
            most -= found[-1].size
        return found

    def _study(
        self, hosted: Hosted, requests: list[Waiting], answers: list[Answer], drafts: list[Draft]
    ) -> None:
        """Run requests of one study; those of others do not suffer if it cannot be used."""
        clock, own = self._engine.clock, list[Answer]()
        now = clock.now()
        try:
            with hosted.drafting(now, halted=clock.halted) as draft:
                if draft.state == ARCHIVED:
                    raise Archived
                if requests[0].heavy:  # it is the only one
                    hosted.study.take_long()
                with suppress(DamagedEvent):  # that is the concern of one of them
                    draft.look_up([key for own in requests for key in _keys(own.arguments)])
                begun = thread_time()
                for request in requests:
                    own.append(_answered(draft, request))
                hosted.note_cost(thread_time() - begun, len(requests))
        except Archived:  # by another process, perhaps
            answers += _refused_all(self._engine.moved(hosted, requests), requests)
            return
        except Problem as problem:  # its log cannot be read
            answers += _refused_all(problem, requests)
            return
        answers += own
        drafts.append(draft)


def _keys(arguments: Any) -> list[str]:
    """Return the keys of a request, to look all of them up at once."""
    if not isinstance(arguments, dict):
        return []
    found = [arguments.get("key")]
    answers = arguments.get("answers")
    if isinstance(answers, list):
        found += [own.get("key") for own in answers if isinstance(own, dict)]
    return [str(key) for key in found if is_key(key)]


def _answered(draft: Draft, request: Waiting) -> Answer:
    """Run a request; one that is refused changes nothing."""
    try:
        return Answer(request.future, request.verb(draft, request.arguments, request.actor), None)
    except Exception as error:
        if isinstance(error, StorageError) and not isinstance(error, DamagedEvent):
            raise
        draft.hosted.lost()  # what it had decided before it failed, some of several
        return Answer(request.future, None, problem_of(error))


def _failed(error: BaseException) -> Problem:
    """Return what is answered if a batch cannot be stored."""
    found = problem_of(error)
    if found.status == 503:
        return later(f"{found.detail} Try again with the same key.")
    return found


def _refused_all(problem: Problem | None, requests: Iterable[Waiting]) -> list[Answer]:
    if problem is None:
        return []
    return [Answer(request.future, None, problem) for request in requests]

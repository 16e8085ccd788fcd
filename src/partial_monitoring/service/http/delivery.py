"""From the loop that receives requests to what computes and stores, and back to answer them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import Any
from weakref import WeakSet, ref

from partial_monitoring.service.engine.committer import Committer
from partial_monitoring.service.problems import Problem, later
from partial_monitoring.service.study.hosted import Hosted

LONG = 6
"""How many times longer some requests wait."""

TICK = 0.5
"""Seconds between two searches for requests that have waited too long."""


ENOUGH = 64
"""Number of requests that are run without waiting for more to arrive."""


class Delivery:
    """Results of other threads: all answers of a commit wake the loop once.

    Futures have a problem as their result, not as an exception: nobody may be there to read it.

    Parameters
    ----------
    seconds
        How long a request waits at most.
    reading
        How many calls wait for a thread at most.
    batched
        Told how many answers of the engine came together.
    threads
        In how many threads calls run.
    """

    def __init__(
        self,
        seconds: float,
        reading: int,
        batched: Callable[[int], None] = lambda count: None,
        threads: int = 4,
    ) -> None:
        self._seconds, self._most, self._reading = seconds, reading, 0
        self._batched = batched
        self._waiting: deque[tuple[float, ref[asyncio.Future[Any]]]] = deque()
        self._longer: deque[tuple[float, ref[asyncio.Future[Any]]]] = deque()
        self._patient: WeakSet[asyncio.Future[Any]] = WeakSet()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="pm reading")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._gathered: dict[Committer, list[Hosted]] = {}

    def begin(self, engine: Any) -> None:
        """Answer in the loop that runs, also what the engine has stored."""
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()
        self._loop.call_later(TICK, self._sweep)
        engine.new_future, engine.deliver, engine.rouse = self.new, self._stored, self._rouse

    def new(self) -> asyncio.Future[Any]:
        """Return a future that will have a result in time, whatever happens."""
        loop = self._loop
        assert loop is not None
        found: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((loop.time() + self._seconds, ref(found)))
        return found

    def prolong(self, answer: asyncio.Future[Any]) -> asyncio.Future[Any]:
        """Let a future wait longer, for what may have to compile, or to learn everything again."""
        assert self._loop is not None
        self._longer.append((self._loop.time() + LONG * self._seconds, ref(answer)))
        self._patient.add(answer)
        return answer

    def _rouse(self, committer: Committer, hosted: Hosted) -> None:
        """Let requests that arrive together be run together, when all of them have arrived."""
        if not self._is_here:
            committer.wake(hosted)
            return
        if not self._gathered:
            assert self._loop is not None
            self._loop.call_soon(self._run_gathered)
        self._gathered.setdefault(committer, []).append(hosted)

    def _run_gathered(self, before: int = 0) -> None:
        """Run what has arrived, as soon as a turn of the loop brings nothing more."""
        count = sum(len(own.waiting) for studies in self._gathered.values() for own in studies)
        if before < count < ENOUGH:
            assert self._loop is not None
            self._loop.call_soon(self._run_gathered, count)
            return
        gathered, self._gathered = self._gathered, {}
        for committer, studies in gathered.items():
            committer.run_here(studies)

    @property
    def _is_here(self) -> bool:
        """Whether this is the thread of the loop."""
        return get_ident() == self._thread

    def _stored(self, answers: Sequence[tuple[Any, Any, Problem | None]]) -> None:
        self.deliver(answers)
        if answers:
            self._batched(len(answers))

    def deliver(self, answers: Iterable[tuple[Any, Any, BaseException | None]]) -> None:
        """Let the loop hand over answers: futures, results and errors; from any thread."""
        assert self._loop is not None
        if self._is_here:
            _hand_over(answers)
            return
        with suppress(RuntimeError):  # nobody waits when the loop has ended
            self._loop.call_soon_threadsafe(_hand_over, answers)

    async def called(self, call: Callable[..., Any], *given: Any, longer: bool = False) -> Any:
        """Return the result of a function, which is called in another thread."""
        if self._reading >= self._most:
            raise later("too many requests are waiting.")
        self._reading += 1
        answer, future = self.new(), self._threads.submit(call, *given)
        future.add_done_callback(partial(self._called, answer))
        if longer:
            self.prolong(answer)
        try:
            return result(await answer)
        finally:
            future.cancel()  # if it has not begun by now
            self._reading -= 1
            del future, answer  # see ``result``

    def _called(self, answer: asyncio.Future[Any], done: Future[Any]) -> None:
        if not done.cancelled():
            error = done.exception()
            self.deliver([(answer, None if error else done.result(), error)])

    def _sweep(self) -> None:
        """End what has waited too long."""
        loop = self._loop
        assert loop is not None
        for answer in _overdue(self._waiting, loop.time()):
            if answer not in self._patient:
                answer.set_result(_unanswered(self._seconds))
        for answer in _overdue(self._longer, loop.time()):
            answer.set_result(_unanswered(LONG * self._seconds))
        loop.call_later(TICK, self._sweep)

    def close(self) -> None:
        """Begin nothing any more; the loop has ended, or does nothing else before it does."""
        self._thread = 0
        gathered, self._gathered = self._gathered, {}
        for committer, studies in gathered.items():
            for hosted in studies:
                committer.wake(hosted)
        self._threads.shutdown(wait=False, cancel_futures=True)


def _overdue(
    waiting: deque[tuple[float, ref[asyncio.Future[Any]]]], now: float
) -> Iterator[asyncio.Future[Any]]:
    """Yield the futures whose time has come; they are left out then, as those that are done."""
    while waiting:
        until, found = waiting[0]
        answer = found()
        open_ = answer is not None and not answer.done()
        if open_ and until > now:
            return
        waiting.popleft()
        if open_ and answer is not None:
            yield answer


def _unanswered(seconds: float) -> Problem:
    return later(f"there was no answer within {seconds:g} seconds.")


def result(found: Any) -> Any:
    """Return what a future has, or raise it, without a reference to what it was raised from."""
    if not isinstance(found, BaseException):
        return found
    try:
        raise found
    finally:
        del found  # its traceback has this frame: together they would wait for the collector


def _hand_over(answers: Iterable[tuple[asyncio.Future[Any], Any, Any]]) -> None:
    for future, result, problem in answers:
        if not future.done():
            future.set_result(result if problem is None else problem)

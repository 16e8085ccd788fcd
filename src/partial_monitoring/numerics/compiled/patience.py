"""Functions that are run as they are written while they are compiled in the background.

Compiling takes seconds, and a live decision should not wait for it. Inside ``with patience:`` a
function that is neither compiled nor kept from an earlier process is run by the interpreter: the
same source, which is slow and fast enough for a small game. A thread compiles it meanwhile. Sums
may be rounded in another order, so numbers agree up to rounding.

What such a function calls is run by the interpreter as well, even if it is compiled by then: Numba
hands an interpreter the whole array in place of a view that a function returns which counts no
references.
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread, current_thread, local
from typing import Any

from numba import typeof
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher


class Patience(local):
    """Whether a thread runs functions uncompiled; a context in which it does."""

    depth = 0
    interpreting = False
    """Whether it is inside a function that the interpreter runs."""

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *error: object) -> None:
        self.depth -= 1


patience = Patience()


class Patient(CPUDispatcher):
    """A function of which no version is compiled yet; it becomes an ordinary one with the first."""

    def __call__(self, *args: Any) -> Any:
        if patience.interpreting:
            return self.py_func(*args)
        if patience.depth and not self._is_ready(args):
            patience.interpreting = True
            try:
                return self.py_func(*args)
            finally:
                patience.interpreting = False
        self.__class__ = CPUDispatcher  # type: ignore[assignment]
        return self(*args)

    def _is_ready(self, args: tuple[Any, ...]) -> bool:
        """Whether the version for these arguments is compiled or kept; else it is asked for."""
        own: Any = self
        signature = tuple(map(typeof, args))
        if signature in own.overloads or own._cache.holds(signature, own.targetctx):
            return True
        background.request(self, signature)
        return False


class Background:
    """A thread that compiles functions, one after the other."""

    def __init__(self) -> None:
        self._begin()
        atexit.register(self._stop)
        if hasattr(os, "register_at_fork"):
            # A child that is forked must not wait for a thread that only its parent has.
            lock = global_compiler_lock
            os.register_at_fork(
                before=lock.acquire, after_in_parent=lock.release, after_in_child=self._forked
            )

    def _begin(self) -> None:
        self._requests: SimpleQueue[Any] = SimpleQueue()
        self._known: set[Any] = set()
        self._thread: Thread | None = None

    def _forked(self) -> None:
        global_compiler_lock.release()
        self._begin()

    @property
    def here(self) -> bool:
        """Whether this code is run by the thread."""
        return current_thread() is self._thread

    def request(self, function: Any, signature: Any) -> None:
        """Compile a version of a function some time soon."""
        if (function, signature) not in self._known:
            self._known.add((function, signature))
            self._requests.put((function, signature))
            if self._thread is None:
                self._thread = Thread(target=self._run, name="compiling", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (request := self._requests.get()) is not None:
            function, signature = request
            with suppress(Exception):  # whoever calls it compiled sees the error
                function.compile(signature)

    def wait(self) -> None:
        """Wait until everything that was asked for is compiled."""
        if self._thread is not None:
            self._requests.put(None)
            self._thread.join()
            self._begin()

    def _stop(self) -> None:
        """Finish the function at hand; the process ends after that."""
        if self._thread is not None:
            while not self._requests.empty():
                self._requests.get()
            self.wait()


background = Background()

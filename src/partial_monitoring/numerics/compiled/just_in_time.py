"""The decorator of all compiled functions, and a line on the terminal while they are compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import parent_process
from typing import Any

import numpy as np
from numba import config, njit, typeof
from numba.core import event
from numba.core.caching import FunctionCache

from partial_monitoring.numerics.compiled.patience import Patient, background

PACKAGE = __name__.partition(".")[0]


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    fastmath: bool | set[str] = False,
    inline: str = "never",
    allocates: bool = True,
) -> Any:
    """Compile a function when it is first called, and keep it for later processes if possible.

    ``fastmath`` is what the compiler may do with sums; ``inline`` is "always" for functions that
    are called in one place: nothing is compiled for them alone. Functions that allocate no arrays
    should say so: then no references are counted, which takes most of the time of small loops.

    All functions share the other options, because Numba compiles its own building blocks (such as
    ``np.empty``) anew for callers with different ones. What takes long to compile: assigning
    slices, array expressions, sorting, and the same function for other types: literals, read-only
    arrays, arrays that are not contiguous.
    """
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
    decorate = njit(**options | {"fastmath": fastmath, "inline": inline, "_nrt": allocates})

    def kept(function: Callable[..., Any]) -> Any:
        dispatcher = decorate(function)
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return dispatcher  # the function itself, as in simulated GPUs
        with suppress(RuntimeError):  # no folder can be written to
            dispatcher._cache = Cache(function)
            dispatcher.__class__ = Patient
        return dispatcher

    return kept if function is None else kept(function)


class Cache(FunctionCache):
    """The stored versions of a function; if they are damaged, it is compiled again.

    A disk that is full only means that nothing is kept.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever reading a damaged file may raise
            with suppress(OSError):
                self.flush()
            return None

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Whether a version is stored."""
        try:
            index = self._cache_file._load_index()
            return self._index_key(sig, target_context.codegen()) in index
        except Exception:  # as above
            return False

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


def version(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the compiled version of a function for arguments of the types of these.

    It must be called with such arguments only: it does not look at their types again, which takes
    most of the time of a short call with many arrays. A function that is not compiled stays itself.
    """
    if not hasattr(function, "compile"):
        return function  # type: ignore[no-any-return]
    key = function, form(arguments)
    found = VERSIONS.get(key)
    if found is None:
        found = VERSIONS[key] = function.compile(tuple(map(typeof, arguments)))
    return found


VERSIONS: dict[Any, Callable[..., Any]] = {}
"""The versions that were asked for, by function and form of the arguments."""

FLAGS = 0x1 | 0x2 | 0x100 | 0x400
"""The flags of arrays that are part of their types: in which order, aligned, writeable."""


def form(value: Any) -> Any:
    """Return what says of which type a value is, as a key; much faster than ``numba.typeof``."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype.str, value.ndim, value.flags.num & FLAGS
    return (kind, *map(form, value)) if issubclass(kind, tuple) else kind


def is_kept(function: Any) -> bool:
    """Whether there is a folder that keeps a compiled function for later processes."""
    return bool(function.stats.cache_path)


class Notice(event.Listener):
    """A line on the terminal while functions of this library are compiled."""

    def __init__(self) -> None:
        self.text = "Compiling for this machine, once after installation ..."
        self.compiled = 0
        """How many functions were compiled in this process."""
        self._depth = 0
        self._shown = 0

    def on_start(self, event: Any) -> None:
        if self._is_ours(event) and not background.here:
            if self._depth == 0 and sys.stderr.isatty() and parent_process() is None:
                self._shown = len(self.text)
                print(self.text, end="", file=sys.stderr, flush=True)
            self._depth += 1

    def on_end(self, event: Any) -> None:
        if self._is_ours(event):
            self.compiled += 1
        if self._is_ours(event) and not background.here:
            self._depth -= 1
            if self._depth == 0 and self._shown:
                print("\r" + " " * self._shown + "\r", end="", file=sys.stderr, flush=True)
                self._shown = 0

    @staticmethod
    def _is_ours(event: Any) -> bool:
        return bool(event.data["dispatcher"].py_func.__module__.partition(".")[0] == PACKAGE)


notice = Notice()
event.register("numba:compile", notice)

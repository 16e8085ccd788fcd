"""The exceptions of the library. Each message is one sentence naming the argument and what came."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["InvalidInput", "PartialMonitoringError", "SolverError", "UnknownName"]


def __dir__() -> list[str]:
    return __all__


class PartialMonitoringError(Exception):
    """Base class of every error this library raises on purpose."""


class InvalidInput(PartialMonitoringError, ValueError):
    """An argument does not satisfy what the function requires; nothing was changed."""


class UnknownName(InvalidInput, LookupError):
    """A name that is in no registry."""


class SolverError(PartialMonitoringError, RuntimeError):
    """An optimiser did not return an answer that can be trusted; the message has its status."""


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error is an interruption from the keyboard, also one inside compiled code."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError)
        and (is_interruption(error.__cause__) or is_interruption(error.__context__))
    )


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """Error for a name that is not known, with the nearest known one.

    >>> print(unknown_name("game", "duelling", ["dueling", "finite"]))
    no game named 'duelling'; did you mean 'dueling'? Known: dueling, finite.
    """
    names = sorted(known)
    text = str(name).lower()
    starts = [n for n in names if text and (text.startswith(n.lower()) or n.startswith(text))]
    akin = starts or get_close_matches(text, names, n=1) or [n for n in names if text and text in n]
    guess = f"; did you mean {min(akin, key=len)!r}?" if akin else "."
    return UnknownName(f"no {kind} named {name!r}{guess} Known: {', '.join(names)}.")

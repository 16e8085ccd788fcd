"""The exceptions of the library. Each message is one sentence naming the argument and what came."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import accumulate
from typing import TypeVar

__all__ = [
    *("DoubtfulInput", "InvalidInput", "PartialMonitoringError", "SolverError", "StorageError"),
    "UnknownName",
]


def __dir__() -> list[str]:
    return __all__


Entry = TypeVar("Entry")

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that move the cursor, start commands of a terminal or turn the direction of text, and
surrogates, which cannot be printed at all."""

MOST_LETTERS = 60
"""Largest number of letters of a value in a message."""

LONGEST_LIST = 300
"""Largest number of letters of the names that a message lists."""


def visible(text: str) -> str:
    r"""Return a text in which control characters are written as escapes, such as ``\x1b``.

    >>> visible("a\x1b[2J")
    'a\\x1b[2J'
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def brief(value: object) -> str:
    """Return what a value looks like, on one short line."""
    try:
        text = repr(value)
    except Exception:  # an object of the user's, or an integer too long to be written
        text = f"an object of type {type(value).__name__}"
    return shortened(" ".join(text.split()))


def shortened(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 3] + "..."


def listed(names: Iterable[str]) -> str:
    """Return names one after another; of a long list the first ones, and how many more there are.

    >>> listed(["a", "b"])
    'a, b'
    >>> listed(["x" * 50] * 9)[250:]
    'xxxxxxxx, and 4 more'
    """
    short = [shortened(name) for name in names]
    count = sum(total <= LONGEST_LIST for total in accumulate(len(name) + 2 for name in short))
    hidden = len(short) - count
    return ", ".join(short[:count] + ([f"and {hidden} more"] if hidden else []))


class PartialMonitoringError(Exception):
    """Base class of every error this library raises on purpose; its message is one line."""

    def __init__(self, message: str = "") -> None:
        super().__init__(visible(" ".join(map(str.strip, str(message).splitlines()))))


class InvalidInput(PartialMonitoringError, ValueError):
    """An argument does not satisfy what the function requires; nothing was changed."""


class UnknownName(InvalidInput, LookupError):
    """A name that is in no registry."""


class SolverError(PartialMonitoringError, RuntimeError):
    """An optimiser did not return an answer that can be trusted; the message has its status."""


class StorageError(PartialMonitoringError, RuntimeError):
    """A database cannot be used now, or not by this process; nothing was changed.

    ``said`` is what others are told, who need not know where it is and what it said.
    """

    said = "the database cannot be used now; the log of the service says why."


class DoubtfulInput(UserWarning):
    """An argument that is possible but hardly meant; the warning is one sentence."""


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error is an interruption from the keyboard, also one inside compiled code."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError)
        and (is_interruption(error.__cause__) or is_interruption(error.__context__))
    )


def entry(kind: str, name: object, known: Mapping[str, Entry]) -> Entry:
    """Return what a table has under a name; one that it does not have is refused.

    >>> entry("number", "two", {"one": 1, "two": 2})
    2
    """
    if not isinstance(name, str) or name not in known:
        raise unknown_name(kind, name, known)
    return known[name]


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """Error for a name that is not known, with the nearest known one.

    >>> print(unknown_name("game", "duelling", ["dueling", "finite"]))
    no game named 'duelling'; did you mean 'dueling'? Known: dueling, finite.
    """
    names = sorted(known)
    text = name[:MOST_LETTERS].lower() if isinstance(name, str) else ""
    starts = [n for n in names if text and (text.startswith(n.lower()) or n.startswith(text))]
    akin = starts or get_close_matches(text, names, n=1) or [n for n in names if text and text in n]
    guess = f"; did you mean {brief(min(akin, key=len))}?" if akin else "."
    return UnknownName(f"no {kind} named {brief(name)}{guess} Known: {listed(names)}.")

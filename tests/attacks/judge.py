"""What an attack is, and the one judge of all of them.

An attack *survives* if the library refuses it in one sentence, with nothing changed and no warning
(``refused``), or answers it rightly (``answered``). Everything else is ``failed``.
"""

from __future__ import annotations

import resource
import signal
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring.errors import DoubtfulInput, PartialMonitoringError

LONGEST = 500
"""Letters of the longest message."""

SECONDS = 20
"""After this time an attack hangs."""

MEMORY = 8 << 30
"""Bytes of addresses that the process may use; what needs more ends in a ``MemoryError``."""

REFUSED, ANSWERED, FAILED = "refused", "answered", "failed"


class Wrong(Exception):
    """An attack found a wrong answer; the message says which."""


class Hangs(BaseException):
    """An attack took longer than :data:`SECONDS`; no ``except Exception`` may stop it."""


@dataclass(frozen=True)
class Attack:
    """A call that may hurt.

    Parameters
    ----------
    name
        What it does, for the list of failures.
    call
        The attack. It raises :class:`Wrong` if it finds the answer wrong.
    state
        What must be equal before and after a refusal, if there is something.
    """

    name: str
    call: Callable[[], object]
    state: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Verdict:
    """How an attack ended, and why if it failed."""

    name: str
    kind: str
    reason: str = ""


def judge(attack: Attack) -> Verdict:
    """Make an attack and say how it ended."""
    before = attack.state()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with limits():
                problem, kind = unsound(attack.call()), ANSWERED
        except PartialMonitoringError as error:
            problem, kind = unclear(str(error)), REFUSED
        except Wrong as error:
            problem, kind = f"wrong: {error}", FAILED
        except Hangs:
            problem, kind = f"hangs: more than {SECONDS} s", FAILED
        except Exception as error:
            problem, kind = f"{type(error).__name__}: {words(error)}", FAILED
    if not problem and kind == REFUSED and attack.state() != before:
        problem = "refused, but something changed"
    for warning in () if problem else caught:
        text = str(warning.message)
        doubt = issubclass(warning.category, DoubtfulInput)  # a sentence for the user
        problem = unclear(text) if doubt else f"{warning.category.__name__}: {shown(text)}"
    return Verdict(attack.name, FAILED if problem else kind, problem)


def unclear(message: str) -> str:
    """Return why a message is not one plain sentence; empty if it is."""
    if "\n" in message:
        return f"message of several lines: {shown(message)}"
    if len(message) > LONGEST:
        return f"message of {len(message)} letters: {shown(message)}"
    if raw := raw_letters(message):
        return f"message with raw {raw}: {shown(message)}"
    if not message.rstrip("'\")").endswith((".", "?", "!")):
        return f"no sentence: {shown(message)}"
    return ""


def unsound(answer: object) -> str:
    """Return why an answer cannot be right; empty if it may be."""
    if isinstance(answer, str) and (raw := raw_letters(answer)):
        return f"text with raw {raw}"
    if isinstance(answer, float | np.ndarray):
        array = np.asarray(answer)
        if array.dtype.kind == "f" and np.isnan(array).any():
            return "nan in the answer"
    return ""


def raw_letters(text: str) -> str:
    """Return the letters that change what a terminal shows, as escapes, at most three."""
    found = [x for x in text if x != "\n" and unicodedata.category(x) in ("Cc", "Cs")]
    found += [x for x in text if unicodedata.bidirectional(x) in BIDI]
    return ", ".join(ascii(x) for x in found[:3])


BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Classes of letters that turn the direction of the text after them."""


def words(error: Exception) -> str:
    """Return what an error says, if it can say it: an integer may be too long for words."""
    try:
        return shown(str(error))
    except ValueError:
        return "a message that cannot be written"


def shown(text: str) -> str:
    """Return a text on one short line, as escapes."""
    line = text.encode("unicode_escape").decode()
    return line if len(line) <= 160 else line[:157] + "..."


@contextmanager
def limits() -> Iterator[None]:
    """Let what is inside neither hang nor take all the memory."""

    def stop(*_: Any) -> None:
        raise Hangs

    old = signal.signal(signal.SIGALRM, stop)
    most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (addresses() + MEMORY, most[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        resource.setrlimit(resource.RLIMIT_AS, most)


@contextmanager
def whole_memory() -> Iterator[None]:
    """Let programs that are started inside reserve more addresses than attacks may, as browsers."""
    own = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (own[1], own[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, own)


def addresses() -> int:
    """Return the bytes of addresses in use."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


@dataclass(frozen=True)
class Count:
    """The verdicts of one area."""

    area: str
    verdicts: tuple[Verdict, ...]

    @property
    def failures(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.kind == FAILED]

    @property
    def row(self) -> tuple[str, int, int, int, int]:
        kinds = Counter(verdict.kind for verdict in self.verdicts)
        return (self.area, len(self.verdicts), *(kinds[k] for k in (REFUSED, ANSWERED, FAILED)))


def judge_all(area: str, attacks: Iterable[Attack]) -> Count:
    """Judge the attacks of one area in order."""
    return Count(area, tuple(judge(attack) for attack in attacks))


def table(rows: Iterable[tuple[str, int, int, int, int]]) -> str:
    """Return the counts of all areas as text, with their sum.

    >>> print(table([("files", 3, 2, 1, 0)]))
    area             tried  refused  answered   failed
    files                3        2         1        0
    all                  3        2         1        0
    """
    listed = list(rows)
    total = [sum(row[i] for row in listed) for i in range(1, 5)]
    lines = [("area", "tried", REFUSED, ANSWERED, FAILED), *listed, ("all", *total)]
    return "\n".join(f"{a:<12} {b:>9} {c:>8} {d:>9} {e:>8}" for a, b, c, d, e in lines)

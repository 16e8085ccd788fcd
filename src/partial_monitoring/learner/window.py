"""How long a decision waits for its answer, and what it counts as if none comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.clock import LATEST
from partial_monitoring.learner.observations import log_form
from partial_monitoring.validation import boolean, brief, real_number, whole_number

MOST_ROUNDS = 10**12
"""Largest number of rounds."""

UNITS = {"days": 86400.0, "hours": 3600.0, "seconds": 1.0}
"""In seconds."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """How long a decision waits for its answer: then it is due.

    Answers are accepted until then and count when it is due, all of them after the same time: if
    bad news come early and good ones late, those that have come are no fair sample. A decision that
    is due without an answer counts as ``unanswered``, or not at all.

    Parameters
    ----------
    days, hours, seconds
        The time from the decision until it is due; they add up.
    rounds
        Instead of a time: after how many further decisions it is due.
    unanswered
        What a decision without an answer counts as: in finite games a signal, in others an
        observation. None: it is closed, and nothing is learned; likewise if its action cannot show
        this.
    hold
        False: answers count as soon as they are told, and the window only says when a decision that
        was not answered is closed.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.dynamic_pricing()
    >>> learner = pm.Learner(game, window=pm.Window(days=30, unanswered="yes"))
    >>> first, second = learner.ask(available=["$3"], count=2, now=0)
    >>> learner.tell(first, "no", now=86400)
    >>> learner.round
    1
    >>> learner.settle(now=30 * 86400)
    2
    >>> [row["observation"] for row in learner.history]
    ['no', 'yes']
    """

    days: float = 0.0
    hours: float = 0.0
    seconds: float = 0.0
    rounds: int | None = None
    unanswered: Any = None
    hold: bool = True

    def __post_init__(self) -> None:
        boolean("hold", self.hold)
        try:
            unanswered = log_form(self.unanswered, signal=True)
        except RecursionError:
            raise InvalidInput("unanswered must be a signal or a vector.") from None
        object.__setattr__(self, "unanswered", unanswered)
        length = self.length
        if self.rounds is not None:
            whole_number("rounds", self.rounds, at_least=1, at_most=MOST_ROUNDS)
            if length:
                raise InvalidInput("rounds must be left out if a time is given.")
        elif not 0 < length <= LATEST:
            raise InvalidInput(
                f"a window must be longer than 0 and at most {LATEST:.0f} seconds; got {length:g}."
            )

    @property
    def length(self) -> float:
        """The time in seconds, 0 with rounds."""
        found = 0.0
        for name, unit in UNITS.items():
            given = real_number(name, getattr(self, name))
            if given < 0:
                raise InvalidInput(f"{name} must be at least 0; got {brief(given)}.")
            found += given * unit
        return found

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"Window({', '.join(shown)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the window as plain data: all that was given."""
        found = {}
        for own in fields(self):
            value = getattr(self, own.name)
            if value != own.default:
                found[own.name] = log_form(value, signal=True)
        return found

    @classmethod
    def from_dict(cls, data: Any) -> Window:
        """Return the window from plain data."""
        known = {own.name for own in fields(cls)}
        if not isinstance(data, Mapping) or not set(data) <= known:
            raise InvalidInput(f"window must be one of a learner; got {brief(data)}.")
        return cls(**data)


def window_settings(window: Window | None) -> dict[str, Any]:
    """Return a window among the settings of a learner; none if there is none."""
    if window is None:
        return {}
    if not isinstance(window, Window):
        raise InvalidInput(f"window must be a Window such as Window(days=30); got {brief(window)}.")
    return {"window": window.to_dict()}

"""What the gaps and the information of a decision are measured in, in words.

A policy states it in a method ``units(state)``; gap estimates and information gains, as functions,
in an attribute that ``measured`` sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Units(NamedTuple):
    """What is meant by what a decision shows; nothing where it is not known."""

    gaps: str = "per round, in units of reward"
    information: str = ""
    summed: bool = False
    """Whether the gap of each action contains what is expected to be lost with the one that looks
    best, a sum over all others and no loss of a round."""


USUAL = Units()

NATS = "information about the unknown parameter, in nats"
"""What ``pm.information.log_det`` measures."""


def measured(words: str, *, summed: bool = False) -> Callable[[Function], Function]:
    """Say of a function what the numbers that it returns are."""

    def mark(function: Function) -> Function:
        function.measured, function.summed = words, summed  # type: ignore[attr-defined]
        return function

    return mark


def units_of(policy: Any, state: Any = None) -> Units:
    """Return what a policy measures gaps and information in, from its state on the game."""
    stated = getattr(policy, "units", None)
    found = stated(state) if callable(stated) else USUAL
    return found if isinstance(found, Units) else USUAL


def units_of_parts(gap: object, information: object) -> Units:
    """Return what a gap estimate and an information gain are measured in."""
    return Units(
        getattr(gap, "measured", USUAL.gaps),
        getattr(information, "measured", USUAL.information),
        getattr(gap, "summed", USUAL.summed),
    )

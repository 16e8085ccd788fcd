"""What a policy offers whose rounds are compiled as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import get_ident
from typing import Any, Protocol

from partial_monitoring.policies.policy import Policy
from partial_monitoring.validation import Indices

DECIDING = ("init", "decide", "update", "choose", "index", "best", "distribution", "draws")
"""Methods of policies that say how they decide or learn."""


Rounds = Callable[[int, int, int], None]
"""Compiled rounds of the replicates from one to before another, until before a round."""


class NotCompiled(Exception):
    """Why a policy is played by its batched formulas, as the end of a sentence."""


class Program(Protocol):
    """A policy in compiled code, with what all replicates know."""

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        """Play replicates ``first`` to before ``last`` until round ``stop``.

        From the rounds (n,) that they have reached, which move on, as do the totals and the random
        numbers of the world. Threads may play different replicates at the same time.
        """
        ...


def bound(function: Any, given: tuple[Any, ...], own: tuple[Any, ...]) -> Rounds:
    """Return compiled rounds as a function of ``stop``, ``first`` and ``last``.

    ``given`` are the arguments before these, and ``own`` those after them.
    """
    from partial_monitoring.numerics.compiled.just_in_time import version

    ready = version(function, (*given, 0, 0, 0, *own))
    return lambda stop, first, last: ready(*given, stop, first, last, *own)


class ByThread:
    """What each thread uses again and again in a run, with room of its own."""

    def __init__(self) -> None:
        self._built: dict[int, tuple[Any, Any, Any, Any]] = {}

    def of(self, build: Callable[..., Any], world: Any, totals: Any, reached: Indices) -> Any:
        """Return what a function has built in this thread for the same run, or builds now."""
        known = self._built.get(get_ident())
        if known is not None:
            found, *run = known
            if run[0] is world and run[1] is totals and run[2] is reached:
                return found
        found = build(world, totals, reached)
        self._built[get_ident()] = found, world, totals, reached
        return found


@dataclass(eq=False)
class Loops:
    """The program of a policy whose rounds are one compiled loop."""

    rounds: Callable[..., None]
    """(world, totals, reached, stop, first, last, *own)."""
    own: tuple[Any, ...]
    """What all replicates know, and what each of them learns: tuples of arrays."""

    def __post_init__(self) -> None:
        self._threads = ByThread()

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        self._threads.of(self._bound, world, totals, reached)(stop, first, last)

    def _bound(self, *run: Any) -> Rounds:
        return bound(self.rounds, run, self.own)


def program_of(policy: Policy[Any], state: Any) -> Program:
    """Return the program of a policy in its initial state, or say why there is none."""
    offered = getattr(policy, "program", None)
    if offered is None or _changed_since(type(policy), "program"):
        raise NotCompiled(f"{type(policy).__name__} has no compiled rounds")
    found: Program = offered(state)
    return found


def _changed_since(kind: type, name: str) -> bool:
    """Whether a subclass of the one that defines a method says how it decides or learns."""
    for parent in kind.__mro__:
        if name in vars(parent):
            return False
        if any(own in vars(parent) for own in DECIDING):
            return True
    return True

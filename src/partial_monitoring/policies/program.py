"""What a policy offers whose rounds are compiled as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from partial_monitoring.policies.policy import Policy
from partial_monitoring.validation import Indices

DECIDING = ("init", "decide", "update", "choose", "index", "best", "distribution", "draws")
"""Methods of policies that say how they decide or learn."""


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


@dataclass(eq=False)
class Loops:
    """The program of a policy whose rounds are one compiled loop."""

    rounds: Callable[..., None]
    """(world, totals, reached, stop, first, last, *own)."""
    own: tuple[Any, ...]
    """What all replicates know, and what each of them learns: tuples of arrays."""

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        self.rounds(world, totals, reached, stop, first, last, *self.own)


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

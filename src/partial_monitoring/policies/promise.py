"""What a policy promises: a bound that is proven ("certified"), or none ("practical").

A policy states it in a method ``promise(game)``, without a game for one that the theory covers;
policies that state nothing are shown without a mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.validation import brief, one_of, written

CERTIFIED, PRACTICAL = "certified", "practical"


@dataclass(frozen=True)
class Promise:
    """A mode, and in words what it means.

    >>> print(Promise("practical", "no bound is proven"))
    practical: no bound is proven
    """

    mode: str
    """"certified" if a bound of the regret is proven, "practical" if none is."""
    words: str

    def __post_init__(self) -> None:
        one_of("mode", self.mode, (CERTIFIED, PRACTICAL))
        written("words", self.words)

    @property
    def certified(self) -> bool:
        """Whether a bound is proven."""
        return self.mode == CERTIFIED

    def __str__(self) -> str:
        return f"{self.mode}: {self.words}"


MEASURED = (
    "on standard finite games at most 0.6 % of runs were slow after 100,000 rounds "
    "(docs/which-mode.md)"
)
"""What is known about the default policy instead of a bound; see the table of that page."""


FORGETTING = "no bound is proven for forgetting"
"""What is known about policies with a half-life."""


def practical(*words: str) -> Promise:
    """Return the promise of a policy without a bound."""
    return Promise(PRACTICAL, "; ".join(["no bound is proven", *words]))


def promise_of(policy: object, game: AnyGame | None = None) -> Promise | None:
    """Return what a policy promises on a game; None if it does not say, and forgets nothing."""
    stated: Callable[[Any], Promise] | None = getattr(policy, "promise", None)
    if not callable(stated):
        forgets = getattr(policy, "half_life", None) is not None
        return Promise(PRACTICAL, FORGETTING) if forgets else None
    found = stated(game)
    if not isinstance(found, Promise):
        raise InvalidInput(
            f"what a policy promises must be a pm.policies.Promise; got {brief(found)}."
        )
    return found


def of_parts(words: str, missing: Iterable[str]) -> Promise:
    """Return the promise of a policy that consists of parts.

    Parameters
    ----------
    words
        What its confidence sets promise; nothing if they cover the truth only in practice.
    missing
        What else the theory does not cover.
    """
    uncovered = [*([] if words else ["these confidence sets"]), *missing]
    if not uncovered:
        return Promise(CERTIFIED, words)
    return Promise(PRACTICAL, f"no bound is proven for {' and '.join(uncovered)}")

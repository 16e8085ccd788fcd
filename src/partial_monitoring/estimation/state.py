"""What a policy knows after some rounds, and what it decides from.

A state takes in observations and shows, in each round, one or more views: some replicates, and E_t
through the actions that they choose from. Each kind of game has its own state; which one is decided
here, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, Indices, brief

Context = Indices | Game
"""The contexts of the replicates (n,), or one that the game does not list, by its own game."""


def is_unlisted(context: Context | None) -> TypeGuard[Game]:
    """Whether a context is one that the game does not list, given by its own game."""
    return isinstance(context, Game)


@dataclass(frozen=True)
class Prior:
    """What is assumed before the first round."""

    regularization: float | None = 1.0
    """lambda; None for rho^2, where the kernel of a function says how large it is."""
    mean: ArrayLike | None = None
    """theta_0."""
    norm_bound: float | None = None
    """B."""
    half_life: float | None = None
    """After how many rounds an observation weighs half; None if nothing is forgotten."""


class Pending(NamedTuple):
    """Open decisions, whose answers are still to come: different actions, and how often each."""

    action: Indices
    """Different actions, in increasing order, shape (c,)."""
    often: Indices
    """How many decisions of each are open, shape (n, c)."""


class View(NamedTuple):
    """What a decision rule sees: some replicates, and E_t through their actions."""

    confidence: ConfidenceSet
    rows: Any = slice(None)
    """Which replicates: a slice or a mask (n,)."""
    actions: Indices | None = None
    """The numbers of its actions in the game; None if they are all of them, in order."""
    width: int = 0
    """The number of actions of the whole answer."""
    alone: bool = True
    """False in one of several contexts, where exploring may serve the others."""
    unlisted: bool = False
    """Whether it is a context that the game does not list."""
    listed: bool = True
    """False if the actions of the game are not listed, and the answer is over these candidates."""
    items: int = 0
    """In duels that are not listed, the number of items; the candidates are some of them."""

    def numbers(self, local: Indices) -> Indices:
        """Return the numbers in the game of actions (...) that were chosen among candidates."""
        assert self.actions is not None
        if not self.items:
            return self.actions[local]
        first, second = np.divmod(local, len(self.actions))
        return np.asarray(self.actions[first] * self.items + self.actions[second])


class State(Protocol):
    """What a policy knows about n replicates; a state is never changed.

    With a method ``expecting(pending, context=None)`` it returns itself as if open decisions in a
    context had been answered with what is expected; without one they are ignored.
    """

    @property
    def design(self) -> Any:
        """The game as the estimate sees it, with lambda, theta_0, B and rho."""
        ...

    @property
    def normals(self) -> int:
        """The number of normal numbers that one draw from a confidence set needs."""
        ...

    def after(self, action: Indices, observation: Array, context: Context | None = None) -> Self:
        """Return the state after the observations (n, m) of actions (n,)."""
        ...

    def views(
        self, schedule: Schedule, available: Array | None = None, context: Context | None = None
    ) -> Iterable[View]:
        """Return what the replicates decide from in this round."""
        ...

    def confidence(self, schedule: Schedule, context: Context | None = None) -> ConfidenceSet:
        """Return E_t of all replicates, with contexts in the one that all of them are in."""
        ...


@singledispatch
def initial_state(
    game: Any, replicates: int, prior: Prior, *, functions: bool = False, draws: bool = False
) -> Any:
    """Return the state before the first round of a game.

    With ``functions``, kernel games are learned as functions, else in coordinates; with ``draws``,
    their confidence sets can be drawn from.
    """
    raise InvalidInput(f"game must be a game; got {brief(game)}.")


@singledispatch
def state_for(schedule: Any, state: Any, traits: Traits) -> Any:
    """Return the state of a game with these traits, with what the confidence sets need to know."""
    return state


@singledispatch
def initial_duels(game: Any, replicates: int, prior: Prior, *, draws: bool = False) -> Any:
    """Return the state before the first duel, which sees the items instead of all pairs.

    With ``draws``, its confidence sets can be drawn from.
    """
    raise InvalidInput(f"game must be a game of duels (pm.games.dueling); got {brief(game)}.")


def offered(
    confidence: ConfidenceSet,
    available: Array | None,
    actions: Indices | None = None,
    count: int | None = None,
    **options: Any,
) -> View:
    """Return a view of the actions of a confidence set that are available (k,)."""
    k = confidence.k if count is None else count
    if available is None:
        return View(confidence, actions=actions, width=k, **options)
    chosen = np.flatnonzero(available)
    own = chosen if actions is None else actions[chosen]
    return View(confidence.restricted(chosen), actions=own, width=k, **options)


def some_action(mask: NDArray[np.bool_]) -> None:
    """Refuse a restriction that leaves no action of the context, shape (n, k)."""
    if not mask.any(axis=1).all():
        raise InvalidInput("available must hold an action of the context; got none.")

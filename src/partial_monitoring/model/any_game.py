"""What every kind of game offers, and the context in which one round of it is played."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring import display
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.feedback import Feedback, NoiseFunction
from partial_monitoring.model.truths import Truths
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, Indices, ReadOnly, brief


@dataclass(frozen=True)
class Traits:
    """Facts about a game that decide who can play and analyse it."""

    listed: bool = True
    """Whether its actions can be listed."""
    finite: bool = False
    """Whether finitely many outcomes decide rewards and signals."""
    signals: bool = False
    """Whether what is shown is a symbol, one of finitely many."""
    contexts: bool = False
    """Whether a context is seen before each action."""
    function: bool = False
    """Whether the unknown is a function with bounded norm."""
    duels: bool = False
    """Whether actions are pairs of items whose difference is shown."""
    oracle: bool = False
    """Whether its actions are found by an oracle, which knows the best one."""


class AnyGame(ReadOnly, ABC):
    """A game of any kind: a list of actions, duels, a box of points, one game per context.

    Policies, simulations and learners ask a game only for what is declared here, and for its
    ``traits`` where they need more.
    """

    parameters: ParameterSet
    """The set Theta."""

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What the game offers."""

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of actions."""

    @property
    @abstractmethod
    def d(self) -> int:
        """Length of the parameter vector."""

    @property
    @abstractmethod
    def m(self) -> int:
        """Largest number of rows of an observation."""

    @property
    @abstractmethod
    def shows_own_reward(self) -> bool:
        """Whether every action shows its own reward and nothing else."""

    @property
    @abstractmethod
    def linear(self) -> Any:
        """The same game in coordinates, a :class:`Game` without an unknown function."""

    @abstractmethod
    def action_index(self, action: int | str) -> int:
        """Return the index of an action given by index or by label, without listing actions."""

    @abstractmethod
    def action_label(self, action: int) -> str:
        """Return the label of an action, without listing actions."""

    def action_labels(self, actions: Indices) -> list[str]:
        """Return labels of some actions (n,), all of them different."""
        return [self.action_label(action) for action in actions.tolist()]

    def is_called(self, action: int, label: str) -> bool:
        """Whether an action has this label."""
        return self.action_label(action) == label

    def described(self, action: int) -> dict[str, Any]:
        """Return what an action consists of: the fields of a decision that say so.

        ``first`` and ``second`` in duels, ``settings`` by name over a box.
        """
        return {}

    def described_best(self, number: int) -> dict[str, Any]:
        """Return fields of a status for the action (in duels, the item) that looks best."""
        return {}

    def exact_form(self, action: int) -> dict[str, Any]:
        """Return entries of an event from which its action is read, exactly in any language.

        Nothing where the number of the action is enough; over a box it may be beyond 2^53, where
        JavaScript loses digits, and the coordinates of the ``point`` are given.
        """
        return {}

    def from_exact_form(self, data: Mapping[str, Any]) -> int:
        """Return the number of an action from these entries."""
        raise InvalidInput(f"point must be left out, actions are no points; got {brief(data)}.")

    def in_numbers(self, action: int, answer: str) -> Any:
        """Return what was observed, if it is told in a word; games of duels know some."""
        return answer

    @abstractmethod
    def row_count(self, action: int) -> int:
        """Return m_a, the number of rows of an action's observation."""

    @abstractmethod
    def feedback(self, noise: str | NoiseFunction | None = None) -> Feedback:
        """Return what observations look like, or refuse noise that the game cannot have."""

    @abstractmethod
    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        """Return what actions earn and show for parameters (n, d), or for one function."""

    @abstractmethod
    def sheets(self, title: str = "") -> list[display.Sheet]:
        """Return the tables that show this game."""

    def context(self, given: Any = None) -> Context:
        """Return the game of one round; without contexts it is always the same."""
        if given is not None:
            raise InvalidInput(f"context must be left out, the game has none; got {brief(given)}.")
        return Context(self)

    @property
    def context_limits(self) -> Array | None:
        """The uniform number below which each context is drawn; None without contexts."""
        return None

    @property
    def point_dimension(self) -> int | None:
        """Number of coordinates of the points at which an unknown function is read, if known."""
        return None

    def function_values(self, function: Callable[[Array], Any]) -> Array:
        """Return the parameter (d,) that represents a function (n, p) -> (n,)."""
        raise InvalidInput(f"theta may be a function only for kernel games; got {brief(function)}.")

    def draw_truths(self, seeds: Indices) -> Array:
        """Draw one true parameter per seed, uniformly from Theta, shape (n, d)."""
        return self.parameters.sample(seeds)

    @property
    def coordinate_set(self) -> ParameterSet:
        """The coordinates in which true parameters are searched; Theta unless overridden."""
        return self.parameters

    def from_coordinates(self, points: Array) -> Array:
        """Return the true parameters (..., d) of points (..., D) of the coordinate set."""
        return points

    def __str__(self) -> str:
        return display.as_text(self.sheets())

    def _repr_html_(self) -> str:
        return display.as_html(self.sheets())


@dataclass(frozen=True, eq=False)
class Context:
    """The game of one round, and how its actions are numbered by a policy."""

    game: Any
    given: Indices | AnyGame | None = None
    """What the policy is handed: nothing, the index of the context (1,), or an unlisted game."""
    positions: NDArray[np.intp] | None = None
    """The numbers of the actions among those of all contexts; None if they are the same."""
    name: Any = None
    """The label of the context; of an unlisted one, its game."""

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """The arguments of a policy that say which context it is."""
        return {} if self.given is None else {"context": self.given}

    @cached_property
    def feedback(self) -> Feedback:
        """What observations look like."""
        return self.game.feedback()  # type: ignore[no-any-return]

    def own(self, values: Array) -> Array:
        """Return the entries of a policy's answer (1, ...) for the actions of this game."""
        return np.asarray(values[0] if self.positions is None else values[0][self.positions])

    def local(self, action: int) -> int:
        """Return the number in this game of an action that a policy chose."""
        if self.positions is None:
            return action
        found = np.flatnonzero(self.positions == action)
        if len(found) == 0:
            raise InvalidInput(
                f"action must be one that the context offers; the policy played number {action} of "
                f"all actions in context {brief(self.name)}."
            )
        return int(found[0])

    def outer(self, action: int) -> int:
        """Return the number of an action of this game among those that a policy chooses from."""
        return action if self.positions is None else int(self.positions[action])

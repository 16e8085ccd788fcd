"""Duels between items: actions are pairs, which are listed only when needed (example 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.game import Game, checked_parameters
from partial_monitoring.model.truths import MOST_NUMBERS, Tables, Truths
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, Indices

TRAITS = Traits(duels=True)

MOST_PAIRS = 4_000_000
"""Largest number of pairs that are listed."""

BAR = " | "
"""Separates the two items in the label of a duel."""

WORDS = {"first": 1.0, "second": -1.0, "tie": 0.0}
"""How a duel went, where it shows who won. A tie is half a win for each: if the first item wins so
much more often than the second as the model says, the mean is right however often they tie."""


class Duels:
    """All ordered pairs of items as actions: action ``a * items + b`` is the pair (a, b).

    The pairs are listed when something asks for them; a policy that knows about duels never does,
    so there may be very many items.
    """

    items: tuple[str, ...]
    noise_std: float | Array
    noise: str

    @property
    def item_count(self) -> int:
        return len(self.items)

    def item_label(self, item: int) -> str:
        """Return the label of an item."""
        return self.items[item]

    def item_number(self, label: str) -> int:
        """Return the number of the item with a label."""
        return validation.index_of("item", label, self.items)

    def item_shown(self, item: int) -> Any:
        """Return an item as decisions show it: its label, or its settings."""
        return self.item_label(item)

    def described(self, action: int) -> dict[str, Any]:
        """Return the two items."""
        first, second = divmod(action, self.item_count)
        return {"first": self.item_shown(first), "second": self.item_shown(second)}

    def described_best(self, number: int) -> dict[str, Any]:
        """Return the label of an item."""
        return {"item": self.item_label(number)}

    def in_numbers(self, action: int, answer: str) -> float:
        """Return how a duel went that is told in a word: "first", "second", "tie" or the winner.

        The first item won: 1; the second: -1; neither: 0. Refused where duels show by how much.
        """
        if self.noise != "sign":
            raise InvalidInput(
                f"observation must be the difference of two utilities, a number, unless the game "
                f"has the feedback 'sign'; got {validation.brief(answer)}."
            )
        names = [self.item_label(item) for item in divmod(action, self.item_count)]
        meant = {WORDS[answer]} if answer in WORDS else set()
        meant |= {value for value, name in zip((1.0, -1.0), names, strict=True) if name == answer}
        if names[0] == names[1] == answer:
            return WORDS["tie"]
        if len(meant) != 1:
            raise InvalidInput(
                f"observation must be 'first', 'second', 'tie' or the label of the winner, "
                f"{' or '.join(map(validation.brief, names))}; got {validation.brief(answer)}"
                + (", which is the place of one item and the label of the other." if meant else ".")
            )
        return meant.pop()

    @property
    def k(self) -> int:
        """Number of pairs."""
        return self.item_count**2

    @property
    def m(self) -> int:
        """A duel shows one number."""
        return 1

    @property
    def shows_own_reward(self) -> bool:
        """A duel shows a difference, not its reward."""
        return False

    def item_row(self, item: int) -> Array:
        """Return the features of an item, shape (d,)."""
        raise NotImplementedError

    def rows(self, action: int | str) -> Array:
        """Return the difference of the features of two items, shape (1, d)."""
        first, second = map(self.item_row, divmod(self.action_index(action), self.item_count))
        return (first - second)[None]

    def reward_row(self, action: int) -> Array:
        """Return the sum of the features of two items, shape (d,)."""
        first, second = map(self.item_row, divmod(action, self.item_count))
        return np.asarray(first + second)

    def utilities(self, theta: Array) -> Array:
        """Return the utilities of the items for parameters (n, d), shape (n, items)."""
        raise NotImplementedError

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        """Return what duels earn and show under parameters (n, d), without listing them."""
        return DuelTruths(theta, self.utilities(theta), float(self.noise_std))

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Labels of the pairs."""
        first, second = self.listed()
        return tuple(self.pair_label(a, b) for a, b in zip(first, second, strict=True))

    @cached_property
    def row_counts(self) -> tuple[int, ...]:
        """One row for every pair."""
        return (1,) * len(self.listed()[0])

    def pair_label(self, a: int, b: int) -> str:
        """Return the label of a pair of items."""
        return f"{self.item_label(a)}{BAR}{self.item_label(b)}"

    def action_index(self, action: int | str) -> int:
        if isinstance(action, str):
            names = action.split(BAR)
            try:
                first, second = map(self.item_number, names)
            except ValueError:  # not two items, or unknown ones
                raise unknown_name("action", action, [self.pair_label(0, 0)]) from None
            return first * self.item_count + second
        if not validation.is_whole(action) or not 0 <= action < self.k:
            raise InvalidInput(
                f"action must be a label or an index below {self.k}; got "
                f"{validation.brief(action)}."
            )
        return int(action)

    def row_count(self, action: int) -> int:
        return 1

    def action_label(self, action: int) -> str:
        return self.pair_label(*divmod(action, self.item_count))

    def _headline(self) -> str:
        return f"{self.k} duels of {self.item_count} items"

    def listed(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the first and the second item of every pair."""
        if self.k > MOST_PAIRS:
            raise InvalidInput(
                f"{self.item_count} items make {self.k} duels, too many to list; play them with "
                f"DuelingIDS, which does not need the list."
            )
        return np.divmod(np.arange(self.k), self.item_count)


class DuelTruths(Truths):
    """What duels earn and show when the utilities of the items are given, shape (n, items)."""

    def __init__(self, theta: Array, utilities: Array, noise_std: float) -> None:
        self.theta, self.utilities = theta, utilities
        self._largest = 2 * utilities.max(axis=1)
        self._sizes = np.full(len(theta), noise_std)
        self._each = np.arange(len(theta))

    def _both(self, action: Indices) -> tuple[Array, Array]:
        """Return the utilities of the two items of each duel, shapes (n,)."""
        first, second = np.divmod(action, self.utilities.shape[1])
        return self.utilities[self._each, first], self.utilities[self._each, second]

    def means(self, action: Indices, context: Indices | None = None) -> Array:
        first, second = self._both(action)
        return np.asarray((first - second)[:, None])

    def sizes(self, action: Indices, context: Indices | None = None) -> Array:
        return self._sizes

    def gap(self, action: Indices, context: Indices | None = None) -> Array:
        """Return what the duels lose against that of the best item with itself, shape (n,)."""
        first, second = self._both(action)
        return np.asarray(self._largest - (first + second))

    def tables(self) -> Tables | None:
        n, items = self.utilities.shape
        if n * items**2 > MOST_NUMBERS:
            return None
        first, second = self.utilities[:, :, None], self.utilities[:, None, :]
        means = (first - second).reshape(n, 1, items**2, 1)
        losses = (self._largest[:, None, None] - (first + second)).reshape(n, 1, items**2)
        sizes = np.full((1, items**2), self._sizes[0])
        return Tables(means, sizes, losses, np.zeros((1, items**2, 0, 1)))

    def outside(self, low: float, high: float) -> str | None:
        widest = float(np.ptp(self.utilities, axis=1).max())
        if low <= -widest and widest <= high:
            return None
        return f"duels have means between {-widest:g} and {widest:g}"


class DuelingGame(Duels, Game):
    """All ordered pairs of items: playing (a, b) earns both utilities and shows their difference.

    It is an ordinary :class:`Game` whose action ``a * items + b`` is the pair (a, b), with
    phi_ab = phi_a + phi_b and M_ab = (phi_a - phi_b)'.

    Parameters
    ----------
    item_features
        Shape (items, d).
    parameters
        The set Theta of utility vectors.
    noise_std, noise
        As for :class:`Game`.
    items
        Labels of the items; without them the indices.
    """

    item_features: Array

    def __init__(
        self,
        item_features: ArrayLike,
        parameters: ParameterSet,
        noise_std: float = 1.0,
        items: Iterable[object] | None = None,
        *,
        noise: str = "gaussian",
    ) -> None:
        phi = validation.filled_array("item_features", item_features, ("items", "d"))
        validation.set_fields(
            self,
            item_features=phi,
            parameters=checked_parameters(parameters, phi.shape[1]),
            noise_std=validation.positive_number("noise_std", noise_std),
            items=validation.labels("items", items, len(phi)),
            noise=validation.one_of("noise", noise, self.NOISES),
        )

    @property
    def traits(self) -> Traits:
        return TRAITS

    @property
    def d(self) -> int:
        return int(self.item_features.shape[1])

    @cached_property
    def features(self) -> Array:
        """phi_a + phi_b of every pair, shape (items^2, d)."""
        first, second = self.listed()
        return validation.frozen(self.item_features[first] + self.item_features[second])

    @cached_property
    def observation_maps(self) -> Array:
        """phi_a - phi_b of every pair, shape (items^2, 1, d)."""
        first, second = self.listed()
        return validation.frozen(
            (self.item_features[first] - self.item_features[second])[:, None, :]
        )

    def item_row(self, item: int) -> Array:
        return np.asarray(self.item_features[item])

    def utilities(self, theta: Array) -> Array:
        return np.asarray((self.item_features @ theta[:, :, None])[:, :, 0])

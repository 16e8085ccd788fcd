"""Duels between settings whose utility is an unknown function (section 7, dueling)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import validation
from partial_monitoring.kernels.gram import Functionals, gram_of
from partial_monitoring.kernels.readings import Reading, differences
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.dueling import Duels
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.parameter_sets import AllParameters
from partial_monitoring.validation import Array, Indices


class KernelDuelingGame(Duels, KernelGame):
    """All ordered pairs of items: (a, b) earns g(x_a) + g(x_b) and shows g(x_a) - g(x_b).

    The parameter is the vector of the utilities of the items. Pairs are listed only when something
    asks for them.

    Parameters
    ----------
    kernel
        Of the utility function g: one of ``pm.kernels``, or any that ``as_kernel`` takes.
    points
        The items, shape (items, p).
    noise_std, noise
        As for :class:`Game`.
    norm_bound
        B, the largest norm that g may have.
    items
        Labels of the items; without them the indices.
    """

    points: Array

    def __init__(
        self,
        kernel: Any,
        points: ArrayLike,
        *,
        noise_std: float = 1.0,
        norm_bound: float = 1.0,
        items: Iterable[object] | None = None,
        noise: str = "gaussian",
    ) -> None:
        x = validation.filled_array("points", points, ("items", "p"))
        validation.set_fields(
            self,
            points=x,
            gram=gram_of(kernel, x),
            parameters=AllParameters(len(x)),
            noise_std=validation.positive_number("noise_std", noise_std),
            norm_bound=validation.non_negative_number("norm_bound", norm_bound),
            items=validation.labels("items", items, len(x)),
            noise=validation.one_of("noise", noise, self.NOISES),
            candidates=None,
        )

    @property
    def traits(self) -> Traits:
        return Traits(function=True, duels=True)

    @cached_property
    def reward(self) -> Functionals:  # type: ignore[override]
        """The sum of two utilities, shape (items^2, 2)."""
        index = np.stack(self.listed(), axis=1)
        return Functionals(index, np.ones(index.shape))

    @cached_property
    def observation(self) -> Functionals:  # type: ignore[override]
        """The difference of two utilities, shape (items^2, 1, 2)."""
        index = np.stack(self.listed(), axis=1)[:, None]
        return Functionals(index, np.broadcast_to([1.0, -1.0], index.shape).copy())

    def with_kernel(self, kernel: Any) -> Self:
        return type(self)(kernel, self.points, items=self.items, **self.options)

    def item_row(self, item: int) -> Array:
        return np.asarray(np.eye(1, self.item_count, item)[0])

    def point(self, action: int | str) -> Array | None:
        """A duel reads the utility at two places."""
        return None

    def reading(self, actions: Indices) -> Reading:
        return differences(
            self.points, np.stack(np.divmod(actions, self.item_count), axis=1).tolist()
        )

    def utilities(self, theta: Array) -> Array:
        return theta

    def as_items(self) -> KernelGame:
        """Return the game of the items by themselves: each earns its utility and shows nothing."""
        one = np.arange(self.item_count)[:, None]
        none = np.zeros((self.item_count, 0, 1))
        return KernelGame.of_functionals(
            self.gram,
            Functionals(one, np.ones((self.item_count, 1))),
            Functionals(none.astype(np.int64), none),
            (0,) * self.item_count,
            actions=self.items,
            **self.options,
        )

"""Duels between any two points of a box: settings that are tuned by preferences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.kernels.readings import Reading, differences, sums
from partial_monitoring.kernels.scales import warn_of_scales
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.dueling import BAR, Duels
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.lattice import Lattice
from partial_monitoring.model.over_box import BoxTruths, GameOverBox, largest_value
from partial_monitoring.model.truths import Truths
from partial_monitoring.validation import Array, Indices

BITS = 31
"""Number of bits that number the points, so that pairs of points have numbers, too."""

MOST_DIMENSIONS = 7
"""Largest number of coordinates: with more, there would be fewer than 16 points along each axis."""


class KernelBoxDuelingGame(Duels, GameOverBox):  # type: ignore[misc]  # actions are refused
    """All pairs of points of a box: (x, y) earns g(x) + g(y) and shows g(x) - g(y), or who won.

    The points are those of a lattice, 2^b along each of p axes with b = min(20, 31 / p); the pair
    of points a and b is action ``a * item_count + b``. Nothing is ever listed: in each round some
    hundreds of candidates are considered as items, as in :class:`KernelBoxGame`.

    Parameters
    ----------
    kernel
        Of the utility function g: one of ``pm.kernels``, or any that ``as_kernel`` takes. Its
        lengthscales are in the units of the box; a warning says where they do not fit it.
    low, high
        The corners of the box, shape (p,).
    noise_std
        As for :class:`Game`, one number; 1 is right for signs.
    noise
        "sign": which of the two won, +1 or -1, with mean g(x) - g(y), which must lie between -1 and
        1; "gaussian": the difference with normal noise.
    norm_bound
        B, the largest norm that g may have.
    levels, names, units
        As for :class:`KernelBoxGame`.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.KernelBoxDuelingGame(
    ...     pm.kernels.SquaredExponential(6.0), [80], [100], names=["temperature"], units=["°C"])
    >>> learner = pm.Learner(game, seed=0)
    >>> decision = learner.ask()
    >>> list(decision.first), list(decision.second)
    (['temperature'], ['temperature'])
    >>> learner.tell(decision, "second")
    """

    NOISES: ClassVar[tuple[str, ...]] = ("sign", "gaussian")

    def __init__(
        self,
        kernel: Any,
        low: ArrayLike,
        high: ArrayLike,
        *,
        noise_std: float = 1.0,
        norm_bound: float = 1.0,
        noise: str = "sign",
        levels: int | Iterable[int] | None = None,
        names: Iterable[object] | None = None,
        units: Iterable[object] | None = None,
    ) -> None:
        lattice = Lattice.of(low, high, BITS, levels, names, units)
        if (p := len(lattice.low)) > MOST_DIMENSIONS:
            raise InvalidInput(
                f"low must have at most {MOST_DIMENSIONS} coordinates in duels; got {p}."
            )
        for name in (*lattice.names, *lattice.units):
            if BAR in name:
                raise InvalidInput(
                    f"names must not contain {BAR!r}, which is between the items of a duel; got "
                    f"{validation.brief(name)}."
                )
        self._fill(kernel, lattice, noise_std, norm_bound, noise)
        warn_of_scales(self.computed.kernel, self.low, self.high, lattice.axes)

    @property
    def traits(self) -> Traits:
        return Traits(listed=False, function=True, duels=True)

    @property
    def item_count(self) -> int:
        """The number of points of the lattice."""
        return self.lattice.count

    def listed(self) -> tuple[NDArray[Any], NDArray[Any]]:
        self._refuse_list()

    def as_items(self) -> KernelGame:
        """Refused: the points are too many to list."""
        self._refuse_list()

    def item_label(self, item: int) -> str:
        return self.lattice.label(item)

    def item_number(self, label: str) -> int:
        found = self.lattice.number_called(label)
        if found is None:
            raise unknown_name("item", label, [self.item_label(0)])
        return found

    def item_shown(self, item: int) -> dict[str, float]:
        """Return the settings of a point by name."""
        return self.lattice.settings(item)

    def described_best(self, number: int) -> dict[str, Any]:
        return super().described_best(number) | {"settings": self.item_shown(number)}

    def action_labels(self, actions: Indices) -> list[str]:
        return [self.action_label(int(action)) for action in actions]

    def exact_form(self, action: int) -> dict[str, Any]:
        return {"point": self.points_of(divmod(action, self.item_count)).tolist()}

    def from_exact_form(self, data: Any) -> int:
        first, second = map(self.lattice.number_at, data["point"])
        return first * self.item_count + second

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        return BoxDuelTruths(self, theta, function)

    def listed_at(
        self, points: Array, actions: Iterable[object] | None = None, chosen: Indices | None = None
    ) -> KernelGame:
        """Return the points (n, p), or some of them, as items that earn utilities and show none."""
        return self._listed(points, chosen, 0, actions)

    def point(self, action: int | str) -> None:
        """A duel reads the utility at two places."""

    def reading(self, actions: Indices) -> Reading:
        numbers, pairs = self.places_of(actions)
        return differences(self.points_of(numbers), pairs.tolist())

    def places_of(self, actions: Indices) -> tuple[Indices, Indices]:
        both = np.stack(np.divmod(actions, self.item_count), axis=1)
        numbers, place = np.unique(both, return_inverse=True)
        return numbers, np.reshape(place, both.shape)

    def restricted(self, actions: Iterable[int | str]) -> KernelGame:
        chosen = [self.action_index(action) for action in validation.items("actions", actions)]
        numbers, pairs = self.places_of(np.array(chosen))
        points, both = self.points_of(numbers), pairs.tolist()
        return KernelGame.from_kernel(
            self.computed.kernel, sums(points, both), differences(points, both), **self.options
        )

    def _headline(self) -> str:
        return f"duels over {GameOverBox._headline(self)}"

    def _earned(self) -> str:
        shown = "which of them wins: x with the chance (1 + f(x) - f(y)) / 2"
        if self.noise == "gaussian":
            size = display.number(float(self.noise_std))
            shown = f"f(x) - f(y) with Gaussian noise of size {size}"
        return f"two points x and y earn f(x) + f(y) and show {shown}"


class BoxDuelTruths(BoxTruths):
    """What duels of points of a box earn and show."""

    game: KernelBoxDuelingGame

    def _both(self, action: Indices) -> tuple[Array, Array]:
        """Return the utilities of the two points of each duel, shapes (n,)."""
        first, second = np.divmod(action, self.game.item_count)
        return self._values(first), self._values(second)

    def means(self, action: Indices, context: Indices | None = None) -> Array:
        first, second = self._both(action)
        return (first - second)[:, None]

    def gap(self, action: Indices, context: Indices | None = None) -> Array:
        """Return what the duels lose against that of the best point with itself, shape (n,)."""
        first, second = self._both(action)
        return np.maximum(2 * self._best - (first + second), 0.0)

    def outside(self, low: float, high: float) -> str | None:
        none = np.zeros((0, len(self.game.low)))
        functions = self._functions if self._shared is None else [self._shared]
        least = [-largest_value(self.game, _negative(own), none) for own in functions]
        widest = float((self._best[: len(least)] - least).max())
        if low <= -widest and widest <= high:
            return None
        return f"duels have means between {-widest:g} and {widest:g}"


def _negative(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda points: -function(points)

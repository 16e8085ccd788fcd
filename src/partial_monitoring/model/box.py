"""Bandits over a box: any point of it may be played (section 7 with infinitely many actions)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels import readings
from partial_monitoring.kernels.readings import Reading
from partial_monitoring.kernels.scales import warn_of_scales
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.lattice import Lattice
from partial_monitoring.model.over_box import BoxTruths, GameOverBox
from partial_monitoring.model.truths import Truths
from partial_monitoring.validation import Array, Indices

BITS = 62
"""Number of bits that number the points, shared evenly by the dimensions, at most 20 each."""


class KernelBoxGame(GameOverBox):
    """Optimise an unknown function over a box from noisy values.

    Its actions are the points of a fine lattice, numbered from 0 and never listed: 2^b points along
    each of p axes, b = min(20, 62 / p), which are a millionth of an edge apart in at most three
    dimensions and a 64th in ten. A policy considers some hundreds of candidates in each round,
    around the best and the most uncertain points: an approximation without a regret bound.

    The parameter of the game, in results and for simulations, is the vector of the values of the
    function at 128 reference points; it represents the function of least norm that has them.

    Parameters
    ----------
    kernel
        Of the function: one of ``pm.kernels``, or any that ``as_kernel`` takes. Its lengthscales
        are in the units of the box; a warning says where they do not fit it.
    low, high
        The corners of the box, shape (p,).
    noise_std
        As for :class:`Game`, one number.
    noise
        "gaussian".
    norm_bound
        B, the largest norm that the function may have.
    levels
        The number of points along each axis, or one for all, if a coarser lattice is wanted.
    names, units
        Of the coordinates, p each. ``decision.settings`` is a table by these names, and labels show
        both, with as many digits as distinguish all points.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.KernelBoxGame(
    ...     pm.kernels.Matern(2.5, [6, 2]), [80, 5], [100, 12], noise_std=0.1,
    ...     names=["temperature", "pressure"], units=["°C", "bar"])
    >>> learner = pm.Learner(game, pm.IDS(gap=pm.gaps.mean), seed=0)
    >>> list(learner.ask().settings)
    ['temperature', 'pressure']
    """

    NOISES: ClassVar[tuple[str, ...]] = ("gaussian",)

    def __init__(
        self,
        kernel: Any,
        low: ArrayLike,
        high: ArrayLike,
        *,
        noise_std: float = 1.0,
        norm_bound: float = 1.0,
        noise: str = "gaussian",
        levels: int | Iterable[int] | None = None,
        names: Iterable[object] | None = None,
        units: Iterable[object] | None = None,
    ) -> None:
        lattice = Lattice.of(low, high, BITS, levels, names, units)
        self._fill(kernel, lattice, noise_std, norm_bound, noise)
        warn_of_scales(self.computed.kernel, self.low, self.high, lattice.axes)

    @property
    def k(self) -> int:
        """The number of points of the lattice."""
        return self.lattice.count

    @property
    def traits(self) -> Traits:
        return Traits(listed=False, function=True)

    @property
    def shows_own_reward(self) -> bool:
        return True

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        return PointTruths(self, theta, function)

    def point(self, action: int | str) -> Array:
        return self.points_of(self.action_index(action))

    def listed_at(
        self, points: Array, actions: Iterable[object] | None = None, chosen: Indices | None = None
    ) -> KernelGame:
        """Return the bandit that has only the given points (n, p), or some of them, as actions."""
        return self._listed(points, chosen, 1, actions)

    def reading(self, actions: Indices) -> Reading:
        return readings.values(self.points_of(actions))

    def action_index(self, action: int | str) -> int:
        number = self.lattice.number_called(action) if isinstance(action, str) else action
        if number is None or not validation.is_whole(number) or not 0 <= int(number) < self.k:
            raise InvalidInput(
                f"action must be the number of a point, below {self.k} (see nearest), or its full "
                f"label; got {validation.brief(action)}."
            )
        return int(number)

    def action_label(self, action: int) -> str:
        """Return the coordinates of a point in words."""
        return self.lattice.label(action)

    def action_labels(self, actions: Indices) -> list[str]:
        return self.lattice.labels_of(actions)

    def is_called(self, action: int, label: str) -> bool:
        """Whether a point has a label, or had it in older files, with 6 digits."""
        return self.lattice.is_called(action, label)

    def described(self, action: int) -> dict[str, Any]:
        return {"settings": self.lattice.settings(action)}

    def described_best(self, number: int) -> dict[str, Any]:
        return self.described(number)

    def exact_form(self, action: int) -> dict[str, Any]:
        return {"point": self.points_of(action).tolist()}

    def from_exact_form(self, data: Any) -> int:
        return self.lattice.number_at(data["point"])

    def restricted(self, actions: Iterable[int | str]) -> KernelGame:
        chosen = [self.action_index(action) for action in validation.items("actions", actions)]
        return self.listed_at(self.points_of(chosen))

    def _earned(self) -> str:
        size = display.number(float(self.noise_std))
        return f"a point x earns f(x) and shows it with Gaussian noise of size {size}"


class PointTruths(BoxTruths):
    """What points of a box earn and show."""

    def means(self, action: Indices, context: Indices | None = None) -> Array:
        return self._values(action)[:, None]

    def gap(self, action: Indices, context: Indices | None = None) -> Array:
        return np.maximum(self._best - self._values(action), 0.0)

    def outside(self, low: float, high: float) -> None:
        """Values are not bounded, and neither are observations of them."""

"""Bandits over a box: any point of it may be played (section 7 with infinitely many actions)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels import readings
from partial_monitoring.kernels.candidates import box, sobol
from partial_monitoring.kernels.gram import Functionals, KernelGram, gram_of
from partial_monitoring.kernels.readings import Reading
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.feedback import Feedback, NoiseFunction, noise_named
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.truths import Truths
from partial_monitoring.parameter_sets import AllParameters
from partial_monitoring.validation import Array, Indices

MOST_DIMENSIONS = 12
"""Largest number of coordinates of a point."""

REFERENCE = 128
"""Number of points at which the values of a function are the parameter of the game."""

BITS = 62
"""Number of bits that number the points, shared evenly by the dimensions, at most 20 each."""

LABEL_DIGITS, MOST_DIGITS = 6, 17
"""Digits of a coordinate in a label; with the second number all doubles are different."""

SEARCHED = 4096
"""Number of points from which the search for the maximum of a function starts."""

POLISHED = 8
"""Number of these points, those with the largest values, that are improved by a solver."""


class KernelBoxGame(FunctionGame):
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
        Of the function: one of ``pm.kernels``, or any that ``as_kernel`` takes.
    low, high
        The corners of the box, shape (p,).
    noise_std
        As for :class:`Game`, one number.
    noise
        "gaussian".
    norm_bound
        B, the largest norm that the function may have.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0, 0], [1, 2], noise_std=0.1)
    >>> learner = pm.Learner(game, pm.IDS(gap=pm.gaps.mean), seed=0)
    >>> game.point(learner.ask().action).shape
    (2,)
    """

    NOISES: ClassVar[tuple[str, ...]] = ("gaussian",)

    low: Array
    high: Array
    reference_gram: Array
    """The Gram matrix of the reference points, shape (128, 128)."""
    candidates: None = None
    """There is no list of points."""

    def __init__(
        self,
        kernel: Any,
        low: ArrayLike,
        high: ArrayLike,
        *,
        noise_std: float = 1.0,
        norm_bound: float = 1.0,
        noise: str = "gaussian",
    ) -> None:
        lower, upper = box(low, high)
        if (p := len(lower)) > MOST_DIMENSIONS:
            raise InvalidInput(f"low must have at most {MOST_DIMENSIONS} coordinates; got {p}.")
        reference = sobol(lower, upper, REFERENCE)
        gram = gram_of(kernel, reference)
        validation.set_fields(
            self,
            low=lower,
            high=upper,
            gram=gram,
            reference_gram=gram.matrix,
            parameters=AllParameters(REFERENCE),
            noise_std=validation.positive_number("noise_std", noise_std),
            norm_bound=validation.non_negative_number("norm_bound", norm_bound),
            noise=validation.one_of("noise", noise, self.NOISES),
        )

    @cached_property
    def levels(self) -> int:
        """The number of points of the lattice along each axis, all of them different doubles."""
        apart = np.spacing(np.maximum(np.abs(self.low), np.abs(self.high)))
        room = int(np.log2(((self.high - self.low) / apart).min()))
        return int(2 ** max(1, min(20, BITS // len(self.low), room - 1)))

    @cached_property
    def _digits(self) -> Indices:
        """Number of significant digits of each coordinate, 6 of them within the box, shape (p,)."""
        share = (self.high - self.low) / np.maximum(np.abs(self.low), np.abs(self.high))
        return LABEL_DIGITS + np.maximum(np.floor(-np.log10(share)), 0).astype(np.int64)

    @property
    def k(self) -> int:
        """The number of points of the lattice."""
        return int(self.levels ** len(self.low))

    @property
    def m(self) -> int:
        return 1

    @property
    def traits(self) -> Traits:
        return Traits(listed=False, function=True)

    @property
    def shows_own_reward(self) -> bool:
        return True

    def _refuse_list(self) -> NoReturn:
        raise InvalidInput(
            f"game must list its actions, but the {self.k} points of a box are too many to list; "
            f"take some with game.restricted, or a grid of candidates (pm.candidates.grid)."
        )

    @property
    def actions(self) -> NoReturn:
        """Refused: the points are too many to list."""
        self._refuse_list()

    @property
    def linear(self) -> NoReturn:
        self._refuse_list()

    @property
    def coordinate_set(self) -> NoReturn:
        self._refuse_list()

    def feedback(self, noise: str | NoiseFunction | None = None) -> Feedback:
        kind = self.noise if noise is None else noise
        return noise_named(validation.one_of("noise over a box", kind, ("gaussian", "none")), self)

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        return BoxTruths(self, theta, function)

    def with_kernel(self, kernel: Any) -> Self:
        return type(self)(kernel, self.low, self.high, **self.options)

    def values(self, theta: Array, points: Array) -> Array:
        """Return the values at points (n, p) of the function that theta (d,) represents, (n,)."""
        return self.function(theta)(points)

    def function(self, theta: Array) -> Callable[[Array], Array]:
        """Return the function of least norm with given values (d,) at the reference points."""
        gram = self.computed
        weights = np.linalg.lstsq(self.reference_gram, theta, rcond=1e-12)[0]
        return lambda points: np.asarray(gram.kernel(points, gram.points) @ weights)

    def points_of(self, actions: ArrayLike) -> Array:
        """Return the points (..., p) with given numbers (...)."""
        left = np.array(None) if validation.is_ragged(actions) else np.asarray(actions)
        whole = left.dtype.kind in "iu" or left.size == 0
        if not whole or left.min(initial=0) < 0 or left.max(initial=0) >= self.k:
            raise InvalidInput(
                f"actions must be numbers of points, below {self.k}; got "
                f"{validation.brief(actions)}."
            )
        left = left.astype(np.int64)
        shares = np.empty((*left.shape, len(self.low)))
        for axis in range(len(self.low)):
            left, place = np.divmod(left, self.levels)
            shares[..., axis] = place / (self.levels - 1)
        inside = self.low + shares * (self.high - self.low)
        return np.minimum(inside, self.high)  # rounding must not leave the box

    def nearest(self, points: ArrayLike) -> Indices:
        """Return the numbers (n,) of the lattice points nearest to points (n, p)."""
        x = validation.real_array("points", points, ("n", len(self.low)))
        shares = np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)
        places = np.round(shares * (self.levels - 1)).astype(np.int64)
        number = np.zeros(len(x), dtype=np.int64)
        for axis in reversed(range(len(self.low))):
            number = number * self.levels + places[:, axis]
        return number

    def point(self, action: int | str) -> Array:
        return self.points_of(self.action_index(action))

    def bandit_at(
        self, points: Array, actions: Iterable[object] | None = None, chosen: Indices | None = None
    ) -> KernelGame:
        """Return the bandit that has only the given points (n, p), or some of them, as actions."""
        places = np.arange(len(points)) if chosen is None else chosen
        own = Functionals(places[:, None], np.ones((len(places), 1)))
        return KernelGame.of_functionals(
            KernelGram(self.computed.kernel, points, np.full(len(points), -1)),
            own,
            own[:, None],
            (1,) * len(places),
            actions=actions,
            **self.options,
        )

    def reading(self, actions: Indices) -> Reading:
        return readings.values(self.points_of(actions))

    def action_index(self, action: int | str) -> int:
        if not validation.is_whole(action) or not 0 <= int(action) < self.k:
            raise InvalidInput(
                f"action must be the number of a point, below {self.k} (see nearest); got "
                f"{validation.brief(action)}."
            )
        return int(action)

    def action_label(self, action: int) -> str:
        """Return the coordinates of a point in words."""
        return _written(self.point(action), self._digits)

    def labels_of(self, actions: Indices) -> list[str]:
        """Return labels of some points (n,), with as many digits as tell them apart."""
        points, found = self.points_of(actions), [self.action_label(int(a)) for a in actions]
        for more in range(1, MOST_DIGITS):
            if len(set(found)) == len(found):
                break
            found = [_written(point, self._digits + more) for point in points]
        return found

    def is_called(self, action: int, label: str) -> bool:
        """Whether a point has a label, or had it in older files, with 6 digits."""
        old = _written(self.point(action), np.full(len(self.low), LABEL_DIGITS))
        return label in (self.action_label(action), old)

    def row_count(self, action: int) -> int:
        return 1

    def restricted(self, actions: Iterable[int | str]) -> KernelGame:
        chosen = [self.action_index(action) for action in validation.items("actions", actions)]
        return self.bandit_at(self.points_of(chosen))

    def sheets(self, title: str = "") -> list[display.Sheet]:
        rows = tuple(
            tuple(map(display.TableCell, (f"x{i + 1}", *(display.number(float(v)) for v in edge))))
            for i, edge in enumerate(zip(self.low, self.high, strict=True))
        )
        notes = (
            "a point x earns f(x) and shows it with Gaussian noise of size "
            f"{display.number(float(self.noise_std))}",
            f"f has norm at most {self.norm_bound:g} in the space of {self.computed.kernel!r}",
        )
        return [display.Sheet(title or self._headline(), ("axis", "from", "to"), rows, notes)]

    def _headline(self) -> str:
        return f"a box in {len(self.low)} dimension{'s' if len(self.low) > 1 else ''}"

    def __repr__(self) -> str:
        return (
            f"KernelBoxGame(low={self.low.tolist()}, high={self.high.tolist()}, "
            f"norm_bound={self.norm_bound})"
        )


def _written(point: Array, digits: Indices) -> str:
    """Write the coordinates of a point (p,), each with its number of significant digits."""
    each = zip(point, np.minimum(digits, MOST_DIGITS), strict=True)
    return ", ".join(f"{value:.{count}g}" for value, count in each)


class BoxTruths(Truths):
    """What points of a box earn and show: one function for all replicates, or one for each."""

    def __init__(
        self, game: KernelBoxGame, theta: Array, function: Callable[[Array], Any] | None
    ) -> None:
        self.game, self.theta = game, theta
        self._sizes = np.full(len(theta), float(game.noise_std))
        self._shared = None if function is None else _checked(function)
        none = np.zeros((0, len(game.low)))
        if self._shared is None:
            self._functions = [game.function(own) for own in theta]
            self._best = np.array([_largest_value(game, own, none) for own in self._functions])
        else:
            known = getattr(function, "maximizers", lambda dimension: none)  # of test functions
            best = _largest_value(game, self._shared, known(len(game.low)))
            self._best = np.full(len(theta), best)

    def _values(self, action: Indices) -> Array:
        points = self.game.points_of(action)
        if self._shared is not None:
            return self._shared(points)
        return np.array([own(points[[i]])[0] for i, own in enumerate(self._functions)])

    def means(self, action: Indices, context: Indices | None = None) -> Array:
        return self._values(action)[:, None]

    def sizes(self, action: Indices, context: Indices | None = None) -> Array:
        return self._sizes

    def gap(self, action: Indices, context: Indices | None = None) -> Array:
        return np.maximum(self._best - self._values(action), 0.0)

    def outside(self, low: float, high: float) -> None:
        """Values are not bounded, and neither are observations of them."""


def _checked(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Return a user's function (n, p) -> (n,) whose values are validated."""
    return lambda x: validation.real_array("what theta returns", function(np.array(x)), (len(x),))


def _largest_value(game: KernelBoxGame, function: Callable[[Array], Array], known: Array) -> float:
    """Return the largest value of a function over the box that a search finds.

    The best of many points that fill the box evenly, and points (n, p) of which it is known that
    the function is largest there, are improved by a quasi-Newton method.
    """
    from scipy.optimize import minimize

    points = sobol(game.low, game.high, SEARCHED)
    values = np.asarray(function(points))
    known = np.clip(known, game.low, game.high)
    best = float(np.max(function(known), initial=values.max()))
    for start in (*points[np.argsort(-values)[:POLISHED]], *known):
        found = minimize(
            lambda x: -float(function(x[None])[0]),
            start,
            method="L-BFGS-B",
            bounds=list(zip(game.low, game.high, strict=True)),
        )
        best = max(best, -float(found.fun))
    return best

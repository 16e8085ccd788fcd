"""What games of an unknown function over a box share: its lattice, its kernel, its truths."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.candidates import sobol
from partial_monitoring.kernels.gram import Functionals, KernelGram, gram_of
from partial_monitoring.model.feedback import Feedback, NoiseFunction, noise_named
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.lattice import Lattice
from partial_monitoring.model.truths import Truths
from partial_monitoring.parameter_sets import AllParameters
from partial_monitoring.validation import Array, Indices

REFERENCE = 128
"""Number of points at which the values of a function are the parameter of the game."""

SEARCHED = 4096
"""Number of points from which the search for the maximum of a function starts."""

POLISHED = 8
"""Number of these points, those with the largest values, that are improved by a solver."""


class GameOverBox(FunctionGame):
    """A game of a function over a box: actions read it at points of a lattice, never listed."""

    NOISES: ClassVar[tuple[str, ...]]
    """The kinds of noise that it may have."""

    lattice: Lattice
    low: Array
    high: Array
    reference_gram: Array
    """The Gram matrix of the reference points, shape (128, 128)."""
    candidates: None = None
    """There is no list of points."""

    def _fill(
        self, kernel: Any, lattice: Lattice, noise_std: Any, norm_bound: Any, noise: Any
    ) -> None:
        gram = gram_of(kernel, sobol(lattice.low, lattice.high, REFERENCE))
        validation.set_fields(
            self,
            lattice=lattice,
            low=lattice.low,
            high=lattice.high,
            gram=gram,
            reference_gram=gram.matrix,
            parameters=AllParameters(REFERENCE),
            noise_std=validation.positive_number("noise_std", noise_std),
            norm_bound=validation.non_negative_number("norm_bound", norm_bound),
            noise=validation.one_of("noise", noise, self.NOISES),
        )

    @property
    def levels(self) -> int | tuple[int, ...]:
        """The number of points of the lattice along each axis, one number if they are the same."""
        return self.lattice.levels

    @property
    def m(self) -> int:
        return 1

    def row_count(self, action: int) -> int:
        return 1

    def _refuse_list(self) -> NoReturn:
        raise InvalidInput(
            f"game must list its actions, but the {self.lattice.count} points of a box are too "
            f"many to list; take some with game.restricted, or a grid of candidates "
            f"(pm.candidates.grid)."
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
        return noise_named(
            validation.one_of("noise over a box", kind, (*self.NOISES, "none")), self
        )

    def with_kernel(self, kernel: Any) -> Self:
        game = type(self).__new__(type(self))
        game._fill(kernel, self.lattice, **self.options)
        return game

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
        return self.lattice.points_of(actions)

    def nearest(self, points: ArrayLike) -> Indices:
        """Return the numbers (n,) of the lattice points nearest to points (n, p)."""
        return self.lattice.nearest(points)

    def labels_of(self, points: Indices) -> list[str]:
        """Return labels of some points (n,), with as many digits as distinguish them."""
        return self.lattice.labels_of(points)

    def places_of(self, actions: Indices) -> tuple[Indices, Indices | None]:
        """Return the different points that actions (n,) read, and in duels where, (n, 2).

        The actions are different and in increasing order.
        """
        return actions, None

    @abstractmethod
    def listed_at(
        self, points: Array, actions: Iterable[object] | None = None, chosen: Indices | None = None
    ) -> KernelGame:
        """Return the game in which a policy chooses among points (n, p), or some of them."""

    def _listed(
        self, points: Array, chosen: Indices | None, shown: int, actions: Iterable[object] | None
    ) -> KernelGame:
        """Return the game whose actions earn the values at points, and show them or nothing."""
        places = np.arange(len(points)) if chosen is None else chosen
        own = Functionals(places[:, None], np.ones((len(places), 1)))
        return KernelGame.of_functionals(
            KernelGram(self.computed.kernel, points, np.full(len(points), -1)),
            own,
            own[:, None][:, :shown],
            (shown,) * len(places),
            actions=actions,
            **self.options,
        )

    def sheets(self, title: str = "") -> list[display.Sheet]:
        edges = zip(self.lattice.titles, self.low, self.high, strict=True)
        rows = tuple(
            tuple(map(display.TableCell, (name, *(display.number(float(v)) for v in edge))))
            for name, *edge in edges
        )
        kernel = f"f has norm at most {self.norm_bound:g} in the space of {self.computed.kernel!r}"
        notes = (self._earned(), kernel)
        return [display.Sheet(title or self._headline(), ("axis", "from", "to"), rows, notes)]

    @abstractmethod
    def _earned(self) -> str:
        """Say what actions earn and show."""

    def _headline(self) -> str:
        return f"a box in {len(self.low)} dimension{'s' if len(self.low) > 1 else ''}"

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(low={self.low.tolist()}, high={self.high.tolist()}, "
            f"norm_bound={self.norm_bound})"
        )


class BoxTruths(Truths):
    """Functions over a box: one for all replicates, or one for each."""

    def __init__(
        self, game: GameOverBox, theta: Array, function: Callable[[Array], Any] | None
    ) -> None:
        self.game, self.theta = game, theta
        self._sizes = np.full(len(theta), float(game.noise_std))
        self._shared = None if function is None else _checked(function)
        none = np.zeros((0, len(game.low)))
        if self._shared is None:
            self._functions = [game.function(own) for own in theta]
            self._best = np.array([largest_value(game, own, none) for own in self._functions])
        else:
            known = getattr(function, "maximizers", lambda dimension: none)  # of test functions
            best = largest_value(game, self._shared, known(len(game.low)))
            self._best = np.full(len(theta), best)

    def _values(self, number: Indices) -> Array:
        """Return the values at points with these numbers (n,)."""
        points = self.game.points_of(number)
        if self._shared is not None:
            return self._shared(points)
        return np.array([own(points[[i]])[0] for i, own in enumerate(self._functions)])

    def sizes(self, action: Indices, context: Indices | None = None) -> Array:
        return self._sizes


def _checked(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Return a user's function (n, p) -> (n,) whose values are validated."""
    return lambda x: validation.real_array("what theta returns", function(np.array(x)), (len(x),))


def largest_value(game: GameOverBox, function: Callable[[Array], Array], known: Array) -> float:
    """Return the largest value of a function over the box that a search finds.

    Of a small lattice all points are considered. Otherwise the best of many points that fill the
    box evenly, and points (n, p) of which it is known that the function is largest there, are
    improved by a quasi-Newton method.
    """
    from scipy.optimize import minimize

    if game.lattice.count <= SEARCHED:
        return float(function(game.points_of(np.arange(game.lattice.count))).max())
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

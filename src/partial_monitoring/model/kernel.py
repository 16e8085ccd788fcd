"""Games whose rewards are those of an unknown function with bounded norm (section 7).

The function g lies in the reproducing-kernel Hilbert space of a kernel, with norm at most B. An
action a earns phi_a(g) and shows M_a(g) + noise, where phi_a and M_a are linear in g. All that
matters are three kernels over the actions: phi_a phi_b', M_a M_b' and phi_a M_b'.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels import readings
from partial_monitoring.kernels.gram import Functionals, Gram, gram_of, joint_gram
from partial_monitoring.kernels.readings import Reading
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.model.game import Game, ReducedGame, noise_sizes
from partial_monitoring.parameter_sets import AllParameters
from partial_monitoring.validation import Array, Indices


class KernelGame(FunctionGame, Game):
    """A game given by three kernels over its actions.

    It is a :class:`Game` whose parameter is the vector of the d numbers through which the function
    enters (its values at the candidates, say); rewards and observations are weighted sums of them.
    What is known of that vector is its Gram matrix and the norm bound.

    Parameters
    ----------
    reward_kernel
        phi_a phi_b', shape (k, k).
    observation_kernel
        Entry [a, i, b, j] is (M_a M_b')_ij, shape (k, m, k, m).
    cross_kernel
        Entry [a, b, i] is phi_a (M_b')_i, shape (k, k, m).
    noise_std
        As for :class:`Game`.
    norm_bound
        B, the largest norm that the function may have.
    actions
        Labels of the actions.
    noise
        As for :class:`Game`.

    Examples
    --------
    A bandit with three arms, two of which are alike:

    >>> import partial_monitoring as pm
    >>> k = np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]])
    >>> game = pm.KernelGame(k, k[:, None, :, None], k[:, :, None], noise_std=0.1, norm_bound=2)
    >>> game
    KernelGame(k=3, d=3, m=1, norm_bound=2.0)
    """

    reward: Functionals
    """What each action earns, as weights of the d numbers, shape (k, w)."""
    observation: Functionals
    """What each action shows, as weights of the d numbers, shape (k, m, w)."""
    candidates: Array | None
    """Where the actions read the function, shape (k, p), if they earn (or only show) its value at
    one point; nan where an action does not."""

    def __init__(
        self,
        reward_kernel: ArrayLike,
        observation_kernel: ArrayLike,
        cross_kernel: ArrayLike,
        *,
        noise_std: ArrayLike = 1.0,
        norm_bound: float = 1.0,
        actions: Iterable[object] | None = None,
        noise: str = "gaussian",
    ) -> None:
        rewards = validation.sized_array("reward_kernel", reward_kernel, ("k", "k"))
        k = len(rewards)
        if rewards.shape != (k, k) or k == 0:
            raise InvalidInput(f"reward_kernel must have shape (k, k); got {rewards.shape}.")
        shown = validation.sized_array("observation_kernel", observation_kernel, (k, "m", k, "m"))
        m = shown.shape[1]
        if shown.shape[3] != m:
            raise InvalidInput(
                f"observation_kernel must have shape (k, m, k, m) = ({k}, m, {k}, m); got "
                f"{shown.shape}."
            )
        cross = validation.sized_array("cross_kernel", cross_kernel, (k, k, m))
        gram, reward, observation = joint_gram(rewards, shown.reshape(k * m, k * m), cross)
        options = {"noise_std": noise_std, "norm_bound": norm_bound, "noise": noise}
        self._fill(gram, reward, observation, (m,) * k, actions=actions, **options)

    @classmethod
    def from_kernel(
        cls,
        kernel: Any,
        reward: Reading,
        feedback: Reading,
        *,
        noise_std: ArrayLike = 1.0,
        norm_bound: float = 1.0,
        actions: Iterable[object] | None = None,
        noise: str = "gaussian",
    ) -> KernelGame:
        """Return the game of a function with a kernel, from how reward and feedback read it.

        Parameters
        ----------
        kernel
            One of ``pm.kernels``, a kernel of scikit-learn, or any function (X, Y) -> (n, m).
        reward, feedback
            Made by ``pm.readings``: values, differences, sums, averages, derivatives, ...

        Examples
        --------
        Earn the value at a point, see only the slope there:

        >>> import partial_monitoring as pm
        >>> x = np.linspace(0, 1, 5)[:, None]
        >>> game = pm.KernelGame.from_kernel(
        ...     pm.kernels.SquaredExponential(0.3), pm.readings.values(x),
        ...     pm.readings.derivatives(x, 0), noise_std=0.1, norm_bound=1)
        >>> game.k, game.d
        (5, 10)
        """
        for name, reading in (("reward", reward), ("feedback", feedback)):
            if not isinstance(reading, Reading):
                raise InvalidInput(
                    f"{name} must be one of pm.readings; got {validation.brief(reading)}."
                )
        if reward.m != 1:
            raise InvalidInput(f"reward must have one row per action; got {reward.m}.")
        if reward.k != feedback.k:
            raise InvalidInput(
                f"reward and feedback must be of the same actions; got {reward.k} and {feedback.k}."
            )
        points, axes, (earned, seen) = readings.shared(reward, feedback)
        gram = gram_of(kernel, validation.frozen(points), axes)
        options = {"noise_std": noise_std, "norm_bound": norm_bound, "noise": noise}
        return cls.of_functionals(
            gram, earned[:, 0], seen, feedback.counts, actions=actions, **options
        )

    @classmethod
    def of_functionals(
        cls,
        gram: Gram,
        reward: Functionals,
        observation: Functionals,
        row_counts: tuple[int, ...],
        **options: Any,
    ) -> Self:
        """Return the game whose actions earn and show weighted sums of d numbers.

        ``gram`` is that of the numbers; the weights have shapes (k, w) and (k, m, w), of which an
        action uses m_a rows. The options are those of the class.
        """
        game = cls.__new__(cls)
        game._fill(gram, reward, observation, row_counts, **options)
        return game

    def _fill(
        self,
        gram: Gram,
        reward: Functionals,
        observation: Functionals,
        row_counts: tuple[int, ...],
        *,
        noise_std: Any = 1.0,
        norm_bound: Any = 1.0,
        actions: Iterable[object] | None = None,
        noise: Any = "gaussian",
    ) -> None:
        k = len(reward.index)
        validation.set_fields(
            self,
            gram=gram,
            reward=reward,
            observation=observation,
            row_counts=row_counts,
            parameters=AllParameters(gram.size),
            noise_std=noise_sizes(noise_std, k),
            norm_bound=validation.non_negative_number("norm_bound", norm_bound),
            actions=validation.labels("actions", actions, k),
            noise=validation.one_of("noise", noise, self.NOISES),
        )
        points = None if self.kernel_gram is None else self.kernel_gram.points
        validation.set_fields(self, candidates=_candidates(points, reward, observation))

    @property
    def traits(self) -> Traits:
        return Traits(function=True)

    @property
    def k(self) -> int:
        return len(self.reward.index)

    @property
    def m(self) -> int:
        return int(self.observation.index.shape[1])

    @cached_property
    def features(self) -> Array:
        return self.reward.dense(self.d)

    @cached_property
    def observation_maps(self) -> Array:
        return self.observation.dense(self.d)

    @cached_property
    def shows_own_reward(self) -> bool:
        same = self.observation.index.shape == (self.k, 1, self.reward.index.shape[1])
        return (
            same
            and np.array_equal(self.observation.index[:, 0], self.reward.index)
            and np.array_equal(self.observation.weight[:, 0], self.reward.weight)
        )

    @cached_property
    def linear(self) -> Game:
        """The same game in coordinates: features and maps whose inner products are the kernels.

        With K = F F' the function is F theta, and its norm that of theta in R^D.
        """
        root = self.root
        maps = self.observation_maps @ root
        shown = [own[:rows] for own, rows in zip(maps, self.row_counts, strict=True)]
        theta = AllParameters(root.shape[1])
        return Game(
            self.features @ root, shown, theta, self.noise_std, self.actions, noise=self.noise
        )

    @cached_property
    def reduced(self) -> ReducedGame:
        return self.linear.reduced

    @property
    def coordinate_set(self) -> AllParameters:
        """The coordinates theta of :attr:`linear` for functions F theta of norm at most 1."""
        return AllParameters(self.root.shape[1])

    def from_coordinates(self, points: Array) -> Array:
        """Return the numbers (..., d) of functions with coordinates (..., D), scaled by B."""
        return np.asarray(points @ (self.norm_bound * self.root.T))

    def with_kernel(self, kernel: Any) -> Self:
        gram = self.computed
        return self.of_functionals(
            gram_of(kernel, gram.points, gram.axes),
            self.reward,
            self.observation,
            self.row_counts,
            actions=self.actions,
            **self.options,
        )

    def point(self, action: int | str) -> Array | None:
        place = None if self.candidates is None else self.candidates[self.action_index(action)]
        return None if place is None or np.isnan(place).any() else place

    def reading(self, actions: Indices) -> Reading:
        gram, rows = self.computed, self.observation[actions]
        atoms, place = np.unique(rows.index, return_inverse=True)
        inside = Functionals(np.reshape(place, rows.index.shape), rows.weight)
        counts = tuple(self.row_count(int(a)) for a in actions)
        return Reading(gram.points[atoms], gram.axes[atoms], inside, counts)

    def rows(self, action: int | str) -> Array:
        a = self.action_index(action)
        return self.observation[a].dense(self.d)[: self.row_count(a)]

    def reward_row(self, action: int) -> Array:
        return self.reward[action].dense(self.d)

    def restricted(self, actions: Iterable[int | str]) -> KernelGame:
        chosen = self.action_indices(actions)
        return KernelGame.of_functionals(
            self.gram,
            self.reward[chosen],
            self.observation[chosen],
            tuple(self.row_count(a) for a in chosen),
            actions=[self.action_label(a) for a in chosen],
            **(self.options | {"noise_std": self.noise_of(chosen)}),
        )

    def earned(self, theta: Array) -> Array:
        return self.reward.of(theta)

    def shown(self, theta: Array) -> Array:
        return self.observation.of(theta)

    def shown_by(self, action: Indices, theta: Array) -> Array:
        rows = self.observation[action]
        each = np.arange(len(theta))[:, None, None]
        return np.asarray((theta[each, rows.index] * rows.weight).sum(axis=-1))

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}(k={self.k}, d={self.d}, m={self.m}, norm_bound={self.norm_bound})"


def _candidates(
    points: Array | None, reward: Functionals, observation: Functionals
) -> Array | None:
    """Return where each action reads the function: where it earns, else where it shows, (k, p)."""
    if points is None or reward.index.shape[1] != 1:
        return None
    index, known = reward.index[:, 0].copy(), reward.weight[:, 0] != 0
    entries = (observation.weight != 0).reshape(len(index), -1)
    lone = ~known & (entries.sum(axis=1) == 1)
    if lone.any():
        flat = observation.index.reshape(len(index), -1)
        index[lone] = flat[lone, entries[lone].argmax(axis=1)]
    return validation.frozen(np.where((known | lone)[:, None], points[index], np.nan))

"""The linear partial monitoring game (A, phi, M, Theta) of section 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame, Traits
from partial_monitoring.model.feedback import Feedback, NoiseFunction, noise_named
from partial_monitoring.model.truths import MOST_NUMBERS, Tables, Truths, mean_outside
from partial_monitoring.numerics.linalg import in_basis, row_space, unit_rows
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, Indices

TRAITS = Traits()

MOST_MEANS = 2_000_000
"""Largest number of means of observations that are computed in advance."""

MOST_OBSERVATIONS = 6
"""Largest number of observations of an action that its row in a table shows."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Game(AnyGame):
    """A linear partial monitoring game.

    Playing action a earns the (unseen) reward <phi_a, theta> and shows y = M_a theta + noise, for
    one unknown theta in Theta.

    Parameters
    ----------
    features
        Reward features phi_a, shape (k, d).
    observation_maps
        Observation maps M_a: shape (k, m, d), or a sequence of k matrices of shape (m_a, d); an
        empty list means that the action shows nothing. Shorter maps are padded with zero rows.
    parameters
        The set Theta.
    noise_std
        Sub-Gaussian constant of the noise, in the units of the observations: one number, or one
        per action (heteroscedastic).
    actions
        Labels of the actions; without them the indices.
    noise
        What the observations look like: "gaussian", "bernoulli" (0 or 1 with the given mean) or
        "sign" (-1 or 1 with the given mean).

    Examples
    --------
    A bandit with two arms in which arm 1 shows the difference instead of its own reward:

    >>> from partial_monitoring import Ball, Game
    >>> game = Game([[1, 0], [0, 1]], [[[1, 0]], [[1, -1]]], Ball([0, 0], 1))
    >>> game
    Game(k=2, d=2, m=1, parameters=Ball)
    """

    NOISES: ClassVar[tuple[str, ...]] = ("gaussian", "bernoulli", "sign")

    features: Array
    observation_maps: Array
    parameters: ParameterSet
    noise_std: float | Array
    actions: tuple[str, ...]
    noise: str
    row_counts: tuple[int, ...]
    """m_a, the number of rows of each map before padding."""

    def __init__(
        self,
        features: ArrayLike,
        observation_maps: ArrayLike | Iterable[ArrayLike],
        parameters: ParameterSet,
        noise_std: ArrayLike = 1.0,
        actions: Iterable[object] | None = None,
        *,
        noise: str = "gaussian",
    ) -> None:
        phi = validation.sized_array("features", features, ("k", "d"))
        k, d = phi.shape
        if k == 0 or d == 0:
            raise InvalidInput(
                f"features must have at least one row and one column; got shape ({k}, {d})."
            )
        maps, row_counts = _padded(observation_maps, k, d)
        validation.set_fields(
            self,
            features=phi,
            observation_maps=maps,
            parameters=checked_parameters(parameters, d),
            noise_std=noise_sizes(noise_std, k),
            actions=validation.labels("actions", actions, k),
            noise=validation.one_of("noise", noise, self.NOISES),
            row_counts=row_counts,
        )

    @property
    def traits(self) -> Traits:
        return TRAITS

    @property
    def k(self) -> int:
        return int(self.features.shape[0])

    @property
    def d(self) -> int:
        return int(self.features.shape[1])

    @property
    def m(self) -> int:
        return int(self.observation_maps.shape[1])

    @property
    def outcome_labels(self) -> tuple[str, ...] | None:
        """The labels of the outcomes of a finite game; None for other games."""
        return None

    @property
    def dimension(self) -> int:
        """D, the dimension of the parameter set."""
        return self.reduced.dimension

    @property
    def rank(self) -> int:
        """r, the number of directions of the parameter set that the observations distinguish."""
        return self.reduced.rank

    @cached_property
    def reduced(self) -> ReducedGame:
        """The game in the coordinates of the affine hull of Theta, computed once."""
        return ReducedGame.of(self)

    @property
    def linear(self) -> Game:
        return self

    @cached_property
    def shows_own_reward(self) -> bool:
        return self.m == 1 and np.array_equal(self.observation_maps[:, 0], self.features)

    def rows(self, action: int | str) -> Array:
        """Return the observation map M_a of one action without padding, shape (m_a, d)."""
        a = self.action_index(action)
        return self.observation_maps[a, : self.row_counts[a]]

    def reward_row(self, action: int) -> Array:
        """Return phi_a of one action, shape (d,)."""
        return np.asarray(self.features[action])

    def earned(self, theta: Array) -> Array:
        """Return what the actions earn for parameters (n, d), shape (n, k)."""
        return np.asarray((self.features @ theta[:, :, None])[:, :, 0])

    def earned_by(self, action: int, theta: Array) -> float:
        """Return what an action earns for a parameter (d,)."""
        return float(self.earned(theta[None])[0, action])

    def best_for(self, theta: Array) -> int:
        """Return the best action for a parameter (d,), the lowest of ties."""
        return int(self.earned(theta[None])[0].argmax())

    def shown(self, theta: Array) -> Array:
        """Return the means of what the actions show for parameters (n, d), shape (n, k, m)."""
        rows = self.observation_maps.reshape(self.k * self.m, self.d)
        return np.asarray((rows @ theta[:, :, None]).reshape(len(theta), self.k, self.m))

    def shown_by(self, action: Indices, theta: Array) -> Array:
        """Return the means of what one action (n,) per parameter (n, d) shows, shape (n, m)."""
        return np.asarray((self.observation_maps[action] @ theta[:, :, None])[:, :, 0])

    def feedback(self, noise: str | NoiseFunction | None = None) -> Feedback:
        return noise_named(self.noise if noise is None else noise, self)

    def truths(self, theta: Array, function: Callable[[Array], Any] | None = None) -> Truths:
        return ListedTruths(self, theta)

    def action_index(self, action: int | str) -> int:
        return validation.index_of("action", action, self.actions)

    def action_indices(self, actions: Iterable[int | str]) -> list[int]:
        """Return the indices of some actions, given by index or by label."""
        return [self.action_index(action) for action in validation.items("actions", actions)]

    def restricted(self, actions: Iterable[int | str]) -> Game:
        """Return the game that has only some of the actions."""
        chosen = self.action_indices(actions)
        return Game(
            self.features[chosen],
            [self.rows(a) for a in chosen],
            self.parameters,
            self.noise_of(chosen),
            [self.action_label(a) for a in chosen],
            noise=self.noise if self.noise in Game.NOISES else "gaussian",
        )

    def noise_of(self, actions: list[int]) -> float | Array:
        """Return the noise of some actions: one number, or one for each."""
        return self.noise_std if isinstance(self.noise_std, float) else self.noise_std[actions]

    def row_count(self, action: int) -> int:
        return self.row_counts[action]

    def action_label(self, action: int) -> str:
        return self.actions[action]

    @property
    def unknown(self) -> str:
        """What is known of the parameter beforehand, in words."""
        return self.parameters.describe()

    def sheets(self, title: str = "") -> list[display.Sheet]:
        """Return one table: actions, with rewards and observations as linear forms."""
        noise = np.broadcast_to(self.noise_std, (self.k,))
        varies = np.ndim(self.noise_std) > 0
        rows = []
        for a in display.shortened(range(self.k)):
            if a is None:
                rows.append((display.GAP,) + (display.TableCell(""),) * (2 + varies))
                continue
            forms = [display.linear_form(row) for row in self.rows(a)[:MOST_OBSERVATIONS]]
            hidden = self.row_count(a) - MOST_OBSERVATIONS
            seen = ", ".join(forms) or "nothing"
            seen += f", {display.ELLIPSIS} ({hidden} more)" if hidden > 0 else ""
            texts = [self.action_label(a), display.linear_form(self.reward_row(a)), seen]
            texts += [display.number(noise[a])] if varies else []
            rows.append(tuple(map(display.TableCell, texts)))
        columns = ("action", "earns", "shows") + (("noise",) if varies else ())
        size = "the given size" if varies else f"size {display.number(noise[0])}"
        words = self.feedback().words.format(size=size)
        notes = (f"the unknown θ lies in {self.unknown}", words)
        return [display.Sheet(title or self._headline(), columns, tuple(rows), notes)]

    def _headline(self) -> str:
        return f"{self.k} actions"

    def __repr__(self) -> str:
        kind = type(self.parameters).__name__
        return f"{type(self).__name__}(k={self.k}, d={self.d}, m={self.m}, parameters={kind})"


class ListedTruths(Truths):
    """What the listed actions of a game earn and show under true parameters (n, d)."""

    def __init__(self, game: Game, theta: Array) -> None:
        self.game, self.theta = game, theta
        rewards = game.earned(theta)
        self._gaps = rewards.max(axis=1, keepdims=True) - rewards
        self._sizes = np.broadcast_to(game.noise_std, (game.k,))
        self._each = np.arange(len(theta))

    @cached_property
    def _means(self) -> Array | None:
        """The means of all observations, shape (n, k, m), unless they are too many."""
        game = self.game
        return game.shown(self.theta) if len(self.theta) * game.k * game.m <= MOST_MEANS else None

    @cached_property
    def _signals(self) -> Array:
        """The columns of all maps, shape (k, outcomes, m)."""
        return np.ascontiguousarray(self.game.observation_maps.swapaxes(1, 2))

    def means(self, action: Indices, context: Indices | None = None) -> Array:
        if self._means is None:
            return self.game.shown_by(action, self.theta)
        return self._means[self._each, action]

    def sizes(self, action: Indices, context: Indices | None = None) -> Array:
        return self._sizes[action]

    def gap(self, action: Indices, context: Indices | None = None) -> Array:
        return np.asarray(self._gaps[self._each, action])

    def columns(self, action: Indices, outcome: Indices, context: Indices | None = None) -> Array:
        return self._signals[action, outcome]

    def tables(self) -> Tables | None:
        game = self.game
        if len(self.theta) * game.k * game.m > MOST_NUMBERS:
            return None
        means, losses = game.shown(self.theta)[:, None], self._gaps[:, None]
        signals = self._signals if game.traits.finite else np.zeros((game.k, 0, game.m))
        return Tables(means, self._sizes[None], losses, signals[None])

    def outside(self, low: float, high: float) -> str | None:
        return mean_outside([self.game], self.theta, low, high)


@dataclass(frozen=True, eq=False)
class ReducedGame(validation.ReadOnly):
    """A game in coordinates x of the affine hull of Theta: theta = center + difference_basis @ x.

    On Theta the reward of action a is ``offsets[a] + features[a] @ x``, and the observations are
    ``M_a center + observation_maps[a] @ x``. Two actions are duplicates exactly when their
    (offsets, features) agree.
    """

    center: Array
    """theta_c, a point of the relative interior of Theta, shape (d,)."""
    difference_basis: Array
    """Q, orthonormal basis of V = span(Theta - Theta), shape (d, D)."""
    offsets: Array
    """b_a = <phi_a, theta_c>, shape (k,)."""
    features: Array
    """g_a = Q' phi_a, shape (k, D)."""
    observation_maps: Array
    """M_a Q, shape (k, m, D)."""
    basis: Array
    """W, orthonormal basis of the directions of V that the observations distinguish, shape (d, r):
    M v = M W W' v on V."""

    @classmethod
    def of(cls, game: Game) -> ReducedGame:
        """Return the game in the coordinates of the affine hull of Theta.

        W spans the rows of all maps after projection onto V = span(Theta - Theta). The rows are
        scaled to length 1 before projecting, so that a row whose image is rounding noise spans
        nothing. When the observations see all of V, W is the difference basis itself.
        """
        center, q = game.parameters.relative_interior_point(), game.parameters.difference_basis()
        rows = game.observation_maps.reshape(-1, game.d)
        inner = row_space(in_basis(unit_rows(rows), q))
        basis = q if inner.shape[1] == q.shape[1] else q @ inner
        return cls(
            validation.frozen(np.array(center)),
            validation.frozen(np.array(q)),
            validation.frozen(game.features @ center),
            in_basis(game.features, q),
            in_basis(game.observation_maps, q),
            validation.frozen(np.array(basis)),
        )

    @property
    def dimension(self) -> int:
        """D, the dimension of Theta."""
        return int(self.difference_basis.shape[1])

    @property
    def rank(self) -> int:
        """r, the dimension of the observation basis; 0 when no action shows anything new."""
        return int(self.basis.shape[1])


def _padded(maps: ArrayLike | Iterable[ArrayLike], k: int, d: int) -> tuple[Array, tuple[int, ...]]:
    """Stack the maps of all actions, with zero rows below the shorter ones."""
    wanted = f"observation_maps must have shape (k, m, d) = ({k}, m, {d}) to match features"
    if isinstance(maps, np.ndarray) and maps.ndim == 3 and maps.dtype != object:
        array = validation.sized_array("observation_maps", maps, ("k", "m", "d"))
        if array.shape[0] != k or array.shape[2] != d:
            raise InvalidInput(f"{wanted}; got {array.shape}.")
        return array, (array.shape[1],) * k
    if not isinstance(maps, Iterable) or isinstance(maps, str):
        raise InvalidInput(f"{wanted}; got {validation.brief(maps)}.")
    matrices = list(maps)
    if len(matrices) != k:
        raise InvalidInput(f"{wanted}; got maps for {len(matrices)} actions.")
    rows = [_matrix(f"observation_maps[{a}]", matrix, d) for a, matrix in enumerate(matrices)]
    shape = k, max(map(len, rows)), d
    validation.check_entries("observation_maps", *shape)
    padded = np.zeros(shape)
    for a, matrix in enumerate(rows):
        padded[a, : len(matrix)] = matrix
    validation.check_tiny("observation_maps", padded)
    return validation.frozen(padded), tuple(map(len, rows))


def _matrix(name: str, value: ArrayLike, d: int) -> Array:
    if validation.axes(value) == 1 and len(value) == 0:  # type: ignore[arg-type]
        return np.zeros((0, d))
    return validation.real_array(name, value, ("m", d))


def checked_parameters(parameters: ParameterSet, d: int) -> ParameterSet:
    """Validate the parameter set of a game with features in R^d."""
    if not isinstance(parameters, ParameterSet):
        raise InvalidInput(
            f"parameters must be a parameter set such as Simplex({d}); got "
            f"{validation.brief(parameters)}."
        )
    if parameters.d != d:
        raise InvalidInput(
            f"parameters must have dimension {d} to match features; got a "
            f"{type(parameters).__name__} in dimension {parameters.d}."
        )
    return parameters


def noise_sizes(value: ArrayLike, k: int) -> float | Array:
    """Return the noise of k actions: one positive number, or an array (k,) if they differ."""
    array = validation.real_array("noise_std", value, () if validation.axes(value) == 0 else (k,))
    validation.positive_number("noise_std", float(array.min()))
    return float(array.flat[0]) if (array == array.flat[0]).all() else array

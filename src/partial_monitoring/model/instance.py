"""A game together with the truth: what a simulator plays against."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.noise import NOISE, Noise, NoiseFunction, drawn
from partial_monitoring.validation import Array, frozen, set_fields


@dataclass(frozen=True, eq=False, init=False)
class Instance:
    """A game and the parameter that is true in it (section 2).

    Parameters
    ----------
    game
        The game.
    theta_star
        The true parameter, a point of the game's parameter set, shape (d,).
    noise
        How observations are disturbed: "gaussian", "bernoulli", "sign", "none" or a function
        (means, noise_std, rng) -> observation; without it, what the game says. Finite games always
        draw an outcome and show its signal.

    Examples
    --------
    >>> import numpy as np
    >>> import partial_monitoring as pm
    >>> instance = pm.Instance(pm.games.dynamic_pricing(), [0.2, 0.5, 0.3])
    >>> instance.game.actions[instance.best_action]
    '$2'
    >>> instance.observe("$3", np.random.default_rng(0))
    'no'
    """

    game: Game
    theta_star: Array
    noise: str | NoiseFunction | None

    def __init__(
        self, game: Game, theta_star: ArrayLike, noise: str | NoiseFunction | None = None
    ) -> None:
        if not isinstance(game, Game):
            hint = " (use ContextualInstance)" if isinstance(game, ContextualGame) else ""
            raise InvalidInput(f"game must be a Game{hint}; got {game!r}.")
        if isinstance(game, KernelBoxGame):
            raise InvalidInput(
                f"game must list its actions: take points of the box with game.restricted, or a "
                f"grid of candidates (pm.candidates.grid); got {game!r}."
            )
        theta = game.parameters.checked(theta_star)
        set_fields(self, game=game, theta_star=theta, noise=noise)
        if isinstance(game, FiniteGame):
            if noise not in (None, "outcome"):
                raise InvalidInput(
                    f"noise must be left out for a finite game, which draws an outcome and shows "
                    f"its signal; got {noise!r}."
                )
        else:
            self._check_means()

    def reward(self, action: int | str) -> float:
        """Return the expected reward <phi_a, theta*> of an action."""
        return float(self.rewards[self.game.action_index(action)])

    @cached_property
    def rewards(self) -> Array:
        """The expected reward of every action, shape (k,)."""
        return frozen(np.array(self.game.earned(self.theta_star[None])[0]))

    @cached_property
    def gaps(self) -> Array:
        """What each action loses per round against the best one, shape (k,)."""
        return frozen(self.rewards.max() - self.rewards)

    @property
    def best_action(self) -> int:
        """The index of the action with the largest expected reward (the lowest among ties)."""
        return int(self.rewards.argmax())

    def observe(self, action: int | str, rng: np.random.Generator) -> Any:
        """Draw what the learner sees after an action.

        Returns
        -------
        A signal symbol for finite games, otherwise an array of the m_a observations.
        """
        check_generator(rng)
        a = self.game.action_index(action)
        if isinstance(self.game, FiniteGame):
            return self._draw_signal(self.game, a, rng)
        std = np.broadcast_to(self.game.noise_std, (self.game.k,))[a]
        means = self.game.rows(a) @ self.theta_star
        if callable(self.noise):
            return drawn(self.noise, means, float(std), rng)
        return self._noise.draw(means, float(std), rng)

    def _draw_signal(self, game: FiniteGame, action: int, rng: np.random.Generator) -> Hashable:
        outcome = int(np.searchsorted(self._cumulative, rng.random(), side="right"))
        return game.signals[action][outcome]

    @cached_property
    def _cumulative(self) -> Array:
        # theta* may leave the simplex by the tolerance of `contains`; a distribution may not.
        weights = np.maximum(self.theta_star, 0.0)
        cumulative: Array = np.cumsum(weights / weights.sum())
        cumulative[np.flatnonzero(weights)[-1] :] = 1.0
        return cumulative

    @cached_property
    def _noise(self) -> Noise:
        kind = self.game.noise if self.noise is None else self.noise
        if callable(kind):
            return Noise(kind)
        if not isinstance(kind, str) or kind not in NOISE:
            raise unknown_name("noise", kind, NOISE)
        return NOISE[kind]

    def _check_means(self) -> None:
        """Bounded observations need means within their bounds."""
        low, high = self._noise.low, self._noise.high
        if np.isinf(low) and np.isinf(high):
            return
        for a in range(self.game.k):
            for mean in self.game.rows(a) @ self.theta_star:
                if not low - 1e-9 <= mean <= high + 1e-9:
                    raise InvalidInput(
                        f"{self.noise or self.game.noise} observations need means between {low:g} "
                        f"and {high:g}; action {self.game.actions[a]!r} has mean {mean:g}."
                    )


@dataclass(frozen=True, eq=False, init=False)
class ContextualInstance:
    """A contextual game and the parameter that is true in all its contexts.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> instance = pm.ContextualInstance(pm.games.survey(), [0.3, 0.7])
    >>> instance.at("silent").best_action
    1
    """

    game: ContextualGame
    theta_star: Array
    noise: str | NoiseFunction | None

    def __init__(
        self, game: ContextualGame, theta_star: ArrayLike, noise: str | NoiseFunction | None = None
    ) -> None:
        if not isinstance(game, ContextualGame):
            raise InvalidInput(f"game must be a ContextualGame; got {game!r}.")
        theta = game.parameters.checked(theta_star)
        set_fields(self, game=game, theta_star=theta, noise=noise)
        for z in range(len(game.games)):
            self.at(z)

    def at(self, context: int | str) -> Instance:
        """Return what is played when the given context is seen."""
        return Instance(self.game.at(context), self.theta_star, self.noise)

    def draw_context(self, rng: np.random.Generator) -> int:
        """Draw the index of a context from chi."""
        check_generator(rng)
        return int(rng.choice(len(self.game.games), p=self.game.context_distribution))


def check_generator(rng: np.random.Generator) -> None:
    """Refuse anything but a random generator."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput(f"rng must be a numpy.random.Generator; got {rng!r}.")

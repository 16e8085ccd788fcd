"""A game together with the truth: what a simulator plays against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.feedback import Feedback, NoiseFunction
from partial_monitoring.model.game import Game
from partial_monitoring.model.truths import Truths
from partial_monitoring.validation import Array, brief, frozen, set_fields


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
        if not isinstance(game, AnyGame) or game.traits.contexts:
            hint = " (use ContextualInstance)" if isinstance(game, AnyGame) else ""
            raise InvalidInput(f"game must be a Game{hint}; got {brief(game)}.")
        if not (game.traits.listed or game.traits.oracle):
            raise InvalidInput(
                f"game must list its actions: take points of the box with game.restricted, or a "
                f"grid of candidates (pm.candidates.grid); got {brief(game)}."
            )
        theta = game.parameters.checked(theta_star)
        set_fields(self, game=game, theta_star=theta, noise=noise)
        self._feedback.check(self._truths)

    @cached_property
    def _feedback(self) -> Feedback:
        return self.game.feedback(self.noise)

    @cached_property
    def _truths(self) -> Truths:
        return self.game.truths(self.theta_star[None])

    def reward(self, action: int | str) -> float:
        """Return the expected reward <phi_a, theta*> of an action."""
        return self.game.earned_by(self.game.action_index(action), self.theta_star)

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
        return self.game.best_for(self.theta_star)

    def observe(self, action: int | str, rng: np.random.Generator) -> Any:
        """Draw what the learner sees after an action.

        Returns
        -------
        A signal symbol for finite games, otherwise an array of the m_a observations.
        """
        check_generator(rng)
        game, a = self.game, self.game.action_index(action)
        numbers = self._feedback.numbers(game, a, rng)
        shown = self._feedback.draw(self._truths, np.array([a]), None, numbers)
        return self._feedback.decode(game, a, shown[0])


@dataclass(frozen=True, eq=False, init=False)
class ContextualInstance:
    """A contextual game and the parameter that is true in all its contexts.

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
        if not isinstance(game, AnyGame) or not game.traits.contexts:
            raise InvalidInput(f"game must be a ContextualGame; got {brief(game)}.")
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
        raise InvalidInput(f"rng must be a numpy.random.Generator; got {brief(rng)}.")

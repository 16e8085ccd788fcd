"""True parameters that stay the same in a run: given, drawn at random, or found by a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.display import number
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.validation import Array, Indices


class Truth:
    """What is true in some runs: one parameter, several in turn, or outcomes that are chosen."""

    function: Callable[[Array], Any] | None = None
    """The function that they describe, in a kernel game with a known one."""
    searched = False
    """Whether they are only known after a search."""
    against: ClassVar[str] = ""
    """What regret is measured against, if not the best action for the true parameter."""

    @property
    def name(self) -> str:
        """A short name.

        >>> FixedTruth(np.array([0.25, 0.75])).name, Random().name
        ('(0.25, 0.75)', 'random')
        """
        return type(self).__name__.lower()

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        """Return one parameter per seed, shape (n, d)."""
        raise NotImplementedError

    def possible(self, game: AnyGame, seeds: Indices) -> Array:
        """Return the parameters that may be drawn with some seeds, shape (q, d)."""
        return self.draw(game, seeds)

    def prepared(self, game: AnyGame, horizon: int) -> Truth:
        """Return what is true in a game with this horizon, or refuse what does not fit it."""
        return self

    @property
    def content(self) -> object:
        """What content keys of stored runs depend on."""
        return self

    def environment(
        self,
        game: AnyGame,
        seeds: Indices,
        horizon: int,
        noise: str | NoiseFunction | None = None,
    ) -> Environment:
        """Return the environment of a simulation, for a truth that is prepared."""
        return Environment(game, self.draw(game, seeds), seeds, noise, self.function)


@dataclass(frozen=True, eq=False)
class FixedTruth(Truth):
    """The same parameter in every run."""

    theta: Array

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        return np.repeat(self.theta[None], len(seeds), axis=0)

    @property
    def name(self) -> str:
        shown = [number(float(x)) for x in self.theta[:5]]
        return f"({', '.join(shown)}{', …' if len(self.theta) > 5 else ''})"


@dataclass(frozen=True, eq=False)
class Listed(Truth):
    """One parameter per seed, for a single simulation."""

    rows: Array
    """Shape (n, d)."""

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        rows = self.rows
        if len(rows) != len(seeds):
            raise InvalidInput(f"theta must have one row per seed, {len(seeds)}; got {len(rows)}.")
        return np.array([game.parameters.checked(own, "theta") for own in rows])


@dataclass(frozen=True, eq=False)
class Random(Truth):
    """One parameter per seed: uniform on bounded sets, near the prior on others."""

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        return game.draw_truths(seeds)


@dataclass(frozen=True, eq=False)
class Among(Truth):
    """One of several parameters for each seed, with given probabilities."""

    parameters: Array
    """Shape (n, d)."""
    weights: Array
    """Shape (n,)."""

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        uniforms = [randomness.generator(int(seed), randomness.THETA, 1).random() for seed in seeds]
        chosen = np.searchsorted(np.cumsum(self.weights), uniforms, side="right")
        return self.parameters[np.minimum(chosen, len(self.weights) - 1)]

    def possible(self, game: AnyGame, seeds: Indices) -> Array:
        return self.parameters

    @property
    def name(self) -> str:
        return f"one of {len(self.parameters)}"


@dataclass(frozen=True, eq=False)
class Function(Truth):
    """The same function in every run of a kernel game."""

    function: Callable[[Array], Any]
    """(n, p) -> (n,); to be kept in a store it needs a name."""

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        return np.repeat(game.function_values(self.function)[None], len(seeds), axis=0)

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", "function"))


@dataclass(frozen=True)
class Worst(Truth):
    """A parameter on which the first policy has large regret, to be found by a search."""

    searched = True

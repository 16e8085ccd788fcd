"""The true parameters of a simulation: given, drawn at random, or found by a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.display import number
from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.games import functions
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.validation import (
    Array,
    Indices,
    axes,
    brief,
    known_keys,
    probabilities,
    real_array,
)


class Truth:
    """The true parameters of some runs."""

    function: Callable[[Array], Any] | None = None
    """The function that they describe, in a kernel game with a known one."""
    searched = False
    """Whether they are only known after a search."""

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


KINDS = (FixedTruth, Random, Among, Function, Worst)
"""Kinds of true parameters that a store can hold."""

WORDS: Mapping[str, Callable[[], Truth]] = {"random": Random, "worst": Worst}
"""Kinds of true parameters that are given by a word."""


def read_truth(value: Any, game: AnyGame, *, rows: bool = False) -> Truth:
    """Return the kind of true parameters that a value of a file or an argument describes.

    A parameter, "random", "worst", {"among": parameters, "weights": probabilities}, or for a kernel
    game a function or the name of one of ``pm.functions``; with ``rows`` also one parameter per
    seed.
    """
    if isinstance(value, Truth):
        return value
    if isinstance(value, str):
        if value in functions.KNOWN:
            return Function(_function(game, value))
        if value not in WORDS:
            raise unknown_name("kind of true parameter theta", value, [*WORDS, *functions.KNOWN])
        return WORDS[value]()
    if callable(value):
        return Function(value)
    if isinstance(value, Mapping):
        known_keys("true parameters", value, ("among", "weights"))
        listed = value.get("among")
        if not isinstance(listed, list | tuple | np.ndarray) or len(listed) == 0:
            raise InvalidInput(f"among must be a list of parameters; got {brief(listed)}.")
        among = np.stack([game.parameters.checked(own, "among") for own in listed])
        even = np.full(len(among), 1 / len(among))
        return Among(among, probabilities("weights", value.get("weights", even), len(among)))
    if rows and axes(value) == 2:
        return Listed(real_array("theta", value, ("seeds", game.d)))
    if axes(value) != 1:
        also = "one per seed, " if rows else ""
        raise InvalidInput(
            f"theta must be one parameter, {also}'random', 'worst' or a table with the key "
            f"'among'; got {brief(value)}."
        )
    return FixedTruth(game.parameters.checked(value, "theta"))


def _function(game: AnyGame, name: str) -> functions.Function:
    """Return a test function by name, as the truth of a kernel game."""
    if not game.traits.function:
        raise InvalidInput(f"theta may be a function only for kernel games; got {name!r}.")
    wanted, found = functions.KNOWN[name].dimension, game.point_dimension
    if None not in (wanted, found) and wanted != found:
        raise InvalidInput(
            f"theta {name!r} is a function of {wanted} coordinates; the points of the game have "
            f"{found}."
        )
    return functions.named(name)

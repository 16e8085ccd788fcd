"""Which truths the runs of an experiment meet: one, one of several, any, or a bad one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.display import number
from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.games.functions import KNOWN
from partial_monitoring.model.contextual import AnyGame
from partial_monitoring.model.instance import checked_theta
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.simulation.truth import THETA, function_of, random_truths, true_parameters
from partial_monitoring.validation import Array, Indices, axes, probabilities


@dataclass(frozen=True, eq=False)
class FixedTruth:
    """The same parameter in every run."""

    theta: Array

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        """Return one parameter per seed, shape (n, d)."""
        return np.repeat(self.theta[None], len(seeds), axis=0)


@dataclass(frozen=True, eq=False)
class Random:
    """A parameter of its own for each seed: uniform on bounded sets, near the prior on others."""

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        """Return one parameter per seed, shape (n, d)."""
        return random_truths(game, seeds)


@dataclass(frozen=True, eq=False)
class Among:
    """One of several parameters for each seed, with given probabilities."""

    parameters: Array
    """Shape (n, d)."""
    weights: Array
    """Shape (n,)."""

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        """Return one parameter per seed, shape (n, d)."""
        uniforms = [randomness.generator(int(seed), THETA, 1).random() for seed in seeds]
        chosen = np.searchsorted(np.cumsum(self.weights), uniforms, side="right")
        return self.parameters[np.minimum(chosen, len(self.weights) - 1)]


@dataclass(frozen=True, eq=False)
class Function:
    """The same function in every run of a kernel game."""

    function: Callable[[Array], Any]
    """(n, p) -> (n,); to be kept in a store it needs a name."""

    def draw(self, game: AnyGame, seeds: Indices) -> Array:
        """Return its numbers once per seed, shape (n, d)."""
        return true_parameters(game, self.function, seeds)


@dataclass(frozen=True)
class Worst:
    """A parameter on which the first policy has large regret, to be found by a search."""


Truth = FixedTruth | Random | Among | Function | Worst

KINDS = (FixedTruth, Random, Among, Function, Worst)

WORDS: Mapping[str, Callable[[], Truth]] = {"random": Random, "worst": Worst}


def read_truth(value: Any, game: AnyGame) -> Truth:
    """Return what a value of a file or an argument says about the true parameters.

    A parameter, "random", "worst", {"among": parameters, "weights": probabilities}, or for a kernel
    game a function or the name of one of ``pm.functions``.
    """
    if isinstance(value, Truth):
        return value
    if isinstance(value, str) and value in KNOWN:
        return Function(function_of(game, value))
    if isinstance(game, KernelGame) and callable(value):
        return Function(value)
    if isinstance(value, str):
        if value not in WORDS:
            raise unknown_name("kind of true parameter", value, [*WORDS, *KNOWN])
        return WORDS[value]()
    if isinstance(value, Mapping):
        for key in value:
            if key not in ("among", "weights"):
                raise unknown_name("key of true parameters", key, ("among", "weights"))
        listed = value.get("among")
        if not isinstance(listed, list | tuple | np.ndarray) or len(listed) == 0:
            raise InvalidInput(f"among must be a list of parameters; got {listed!r}.")
        rows = np.stack([checked_theta(own, game.parameters, "among") for own in listed])
        even = np.full(len(rows), 1 / len(rows))
        weights = probabilities("weights", value.get("weights", even), len(rows))
        return Among(rows, weights)
    if axes(value) != 1:
        raise InvalidInput(
            f"theta must be one parameter, 'random', 'worst' or a table with the key 'among'; got "
            f"{value!r}."
        )
    return FixedTruth(checked_theta(value, game.parameters, "theta"))


def name_of(truth: Truth) -> str:
    """Return a short name for a truth.

    >>> name_of(FixedTruth(np.array([0.25, 0.75]))), name_of(Random())
    ('(0.25, 0.75)', 'random')
    """
    match truth:
        case FixedTruth(theta=theta):
            shown = [number(float(x)) for x in theta[:5]]
            return f"({', '.join(shown)}{', …' if len(theta) > 5 else ''})"
        case Among(parameters=rows):
            return f"one of {len(rows)}"
        case Function(function=function):
            return str(getattr(function, "__name__", "function"))
    return type(truth).__name__.lower()

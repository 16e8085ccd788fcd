"""What observations look like: drawn in simulations, given by users, and given back to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput, entry, listed
from partial_monitoring.model.truths import Truths
from partial_monitoring.validation import LARGEST, Array, Indices, brief, real_array

NoiseFunction = Callable[[Array, float, np.random.Generator], Array]
"""(means of the rows (m_a,), noise_std of the action, generator) -> observation (m_a,)."""

ROUNDING = 1e-9
"""Tolerance by which a mean may exceed the bounds of an observation."""


def are_floats(value: Any, count: int) -> bool:
    """Whether a value is a list of that many floats which need no other check; fast.

    >>> are_floats([1.0], 1), are_floats([1e200], 1), are_floats([float("nan")], 1)
    (True, False, False)
    """
    if type(value) is not list or len(value) != count:
        return False
    for x in value:  # noqa: SIM110  # a generator takes longer
        if type(x) is not float or not -LARGEST <= x <= LARGEST:
            return False
    return True


class Shows(Protocol):
    """What feedback must know of a game."""

    @property
    def m(self) -> int:
        """Largest number of rows of an observation."""

    def row_count(self, action: int) -> int:
        """Return m_a, the number of rows of an action's observation."""

    def action_label(self, action: int) -> str:
        """Return the label of an action."""

    def in_numbers(self, action: int, answer: str) -> Any:
        """Return what was observed, if it is told in a word."""


class Source(Protocol):
    """The random numbers of the rounds of several seeds."""

    def at(self, t: int) -> Any:
        """Return the numbers of round t (counted from 0), one row per seed."""


class Feedback(ABC):
    """A kind of observation; unless a subclass says otherwise, a vector with m_a entries."""

    name: ClassVar[str]
    words: ClassVar[str] = ""
    """A sentence about it, with a placeholder for the {size} of the noise."""
    normal: ClassVar[bool] = False
    """Whether it is drawn with normal instead of uniform numbers."""
    low: ClassVar[float] = -np.inf
    high: ClassVar[float] = np.inf
    """Means of bounded observations lie between these bounds."""
    chances: ClassVar[tuple[tuple[float, float], ...]] = ()
    """The probabilities of the values that an entry can take, each as (scale, shift) of its mean: a
    value has the probability scale mean + shift. Empty if the values are no categories."""

    @abstractmethod
    def draw(self, truths: Truths, action: Indices, context: Indices | None, numbers: Any) -> Array:
        """Return observations (n, m) of actions (n,) in their contexts from random numbers."""

    def width(self, game: Shows) -> int:
        """Return the largest number of random numbers that one observation takes."""
        return max(game.m, 1)

    def source(self, game: Shows, seeds: Indices) -> Source:
        """Return the random numbers of a simulation with several seeds."""
        return randomness.Stream(seeds, randomness.NOISE, self.width(game), normal=self.normal)

    def numbers(self, game: Shows, action: int, rng: np.random.Generator) -> Any:
        """Return the random numbers of one observation from a generator, shape (1, width)."""
        found, rows = np.zeros((1, self.width(game))), game.row_count(action)
        found[0, :rows] = rng.standard_normal(rows) if self.normal else rng.random(rows)
        return found

    def check(self, truths: Truths) -> None:
        """Refuse true parameters under which bounded observations cannot have their means."""
        if np.isinf(self.low) and np.isinf(self.high):
            return
        found = truths.outside(self.low - ROUNDING, self.high + ROUNDING)
        if found is not None:
            raise InvalidInput(
                f"{self.name} observations need means between {self.low:g} and {self.high:g}; "
                f"{found}."
            )

    def encode(self, game: Shows, action: int, observed: Any, length: int) -> Array:
        """Return what a user observed as a vector of a given length (at least m), or refuse it.

        It is a vector with the rows of the action, or one with m entries, the rest ignored.
        """
        rows = game.row_count(action)
        given = _listed(observed, rows)
        if rows == length and are_floats(given, rows):  # as most programs report it
            return np.array(given)
        if isinstance(observed, str):
            observed = game.in_numbers(action, observed)
        vector = np.zeros(length)
        if observed is None and rows == 0:
            return vector
        if np.ma.is_masked(observed):
            raise InvalidInput(f"observation must have no masked entries; got {brief(observed)}.")
        lengths = (rows, game.m)
        if not isinstance(observed, list) or len(observed) not in lengths:
            try:
                seen = np.atleast_1d(np.asarray(observed, dtype=object))
            except (TypeError, ValueError):  # an object of the user's that says it is an array
                raise InvalidInput(
                    f"observation must be real numbers; got {brief(observed)}."
                ) from None
            if seen.ndim != 1 or len(seen) not in lengths:
                raise InvalidInput(
                    f"observation must be a vector of length {rows}, what action "
                    f"{brief(game.action_label(action))} shows; got shape {seen.shape}."
                )
            observed = seen.tolist()
        vector[:rows] = real_array("observation", observed[:rows], (rows,))
        return vector

    def decode(self, game: Shows, action: int, vector: Array) -> Any:
        """Return a vector (m,) as a user observes it: here the m_a observations of the action."""
        return vector[: game.row_count(action)]


class Gaussian(Feedback):
    """The mean with normal noise."""

    name, normal = "gaussian", True
    words = "what is shown carries Gaussian noise of {size}"

    def draw(self, truths: Truths, action: Indices, context: Indices | None, numbers: Any) -> Array:
        means, sizes = truths.means(action, context), truths.sizes(action, context)
        return np.asarray(means + sizes[:, None] * numbers[:, : means.shape[1]])


class Bernoulli(Feedback):
    """0 or 1 with the given mean."""

    name, low, high = "bernoulli", 0.0, 1.0
    chances = ((1.0, 0.0), (-1.0, 1.0))
    words = "what is shown is 0 or 1, with that mean"

    def draw(self, truths: Truths, action: Indices, context: Indices | None, numbers: Any) -> Array:
        means = truths.means(action, context)
        return np.asarray(numbers[:, : means.shape[1]] < means, dtype=float)


class Sign(Feedback):
    """-1 or 1 with the given mean."""

    name, low, high = "sign", -1.0, 1.0
    chances = ((0.5, 0.5), (-0.5, 0.5))
    words = "what is shown is -1 or 1, with that mean"

    def draw(self, truths: Truths, action: Indices, context: Indices | None, numbers: Any) -> Array:
        means = truths.means(action, context)
        return np.where(numbers[:, : means.shape[1]] < (1.0 + means) / 2.0, 1.0, -1.0)


class Noiseless(Feedback):
    """The mean itself."""

    name = "none"

    def numbers(self, game: Shows, action: int, rng: np.random.Generator) -> Any:
        return np.zeros((1, self.width(game)))

    def draw(self, truths: Truths, action: Indices, context: Indices | None, numbers: Any) -> Array:
        return np.array(truths.means(action, context))


NOISE = MappingProxyType({own.name: own for own in (Gaussian(), Bernoulli(), Sign(), Noiseless())})
"""The library's noise by name."""


@dataclass(frozen=True, eq=False)
class OwnNoise(Feedback):
    """Observations that a user's function draws, one replicate at a time."""

    function: NoiseFunction
    game: Shows
    name = "own"

    def source(self, game: Shows, seeds: Indices) -> Source:
        return Generators(seeds)

    def numbers(self, game: Shows, action: int, rng: np.random.Generator) -> Any:
        return [rng]

    def draw(self, truths: Truths, action: Indices, context: Indices | None, numbers: Any) -> Array:
        means, sizes = truths.means(action, context), truths.sizes(action, context)
        shown = np.zeros_like(means)
        for i, rng in enumerate(numbers):
            rows = self.game.row_count(int(action[i]))
            found = self.function(means[i, :rows], float(sizes[i]), rng)
            shown[i, :rows] = real_array("what noise returns", found, (rows,))
        return shown


@dataclass(frozen=True, eq=False)
class Outcome(Feedback):
    """The signal that an action shows in the outcome that is drawn, one-hot among its symbols."""

    symbols: tuple[tuple[Hashable, ...], ...]
    """The symbols of each action, in the order of the rows of its map."""
    name = "outcome"
    chances = ((1.0, 0.0),)

    def width(self, game: Shows) -> int:
        return 1

    def numbers(self, game: Shows, action: int, rng: np.random.Generator) -> Any:
        return rng.random((1, 1))

    def draw(self, truths: Truths, action: Indices, context: Indices | None, numbers: Any) -> Array:
        return truths.columns(action, truths.outcomes(numbers, context), context)

    def encode(self, game: Shows, action: int, observed: Any, length: int) -> Array:
        if not usable(observed):
            raise InvalidInput(f"observation must be a signal; got {brief(observed)}.")
        own = self.symbols[action]
        if observed not in own:
            raise InvalidInput(
                f"action {brief(game.action_label(action))} shows one of "
                f"{listed(map(brief, own))}; got {brief(observed)}."
            )
        vector = np.zeros(length)
        vector[own.index(observed)] = 1.0
        return vector

    def decode(self, game: Shows, action: int, vector: Array) -> Hashable:
        own = self.symbols[action]
        return own[int(vector[: len(own)].argmax())]


@dataclass(frozen=True, eq=False)
class Generators:
    """The generators of the rounds of several seeds, for noise that draws any numbers."""

    seeds: Indices

    def at(self, t: int) -> list[np.random.Generator]:
        """Return one generator per seed for round t (counted from 0)."""
        return [randomness.generator(int(seed), randomness.NOISE, t) for seed in self.seeds]


def _listed(observed: Any, rows: int) -> Any:
    """Return a number or a vector as a list; what is neither stays itself."""
    if type(observed) is float:
        return [observed]
    if type(observed) is np.ndarray and observed.shape == (rows,):
        return observed.tolist()
    return observed


def usable(symbol: Any) -> bool:
    """Whether a symbol can be a signal: hashable and equal to itself, as NaN and NA are not."""
    try:
        hash(symbol)
        return bool(symbol == symbol)
    except (TypeError, ValueError, RecursionError):
        return False


def noise_named(noise: str | NoiseFunction, game: Shows) -> Feedback:
    """Return one of the library's kinds of noise by name, or a user's own function as one."""
    if callable(noise):
        return OwnNoise(noise, game)
    return entry("noise", noise, NOISE)

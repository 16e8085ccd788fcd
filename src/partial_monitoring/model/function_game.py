"""What all games of an unknown function with bounded norm share, listed or over a box."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.gram import Gram, KernelGram, factor
from partial_monitoring.kernels.readings import Reading
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.validation import Array, Indices, real_array

MOST_CENTERS = 100
"""Largest number of columns of the kernel that make up a random function."""


class FunctionGame(AnyGame):
    """A game whose parameter is a vector of d numbers that represents an unknown function."""

    gram: Gram
    """K, the Gram matrix of the d numbers."""
    norm_bound: float
    """B, the largest norm that the function may have."""
    noise_std: float | Array
    noise: str

    @property
    def d(self) -> int:
        """The number of values, derivatives or sums that represent the function."""
        return self.gram.size

    @property
    def options(self) -> dict[str, Any]:
        """The arguments that all games of an unknown function share."""
        return {"noise_std": self.noise_std, "norm_bound": self.norm_bound, "noise": self.noise}

    @property
    def kernel_gram(self) -> KernelGram | None:
        """The Gram matrix with its kernel and points; None for a game of three kernels."""
        return self.gram if isinstance(self.gram, KernelGram) else None

    @property
    def computed(self) -> KernelGram:
        """The Gram matrix, which must come from a kernel of points."""
        if self.kernel_gram is None:
            raise InvalidInput(
                f"game must come from a kernel of points, not from three kernels; got {self!r}."
            )
        return self.kernel_gram

    @cached_property
    def root(self) -> Array:
        """F with K = F F', shape (d, D); at least one column."""
        found = factor(self.gram)
        return found if found.shape[1] else np.zeros((self.d, 1))

    @property
    def point_dimension(self) -> int | None:
        return None if self.kernel_gram is None else int(self.kernel_gram.points.shape[1])

    @property
    def unknown(self) -> str:
        """What is known of the parameter beforehand, in words."""
        kernel = "" if self.kernel_gram is None else f" of {self.kernel_gram.kernel!r}"
        return (
            f"R^{self.d}: {self.d} numbers of a function with norm at most {self.norm_bound:g} in "
            f"the space{kernel}"
        )

    @abstractmethod
    def with_kernel(self, kernel: Any) -> Self:
        """Return the same game of a function with another kernel."""

    @abstractmethod
    def reading(self, actions: Indices) -> Reading:
        """Return what some actions (n,) show, as a reading of the function."""

    @abstractmethod
    def point(self, action: int | str) -> Array | None:
        """Return where an action reads the function, shape (p,), if that is one place."""

    @abstractmethod
    def restricted(self, actions: Iterable[int | str]) -> FunctionGame:
        """Return the game that has only some of the actions."""

    def function_values(self, function: Callable[[Array], Any]) -> Array:
        gram = self.kernel_gram
        if gram is None or (gram.axes >= 0).any():
            raise InvalidInput(
                "theta may be a function only for games that read values of it at points; give the "
                "numbers instead."
            )
        return real_array("what theta returns", function(np.array(gram.points)), (self.d,))

    def draw_truths(self, seeds: Indices) -> Array:
        """Draw one function per seed whose norm is the bound, as its d numbers, shape (n, d)."""
        return np.stack([self._drawn(int(seed)) for seed in seeds])

    def _drawn(self, seed: int) -> Array:
        """Draw a sum of columns of the kernel, scaled to the norm bound, shape (d,)."""
        rng = randomness.generator(seed, randomness.THETA, 0)
        count = min(self.d, MOST_CENTERS)
        centers = np.sort(rng.choice(self.d, count, replace=False))
        weights = rng.standard_normal(count)
        values = self.gram.columns(centers) @ weights
        squared = float(weights @ values[centers])
        if squared <= 0:
            return np.zeros(self.d)
        return np.asarray(values * (self.norm_bound / np.sqrt(squared)))

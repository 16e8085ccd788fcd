"""Counter-based randomness: round t of a seed has its own numbers, whatever happens elsewhere.

Numbers come in blocks of rounds. A block is drawn from a Philox generator keyed by the seed and the
purpose and positioned by the number of the block, so any round can be reached without the ones
before it, and a run does not depend on how many others run beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.validation import Array, whole_number

BLOCK = 512
"""Number of rounds whose numbers are drawn together."""

POLICY, NOISE, CONTEXT, THETA, DELAY = 1, 2, 3, 4, 8
"""Purposes: draws of the policy, noise and outcomes, contexts, true parameters, delays."""


def checked_seed(name: str, seed: object) -> int:
    """Return a seed: a whole number from 0 to 2^63 - 1."""
    return whole_number(name, seed, at_least=0)


def generator(seed: int, purpose: int, block: int) -> np.random.Generator:
    """Return the generator of one block of rounds."""
    key = np.array([seed, purpose], dtype=np.uint64)
    counter = np.array([0, 0, 0, block], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def reposition(source: np.random.Generator, seed: int, purpose: int, block: int) -> None:
    """Move a generator to another block, which is faster than creating a new one."""
    bits = source.bit_generator
    state: Any = bits.state
    state["state"]["key"][:] = seed, purpose
    state["state"]["counter"][:] = 0, 0, 0, block
    state |= {"buffer_pos": 4, "has_uint32": 0, "uinteger": 0}
    bits.state = state


class Stream:
    """Uniform (or normal) numbers of one purpose for several seeds, round by round."""

    def __init__(
        self, seeds: NDArray[np.int64], purpose: int, width: int, *, normal: bool = False
    ) -> None:
        self.seeds, self.purpose, self.width, self.normal = seeds, purpose, width, normal
        self._number = -1
        self._numbers = np.zeros((0, 0, 0))
        self._source = generator(0, purpose, 0)

    def at(self, t: int) -> Array:
        """Return the numbers of round t (counted from 0), shape (seeds, width)."""
        number, row = divmod(t, BLOCK)
        if number != self._number:
            self._numbers = np.stack([self._block(int(seed), number) for seed in self.seeds])
            self._number = number
        return self._numbers[:, row]

    def _block(self, seed: int, number: int) -> Array:
        source = self._source
        reposition(source, seed, self.purpose, number)
        shape = (BLOCK, self.width)
        return source.standard_normal(shape) if self.normal else source.random(shape)

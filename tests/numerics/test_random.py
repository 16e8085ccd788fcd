"""Random numbers that compiled loops make are those of NumPy, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from partial_monitoring import randomness
from partial_monitoring.numerics.compiled import random


@njit  # type: ignore[untyped-decorator]
def fill(own: Any, seed: Any, purpose: Any, block: Any, normal: bool, out: Any) -> None:
    for j in range(len(out)):
        if normal:
            out[j] = random.normal(own, seed, purpose, block)
        else:
            out[j] = random.uniform(own, seed, purpose, block)


def numbers(seed: int, purpose: int, block: int, count: int, *, normal: bool) -> Any:
    own, out = np.zeros(random.ROW, dtype=np.uint64), np.empty(count)
    random.restart(own)
    key = np.uint64(seed), np.uint64(purpose), np.uint64(block)
    fill(own, *key, normal, out)
    return out


@given(st.integers(0, 2**63 - 1), st.integers(1, 4), st.integers(0, 2**40), st.integers(1, 3000))
@settings(max_examples=30)
def test_uniform_and_normal_numbers(seed: int, purpose: int, block: int, count: int) -> None:
    for normal in (False, True):
        source = randomness.generator(seed, purpose, block)
        expected = source.standard_normal(count) if normal else source.random(count)
        np.testing.assert_array_equal(numbers(seed, purpose, block, count, normal=normal), expected)


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_tails(seed: int) -> None:
    """A million numbers come from all layers, slow exits and tails."""
    found = numbers(seed, 2, 7, 10**6, normal=True)
    expected = randomness.generator(seed, 2, 7).standard_normal(10**6)
    np.testing.assert_array_equal(found, expected)
    assert np.abs(found).max() > random.TAIL


def test_blocks_have_the_length_of_streams() -> None:
    assert random.BLOCK == randomness.BLOCK

"""Streams of random numbers that belong to a seed, a purpose and a block."""

from __future__ import annotations

import numpy as np
import pytest

from partial_monitoring import randomness


def test_purposes_seeds_and_blocks_have_numbers_of_their_own() -> None:
    first = {
        (seed, purpose, block): float(randomness.generator(seed, purpose, block).random())
        for seed in (0, 1, 2**40)
        for purpose in (randomness.POLICY, randomness.NOISE, randomness.CONTEXT)
        for block in (0, 1, 2)
    }
    assert len(set(first.values())) == len(first)


@pytest.mark.parametrize("normal", [False, True])
def test_streams_are_those_of_fresh_generators(normal: bool) -> None:
    seeds = np.array([0, 7, 2**62])
    stream = randomness.Stream(seeds, randomness.NOISE, 3, normal=normal)
    for t in (0, 511, 512, 5000, 3):
        block, row = divmod(t, randomness.BLOCK)
        for i, seed in enumerate(seeds):
            fresh = randomness.generator(int(seed), randomness.NOISE, block)
            shape = (randomness.BLOCK, 3)
            numbers = fresh.standard_normal(shape) if normal else fresh.random(shape)
            np.testing.assert_array_equal(stream.at(t)[i], numbers[row])

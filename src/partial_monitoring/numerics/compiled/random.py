"""The numbers of ``randomness.Stream`` made one at a time, inside compiled loops.

NumPy's Philox generator (4 x 64 bits, 10 rounds) and what it makes of the bits: uniform numbers of
53 bits, and normal numbers by the ziggurat of Marsaglia and Tsang with 256 layers. A row of a
stream has six entries: how often the generator was called in this block of rounds, how many of the
last four numbers are used up, and these four.
"""

# mypy: ignore-errors

from math import exp, log1p

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

ROW = 6
"""Length of a row."""

BLOCK = 512
"""Number of rounds after which a stream starts anew, as in ``randomness``."""

FIRST, SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
STEP_FIRST, STEP_SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
"""The multipliers of Philox, and what its key grows by in each of the ten rounds."""

LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
ZERO, ONE, FOUR = np.uint64(0), np.uint64(1), np.uint64(4)
DROPPED, LAYER, LAYER_BITS = np.uint64(11), np.uint64(0xFF), np.uint64(8)
MANTISSA, SIGN_BIT = np.uint64(0xFFFFFFFFFFFFF), np.uint64(8)

TAIL = 3.6541528853610088
PER_TAIL = 1.0 / TAIL
"""Where the tail of the ziggurat begins."""


def _ziggurat():
    """Return the layers: limits of the quick exit (256,), widths (256,) and densities (256,).

    Layer i reaches to x_i, x_255 = TAIL, and all have the same area, the lowest with the tail. To
    have the last digit of NumPy's own table, it is asked: a generator whose next bits are chosen
    makes half of x_i out of them.
    """
    chosen = np.random.SFC64(0)
    source, state = np.random.Generator(chosen), chosen.state
    widths = np.empty(256)
    for layer in range(256):
        state["state"]["state"][:] = (1 << 60) + layer, 0, 0, 0  # 52 bits of size, sign, layer
        chosen.state = state
        widths[layer] = source.standard_normal() * 2.0**-51
    reach = widths * 2.0**52
    heights = np.exp(-0.5 * reach**2)
    limits = np.zeros(256)
    limits[0], limits[2:] = TAIL / reach[0], reach[1:-1] / reach[2:]
    heights[0] = 1.0
    return (limits * 2.0**52).astype(np.uint64), widths, heights


LIMITS, WIDTHS, HEIGHTS = _ziggurat()


@compiled(allocates=False)
def high_half(a, b):
    """Return the upper 64 bits of the product of two numbers of 64 bits."""
    a_low, a_high, b_low, b_high = a & LOW, a >> HALF, b & LOW, b >> HALF
    middle = a_high * b_low + (a_low * b_low >> HALF)
    other = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF) + (other >> HALF)


@compiled(allocates=False)
def refill(own, seed, purpose, block):
    """Fill a row with the next four numbers."""
    own[0] += ONE
    a, b, c, d = own[0], ZERO, ZERO, block
    key, other = seed, purpose
    for _ in range(10):
        left, right = high_half(FIRST, a), high_half(SECOND, c)
        a, b, c, d = right ^ b ^ key, SECOND * c, left ^ d ^ other, FIRST * a
        key += STEP_FIRST
        other += STEP_SECOND
    own[2], own[3], own[4], own[5] = a, b, c, d
    own[1] = ZERO


@compiled(allocates=False)
def bits(own, seed, purpose, block):
    """Return the next 64 bits of a stream."""
    if own[1] == FOUR:
        refill(own, seed, purpose, block)
    place = own[1]
    own[1] = place + ONE
    return own[np.int64(place) + 2]


@compiled(allocates=False)
def restart(own):
    """Put a row at the beginning of a block of rounds."""
    own[0], own[1] = ZERO, FOUR


@compiled(allocates=False)
def uniform(own, seed, purpose, block):
    """Return the next uniform number, a multiple of 2^-53 from 0 to below 1."""
    return np.float64(bits(own, seed, purpose, block) >> DROPPED) * 2.0**-53


@compiled(allocates=False)
def normal(own, seed, purpose, block):
    """Return the next standard normal number."""
    while True:
        word = bits(own, seed, purpose, block)
        layer = np.int64(word & LAYER)
        word >>= LAYER_BITS
        size = (word >> ONE) & MANTISSA
        x = np.float64(size) * WIDTHS[layer]
        if word & ONE:
            x = -x
        if size < LIMITS[layer]:
            return x
        if layer == 0:
            while True:
                out = -PER_TAIL * log1p(-uniform(own, seed, purpose, block))
                height = -log1p(-uniform(own, seed, purpose, block))
                if height + height > out * out:
                    far = TAIL + out
                    return -far if (size >> SIGN_BIT) & ONE else far
        fall = HEIGHTS[layer - 1] - HEIGHTS[layer]
        if fall * uniform(own, seed, purpose, block) + HEIGHTS[layer] < exp(-0.5 * x * x):
            return x

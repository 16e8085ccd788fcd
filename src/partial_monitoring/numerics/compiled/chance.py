"""Random numbers of every distribution from one uniform number, inside compiled loops.

A policy that draws from a posterior cannot say in advance how many numbers it needs. It takes one
uniform number of the round and starts a private stream with it: the counter of Steele, Lea and
Flood, "Fast splittable pseudorandom number generators" (2014), whose values are scrambled. ``own``
is that counter, an array of one uint64.
"""

# mypy: ignore-errors

from math import exp, log, log1p, sqrt

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.normal import normal_from

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
THIRTY, TWENTY_SEVEN, THIRTY_ONE = np.uint64(30), np.uint64(27), np.uint64(31)
DROPPED = np.uint64(11)

FEW = 16
"""Up to this number of trials successes are counted one by one."""


@compiled(allocates=False)
def scrambled(word):
    """Return 64 bits that depend on all of 64 bits."""
    word = (word ^ (word >> THIRTY)) * FIRST
    word = (word ^ (word >> TWENTY_SEVEN)) * SECOND
    return word ^ (word >> THIRTY_ONE)


@compiled(allocates=False)
def start(own, number):
    """Start a stream from a uniform number, a multiple of 2^-53 from 0 to below 1."""
    own[0] = scrambled(np.uint64(number * 2.0**53) + STEP)


@compiled(allocates=False)
def uniform(own):
    """Return the next uniform number, a multiple of 2^-53 from 0 to below 1."""
    own[0] += STEP
    return np.float64(scrambled(own[0]) >> DROPPED) * 2.0**-53


@compiled(allocates=False)
def drawn_from(chances, uniform):
    """Draw an action by inverting the cumulative distribution.

    Rounding may leave the total below 1: the last action with any probability is meant.
    """
    total, passed, last = 0.0, 0, 0
    for a in range(len(chances)):
        total += chances[a]
        passed += total <= uniform
        if chances[a] > 0.0:
            last = a
    return min(passed, last)


@compiled(allocates=False)
def normal(own):
    """Return a standard normal number."""
    return normal_from(uniform(own))


@compiled(allocates=False)
def exponential(own):
    """Return a number with density e^-x."""
    return -log1p(-uniform(own))


@compiled(allocates=False)
def log_gamma_draw(own, shape):
    """Return the logarithm of a number with density proportional to x^(shape - 1) e^-x.

    Marsaglia and Tsang (2000); for shapes below 1 that of shape + 1 times a power of a uniform
    number, whose logarithm does not underflow.
    """
    lift = 0.0
    if shape < 1.0:
        lift = -exponential(own) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = normal(own)
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            if -exponential(own) < 0.5 * x * x + d * (1.0 - v + log(v)):
                return log(d * v) + lift


@compiled(allocates=False)
def beta(own, a, b):
    """Return a number with density proportional to x^(a - 1) (1 - x)^(b - 1)."""
    return 1.0 / (1.0 + exp(log_gamma_draw(own, b) - log_gamma_draw(own, a)))


@compiled(allocates=False)
def dirichlet(own, shapes, out):
    """Fill out (d,) with a point of the simplex, density proportional to prod x^(shape - 1)."""
    largest = -np.inf
    for j in range(len(out)):
        out[j] = log_gamma_draw(own, shapes[j])
        largest = max(largest, out[j])
    total = 0.0
    for j in range(len(out)):
        out[j] = exp(out[j] - largest)
        total += out[j]
    for j in range(len(out)):
        out[j] /= total


@compiled(allocates=False)
def binomial(own, trials, chance):
    """Return the number of successes in independent trials with the same chance.

    Many trials are halved: the middle one of their uniform numbers in order of size has a beta
    distribution, and decides on which side the chance lies (Devroye 1986, section X.4.3).
    """
    successes = 0
    while trials > FEW:
        middle = (trials + 1) // 2
        number = beta(own, float(middle), float(trials + 1 - middle))
        if number <= chance:
            successes += middle
            trials -= middle
            chance = (chance - number) / (1.0 - number) if number < 1.0 else 0.0
        else:
            trials = middle - 1
            chance = chance / number
    for _ in range(trials):
        successes += uniform(own) < chance
    return successes


@compiled(allocates=False)
def recorded(probability, own):
    """Return a probability that was recorded, or the own one if none was (NaN)."""
    return probability if probability > 0.0 else own

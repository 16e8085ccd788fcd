"""What the chance that a rival is better than the greedy action is worth."""

from __future__ import annotations

from math import erfc, exp, log, pi, sqrt

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

FAR = 5.0
"""From this many standard deviations on the tail is a continued fraction."""

TERMS = 30
"""Its number of terms."""

DENSITY = 1.0 / sqrt(2.0 * pi)


@compiled(allocates=False)
def tail(z):
    """Return phi(z) - z Phi(-z) = E max(X - z, 0) of standard normal X, z >= 0.

    Far out both terms are nearly the same. With the fraction c = 1 / (z + 2 / (z + 3 / ...)) of
    Phi(-z) = phi(z) / (z + c) the difference is phi(z) c / (z + c).
    """
    density = DENSITY * exp(-0.5 * z * z)
    if z < FAR:
        return density - 0.5 * z * erfc(z / sqrt(2.0))
    rest = z
    for j in range(TERMS, 1, -1):
        rest = z + j / rest
    return density / (z * rest + 1.0)


@compiled(allocates=False)
def expected_gain(mean, std):
    """Return E max(X, 0) of normal X with this mean and standard deviation."""
    gain = max(mean, 0.0)
    return gain + std * tail(abs(mean) / std) if std > 0.0 else gain


@compiled(allocates=False)
def worth_of_rivals(means, squared, greedy, counted, noise, t, power, delta):
    """Fill delta (k,) with what the chance to be better is worth, and return them together.

    delta_b = E max(f_b - f_g, 0) + max(0, m_b - m_g + z_t s_b) / t with z_t^2 = 2 log t: the
    second term vanishes more slowly than any chance, so that no rival is given up for good too
    early. Together they are (sum_b delta_b^power)^(1/power). Only rivals that are counted (k,) are
    worth anything.
    """
    reach, best, most = sqrt(2.0 * log(t)), means[greedy], 0.0
    for b in range(len(means)):
        delta[b] = 0.0
        if counted[b] and b != greedy and squared[b] > 0.0:
            ahead, std = means[b] - best, noise * sqrt(squared[b])
            delta[b] = expected_gain(ahead, std) + max(0.0, ahead + reach * std) / t
            most = max(most, delta[b])
    if most == 0.0:
        return 0.0
    total = 0.0
    for b in range(len(means)):
        share = delta[b] / most
        total += share if power == 1.0 else share**power
    return most * (total if power == 1.0 else total ** (1.0 / power))


@compiled(allocates=False)
def greedy_of(means, counted):
    """Return the first action with the largest mean among those that are counted."""
    best, top = 0, -np.inf
    for a in range(len(means)):
        if counted[a] and means[a] > top:
            best, top = a, means[a]
    return best


@compiled(allocates=False)
def shares_of_variance(delta, squared):
    """Divide delta (k,) by |u_b|^2: then squares of what is shown count by what they explain."""
    for b in range(len(delta)):
        if delta[b] > 0.0:
            delta[b] /= squared[b]

"""How regret grows: a power of the round, fitted by least squares on logarithmic axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partial_monitoring.validation import Array, Indices

RESAMPLED = 200
"""How often seeds are drawn again for the interval."""


@dataclass(frozen=True, eq=False)
class Exponent:
    """The growth of the mean regret: a fitted power of the round, with a 95 % interval."""

    value: float
    low: float
    high: float


def fitted(rounds: Indices, regret: Array) -> Exponent:
    """Return the growth of the mean of regrets (seeds, rounds) in these rounds."""
    log_t, n = np.log(rounds), len(regret)
    picks = np.random.default_rng(0).integers(0, n, (RESAMPLED, n))
    slopes = [_slope(log_t, regret[pick].mean(axis=0)) for pick in picks]
    known = np.array(slopes)[~np.isnan(slopes)]
    low, high = np.nan, np.nan
    if n > 1 and len(known):
        low, high = np.quantile(known, [0.025, 0.975])
    return Exponent(_slope(log_t, regret.mean(axis=0)), float(low), float(high))


def _slope(log_t: Array, regret: Array) -> float:
    """Return the slope of log regret against log t by least squares."""
    some = regret > 0
    if regret[-1] < 0:
        return float("nan")
    if not some.any():
        return 0.0
    if some.sum() < 2:
        return float("nan")
    return float(np.polyfit(log_t[some], np.log(regret[some]), 1)[0])

"""What listed actions showed, taken in by least squares: the step of a live answer."""

from __future__ import annotations

from math import log1p

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import HIGH_LEVERAGE, take_in_row


@compiled
def learn(
    action,
    observation,
    maps,
    counts,
    whitening,
    expected,
    seen,
    columns,
    own,
    plays,
    sums,
    gram,
    inverse,
    vector,
    coordinates,
    means,
    variances,
    signals,
    log_det,
    rounds,
    period,
    due,
):
    """Let replicates take in what actions (n,) showed; return how many are due.

    As ``take_in`` and ``update`` one after the other, but in place, from the plays to the rounds;
    which are to be refreshed, ``due`` (n,) says. If actions show their ``own`` reward, the signals
    are left alone.
    """
    n, m, r = len(action), maps.shape[1], maps.shape[2]
    x, pulls, show = np.empty(r), np.empty(len(maps)), np.empty(0 if own else m)
    late = 0
    for i in range(n):
        a = action[i]
        plays[i, a] += 1
        due[i] = rounds[i] % period == 0
        rounds[i] += 1
        for j in range(m):
            shown = observation[i, j] if j < counts[a] else 0.0
            sums[i, a, j] += shown
            gain = take_in_row(
                maps[a, j],
                shown * whitening[a] - expected[a, j],
                maps,
                seen,
                columns,
                gram[i],
                inverse[i],
                vector[i],
                coordinates[i],
                means[i],
                variances[i],
                signals[i],
                x,
                pulls,
                show,
            )
            due[i] = due[i] or not 1.0 + gain < HIGH_LEVERAGE
            log_det[i] += log1p(gain)
        late += due[i]
    return late

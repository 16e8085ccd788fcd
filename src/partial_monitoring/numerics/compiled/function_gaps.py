"""Gaps over confidence sets of functions, and expected improvements, of one replicate.

The formulas are those of ``estimation.kernel.ellipsoid``.
"""

# mypy: ignore-errors

from math import sqrt

from partial_monitoring.numerics.compiled.functions import (
    fill_distances,
    fill_sums,
    pull,
    weighted,
)
from partial_monitoring.numerics.compiled.improvement import explained
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, copy_into, largest
from partial_monitoring.numerics.compiled.rivals import (
    greedy_of,
    shares_of_variance,
    worth_of_rivals,
)

ROUNDING = 1e-14
"""Squared distances below this fraction of the squared lengths are rounding."""

CROWDING = 1.5
"""Improvements of crowded points, nearly copies of each other, add up in this norm."""


@compiled(fastmath=FAST, allocates=False)
def fill_exact_gaps(functions, known, i, beta, scratch):
    """Fill the largest plausible gaps (k,), over all pairs of actions."""
    means, gaps, reach, lengths = scratch.means, scratch.gaps, scratch.two, scratch.one
    covariance, lam, k = known.covariance[i], functions.regularization, len(gaps)
    for a in range(k):
        pull(covariance, functions.places[a], functions.weights[a], 1.0 / lam, scratch.pulled)
        lengths[a] = weighted(functions.places[a], functions.weights[a], scratch.pulled)
    for a in range(k):
        pull(covariance, functions.places[a], functions.weights[a], 1.0 / lam, scratch.pulled)
        fill_sums(functions, scratch.pulled, reach)
        own = lengths[a]
        for b in range(k):
            both = own + lengths[b]
            squared = both - 2.0 * reach[b]
            squared = squared if squared > ROUNDING * both else 0.0
            reach[b] = means[b] + sqrt(squared * beta)
        gaps[a] = max(largest(reach) - means[a], 0.0)


@compiled(fastmath=FAST, allocates=False)
def fill_greedy_gaps(functions, known, i, beta, through_mean, scratch):
    """Fill gaps (k,) relative to the action that looks best, and return it.

    ``scratch.squared`` becomes the squared distances from it.
    """
    means, gaps, squared, greedy = scratch.means, scratch.gaps, scratch.squared, 0
    for a in range(1, len(means)):
        if means[a] > means[greedy]:
            greedy = a
    fill_distances(functions, known, i, greedy, scratch.own, squared)
    best = means[greedy]
    for a in range(len(gaps)):
        gaps[a] = means[a] + sqrt(squared[a] * beta)
    delta = max(largest(gaps) - best, 0.0)
    for a in range(len(gaps)):
        behind = best - means[a]
        if through_mean:
            gaps[a] = delta + behind
        else:
            gaps[a] = delta + max(behind + sqrt(squared[a] * beta), 0.0)
    gaps[greedy] = delta
    return greedy


@compiled(allocates=False)
def fill_worth(functions, known, i, scratch):
    """Fill gaps (k,) and delta / |u|^2 (k,) of all rivals of the greedy action, and return it.

    ``scratch.own`` becomes C phi of the greedy action, ``scratch.squared`` the squared distances.
    """
    means, gaps, squared, delta = scratch.means, scratch.gaps, scratch.squared, scratch.delta
    greedy = greedy_of(means, functions.counted)
    fill_distances(functions, known, i, greedy, scratch.own, squared)
    variances = known.variances[i]
    for a in range(len(gaps)):
        scratch.one[a] = squared[a] if squared[a] > ROUNDING * variances[a] else 0.0
    rounds, counted = known.round[i], functions.counted
    more = worth_of_rivals(
        means, scratch.one, greedy, counted, functions.noise, rounds, CROWDING, delta
    )
    shares_of_variance(delta, scratch.one)
    for a in range(len(gaps)):
        gaps[a] = max(more + means[greedy] - means[a], 0.0)
    return greedy


@compiled(fastmath=FAST, allocates=False)
def fill_away(functions, covariance, rival, own, pulled):
    """Fill pulled (d,) with C (phi_b - phi_g), where ``own`` is C phi_g."""
    pull(covariance, functions.places[rival], functions.weights[rival], 1.0, pulled)
    for p in range(len(pulled)):
        pulled[p] -= own[p]


@compiled(fastmath=FAST, allocates=False)
def add_squares(share, away, own, out):
    """Add share (away - own)^2 to out (k,), entry by entry."""
    for a in range(len(out)):
        shown = away[a] - own[a]
        out[a] += share * (shown * shown)


@compiled(fastmath=FAST, allocates=False)
def add_told(functions, share, pulled, show, both):
    """Add share (M_a x) (M_a x)' to both (k, m, m), for x (d,)."""
    for a in range(len(both)):
        for j in range(len(show)):
            places, weights = functions.shown_places[a, j], functions.shown_weights[a, j]
            show[j] = weighted(places, weights, pulled)
        for j in range(len(show)):
            for q in range(len(show)):
                both[a, j, q] += share * show[j] * show[q]


@compiled(allocates=False)
def fill_improvement(functions, known, i, scratch):
    """Fill gaps and information (k,) of expected improvements over the greedy action."""
    fill_worth(functions, known, i, scratch)
    covariance, told, both = known.covariance[i], scratch.information, scratch.both
    own, pulled, m, lam = scratch.own, scratch.pulled, len(scratch.show), functions.regularization
    for a in range(len(told)):
        told[a] = 0.0
        for j in range(m):
            for q in range(m):
                both[a, j, q] = 0.0
    for b in range(len(told)):
        share = scratch.delta[b]
        if share > 0.0 and functions.plain:
            add_squares(share, covariance[b], own, told)
        elif share > 0.0:
            fill_away(functions, covariance, b, own, pulled)
            add_told(functions, share, pulled, scratch.show, both)
    for a in range(len(told)):
        factor = (functions.whitening[a] / lam) ** 2
        if m == 1:
            total = told[a] if functions.plain else both[a, 0, 0]
            told[a] = total * factor / (1.0 + max(known.signals[i, a, 0, 0], 0.0))
        else:
            for j in range(m):
                for q in range(m):
                    both[a, j, q] *= factor
            copy_into(known.signals[i, a], scratch.rest)
            told[a] = explained(both[a], scratch.rest)

"""The minimiser of the information ratio in O(k) per step (lemmas support and closed form)."""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import EXTREMES, largest

TIE = 1e-13
"""Ratios closer than this fraction are tied, and the lower index wins."""


@compiled(allocates=False)
def power(gap, kappa):
    """Return gap^kappa, without the time of a power if it is a square."""
    return gap * gap if kappa == 2.0 else gap**kappa


@compiled(allocates=False)
def ratio(gap, information, kappa):
    """Return gap^kappa / information with 0/0 = 0 and 1/0 = inf."""
    if gap <= 0.0:
        return 0.0
    if information <= 0.0:
        return np.inf
    return power(gap, kappa) / information


@compiled(allocates=False)
def best_share(d1, i1, d2, i2, kappa):
    """Return the probability of the second action that minimises the ratio of a pair.

    For d1 <= d2 and i1 < i2: clip([d1 / (d2 - d1) - kappa i1 / (i2 - i1)] / (kappa - 1)).
    """
    if i2 <= i1:
        return 0.0
    if d2 <= d1:
        return 1.0
    share = (d1 / (d2 - d1) - kappa * i1 / (i2 - i1)) / (kappa - 1.0)
    return min(1.0, max(0.0, share))


@compiled(allocates=False)
def anchored(gaps, information, anchor, kappa):
    """Return (partner, share) of the best pair that contains the anchor."""
    d1, i1 = gaps[anchor], information[anchor]
    best, partner, share = ratio(d1, i1, kappa), anchor, 0.0
    for b in range(len(gaps)):
        p = best_share(d1, i1, gaps[b], information[b], kappa)
        if p > 0.0:
            value = ratio(d1 + p * (gaps[b] - d1), i1 + p * (information[b] - i1), kappa)
            if value < best * (1.0 - TIE):
                best, partner, share = value, b, p
    return partner, share


@compiled(fastmath=EXTREMES, allocates=False)
def least_slope(gaps, information, slope, psi):
    """Return the least slope * D_a - psi * I_a."""
    least = np.inf
    for a in range(len(gaps)):
        least = min(least, slope * gaps[a] - psi * information[a])
    return least


@compiled(inline="always", allocates=False)
def first_least(gaps, information, slope, psi, limit):
    """Return the first action with slope * D_a - psi * I_a up to a limit.

    Rounded in another way than the limit was, none may be: then the first with the least.
    """
    lowest, best = np.inf, 0
    for a in range(len(gaps)):
        h = slope * gaps[a] - psi * information[a]
        if h <= limit:
            return a
        if h < lowest:
            lowest, best = h, a
    return best


@compiled(allocates=False)
def usable_numbers(values):
    """Whether no number is negative or not finite."""
    bad = 0
    for a in range(len(values)):
        bad += not (values[a] >= 0.0 and values[a] < np.inf)
    return bad == 0


@compiled(inline="always", allocates=False)
def minimize(gaps, information, kappa):
    """Return (first, second, share of the second) of a distribution with the least ratio.

    Keep a pair; every action on which the ratio could still improve has a derivative
    h(a) = kappa D(mu)^(kappa-1) D_a - Psi(mu) I_a below that of the pair itself. Take the one with
    the least, solve the pairs it forms in closed form, and stop when there is none.
    """
    first = np.int64(0)  # a literal would be another type, for which all is compiled once more
    for a in range(len(gaps)):
        if gaps[a] < gaps[first]:
            first = a
    if gaps[first] <= 0.0:
        return first, first, 0.0
    second, share = first, 0.0
    if information[first] <= 0.0:
        second, share = anchored(gaps, information, first, kappa)
    for _ in range(10_000):
        gap = gaps[first] + share * (gaps[second] - gaps[first])
        gain = information[first] + share * (information[second] - information[first])
        psi = ratio(gap, gain, kappa)
        if psi == np.inf:
            break
        slope = kappa * (gap if kappa == 2.0 else gap ** (kappa - 1.0))
        tie = TIE * slope * gap
        least = least_slope(gaps, information, slope, psi)
        if not least < slope * gap - psi * gain - tie:
            break
        entering = first_least(gaps, information, slope, psi, least + tie)
        best, x, y, p = psi, first, second, share
        for old in (first, second):
            one, two = (old, entering) if gaps[old] <= gaps[entering] else (entering, old)
            q = best_share(gaps[one], information[one], gaps[two], information[two], kappa)
            value = ratio(
                gaps[one] + q * (gaps[two] - gaps[one]),
                information[one] + q * (information[two] - information[one]),
                kappa,
            )
            if value < best:
                best, x, y, p = value, one, two, q
        if best >= psi:
            break
        first, second, share = x, y, p
    return first, second, share


@compiled(inline="always", allocates=False)
def minimize_row(gaps, information, kappa, exact, zero, d, i):
    """Solve one problem: (first, second, share, ratio, usable); d and i (k,) are scratch."""
    if not (usable_numbers(gaps) and usable_numbers(information)):
        return 0, 0, 0.0, 0.0, False
    # The answer does not depend on the units; in these nothing overflows.
    widest, most = largest(gaps), largest(information)
    per_gap = 1.0 / max(widest, 1e-300)
    per_gain = 1.0 / max(most, 1e-300)
    for a in range(len(gaps)):
        d[a] = gaps[a] * per_gap if gaps[a] > zero * widest else 0.0
    for a in range(len(gaps)):
        i[a] = information[a] * per_gain
    if exact:
        one, two, p = minimize(d, i, kappa)
    else:
        one = np.int64(0)
        for a in range(1, len(gaps)):
            tied = d[a] == d[one] and d[a] > 0.0
            if d[a] < d[one] or (tied and i[a] > i[one]):
                one = a
        two, p = anchored(d, i, one, kappa)
    value = ratio(d[one] + p * (d[two] - d[one]), i[one] + p * (i[two] - i[one]), kappa)
    if 0.0 < value < np.inf:
        value = value * power(widest, kappa) / most
    return one, two, p, value, True


@compiled
def minimize_rows(gaps, information, kappa, exact, zero):
    """Solve one problem per row: first, second, share, ratio, each (n,), and whether all can be.

    Gaps up to ``zero`` times the largest one of their row count as zero. Not exact: the pair is
    anchored at the greedy action, the most informative among ties (E24). A row with a number that
    is negative or not finite is not usable.
    """
    n, k = gaps.shape
    first, second = np.empty(n, np.int64), np.empty(n, np.int64)
    share, value = np.empty(n), np.empty(n)
    usable = True
    d, i = np.empty(k), np.empty(k)
    for row in range(n):
        first[row], second[row], share[row], value[row], own = minimize_row(
            gaps[row], information[row], kappa, exact, zero, d, i
        )
        usable = usable and own
    return first, second, share, value, usable


@compiled
def draw_rows(first, second, share, uniforms):
    """Draw from pairs of actions by inverting the cumulative distribution, shape (n,)."""
    drawn = np.empty(len(first), np.int64)
    for row in range(len(first)):
        one, two, p = first[row], second[row], share[row]
        if one > two:
            one, two, p = two, one, 1.0 - p
        drawn[row] = one if one == two or uniforms[row] < 1.0 - p else two
    return drawn


@compiled
def spread_rows(first, second, share, k):
    """Return distributions on pairs of actions over all actions, shape (n, k)."""
    spread = np.empty((len(first), k))
    spread[:] = 0.0
    for row in range(len(first)):
        spread[row, first[row]] = 1.0 - share[row]
        spread[row, second[row]] += share[row]
    return spread


@compiled
def play_rows(first, second, share, uniforms, k):
    """Return the actions that are drawn (n,) and the distributions (n, k) on pairs of actions."""
    return draw_rows(first, second, share, uniforms), spread_rows(first, second, share, k)


@compiled
def solve_rows(gaps, information, kappa, exact, zero, uniforms):
    """Return the actions that are drawn (n,), the distributions (n, k) and their ratios (n,).

    Then whether all rows can be solved, see ``minimize_rows``.
    """
    first, second, share, value, usable = minimize_rows(gaps, information, kappa, exact, zero)
    action, spread = play_rows(first, second, share, uniforms, gaps.shape[1])
    return action, spread, value, usable

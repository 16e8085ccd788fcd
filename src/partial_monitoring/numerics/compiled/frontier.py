"""The frontier of what kernels over contexts achieve: its ends, its edges, and the way to the best.

With a price lambda of information every context plays its least gap - lambda information; the
optimum lies beyond if gap > kappa lambda information, and before otherwise. Such prices first
narrow down where each context ends, in O(k) for what is still open; edges are only built and sorted
where something is left between. Ends of contexts are arrays (Z, 2): the lower one, the upper one.
"""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

ROUNDS = 100
"""Largest number of prices that are tried; what they leave open is sorted."""

FEW = 64
"""At most this number of open contexts and actions is sorted right away."""

SAME = 1e-13
"""Where both sides of the test of a price are as close as this fraction, it is the best one."""

ASKED = 63
"""The next price is the median of the slopes of about this number of contexts."""


@compiled
def in_units(gap, gain, units):
    """Return a gap and an information in units in which nothing overflows; tiny gaps are zero."""
    widest, most, zero = units
    return (gap / widest if gap > zero * widest else 0.0), gain / most


@compiled
def ends_of(gaps, information, available, floor):
    """Return where the frontier of a context starts, and where it ends.

    Those are the lowest index and the most informative of the cheapest actions, and the cheapest of
    the most informative ones. Gaps up to the floor count as zero.
    """
    greedy, low, high = -1, -1, -1
    least, low_gain, most, high_gap = np.inf, -1.0, -1.0, np.inf
    for a in range(len(gaps)):
        if not available[a]:
            continue
        gap, gain = (gaps[a] if gaps[a] > floor else 0.0), information[a]
        if gap < least:
            greedy, low, least, low_gain = a, a, gap, gain
        elif gap == least and gain > low_gain:
            low, low_gain = a, gain
        if gain > most or (gain == most and gap < high_gap):
            high, most, high_gap = a, gain, gap
    return greedy, low, high if most > low_gain else low


@compiled
def cheapest_in_row(price, gaps, information, available, units, action, gap, gain):
    """Return the end (0 or 1) or the action with the least gap - price * information.

    Ends are given by action, gap and information (2,), the rest by its row.
    """
    best, least = action[0], gap[0] - price * gain[0]
    if gap[1] - price * gain[1] <= least:
        best, least = action[1], gap[1] - price * gain[1]
    for a in range(len(gaps)):
        if available[a]:
            d, i = in_units(gaps[a], information[a], units)
            if d - price * i < least:
                best, least = a, d - price * i
    return best


@compiled
def list_below(gaps, information, available, units, gap, gain, kept, d, i):
    """List the actions below the line between the ends of a context, and return how many."""
    slope = (gap[1] - gap[0]) / (gain[1] - gain[0])
    left = 0
    for a in range(len(gaps)):
        if available[a]:
            own, known = in_units(gaps[a], information[a], units)
            more = known - gain[0]
            if more > 0.0 and known < gain[1] and own < gap[0] + slope * more:
                kept[left], d[left], i[left] = a, own, known
                left += 1
    return left


@compiled
def keep_below(gap, gain, kept, d, i, count):
    """Keep of the first actions of a list those below the line between the ends, in place."""
    slope = (gap[1] - gap[0]) / (gain[1] - gain[0])
    left = 0
    for c in range(count):
        more, own, known = i[c] - gain[0], d[c], i[c]
        kept[left], d[left], i[left] = kept[c], own, known  # overwritten unless it is below
        left += (more > 0.0) & (known < gain[1]) & (own < gap[0] + slope * more)
    return left


@compiled
def cheapest_kept(price, gap, gain, d, i, count):
    """Return where the least gap - price * information is in the list; -1 and -2 are the ends."""
    best, least = -1, gap[0] - price * gain[0]
    if gap[1] - price * gain[1] <= least:
        best, least = -2, gap[1] - price * gain[1]
    for c in range(count):
        if d[c] - price * i[c] < least:
            best, least = c, d[c] - price * i[c]
    return best


@compiled
def stable_order(keys):
    """Return the order that sorts keys and keeps ties, NaN last, by merging longer and longer runs.

    Numba takes seconds to compile ``np.argsort``.
    """
    n = len(keys)
    order, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    for c in range(n):
        order[c] = c
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for c in range(start, end):
                later = right == end
                if not later and left < middle:
                    one, two = keys[order[left]], keys[order[right]]
                    later = not (two < one or (one != one and two == two))
                if later:
                    merged[c] = order[left]
                    left += 1
                else:
                    merged[c] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order


@compiled
def next_price(gap, gain, left, active):
    """Return the median slope between ends, of contexts with something between if there are."""
    step = max(1, len(active) // ASKED)
    some = False
    for c in range(0, len(active), step):
        some = some or left[active[c]] > 0
    slopes = np.empty(len(active))
    count = 0
    for c in range(0, len(active), step):
        z = active[c]
        if left[z] > 0 or not some:
            slopes[count] = (gap[z, 1] - gap[z, 0]) / (gain[z, 1] - gain[z, 0])
            count += 1
    order = stable_order(slopes[:count])
    upper = slopes[order[count // 2]]
    return upper if count % 2 else (slopes[order[count // 2 - 1]] + upper) / 2


@compiled
def totals(gap, gain, weights, active, end):
    """Return the sums over contexts of chi times gap and information (Z, 2) at one end."""
    whole_gap, whole_gain = 0.0, 0.0
    for c in range(len(active)):
        z = active[c]
        whole_gap += weights[z] * gap[z, end]
        whole_gain += weights[z] * gain[z, end]
    return whole_gap, whole_gain


@compiled
def narrow(gaps, information, weights, available, kappa, units, every, action, gap, gain):
    """Bring the ends of every context, actions, gaps and information (Z, 2), to the optimum.

    Return the contexts that are still open, the lists of actions between their ends with gaps and
    information, all (Z, k), and how many they are (Z,).
    """
    count, k = gaps.shape
    kept, left = np.empty((count, k), np.int64), np.empty(count, np.int64)
    d, i = np.empty((count, k)), np.empty((count, k))
    left[:] = 0
    active = np.empty(len(every), np.int64)
    still = 0
    for c in range(len(every)):
        z = every[c]
        if action[z, 0] != action[z, 1]:
            active[still] = z
            still += 1
    upper = np.int64(1)
    all_gap, all_gain = totals(gap, gain, weights, every, upper)
    open_gap, open_gain = totals(gap, gain, weights, active[:still], upper)
    fixed_gap, fixed_gain = all_gap - open_gap, all_gain - open_gain
    chosen = np.empty((count, 3))
    price = all_gap / (kappa * all_gain)
    for step in range(ROUNDS):
        here_gap, here_gain = fixed_gap, fixed_gain
        for c in range(still):
            z = active[c]
            if step == 0:
                a = cheapest_in_row(
                    price, gaps[z], information[z], available[z], units, action[z], gap[z], gain[z]
                )
                own, known = in_units(gaps[z, a], information[z, a], units)
                chosen[z, 0], chosen[z, 1], chosen[z, 2] = a, own, known
            else:
                b = cheapest_kept(price, gap[z], gain[z], d[z], i[z], left[z])
                if b < 0:
                    end = -1 - b
                    chosen[z, 0], chosen[z, 1] = action[z, end], gap[z, end]
                    chosen[z, 2] = gain[z, end]
                else:
                    chosen[z, 0], chosen[z, 1], chosen[z, 2] = kept[z, b], d[z, b], i[z, b]
            here_gap += weights[z] * chosen[z, 1]
            here_gain += weights[z] * chosen[z, 2]
        end = 0 if here_gap >= (1.0 - SAME) * kappa * price * here_gain else 1
        before, still, between, progress = still, 0, 0, step == 0
        for c in range(before):
            z = active[c]
            moved = chosen[z, 0] != action[z, end]
            action[z, end], gap[z, end], gain[z, end] = chosen[z, 0], chosen[z, 1], chosen[z, 2]
            progress |= moved
            if action[z, 0] == action[z, 1]:
                fixed_gap += weights[z] * gap[z, 0]
                fixed_gain += weights[z] * gain[z, 0]
                left[z] = 0
                continue
            if step == 0:
                left[z] = list_below(
                    gaps[z],
                    information[z],
                    available[z],
                    units,
                    gap[z],
                    gain[z],
                    kept[z],
                    d[z],
                    i[z],
                )
            elif moved:
                left[z] = keep_below(gap[z], gain[z], kept[z], d[z], i[z], left[z])
            active[still] = z
            still += 1
            between += left[z]
        if still + between <= FEW or not progress:
            break
        price = next_price(gap, gain, left, active[:still])
        if not price < np.inf:
            break
    return active[:still], kept, d, i, left


@compiled
def chain(gap, gain, d, i, hull):
    """Fill the hull with the actions between two ends that are vertices, and return how many."""
    order = stable_order(i)
    size = 0
    for c in range(len(i) + 1):
        last = c == len(i)
        own, known = (gap[1], gain[1]) if last else (d[order[c]], i[order[c]])
        while size > 0:
            top = hull[size - 1]
            before_gap, before_gain = gap[0], gain[0]
            if size > 1:
                before_gap, before_gain = d[hull[size - 2]], i[hull[size - 2]]
            ahead = (own - d[top]) / (known - i[top]) if known > i[top] else own - d[top]
            if known > i[top] and ahead > (d[top] - before_gap) / (i[top] - before_gain):
                break
            if known == i[top] and ahead >= 0.0:
                break
            size -= 1
        same = size > 0 and known == i[hull[size - 1]]
        if not last and not same:
            hull[size] = order[c]
            size += 1
    return size


@compiled(inline="always")
def edges_of(action, gap, gain, active, kept, d, i, left):
    """Return contexts, ends, and gaps and information there of all edges, and their order."""
    most = len(active)
    for c in range(len(active)):
        most += left[active[c]]
    contexts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    slopes, to_gap, to_gain = np.empty(most), np.empty(most), np.empty(most)
    hull = np.empty(most, np.int64)
    count = 0
    for c in range(len(active)):
        z = active[c]
        size = chain(gap[z], gain[z], d[z, : left[z]], i[z, : left[z]], hull)
        from_gap, from_gain = gap[z, 0], gain[z, 0]
        for v in range(size + 1):
            contexts[count] = z
            if v < size:
                at = hull[v]
                ends[count], to_gap[count], to_gain[count] = kept[z, at], d[z, at], i[z, at]
            else:
                ends[count], to_gap[count], to_gain[count] = action[z, 1], gap[z, 1], gain[z, 1]
            slopes[count] = (to_gap[count] - from_gap) / (to_gain[count] - from_gain)
            from_gap, from_gain = to_gap[count], to_gain[count]
            count += 1
    return contexts, ends, to_gap, to_gain, stable_order(slopes[:count])


@compiled(inline="always")
def walk(
    gaps, information, weights, available, kappa, units, every, action, gap, gain, second, share
):
    """Go from the lower ends to the optimum, in place; on an edge fill its end and the share.

    Return the gap and the information of the optimum.
    """
    active, kept, d, i, left = narrow(
        gaps, information, weights, available, kappa, units, every, action, gap, gain
    )
    here_gap, here_gain = totals(gap, gain, weights, every, np.int64(0))
    contexts, ends, to_gap, to_gain, order = edges_of(action, gap, gain, active, kept, d, i, left)
    for e in range(len(order)):
        c = order[e]
        z = contexts[c]
        more_gap = weights[z] * (to_gap[c] - gap[z, 0])
        more_gain = weights[z] * (to_gain[c] - gain[z, 0])
        if kappa * more_gap * here_gain >= here_gap * more_gain:
            break
        if more_gap > 0.0:
            p = (here_gap / more_gap - kappa * here_gain / more_gain) / (kappa - 1.0)
            if p < 1.0:
                second[z], share[z] = ends[c], p
                return here_gap + p * more_gap, here_gain + p * more_gain
        action[z, 0], gap[z, 0], gain[z, 0] = ends[c], to_gap[c], to_gain[c]
        here_gap += more_gap
        here_gain += more_gain
    return here_gap, here_gain

"""Move probability from neighbours to the actions between them, without changing the loss.

Lattimore and Szepesvari, "Cleaning up the neighborhood" (ALT 2019). The loss of a helper e is
share l_a + (1 - share) l_b; with x = min(p_a / share, p_b / (1 - share)) / (2 c) it gets x, of
which a pays share x and b the rest. If c is the number of all actions that may be played, no action
loses more than half of its probability, and e gets at least min(p_a, p_b) / (2 c).
"""

# mypy: ignore-errors

from partial_monitoring.numerics.compiled.just_in_time import compiled


@compiled(allocates=False)
def redistribute(helpers, ends, shares, count, before, after):
    """Fill after (k,) with what is left and given of probabilities before (k,).

    Of helpers (h,) with their ends (h, 2) and shares (h,); ``count`` is c.
    """
    for a in range(len(before)):
        after[a] = before[a]
    for h in range(len(helpers)):
        a, b, share = ends[h, 0], ends[h, 1], shares[h]
        given = before[a] / share
        if share < 1.0:
            given = min(given, before[b] / (1.0 - share))
        given /= 2.0 * count
        after[helpers[h]] += given
        after[a] -= share * given
        if share < 1.0:
            after[b] -= (1.0 - share) * given

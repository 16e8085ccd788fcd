"""Where the numbers of a round are that host and device exchange."""

from __future__ import annotations

ANCHORS = 2
"""Actions expected to be greedy: if one of them is, no second read is needed."""

# What the host sends in one copy, before theta, x and the anchors' vectors and W_t^-1:
SHARE, BETA, CEILING, RULE, KAPPA, NOISE, ROUND, REACH, ROUNDING, ANCHORED = range(10)
SENT = ANCHORED + ANCHORS
"""The part of an observation in what it shows, beta_t, T, the gaps, kappa, rho, t, (2 log t)^(1/2),
below which fraction a distance is rounding, and the numbers of the anchors."""

RELAXED, MEAN, IMPROVEMENT = range(3)
"""Gaps, as RULE says."""

# What the device keeps, and the host reads in one copy:
GREEDY, SLOT, LIFT, WIDEST, MOST, MODE, FIRST, SECOND, PART = range(9)
SLOPE, PSI, TIE, RATIO, GAP_1, GAIN_1, GAP_2, GAIN_2, KEPT = range(9, 18)
"""The greedy action, the row of its cross products, delta (or the sum of improvements), the largest
gap and information, what the next pass looks for, the pair and the share of its second action, the
derivative at it, the tie, its ratio, and the gaps and information of the two."""

DONE, SLOPED, ZEROS, PARTNER = range(4)
"""What a pass looks for, as MODE says: nothing, the least derivative, the first gap that is zero,
the best partner of an action that shows nothing."""

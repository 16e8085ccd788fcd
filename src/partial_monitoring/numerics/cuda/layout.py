"""Where the numbers are that host and device exchange, and those with one number per action."""

from __future__ import annotations

LARGEST = 1024
"""Most features of an action: the vectors that they are multiplied with are in shared memory."""

# What the host sends in one copy, before theta, x = W_t^-1 w, W_t^-1 phi of the anchor and W_t^-1:
SHARE, BETA, CEILING, RULE, KAPPA, NOISE, ROUND, REACH, ROUNDING, ANCHOR, SENT = range(11)
"""The part of an observation in what it shows, beta_t, T, the gaps, kappa, rho, t, (2 log t)^(1/2),
below which fraction a distance is rounding, and the anchor: the action that the host expects to be
greedy. If it is, no second read is needed."""

RELAXED, MEAN, IMPROVEMENT = range(3)
"""Gaps, as RULE says."""

VECTORS = 3
"""Vectors whose products with the features are taken in one read: theta, x, that of the anchor."""

# Rows of the table with one number per action; the first ones are in the order of the vectors:
MEANS, VARIANCES, CROSS, GAPS, GAINS, COUNTED, ROWS = range(7)
"""The row CROSS has gaps beyond LIFT, and means are not kept. For improvements it has products with
W_t^-1 phi of the greedy action, and there are means, gaps beyond LIFT, information (before, weights
of rivals and quadratic forms), and whether the action is a rival."""

# What the device keeps, and the host reads in one copy, with the first two rows of the blocks:
GREEDY, AGAIN, LIFT, WIDEST, MOST, MODE, FIRST, SECOND, PART = range(9)
SLOPE, PSI, TIE, RATIO, GAP_1, GAIN_1, GAP_2, GAIN_2, PER_GAP, PER_GAIN, KEPT = range(9, 20)
"""The greedy action, whether it was no anchor, delta (or the sum of improvements), the largest gap
and information, what the next pass looks for, the pair and the share of its second action, the
derivative at it, the tie, its ratio, the gaps and information of the two, and what these are
multiplied with to be at most one."""

# Rows with one number per block, which follow:
TOP, TOP_PLACE, LARGE, LIFTS, WIDE, FOUND = range(6)
BLOCK_ROWS = FOUND + 4
"""The largest mean (negated) and its action; the largest variance (negated; for improvements, of
information); its share of LIFT and the largest gap beyond it (both negated); what passes have
found, in two pairs of rows in turn."""

DONE, SLOPED, ZEROS, PARTNER = range(4)
"""What a pass looks for, as MODE says: nothing, the least derivative, the first gap that is zero,
the best partner of an action that shows nothing."""

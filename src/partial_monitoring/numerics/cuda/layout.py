"""Where the numbers are that host and device exchange, and those with one number per action."""

from __future__ import annotations

ANCHORS = 2
"""Actions expected to be greedy: if one of them is, no second read is needed."""

SLOTS = ANCHORS + 1
"""Actions relative to which gaps are known: the anchors, and after a second read the greedy one."""

LARGEST = 1024
"""Most features of an action: the vectors that they are multiplied with are in shared memory."""

# What the host sends in one copy, before theta, x and the anchors' vectors and W_t^-1:
SHARE, BETA, CEILING, RULE, KAPPA, NOISE, ROUND, REACH, ROUNDING, ANCHORED = range(10)
SENT = ANCHORED + ANCHORS
"""The part of an observation in what it shows, beta_t, T, the gaps, kappa, rho, t, (2 log t)^(1/2),
below which fraction a distance is rounding, and the numbers of the anchors."""

RELAXED, MEAN, IMPROVEMENT = range(3)
"""Gaps, as RULE says."""

VECTORS = 2 + ANCHORS
"""Vectors whose products with the features are taken in one read: theta, x, those of anchors."""

# Rows of the table with one number per action; the first ones are in the order of the vectors:
MEANS, VARIANCES, CROSS = range(3)
SPARE = CROSS + ANCHORS
GAPS, GAINS, COUNTED, ROWS = range(SPARE + 1, SPARE + 5)
"""From CROSS on, gaps beyond LIFT if an anchor is greedy, and in the spare row if none of them is;
for improvements products with their features. For these alone: gaps beyond LIFT, information
(before, weights of rivals and quadratic forms), and whether the action is a rival."""

# What the device keeps, and the host reads in one copy, with the first two rows of the blocks:
GREEDY, SLOT, LIFT, WIDEST, MOST, MODE, FIRST, SECOND, PART = range(9)
SLOPE, PSI, TIE, RATIO, GAP_1, GAIN_1, GAP_2, GAIN_2, PER_GAP, PER_GAIN, KEPT = range(9, 20)
"""The greedy action, which row from CROSS on is its own, delta (or the sum of improvements), the
largest gap and information, what the next pass looks for, the pair and the share of its second
action, the derivative at it, the tie, its ratio, the gaps and information of the two, and what
these are multiplied with to be at most one."""

# Rows with one number per block, which follow:
TOP, TOP_PLACE, LARGE, LIFTS = range(4)
WIDE = LIFTS + SLOTS
FOUND = WIDE + SLOTS
BLOCK_ROWS = FOUND + 4
"""The largest mean (negated) and its action; the largest variance (negated; for improvements, of
information); its share of LIFT and the largest gap beyond it (both negated) for every row from
CROSS on; what passes have found, in two pairs of rows in turn."""

DONE, SLOPED, ZEROS, PARTNER = range(4)
"""What a pass looks for, as MODE says: nothing, the least derivative, the first gap that is zero,
the best partner of an action that shows nothing."""

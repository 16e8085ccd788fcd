"""From a game to facts about it, with proofs: cells, classes, constants, bounds, advice.

Floating point proposes, exact arithmetic proves, ``verify`` checks. May import ``games``, ``model``
and what lies below.
"""

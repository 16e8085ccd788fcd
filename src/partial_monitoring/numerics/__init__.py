"""Linear algebra, convex programs, exact arithmetic and compiled loops; knows no game.

Every numerical danger is dealt with here, once. May import ``validation`` and ``errors`` only.
"""

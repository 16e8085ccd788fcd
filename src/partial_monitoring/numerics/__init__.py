"""Linear algebra, convex programs, exact arithmetic, compiled loops and GPU kernels; knows no game.

Every numerical danger is dealt with here, once. May import ``validation`` and ``errors`` only.
"""

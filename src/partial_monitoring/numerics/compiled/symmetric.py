"""A symmetric matrix made tridiagonal by reflections, which costs a fraction of its eigenvalues.

S = Q T Q' with a tridiagonal T; Q is a product of reflections I - tau v v'. In the coordinates Q' x
a product with S takes O(r) operations, and so does a system of equations with I + mu S, for every
mu anew.
"""

from __future__ import annotations

import math

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST


@compiled(fastmath=FAST, allocates=False)
def tridiagonalize(matrix, reflectors, diagonal, beside, work):
    """Fill the diagonal of T and what is beside it from a symmetric matrix (r, r).

    Row j of the reflectors (r, r) becomes v_j, from column j + 1 on, and tau_j in column j; work
    (r,) is scratch.
    """
    size = len(matrix)
    for p in range(size):
        for q in range(size):
            reflectors[p, q] = matrix[p, q]
    for j in range(size):
        diagonal[j] = reflectors[j, j]
        reflectors[j, j] = 0.0
        first = reflectors[j, j + 1] if j + 1 < size else 0.0
        rest = 0.0
        for p in range(j + 2, size):
            rest += reflectors[j, p] * reflectors[j, p]
        beside[j] = first
        if rest == 0.0:
            continue
        length = math.sqrt(first * first + rest)
        beside[j] = -length if first > 0.0 else length
        first -= beside[j]
        tau = 2.0 / (first * first + rest)
        reflectors[j, j], reflectors[j, j + 1] = tau, first
        # S becomes S - v w' - w v' with w = tau S v - tau^2 / 2 <v, S v> v.
        along = 0.0
        for p in range(j + 1, size):
            entry = 0.0
            for q in range(j + 1, size):
                entry += reflectors[p, q] * reflectors[j, q]
            work[p] = tau * entry
            along += work[p] * reflectors[j, p]
        half = 0.5 * tau * along
        for p in range(j + 1, size):
            work[p] -= half * reflectors[j, p]
        for p in range(j + 1, size):
            one, two = reflectors[j, p], work[p]
            for q in range(j + 1, size):
                reflectors[p, q] -= one * work[q] + two * reflectors[j, q]


@compiled(fastmath=FAST, allocates=False)
def reflect(reflectors, j, x):
    """Replace x by its reflection (I - tau_j v_j v_j') x."""
    size = len(reflectors)
    along = 0.0
    for p in range(j + 1, size):
        along += reflectors[j, p] * x[p]
    along *= reflectors[j, j]
    for p in range(j + 1, size):
        x[p] -= along * reflectors[j, p]


@compiled(allocates=False)
def turn(reflectors, x):
    """Replace the first r entries of x by Q' x."""
    for j in range(len(reflectors) - 2):
        reflect(reflectors, j, x)


@compiled(allocates=False)
def turn_back(reflectors, x):
    """Replace the first r entries of x by Q x."""
    for j in range(len(reflectors) - 3, -1, -1):
        reflect(reflectors, j, x)

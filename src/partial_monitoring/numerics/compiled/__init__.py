"""Loops over actions and replicates, compiled by Numba when they are first used.

Modules here import only Numba, NumPy, the names of array types and each other; callers import them
inside functions.
"""

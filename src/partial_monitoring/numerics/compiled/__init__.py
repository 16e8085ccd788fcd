"""Loops over actions and replicates, compiled by Numba when they are first used.

Modules here import only Numba, NumPy and each other; callers import them inside functions.
"""

"""Compiled kernels: loops that branch per problem and would be slow in array code.

Every kernel works on one replicate at a time with plain loops, so its result does not depend on how
many others are computed beside it. Each has a slow counterpart in the tests.
"""

"""Benchmarks: ratios in one run, against what a user would otherwise pick and against the limit."""

"""Policies that play what looks best: greedy, optimistic, Thompson sampling, improvement."""

"""Policies that sweep a set of observers, average, and play what looks best: PEGE, GCB, ETC."""

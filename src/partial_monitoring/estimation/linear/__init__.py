"""Least squares and ellipsoids for a parameter, in plain games and with contexts."""

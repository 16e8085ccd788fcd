"""Policies for finite games, on the geometry that the analysis computes."""

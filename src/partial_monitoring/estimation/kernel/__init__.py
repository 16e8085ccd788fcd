"""Posteriors and confidence sets for an unknown function, on lists of points and on boxes."""

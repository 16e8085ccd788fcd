"""A service, its customers, and a kill in the middle: ``python -m examples.serving``."""

"""Policies against simulated truths, and the numbers that come out.

May import ``policies`` and what lies below; does not know ``learner``.
"""

from partial_monitoring.simulation import truths as truths

__all__ = ["truths"]

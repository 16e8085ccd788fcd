"""Many games, policies and seeds: definitions, workers, stored runs.

May import ``simulation`` and what lies below; does not know ``report``.
"""

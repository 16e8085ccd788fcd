"""Live decisions: a learner is a fold of its log, which it asks, tells, saves and explains.

May import ``policies`` and what lies below, ``storage`` among it; does not know ``simulation``.
"""

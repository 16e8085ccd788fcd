"""Live decisions: ask what to do, tell what was observed, save, and say what is known.

May import ``policies`` and what lies below; does not know ``simulation``.
"""

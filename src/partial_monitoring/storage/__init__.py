"""Where the events of a learner are kept.

May import ``disk``, ``validation`` and ``errors``; knows no game and no policy.
"""

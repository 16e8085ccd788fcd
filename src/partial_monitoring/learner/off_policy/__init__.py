"""What other actions or policies would have earned, from the log of a learner.

What an action earns is not observed, but differences of rewards that can be observed at all are
sums of what is seen, with the weights that ``pm.analyze`` proves. Each decision that was logged
with its probability counts as often as a target would have made it.

``logged.py`` reads a log, ``targets.py`` says which decisions are asked about, ``reweighted.py``
weights what was observed, ``intervals.py`` says how far off that may be, ``values.py`` shows it,
and ``estimating.py`` is the way through all of them.
"""

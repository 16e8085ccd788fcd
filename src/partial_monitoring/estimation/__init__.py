"""What is known after some rounds: states, estimates and confidence sets E_t.

How one learns in a kind of game is decided here. May import ``analysis``, ``model`` and what lies
below; knows no policy.
"""

from partial_monitoring.estimation import confidence as confidence

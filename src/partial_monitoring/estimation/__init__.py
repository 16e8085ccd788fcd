"""What is known after some rounds: states, estimates and confidence sets E_t.

How one learns in a kind of game is decided here. May import ``analysis``, ``model`` and what lies
below; knows no policy. The modules of all states are imported below, so that ``initial_state``
knows every kind of game.
"""

from partial_monitoring.estimation import confidence as confidence
from partial_monitoring.estimation.kernel import box_state as box_state
from partial_monitoring.estimation.kernel import state as kernel_state
from partial_monitoring.estimation.likelihood import contexts as likely_contexts
from partial_monitoring.estimation.likelihood import likely_set as likely_set
from partial_monitoring.estimation.linear import contextual as contextual_state
from partial_monitoring.estimation.linear import state as linear_state

__all__ = [
    "box_state",
    "confidence",
    "contextual_state",
    "kernel_state",
    "likely_contexts",
    "likely_set",
    "linear_state",
]

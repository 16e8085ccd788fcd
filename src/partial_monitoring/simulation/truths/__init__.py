"""What is true in simulations and experiments: parameters that move, outcomes, opponents.

``theta=`` of ``pm.simulate`` and ``pm.Experiment`` takes one of these, beside a parameter,
"random", "worst" and so on.
"""

from partial_monitoring.simulation.truths.kinds import FixedTruth as FixedTruth
from partial_monitoring.simulation.truths.kinds import Truth as Truth
from partial_monitoring.simulation.truths.lower_bound import lower_bound
from partial_monitoring.simulation.truths.moving import drifting, switching
from partial_monitoring.simulation.truths.opponents import adaptive, hostile
from partial_monitoring.simulation.truths.outcomes import outcomes
from partial_monitoring.simulation.truths.read import KINDS as KINDS
from partial_monitoring.simulation.truths.read import is_table as is_table
from partial_monitoring.simulation.truths.read import read_truth as read_truth

__all__ = ["adaptive", "drifting", "hostile", "lower_bound", "outcomes", "switching"]


def __dir__() -> list[str]:
    return __all__

"""Checks for what you add: games, parameter sets, policies.

Each check plays with what it is handed and raises an ``AssertionError`` with one sentence at the
first thing that does not hold. They are meant for the tests of your own code:

>>> import partial_monitoring as pm
>>> pm.testing.check_policy(pm.IDS(gap=pm.gaps.relaxed))
>>> pm.testing.check_game(pm.games.apple_tasting())
>>> pm.testing.check_parameter_set(pm.Ball([0, 0], 1))
"""

from partial_monitoring.testing.games import check_game
from partial_monitoring.testing.parameter_sets import check_parameter_set
from partial_monitoring.testing.policies import check_policy

__all__ = ["check_game", "check_parameter_set", "check_policy"]


def __dir__() -> list[str]:
    return __all__

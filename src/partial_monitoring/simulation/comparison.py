"""All policies of an experiment on one instance of a game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.policy import Policy
from partial_monitoring.simulation.result import Result


@dataclass(frozen=True, eq=False)
class Comparison:
    """All policies on the same seeds of one instance of a game."""

    game_name: str
    """What the game is called in the experiment, such as "dynamic_pricing"."""
    game: AnyGame
    """The game itself."""
    instance: str
    """What the true parameters are called: "random", "worst", or the parameter itself."""
    policies: Mapping[str, Policy[Any]]
    """By name, in the order of the experiment; the keys of ``result.regret``."""
    result: Result
    """Regret and more, as ``pm.simulate`` returns it."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Policies that do not play this game, and why."""

    @property
    def title(self) -> str:
        """The game and its instance in one line."""
        return f"{self.game_name}, θ = {self.instance}"

"""What an experiment plays: plans, and configurations (everything but the seeds)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import partial_monitoring
from partial_monitoring.experiments.content_key import content_key, described, registered
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.policies.policy import Policy
from partial_monitoring.simulation.delayed import Late
from partial_monitoring.simulation.play import play
from partial_monitoring.simulation.result import TABLES, Result
from partial_monitoring.simulation.truths import Truth
from partial_monitoring.validation import Indices

FORMAT = 2
"""Version of the content keys; 1 named modules instead of registered names."""

RECORDED = "policy"
"""The name under which a stored result keeps its only policy."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A game with its true parameters, and the policies that play it."""

    game_name: str
    game: AnyGame
    truth_name: str
    truth: Truth
    players: Mapping[str, Policy[Any]]
    """The policies that play this game, by name."""
    refused: Mapping[str, str]
    """The other policies, each with the reason why it cannot play."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Policies, games with true parameters, seeds and checkpoints: all that decides the numbers."""

    name: str
    settings: tuple[Setting, ...]
    policies: Mapping[str, Policy[Any]]
    seeds: Indices
    checkpoints: Indices
    """Rounds that are recorded, increasing."""
    noise: str | NoiseFunction | None
    fewer: Mapping[str, int]
    """How many of the seeds a policy plays, by name, if not all of them."""
    late: Late | None
    """When answers come, if not at once."""

    def seeds_of(self, policy: str) -> Indices:
        """Return the seeds that a policy plays."""
        return self.seeds[: self.fewer.get(policy)]

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.checkpoints[-1])


@dataclass(frozen=True, eq=False)
class Configuration:
    """Everything about some runs except their seeds."""

    game: AnyGame
    truth: Truth
    policy: Policy[Any]
    checkpoints: Indices
    """Rounds at which the runs are recorded; the last one is the horizon."""
    noise: str | NoiseFunction | None = None
    late: Late | None = None
    """When answers come, if not at once."""

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.checkpoints[-1])

    @cached_property
    def game_key(self) -> str:
        """The content key of the game alone."""
        return content_key(game_to_dict(self.game))

    def definition(self, version: int = FORMAT) -> dict[str, Any]:
        """Return what the runs depend on, as plain data."""
        former = version == 1
        content = {
            "format": version,
            "version": partial_monitoring.__version__,
            "game": self.game_key,
            "truth": described(self.truth.content, former=former),
            "policy": described(self.policy, former=former),
            "checkpoints": self.checkpoints.tolist(),
            "noise": described(self.noise, former=former),
        }
        if self.late is not None:
            content["late"] = described(self.late, former=former)
        function = self.truth.function
        if function is not None and not any(function is own for own in registered()):
            # what its code does not show: values of the functions and constants that it uses
            content["values"] = self.game.function_values(function).tolist()
        return content

    @cached_property
    def key(self) -> str:
        """The content key: a changed definition or library version is a different configuration."""
        return content_key(self.definition())

    @cached_property
    def former_key(self) -> str:
        """The content key under which stores of format 1 keep the runs."""
        return content_key(self.definition(1))

    def play(self, seeds: Indices, threads: int | None = None) -> Result:
        """Play the runs with some seeds; their numbers do not depend on which run together."""
        environment = self.truth.environment(self.game, seeds, self.horizon, self.noise)
        run = play(
            self.game, self.policy, environment, self.checkpoints, threads=threads, late=self.late
        )
        if run.interrupted:
            raise KeyboardInterrupt
        where = seeds, self.checkpoints, environment.theta
        return Result.of(*where, {RECORDED: run}, self.truth.against)


def put_together(runs: dict[str, Result]) -> Result:
    """Return the stored results of single policies as one result of all of them.

    Their seeds are those of the policy with the most; the regret of others is nan where they have
    not played.
    """
    first = max(runs.values(), key=lambda result: len(result.seeds))
    tables: dict[str, Any] = {
        key: {
            name: _on_seeds(getattr(result, key)[RECORDED], result.seeds, first.seeds)
            for name, result in runs.items()
        }
        for key in TABLES
    }
    seconds = {name: result.seconds[RECORDED] for name, result in runs.items()}
    backend = {name: result.backend.get(RECORDED, "") for name, result in runs.items()}
    more: dict[str, Any] = {"seconds": seconds, "backend": backend, "against": first.against}
    return Result(first.seeds, first.checkpoints, first.theta, **tables, **more)


def _on_seeds(table: Any, own: Indices, seeds: Indices) -> Any:
    """Return a table with a row for each of more seeds; new rows are nan, or 0 in counts."""
    if len(own) == len(seeds):
        return table
    filler = np.nan if table.dtype.kind == "f" else 0
    whole = np.full((len(seeds), *table.shape[1:]), filler, dtype=table.dtype)
    places = {int(seed): place for place, seed in enumerate(seeds)}
    whole[[places[int(seed)] for seed in own]] = table
    return whole

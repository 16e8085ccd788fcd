"""True parameters that move from round to round, with regret against the best action of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.simulation.changing import Scheduled
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.truths.kinds import Truth
from partial_monitoring.validation import Array, Indices, brief, items, real_array, whole_number


@dataclass(frozen=True, eq=False)
class MovingTruth(Truth):
    """Parameters that hold one after the other, the same in every run."""

    parameters: Array
    """Shape (q, d)."""
    against: ClassVar[str] = "the best action of each round"

    def possible(self, game: AnyGame, seeds: Indices) -> Array:
        return self.parameters

    def prepared(self, game: AnyGame, horizon: int) -> Truth:
        if game.traits.function and not game.traits.listed:
            raise InvalidInput(f"theta cannot move in a game over a box; got {brief(game)}.")
        checked = [game.parameters.checked(own, "theta") for own in self.parameters]
        return replace(self, parameters=np.stack(checked))

    def path(self, horizon: int) -> tuple[Array, Indices]:
        """Return the parameters of a run (q, d), and which of them holds when, shape (horizon,)."""
        raise NotImplementedError

    def environment(
        self, game: AnyGame, seeds: Indices, horizon: int, noise: str | NoiseFunction | None = None
    ) -> Environment:
        bank, rows = self.path(horizon)
        return Scheduled(game, bank, rows[None], seeds, noise)


@dataclass(frozen=True, eq=False)
class Switching(MovingTruth):
    """One parameter after the other."""

    at: tuple[int, ...] | None = None

    def prepared(self, game: AnyGame, horizon: int) -> Truth:
        if self.at is not None and self.at[-1] >= horizon:
            raise InvalidInput(
                f"at must be rounds before {horizon:,}, the last; got {self.at[-1]:,}."
            )
        return super().prepared(game, horizon)

    def path(self, horizon: int) -> tuple[Array, Indices]:
        count = len(self.parameters)
        starts = np.arange(1, count) * horizon // count if self.at is None else np.array(self.at)
        return self.parameters, np.searchsorted(starts, np.arange(horizon), side="right")


@dataclass(frozen=True, eq=False)
class Drifting(MovingTruth):
    """From one parameter to the next, in small steps."""

    steps: int = 1000

    def path(self, horizon: int) -> tuple[Array, Indices]:
        count = min(self.steps, horizon)
        legs = len(self.parameters) - 1
        place = np.linspace(0.0, legs, count)
        leg = np.minimum(place.astype(int), legs - 1)
        share = (place - leg)[:, None]
        bank = (1.0 - share) * self.parameters[leg] + share * self.parameters[leg + 1]
        return bank, np.arange(horizon) * count // horizon


def switching(parameters: Iterable[ArrayLike], *, at: Iterable[int] | None = None) -> Truth:
    """A true parameter that is replaced by another one, once or several times.

    Parameters
    ----------
    parameters
        The parameters, shape (q, d), in the order in which they hold.
    at
        After how many rounds each of them but the first begins to hold; equal shares unless given.

    Notes
    -----
    Regret is measured against the best action of each round, which moves. ``result.theta`` is the
    average over the rounds.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> theta = pm.truths.switching([[0.9, 0.1], [0.1, 0.9]], at=[30])
    >>> pm.simulate("apple_tasting", "cbp", theta, horizon=100, seeds=2).theta[0]
    array([0.34, 0.66])
    """
    listed = _rows(parameters, 1)
    if at is None:
        return Switching(listed)
    rounds = tuple(whole_number("at", own, at_least=1) for own in items("at", at, " of rounds"))
    if len(rounds) != len(listed) - 1 or any(np.diff(rounds) <= 0):
        raise InvalidInput(
            f"at must be {len(listed) - 1} increasing rounds, one for each parameter but the "
            f"first; got {brief(list(rounds))}."
        )
    return Switching(listed, rounds or None)


def drifting(parameters: Iterable[ArrayLike], *, steps: int = 1000) -> Truth:
    """A true parameter that moves along straight lines from each of several to the next.

    Parameters
    ----------
    parameters
        The parameters to pass, at least two, shape (q, d); all parts take the same time.
    steps
        In how many steps of equal length it moves.

    Notes
    -----
    Regret is measured against the best action of each round, which moves.
    """
    return Drifting(_rows(parameters, 2), whole_number("steps", steps, at_least=2))


def _rows(parameters: Any, fewest: int) -> Array:
    """Return parameters as rows."""
    rows = items("parameters", parameters, " of parameters")
    try:
        found = np.array([real_array("parameters", row, ("d",)) for row in rows])
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or len(found) < fewest:
        raise InvalidInput(
            f"parameters must be a list of at least {fewest} parameters of the same length; got "
            f"{brief(rows)}."
        )
    return found

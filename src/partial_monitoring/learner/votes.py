"""Votes: several answers to one duel, told at once as how many of them the first item won."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import Context
from partial_monitoring.validation import Array, brief, set_fields, whole_number

MOST = 10**9
"""Largest number of votes in one answer."""

UNSAID: Any = object()
"""No observation, which is not even None."""


@dataclass(frozen=True)
class Votes:
    """Several answers to one duel that shows who won, as an observation.

    ``learner.tell(decision, wins=4, of=5)`` tells ``Votes(4, 5)``: the first item has won 4 votes
    and the second one 1. What is learned is the same as from 5 answers to the same duel.

    Parameters
    ----------
    wins
        How many votes the first item has won.
    of
        How many votes there were, at least 1.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.dueling([[0.0], [0.5], [1.0]], feedback="sign")
    >>> learner = pm.Learner(game, seed=0)
    >>> learner.tell(learner.ask(), wins=4, of=5)
    >>> learner.round, learner.history[0]["observation"]
    (6, {'wins': 4, 'of': 5})
    """

    wins: int
    of: int

    def __post_init__(self) -> None:
        of = whole_number("of", self.of, at_least=1, at_most=MOST)
        wins = whole_number("wins", self.wins, at_least=0)
        if wins > of:
            raise InvalidInput(f"wins must be at most of, {of}; got {wins}.")
        set_fields(self, wins=wins, of=of)

    @classmethod
    def told(cls, observation: Any, wins: Any, of: Any) -> Votes:
        """Return votes that are told instead of an observation."""
        if observation is not UNSAID:
            raise InvalidInput(
                f"observation must be left out with wins and of; got {brief(observation)}."
            )
        if wins is None or of is None:
            missing, given = ("of", "wins") if of is None else ("wins", "of")
            raise InvalidInput(f"{missing} must be given along with {given}.")
        return cls(wins, of)

    def to_dict(self) -> dict[str, int]:
        """Return the votes as plain data."""
        return {"wins": self.wins, "of": self.of}

    def mean(self, context: Context, length: int) -> Array:
        """Return what they show on average, between -1 and 1, as a vector of a given length.

        They are refused in a context that has no duels, or none that show who won.
        """
        if not (context.game.traits.duels and context.feedback.chances):
            raise InvalidInput(
                "wins and of are for duels that show who won; tell what was observed instead."
            )
        return np.asarray(np.eye(1, length)[0] * ((2 * self.wins - self.of) / self.of))

    def sides(self, length: int) -> list[tuple[Array, int]]:
        """Return what was shown, as vectors of a given length, and how often.

        It is 1 where the first item has won, and -1 where the second one has.
        """
        each = ((1.0, self.wins), (-1.0, self.of - self.wins))
        return [(np.eye(1, length)[0] * side, often) for side, often in each if often]

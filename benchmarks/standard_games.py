"""The finite games on which regret is compared: standard ones, and games drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

import partial_monitoring as pm

Array = np.ndarray


def pricing(prices: int, cost: float) -> pm.FiniteGame:
    """Return the game of offers a to customers x: x - a is given away, a lost sale has a cost."""
    offers = range(prices)
    losses = [[x - a if a <= x else cost for x in offers] for a in offers]
    return pm.games.finite(losses=losses, signals=[[a <= x for x in offers] for a in offers])


def coins(*means: float) -> tuple[float, ...]:
    """Return the probabilities of all patterns of independent successes."""
    patterns = np.array(list(product((0, 1), repeat=len(means))))
    return tuple(np.where(patterns == 1, means, 1 - np.array(means)).prod(axis=1).tolist())


NAMED = {
    "AT": pm.games.finite(losses=[[1, 0], [0, 1]], signals=["--", "01"]),
    "LE": pm.games.finite(losses=[[1, 1], [1, 0], [0, 1]], signals=["01", "--", "--"]),
    "DP3": pricing(3, cost=2),
    "DP4 c1": pricing(4, cost=1),
    "DP5": pricing(5, cost=2),
    "BB3": pm.games.bernoulli_bandit(3),
}
"""Apple tasting, label-efficient prediction, dynamic pricing and a Bernoulli bandit."""


@dataclass(frozen=True)
class Column:
    """A game against one opponent: a column of the table of regrets."""

    name: str
    game_name: str
    theta: tuple[float, ...]
    """The probabilities of the outcomes."""
    authors: float = np.inf
    """The mean regret of RandCBP after 10,000 rounds by its authors' code (35 to 150 seeds)."""

    @property
    def game(self) -> pm.FiniteGame:
        """The game."""
        return NAMED[self.game_name]

    @cached_property
    def category(self) -> str:
        """Whether the game is easy or hard."""
        return str(pm.analyze(self.game).category)

    @property
    def smallest_gap(self) -> float:
        """What the best of the wrong actions loses per round."""
        means = self.game.rewards @ np.array(self.theta)
        gaps = means.max() - means
        return float(gaps[gaps > 1e-9].min())

    def slow(self, regret: Array, horizon: int) -> Array:
        """Return which seeds still lose half the smallest gap per round in the second half, (n,).

        Takes the regret after half of the rounds and after all of them, shape (n, 2).
        """
        return np.asarray(regret[:, 1] - regret[:, 0] >= horizon / 4 * self.smallest_gap)


TABLE = (
    Column("AT .9", "AT", (0.9, 0.1), 1.7),
    Column("AT .45", "AT", (0.45, 0.55), 37.0),
    Column("LE .9", "LE", (0.9, 0.1), 9.3),
    Column("LE .45", "LE", (0.45, 0.55), 277.0),
    Column("DP3", "DP3", (0.2, 0.5, 0.3), 32.3),
    Column("DP5", "DP5", (0.1, 0.2, 0.3, 0.3, 0.1), 224.0),
    Column("BB3 .9", "BB3", coins(0.9, 0.5, 0.1), 5.2),
    Column("BB3 .6", "BB3", coins(0.6, 0.5, 0.5), 60.5),
)

HELD_OUT = (
    Column("AT .3", "AT", (0.3, 0.7)),
    Column("AT .55", "AT", (0.55, 0.45)),
    Column("LE .3", "LE", (0.3, 0.7)),
    Column("DP3 bimodal", "DP3", (0.45, 0.1, 0.45)),
    Column("DP4 c1", "DP4 c1", (0.25, 0.35, 0.25, 0.15)),
    Column("DP5 bimodal", "DP5", (0.1, 0.35, 0.1, 0.35, 0.1)),
    Column("BB3 .7", "BB3", coins(0.7, 0.6, 0.2)),
)

COLUMNS = TABLE + HELD_OUT


def random_games(count: int, draw: int) -> dict[str, pm.FiniteGame]:
    """Draw easy or hard games: losses in quarters, two signals.

    They have 3 to 5 actions and 3 or 4 outcomes.
    """
    rng = np.random.default_rng(draw)
    games: dict[str, pm.FiniteGame] = {}
    while len(games) < count:
        shape = rng.integers(3, 6), rng.integers(3, 5)
        losses, signals = rng.integers(0, 5, shape) / 4, rng.integers(0, 2, shape)
        game = pm.games.finite(losses=losses, signals=signals.tolist())
        if pm.analyze(game).category in ("easy", "hard"):
            games[f"game {len(games)}"] = game
    return games

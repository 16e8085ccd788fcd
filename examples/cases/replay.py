"""Replay rows of data as rounds of a game, in many random orders side by side.

The data decide what an action shows and earns; nothing is drawn from a model of ours. Two kinds of
rows can be replayed. A *complete* row says what every action would have earned: a tumour is benign
or not, whatever the doctor does. Each row is then one round, and an order is a permutation. A row
of a *randomised experiment* knows one action only: it is somebody who was quoted one price. If the
policy plays that price, one of those to whom it was quoted is drawn, with replacement, to answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rows:
    """Rows of data, and the game that is played on them."""

    game: Any
    shown: list[list[Any]]
    """What each action shows, rows by actions."""
    earned: np.ndarray
    """What each action earns, (rows, k); NaN where the row does not say."""
    best: Any
    """What to compete with: an action, or one per row."""
    rounds: int
    contexts: np.ndarray | None = None
    """What is seen of each row before acting, (rows,), in games with contexts."""

    def answers(self, orders: int, rng: np.random.Generator) -> np.ndarray:
        """Return the row that answers each action in each round, (orders, rounds, k)."""
        known = ~np.isnan(self.earned)
        if known.all():
            order = np.array([rng.permutation(len(known)) for _ in range(orders)])
            return np.repeat(order[:, : self.rounds, None], self.game.k, axis=2)
        size = (orders, self.rounds)
        return np.stack([rng.choice(np.flatnonzero(own), size) for own in known.T], axis=2)

    @property
    def lost(self) -> np.ndarray:
        """What is lost by each action, (rows, k); on average if a row knows one action only."""
        earned = self.earned
        if np.isnan(earned).any():
            earned = np.broadcast_to(np.nanmean(earned, axis=0), earned.shape)
        return earned[np.arange(len(earned)), self.best][:, None] - earned


def play(rows: Rows, policy: Any, orders: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the regret after each round, (orders, rounds), and the plays, (orders, k)."""
    game, each = rows.game, np.arange(orders)
    answers, lost = rows.answers(orders, np.random.default_rng(seed)), rows.lost
    encode = game.feedback().encode  # from a signal to the vector that policies are given
    seen = np.array([[encode(game, a, s, game.m) for a, s in enumerate(row)] for row in rows.shown])
    regret, plays = np.zeros((orders, rows.rounds)), np.zeros((orders, game.k))
    state, rng = policy.init(game, orders), np.random.default_rng([seed, 1])
    draws = (policy.draws(state),) if hasattr(policy, "draws") else ()
    for t in range(rows.rounds):
        context = {}
        if rows.contexts is not None:
            context = {"context": rows.contexts[answers[:, t, 0]]}
        action = policy.decide(state, rng.random((orders, *draws)), **context).action
        row = answers[each, t, action]
        state = policy.update(state, action, seen[row, action], **context)
        regret[:, t] = lost[row, action]
        plays[each, action] += 1
    return regret.cumsum(axis=1), plays

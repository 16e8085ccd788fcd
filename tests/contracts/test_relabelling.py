"""Names do not matter: permuted actions, outcomes and signals are played with the same law."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies import POLICIES
from partial_monitoring.policies.needs import initial_state_of, needs_of

ROUNDS, SEEDS = 150, 300

SLOW = {"bayesian_ids": 30, "exp_by_opt": 60}
"""Seeds of policies that take long."""

GAMES = {
    "path": (pm.games.finite(losses=[[0, 1], [0.3, 0.4], [1, 0]], signals=["--", "01", "--"]), 0.8),
    "arms": (
        pm.FiniteGame([[0.0, 0.0, 1.0, 1.0], [0.07, 0.91, 0.07, 0.91]], ["0011", "0101"]),
        None,
    ),
    "trivial": (pm.games.finite(losses=[[0, 1, 2], [3, 2, 3]], signals=["abb", "aab"]), None),
}
"""A game whose middle action shows everything, a bandit whose arms rarely tie, and one with nothing
to learn; with the probability of the first outcome."""


def theta_of(game: Any, first: float | None) -> Any:
    if first is not None:
        return np.array([first, 1 - first])
    return np.arange(1.0, game.d + 1) / np.arange(1.0, game.d + 1).sum()


def relabelled(game: Any) -> tuple[Any, Any, Any]:
    """The game with its actions and outcomes in another order and other signals, and the orders."""
    actions = np.roll(np.arange(game.k), 1)
    outcomes = np.roll(np.arange(game.d)[::-1], 1)
    signals = [[f"new {game.signals[a][z]}" for z in outcomes] for a in actions]
    return pm.FiniteGame(game.rewards[actions][:, outcomes], signals), actions, outcomes


@cache
def plays(name: str, which: str, *, renamed: bool) -> Any:
    """How often each action was played, in the order of the first game, shape (seeds, k)."""
    game, first = GAMES[which]
    theta, order = theta_of(game, first), np.arange(game.k)
    if renamed:
        game, order, outcomes = relabelled(game)
        theta = theta[outcomes]
    seeds = SLOW.get(name, SEEDS)
    result = pm.simulate(game, {"own": name}, theta, horizon=ROUNDS, seeds=seeds)
    counts = np.empty((seeds, game.k))
    counts[:, order] = result.plays["own"][:, -1]
    return counts


def played(name: str) -> list[str]:
    """The games of this file that a policy plays."""
    if needs_of(POLICIES[name]()).contexts or needs_of(POLICIES[name]()).function:
        return []
    found = []
    for which, (game, _) in GAMES.items():
        try:
            initial_state_of(POLICIES[name](), game, 1)
        except InvalidInput:
            continue
        found.append(which)
    return found


@pytest.mark.parametrize(("name", "which"), [(n, g) for n in POLICIES for g in played(n)])
def test_the_law_of_play_does_not_depend_on_names(name: str, which: str) -> None:
    """Up to ties, which the first action wins: two plays more or less."""
    one, two = plays(name, which, renamed=False), plays(name, which, renamed=True)
    error = np.sqrt((one.var(axis=0, ddof=1) + two.var(axis=0, ddof=1)) / len(one))
    assert (abs(one.mean(axis=0) - two.mean(axis=0)) <= 4.5 * error + 2).all()

"""Rounds of finite games that are given, and the same game under other names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import partial_monitoring as pm

Round = tuple[int, int]
"""An action and an outcome."""


def history(game: pm.FiniteGame, rounds: int, seed: int) -> list[Round]:
    """Actions and outcomes, all equally likely."""
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(game.k)), int(rng.integers(game.d))) for _ in range(rounds)]


def own_history(policy: Any, game: pm.FiniteGame, rounds: int, seed: int) -> list[Round]:
    """Outcomes that are equally likely, and actions that the policy draws."""
    rng, state, played = np.random.default_rng(seed), policy.init(game, 1), []
    for _ in range(rounds):
        a, x = int(policy.decide(state, rng.random(1)).action[0]), int(rng.integers(game.d))
        state = policy.update(state, np.array([a]), game.observation_maps[a, :, x][None])
        played.append((a, x))
    return played


def after(policy: Any, game: pm.FiniteGame, played: Sequence[Round]) -> Any:
    """Return the state of one replicate after rounds; actions are played only where possible."""
    state = policy.init(game, 1)
    for a, x in played:
        possible = policy.decide(state, np.full(1, 0.5)).distribution[0] > 0
        if possible[a]:
            state = policy.update(state, np.array([a]), game.observation_maps[a, :, x][None])
        else:
            state = policy.update(state, np.array([a]), np.zeros((1, game.m)))
    return state


def relabelled(game: pm.FiniteGame, seed: int) -> tuple[pm.FiniteGame, list[int], list[int]]:
    """Return the game with other names, and which action and outcome each of its own is."""
    rng = np.random.default_rng(seed)
    actions, outcomes = rng.permutation(game.k).tolist(), rng.permutation(game.d).tolist()
    rewards = game.rewards[np.ix_(actions, outcomes)]
    names = [dict(zip(own, rng.permutation(len(own)), strict=True)) for own in game.symbols]
    signals = [[f"s{names[a][game.signals[a][x]]}" for x in outcomes] for a in actions]
    return pm.games.finite(rewards=rewards, signals=signals), actions, outcomes

"""Which policies play which kinds of games, by what policies state to need."""

from __future__ import annotations

from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.policies import POLICIES, name_of
from partial_monitoring.policies.needs import CATEGORIES, needs_of
from tests.oracles.every_game import KINDS, game_of

SMALL: dict[str, Any] = {
    "duels": lambda: pm.games.dueling(np.eye(3)),
    "kernel duels": lambda: pm.games.kernelized_dueling([0.0, 0.4, 1.0]),
    "kernel": lambda: pm.games.kernelized_bandit([0.0, 0.3, 0.5, 1.0]),
}
"""Kinds of games with fewer actions, to be played by every policy."""


def shows_reward(game: Any) -> bool:
    """Whether the reward of every action follows from what it shows, on the directions of Theta."""
    own = game.linear
    directions = own.parameters.difference_basis()
    for action in range(own.k):
        rows = own.rows(action) @ directions
        both = np.concatenate([rows, own.features[action][None] @ directions])
        if np.linalg.matrix_rank(both, tol=1e-8) > np.linalg.matrix_rank(rows, tol=1e-8):
            return False
    return True


def is_learnable_alone(game: Any) -> bool:
    """Whether every context shows symbols from which it can be learned by itself."""
    if not all(own.noise in ("outcome", "bernoulli", "sign") for own in game.games):
        return False
    return all(pm.analyze(own).category != "hopeless" for own in game.games)


def is_apple_tasting(game: Any) -> bool:
    """Whether the same one of two actions shows a binary label in every context."""
    symbols = {"outcome": 1, "bernoulli": 2, "sign": 2}
    shown = [
        tuple(symbols.get(own.noise, 9) * len(rows) for rows in map(own.rows, range(own.k)))
        for own in game.games
    ]
    silent = symbols.get(game.games[0].noise) == 1  # a single symbol says nothing
    return set(shown) in ({(int(silent), 2)}, {(2, int(silent))}) and game.k == 2


AFTER_LOOKING = {
    "cbpside": is_learnable_alone,
    "randcbpside": is_learnable_alone,
    "pg_ts": is_apple_tasting,
    "pg_ids": is_apple_tasting,
}
"""Which games with contexts policies play that have to look at their contexts."""


def suits(policy: Any, game: Any) -> bool:
    """Whether a game is one that a policy states to be made for, and is found to be."""
    needs, traits = needs_of(policy), game.traits
    games = game.games if traits.contexts else (game,)
    if needs.listed and not traits.listed:
        return False
    if needs.finite > traits.finite or needs.function > traits.function:
        return False
    if needs.contexts is not None and needs.contexts != traits.contexts:
        return False
    if needs.duels is not None and any(own.traits.duels != needs.duels for own in games):
        return False
    partial = getattr(policy, "allow_partial", False)
    if needs.own_reward and traits.listed and not partial:
        return all(map(shows_reward, games))
    if needs.hardest is not None and not policy.allow_outside:
        found = pm.analyze(game).category
        return CATEGORIES.index(found) <= CATEGORIES.index(needs.hardest)
    looks = AFTER_LOOKING.get(name_of(policy))
    return looks is None or looks(game)


def played_game(kind: str) -> Any:
    return SMALL[kind]() if kind in SMALL else game_of(kind)


EASY = "games.apple_tasting"
"""For policies that play easy finite games only: those among the kinds are hard."""

PLAYED = (*KINDS, EASY, "games.contextual_apple_tasting")
"""All kinds of games, and two for policies that play no other."""

PAIRS = [
    (name, kind) for name in POLICIES for kind in PLAYED if suits(POLICIES[name](), game_of(kind))
]

"""What a policy needs of a game, as facts, and the one place where games are refused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.classify import analyze
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.validation import Array, brief

CATEGORIES = ("trivial", "easy", "learnable", "hard", "hopeless")
"""The classes of games, from the easiest on."""

SHOWN = 1e-8
"""A reward is shown by an action if less than this fraction of it is left over."""


@dataclass(frozen=True)
class Needs:
    """What a policy needs of the games it plays; True: only these, False: all but these."""

    listed: bool = True
    """Actions that can be listed."""
    finite: bool = False
    """A finite game."""
    function: bool = False
    """An unknown function."""
    duels: bool | None = None
    """Duels, of which it chooses the items; None: it plays pairs like any other actions."""
    contexts: bool | None = None
    """Contexts; None: it plays with and without."""
    own_reward: bool = False
    """Actions that show their own reward, unless the policy has the option ``allow_partial``."""
    oracle: bool = False
    """It also plays games whose actions an oracle finds (pm.OracleGame)."""
    hardest: str | None = None
    """A game that is at most "easy" (locally observable) or "hard" (globally observable), unless
    the policy has the option ``allow_outside``; None: it does not ask."""


def needs_of(policy: Any) -> Needs:
    """Return the needs of a policy; one that does not state them plays what it accepts.

    It is handed contexts if its ``decide`` has a parameter of that name.
    """
    stated: Needs | None = getattr(policy, "needs", None)
    if stated is not None:
        return stated
    takes = "context" in signature(policy.decide).parameters
    return Needs(listed=False, contexts=None if takes else False, oracle=True)


def initial_state_of(policy: Any, game: AnyGame, replicates: int) -> Any:
    """Return the state of a policy before the first round of a game that it is made for."""
    refuse(policy, game)
    return policy.init(game, replicates)


def refuse(policy: Any, game: AnyGame) -> None:
    """Refuse a game that a policy is not made for, in one sentence."""
    name, needs, traits = type(policy).__name__, needs_of(policy), game.traits
    if needs.contexts and not traits.contexts:
        raise InvalidInput(f"{name} plays games with contexts; got {brief(game)}.")
    about_duels = needs.duels or (traits.duels and needs.duels is False)
    if needs.function and not (traits.function or about_duels):
        raise InvalidInput(f"{name} plays kernel games (pm.KernelGame); got {brief(game)}.")
    if needs.contexts is False and traits.contexts:
        count = len(game.contexts)  # type: ignore[attr-defined]
        raise InvalidInput(f"{name} takes no contexts; the game has {count}.")
    if needs.duels and not (traits.duels and traits.function >= needs.function):
        kind = "kernelized duels (pm.games.kernelized_dueling)"
        kind = kind if needs.function else "dueling games (pm.games.dueling)"
        raise InvalidInput(f"{name} plays {kind}; got {brief(game)}.")
    if needs.finite and not traits.finite:
        raise InvalidInput(f"{name} plays finite games (pm.FiniteGame); got {brief(game)}.")
    if traits.oracle and needs.oracle:
        return
    if traits.oracle or (needs.listed and not traits.listed):
        raise InvalidInput(f"{name} plays games whose actions can be listed; got {brief(game)}.")
    games = game.games if traits.contexts else (game,)  # type: ignore[attr-defined]
    for own in games:
        refuse_actions(policy, own, contexts=traits.contexts)
    if needs.hardest is not None and not policy.allow_outside:
        _refuse_class(name, game, needs.hardest)


@lru_cache(maxsize=8)
def analysis_of(game: Any) -> Any:
    """Return the analysis of a game, which does not change; those of the last games are kept."""
    return analyze(game)


def _refuse_class(name: str, game: Any, hardest: str) -> None:
    """Refuse a game that is harder than those for which an algorithm is made."""
    found = analysis_of(game).category
    if CATEGORIES.index(found) > CATEGORIES.index(hardest):
        raise InvalidInput(
            f"{name} plays {hardest} games at most, and this one is {found}; pass "
            f"allow_outside=True to play anyway."
        )


def refuse_actions(policy: Any, game: Any, *, contexts: bool) -> None:
    """Refuse the actions of a game, or of one of its contexts."""
    name, needs = type(policy).__name__, needs_of(policy)
    if needs.duels is False and game.traits.duels:
        other = "IDS or ContextualIDS" if contexts else "DuelingIDS"
        other = "DuelingIDS or DuelingTS" if needs.function else other
        raise InvalidInput(f"{name} cannot play duels, which show differences; use {other}.")
    if not needs.own_reward or policy.allow_partial or game.shows_own_reward:
        return
    silent = np.flatnonzero(~shows_reward(game.linear))
    if len(silent):
        raise InvalidInput(
            f"{name} plays bandits, whose actions show their own reward, which action "
            f"{brief(game.actions[silent[0]])} does not; pass allow_partial=True to play anyway."
        )


def refuse_available(policy: object, available: Array | None) -> None:
    """Refuse a choice among some actions for a policy that divides by its own probabilities."""
    if available is not None:
        raise InvalidInput(
            f"available cannot be given with {type(policy).__name__}, whose estimates need all "
            f"actions."
        )


def shows_reward(game: Any) -> NDArray[np.bool_]:
    """Return which actions show their own reward: phi_a is in the span of the rows of M_a, (k,).

    On the directions of Theta; a constant part of the reward is known and need not be shown.
    """
    features, maps = game.reduced.features, game.reduced.observation_maps
    if game.m == 1 and np.array_equal(maps[:, 0], features):
        return np.ones(game.k, dtype=bool)
    if game.m == 0:
        return np.asarray(~features.any(axis=1))
    lengths = np.linalg.norm(game.observation_maps, axis=2, keepdims=True)
    unit = maps / np.where(lengths > 0, lengths, 1.0)
    # A row that shows nothing of Theta is rounding noise.
    unit = unit * (np.linalg.norm(unit, axis=2, keepdims=True) > RANK_TOLERANCE)
    weights = features[:, None, :] @ np.linalg.pinv(unit, rcond=RANK_TOLERANCE)  # (k, 1, m)
    rest = features - (weights @ unit)[:, 0]
    sizes = np.linalg.norm(game.features, axis=1)
    return np.asarray(np.linalg.norm(rest, axis=1) <= SHOWN * sizes)

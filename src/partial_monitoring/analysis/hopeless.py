"""Games in which nobody can learn are refused before they are played."""

from __future__ import annotations

import numpy as np

from partial_monitoring.analysis.classify import analyze
from partial_monitoring.analysis.contextual.analysis import read_combinations
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.dueling import Duels
from partial_monitoring.numerics.linalg import row_space

MOST_NUMBERS = 1000
"""Kernel games of more numbers than this are not looked at, which would take long."""


def refuse_hopeless(game: AnyGame) -> None:
    """Refuse a game in which no policy can learn, unless that is clearly not the case."""
    if isinstance(game, ContextualGame):
        _refuse_hopeless_contexts(game)
        return
    if isinstance(game, Duels):
        return
    if game.traits.function and (game.shows_own_reward or game.d > MOST_NUMBERS):
        return
    plain = game.linear
    reduced = plain.reduced
    seen = reduced.basis.T @ reduced.difference_basis  # (r, D)
    away = reduced.features - reduced.features[0]
    basis = row_space(seen) if seen.size else np.zeros((reduced.dimension, 0))
    rest = away - away @ basis @ basis.T
    size = float(np.abs(away).max(initial=0.0))
    if np.abs(rest).max(initial=0.0) <= 1e-9 * size:
        return
    analysis = analyze(plain)
    if analysis.category == "hopeless":
        unseen = [p for p, r in analysis.global_readings.items() if not r.seen]
        a, b = unseen[0]
        raise InvalidInput(
            f"actions {plain.actions[a]!r} and {plain.actions[b]!r} cannot be told apart by any "
            f"feedback, so this game is hopeless; pass allow_hopeless=True to play it anyway."
        )


def _refuse_hopeless_contexts(game: ContextualGame) -> None:
    """Contexts may help each other; only what none of them shows is hopeless."""
    maps = np.concatenate([own.observation_maps.reshape(-1, game.d) for own in game.games])
    q = game.parameters.difference_basis()
    seen = np.linalg.matrix_rank(maps @ q) if maps.size else 0
    if seen == q.shape[1] and (game.context_distribution > 0).all():
        return
    for combination in read_combinations(game)[2]:
        if not combination.seen:
            own = game.at(combination.context)
            one, two = own.actions[combination.first], own.actions[combination.second]
            raise InvalidInput(
                f"actions {one!r} and {two!r} of context {game.contexts[combination.context]!r} "
                f"cannot be told apart by anything that any context shows, so this game is "
                f"hopeless; pass allow_hopeless=True to play it anyway."
            )

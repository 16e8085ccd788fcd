"""What all contexts together show about the actions that can be best in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from partial_monitoring.analysis.analysis import Analysis, analyze_game
from partial_monitoring.analysis.contextual.alignment import possible_contexts
from partial_monitoring.analysis.contextual.joint_game import (
    JointCertificate,
    JointGame,
    joint_game,
)
from partial_monitoring.analysis.observability import span_of
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.validation import brief


def joint_certificates(
    game: ContextualGame,
) -> tuple[tuple[Analysis, ...], JointGame, tuple[JointCertificate, ...]]:
    """Return the contexts by themselves, the joint game, and the certificates of what matters."""
    analyses = tuple(analyze_game(own) for own in game.games)
    joint, possible = joint_of(game, analyses), possible_contexts(game)
    whole = span_of(joint.game, joint.exact, range(joint.game.k))
    found = []
    for z in possible:
        first, *others = analyses[z].pareto
        for b in others:
            reading = whole.certify(joint.index[z, first], joint.index[z, b])
            found.append(JointCertificate(z, first, b, joint.places, reading))
    return analyses, joint, tuple(found)


def joint_of(game: ContextualGame, analyses: Sequence[Analysis]) -> JointGame:
    """Return the joint game; proofs are either exact throughout or not at all."""
    joint = joint_game(game)
    exact = all(analyses[z].cells.exact for z in possible_contexts(game))
    return joint if exact else replace(joint, exact=None)


def refuse_hopeless_contexts(game: ContextualGame) -> None:
    """Refuse a game with contexts in which no policy can learn, even from all contexts together."""
    maps = np.concatenate([own.observation_maps.reshape(-1, game.d) for own in game.games])
    q = game.parameters.difference_basis()
    seen = np.linalg.matrix_rank(maps @ q) if maps.size else 0
    if seen == q.shape[1] and (game.context_distribution > 0).all():
        return
    for found in joint_certificates(game)[2]:
        if not found.seen:
            own = game.at(found.context)
            one, two = own.actions[found.first], own.actions[found.second]
            raise InvalidInput(
                f"actions {brief(one)} and {brief(two)} of context "
                f"{brief(game.contexts[found.context])} cannot be told apart by "
                f"anything that any context shows, so this game is hopeless; pass "
                f"allow_hopeless=True to play it anyway."
            )

"""What is done before the first request: to decide once, so that nobody waits for a compiler."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from partial_monitoring.learner import session as steps


def warm(hosted: Any) -> None:
    """Let a study decide and learn in each of its contexts once, without storing anything."""
    spec, session = hosted._spec, hosted._session
    for context in contexts(hosted):
        with suppress(Exception):  # whoever asks is told what is wrong
            request = {"context": context, "now": 0.0, "token": hosted._token}
            with spec.patience:
                steps.advance(spec, session, steps.decide(spec, session, request))


def contexts(hosted: Any, most: int = 3) -> list[Any]:
    """Return some contexts of a study; [None] if its game has none."""
    game = hosted.game
    return list(range(min(most, len(game.games)))) if game.traits.contexts else [None]

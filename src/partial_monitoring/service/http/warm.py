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
                step = steps.decide(spec, session, request)
                after = steps.advance(spec, session, step)
                steps.decide(spec, after, request)  # while another decision is open
                told = {"decision": step.event["decision"], "action": None}
                told["observation"] = observation(step.context.game, step.action)
                steps.advance(spec, after, steps.observe(spec, after, told))


def observation(game: Any, action: int) -> Any:
    """Return something that an action can show."""
    return game.signal(action, 0) if game.traits.finite else [0.0] * int(game.row_counts[action])


def contexts(hosted: Any, most: int = 3) -> list[Any]:
    """Return some contexts of a study; [None] if its game has none."""
    game = hosted.game
    return list(range(min(most, len(game.games)))) if game.traits.contexts else [None]

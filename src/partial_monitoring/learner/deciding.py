"""What a policy decides, as an event and a decision with its reasons. No input or output."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.decision import Decision
from partial_monitoring.learner.identity import decision_id
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import ROUNDING, Request, Step
from partial_monitoring.model.any_game import Context
from partial_monitoring.policies.policy import Choices, check_choices, expecting
from partial_monitoring.validation import brief, items

MOST_MASKED = 10**8
"""Largest number of actions among which ``available`` may be given."""


def decide(spec: Spec, session: Session, request: Request) -> Step:
    """Return the ask that answers a request: what the policy chooses."""
    context = spec.context(request.get("context"))
    available, mask, offered = request.get("available"), None, None
    if available is not None:
        mask, offered = available_actions(spec, context, available)
    uniforms = spec.uniforms(session.asked)
    choice = spec.policy.decide(deciding(spec, session), uniforms, mask, **context.options)
    if spec.foreign:
        check_choices(choice, context.game.k if context.positions is None else spec.game.k, 1)
    decision = _decision(spec, session, request.get("token"), context, choice, mask)
    event = {
        "seq": session.seq + 1,
        "kind": "ask",
        "decision": decision.id,
        "round": decision.round,
        "action": decision.action,
        "label": decision.label,
        "probability": decision.probability,
    }
    event |= context.game.exact_form(decision.action)
    if choice.probed is not None:
        event["probed"] = decision.probed
    if context.name is not None:
        event["context"] = spec.logged(context)
    if offered is not None:
        event["available"] = offered
    now = request.get("now")
    if now is not None:  # clocks may go backwards, decisions do not
        event["time"] = now if session.time is None else max(now, session.time)
    return Step(event, context, decision.action, (), decision)


def deciding(spec: Spec, session: Session) -> Any:
    """Return the state from which the policy decides: with open decisions, as it expects them."""
    if spec.pending != "expected" or not session.open:
        return session.state
    return expecting(spec.policy, session.state, session.open.pending())


def _decision(
    spec: Spec, session: Session, token: str | None, context: Context, choice: Choices, mask: Any
) -> Decision:
    """Return what a policy chose, and why."""
    chosen = int(choice.action[0])
    action, game = context.local(chosen), context.game
    if mask is not None and not mask[chosen]:
        raise InvalidInput(
            f"a policy must choose an action that is available; got "
            f"{brief(game.action_label(action))}."
        )
    where, considered = action, None
    if choice.candidates is not None:
        where, considered = context.local(int(choice.positions[0])), choice.candidates[0]
    if mask is not None:
        mask = mask if context.positions is None else mask[context.positions]
        mask = mask if considered is None else mask[considered]
    probability = float(choice.distribution[0][context.outer(where)])
    if not 0 <= probability <= 1 + ROUNDING:
        raise InvalidInput(f"a policy must choose with a probability; got {probability}.")
    known = {
        "id": decision_id(token, session.asked),
        "round": session.round,
        "action": action,
        "label": game.action_label(action),
        "probability": probability,
        "place": where,
        "context": context.name,
        "decided_by": choice.decided_by,
        "units": spec.units,
        "considered": considered,
        "available": mask,
        "probed": choice.probed is not None and bool(choice.probed[0]),
        "floor": 0.0 if choice.floor is None else float(choice.floor[0]),
        "promise": spec.promise,
        **game.described(action),
    }
    return Decision.later(known, partial(_reason, context, choice))


def _reason(context: Context, choice: Choices, name: str) -> Any:
    """Return one of the fields of a decision that say why, which few ask for."""
    game, considered = context.game, choice.candidates
    if name == "labels":
        if considered is None:
            return game.actions
        return game.action_labels(considered[0])
    value = getattr(choice, name)
    if name in ("ratio", "beta"):
        return float("nan") if value is None else float(value[0])
    if value is None:
        return None
    return value[0] if name == "estimate" else context.own(value)


def available_actions(
    spec: Spec, context: Context, available: Iterable[int | str]
) -> tuple[Any, list[str]]:
    """Return the mask of the actions that can be played (k,), and their labels."""
    given = items("available", available, " of actions")
    if context.game.k > MOST_MASKED:
        raise InvalidInput(f"available cannot be given among {context.game.k} actions.")
    mask = np.zeros(context.game.k if context.positions is None else spec.game.k, dtype=bool)
    chosen = [context.game.action_index(action) for action in given]
    if not chosen:
        raise InvalidInput("available must hold at least one action; got none.")
    mask[[context.outer(action) for action in chosen]] = True
    return mask, [context.game.action_label(action) for action in chosen]

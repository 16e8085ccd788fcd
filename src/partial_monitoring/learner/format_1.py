"""Files that the first version of ``Learner.save`` wrote: decisions and observations in two lists.

They hold the order of the observations, but not which decision an observation belongs to, nor
which of them were reported as logged data. An observation goes to an earlier decision for the same
action and context that showed the same; one that fits none is history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.observations import from_log, from_vector, log_form
from partial_monitoring.learner.session import encoded, fold
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.states import alike, saved, with_arrays
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import boolean


def restored(data: Mapping[str, Any]) -> tuple[Spec, Session, list[Event]]:
    """Return the spec, the session and the events of a learner from the content of its file."""
    settings = {"allow_hopeless": boolean("allow_hopeless", data["allow_hopeless"])}
    spec = Spec.from_dict({**data, "settings": settings})
    events = [{"seq": seq, **event} for seq, event in enumerate(_events(spec, data), 1)]
    session = spec.start
    for event in events:
        session = fold(spec, session, event)
    if sorted(session.open) != sorted(data["open"]):
        raise InvalidInput("its observations do not fit its decisions.")
    if data["arrays"] is not None and game_to_dict(spec.game) == data["game"]:
        # The arrays of an estimate are beside those of the state that holds it.
        arrays = data["arrays"] | {"estimate": data["arrays"]}
        start = spec.start.state
        if not alike(saved(with_arrays(start, arrays), start), saved(session.state, start)):
            raise InvalidInput("its state is not what its observations make.")
    return spec, session, events


def _events(spec: Spec, data: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events: every ask once all observations that preceded it have come."""
    asks, left = list(data["history"]), set(data["open"])
    candidates: dict[Any, list[Any]] = {}
    for count, (action, vector, context) in enumerate([*data["told"], (None, None, None)]):
        while asks and asks[0]["round"] <= count + 1:
            row = asks.pop(0)
            number, seen = row.pop("id"), log_form(row.pop("observation"), signal=spec.signals)
            yield {"kind": "ask", "decision": number, **row}
            if number not in left:
                key = _key(row["action"], _shown(spec, row, seen), row.get("context"))
                candidates.setdefault(key, []).append((number, seen))
        if action is None:
            return
        fitting = candidates.get(_key(action, vector, context))
        if fitting:
            number, seen = fitting.pop(0)
            yield {"kind": "tell", "decision": number, "observation": seen}
            continue
        game = spec.read_context(context).game
        event = {"kind": "history", "action": action, "label": game.action_label(action)}
        given = {} if context is None else {"context": context}
        shown = from_vector(game, action, np.array(vector, dtype=float))
        yield event | given | {"observation": shown}


def _key(action: int, vector: list[float], context: Any) -> Any:
    return action, tuple(vector), dumps(context, sort_keys=True)


def _shown(spec: Spec, row: Mapping[str, Any], observation: Any) -> list[float]:
    """Return the vector of what was observed after a decision."""
    context, action = spec.read_context(row.get("context")), row["action"]
    seen = from_log(context.game, action, observation)
    return encoded(spec, context, action, seen).tolist()  # type: ignore[no-any-return]

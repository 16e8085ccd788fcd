"""Files of learners that were changed: refused, or the learner is the one that was saved.

Each change is made twice: as it is, and with the checksum of the changed content. A forged file
that loads must hold what its own events make.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.learner import files
from tests.attacks.judge import Attack, Wrong
from tests.attacks.learners import KINDS, options, played
from tests.attacks.spoiling import Spoiled, at, damaged, replaced, spoiled_leaves


def attacks(seed: int) -> Iterator[Attack]:
    rng = random.Random(seed)
    for kind in KINDS:
        learner = played(kind)
        learner.ask(**options(learner))  # one decision stays open
        learner.save("valid.json")
        content = Path("valid.json").read_bytes()
        saved = known(pm.Learner.load("valid.json"))
        data = json.loads(content)
        changes = [
            *spoiled_leaves(data),
            *impossible(data),
            *damaged(content, rng, cuts=20, flips=80),
        ]
        for how, changed in changes:
            yield Attack(f"{kind}: {how}", partial(load, changed, saved))
            yield Attack(f"{kind}, forged: {how}", partial(load_forged, changed))


def impossible(data: Any) -> Iterator[tuple[str, Spoiled]]:
    """Yield files that are well formed, of states that cannot be."""
    events = data["events"]
    for how, other in {
        "events backwards": events[::-1],
        "events twice": events * 2,
        "no events": [],
        "one event less": events[1:],
    }.items():
        yield how, partial(as_json, data | {"events": other})
    for path in arrays(data["snapshot"], ("snapshot",)):
        place, array = ".".join(path), at(data, path)
        negated = (-np.array(array, dtype=float)).tolist()
        yield f"{place} negated", partial(replaced, data, path, negated)
        yield f"{place} twice as long", partial(replaced, data, path, array * 2)


def as_json(data: Any) -> bytes:
    return json.dumps(data).encode()


def arrays(data: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the places of lists of numbers that are not all zero."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from arrays(value, (*path, key))
    elif isinstance(data, list) and data and is_numbers(data):
        yield path


def is_numbers(data: list[Any]) -> bool:
    try:
        return bool(np.any(np.array(data, dtype=float) != 0))
    except (TypeError, ValueError):
        return False


def known(learner: pm.Learner) -> tuple[Any, ...]:
    """Return what a learner is and knows."""
    decision = learner.ask(**options(learner))
    return learner.events[:-1], decision.action, decision.distribution.tolist()


def forged(content: bytes) -> bytes:
    """Return a file with the checksum of its content, if it has any."""
    try:
        data = json.loads(content)
        return as_json(data | {"digest": files._digest(*files._texts(data))})
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return content


def load_forged(content: Spoiled) -> None:
    Path("learner.json").write_bytes(forged(content()))
    found = pm.Learner.load("learner.json")
    again = pm.Learner.replay(
        found.game,
        found.policy,
        found.seed,
        found.events,
        allow_hopeless=found.allow_hopeless,
        pending=found._spec.pending or "ignored",  # missing in files of earlier versions
    )
    if known(found)[1:] != known(again)[1:]:
        raise Wrong("the learner is not what its events make")


def load(content: Spoiled, saved: tuple[Any, ...]) -> None:
    Path("learner.json").write_bytes(content())
    if known(pm.Learner.load("learner.json")) != saved:
        raise Wrong("another learner was loaded")

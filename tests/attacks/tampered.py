"""Files of learners that were changed: refused, or the learner is the one that was saved."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import partial_monitoring as pm
from tests.attacks.judge import Attack, Wrong
from tests.attacks.learners import KINDS, options, played
from tests.attacks.spoiling import damaged, spoiled_leaves


def attacks(seed: int) -> Iterator[Attack]:
    rng = random.Random(seed)
    for kind in KINDS:
        learner = played(kind)
        learner.ask(**options(learner))  # one decision stays open
        learner.save("valid.json")
        content = Path("valid.json").read_bytes()
        saved = known(pm.Learner.load("valid.json"))
        data = json.loads(content)
        changes = [*spoiled_leaves(data), *impossible(data), *damaged(content, rng, 20, 80)]
        for how, changed in changes:
            yield Attack(f"{kind}: {how}", partial(load, changed, saved))


def impossible(data: Any) -> Iterator[tuple[str, bytes]]:
    """Yield files that are well formed, of states that cannot be."""
    changed = json.loads(json.dumps(data))
    yield "events backwards", json.dumps(changed | {"events": data["events"][::-1]}).encode()
    yield "events twice", json.dumps(changed | {"events": data["events"] * 2}).encode()
    yield "no events", json.dumps(changed | {"events": []}).encode()
    yield "one event less", json.dumps(changed | {"events": data["events"][1:]}).encode()
    for place, array in arrays(changed["snapshot"]):
        old = list(array)
        array[:] = (-np.array(old, dtype=float)).tolist()
        yield f"{place} negated", json.dumps(changed).encode()
        array[:] = old * 2
        yield f"{place} twice as long", json.dumps(changed).encode()
        array[:] = [[]]
        yield f"{place} without entries", json.dumps(changed).encode()
        array[:] = old


def arrays(data: Any, path: str = "snapshot") -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of numbers of plain data, by their places."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from arrays(value, f"{path}.{key}")
    elif isinstance(data, list) and data and is_numbers(data):
        yield path, data


def is_numbers(data: list[Any]) -> bool:
    try:
        return bool(np.any(np.array(data, dtype=float) != 0))
    except (TypeError, ValueError):
        return False


def known(learner: pm.Learner) -> tuple[Any, ...]:
    """Return what a learner is and knows."""
    decision = learner.ask(**options(learner))
    return learner.events[:-1], decision.action, decision.distribution.tolist()


def load(content: bytes, saved: tuple[Any, ...]) -> None:
    Path("learner.json").write_bytes(content)
    if known(pm.Learner.load("learner.json")) != saved:
        raise Wrong("another learner was loaded")

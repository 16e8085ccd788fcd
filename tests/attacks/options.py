"""Hostile values for every option of every policy, which then plays if it was made."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import partial_monitoring as pm
from tests.attacks.judge import Attack, Wrong
from tests.attacks.values import HOSTILE, Make
from tests.golden.runs import GAMES, POLICIES

PLAYED = {policy: kind for kind, policies in reversed(POLICIES.items()) for policy in policies}
PLAYED["refitted"] = "kernel"
"""A game for every policy."""

WORDS: dict[str, Make] = {
    "unknown pair": lambda: ["generalized", "x"],
    "no pair": lambda: ["deviations"],
    "nan pair": lambda: ["deviations", float("nan")],
    "huge pair": lambda: ["fixed", 10**400],
    "zero pair": lambda: ["generalized", 0],
    "e2d of 5e-324": lambda: ["e2d", 5e-324],
    "nested policies": lambda: {"policy": "refitted", "options": {"inner": {"policy": "ids"}}},
}


def attacks(seed: int) -> Iterator[Attack]:
    for policy, kind in PLAYED.items():
        game = GAMES[kind][0]()
        yield Attack(f"{policy}: as it should be", partial(play, game, policy, "", list))
        for option in inspect.signature(pm.policies.POLICIES[policy]).parameters:
            for value, make in {**HOSTILE, **WORDS}.items():
                call = partial(play, game, policy, option, make)
                yield Attack(f"{policy}({option}={value})", call)


def play(game: Any, policy: str, option: str, make: Make) -> None:
    """Make a policy with a hostile option, and play three rounds."""
    made = pm.policies.make(policy, **{option: make()} if option else {})
    result = pm.simulate(game, {"mine": made}, horizon=3, seeds=2)
    if not np.isfinite(result.regret["mine"]).all():
        raise Wrong(f"regret {result.regret['mine'].tolist()}")

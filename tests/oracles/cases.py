"""Every kind of game with every policy that plays it, as the spec of a learner."""

from __future__ import annotations

from typing import Any

from partial_monitoring import policies as registry
from partial_monitoring.learner.spec import Spec
from tests.golden import runs

CASES = [(game, policy) for game, own in runs.POLICIES.items() for policy in own]
CASES += [("kernel", "refitted"), ("box", "ids"), ("box", "gp_ucb")]


def spec_of(case: tuple[str, str]) -> Spec:
    game, policy = case
    options: dict[str, Any] = {}
    if case == ("box", "ids"):
        options = {"gap": "mean"}
    if policy == "refitted":
        options = {"first": 5}
    return Spec(runs.GAMES[game][0](), registry.make(policy, **options), seed=7)

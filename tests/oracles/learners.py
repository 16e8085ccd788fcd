"""Games to be learned, learners that have played, and what a refusal must leave as it was."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

GAMES: dict[str, Callable[[], pm.Game]] = {
    "pricing": pm.games.dynamic_pricing,
    "bandit": pm.games.linear_bandit,
    "own noise": pm.games.heteroscedastic_linear_bandit,
    "duels on a graph": pm.games.graph_dueling,
    "bernoulli": pm.games.bernoulli_bandit_linear,
    "combinatorial": pm.games.combinatorial_bandit,
    "box": lambda: pm.Game(
        np.eye(3), [[[1.0, 0, 0]], [[1.0, 1, 0], [0, 1, 1]], []], pm.Box([0, 0, 0], [1, 1, 1])
    ),
    "slice": lambda: pm.Game(
        [[1.0, 0, 0], [0, 1, 0], [0, 0, 1]],
        np.eye(3)[:, None],
        pm.Polytope(-np.eye(3), [0.0, 0, 0], [[1.0, 1, 1]], [1.0]),
    ),
}


def answer(game: pm.Game, decision: pm.Decision, rng: np.random.Generator) -> Any:
    theta = game.parameters.relative_interior_point()
    return pm.Instance(game, theta).observe(decision.action, rng)


def played(name: str, rounds: int, seed: int = 3, **options: Any) -> pm.Learner:
    game = GAMES[name]()
    learner = pm.Learner(game, pm.IDS(**options), seed)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = learner.ask()
        learner.tell(decision, answer(game, decision, rng))
    return learner


def learned(game: Any, policy: Any, count: int, seed: int = 0) -> pm.Learner:
    """A learner after random plays of a random truth."""
    rng = np.random.default_rng(seed)
    instance = pm.Instance(game, game.draw_truths(np.array([seed]))[0])
    actions = rng.integers(game.k, size=count).tolist()
    learner = pm.Learner(game, policy, seed=seed)
    learner.tell_past(actions, [instance.observe(a, rng) for a in actions])
    return learner


def without_id(row: dict[str, Any]) -> dict[str, Any]:
    """What is the same for every learner with a seed: all but ids and times of decisions."""
    return {name: value for name, value in row.items() if name not in ("id", "decision", "time")}


def fingerprint(learner: pm.Learner) -> tuple[Any, ...]:
    """Everything that a further decision depends on, but for ids."""
    decision = deepcopy(learner).ask()
    return (
        decision.round,
        decision.action,
        decision.distribution.tolist(),
        decision.gaps.tolist(),
        decision.information.tolist(),
        repr(decision.beta),  # nan if the policy has none
        decision.estimate.tolist(),
        sorted(own.event["seq"] for own in learner._session.open.values()),
        list(map(without_id, learner.history)),
    )


def refused(call: Callable[[], object], learner: pm.Learner, *words: str) -> None:
    """The call raises one sentence, and the learner is as it was."""
    before = fingerprint(learner)
    with pytest.raises(InvalidInput) as caught:
        call()
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    for word in words:
        assert word in text
    assert fingerprint(learner) == before

"""Studies over every kind of game, as they are after some rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import partial_monitoring as pm
from partial_monitoring.learner.observations import symbols


class Kind(NamedTuple):
    """A game, what plays it, and how."""

    game: Callable[[], Any]
    policy: Callable[[], Any] | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    unlisted: bool = False
    """Whether contexts are described when they are asked for."""


def described() -> pm.ContextualGame:
    return pm.ContextualGame([pm.games.linear_bandit(np.eye(2, 3), pm.AllParameters(3))])


def box_duels() -> Any:
    return pm.KernelBoxDuelingGame(pm.kernels.Matern(2.5, 0.3), [0.0], [1.0])


def box() -> Any:
    return pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0.0], [1.0], noise_std=0.1)


def single() -> Any:
    return pm.FiniteGame([[1.0, 0.0]], [["a", "b"]])


WINDOW = {"window": pm.Window(rounds=2, unanswered="no")}

KINDS: dict[str, Kind] = {
    "finite": Kind(pm.games.dynamic_pricing, pm.IDS),
    "finite, default policy": Kind(pm.games.dynamic_pricing),
    "finite, probes": Kind(pm.games.apple_tasting, pm.IDS, {"probe": 0.3}),
    "finite, window": Kind(pm.games.dynamic_pricing, pm.IDS, WINDOW),
    "finite, without a set": Kind(pm.games.dynamic_pricing, pm.RandCBP),
    "finite, weights": Kind(pm.games.dynamic_pricing, pm.FeedExp3),
    "one action": Kind(single),
    "linear": Kind(pm.games.linear_bandit, pm.IDS),
    "bernoulli": Kind(pm.games.bernoulli_bandit_linear, pm.LinUCB),
    "contexts": Kind(pm.games.survey),
    "finite contexts": Kind(pm.games.segment_pricing, pm.ContextualIDS),
    "contexts without a set": Kind(pm.games.segment_pricing, pm.Random),
    "features when asked": Kind(described, unlisted=True),
    "duels": Kind(lambda: pm.games.dueling(np.eye(4))),
    "duels with votes": Kind(lambda: pm.games.dueling(np.eye(4), feedback="sign")),
    "kernel": Kind(lambda: pm.games.kernelized_bandit([0.0, 0.3, 0.5, 1.0])),
    "kernel duels": Kind(lambda: pm.games.kernelized_dueling([0.0, 0.4, 1.0])),
    "box": Kind(box),
    "box duels": Kind(box_duels),
    "oracle": Kind(lambda: pm.games.m_sets(4, 2), pm.GCB),
}


def learner_of(kind: str, seed: int = 1, **options: Any) -> pm.Learner:
    own = KINDS[kind]
    policy = None if own.policy is None else own.policy()
    given = {"allow_hopeless": True} | dict(own.options) | options
    return pm.Learner(own.game(), policy, seed, **given)


def context_of(name: str, game: Any, rng: np.random.Generator) -> Any:
    if KINDS[name].unlisted:
        own = rng.standard_normal((2, 3))
        return {"features": own, "observation_maps": own[:, None, :]}
    return game.contexts[int(rng.integers(len(game.contexts)))] if game.traits.contexts else None


def seen(game: Any, action: int, rng: np.random.Generator) -> Any:
    """Something that an action can show."""
    if game.traits.signals:
        return symbols(game, action)[int(rng.integers(len(symbols(game, action))))]
    rows = game.row_count(action)
    if game.noise in ("sign", "bernoulli"):
        return [float(rng.choice([1.0, -1.0 if game.noise == "sign" else 0.0]))] * rows
    return (0.3 * rng.standard_normal(rows)).tolist()


def play(learner: Any, name: str, rounds: int, seed: int = 0, *, late: int = 2) -> list[Any]:
    """Play, all but the last decisions answered, one of five without an answer."""
    rng, made = np.random.default_rng(seed), list[Any]()
    for t in range(rounds):
        decision = learner.ask(context=context_of(name, learner.game, rng), now=1e9 + t)
        made.append(decision)
        where = learner.game if decision.context is None else None
        if t < rounds - late:
            game = where or learner._spec.context(decision.context).game
            answer = None if t % 5 == 4 else seen(game, decision.action, rng)
            if answer is None and game.row_count(decision.action) == 0:
                answer = []
            learner.tell(decision, answer, now=1e9 + t)
    return made

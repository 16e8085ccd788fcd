"""Games with truths and the policies that play them: their regret, and the time of a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np

import partial_monitoring as pm
from benchmarks.regret_gaussian import unit
from partial_monitoring.simulation.truths import read_truth

Array = np.ndarray
World = Callable[[], tuple[Any, Callable[[int], Any]]]
"""Draws what happens in a live round: the context (or None), and what each action shows there."""

LIVE_ROUNDS, LIVE_SECONDS = 300, 3.0
"""How many rounds a decision is timed for, and after how many seconds that ends."""


def truth(game: Any) -> Array:
    """Return the random truth of seed 0 (d,)."""
    return np.asarray(read_truth("random", game, rows=True).draw(game, np.arange(1))[0])


def listed(game: Any, rng: np.random.Generator) -> World:
    """Show what actions show if the truth is that of the first seed."""
    instance = pm.Instance(game, truth(game))
    return lambda: (None, lambda action: instance.observe(action, rng))


def anywhere(game: Any, rng: np.random.Generator) -> World:
    """Show noise alone, whatever the action."""
    return lambda: (None, lambda action: [0.1 * rng.standard_normal()])


def in_contexts(game: Any, rng: np.random.Generator) -> World:
    """Draw a listed context, and show what actions show there."""
    contexts = range(len(game.contexts))
    instances = [pm.ContextualInstance(game, truth(game)).at(context) for context in contexts]

    def drawn() -> tuple[int, Callable[[int], Any]]:
        context = int(rng.integers(len(instances)))
        return context, lambda action: instances[context].observe(action, rng)

    return drawn


def described(game: Any, rng: np.random.Generator) -> World:
    """Draw a context that comes with the features of its ten actions."""
    return lambda: (offered(game, rng), lambda action: [0.1 * rng.standard_normal()])


def offered(game: Any, rng: np.random.Generator) -> pm.Game:
    """Return a bandit over the same parameters with ten actions that are new."""
    features = unit(int(rng.integers(2**31)), 10, game.parameters.d)
    return pm.Game(features, features[:, None], game.parameters)


@dataclass(frozen=True)
class Setting:
    """A game with its truths, and the policies that are worth considering, the first one first."""

    name: str
    game: Callable[[], Any]
    policies: Mapping[str, Any]
    horizon: int
    seeds: int
    theta: Any = "random"
    live: Callable[[Any, np.random.Generator], World] = listed
    late: Mapping[str, Any] = field(default_factory=dict)

    def regrets(self) -> dict[str, Array]:
        """Return the regret of every policy after all rounds, one number per seed (seeds,)."""
        options: dict[str, Any] = {
            "horizon": self.horizon,
            "seeds": self.seeds,
            "checkpoints": [self.horizon],
        }
        result = pm.simulate(self.game(), dict(self.policies), self.theta, **options, **self.late)
        return {name: regret[:, -1] for name, regret in result.regret.items()}

    def times(self, policy: Any) -> tuple[float, float]:
        """Return the time until the first decision and the median of one ask and its tell.

        The learner is made twice, so that compiling is not counted.
        """
        game = self.game()
        world = self.live(game, np.random.default_rng(0))
        for _ in range(2):
            context, shown = world()
            start = process_time()
            learner = pm.Learner(game, policy, seed=0)
            round_of(learner, context, shown)
            first = process_time() - start
        taken: list[float] = []
        begun = perf_counter()
        while len(taken) < LIVE_ROUNDS and perf_counter() - begun < LIVE_SECONDS:
            context, shown = world()
            start = process_time()
            round_of(learner, context, shown)
            taken.append(process_time() - start)
        return first, float(np.median(taken))


@dataclass(frozen=True)
class Unlisted(Setting):
    """A linear bandit whose ten actions have new features in every round."""

    def regrets(self) -> dict[str, Array]:
        return {
            name: np.array([self.played(policy, seed) for seed in range(self.seeds)])
            for name, policy in self.policies.items()
        }

    def played(self, policy: Any, seed: int) -> float:
        """Return the regret of one live learner."""
        game, rng, lost = self.game(), np.random.default_rng(seed), 0.0
        theta = unit(seed, game.parameters.d)
        learner = pm.Learner(game, policy, seed=seed)
        for _ in range(self.horizon):
            context = offered(game, rng)
            rewards = context.features @ theta
            decision = learner.ask(context=context)
            learner.tell(decision, [rewards[decision.action] + rng.standard_normal()])
            lost += rewards.max() - rewards[decision.action]
        return lost


def round_of(learner: pm.Learner, context: Any, shown: Callable[[int], Any]) -> None:
    """Play one live round."""
    decision = learner.ask() if context is None else learner.ask(context=context)
    learner.tell(decision, shown(decision.action))

"""CBP and RandCBP play what one-run textbook code plays, on random and on awkward games."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.finite.geometry import geometry
from partial_monitoring.policies.finite.halfspaces import Halfspaces
from partial_monitoring.policies.policy import uniforms_of
from partial_monitoring.simulation.environment import Environment
from tests.equivalence.textbook_cbp import Textbook, left


def random_game(seed: int) -> pm.FiniteGame:
    """A game of few small numbers with copies, mixtures and silent actions; never hopeless."""
    rng = np.random.default_rng(seed)
    while True:
        k, d = rng.integers(1, 6), rng.integers(1, 5)
        losses = rng.integers(0, 4, size=(k, d)).astype(float)
        if k >= 3 and rng.random() < 0.5:
            losses[-1] = losses[0] if rng.random() < 0.5 else (losses[0] + losses[1]) / 2
        signals = rng.integers(0, rng.integers(1, 4), size=(k, d)).tolist()
        game = pm.games.finite(losses=losses, signals=signals)
        if pm.analyze(game).category != "hopeless":
            return game


NAMED: dict[str, pm.FiniteGame] = {
    "apples": pm.games.apple_tasting(),
    "labels": pm.games.label_efficient(),
    "pricing": pm.games.dynamic_pricing([1, 2, 3, 4]),
    "path": pm.games.finite(losses=[[0, 1], [1 / 3, 1 / 3], [1, 0]], signals=["aa", "ab", "aa"]),
    "midpoint tells": pm.games.finite(
        losses=[[0, 1], [1, 0], [0.5, 0.5]], signals=["aa", "aa", "ab"]
    ),
    "copies": pm.games.finite(losses=[[0, 1], [0, 1], [1, 0]], signals=["aa", "ab", "aa"]),
    "dominated tells": pm.games.finite(losses=[[0, 1], [1, 0], [2, 2]], signals=["aa", "aa", "ab"]),
    "one action": pm.games.finite(losses=[[1, 0]], signals=["ab"]),
    "one outcome": pm.games.finite(losses=[[1], [0]], signals=["a", "a"]),
    "bandit": pm.games.bernoulli_bandit(2),
}

POLICIES = {
    "cbp": pm.CBP(),
    "cbp, short vectors": pm.CBP(alpha=1.5, norm="euclidean"),
    "randcbp": pm.RandCBP(),
    "randcbp, coupled": pm.RandCBP(levels=5, spread=0.5, top=0.05, coupled=True),
}


def follow(game: pm.FiniteGame, policy: pm.CBP, rounds: int, seed: int) -> None:
    """Play a batch of two replicates and compare the second with the textbook."""
    seeds = np.array([seed, seed + 1])
    theta = np.random.default_rng(seed).dirichlet(np.ones(game.d), size=2)
    world = Environment(game, theta, seeds)
    state = policy.init(game, 2)
    uniforms = uniforms_of(policy, state, seeds)
    slow = Textbook(policy, geometry(game, "test", policy.norm))
    for t in range(rounds):
        numbers = uniforms(t)
        choice = policy.decide(state, numbers)
        assert choice.action[1] == slow.action(np.atleast_1d(numbers[1])), f"round {t}"
        seen = world.observe(choice.action, t)
        state = policy.update(state, choice.action, seen)
        slow.tell(int(choice.action[1]), seen[1])


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("game", NAMED.values(), ids=NAMED.keys())
def test_named_games(game: pm.FiniteGame, policy: pm.CBP) -> None:
    follow(game, policy, 40, seed=3)


@pytest.mark.parametrize("seed", range(15))
def test_random_games(seed: int) -> None:
    policy = list(POLICIES.values())[seed % len(POLICIES)]
    follow(random_game(seed), policy, 40, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_games(seed: int) -> None:
    for policy in POLICIES.values():
        follow(random_game(seed), policy, 150, seed)


@pytest.mark.parametrize("seed", range(10))
def test_what_random_decisions_leave(seed: int) -> None:
    """Patterns in random order, contradictory ones too, against a plain LP for each."""
    game = random_game(seed) if seed else pm.games.dynamic_pricing([1, 2, 3, 4])
    shape = geometry(game, "test")
    halfspaces = Halfspaces(shape)
    rng = np.random.default_rng(seed)
    for _ in range(12):
        signs = rng.integers(-1, 2, size=len(shape.pairs)).astype(np.int8)
        actions, pairs = left(shape, {e: int(s) for e, s in enumerate(signs) if s})
        found = halfspaces.left(signs)
        assert list(found.actions) == actions
        assert list(found.pairs) == pairs

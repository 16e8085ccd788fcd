"""CBP and RandCBP play what one-run textbook code plays, on random and on awkward games."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.finite.geometry import geometry
from partial_monitoring.policies.finite.patterns import Patterns
from partial_monitoring.policies.policy import uniform_stream
from partial_monitoring.simulation.environment import Environment
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.textbook_cbp import Textbook, left

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
    uniforms = uniform_stream(policy, state, seeds)
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
    patterns = Patterns(shape)
    rng = np.random.default_rng(seed)
    for _ in range(12):
        signs = rng.integers(-1, 2, size=len(shape.pairs)).astype(np.int8)
        actions, pairs = left(shape, {e: int(s) for e, s in enumerate(signs) if s})
        (number,) = patterns.numbers(signs[None])
        found = patterns.table.left[number]
        count = len(shape.actions)
        assert [a for a, own in zip(shape.actions, found, strict=False) if own] == actions
        assert np.flatnonzero(found[count:]).tolist() == pairs


@pytest.mark.parametrize("policy", ["cbp", "randcbp"])
def test_an_action_that_shows_nothing_and_is_never_best_is_never_played(policy: str) -> None:
    game = pm.FiniteGame(
        [[0, 0, 0], [0, -1, 2], [2, -1, -2], [-50, -50, -50]], ["aaa", "cba", "aaa", "aaa"]
    )
    result = pm.simulate(game, policy, [0.2, 0.3, 0.5], horizon=50, seeds=2)
    assert not result.plays[policy][:, -1, 3].any()


def test_patterns_that_two_threads_solve_at_once_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = geometry(pm.games.dynamic_pricing(), "test", "sup")
    asked = [np.zeros((1, len(shape.pairs)), dtype=np.int8) for _ in range(3)]
    asked[1][:, 0], asked[2][:, 0] = 1, -1
    expected = [Patterns(shape).masks(signs) for signs in asked]
    patterns, solve = Patterns(shape), Patterns._prove
    copies = []

    def interrupted(own: Patterns, signs: np.ndarray, target: int) -> None:
        """The same pattern is asked for again, and another thread copies what is there."""
        monkeypatch.undo()
        patterns.masks(signs[None])
        copies.append(copy.deepcopy(patterns))
        solve(own, signs, target)

    monkeypatch.setattr(Patterns, "_prove", interrupted)
    for own in (patterns, patterns, *copies):
        for signs, masks in zip(asked, expected, strict=True):
            for found, right in zip(own.masks(signs), masks, strict=True):
                assert np.array_equal(found, right)

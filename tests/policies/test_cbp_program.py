"""Compiled rounds of CBP and RandCBP are those of the batched formulas, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.finite.geometry import geometry
from partial_monitoring.policies.finite.patterns import ROOM, Patterns
from partial_monitoring.policies.finite.program import CBPProgram
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.play import play, play_batched
from partial_monitoring.simulation.run import Run
from tests.oracles.finite_games import NAMED, random_game

FIVE_PRICES = pm.games.dynamic_pricing([1, 2, 3, 4, 5], cost=2)
GAMES = NAMED | {"five prices": FIVE_PRICES, "arms": pm.games.bernoulli_bandit(4)}
POLICIES = {
    "cbp": pm.CBP(),
    "cbp, short vectors": pm.CBP(alpha=1.5, norm="euclidean"),
    "randcbp": pm.RandCBP(),
    "randcbp, coupled": pm.RandCBP(levels=7, spread=0.5, top=0.05, coupled=True),
}


def world(game: pm.FiniteGame, seeds: int) -> Environment:
    theta = np.random.default_rng(seeds).dirichlet(np.ones(game.d), size=seeds)
    return Environment(game, theta, np.arange(seeds))


def same(one: Run, other: Run) -> bool:
    tables = ("regret", "plays", "information", "ratio")
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in tables
    )


def compare(game: pm.FiniteGame, policy: pm.CBP, rounds: int, seeds: int = 3) -> None:
    marks = np.unique([1, 2, min(513, rounds), rounds])
    slow = play_batched(game, policy, world(game, seeds), marks)
    for threads in (1, 2):
        quick = play(game, policy, world(game, seeds), marks, threads=threads)
        assert quick.backend == "compiled"
        assert same(quick, slow)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_named_games(game: pm.FiniteGame, policy: pm.CBP) -> None:
    compare(game, policy, 600)


@pytest.mark.parametrize("seed", range(8))
def test_random_games(seed: int) -> None:
    compare(random_game(seed), list(POLICIES.values())[seed % len(POLICIES)], 300)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_long_runs(game: pm.FiniteGame, policy: pm.CBP) -> None:
    compare(game, policy, 2000, seeds=20)


def test_a_run_goes_on_where_it_was() -> None:
    """Whatever the rounds at which it pauses, and if other runs know more patterns."""
    policy, marks = pm.RandCBP(), np.array([250])
    slow = play_batched(FIVE_PRICES, policy, world(FIVE_PRICES, 4), marks)
    state = policy.init(FIVE_PRICES, 4)
    for _ in range(2):
        found = in_pieces(policy.program(state), world(FIVE_PRICES, 4), [1, 2, 77, 250])
        assert np.array_equal(found.regret, slow.regret[:, 0])
        assert np.array_equal(found.plays, slow.plays[:, 0])


def in_pieces(program: CBPProgram, environment: Environment, stops: list[int]) -> Any:
    """Play replicates in two groups; return the totals."""
    from partial_monitoring.simulation.world import no_totals, world_of

    own, totals, reached = world_of(environment), no_totals(4, 5), np.zeros(4, dtype=np.int64)
    for stop in stops:
        for first, last in ((0, 1), (1, 4)):
            program.play(own, totals, reached, stop, first, last)
    assert (reached == stops[-1]).all()
    return totals


def test_a_table_that_has_grown_says_what_a_new_one_says() -> None:
    shape = geometry(FIVE_PRICES, "test")
    signs = np.random.default_rng(0).integers(-1, 2, (20 * ROOM, len(shape.pairs))).astype(np.int8)
    patterns = Patterns(shape)
    numbers, found = patterns.numbers(signs), patterns.masks(signs)
    assert patterns.table.known == len(np.unique(signs, axis=0)) == len(np.unique(numbers))
    assert np.array_equal(patterns.table.signs[numbers], signs)
    again = Patterns(shape)
    for i in range(0, len(signs), 40):
        for own, mask in zip(again.masks(signs[i : i + 1]), found, strict=True):
            assert np.array_equal(own[0], mask[i])


def test_a_policy_that_changes_cbp_is_played_by_its_own_formulas() -> None:
    class Stubborn(pm.CBP):
        def decide(self, state: Any, uniforms: Any, available: Any = None) -> pm.Choices:
            choices = super().decide(state, uniforms, available)
            choices.action[:] = 1
            return choices

    run = play(FIVE_PRICES, Stubborn(), world(FIVE_PRICES, 2), np.array([20]))
    assert run.backend == "batched: Stubborn has no compiled rounds"
    assert (run.plays[:, 0, 1] == 20).all()

"""Whole runs of the default policy in compiled code: what its batched formulas play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.numerics.compiled.profile import FEW, MOST_REFINED
from partial_monitoring.policies.calibrated.index import AnticipatingIndex
from partial_monitoring.policies.program import program_of
from partial_monitoring.simulation import play as runs
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.truths import read_truth
from partial_monitoring.simulation.world import no_totals, world_of
from tests.oracles.signal_games import DEGENERATE, SIGNALS

CALIBRATED = pm.Calibrated()


def environment(game: Any, seeds: int) -> Environment:
    """Return an environment with a parameter of its own for each seed."""
    numbers = np.arange(seeds, dtype=np.int64)
    return Environment(game, read_truth("random", game, rows=True).draw(game, numbers), numbers)


def check_same(game: Any, rounds: int, seeds: int = 3) -> None:
    """Assert that both ways play the same actions and have bit-equal totals."""
    marks = np.array([1, rounds // 3, rounds])
    one = runs.play(game, CALIBRATED, environment(game, seeds), marks)
    two = runs.play_batched(game, CALIBRATED, environment(game, seeds), marks)
    assert one.backend == "compiled"
    for name in ("plays", "regret", "information", "ratio"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True), name


@pytest.mark.parametrize("name", SIGNALS)
def test_compiled_runs_are_those_of_the_batched_formulas(name: str) -> None:
    check_same(SIGNALS[name], 2000)


@pytest.mark.parametrize("name", DEGENERATE)
def test_so_are_those_of_degenerate_games(name: str) -> None:
    check_same(DEGENERATE[name], 200)


@pytest.mark.parametrize("arms", [1, MOST_REFINED, MOST_REFINED + 2, FEW, FEW + 1, FEW + 2, 40])
def test_so_are_those_with_few_and_with_many_rivals(arms: int) -> None:
    check_same(pm.games.bernoulli_bandit_linear(arms), 200)


def test_duplicates_and_coupled_coordinates_are_played_alike() -> None:
    pricing = pm.games.dynamic_pricing(range(1, 4))
    rewards = np.concatenate([pricing.rewards, pricing.rewards])
    check_same(pm.FiniteGame(rewards, [*pricing.signals, *pricing.signals]), 300)
    check_same(pm.FiniteGame(np.eye(6), ["abcdef"] * 6), 300)


def test_slices_of_rounds_and_ranges_of_replicates_do_not_matter() -> None:
    game = pm.games.segment_pricing()
    found = []
    for stops, ranges in (((700,), ((0, 5),)), ((1, 40, 513, 700), ((3, 5), (0, 1), (1, 3)))):
        program = program_of(CALIBRATED, CALIBRATED.init(game, 5))
        world, totals = world_of(environment(game, 5)), no_totals(5, game.k)
        reached = np.zeros(5, dtype=np.int64)
        for stop in stops:
            for first, last in ranges:
                program.play(world, totals, reached, stop, first, last)
        assert (reached == 700).all()
        found.append(totals)
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two, equal_nan=True)


def test_a_program_leaves_the_state_it_starts_from() -> None:
    game, rule = pm.games.dynamic_pricing(), AnticipatingIndex()
    state = rule.init(game, 2)
    before = {
        name: getattr(state, name).copy() for name in ("round", "counts", "ties", "worth", "doubt")
    }
    totals, reached = no_totals(2, 0), np.zeros(2, dtype=np.int64)
    rule.program(state).play(world_of(environment(game, 2)), totals, reached, 50, 0, 2)
    for name, values in before.items():
        assert np.array_equal(getattr(state, name), values)

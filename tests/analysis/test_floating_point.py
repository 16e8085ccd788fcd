"""The classification in floating point agrees with the exact one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from itertools import combinations, count, islice
from random import Random
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.random_games import (
    SETS,
    Draw,
    any_game,
    bits,
    decimals,
    finite_game,
    fractions,
    integers,
    linear_game,
    small_integers,
)
from tests.oracles.slow_classifier import SlowAnswer, classify

ROOT = float(np.sqrt(2))


def irrational(game: pm.Game, factors: tuple[float, float, float]) -> pm.Game | None:
    """Return a game with features, maps and Theta multiplied; None if Theta cannot be."""
    phi, shown, size = factors
    parameters = game.parameters
    match parameters:
        case _ if size == 1:
            pass
        case pm.Box(low=low, high=high):
            parameters = pm.Box(low * size, high * size)
        case pm.Polytope():
            a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
            parameters = pm.Polytope(a_ub, b_ub * size, a_eq, b_eq * size)
        case _:
            return None
    return pm.Game(game.features * phi, game.observation_maps * shown, parameters)


def moderate_games(seed: int) -> Iterator[Draw]:
    """Games whose decisions are clear in floating point."""
    for number in count(seed):
        random = Random(number)
        kind = random.choice([small_integers, integers, decimals, fractions, bits])
        if number % 3 == 0:
            yield finite_game(random, kind)
        else:
            yield linear_game(random, SETS[number // 3 % len(SETS)], kind)


def check_floating_point(seed: int, games: int) -> None:
    for draw in islice(moderate_games(seed), games):
        answer = classify(draw.slow)
        alpha = pm.analyze(draw.game).alignment
        for factors in ((ROOT, 1.0, 1.0), (1.0, ROOT, 1.0), (1.0, 1.0, ROOT)):
            game = irrational(draw.game, factors)
            if game is None:
                continue
            analysis = pm.analyze(game)
            for field in fields(SlowAnswer):
                found = getattr(analysis, field.name)
                assert found == getattr(answer, field.name), (draw.name, factors, field.name)
            assert analysis.verify(), analysis.problems()
            scale = (factors[0] / factors[1]) ** 2
            assert analysis.alignment == pytest.approx(alpha * scale, rel=1e-5)
            changed = (game.features, game.observation_maps, *_numbers(game.parameters))
            assert analysis.certified == all(map(_is_rational, changed))


def _numbers(parameters: Any) -> tuple[Any, ...]:
    match parameters:
        case pm.Box(low=low, high=high):
            return low, high
        case pm.Polytope():
            return tuple(parameters.halfspaces())
    return ()


def _is_rational(array: Any) -> bool:
    """Whether no entry is a multiple of the square root of two, given that entries are simple."""
    entries = np.abs(np.asarray(array)).ravel()
    return not any(
        abs(x - float(Fraction(x).limit_denominator(10_000))) > 1e-15 * x for x in entries
    )


def test_the_same_in_floating_point() -> None:
    check_floating_point(0, 20)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 9000, 1000))
def test_the_same_in_floating_point_in_many_games(first: int) -> None:
    check_floating_point(first, 100)


def test_rounding_noise_is_no_difference() -> None:
    """On theta_1 + theta_2 = 0 all these actions earn the same, up to rounding."""
    segment = pm.Polytope([[1, 0], [-1, 0]], [1, 1], [[1, 1]], [0])
    for features in (
        [[ROOT, ROOT], [np.pi, np.pi], [0, 0]],
        [[ROOT + 1, ROOT - 1], [np.pi + 1, np.pi - 1]],
    ):
        analysis = pm.analyze(pm.Game(features, [[[1, 0]]] * len(features), segment))
        everyone = list(range(len(features)))
        assert analysis.category == "trivial"
        assert analysis.pareto == everyone
        assert analysis.duplicates == [everyone]
        assert analysis.verify(), analysis.problems()


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0]])
@pytest.mark.parametrize("x", [1.0, ROOT, np.pi, 1.1 * ROOT])
def test_rounding_noise_need_not_be_observed(order: list[int], x: float) -> None:
    """Two actions that earn the same up to rounding do not make a game hopeless."""
    eye = np.eye(3)
    flat = pm.Polytope(np.concatenate([eye, -eye]), np.ones(6), [[1, 1, 1]], [0])
    features = np.array([[0, 0, 0], [x, x, x], [x, 0, -x]])
    analysis = pm.analyze(pm.Game(features[order], [[[1, 0, -1]]] * 3, flat))
    assert analysis.category == "easy"
    assert analysis.alignment == pytest.approx(x**2)
    assert analysis.verify(), analysis.problems()


def test_irrational_features_are_not_certified() -> None:
    game = pm.games.dynamic_pricing()
    scaled = pm.Game(game.features * ROOT, game.observation_maps, game.parameters)
    exact_answer, answer = pm.analyze(game), pm.analyze(scaled)
    assert exact_answer.certified
    assert not answer.certified
    assert answer.verify()
    assert answer.neighborhoods == exact_answer.neighborhoods
    assert answer.category == exact_answer.category == "hard"


def test_every_pair_of_pareto_actions_is_decided() -> None:
    """The faces cover all pairs of Pareto actions that are no duplicates."""
    for seed in range(30):
        analysis = pm.analyze(any_game(8 * seed).game)
        same = {pair for group in analysis.duplicates for pair in combinations(group, 2)}
        pairs = set(combinations(analysis.pareto, 2)) - same
        assert set(analysis.cells.faces) == pairs

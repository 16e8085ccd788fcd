"""Alignment constants against CVXPY, and exact ones of maps with one row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from random import Random
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.random_games import (
    SETS,
    Draw,
    bits,
    decimals,
    finite_game,
    fractions,
    integers,
    linear_game,
    of_all_sizes,
    small_integers,
)
from tests.oracles.slow_classifier import alignment, alignment_by_vertices


def observable(seed: int, **more: Any) -> Iterator[tuple[Draw, pm.Analysis]]:
    """Games with numbers of moderate size and a finite, positive alignment constant."""
    for number in count(seed):
        random = Random(number)
        kind = random.choice([small_integers, integers, decimals, fractions, bits])
        family = SETS[number // 2 % len(SETS)]
        draw = finite_game(random, kind) if number % 2 else linear_game(random, family, kind)
        analysis = pm.analyze(draw.game)
        if analysis.category in ("easy", "hard"):
            yield draw, analysis


def check_alignment(draw: Draw, analysis: pm.Analysis) -> None:
    """Compare with both programs of paper-notes 3.4, each solved by CVXPY for all pairs."""
    primal, dual = alignment(draw.slow, analysis.pareto)
    assert primal == pytest.approx(dual, rel=1e-4)
    assert analysis.alignment == pytest.approx(primal, rel=1e-4), draw.name
    assert analysis.alignment_details.gap <= 1e-6
    # The direction and the weights prove it, whoever solved the programs.
    details = analysis.alignment_details
    assert details.pair is not None
    assert details.direction is not None
    assert details.weights is not None
    a, b = details.pair
    u = draw.game.features[a] - draw.game.features[b]
    heard = np.linalg.norm(draw.game.observation_maps @ details.direction, axis=1)
    assert heard.max() <= 1 + 1e-9
    assert (u @ details.direction) ** 2 == pytest.approx(analysis.alignment, rel=1e-5)
    lengths = np.linalg.norm(details.weights, axis=1)
    assert lengths.sum() ** 2 == pytest.approx(analysis.alignment, rel=1e-5)
    along = np.array(draw.slow.directions, dtype=float)
    shown = np.einsum("cm,cmd->d", details.weights, draw.game.observation_maps)
    np.testing.assert_allclose(along @ shown, along @ u, atol=1e-7 * np.abs(along).max())


def test_alignment_is_that_of_cvxpy() -> None:
    for draw, analysis in islice(observable(0), 16):
        check_alignment(draw, analysis)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 9000, 1000))
def test_alignment_is_that_of_cvxpy_in_many_games(first: int) -> None:
    for draw, analysis in islice(observable(first), 40):
        check_alignment(draw, analysis)


def one_row_games(seed: int) -> Iterator[tuple[Draw, pm.Analysis]]:
    """Games whose actions show one number each, so that alignment is a linear program."""
    for number in count(seed):
        random = Random(number)
        kind = random.choice([small_integers, decimals, fractions, of_all_sizes])
        draw = linear_game(random, SETS[number % len(SETS)], kind)
        if max(map(len, draw.slow.maps)) <= 1:
            analysis = pm.analyze(draw.game)
            if analysis.category in ("easy", "hard"):
                yield draw, analysis


def check_exact_alignment(seed: int, games: int) -> None:
    for draw, analysis in islice(one_row_games(seed), games):
        slow = alignment_by_vertices(draw.slow, analysis.pareto)
        assert analysis.alignment == pytest.approx(float(slow), rel=1e-6), draw.name


def test_alignment_of_one_row_maps_is_exact() -> None:
    check_exact_alignment(0, 15)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 6000, 1000))
def test_alignment_of_one_row_maps_is_exact_in_many_games(first: int) -> None:
    check_exact_alignment(first, 40)

"""``verify`` against analyses changed at random: refused, or of the same class as before."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis
from tests.oracles.contextual_games import game as two_contexts
from tests.oracles.contextual_games import in_square
from tests.oracles.random_games import SETS, finite_game, linear_game, small_integers
from tests.oracles.tampering import tampered

SAMPLE = 1500
NIGHTLY = 20
BLOCK = 5000


@cache
def plain() -> tuple[pm.Analysis, ...]:
    """Analyses of small games of every class, exact, in floating point and over a ball."""
    found = []
    for seed in range(36):
        random = Random(seed)
        if seed % 3 == 0:
            game = finite_game(random, small_integers).game
        else:
            game = linear_game(random, SETS[seed % len(SETS)], small_integers).game
        if seed % 4 == 3:
            game = pm.Game(game.features * np.sqrt(2), game.observation_maps, game.parameters)
        if seed % 6 == 5:
            ball = pm.Ball(np.zeros(game.d), 1.0)
            game = pm.Game(game.features, game.observation_maps, ball)
        if game.features.any():
            found.append(pm.analyze(game))
    return tuple(found)


@cache
def contextual() -> tuple[ContextualAnalysis, ...]:
    """Analyses of games with contexts, of every class."""
    games = [in_square(seed) for seed in range(24)]
    games += [two_contexts([[[1, 0]], [[0, 1]]]), two_contexts([[[2**0.5, 0]], [[0, 1]]])]
    games += [two_contexts([[[1, 0]], [[0, 1]]], [1.0, 0.0])]
    return tuple(pm.analyze(game) for game in games)


def check(found: pm.Analysis | ContextualAnalysis, seed: int) -> str:
    """Tamper with an analysis; return what became of it, for the counts."""
    lie = tampered(found, Random(seed))
    if not lie.verify():
        return "refused"
    assert lie.category == found.category, f"seed {seed}: {found.category} became {lie.category}"
    return "same class"


def check_all(seeds: range) -> None:
    """Tamper with plain games and with contexts in turn, and print the counts."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        sample = contextual() if seed % 3 == 0 else plain()
        counts[check(sample[seed // 3 % len(sample)], seed)] += 1
    print(f"{len(seeds)} tampered analyses: {dict(counts)}")
    assert counts["refused"] > counts["same class"] > 0


def test_the_samples_have_all_classes_and_pass() -> None:
    assert {found.category for found in plain()} == {"trivial", "easy", "hard", "hopeless"}
    classes = {"trivial", "easy", "learnable", "hopeless"}
    assert {found.category for found in contextual()} == classes
    for sample in (plain(), contextual()):
        assert {found.certified for found in sample} == {True, False}
        assert all(found.verify() for found in sample)


def test_tampered_analyses_are_refused_or_have_the_same_class() -> None:
    check_all(range(SAMPLE))


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + NIGHTLY * BLOCK, BLOCK))
def test_more_tampered_analyses(first: int) -> None:
    check_all(range(first, first + BLOCK))

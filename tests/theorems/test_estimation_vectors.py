"""Estimation vectors: unbiased outcome by outcome, and the smallest there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import partial_monitoring as pm
from partial_monitoring.policies.finite.geometry import Geometry, geometry
from tests.oracles.finite_games import NAMED, random_game


def shape_of(game: pm.Game, norm: str = "sup") -> Geometry:
    return geometry(game, "test", norm)


def least_largest_entry(rows: np.ndarray, target: np.ndarray) -> float:
    """min V subject to -V <= v <= V and rows' v = target, by another solver."""
    q, d = rows.shape
    one = np.ones((q, 1))
    answer = linprog(
        np.append(np.zeros(q), 1.0),
        A_ub=np.block([[np.eye(q), -one], [-np.eye(q), -one]]),
        b_ub=np.zeros(2 * q),
        A_eq=np.column_stack([rows.T, np.zeros(d)]),
        b_eq=target,
        bounds=[(None, None)] * q + [(0, None)],
    )
    assert answer.status == 0
    return float(answer.fun)


def checked(game: pm.FiniteGame) -> None:
    """Unbiased in every outcome; only allowed observers; least entry or least length."""
    sup, short = shape_of(game), shape_of(game, "euclidean")
    analysis = sup.analysis
    losses = -game.rewards / sup.unit
    for e, (a, b) in enumerate(sup.pairs):
        for shape in (sup, short):
            estimate = np.einsum("cm,cmd->d", shape.vectors[e], game.observation_maps)
            assert estimate == pytest.approx(losses[a] - losses[b], abs=1e-9)
        near = analysis.neighborhoods[a, b]
        allowed = near if analysis.local_readings[a, b].seen else range(game.k)
        allowed = [c for c in allowed if c in sup.actions or len(set(game.signals[c])) > 1]
        assert set(np.flatnonzero(sup.observers[e])) <= set(allowed)
        rows = np.concatenate([game.rows(c) for c in allowed])
        least = least_largest_entry(rows, losses[a] - losses[b])
        assert np.abs(sup.vectors[e]).max() == pytest.approx(least, rel=1e-7, abs=1e-9)
        shortest = np.linalg.pinv(rows.T) @ (losses[a] - losses[b])
        size = np.linalg.norm(short.vectors[e])
        assert size == pytest.approx(np.linalg.norm(shortest), rel=1e-9)
        assert size <= np.linalg.norm(sup.vectors[e]) * (1 + 1e-9)
        for c in range(game.k):
            assert not sup.vectors[e, c, game.row_count(c) :].any()


@pytest.mark.parametrize("game", NAMED.values(), ids=NAMED.keys())
def test_named_games(game: pm.FiniteGame) -> None:
    checked(game)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_random_games(seed: int) -> None:
    checked(random_game(seed))


def test_known_sizes() -> None:
    largest = {"apples": 1.0, "path": 0.5, "bandit": 0.5, "midpoint tells": 1.0}
    for name, value in largest.items():
        assert shape_of(NAMED[name]).weights.max() == pytest.approx(value, rel=1e-8)
    pricing = shape_of(pm.games.dynamic_pricing([1, 2, 3]))
    assert pricing.weights.max() == pytest.approx(0.75, rel=1e-8)
    apples = shape_of(NAMED["apples"])
    assert sorted(apples.vectors[np.nonzero(apples.vectors)]) == pytest.approx([-1.0, 1.0])


def test_duplicates_count_once_and_midpoints_observe() -> None:
    copies = shape_of(NAMED["copies"])
    assert copies.actions == (0, 2)
    assert copies.pairs == ((0, 2),)
    assert copies.neighborhoods.tolist() == [[True, True, True]]
    assert copies.observers.tolist() == [[False, True, False]]
    middle = shape_of(NAMED["midpoint tells"])
    assert middle.actions == (0, 1)
    assert middle.neighborhoods.tolist() == [[True, True, True]]
    assert middle.useful.tolist() == [True, True, True]
    outside = shape_of(NAMED["dominated tells"])
    assert outside.neighborhoods.tolist() == [[True, True, False]]
    assert outside.observers.tolist() == [[False, False, True]]


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_actions_that_show_nothing_and_are_never_best_observe_nothing(seed: int) -> None:
    """Also one that is free to offer a constant; no vector has entries that are only rounding."""
    game = random_game(seed)
    worst = [game.rewards.min() - 50.0] * game.d
    more = pm.FiniteGame([*game.rewards, worst], [*game.signals, ["a"] * game.d])
    shape, old = shape_of(more), shape_of(game)
    assert not shape.observers[:, game.k].any()
    assert not shape.useful[game.k]
    ratio = old.unit / shape.unit
    assert shape.vectors[:, : game.k, : game.m] == pytest.approx(old.vectors * ratio, abs=1e-6)
    sizes = np.abs(shape.vectors)
    assert (sizes[sizes > 0] > 1e-7 * sizes.max(initial=0.0)).all()


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_vectors_move_with_the_names(seed: int) -> None:
    """Permuted actions and outcomes permute the vectors: the shortest of the flattest is unique."""
    game = random_game(seed)
    rng = np.random.default_rng(seed)
    order, columns = rng.permutation(game.k), rng.permutation(game.d)
    signals = [[game.signals[a][x] for x in columns] for a in order]
    moved = pm.FiniteGame(game.rewards[order][:, columns], signals)
    one, two = shape_of(game), shape_of(moved)
    if one.analysis.duplicates:
        return
    sizes = {frozenset(p): one.sizes[e][order] for e, p in enumerate(one.pairs)}
    for e, (a, b) in enumerate(two.pairs):
        assert two.sizes[e] == pytest.approx(sizes[frozenset((order[a], order[b]))], abs=2e-5)


def test_a_shift_of_all_losses_changes_nothing() -> None:
    game = NAMED["pricing"]
    shifted = pm.FiniteGame(game.rewards + np.array([3.0, -1.0, 0.5, 7.0]), game.signals)
    doubled = pm.FiniteGame(2 * game.rewards, game.signals)
    for other in (shifted, doubled):
        assert shape_of(other).vectors == pytest.approx(shape_of(game).vectors, abs=1e-7)

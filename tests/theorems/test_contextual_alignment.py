"""Alignment constants with contexts: their programs, their bounds, and their order."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.analysis.contextual import alignment as contextual_alignments
from partial_monitoring.analysis.contextual.alignment import (
    contextual_alignment,
    integrated_alignment,
    largest_constant,
)
from partial_monitoring.analysis.contextual.programs import Contrast, ObservingActions, value_of
from tests.oracles.contextual_alignment import by_cvxpy, choices

Array = NDArray[np.float64]


def random_game(seed: int) -> pm.ContextualGame:
    """Small integers, so that ties, duplicates and actions that show nothing are common."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    games = []
    for _ in range(int(rng.integers(1, 4))):
        k = int(rng.integers(1, 4))
        maps = [rng.integers(-2, 3, (int(rng.integers(0, 3)), d)) for _ in range(k)]
        games.append(pm.Game(rng.integers(-2, 3, (k, d)), maps, pm.AllParameters(d)))
    chi = rng.dirichlet(np.ones(len(games)))
    if len(games) > 1 and seed % 4 == 0:
        chi[0] = 0.0
    return pm.ContextualGame(games, chi / chi.sum())


def pareto(game: pm.ContextualGame) -> list[list[int]]:
    return [own.representatives for own in pm.analyze(game).contexts]


def everyone(game: pm.ContextualGame) -> list[list[int]]:
    return [list(range(own.k)) for own in game.games]


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_the_constants_are_those_of_the_definition(seed: int) -> None:
    game = random_game(seed)
    best, near = pareto(game), everyone(game)
    far = contextual_alignment(game, best)
    expected = max(map(by_cvxpy(game, near), choices(game, best)))
    assert far.exact
    assert float(far) == pytest.approx(expected, rel=1e-5, abs=1e-8)
    bar = integrated_alignment(game, best)
    signed = choices(game, best, ordered=True)
    expected = max(map(by_cvxpy(game, near, integrated=True), signed))
    assert float(bar) == pytest.approx(expected, rel=1e-5, abs=1e-8)


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_the_order_of_the_constants(seed: int) -> None:
    """alpha-bar <= alpha(chi) <= sum alpha(z), and alpha-bar <= mean alpha(z) (Jensen, E21)."""
    analysis = pm.analyze(random_game(seed))
    bar, far = float(analysis.integrated_alignment), analysis.alignment
    own = [analysis.contexts[z].alignment for z in analysis.possible]
    assert bar <= far * (1 + 1e-6) + 1e-9
    assert bar <= analysis.conditional_alignment * (1 + 1e-6) + 1e-9
    assert far <= sum(own) * (1 + 1e-6) + 1e-9


def test_the_contextual_constant_may_exceed_the_average() -> None:
    """Two bandits about different coordinates: 4 and 4 add up to 8, the average is 4."""
    eye = np.eye(4)
    games = [pm.Game(eye[i : i + 2], eye[i : i + 2, None], pm.AllParameters(4)) for i in (0, 2)]
    analysis = pm.analyze(pm.ContextualGame(games))
    assert analysis.conditional_alignment == pytest.approx(4)
    assert analysis.alignment == pytest.approx(8)
    assert float(analysis.integrated_alignment) == pytest.approx(4)


def test_e20_the_printed_bound_fails_by_the_number_of_actions() -> None:
    """K needy contexts and one that shows one direction per action: at least K; printed: 2."""
    count = 6
    eye = np.eye(count)
    box = pm.Box([-1] * count, [1] * count)
    shows = pm.Game(np.zeros((count, count)), eye[:, None, :], box)
    needy = [pm.Game([0 * eye[i], eye[i]], [[], []], box) for i in range(count)]
    game = pm.ContextualGame([shows, *needy], [0.5, *[0.5 / count] * count])
    printed = max(1 / 0.5 for _ in range(count))
    assert printed == 2
    assert pm.analyze(game).alignment == pytest.approx(count, rel=1e-6)


def test_e21_the_printed_numerator_breaks_jensens_inequality() -> None:
    """A second context with one action that shows nothing: half of the first context's constant."""
    plane = pm.AllParameters(2)
    first = pm.Game(np.eye(2), np.eye(2)[:, None], plane)
    second = pm.Game([[0, 0]], [[]], plane)
    analysis = pm.analyze(pm.ContextualGame([first, second], [0.5, 0.5]))
    own = analysis.contexts[0].alignment
    omega = np.array([1.0, -1.0])
    printed = 0.5 * (omega[0] - omega[1]) ** 2 / (0.5 * (omega**2).max())
    assert printed == pytest.approx(own)
    assert printed > analysis.conditional_alignment
    assert float(analysis.integrated_alignment) == pytest.approx(own / 2)
    assert analysis.conditional_alignment == pytest.approx(own / 2)


def random_needs(seed: int) -> tuple[list[list[Contrast]], list[float], ObservingActions]:
    """Contrasts that only some observers may serve, each seen by them."""
    rng = np.random.default_rng(seed)
    d, contexts = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    places = [z for z in range(contexts) for _ in range(int(rng.integers(1, 4)))]
    rows = [rng.integers(-2, 3, (int(rng.integers(1, 3)), d)).astype(float) for _ in places]
    rows = [own if own.any() else np.ones((1, d)) for own in rows]
    chances = dict(enumerate(rng.dirichlet(np.ones(contexts))))
    options = []
    for _ in range(contexts):
        own = []
        for _ in range(int(rng.integers(1, 5))):
            mask = rng.random(len(places)) < 0.6
            mask[int(rng.integers(len(places)))] = True
            flat = np.concatenate([rows[i] for i in np.flatnonzero(mask)])
            own.append(Contrast(rng.integers(-1, 2, len(flat)) @ flat, mask))
        options.append(own)
    return options, list(chances.values()), ObservingActions(rows, places, chances)


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_the_best_choice_is_found_and_bounded(seed: int) -> None:
    """Best first, against all choices; and one kernel for all of them is never below."""
    options, weights, observers = random_needs(seed)
    every = [value_of(choice, weights, observers) for choice in product(*options)]
    expected = max(value for value, _ in every)
    found = largest_constant(options, weights, observers)
    assert found.exact
    assert float(found) == pytest.approx(expected, rel=1e-5, abs=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contextual_alignments, "MOST_CHOICES", 1)
        bound = largest_constant(options, weights, observers)
        patch.setattr(contextual_alignments, "MOST_CHOICES", 10**6)
        patch.setattr(contextual_alignments, "MOST_PROGRAMS", 2)
        short = largest_constant(options, weights, observers)
    for rough in (bound, short):
        assert rough.lower <= expected * (1 + 1e-6) + 1e-9
        assert expected <= rough * (1 + 1e-6) + 1e-9


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_every_kernel_bounds_from_above(seed: int) -> None:
    options, weights, observers = random_needs(seed)
    choice = [own[0] for own in options]
    value, kernel = value_of(choice, weights, observers)
    rng = np.random.default_rng(seed)

    def bound(q: Array) -> float:
        parts = zip(choice, weights, strict=True)
        return sum(
            p * float(observers.lengths(need.observers, need.direction[None], q)[0])
            for need, p in parts
            if need.direction.any()
        )

    assert bound(kernel) == pytest.approx(value, rel=1e-4, abs=1e-9)
    for _ in range(3):
        assert bound(observers.spread(rng.random(len(observers)))) >= value * (1 - 1e-6)


def test_many_contexts_with_many_pairs_are_bounded() -> None:
    """10^7 choices of pairs: the number is an upper bound, and says so."""
    rng = np.random.default_rng(0)
    game = pm.games.contextual_linear_bandit(rng.normal(size=(7, 5, 3)))
    found = contextual_alignment(game, [list(range(5))] * 7)
    assert not found.exact
    assert found.lower <= found <= 1.2 * found.lower
    some = contextual_alignment(
        pm.ContextualGame(game.games, [0.5, 0.5, *[0.0] * 5]), [list(range(5))] * 7
    )
    assert some.exact
    bar = integrated_alignment(game, [list(range(5))] * 7)
    assert not bar.exact
    assert bar.lower <= bar <= found * 7

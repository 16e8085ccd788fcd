"""Alignment constants with contexts near the plausible parameters, and for all of their sets."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.analysis.alignment import plausible_in
from partial_monitoring.analysis.contextual.local import (
    contextual_local_alignment,
    uniform_contextual_alignment,
)
from tests.oracles.contextual_alignment import by_cvxpy, choices

Array = NDArray[np.float64]


# -- near the plausible parameters ---------------------------------------------------------------


def in_square(seed: int) -> pm.ContextualGame:
    """Contexts over a square of parameters, with a constant in the rewards."""
    rng = np.random.default_rng(seed)
    square = pm.Box([-1, -1, 1], [1, 1, 1])
    games = []
    for _ in range(int(rng.integers(1, 4))):
        k = int(rng.integers(2, 5))
        maps = [rng.integers(-1, 2, (int(rng.integers(0, 2)), 3)) for _ in range(k)]
        games.append(pm.Game(rng.integers(-2, 3, (k, 3)), maps, square))
    return pm.ContextualGame(games, rng.dirichlet(np.ones(len(games))))


def small_box(center: Array, width: float) -> pm.Box:
    return pm.Box([*(center - width), 1], [*(center + width), 1])


def cut_corners(center: Array, width: float) -> Array:
    """The corners of a small box cut by the square, as parameters."""
    low, high = np.maximum(center - width, -1), np.minimum(center + width, 1)
    xs = [[low[0], high[0]], [low[1], high[1]]]
    return np.array([[x, y, 1.0] for x, y in product(*xs)])


@given(st.integers(0, 10_000))
@settings(max_examples=8)
def test_local_constants_are_those_of_the_definition(seed: int) -> None:
    """Gaps at the corners, plausible actions on a grid, and every eta at which one comes in."""
    game, rng = in_square(seed), np.random.default_rng(seed + 1)
    center, width = rng.uniform(-0.8, 0.8, 2), float(rng.choice([0.1, 0.5]))
    corners = cut_corners(center, width)
    steps = np.linspace(0, 1, 25)
    grid = np.array(
        [[a * (1 - s) + b * s for a, b in pairwise_ends(corners, t)] for s in steps for t in steps]
    ).reshape(-1, 3)
    plausible, levels = [], []
    for own, alone in zip(game.games, pm.analyze(game).contexts, strict=True):
        gaps = (corners @ own.features.T).max(axis=1, keepdims=True) - corners @ own.features.T
        rewards = grid @ own.features.T
        best = rewards >= rewards.max(axis=1, keepdims=True) - 1e-12
        here = [a for a in alone.representatives if best[:, a].any()]
        # An action that is best only between the points of the grid is left to other seeds.
        found = plausible_in(own, small_box(center, width))[0]
        if here != found:
            return
        widest = gaps.max(axis=0)[here].max()
        plausible.append(here)
        with np.errstate(invalid="ignore", divide="ignore"):
            level = np.where(gaps.max(axis=0) < 1e-9, 0.0, gaps.max(axis=0) / widest)
        levels.append(np.where(widest < 1e-9, np.where(level > 0, np.inf, 0.0), level))
    if all(len(own) < 2 for own in plausible):
        assert contextual_local_alignment(game, small_box(center, width)) == 0
        return
    for integrated in (False, True):
        value = np.inf
        for eta in np.unique(np.concatenate(levels)):
            if np.isfinite(eta):
                near = [np.flatnonzero(own <= eta * (1 + 1e-9)).tolist() for own in levels]
                reduced = flat(game)
                solved = by_cvxpy(reduced, near, integrated=integrated)
                worst = max(map(solved, choices(reduced, plausible, ordered=integrated)))
                value = min(value, eta**2 * worst if np.isfinite(worst) else np.inf)
        found_value = contextual_local_alignment(
            game, small_box(center, width), integrated=integrated
        )
        assert float(found_value) == pytest.approx(value, rel=1e-4, abs=1e-7)


def pairwise_ends(corners: Array, t: float) -> list[tuple[float, float]]:
    """The ends of a line across the box, coordinate by coordinate."""
    one = corners[0] * (1 - t) + corners[1] * t
    two = corners[2] * (1 - t) + corners[3] * t
    return list(zip(one, two, strict=True))


def flat(game: pm.ContextualGame) -> pm.ContextualGame:
    """The game without its known coordinate, for differences on the plane."""
    games = [
        pm.Game(own.features[:, :2], [own.rows(a)[:, :2] for a in range(own.k)],
                pm.AllParameters(2))
        for own in game.games
    ]  # fmt: skip
    return pm.ContextualGame(games, game.context_distribution)


@pytest.mark.parametrize("name", ["apple_tasting", "dynamic_pricing", "linear_bandit"])
def test_one_context_has_the_constants_of_the_plain_game(name: str) -> None:
    plain = pm.games.make(name)
    assert isinstance(plain, pm.Game)
    one = pm.ContextualGame([plain])
    analysis = pm.analyze(one)
    assert analysis.alignment == pytest.approx(pm.analyze(plain).alignment, rel=1e-6)
    assert float(analysis.integrated_alignment) == pytest.approx(analysis.alignment, rel=1e-6)
    assert float(pm.alignment(one)) == analysis.alignment
    for width in (0.3, 0.05):
        middle = plain.parameters.relative_interior_point()
        region = pm.Ball(middle, width)
        expected = float(pm.local_alignment(plain, region))
        assert float(pm.local_alignment(one, region)) == pytest.approx(expected, rel=1e-5)
        bar = contextual_local_alignment(one, region, integrated=True)
        assert float(bar) == pytest.approx(expected, rel=1e-5)


def test_contexts_that_never_come_and_duplicates_change_nothing() -> None:
    game = pm.games.survey(products=3)
    region = pm.Ball([0.5, 0.5, 0.4], 0.2)
    never = pm.ContextualGame([*game.games, game.games[0]], [0.3, 0.7, 0.0])
    own = game.at("answers")
    doubled = pm.Game(
        np.concatenate([own.features, own.features[:1]]),
        [*(own.rows(a) for a in range(3)), own.rows(0)],
        own.parameters,
    )
    twice = pm.ContextualGame([doubled, game.at("silent")], [0.3, 0.7])
    for other in (never, twice):
        assert pm.analyze(other).alignment == pytest.approx(pm.analyze(game).alignment, rel=1e-6)
        for integrated in (False, True):
            one = contextual_local_alignment(game, region, integrated=integrated)
            two = contextual_local_alignment(other, region, integrated=integrated)
            assert float(two) == pytest.approx(float(one), rel=1e-6)


# -- for all sets E ------------------------------------------------------------------------------


def test_one_context_has_the_uniform_bound_of_the_plain_game() -> None:
    from partial_monitoring.analysis.bounds import uniform_local_alignment

    for name in pm.games.GAMES:
        plain = pm.games.make(name)
        if isinstance(plain, pm.Game) and plain.k <= 6:
            alone = pm.analyze(plain)
            expected = uniform_local_alignment(alone) if alone.locally_observable else np.inf
            whole = uniform_contextual_alignment(pm.analyze(pm.ContextualGame([plain])))
            assert whole == pytest.approx(expected, rel=1e-6)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_the_uniform_bound_holds_for_every_set(seed: int) -> None:
    """And near a tie that is not seen the constant grows like 1 / width^2."""
    game, rng = in_square(seed), np.random.default_rng(seed)
    analysis = pm.analyze(game)
    bound = uniform_contextual_alignment(analysis)
    assert np.isfinite(bound) == analysis.locally_observable or analysis.category == "trivial"
    for width in (0.5, 0.05, 0.005):
        region = small_box(rng.uniform(-0.9, 0.9, 2), width)
        assert contextual_local_alignment(game, region) <= bound * (1 + 1e-5) + 1e-9
    if analysis.category == "learnable":
        unseen = next(face for face in analysis.faces.values() if not face.seen)
        tie = unseen.regions[-1].witness
        assert tie is not None
        theta = tie.floats()[:2] if hasattr(tie, "floats") else tie[:2]
        values = [
            float(contextual_local_alignment(game, small_box(theta, w))) for w in (1e-3, 1e-4)
        ]
        assert all(two > 30 * one or np.isinf(two) for one, two in pairwise(values))


def test_a_helping_context_with_the_same_cells_is_worth_its_probability() -> None:
    """The survey: silent clients are served by those who answer, at the price of 1 / chi."""
    for rate in (0.1, 0.5):
        game = pm.games.survey(products=2, answer_rate=rate)
        bound = uniform_contextual_alignment(pm.analyze(game))
        assert bound == pytest.approx(4 / rate, rel=1e-6)

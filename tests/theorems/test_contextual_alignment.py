"""Alignment constants with contexts: their programs, their bounds, and their order."""

from __future__ import annotations

import warnings
from itertools import combinations, pairwise, product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.analysis.alignment import plausible_in
from partial_monitoring.analysis.contextual import alignment as contextual_alignments
from partial_monitoring.analysis.contextual.alignment import (
    contextual_alignment,
    integrated_alignment,
    largest_constant,
)
from partial_monitoring.analysis.contextual.local import (
    contextual_local_alignment,
    uniform_contextual_alignment,
)
from partial_monitoring.analysis.contextual.programs import Contrast, ObservingActions, value_of

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


def choices(
    game: pm.ContextualGame, actions: list[list[int]], *, ordered: bool = False
) -> list[list[Array]]:
    """All choices of one difference per context that may come; zero where there is no pair."""
    options = []
    for z in np.flatnonzero(game.context_distribution > 0):
        phi = game.at(int(z)).features
        own = [phi[a] - phi[b] for a, b in combinations(actions[z], 2)]
        own += [-away for away in own] if ordered else []
        options.append(own or [np.zeros(game.d)])
    return [list(choice) for choice in product(*options)]


def by_cvxpy(
    game: pm.ContextualGame, away: list[Array], near: list[list[int]], *, integrated: bool = False
) -> float:
    """Return the constant of one choice from its definition, as the least denominator."""
    possible = [int(z) for z in np.flatnonzero(game.context_distribution > 0)]
    chi = game.context_distribution[possible]
    if not np.any(away) or (integrated and not (chi @ np.array(away)).any()):
        return 0.0
    omega = cp.Variable((1 if integrated else len(chi), game.d))
    rows = [0 if integrated else i for i in range(len(chi))]
    top = sum(chi[i] * away[i] @ omega[rows[i]] for i in range(len(chi)))
    below = 0.0
    for p, z in zip(chi, possible, strict=True):
        shown = []
        for c in near[z]:
            m = game.at(z).rows(c)
            if m.size:
                parts = [chi[i] * cp.sum_squares(m @ omega[rows[i]]) for i in range(len(chi))]
                shown.append(sum(parts))
        below = below + p * (cp.max(cp.hstack(shown)) if shown else 0.0)
    if isinstance(below, float):
        return np.inf
    problem = cp.Problem(cp.Minimize(below), [top == 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is inaccurate, where it is nearly 0
        problem.solve(solver=cp.CLARABEL)
    return 1 / float(problem.value) if problem.value > 1e-7 else np.inf


def everyone(game: pm.ContextualGame) -> list[list[int]]:
    return [list(range(own.k)) for own in game.games]


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_the_constants_are_those_of_the_definition(seed: int) -> None:
    game = random_game(seed)
    best, near = pareto(game), everyone(game)
    far = contextual_alignment(game, best)
    expected = max(by_cvxpy(game, away, near) for away in choices(game, best))
    assert far.exact
    assert float(far) == pytest.approx(expected, rel=1e-5, abs=1e-8)
    bar = integrated_alignment(game, best)
    signed = choices(game, best, ordered=True)
    expected = max(by_cvxpy(game, away, near, integrated=True) for away in signed)
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
                worst = max(
                    by_cvxpy(reduced, away, near, integrated=integrated)
                    for away in choices(reduced, plausible, ordered=integrated)
                )
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

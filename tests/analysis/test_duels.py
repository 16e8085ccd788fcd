"""Games of many duels are decided by their items, as the analysis of all pairs decides them."""

import pickle
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.analysis.analysis import analyze_game
from partial_monitoring.analysis.bounds import uniform_local_alignment
from partial_monitoring.analysis.duels import analyze_duels, telling_duels
from partial_monitoring.analysis.guarantees import delta_max, map_bound
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.rational import Rational

SETS = {
    "ball": lambda d: pm.Ball(np.full(d, 0.5), 1.0),
    "box": lambda d: pm.Box(np.zeros(d), np.ones(d)),
    "simplex": pm.Simplex,
    "all": pm.AllParameters,
}


@st.composite
def duels(draw: st.DrawFn) -> pm.DuelingGame:
    """Draw a small game of duels with ties, duplicates and dominated items."""
    d, items = draw(st.integers(2, 3)), draw(st.integers(2, 5))
    rows = st.lists(st.integers(-2, 2), min_size=d, max_size=d)
    features = draw(st.lists(rows, min_size=items, max_size=items))
    return pm.DuelingGame(features, SETS[draw(st.sampled_from(sorted(SETS)))](d))


@settings(max_examples=60, deadline=None)
@given(duels())
def test_items_decide_what_all_pairs_decide(game: pm.DuelingGame) -> None:
    pairs, items = analyze_game(game), analyze_duels(game)
    assert items.category == pairs.category
    assert items.pareto == pairs.pareto
    assert (items.rank, items.dimension) == (pairs.rank, pairs.dimension)
    assert items.alignment == pytest.approx(pairs.alignment, rel=1e-6)
    assert (items.globally_observable, items.locally_observable) == (True, True)
    assert pairs.globally_observable
    assert pairs.locally_observable
    assert uniform_local_alignment(pairs) <= 4 * (1 + 1e-6)
    assert items.verify()
    assert items.certified == pairs.certified


@settings(max_examples=30, deadline=None)
@given(duels())
def test_few_duels_have_the_sizes_of_all(game: pm.DuelingGame) -> None:
    few, whole = telling_duels(game), game.linear
    assert few.rank == whole.rank
    assert map_bound(few) == pytest.approx(map_bound(whole), rel=1e-9, abs=1e-12)
    assert delta_max(few, 1.0) == pytest.approx(delta_max(whole, 1.0), rel=1e-9, abs=1e-12)
    longest = [np.linalg.norm(own.features, axis=1).max() for own in (few, whole)]
    assert longest[0] == pytest.approx(longest[1])


def kernel_duels(items: int) -> pm.KernelDuelingGame:
    points = np.random.default_rng(0).random((items, 2))
    return pm.KernelDuelingGame(pm.kernels.SquaredExponential(0.1), points)


@pytest.mark.parametrize("lengthscale", [0.05, 0.3, 1.0])
def test_two_equal_settings_show_nothing_by_their_duel(lengthscale: float) -> None:
    points = np.random.default_rng(5).random((5, 2))
    points[1] = points[0]
    game = pm.KernelDuelingGame(pm.kernels.SquaredExponential(lengthscale), points)
    pairs, items = analyze_game(game), analyze_duels(game)
    assert pairs.rank == items.rank == 3
    assert pairs.alignment == pytest.approx(4.0, rel=1e-6)
    assert items.pareto == pairs.pareto


def test_duels_that_are_never_best_still_bound_the_local_alignment() -> None:
    """Items that are no neighbours: their duel loses no more than the worse of them."""
    ball = pm.Ball([0.5, 1.0], 1.0)
    found = analyze_game(pm.DuelingGame([[0, 0], [1, 0], [2, -1]], ball))
    assert found.game.k - len(found.pareto) - len(found.degenerate) == 2
    assert uniform_local_alignment(found) == pytest.approx(4.0)


def test_many_duels_are_analysed_within_seconds() -> None:
    game, start = kernel_duels(300), time.process_time()
    found = pm.analyze(game)
    assert found.category == "easy"
    assert found.alignment == 4.0
    assert "90,000 duels" in str(found)
    assert repr(found) == "DuelAnalysis(easy, regret n^1/2, in floating point)"
    assert pm.bounds(game, 10**9, analysis=found).informative_from < 10**9
    assert pm.advise(game).achieved
    assert time.process_time() - start < 20


def test_bounds_of_many_duels_are_those_of_all_pairs() -> None:
    """21 items, decided both ways; the constants of the local theorem are at most 4."""
    game = pm.games.kernelized_dueling()
    by_items = pm.bounds(game, [100, 10**6])
    linear = game.linear
    assert by_items.max_gap == pytest.approx(delta_max(linear, game.norm_bound))
    assert by_items.map_bound == pytest.approx(map_bound(linear))
    assert by_items.rank == linear.rank
    assert by_items.local_alignment == 4.0


def test_one_item_that_is_always_best_makes_many_duels_trivial() -> None:
    features = np.random.default_rng(0).integers(0, 5, (40, 3))
    features[7] = 5
    found = pm.analyze(pm.DuelingGame(features, pm.Simplex(3)))
    assert found.category == "trivial"
    assert found.certified
    assert list(found.rivals) == [7]
    assert not pm.bounds(found.game, 100, analysis=found).regret.any()


def test_a_wrong_analysis_of_duels_does_not_verify() -> None:
    features = np.random.default_rng(0).integers(-5, 5, (40, 3))
    found = pm.analyze(pm.DuelingGame(features, pm.Simplex(3)))
    assert found.verify()
    (a, first), (b, second) = found.rivals.items()
    assert not replace(found, rivals={a: first}).verify()
    assert not replace(found, rivals={a: second, b: first}).verify()
    assert not replace(found, rivals={a: first, b: first}).verify()
    assert not replace(found, rivals={a: first, b: replace(second, witness=None)}).verify()


def test_a_malformed_analysis_of_duels_does_not_verify() -> None:
    features = np.random.default_rng(0).integers(-5, 5, (40, 3))
    found = pm.analyze(pm.DuelingGame(features, pm.Simplex(3)))
    (a, first), (b, second) = found.rivals.items()
    numbers, bottom = first.witness
    wrong = [
        None,
        first.witness.floats(),
        Rational(numbers[:2], bottom),
        Rational(-numbers, -bottom),
    ]
    rivals = [{a: replace(first, witness=witness), b: second} for witness in wrong]
    rivals += [{}, None, {999: first, b: second}, {"a": first}, {a - 40: first, b: second}]
    rivals += [{a: None, b: second}, {a: replace(first, kind="dominated"), b: second}]
    for own in rivals:
        assert not replace(found, rivals=own).verify()
    in_floats = pm.analyze(kernel_duels(16))
    assert in_floats.verify()
    assert not replace(in_floats, certified=True).verify()


def test_an_analysis_of_duels_is_about_the_items_of_its_own_game() -> None:
    features = np.random.default_rng(0).integers(-5, 5, (40, 3))
    found = pm.analyze(pm.DuelingGame(features, pm.Simplex(3)))
    (a, _), (_, second) = found.rivals.items()
    other = features.copy()
    other[a] = 9
    trivial = replace(found, game=pm.DuelingGame(other, pm.Simplex(3)), rivals={a: second})
    assert trivial.items.features[a].tolist() == [9, 9, 9]
    assert trivial.verify()
    assert not replace(trivial, game=found.game).verify()


def test_an_analysis_of_duels_can_be_pickled() -> None:
    found = pm.analyze("kernelized_dueling")
    again = pickle.loads(pickle.dumps(found))
    assert again.verify()
    assert again.explain() == found.explain()
    assert again.alignment == found.alignment


def test_many_duels_refuse_what_would_consider_all_pairs() -> None:
    game = kernel_duels(50)
    with pytest.raises(InvalidInput, match="every pair of actions, of at most 200 duels"):
        pm.local_alignment(game, pm.Ball(np.zeros(50), 1.0))
    with pytest.raises(InvalidInput, match="at most 60 items; the game has 70"):
        pm.analyze(kernel_duels(70)).plot()


def test_the_items_of_many_duels_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    figure = pm.analyze("kernelized_dueling").plot()
    assert "Easy" in figure.axes[0].get_title()

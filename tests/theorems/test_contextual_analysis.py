"""The class of games with contexts: each by itself, and what they tell each other."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.analysis.contextual import faces
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis
from partial_monitoring.analysis.contextual.faces import FaceCertificate
from partial_monitoring.cli import main
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.rational import Rational

Array = NDArray[np.float64]


def game(maps: list[list[list[float]]], chi: list[float] | None = None) -> pm.ContextualGame:
    """Two actions with rewards theta_1 and theta_2 in each context, and what these show."""
    box = pm.Box([0, 0], [1, 1])
    features = [[1, 0], [0, 1]]
    games = [pm.Game(features, [rows, []], box, actions=["a", "b"]) for rows in maps]
    return pm.ContextualGame(games, chi)


def test_contexts_help_each_other() -> None:
    """The difference is shown in neither context alone, but in both together."""
    both = pm.analyze(game([[[1, 0]], [[0, 1]]]))
    assert [own.category for own in both.contexts] == ["hopeless", "hopeless"]
    assert both.observable
    assert both.locally_observable
    assert both.category == "easy"
    assert both.certified
    assert both.verify()
    (first, _) = both.combinations
    assert first.weights is not None
    assert {place: w.tolist() for place, w in first.weights.items()} == {
        (0, 0): [1.0],
        (1, 0): [-1.0],
    }
    assert first.blind is None
    assert "what it needs to know is shown in other contexts" in both.explain()
    pm.Learner(game([[[1, 0]], [[0, 1]]]))


def test_contexts_that_never_come_do_not_help() -> None:
    alone = game([[[1, 0]], [[0, 1]]], [1.0, 0.0])
    analysis = pm.analyze(alone)
    assert analysis.category == "hopeless"
    assert analysis.possible == [0]
    assert "cannot be told apart by anything that any context shows" in analysis.explain()
    with pytest.raises(InvalidInput, match="actions 'a' and 'b' of context '0' cannot be told"):
        pm.Learner(alone)
    pm.Learner(alone, allow_hopeless=True).ask(context=0)


@pytest.mark.parametrize(
    ("name", "options", "category", "silent"),
    [
        ("survey", {}, "easy", ["silent"]),
        ("survey", {"answer_rate": 1.0}, "easy", []),
        ("survey", {"answer_rate": 0.0}, "hopeless", ["silent"]),
        ("survey", {"voucher": True}, "learnable", ["silent"]),
        ("greedy_exploration", {}, "easy", []),
        ("segment_pricing", {}, "learnable", []),
        ("contextual_linear_bandit", {}, "easy", []),
        ("contextual_dueling", {}, "easy", []),
        ("contextual_apple_tasting", {}, "easy", []),
    ],
)
def test_named_games(
    name: str, options: dict[str, object], category: str, silent: list[str]
) -> None:
    found = pm.games.make(name, **options)
    assert isinstance(found, pm.ContextualGame)
    analysis = pm.analyze(found)
    assert analysis.category == category
    assert analysis.silent == silent
    assert analysis.verify()


def test_one_context_is_the_plain_game() -> None:
    names = {"trivial": "trivial", "easy": "easy", "hard": "learnable", "hopeless": "hopeless"}
    for name in pm.games.GAMES:
        plain = pm.games.make(name)
        if isinstance(plain, pm.Game) and not isinstance(plain, pm.KernelGame):
            whole = pm.analyze(pm.ContextualGame([plain]))
            assert whole.category == names[pm.analyze(plain).category]


def test_random_games_against_brute_force() -> None:
    """Observable if and only if no direction that matters is invisible wherever one may be."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        box = pm.Box([-1] * 3, [1] * 3)
        games = []
        for _ in range(3):
            k = int(rng.integers(1, 4))
            maps = [rng.integers(-1, 2, (int(rng.integers(0, 2)), 3)) for _ in range(k)]
            games.append(pm.Game(rng.integers(-2, 3, (k, 3)), maps, box))
        chi = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]][seed % 3])
        analysis = pm.analyze(pm.ContextualGame(games, chi))
        shown = np.concatenate([own.observation_maps.reshape(-1, 3)
                                for own, p in zip(games, chi, strict=True) if p > 0])  # fmt: skip
        blind = _null_space(shown)
        matters = [
            own.features[b] - own.features[a]
            for own, p in zip(games, chi, strict=True)
            if p > 0
            for a in pm.analyze(own).pareto
            for b in pm.analyze(own).pareto
        ]
        expected = all(np.abs(blind @ direction).max(initial=0) < 1e-9 for direction in matters)
        assert analysis.observable == expected
        assert analysis.verify()


def _null_space(rows: Array) -> Array:
    _, values, right = np.linalg.svd(np.concatenate([rows, np.zeros((3, 3))]))
    return right[(values > 1e-9).sum() :]


def test_the_differences_are_decided_exactly() -> None:
    """Observations that differ by 1e-8 are not parallel, whatever floating point makes of them."""
    close = 1 + 1e-8
    box = pm.Box([0, 0], [1, 1])
    games = [pm.Game([[1, 0], [0, 1]], [row, []], box) for row in ([[1, 1]], [[1, close]])]
    analysis = pm.analyze(pm.ContextualGame(games))
    assert analysis.certified
    assert analysis.observable
    alike = pm.analyze(pm.ContextualGame([games[0], games[0]]))
    assert alike.certified
    assert alike.category == "hopeless"
    blind = alike.combinations[0].blind
    assert blind is not None
    assert blind[0] + blind[1] == 0
    assert blind[0] != blind[1]


def test_what_is_not_rational_is_decided_in_floating_point() -> None:
    root = 2**0.5
    analysis = pm.analyze(game([[[root, 0]], [[0, root]]]))
    assert not analysis.certified
    assert analysis.sound
    assert analysis.category == "easy"
    assert "in floating point" in analysis.explain()
    unseen = pm.analyze(game([[[root, 1]], [[2 * root, 2]]]))
    assert unseen.category == "hopeless"
    assert unseen.verify()


def test_false_proofs_are_found() -> None:
    analysis = pm.analyze(game([[[1, 0]], [[0, 1]]]))
    first, second = analysis.combinations
    swapped = (replace(first, reading=second.reading), second)
    assert replace(analysis, combinations=swapped).verify()  # both contexts need the same
    weights = first.reading.weights
    assert isinstance(weights, Rational)
    false = replace(first.reading, weights=Rational(2 * weights.numerators, weights.denominator))
    wrong = replace(analysis, combinations=(replace(first, reading=false), second))
    assert wrong.problems() == ["the combination of (0, 0, 1) does not hold."]
    assert not replace(analysis, combinations=(first,)).verify()
    assert not replace(analysis, faces={}).verify()
    (one, two) = analysis.faces.values()
    crossed = replace(analysis, faces={(0, 0, 1): two, (1, 0, 1): one})
    assert crossed.problems() == [
        f"the face of ({z}, 0, 1) is that of other actions." for z in (0, 1)
    ]
    hopeless = pm.analyze(game([[[1, 0]], [[0, 1]]], [1.0, 0.0]))
    (unseen,) = hopeless.combinations
    seen = replace(unseen.reading, blind=Rational(np.array([1, 0]), 1))
    assert not replace(hopeless, combinations=(replace(unseen, reading=seen),)).verify()


def test_false_regions_are_found() -> None:
    """Faces that are cut by the cells of another context, and what must be there to prove it."""
    analysis = pm.analyze(in_square(CUT))
    place, face = next(
        (place, face)
        for place, face in analysis.faces.items()
        if face.seen and len(face.regions) > 1
    )
    assert analysis.verify()

    def with_face(changed: FaceCertificate) -> ContextualAnalysis:
        return replace(analysis, faces={**analysis.faces, place: changed})

    assert not with_face(replace(face, regions=face.regions[1:])).verify()
    if face.excluded:
        assert not with_face(replace(face, excluded=face.excluded[1:])).verify()
    smaller = replace(face.regions[0], cells=dict(list(face.regions[0].cells.items())[:1]))
    assert not with_face(replace(face, regions=(smaller, *face.regions[1:]))).verify()


# -- local observability of the whole ------------------------------------------------------------


def in_square(seed: int) -> pm.ContextualGame:
    """Contexts over a square of parameters, with a constant in the rewards."""
    rng = np.random.default_rng(seed)
    square = pm.Box([-1, -1, 1], [1, 1, 1])
    games = []
    for _ in range(int(rng.integers(1, 5))):
        k = int(rng.integers(1, 5))
        maps = [rng.integers(-1, 2, (int(rng.integers(0, 3)), 3)) for _ in range(k)]
        games.append(pm.Game(rng.integers(-2, 3, (k, 3)), maps, square))
    chi = np.ones(len(games))
    if len(games) > 2 and seed % 3 == 0:
        chi[-1] = 0.0
    return pm.ContextualGame(games, chi / chi.sum())


CUT = 10


def locally_observable(found: pm.ContextualGame) -> bool:
    """Walk along every line on which two actions of a context tie, from crossing to crossing."""
    own = [
        (g.features.astype(int).tolist(), [g.rows(a)[:, :2].tolist() for a in range(g.k)])
        for g, p in zip(found.games, found.context_distribution, strict=True)
        if p > 0
    ]
    lines = {
        tuple(x - y for x, y in zip(one, two, strict=True))
        for features, _ in own
        for one, two in combinations(features, 2)
    }
    lines |= {(1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)}
    for features, _ in own:
        for a, b in combinations(range(len(features)), 2):
            tie = [x - y for x, y in zip(features[a], features[b], strict=True)]
            if tie[0] == tie[1] == 0:
                continue
            for theta in _between(tie, lines):
                best = [_best(phi, theta) for phi, _ in own]
                mine = next(best[i] for i, (phi, _) in enumerate(own) if phi is features)
                if not {a, b} <= mine:
                    continue
                rows = [
                    row
                    for (_, maps), good in zip(own, best, strict=True)
                    for c in good
                    for row in maps[c]
                ]
                if _rank([*rows, tie[:2]]) > _rank(rows):
                    return False
    return True


def _between(tie: list[int], lines: set[tuple[int, ...]]) -> list[list[Fraction]]:
    """Points of the line in the square, one between every two crossings with other lines."""
    p, q, r = map(Fraction, tie)
    start = [-r * p / (p * p + q * q), -r * q / (p * p + q * q)]
    along = [-q, p]
    crossings = set()
    for x, y, z in lines:
        slope = x * along[0] + y * along[1]
        if slope:
            crossings.add(-(x * start[0] + y * start[1] + z) / slope)
    middles = [(s + t) / 2 for s, t in pairwise(sorted(crossings))]
    points = [[start[i] + t * along[i] for i in (0, 1)] for t in middles]
    return [[*point, Fraction(1)] for point in points if max(map(abs, point)) < 1]


def _best(features: list[list[int]], theta: list[Fraction]) -> set[int]:
    rewards = [sum(x * y for x, y in zip(phi, theta, strict=True)) for phi in features]
    return {a for a, reward in enumerate(rewards) if reward == max(rewards)}


def _rank(rows: list[list[float]]) -> int:
    return int(np.linalg.matrix_rank(np.array(rows))) if rows else 0


@given(st.integers(0, 100_000))
@settings(max_examples=60)
def test_local_observability_against_brute_force(seed: int) -> None:
    found = in_square(seed)
    analysis = pm.analyze(found)
    assert analysis.certified
    assert analysis.verify()
    if analysis.observable:
        assert analysis.locally_observable == locally_observable(found)
        assert not analysis.undecided
    else:
        assert not locally_observable(found)


@given(st.integers(0, 100_000))
@settings(max_examples=40)
def test_floating_point_finds_the_class_of_the_exact_game(seed: int) -> None:
    """Rewards and observations times a root are not rational, but the class is the same."""
    exact = in_square(seed)
    games = [
        pm.Game(3**0.5 * own.features, [2**0.5 * own.rows(a) for a in range(own.k)], own.parameters)
        for own in exact.games
    ]
    analysis = pm.analyze(pm.ContextualGame(games, exact.context_distribution))
    assert analysis.sound
    assert analysis.category == pm.analyze(exact).category or analysis.undecided


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_the_set_around_zero_does_not_matter(seed: int) -> None:
    """Without constants in the rewards cells are cones: all of R^d, boxes and balls are alike."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 4))
    data = []
    for _ in range(int(rng.integers(1, 5))):
        k = int(rng.integers(1, 5))
        maps = [rng.integers(-1, 2, (int(rng.integers(0, 2)), d)) for _ in range(k)]
        data.append((rng.integers(-2, 3, (k, d)), maps))
    sets = [pm.AllParameters(d), pm.Box([-1] * d, [1] * d), pm.Ball(np.zeros(d), 1.0)]
    found = [
        pm.analyze(pm.ContextualGame([pm.Game(phi, maps, own) for phi, maps in data]))
        for own in sets
    ]
    assert len({analysis.category for analysis in found}) == 1
    assert all(analysis.sound for analysis in found)
    assert [analysis.certified for analysis in found] == [True, True, False]


def test_curved_sets_are_decided_in_floating_point() -> None:
    ball = pm.Ball([0.1, 0.2, 0.3], 1.0)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4, 3))
    shows = pm.Game(features, features[:, None], ball)
    silent = pm.Game(2 * features, [[]] * 4, ball)
    whole = pm.analyze(pm.ContextualGame([shows, silent], [0.2, 0.8]))
    assert [own.category for own in whole.contexts] == ["easy", "hopeless"]
    assert whole.category == "easy"
    assert whole.sound
    assert not whole.certified


def test_both_answers_occur_where_contexts_need_each_other() -> None:
    """So that the comparison above is about something."""
    kinds = set()
    for seed in range(120):
        analysis = pm.analyze(in_square(seed))
        if analysis.faces:
            cut = any(len(face.regions) > 1 for face in analysis.faces.values())
            kinds.add((analysis.locally_observable, cut))
    assert kinds >= {(True, False), (True, True), (False, False)}


def test_too_many_regions_leave_it_open() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faces, "MOST_REGIONS", 0)
        analysis = pm.analyze(game([[[1, 0]], [[0, 1]]]))
    assert analysis.undecided == [(0, 0, 1), (1, 0, 1)]
    assert analysis.category == "learnable"
    assert "it may be easier than said here" in analysis.explain()


def test_a_context_in_which_one_action_is_always_best_does_not_explore() -> None:
    """The survey with a voucher: who answers gets the voucher, and that shows nothing."""
    analysis = pm.analyze(pm.games.survey(voucher=True))
    assert analysis.certified
    assert analysis.observable
    assert not analysis.locally_observable
    assert "do not show which of the two is better" in analysis.explain()


def test_the_command_line() -> None:
    text = CliRunner().invoke(main, ["analyze", "survey"]).output
    assert "'silent' (probability 0.7) shows nothing and is hopeless by itself" in text
    data = json.loads(CliRunner().invoke(main, ["analyze", "survey", "--json"]).output)
    assert data["category"] == "easy"
    assert data["certified"]
    assert data["alignment_exact"]
    assert set(data["contexts"]) == {"answers", "silent"}


# -- the alignment constant --------------------------------------------------------------------


def test_one_context_has_the_constant_of_the_plain_game() -> None:
    for name in pm.games.GAMES:
        plain = pm.games.make(name)
        if isinstance(plain, pm.Game) and plain.k <= 6 and pm.analyze(plain).category != "hopeless":
            whole = pm.analyze(pm.ContextualGame([plain]))
            assert whole.alignment == pytest.approx(pm.analyze(plain).alignment, rel=1e-6)


def ratio(found: pm.ContextualGame, away: Array, omega: Array) -> float:
    """The quotient for differences (Z, d) and directions (Z, d), written out."""
    chi = found.context_distribution
    top = sum(chi[z] * away[z] @ omega[z] for z in range(len(chi))) ** 2
    below = sum(
        chi[y]
        * max(
            sum(chi[z] * np.sum((found.at(y).rows(c) @ omega[z]) ** 2) for z in range(len(chi)))
            for c in range(found.at(y).k)
        )
        for y in range(len(chi))
    )
    return float(top / below) if below > 0 else 0.0


def test_no_directions_have_a_larger_quotient() -> None:
    """And by climbing from random ones the constant is nearly reached."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        games = []
        for _ in range(2):
            maps = [rng.normal(size=(1, 2)) for _ in range(2)]
            games.append(pm.Game(rng.normal(size=(2, 2)), maps, pm.AllParameters(2)))
        found = pm.ContextualGame(games, rng.dirichlet([2, 2]))
        alpha = pm.analyze(found).alignment
        away = np.array([own.features[1] - own.features[0] for own in games])
        best = 0.0
        for _ in range(60):
            omega, step = rng.normal(size=(2, 2)), 1.0
            value = ratio(found, away, omega)
            for _ in range(400):
                moved = omega + step * rng.normal(size=(2, 2))
                if (tried := ratio(found, away, moved)) > value:
                    omega, value = moved, tried
                else:
                    step = max(0.97 * step, 1e-4)
            best = max(best, value)
        assert best <= alpha * (1 + 1e-6)
        assert best >= 0.97 * alpha


def test_a_constant_that_does_not_exist_is_infinite() -> None:
    assert pm.analyze(game([[[1, 0]], [[0, 1]]], [1.0, 0.0])).alignment == np.inf
    assert pm.analyze(game([[[1, 0]], [[0, 1]]])).alignment < np.inf

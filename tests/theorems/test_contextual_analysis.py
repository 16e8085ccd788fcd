"""The class of games with contexts: each by itself, and what they tell each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis
from partial_monitoring.analysis.contextual.faces import FaceCertificate
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.rational import Rational
from tests.oracles.contextual_games import CUT, game, in_square

Array = NDArray[np.float64]


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


# -- the alignment constant --------------------------------------------------------------------


def test_one_context_has_the_constant_of_the_plain_game() -> None:
    for name in pm.games.GAMES:
        plain = pm.games.make(name)
        if isinstance(plain, pm.Game) and plain.k <= 6 and pm.analyze(plain).category != "hopeless":
            whole = pm.analyze(pm.ContextualGame([plain]))
            assert whole.alignment == pytest.approx(pm.analyze(plain).alignment, rel=1e-6)


def ratios(found: pm.ContextualGame, away: Array, omega: Array) -> Array:
    """The quotients for differences (Z, d) and directions (n, Z, d), written out, shape (n,)."""
    chi = found.context_distribution
    top = np.einsum("z,zd,nzd->n", chi, away, omega) ** 2
    below = np.zeros(len(omega))
    for y, own in enumerate(found.games):
        seen = [np.einsum("z,nzr->n", chi, (omega @ own.rows(c).T) ** 2) for c in range(own.k)]
        below += chi[y] * np.max(seen, axis=0)
    return np.where(below > 0, top / np.maximum(below, 1e-300), 0.0)


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
        omega, step = rng.normal(size=(60, 2, 2)), np.ones((60, 1, 1))
        value = ratios(found, away, omega)
        for _ in range(400):
            moved = omega + step * rng.normal(size=omega.shape)
            tried = ratios(found, away, moved)
            up = tried > value
            omega[up], value[up] = moved[up], tried[up]
            step[~up] = np.maximum(0.97 * step[~up], 1e-4)
        assert value.max() <= alpha * (1 + 1e-6)
        assert value.max() >= 0.97 * alpha


def test_a_constant_that_does_not_exist_is_infinite() -> None:
    assert pm.analyze(game([[[1, 0]], [[0, 1]]], [1.0, 0.0])).alignment == np.inf
    assert pm.analyze(game([[[1, 0]], [[0, 1]]])).alignment < np.inf

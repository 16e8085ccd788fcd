"""The known games get every field right; certificates hold, and fail when tampered with."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.analysis.cells import Cell
from partial_monitoring.errors import InvalidInput
from tests.oracles.known_games import KNOWN, load


@pytest.mark.parametrize("name", KNOWN)
def test_known_games_get_every_field_right(name: str) -> None:
    analysis = pm.analyze(load(name))
    found, expected = analysis.to_dict(), KNOWN[name]
    assert analysis.verify(), analysis.problems()
    for key, value in expected.items():
        if key == "alignment" and value != "inf":
            assert found[key] == pytest.approx(value, rel=1e-7)
            assert analysis.alignment_details.gap <= 1e-7
        else:
            assert found[key] == value, key


@pytest.mark.parametrize("name", KNOWN)
def test_rational_polyhedral_games_are_certified(name: str) -> None:
    game = load(name)
    assert pm.analyze(game).certified == (not isinstance(game.parameters, pm.Ball))


@pytest.mark.parametrize("name", KNOWN)
def test_floating_point_alone_finds_the_same(name: str) -> None:
    """Irrational units take away exact arithmetic but change nothing else."""
    game = load(name)
    if isinstance(game.parameters, pm.Ball):
        pytest.skip("curved sets are floating point anyway")
    scaled = pm.Game(game.features * np.sqrt(2), game.observation_maps * np.pi, game.parameters)
    analysis = pm.analyze(scaled)
    assert not analysis.certified
    assert analysis.verify(), analysis.problems()
    found = analysis.to_dict()
    for key, value in KNOWN[name].items():
        if key == "alignment" and value != "inf":
            assert found[key] == pytest.approx(value * 2 / np.pi**2, rel=1e-6)
        else:
            assert found[key] == value, key


def test_exact_arithmetic_corrects_floating_point() -> None:
    """An advantage far below every tolerance still makes an action Pareto optimal."""
    tiny = 1e-9
    game = pm.FiniteGame([[1, 0], [0, 1], [0.5 + tiny, 0.5 + tiny]], ["ab", "ab", "ab"])
    analysis = pm.analyze(game)
    assert analysis.certified
    assert analysis.pareto == [0, 1, 2]
    assert analysis.neighbors == [(0, 2), (1, 2)]
    game = pm.FiniteGame([[1, 0], [0, 1], [0.5 - tiny, 0.5 - tiny]], ["ab", "ab", "ab"])
    assert pm.analyze(game).dominated == [2]
    assert pm.analyze(game).certified


def tampered(analysis: pm.Analysis, action: int, **changes: Any) -> pm.Analysis:
    cells = list(analysis.cells.cells)
    cells[action] = replace(cells[action], **changes)
    return replace(analysis, cells=replace(analysis.cells, cells=tuple(cells)))


@pytest.mark.parametrize("name", ["dynamic_pricing", "linear_bandit"])
def test_wrong_certificates_are_found(name: str) -> None:
    analysis = pm.analyze(pm.games.make(name))
    cells = analysis.cells.cells
    assert not tampered(analysis, 0, witness=cells[1].witness).verify()
    assert not tampered(analysis, 0, kind="dominated").verify()
    assert not tampered(analysis, 0, kind="degenerate").verify()
    (pair, face), *_ = analysis.cells.faces.items()
    for wrong in (
        replace(face, neighbors=False),
        replace(face, witness=cells[2].witness),
        replace(face, neighborhood=tuple(range(analysis.game.k))),
    ):
        faces = analysis.cells.faces | {pair: wrong}
        assert not replace(analysis, cells=replace(analysis.cells, faces=faces)).verify()
    reading = analysis.local_readings[pair]
    other = next(r for p, r in analysis.local_readings.items() if p != pair)
    for wrong_reading in (other, replace(reading, weights=None, blind=None)):
        local = analysis.local_readings | {pair: wrong_reading}
        try:
            holds = replace(analysis, local_readings=local).verify()
        except (AssertionError, TypeError):
            holds = False
        assert not holds


def test_wrong_mixtures_are_found() -> None:
    analysis = pm.analyze(pm.games.label_efficient())
    mixture = analysis.cells.cells[0].mixture
    assert mixture is not None
    turned = mixture._replace(numerators=-mixture.numerators)  # type: ignore[union-attr]
    assert not tampered(analysis, 0, mixture=turned).verify()
    assert not tampered(analysis, 0, mixture=None).verify()
    assert isinstance(analysis.cells.cells[0], Cell)


def test_witnesses_and_mixtures_as_arrays() -> None:
    analysis = pm.analyze(pm.games.label_efficient())
    witness = analysis.witness("predict 0")
    assert witness is not None
    assert pm.Instance(analysis.game, witness).best_action == 1
    assert analysis.witness("ask") is None
    mixture = analysis.dominating_mixture("ask")
    assert mixture is not None
    assert mixture.sum() == pytest.approx(1)
    tie = analysis.face_witness("predict 1", "predict 0")
    assert tie is not None
    np.testing.assert_allclose(tie, [0.5, 0.5])
    assert analysis.face_witness("ask", "predict 0") is None


@pytest.mark.parametrize("name", [n for n in KNOWN if KNOWN[n]["globally_observable"]])
def test_estimation_weights_estimate(name: str) -> None:
    game = load(name)
    analysis = pm.analyze(game)
    q = game.reduced.difference_basis
    for a, b in analysis.neighbors:
        for i, j in ((a, b), (b, a)):
            weights = analysis.estimation_weights(i, j)
            assert weights.shape == (game.k, game.m)
            seen = np.einsum("cm,cmd->d", weights, game.observation_maps)
            difference = game.features[i] - game.features[j]
            np.testing.assert_allclose(seen @ q, difference @ q, atol=1e-8)
            if analysis.local_readings[a, b].seen:
                used = np.flatnonzero(abs(weights).max(axis=1, initial=0) > 1e-12)
                assert set(used) <= set(analysis.neighborhoods[a, b])


def test_estimation_weights_of_a_hopeless_pair_are_refused() -> None:
    analysis = pm.analyze(pm.games.matching_pennies("none"))
    with pytest.raises(InvalidInput, match="'heads' and 'tails' cannot be told apart by any feed"):
        analysis.estimation_weights("heads", "tails")


def test_explanations() -> None:
    hard = pm.analyze(pm.games.dynamic_pricing()).explain()
    assert "'$1' and '$3' can only be told apart with the help of '$2', which is not among" in hard
    assert (
        "no action shows which of them" in pm.analyze(pm.games.matching_pennies("none")).explain()
    )
    assert "verified in exact arithmetic" in hard
    curved = pm.analyze(pm.games.transductive())
    assert "floating point" in curved.explain()
    assert "<strong>Hard" in curved._repr_html_()
    assert repr(curved).startswith("Analysis(hard, regret n^2/3, margin")


@pytest.mark.parametrize("features", [[[1.0]], [[1.0, 2.0]], [[1, 2], [1, 2], [1, 2]]])
def test_one_class_of_actions_is_trivial(features: list[list[float]]) -> None:
    k, d = np.shape(features)
    for parameters in (pm.AllParameters(d), pm.Simplex(d), pm.Ball(np.zeros(d), 1)):
        analysis = pm.analyze(pm.Game(features, [[]] * k, parameters))
        assert analysis.category == "trivial"
        assert analysis.alignment == 0
        assert analysis.pareto == list(range(k))
        assert analysis.verify()


@pytest.mark.parametrize(
    "point",
    [pm.Ball([1.0, 2.0], 0), pm.Box([1, 2], [1, 2]), pm.Polytope(a_eq=np.eye(2), b_eq=[1, 2])],
)
def test_a_known_parameter_leaves_nothing_to_learn(point: Any) -> None:
    game = pm.Game([[1, 0], [0, 1], [0, 1]], np.zeros((3, 0, 2)), point)
    analysis = pm.analyze(game)
    assert analysis.category == "trivial"
    assert analysis.pareto == [1, 2]
    assert analysis.dominated == [0]
    assert analysis.duplicates == [[1, 2]]


def test_only_games_are_analysed() -> None:
    for wrong in (3, None):
        with pytest.raises(InvalidInput, match="game must be a Game or a ContextualGame, or"):
            pm.analyze(wrong)  # type: ignore[arg-type]

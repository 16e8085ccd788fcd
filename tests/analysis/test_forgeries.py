"""Forged analyses that agree with themselves: ``verify`` must refuse each of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.analysis.cells import Face
from partial_monitoring.analysis.observability import Certificate, span_of
from partial_monitoring.numerics.rational import Rational
from tests.oracles.contextual_games import game as two_contexts

BLIND = pm.Game([[1, 0], [0, 1]], [[], []], pm.Simplex(2))
"""Hopeless: two actions compete and nothing is observed."""


def whole(*numbers: int) -> Rational:
    return Rational(np.array(numbers), 1)


def with_face(analysis: pm.Analysis, face: Face) -> pm.Analysis:
    """Return an analysis whose pairs all have one face, which is called none of neighbours."""
    cells = replace(analysis.cells, faces=dict.fromkeys(analysis.cells.faces, face))
    return replace(analysis, cells=cells, local_readings={}, global_readings={})


def test_a_cell_left_out() -> None:
    honest = pm.analyze(BLIND)
    cells = replace(honest.cells, cells=honest.cells.cells[:1], faces={})
    forged = replace(honest, cells=cells, local_readings={}, global_readings={})
    assert (honest.category, forged.category) == ("hopeless", "trivial")
    assert forged.problems() == ["there are 1 cells for 2 actions."]


@pytest.mark.parametrize("parameters", [pm.Simplex(2), pm.Ball([0.0, 0.0], 1.0)])
def test_a_kind_that_does_not_exist(parameters: pm.ParameterSet) -> None:
    honest = pm.analyze(pm.Game(BLIND.features, [[], []], parameters))
    first, second = honest.cells.cells
    cells = replace(honest.cells, cells=(first, replace(second, kind="whatever")), faces={})
    forged = replace(honest, cells=cells, local_readings={}, global_readings={})
    assert (honest.category, forged.category) == ("hopeless", "trivial")
    assert forged.problems() == ["the cell of action 1 is malformed."]


def test_weights_beside_a_blind_direction() -> None:
    honest = pm.analyze(BLIND)
    garbage = np.zeros((2, 0))

    def forge(readings: dict[tuple[int, int], Certificate]) -> dict[tuple[int, int], Certificate]:
        return {pair: replace(own, weights=garbage) for pair, own in readings.items()}

    local, everywhere = forge(honest.local_readings), forge(honest.global_readings)
    forged = replace(honest, local_readings=local, global_readings=everywhere)
    assert forged.category == "easy"
    assert not forged.verify()
    neither = {pair: replace(own, weights=None, blind=None) for pair, own in local.items()}
    assert not replace(honest, local_readings=neither).verify()


@pytest.mark.parametrize("third", [[0.5, 0.5], [1, 0]], ids=["a mixture", "a duplicate"])
def test_a_neighborhood_without_the_action_that_is_said_to_separate_it(third: list[float]) -> None:
    features = [[1, 0], [0, 1], third, [-1, -1]]
    game = pm.Game(features, [[], [], [], [[1, 0]]], pm.Simplex(2))
    honest = pm.analyze(game)
    tie = Fraction(1, 2) if third == [0.5, 0.5] else Fraction(0)
    face = replace(honest.cells.faces[0, 1], neighbors=False, witness=None, neighborhood=(0, 1))
    forged = with_face(honest, replace(face, mixture=whole(0, 0, 1, 0), tie_weight=tie))
    assert (honest.category, forged.category) == ("hard", "easy")
    assert any("does not hold exactly the mixtures" in problem for problem in forged.problems())


def test_pareto_actions_that_no_neighbors_connect() -> None:
    honest = pm.analyze(BLIND)
    face = replace(honest.cells.faces[0, 1], neighbors=False)
    assert (
        "the Pareto actions are not connected by neighbours." in with_face(honest, face).problems()
    )


def test_global_certificates_of_dominated_actions() -> None:
    game = pm.Game(
        [[1, 0, 0], [0, 1, 0], [-1, 0, -1]], [[[2, 0, 1]], [], []], pm.Box([0] * 3, [1] * 3)
    )
    honest = pm.analyze(game)
    assert honest.dominated == [2] or honest.degenerate == [2]
    seen = span_of(game, honest.exact, range(3)).certify(0, 2)
    assert seen.seen
    forged = replace(honest, global_readings={(0, 2): seen})
    assert (honest.category, forged.category) == ("hopeless", "hard")
    assert not forged.verify()
    unseen = span_of(game, honest.exact, range(3)).certify(1, 2)
    learnable = pm.analyze(pm.Game(game.features, [[[1, 0, 0]], [[0, 1, 0]], []], game.parameters))
    forged = replace(learnable, global_readings={**learnable.global_readings, (1, 2): unseen})
    assert (learnable.category, forged.category) == ("easy", "hopeless")
    assert not forged.verify()


@pytest.mark.parametrize("denominator", [-1, 0])
def test_a_witness_whose_denominator_is_not_positive(denominator: int) -> None:
    game = pm.Game([[1, 0], [0, 1]], [[[1, 0]], [[0, 1]]], pm.AllParameters(2))
    honest = pm.analyze(game)
    first, second = honest.cells.cells
    assert isinstance(first.witness, Rational)
    opposite = Rational(-first.witness.numerators, denominator * first.witness.denominator)
    cells = (replace(first, witness=opposite), second)
    forged = replace(honest, cells=replace(honest.cells, cells=cells))
    assert forged.problems() == ["the cell of action 0 is malformed."]


def test_floating_point_called_certified() -> None:
    honest = pm.analyze(
        pm.Game([[2**0.5, 0], [0, 1]], [[[1, 0]], [[0, 1]]], pm.Box([0, 0], [1, 1]))
    )
    assert honest.verify()
    assert not honest.certified
    assert not replace(honest, certified=True).verify()


def test_contexts_of_other_games() -> None:
    honest = pm.analyze(two_contexts([[[1, 0]], [[0, 1]]]))
    assert honest.verify()
    one, two = honest.contexts
    problems = ["the analyses of the contexts are those of other games."]
    assert replace(honest, contexts=(two, one)).problems() == problems
    assert not replace(honest, contexts=(one,)).verify()
    assert not replace(honest, joint=replace(honest.joint, exact=None)).verify()


def test_contexts_called_certified_or_left_undecided() -> None:
    rational = pm.analyze(two_contexts([[[1, 0]], [[0, 1]]]))
    assert rational.faces
    assert rational.category == "easy"
    place, face = next(iter(rational.faces.items()))
    for changed in (replace(face, finished=False), replace(face, certain=False)):
        assert not replace(rational, faces={**rational.faces, place: changed}).verify()
    irrational = pm.analyze(two_contexts([[[2**0.5, 0]], [[0, 1]]]))
    assert irrational.verify()
    assert not irrational.certified
    assert not replace(irrational, certified=True).verify()


def test_a_region_that_leaves_its_own_context_out() -> None:
    """Otherwise a point anywhere on the tie would refute what holds on the face."""
    honest = pm.analyze(two_contexts([[[1, 0]], [[0, 1]]]))
    place, face = next(iter(honest.faces.items()))
    regions = tuple(replace(own, cells={}) for own in face.regions)
    forged = replace(honest, faces={**honest.faces, place: replace(face, regions=regions)})
    assert forged.problems() == [f"the face of {place} is malformed."]

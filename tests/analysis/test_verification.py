"""``Analysis.verify`` must refuse wrong answers, whatever certificates they come with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from random import Random

import numpy as np

import partial_monitoring as pm
from partial_monitoring.analysis.cells import Cell, Face, Numbers
from partial_monitoring.numerics.rational import Rational
from tests.oracles.random_games import SETS, finite_game, linear_game, small_integers

ROOT = float(np.sqrt(2))


@cache
def analyses() -> tuple[pm.Analysis, ...]:
    """Analyses of small games, certified and not, with at least two actions."""
    return tuple(_analyses())


def _analyses() -> Iterator[pm.Analysis]:
    for seed in range(40):
        random = Random(seed)
        if seed % 2:
            draw = finite_game(random, small_integers)
        else:
            draw = linear_game(random, SETS[seed // 2 % len(SETS)], small_integers)
        if draw.game.k == 1 or not draw.game.features.any():
            continue
        yield pm.analyze(draw.game)
        game = draw.game
        yield pm.analyze(pm.Game(game.features * ROOT, game.observation_maps, game.parameters))


def weights(analysis: pm.Analysis, **shares: int) -> Numbers:
    """Return a mixture in the numbers of an analysis."""
    numerators = np.zeros(analysis.game.k, dtype=np.int64)
    for name, share in shares.items():
        numerators[int(name[1:])] = share
    return Rational(numerators, 1) if analysis.certified else numerators.astype(float)


def with_cell(analysis: pm.Analysis, a: int, cell: Cell) -> pm.Analysis:
    """Return the analysis with one cell replaced, and only the faces that belong to it."""
    cells = analysis.cells.cells
    changed = (*cells[:a], cell, *cells[a + 1 :])
    pareto = {c for c, own in enumerate(changed) if own.kind == "pareto"}
    faces = {pair: face for pair, face in analysis.cells.faces.items() if set(pair) <= pareto}
    return consistent(replace(analysis, cells=replace(analysis.cells, cells=changed, faces=faces)))


def with_face(analysis: pm.Analysis, pair: tuple[int, int], face: Face) -> pm.Analysis:
    """Return the analysis with one face replaced, for all duplicates of its two actions."""
    old = analysis.cells.faces[pair]
    faces = {p: face if f is old else f for p, f in analysis.cells.faces.items()}
    return consistent(replace(analysis, cells=replace(analysis.cells, faces=faces)))


def consistent(analysis: pm.Analysis) -> pm.Analysis:
    """Drop the readings of pairs that are no longer neighbours."""
    neighbors = set(analysis.neighbors)
    local = {pair: r for pair, r in analysis.local_readings.items() if pair in neighbors}
    return replace(analysis, local_readings=local)


def test_honest_answers_pass() -> None:
    assert all(analysis.verify() for analysis in analyses())


def test_a_pareto_action_called_degenerate_or_dominated() -> None:
    for analysis in analyses():
        for a in analysis.pareto:
            cell = analysis.cells.cells[a]
            for kind in ("degenerate", "dominated"):
                for mixture in (weights(analysis), weights(analysis, **{f"a{a}": 1})):
                    lie = with_cell(analysis, a, replace(cell, kind=kind, mixture=mixture))
                    assert not lie.verify(), (kind, mixture)
            for c in set(range(analysis.game.k)) - {a}:
                mixture = weights(analysis, **{f"a{c}": 1})
                lie = with_cell(analysis, a, replace(cell, kind="degenerate", mixture=mixture))
                assert not lie.verify(), mixture


def test_a_degenerate_action_called_pareto_or_dominated() -> None:
    for analysis in analyses():
        for a in analysis.degenerate:
            for kind in ("pareto", "dominated"):
                cell = replace(analysis.cells.cells[a], kind=kind)
                assert not with_cell(analysis, a, cell).verify(), kind


def test_a_dominated_action_called_degenerate() -> None:
    for analysis in analyses():
        for a in analysis.dominated:
            for other in analysis.pareto:
                cell = replace(
                    analysis.cells.cells[a],
                    kind="degenerate",
                    witness=analysis.cells.cells[other].witness,
                )
                assert not with_cell(analysis, a, cell).verify()


def test_duplicates_left_out() -> None:
    """Without their group, two equal actions would prove each other degenerate."""
    for analysis in analyses():
        for group in analysis.cells.duplicates:
            rest = tuple(other for other in analysis.cells.duplicates if other != group)
            cells = list(analysis.cells.cells)
            for a, b in combinations(group, 2):
                for one, other in ((a, b), (b, a)):
                    mixture = weights(analysis, **{f"a{other}": 1})
                    cells[one] = replace(cells[one], kind="degenerate", mixture=mixture)
            pareto = {c for c, own in enumerate(cells) if own.kind == "pareto"}
            faces = {p: face for p, face in analysis.cells.faces.items() if set(p) <= pareto}
            lie = replace(
                analysis,
                cells=replace(analysis.cells, cells=tuple(cells), faces=faces, duplicates=rest),
            )
            assert not consistent(lie).verify(), group


def test_neighbors_called_apart() -> None:
    """No mixture of the two themselves, or of nothing, separates them."""
    for analysis in analyses():
        for a, b in analysis.neighbors:
            face = analysis.cells.faces[a, b]
            for mixture, tie in (
                (weights(analysis), 0),
                (weights(analysis, **{f"a{b}": 1}), 1),
                (weights(analysis, **{f"a{a}": 1}), 0),
            ):
                weight = Fraction(tie) if analysis.certified else float(tie)
                apart = replace(face, neighbors=False, mixture=mixture, tie_weight=weight)
                assert not with_face(analysis, (a, b), apart).verify(), (a, b, tie)


def test_strangers_called_neighbors() -> None:
    for analysis in analyses():
        for pair, face in analysis.cells.faces.items():
            if not face.neighbors:
                for other in analysis.cells.faces.values():
                    if other.witness is not None:
                        lie = replace(face, neighbors=True, witness=other.witness)
                        assert not with_face(analysis, pair, lie).verify()


def test_wrong_neighborhoods() -> None:
    for analysis in analyses():
        for pair in analysis.neighbors:
            face = analysis.cells.faces[pair]
            outside = set(range(analysis.game.k)) - set(face.neighborhood)
            wrong = [tuple(sorted({*face.neighborhood, c})) for c in outside]
            wrong += [tuple(c for c in face.neighborhood if c != x) for x in face.neighborhood]
            for near in wrong:
                assert not with_face(analysis, pair, replace(face, neighborhood=near)).verify()


def test_wrong_readings() -> None:
    """Doubled weights, and directions that are seen or change nothing."""
    for analysis in analyses():
        for pair, reading in analysis.local_readings.items():
            if reading.weights is not None:
                weights_ = reading.weights
                double: Numbers = (
                    Rational(weights_.numerators * 2, weights_.denominator)
                    if isinstance(weights_, Rational)
                    else weights_ * 2
                )
                lies = [replace(reading, weights=double)]
                d = analysis.game.d
                nothing = Rational(np.zeros(d, dtype=np.int64), 1)
                blind: Numbers = nothing if analysis.certified else np.zeros(d)
                lies.append(replace(reading, weights=None, blind=blind))
                for lie in lies:
                    changed = {**analysis.local_readings, pair: lie}
                    assert not replace(analysis, local_readings=changed).verify()

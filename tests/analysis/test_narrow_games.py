"""Numbers and parameter sets at the edge of floating point: decided exactly, or called doubtful."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.numerics.exact_lp import implied_equalities
from tests.oracles.facts import facts

SHEARS = ([[1, 0], [0, 1]], [[1, 2], [0, 1]], [[3, 1], [2, 1]])


@pytest.mark.parametrize("tiny", [1.2345678901234e-10, 2**0.5 * 1e-10])
def test_tiny_observations_beside_large_ones_are_observations(tiny: float) -> None:
    maps = [[[1e6, 0]], [[0, tiny]]]
    analysis = pm.analyze(pm.Game([[0, 1], [0, -1]], maps, pm.Box([-1, -1], [1, 1])))
    assert analysis.category == "easy"
    assert analysis.rank == 2
    assert analysis.verify()
    assert not analysis.certified


@pytest.mark.parametrize("width", [1e-6, 1e-8, 1e-9, 1e-10, 1e-12])
@pytest.mark.parametrize("shear", SHEARS, ids=["straight", "sheared", "turned"])
def test_thin_rational_polytopes_are_decided_exactly(width: float, shear: list[list[int]]) -> None:
    """The same set as a box, and the rewards in its coordinates, have the same answers."""
    rng = np.random.default_rng(7)
    turn = np.array(shear)
    rows = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    right = [width, 0, 1, 0]
    for _ in range(6):
        features = rng.integers(-4, 5, (4, 2)) * [round(1 / width), 1]
        maps = rng.integers(-1, 2, (4, 1, 2))
        box = pm.analyze(pm.Game(features, maps, pm.Box([0, 0], [width, 1])))
        thin = pm.Polytope(a_ub=rows @ turn, b_ub=right)
        assert thin.dimension == 2
        found = pm.analyze(pm.Game(features @ turn, maps @ turn, thin))
        assert found.certified
        assert found.verify()
        assert facts(found) == facts(box)
        assert found.margin > 0
        assert "verified in exact arithmetic" in found.explain()


def test_flat_polytopes_stay_flat() -> None:
    """Equalities may be written as inequalities that are no multiples of each other."""
    whole = [[1, 1, 1], [-2, -2, -2], [-1, 0, 0], [0, -1, 0], [0, 0, -1]]
    assert pm.Polytope(a_ub=whole, b_ub=[1, -2, 0, 0, 0]).dimension == 2
    point = pm.Polytope(a_ub=[[1, 0], [0, 1], [-1, -1]], b_ub=[0, 0, 0])
    assert point.dimension == 0
    thin = pm.Polytope(a_ub=[[1, 0], [0, 1], [-1, -1]], b_ub=[0, 0, 1e-10])
    assert thin.dimension == 2
    assert thin.contains(thin.relative_interior_point())


def test_the_exact_program_finds_equalities_and_a_point_inside_the_rest() -> None:
    rows = np.array([[1, 1], [-1, 0], [0, -1], [-1, -1], [1, 0]])
    right = np.array([1, 0, 0, -1, 5])
    nothing = np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int)
    found = implied_equalities((rows, right), nothing)
    assert found is not None
    implied, point = found
    assert implied.tolist() == [True, False, False, True, False]
    room = right - rows.astype(object) @ point
    assert all((own == 0) == equal for own, equal in zip(room, implied, strict=True))
    assert all(own >= 0 for own in room)
    assert implied_equalities((rows, right - 9), nothing) is None


def test_bounds_of_a_box_are_read_alike_everywhere() -> None:
    """123456.7 - 123456.6 is 0.1 beside a million, for the halfspaces and for minima."""
    box = pm.Box([0, 0, 1], [1e6, 123456.7 - 123456.6, 1])
    analysis = pm.analyze(pm.Game([[0, 1, 0], [0, 0, 0]], [[[1, 0, 0]], [[0, 1, 0]]], box))
    assert analysis.problems() == []
    assert analysis.certified
    assert (analysis.pareto, analysis.degenerate) == ([0], [1])


@pytest.mark.parametrize("center", [[2.0, 1.5], [2.0, 2.0]], ids=["inside a cell", "at the tie"])
def test_ties_that_only_floating_point_decided_have_no_margin(center: list[float]) -> None:
    features = [[1, 0], [0, 1], [0.5 + 1e-13, 0.5 + 1e-13]]
    maps = [[[1, 0]], [[0, 1]], [[1, 1]]]
    close = pm.analyze(pm.Game(features, maps, pm.Ball(center, 1.0)))
    assert close.degenerate == [2]
    assert close.margin < 1e-8
    proved = pm.analyze(pm.Game([*np.eye(2), [0.5, 0.5]], maps, pm.Box([1, 1], [3, 3])))
    assert proved.certified
    assert proved.degenerate == [2]
    assert proved.margin > 0.1


@pytest.mark.parametrize("size", [1e-99, 1e-80, 1e80, 1e99])
@pytest.mark.parametrize("seen", [[[1, 1]], [[1, -1]]], ids=["hopeless", "hard"])
def test_units_do_not_matter_to_games_that_are_not_exact(
    seen: list[list[int]], size: float
) -> None:
    """Rewards of features of that size on a ball of that radius, whose squares are no numbers."""
    features = np.array([[1.0, 0], [0, 1], [0.5, 0.5], [-3, -3], [0.25, 0.75]])
    maps: list[Any] = [[], [], [], seen, []]
    plain = pm.analyze(pm.Game(features, maps, pm.Ball([4.0, 4.0], 3.0)))
    ball = pm.Ball([4 * size, 4 * size], 3 * size)
    analysis = pm.analyze(pm.Game(size * features, maps, ball))
    assert plain.cells.faces[0, 1].neighborhood == (0, 1, 2, 4)
    assert facts(analysis) == facts(plain)
    assert analysis.verify()


def test_cones_meet_in_a_point_without_making_the_margin_zero() -> None:
    rng = np.random.default_rng(0)
    features = np.vstack([rng.normal(size=(8, 3)), np.zeros(3)])
    analysis = pm.analyze(pm.Game(features, features[:, None], pm.Ball(np.zeros(3), 1.0)))
    assert 8 in analysis.degenerate
    assert analysis.margin > 1e-4

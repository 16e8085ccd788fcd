"""What every registered parameter set promises, above all where it cuts ellipsoids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.parameter_sets.base import KINDS
from partial_monitoring.parameter_sets.cut import Metric
from partial_monitoring.validation import Array

EXAMPLES: dict[str, dict[str, pm.ParameterSet]] = {
    "all": {"": pm.AllParameters(3), "line": pm.AllParameters(1)},
    "ball": {
        "": pm.Ball([1, 0, 2], 0.7),
        "segment": pm.Ball([0.5], 2.0),
        "point": pm.Ball([1, 2], 0),
    },
    "box": {
        "": pm.Box([-1, 0, 0], [1, 2, 0.5]),
        "flat": pm.Box([-1, 0, 0], [1, 2, 0]),
        "point": pm.Box([1, 2], [1, 2]),
    },
    "simplex": {"": pm.Simplex(4), "two": pm.Simplex(2), "one": pm.Simplex(1)},
    "polytope": {
        "": pm.Polytope([[1, 1], [-1, 0], [0, -1]], [1, 0, 0]),
        "flat": pm.Polytope([[1, 0, 0], [-1, 0, 0]], [1, 0], [[1, 1, 0]], [1]),
        "hidden equality": pm.Polytope([[1, 1], [-1, -1], [1, 0], [-1, 0]], [1, -1, 1, 0]),
        "unbounded": pm.Polytope([[-1, 0], [0, -1]], [0, 0]),
    },
    "product": {
        "": pm.Product(pm.Simplex(3), pm.Box([0, 1], [1, 1])),
        "curved": pm.Product(pm.Ball([1, 0], 0.5), pm.Simplex(2)),
        "balls": pm.Product(pm.Ball([0, 0], 1), pm.Ball([1], 2), pm.Ball([3], 0)),
        "unbounded": pm.Product(pm.AllParameters(2), pm.Box([0], [1])),
        "everything": pm.Product(pm.AllParameters(1), pm.AllParameters(2)),
        "nested": pm.Product(pm.Simplex(2), pm.Product(pm.Polytope([[-1]], [0]), pm.Simplex(2))),
        "unbounded and curved": pm.Product(pm.Ball([0], 1), pm.AllParameters(2)),
    },
}
"""Sets of every kind, by their type in a game file."""

ALL = {
    ", ".join(filter(None, (kind, name))): parameters
    for kind, own in EXAMPLES.items()
    for name, parameters in own.items()
}
CUT = [name for name, parameters in ALL.items() if parameters.dimension > 0]

every_set = pytest.mark.parametrize("name", ALL)
every_cut = pytest.mark.parametrize("name", CUT)
observed = pytest.mark.parametrize("share", [1.0, 0.5])


def test_every_registered_set_is_tested_here() -> None:
    library = {kind for kind, own in KINDS.items() if own[0].__module__.startswith("partial_")}
    assert set(EXAMPLES) == library
    for kind, own in EXAMPLES.items():
        assert {type(parameters) for parameters in own.values()} == {KINDS[kind][0]}


@every_set
def test_its_methods_agree_with_each_other(name: str) -> None:
    pm.testing.check_parameter_set(ALL[name])


@every_set
def test_a_game_file_gives_the_same_set(name: str) -> None:
    parameters = ALL[name]
    again = pm.ParameterSet.from_dict(parameters.to_dict(), parameters.d)
    assert again.equals(parameters)
    assert parameters.equals(again)
    assert not any(parameters.equals(other) for key, other in ALL.items() if key != name)


# -- ellipsoids that it cuts -----------------------------------------------------------------------


class Case:
    """A set in coordinates around its middle, and random norms of three replicates."""

    def __init__(self, name: str, share: float, seed: int = 0) -> None:
        self.parameters = ALL[name]
        self.rng = np.random.default_rng(seed)
        self.origin = self.parameters.relative_interior_point()
        self.basis = self.parameters.difference_basis()
        dim = self.basis.shape[1]
        rank = max(1, int(np.ceil(share * dim)))
        roots = self.rng.normal(size=(3, rank, rank))
        gram = 0.5 * np.eye(rank) + roots @ np.swapaxes(roots, 1, 2)
        self.metric = Metric(gram, np.linalg.inv(gram), 0.5)
        self.whole = np.tile(0.5 * np.eye(dim), (3, 1, 1))
        self.whole[:, :rank, :rank] = gram
        self.cut = self.parameters.cut(self.origin, self.basis)

    def theta(self, x: Array) -> Array:
        return np.asarray(self.origin + x @ self.basis.T)

    def inside(self) -> Array:
        """Return points of Theta, one in each replicate, in coordinates."""
        return (self.parameters.sample(np.arange(3)) - self.origin) @ self.basis

    def directions(self, count: int = 6) -> Array:
        return self.rng.normal(size=(count, self.basis.shape[1]))


@observed
@every_cut
def test_a_cut_projects_as_the_set_does(name: str, share: float) -> None:
    case = Case(name, share)
    x = 2.0 * case.rng.normal(size=(3, case.basis.shape[1]))
    found = case.theta(case.cut.project(case.metric, x))
    beyond = np.eye(case.parameters.d) - case.basis @ case.basis.T
    for row, point in enumerate(found):
        gram = case.basis @ case.whole[row] @ case.basis.T + beyond
        expected = case.parameters.project(case.theta(x[row]), gram)
        np.testing.assert_allclose(point, expected, atol=1e-7)


@observed
@every_cut
def test_a_cut_leaves_points_of_the_set_where_they_are(name: str, share: float) -> None:
    case = Case(name, share)
    np.testing.assert_allclose(
        case.cut.project(case.metric, case.inside()), case.inside(), atol=1e-9
    )


@observed
@every_cut
def test_a_huge_ellipsoid_leaves_the_whole_set(name: str, share: float) -> None:
    case = Case(name, share)
    directions = case.directions()
    beta = np.full(3, 1e8)
    values, points = case.cut.supports(case.metric, case.inside(), beta, directions)
    slopes = directions @ case.basis.T
    expected = case.parameters.support(slopes) - slopes @ case.origin
    bounded = np.isfinite(expected)
    assert bounded.any() or not np.isfinite(case.parameters.diameter())
    np.testing.assert_allclose(
        values[:, bounded], np.tile(expected[bounded], (3, 1)), rtol=1e-6, atol=1e-5
    )
    assert (values[:, ~bounded] > 1e2).all()
    np.testing.assert_allclose((points * directions).sum(axis=2), values, rtol=1e-6, atol=1e-6)


@observed
@every_cut
def test_a_tiny_ellipsoid_in_the_interior_is_not_cut(name: str, share: float) -> None:
    case = Case(name, share)
    directions = case.directions()
    center, beta = np.zeros((3, case.basis.shape[1])), np.full(3, 1e-8)
    values, points = case.cut.supports(case.metric, center, beta, directions)
    inverse = np.linalg.inv(case.whole)
    lengths = np.sqrt(np.einsum("qi,nij,qj->nq", directions, inverse, directions))
    np.testing.assert_allclose(values, 1e-4 * lengths, rtol=1e-6)
    np.testing.assert_allclose((points * directions).sum(axis=2), values, rtol=1e-6)


@pytest.mark.parametrize("beta", [1e-8, 0.05, 1.0, 1e8])
@observed
@every_cut
def test_maximizers_lie_in_both_sets_and_no_other_point_is_higher(
    name: str, share: float, beta: float
) -> None:
    case = Case(name, share)
    center, directions = case.inside(), case.directions()
    values, points = case.cut.supports(case.metric, center, np.full(3, beta), directions)
    size = 1.0 + np.abs(values).max()
    assert (values >= center @ directions.T - 1e-9 * size).all()
    others = (case.parameters.sample(np.arange(60)) - case.origin) @ case.basis
    for row in range(3):
        away = points[row] - center[row]
        lengths = np.einsum("qi,ij,qj->q", away, case.whole[row], away)
        assert (lengths <= beta * (1 + 1e-5)).all()
        for point in case.theta(points[row]):
            nearest = case.parameters.project(point)
            assert np.abs(nearest - point).max() <= 1e-6 * (1 + np.abs(point).max())
        far = others - center[row]
        distance = np.sqrt(np.einsum("qi,ij,qj->q", far, case.whole[row], far))
        share_ = np.minimum(1.0, np.sqrt(beta) / np.maximum(distance, 1e-300))
        tried = center[row] + share_[:, None] * far  # in both sets, which are convex
        assert ((tried @ directions.T).max(axis=0) <= values[row] + 1e-7 * size).all()


def test_a_set_without_a_cut_says_so() -> None:
    class Bare(pm.Ball):
        cut = pm.ParameterSet.cut  # type: ignore[assignment]

    game: Any = pm.Game(np.eye(2), np.eye(2)[:, None], Bare([0, 0], 1.0))
    with pytest.raises(pm.errors.SolverError, match="confidence sets in a Bare cannot be computed"):
        pm.IDS().init(game, 1)

"""A curved parameter set of one's own is one class: it is analysed, drawn from, shown and saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.numerics.conic import Cone
from partial_monitoring.parameter_sets import base, registered
from partial_monitoring.parameter_sets.coordinates import Coordinates, UnitBall, norm_cone
from partial_monitoring.validation import Array, Indices, real_array, set_fields


@dataclass(frozen=True, eq=False)
class BareEllipsoid(pm.ParameterSet):
    """{center + root u : |u| <= 1} with an invertible matrix, by the seven methods alone."""

    center: Array
    root: Array
    d: int = field(init=False)

    def __post_init__(self) -> None:
        center = real_array("center", self.center, ("d",))
        root = real_array("root", self.root, (len(center), len(center)))
        set_fields(self, center=center, root=root, d=len(center))

    def outward(self, points: ArrayLike) -> Array:
        moved: Array = np.linalg.solve(self.root, (np.asarray(points) - self.center).T).T
        return moved

    def contains(self, points: ArrayLike) -> Any:
        return np.linalg.norm(self.outward(points), axis=-1) <= 1 + 1e-9

    def support(self, directions: ArrayLike) -> Array:
        c = np.asarray(directions)
        height: Array = c @ self.center + np.linalg.norm(c @ self.root, axis=-1)
        return height

    def relative_interior_point(self) -> Array:
        return self.center

    def difference_basis(self) -> Array:
        return np.eye(self.d)

    def project(self, point: ArrayLike, gram: ArrayLike | None = None) -> Array:
        metric = np.eye(self.d) if gram is None else np.asarray(gram)
        unit = pm.Ball(np.zeros(self.d), 1.0)
        turned = unit.project(self.outward(point), self.root.T @ metric @ self.root)
        return np.asarray(self.center + self.root @ turned)

    def norm_bound(self, prior_mean: ArrayLike) -> float:
        return float(np.linalg.norm(np.asarray(prior_mean) - self.center)) + self.diameter() / 2

    def diameter(self) -> float:
        return 2 * float(np.linalg.norm(self.root, 2))


@registered("ellipsoid", "center", "root")
class Ellipsoid(BareEllipsoid):
    """The same with what analyses, random parameters and game files ask for."""

    def cones(self) -> list[Cone]:
        inverse = np.linalg.inv(self.root)
        return [norm_cone(inverse, inverse @ self.center, 1.0)]

    def sample(self, seeds: Indices) -> Array:
        return self.center + pm.Ball(np.zeros(self.d), 1.0).sample(seeds) @ self.root.T


class ScaledEllipsoid(Ellipsoid):
    """The same in its own coordinates, which suit thin ones."""

    def coordinates(self) -> Coordinates:
        return Coordinates(self.center, self.root, self.diameter() / 2, UnitBall(self.d))


@pytest.fixture(autouse=True, scope="module")
def _forgotten_afterwards() -> Iterator[None]:
    yield
    base.KINDS.pop("ellipsoid")


CENTER, ROOT = [0.3, -0.2], [[2.0, 0.5], [0.0, 0.4]]


def game_over(parameters: pm.ParameterSet, change: ArrayLike = ((1, 0), (0, 1))) -> pm.Game:
    """Return a game with five actions; ``change`` maps other coordinates to those of theta."""
    features = np.array([[1.0, 0], [-1, 0.2], [0, 1], [0.2, -1.2], [0.05, 0.05]])
    maps = np.array([[[1.0, 0]], [[0, 1.0]], [[1, 1]], [[0, 0]], [[0, 0]]])
    return pm.Game(features @ np.array(change), maps @ np.array(change), parameters)


def summary(game: pm.Game) -> tuple[Any, ...]:
    found = pm.analyze(game)
    return found.category, found.pareto, found.degenerate, found.dominated, found.neighbors


@pytest.mark.parametrize("kind", [Ellipsoid, ScaledEllipsoid])
@pytest.mark.parametrize("shrink", [1.0, 1e-2])
@pytest.mark.parametrize("center", [[0.0, 0.0], CENTER])
def test_an_ellipsoid_is_a_ball_in_other_coordinates(
    kind: type[Ellipsoid], shrink: float, center: list[float]
) -> None:
    root = shrink * np.array(ROOT)
    ball = pm.Ball(np.linalg.solve(root, center), 1.0)
    game, twin = game_over(kind(np.array(center), root)), game_over(ball, root)
    assert summary(game) == summary(twin)
    assert pm.analyze(game).verify() == pm.analyze(twin).verify()
    assert pm.alignment(game) == pytest.approx(pm.alignment(twin), rel=1e-5)


def test_it_passes_all_checks() -> None:
    pm.testing.check_parameter_set(Ellipsoid(np.array(CENTER), np.array(ROOT)))
    pm.testing.check_parameter_set(BareEllipsoid(np.array(CENTER), np.array(ROOT)))
    pm.testing.check_parameter_set(ScaledEllipsoid(np.array(CENTER), np.array(ROOT)))
    pm.testing.check_game(game_over(Ellipsoid(np.array(CENTER), np.array(ROOT))))


def test_it_may_be_a_region_of_plausible_parameters() -> None:
    game = game_over(pm.Box([-1, -1], [1, 1]))
    ball = pm.local_alignment(game, pm.Ball(CENTER, 0.3))
    ellipsoid = pm.local_alignment(game, Ellipsoid(np.array(CENTER), 0.3 * np.eye(2)))
    assert ellipsoid == pytest.approx(ball)


def test_it_is_drawn() -> None:
    figure = pm.analyze(game_over(Ellipsoid(np.array(CENTER), np.array(ROOT)))).plot()
    cells = [
        patch for patch in figure.axes[0].patches if (patch.get_gid() or "").startswith("cell")
    ]
    corners = np.concatenate([np.asarray(patch.get_path().vertices) for patch in cells])
    assert Ellipsoid(np.array(CENTER), 1.001 * np.array(ROOT)).contains(corners).all()


def test_random_parameters_fill_it() -> None:
    parameters = Ellipsoid(np.array(CENTER), np.array(ROOT))
    theta = game_over(parameters).draw_truths(np.arange(500))
    assert parameters.contains(theta).all()
    assert np.linalg.norm(parameters.outward(theta), axis=1).max() > 0.95


def test_it_is_described_and_saved(tmp_path: Path) -> None:
    game = game_over(Ellipsoid(np.array(CENTER), np.array(ROOT)))
    assert "an ellipsoid of dimension 2 in R^2" in str(game)
    for name in ("game.json", "game.toml"):
        pm.save_game(game, tmp_path / name)
        again = pm.load_game(tmp_path / name)
        assert isinstance(again.parameters, Ellipsoid)
        assert again.parameters.equals(game.parameters)
    entry = game.parameters.to_dict()
    assert entry == {"type": "ellipsoid", "center": CENTER, "root": ROOT}
    for key in ("center", "root"):
        missing = {k: v for k, v in entry.items() if k != key}
        with pytest.raises(InvalidInput, match=f"'ellipsoid' need the key '{key}'"):
            pm.ParameterSet.from_dict(missing, 2)


def test_what_a_bare_set_lacks_is_said_in_one_sentence() -> None:
    game = game_over(BareEllipsoid(np.array(CENTER), np.array(ROOT)))
    assert pm.Instance(game, CENTER).best_action is not None
    with pytest.raises(SolverError, match="cells over a BareEllipsoid cannot be computed"):
        pm.analyze(game)
    with pytest.raises(InvalidInput, match="theta cannot be drawn from a BareEllipsoid"):
        game.draw_truths(np.arange(2))
    with pytest.raises(InvalidInput, match="a BareEllipsoid cannot be written to a game file"):
        game.parameters.to_dict()


def test_a_type_of_parameters_belongs_to_one_class() -> None:
    with pytest.raises(InvalidInput, match="new type of parameters; 'ball' is taken"):
        registered("ball", "center", "root")(Ellipsoid)
    assert registered("ellipsoid", "center", "root")(Ellipsoid) is Ellipsoid


def test_a_subclass_is_not_saved_as_the_set_it_extends() -> None:
    class Wedge(pm.Box):
        """A square without its upper right half."""

        def halfspaces(self) -> pm.Halfspaces:
            a, b, *equal = super().halfspaces()
            return pm.Halfspaces(np.vstack([a, [1, 1]]), np.append(b, 1.0), *equal)

    again = pm.ParameterSet.from_dict(Wedge([0, 0], [1, 1]).to_dict(), 2)
    assert isinstance(again, pm.Polytope)
    assert not again.contains([1, 1])
    with pytest.raises(InvalidInput, match="a ScaledEllipsoid cannot be written"):
        ScaledEllipsoid(np.array(CENTER), np.array(ROOT)).to_dict()

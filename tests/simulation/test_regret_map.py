"""Maps of regret: the same numbers as simulations, grids over Theta, pictures, files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

import partial_monitoring as pm
from partial_monitoring.simulation import map_picture, regret_map
from partial_monitoring.simulation.grids import grid_over
from partial_monitoring.simulation.run import Run


@pytest.fixture(scope="module")
def curve() -> pm.RegretMap:
    return pm.regret_map("apple_tasting", pm.IDS(), horizon=30, seeds=3, points=9)


@pytest.fixture(scope="module")
def triangle() -> pm.RegretMap:
    return pm.regret_map("dynamic_pricing", "ids", horizon=20, seeds=2, points=6)


@pytest.fixture(scope="module")
def disk() -> pm.RegretMap:
    game = pm.games.linear_bandit([[1, 0], [0, 1], [-1, 0.2]], noise_std=0.3)
    return pm.regret_map(game, pm.IDS(gap=pm.gaps.mean), horizon=20, seeds=2, points=7)


def test_every_point_is_a_simulation(curve: pm.RegretMap) -> None:
    for i in (0, 3, 8):
        alone = pm.simulate(curve.game, pm.IDS(), curve.theta[i], horizon=30, seeds=3)
        assert curve.regret[i].tolist() == alone.regret["ids"][:, -1].tolist()
        assert curve.plays[i].tolist() == alone.plays["ids"][:, -1].mean(axis=0).tolist()


def test_slices_do_not_change_the_numbers(
    curve: pm.RegretMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regret_map, "TOGETHER", 1)
    again = pm.regret_map("apple_tasting", pm.IDS(), horizon=30, seeds=3, points=9)
    assert (again.regret == curve.regret).all()
    assert (again.plays == curve.plays).all()


def test_the_grid_of_three_outcomes_is_all_of_the_triangle(triangle: pm.RegretMap) -> None:
    assert triangle.theta.shape == (21, 3)
    np.testing.assert_allclose(triangle.theta.sum(axis=1), 1.0)
    assert triangle.theta.min() >= -1e-12
    assert len(np.unique(triangle.theta.round(9), axis=0)) == 21


def test_a_grid_over_a_ball_stays_inside(disk: pm.RegretMap) -> None:
    assert np.linalg.norm(disk.theta, axis=1).max() <= 1 + 1e-9
    assert 21 <= len(disk.theta) < 49


def test_two_coordinates_of_a_larger_simplex() -> None:
    game = pm.games.dynamic_pricing(prices=[1, 2, 3, 4, 5])
    grid = grid_over(game, 5, [0, 3], [0.1, 0.3, 0.1, 0.4, 0.1])
    np.testing.assert_allclose(grid.thetas.sum(axis=1), 1.0)
    np.testing.assert_allclose(grid.thetas[:, [0, 3]], grid.places, atol=1e-12)
    np.testing.assert_allclose(grid.thetas[:, 1], 3 * grid.thetas[:, 2], atol=1e-12)
    assert len(grid.places) == 15


def test_coordinates_of_an_unbounded_set_stay_within_one() -> None:
    game = pm.games.linear_bandit(np.eye(3), pm.AllParameters(3))
    grid = grid_over(game, 3, [2], [0.5, -0.5, 2.0])
    assert grid.thetas.tolist() == [[0.5, -0.5, 1.0], [0.5, -0.5, 2.0], [0.5, -0.5, 3.0]]


def test_the_worst_point_and_the_table(curve: pm.RegretMap) -> None:
    worst = curve.worst
    assert worst.regret == curve.mean.max()
    assert curve.table()[0]["theta"] == worst.theta.tolist()
    assert [row["regret"] for row in curve.table()] == sorted(curve.mean, reverse=True)
    assert "Worst of ids, 30 rounds, 3 seeds per point" in str(curve)
    assert "worst mean regret" in repr(curve)
    assert "<table" in curve._repr_html_()


def test_a_saved_map_is_the_same(disk: pm.RegretMap, tmp_path: Path) -> None:
    path = tmp_path / "map.parquet"
    disk.save(path)
    same = pm.RegretMap.load(path)
    assert (same.regret == disk.regret).all()
    assert (same.plays == disk.plays).all()
    assert (same.theta == disk.theta).all()
    assert same.grid.names == disk.grid.names
    assert same.title == disk.title
    assert str(same) == str(disk)


def test_damaged_files_are_refused(curve: pm.RegretMap, tmp_path: Path) -> None:
    path = tmp_path / "map.parquet"
    with pytest.raises(pm.errors.InvalidInput, match="no such file"):
        pm.RegretMap.load(path)
    curve.save(path)
    table = parquet.read_table(path)
    meta = table.schema.metadata[b"regret_map"].replace(b'"horizon": 30', b'"horizon": 31')
    parquet.write_table(table.replace_schema_metadata({"regret_map": meta}), tmp_path / "changed")
    data = path.read_bytes()
    (tmp_path / "short").write_bytes(data[:-100])
    pm.simulate("apple_tasting", horizon=2, seeds=1).save(tmp_path / "result")
    for name in ("changed", "short", "result"):
        with pytest.raises(pm.errors.InvalidInput, match="is damaged or not a saved map"):
            pm.RegretMap.load(tmp_path / name)


def test_an_interruption_keeps_the_points_that_are_done(
    curve: pm.RegretMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, calls = regret_map.play, []

    def play(*arguments: Any) -> Any:
        run = whole(*arguments)
        calls.append(run)
        if len(calls) == 4:
            run.reached[:] = 0
        return run

    monkeypatch.setattr(regret_map, "TOGETHER", 1)
    monkeypatch.setattr(regret_map, "play", play)
    found = pm.regret_map("apple_tasting", pm.IDS(), horizon=30, seeds=3, points=9)
    done = np.isfinite(found.mean)
    assert done.sum() == 3
    assert (found.regret[done] == curve.regret[done]).all()
    assert "6 points were not played" in str(found)
    found.plot()


def test_an_interruption_before_the_first_point_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regret_map, "play", lambda *arguments: Run.empty(1, 1, 1))
    with pytest.raises(KeyboardInterrupt):
        pm.regret_map("apple_tasting", horizon=5, seeds=1, points=3)


@pytest.mark.parametrize("name", ["curve", "triangle", "disk"])
def test_pictures_have_one_panel_and_a_title(name: str, request: pytest.FixtureRequest) -> None:
    found: pm.RegretMap = request.getfixturevalue(name)
    figure = found.plot()
    assert figure.axes[0].get_title() == found.title
    assert len(figure.axes) == (1 if name == "curve" else 2)
    assert "mean regret" in (
        figure.axes[0].get_ylabel() if name == "curve" else figure.axes[1].get_ylabel()
    )
    figure.draw_without_rendering()


def test_pictures_can_be_drawn_into_axes(triangle: pm.RegretMap) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    ax = figure.subplots()
    assert triangle.plot(ax, title="mine") is figure
    assert ax.get_title() == "mine"


def test_cells_of_apple_tasting_meet_in_the_middle(curve: pm.RegretMap) -> None:
    (first, low, middle), (second, again, high) = map_picture._bands(curve, 0.0, 1.0)
    labels = [curve.game.action_label(a) for a in (first, second)]
    assert labels == ["sell", "taste"]
    assert (low, high) == (0.0, 1.0)
    assert middle == again == pytest.approx(0.5)


def test_three_cells_of_prices_meet_in_three_sides(triangle: pm.RegretMap) -> None:
    assert [side.shape for side in map_picture._sides(triangle)] == [(2, 2)] * 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"points": 1}, "points must be"),
        ({"coordinates": [0, 0]}, "coordinates must be one or two different numbers from 0 to 4"),
        ({"coordinates": [0, 1, 2]}, "coordinates must be one or two different numbers"),
        ({}, "coordinates must be one or two numbers of coordinates of theta, which has 5"),
        ({"coordinates": [0], "theta": [1, 0, 0, 0, 0]}, "theta must give some probability"),
        ({"coordinates": [0], "theta": [1, 1, 0, 0, 0]}, "theta"),
    ],
)
def test_what_cannot_be_a_grid_is_refused(options: dict[str, Any], words: str) -> None:
    game = pm.games.dynamic_pricing(prices=[1, 2, 3, 4, 5])
    with pytest.raises(pm.errors.InvalidInput, match=words):
        pm.regret_map(game, horizon=5, seeds=1, **options)


def test_functions_are_refused() -> None:
    game = pm.games.kernelized_bandit()
    with pytest.raises(pm.errors.InvalidInput, match="listed actions and a parameter set"):
        pm.regret_map(game, horizon=5, seeds=1)

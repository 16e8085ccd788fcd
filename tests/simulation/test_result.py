"""Results: means, exponents, rows, files and merging."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.simulation.result import Result
from tests.oracles.simulations import GAMES, PRICING, THETA, small

# -- results ---------------------------------------------------------------------------------


def made(regret: Any, checkpoints: Any, name: str = "p", seeds: Any = None) -> Result:
    table = np.array(regret, dtype=float)
    n, marks = table.shape
    return Result(
        np.arange(n) if seeds is None else np.array(seeds),
        np.array(checkpoints),
        np.zeros((n, 2)),
        {name: table},
        {name: table},
        {name: table},
        {name: np.zeros((n, marks, 2), dtype=np.int64)},
        {name: 1.0},
    )


def test_mean_error_and_quantiles() -> None:
    result = made([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]], [5, 10])
    assert result.mean("p").tolist() == [3.0, 4.0]
    assert result.standard_error("p") == pytest.approx([2 / np.sqrt(3), np.sqrt(12 / 3)])
    assert result.quantile("p", 0.5).tolist() == [3.0, 2.0]
    assert result.quantile("p", 1.0).tolist() == [5.0, 8.0]
    assert result.horizon == 10
    assert np.isnan(made([[1.0, 2.0]], [5, 10]).standard_error("p")).all()


@pytest.mark.parametrize("power", [0.5, 2 / 3, 1.0])
def test_exponents_of_pure_powers(power: float) -> None:
    t = np.unique(np.geomspace(1, 10_000, 50).round()).astype(int)
    result = made(np.array([[1.0], [2.0], [5.0]]) * t**power, t)
    found = result.exponent("p")
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.low == pytest.approx(power, abs=1e-9)
    assert found.high == pytest.approx(power, abs=1e-9)


def test_exponents_look_at_the_late_rounds_only() -> None:
    t = np.unique(np.geomspace(1, 10_000, 50).round()).astype(int)
    late = np.where(t < 1000, 1000.0 * np.sqrt(1000), 1000.0 * np.sqrt(t))
    assert made([late], t).exponent("p").value == pytest.approx(0.5, abs=0.02)
    assert made([late], t).exponent("p", start=0.0).value < 0.3


def test_an_exponent_has_an_interval_that_covers_its_noise() -> None:
    rng = np.random.default_rng(0)
    t = np.unique(np.geomspace(1, 10_000, 50).round()).astype(int)
    powers = rng.normal(0.6, 0.1, size=(40, 1))
    found = made(t**powers, t).exponent("p")
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.2


def test_no_regret_has_exponent_zero() -> None:
    assert made(np.zeros((3, 2)), [50, 100]).exponent("p").value == 0.0


def test_checkpoints_without_regret_are_left_out_of_exponents() -> None:
    """A policy that pays late has the slope of what it pays, not 0."""
    t = np.array([10, 20, 40, 80, 100])
    regret = np.where(t > 10, t**0.5, 0.0)
    assert made([regret, regret], t).exponent("p").value == pytest.approx(0.5)
    once = np.where(t == 100, 1.0, 0.0)
    assert np.isnan(made([once, once], t).exponent("p").value)


def test_a_single_seed_has_no_interval() -> None:
    found = made([[1.0, 2.0]], [50, 100]).exponent("p")
    assert found.value == pytest.approx(1.0)
    assert np.isnan(found.low)
    assert np.isnan(found.high)


def test_too_few_checkpoints_have_no_exponent() -> None:
    with pytest.raises(InvalidInput, match="checkpoints"):
        made([[1.0, 2.0]], [1, 100]).exponent("p")


@pytest.mark.parametrize("method", ["mean", "standard_error", "exponent"])
def test_unknown_policies_are_named(method: str) -> None:
    with pytest.raises(InvalidInput, match="did you mean 'ids'"):
        getattr(small(), method)("idss")


@pytest.mark.parametrize("q", [-0.1, 1.5, np.nan, "half"])
def test_bad_quantiles_are_refused(q: Any) -> None:
    with pytest.raises(InvalidInput):
        small().quantile("ids", q)


@pytest.mark.parametrize("start", [1.5, np.nan, "a", None])
def test_bad_starts_are_refused(start: Any) -> None:
    with pytest.raises(InvalidInput):
        small(horizon=100).exponent("ids", start=start)


def test_rows_are_tidy() -> None:
    result = small(policies={"a": "ids", "b": "ids"}, seeds=[5, 6], checkpoints=[10])
    rows = result.rows()
    assert len(rows) == 2 * 2 * 2
    assert rows[0] == {
        "policy": "a",
        "seed": 5,
        "round": 10,
        "regret": result.regret["a"][0, 0],
        "information": result.information["a"][0, 0],
        "ratio": result.ratio["a"][0, 0],
    }


def test_a_result_shows_itself() -> None:
    assert "ids" in repr(small())
    assert "20" in repr(small())


# -- files and merging -----------------------------------------------------------------------


def assert_equal(one: Result, two: Result) -> None:
    assert one.policies == two.policies
    assert np.array_equal(one.seeds, two.seeds)
    assert np.array_equal(one.checkpoints, two.checkpoints)
    assert np.array_equal(one.theta, two.theta)
    assert one.seconds == two.seconds
    for table in ("regret", "information", "ratio", "plays"):
        for name in one.policies:
            mine, theirs = getattr(one, table)[name], getattr(two, table)[name]
            assert mine.dtype == theirs.dtype
            assert mine.shape == theirs.shape
            assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["simplex", "ball", "polytope"])
def test_results_come_back_from_files(name: str, tmp_path: Path) -> None:
    policies = {"a b": pm.IDS(), "ü": pm.IDS(gap=pm.gaps.mean)}
    result = small(GAMES[name](), policies)
    result.save(tmp_path / "result.parquet")
    assert_equal(Result.load(tmp_path / "result.parquet"), result)


def test_infinite_ratios_are_kept(tmp_path: Path) -> None:
    """Where nothing can be learned the ratio is infinite."""
    result = small(pm.games.matching_pennies("none"), theta=[0.6, 0.4])
    assert np.isinf(result.ratio["ids"]).any()
    result.save(tmp_path / "result.parquet")
    assert_equal(Result.load(tmp_path / "result.parquet"), result)


def test_files_that_are_no_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        Result.load(tmp_path / "nowhere.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(InvalidInput, match="saved result"):
        Result.load(tmp_path / "text.parquet")
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InvalidInput, match="saved result"):
        Result.load(tmp_path / "other.parquet")


@pytest.mark.parametrize("content", ["numbers", "no policies", "other rows", "words as seeds"])
def test_results_with_other_content_are_refused(tmp_path: Path, content: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "result.parquet"
    small().save(path)
    table = parquet.read_table(path)
    meta = json.loads(table.schema.metadata[b"partial_monitoring"])
    if content == "numbers":
        table = table.set_column(3, "regret", pa.array([1.0] * len(table)))
    elif content == "no policies":
        meta["actions"] = {}
    elif content == "other rows":
        table = table.set_column(0, "policy", pa.array(["x"] * len(table)))
    else:
        table = table.set_column(1, "seed", pa.array(["one"] * len(table)))
    table = table.replace_schema_metadata({"partial_monitoring": json.dumps(meta)})
    parquet.write_table(table, path)
    with pytest.raises(InvalidInput, match="is damaged or not a saved result"):
        Result.load(path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        small().save(tmp_path / "nowhere" / "result.parquet")


def test_seeds_merge() -> None:
    one, two = small(seeds=[0, 1]), small(seeds=[2])
    merged, full = one.merged(two), small(seeds=3)
    assert merged.seeds.tolist() == [0, 1, 2]
    assert np.array_equal(merged.regret["ids"], full.regret["ids"])
    assert np.array_equal(merged.plays["ids"], full.plays["ids"])
    assert np.array_equal(merged.theta, full.theta)


def test_policies_merge() -> None:
    one, two = small(policies={"a": "ids"}), small(policies={"b": pm.IDS(gap=pm.gaps.mean)})
    merged = one.merged(two)
    both = small(policies={"a": "ids", "b": pm.IDS(gap=pm.gaps.mean)})
    assert merged.policies == ["a", "b"]
    assert np.array_equal(merged.regret["b"], both.regret["b"])


def test_what_does_not_belong_together_is_not_merged() -> None:
    base = small(theta=THETA)
    others = [
        small(theta=THETA),
        small(theta=THETA, seeds=[2, 3]),
        small(theta=THETA, seeds=[9], horizon=30),
        small(theta=THETA, seeds=[9], policies={"other": "ids"}),
        small(theta=[0.1, 0.6, 0.3], policies={"other": "ids"}),
    ]
    for other in others:
        with pytest.raises(InvalidInput) as caught:
            base.merged(other)
        assert str(caught.value).endswith(".")


def test_results_of_different_games_are_not_merged() -> None:
    one = small(PRICING, theta=THETA, seeds=[0])
    two = small(pm.games.linear_bandit(), theta=[0.1, 0.1, 0.1], seeds=[1])
    with pytest.raises(InvalidInput):
        one.merged(two)


def test_results_that_only_swap_sizes_are_not_merged() -> None:
    """Three actions in two dimensions are not two actions in three."""
    flat = pm.Game(np.ones((3, 2)), np.ones((3, 1, 2)), pm.Ball([0, 0], 1.0))
    tall = pm.Game(np.ones((2, 3)), np.ones((2, 1, 3)), pm.Ball([0, 0, 0], 1.0))
    one, two = small(flat, seeds=[0]), small(tall, seeds=[1])
    with pytest.raises(InvalidInput, match="same game"):
        one.merged(two)
    odd: Any = 3
    with pytest.raises(InvalidInput, match="other must be a Result; got 3"):
        one.merged(odd)


def test_the_order_of_policies_does_not_matter_when_seeds_merge() -> None:
    a, b = "ids", pm.IDS(gap=pm.gaps.mean)
    one, two = (
        small(policies={"a": a, "b": b}, seeds=[0]),
        small(policies={"b": b, "a": a}, seeds=[1]),
    )
    full = small(policies={"a": a, "b": b}, seeds=2)
    merged = one.merged(two)
    for name in ("a", "b"):
        assert np.array_equal(merged.regret[name], full.regret[name])

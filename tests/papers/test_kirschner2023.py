"""A small version of the experiments on the paper runs, and their files say what they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from papers.kirschner2023.__main__ import main
from papers.kirschner2023.claims import CLAIMS, HERE
from papers.kirschner2023.findings import growth_exponent, ratio

import partial_monitoring as pm
from partial_monitoring.simulation.result import Comparison, Result


def test_the_small_version_runs(tmp_path: Path) -> None:
    options = ["--small", "--engine", "here", "--out", str(tmp_path)]
    for claim in ("rates", "gaps", "e2d", "competitors"):
        options += ["--only", claim]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 4
    assert "Table 1" in page
    assert "there is no regret at all" in page
    assert "NaN" not in page
    assert "nan times" not in page


def test_the_small_version_with_kernels_runs(tmp_path: Path) -> None:
    options = ["--small", "--engine", "here", "--out", str(tmp_path), "--only", "preferences"]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 0, result.output
    assert "Regret after 10 rounds, the least first. branin: " in result.output
    assert "nan" not in result.output


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_has_a_file_that_loads(claim: object) -> None:
    file, text = claim.file, claim.text  # type: ignore[attr-defined]
    assert len(text) > 80
    assert pm.load_experiment(file).settings


def test_every_file_is_a_claim() -> None:
    assert {path.stem for path in HERE.glob("*.toml")} == {claim.name for claim in CLAIMS}


def comparison(**regret: np.ndarray) -> Comparison:
    marks = np.unique(np.geomspace(1, 10_000, 40).astype(np.int64))
    tables = {name: final * np.ones(len(marks)) for name, final in regret.items()}
    n = len(next(iter(regret.values())))
    result = Result(np.arange(n), marks, np.zeros((n, 1)), tables, tables, tables, {}, {})
    return Comparison("game", pm.games.apple_tasting(), "one", dict.fromkeys(regret), result)


def test_the_ratio_of_regrets() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(1, 2, (200, 1))
    value, low, high = ratio(comparison(a=3 * base, b=base), "a", "b")
    assert (value, low, high) == pytest.approx((3.0, 3.0, 3.0))
    noisy = rng.uniform(1, 2, (200, 1))
    value, low, high = ratio(comparison(a=noisy, b=base), "a", "b")
    assert low < value < high
    assert low < 1 < high


@pytest.mark.parametrize("power", [0.5, 2 / 3, 1.0])
def test_the_growth_exponent(power: float) -> None:
    marks = np.unique(np.geomspace(1, 10_000, 40).astype(np.int64))
    tables = {"ids": np.ones((5, 1)) * marks**power}
    result = Result(np.arange(5), marks, np.zeros((5, 1)), tables, tables, tables, {}, {})
    one = Comparison("game", pm.games.apple_tasting(), "one", {"ids": pm.IDS()}, result)
    assert growth_exponent([one, one])[0] == pytest.approx(power)

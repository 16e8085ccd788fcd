"""A small version of the experiments on the paper runs, and their files say what they should."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from papers.kirschner2023 import page as pages
from papers.kirschner2023.__main__ import main
from papers.kirschner2023.claims import CLAIMS, HERE
from papers.kirschner2023.findings import growth_exponent, ratio

import partial_monitoring as pm
from partial_monitoring.simulation.comparison import Comparison
from partial_monitoring.simulation.result import Result

SMALL = ("rates", "e2d", "competitors", "preferences")
"""One claim for each way to tell what was found."""


def small(folder: Path, claims: Sequence[str]) -> tuple[str, str]:
    """Return what a small version of some claims prints, and its page."""
    options = ["--small", "--engine", "here", "--out", str(folder)]
    for claim in claims:
        options += ["--only", claim]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 0, result.output
    return result.output, (folder / "index.html").read_text()


@pytest.fixture(scope="module")
def small_version(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    quick = [name for name in pages.EXAMPLES if name != "kernelized_dueling"]  # takes seconds
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "EXAMPLES", quick)
        return small(tmp_path_factory.mktemp("paper"), SMALL)


def test_the_small_version_runs(small_version: tuple[str, str]) -> None:
    _, page = small_version
    assert page.count("<svg") == len(SMALL)
    assert "Table 1" in page
    assert "there is no regret at all" in page
    assert "NaN" not in page
    assert "nan times" not in page


def test_the_small_version_with_kernels_runs(small_version: tuple[str, str]) -> None:
    output, _ = small_version
    found = output.split("Settings from preferences: ")[1]
    assert "Regret after 10 rounds, the least first. branin: " in found
    assert "nan" not in found


@pytest.mark.nightly
def test_the_small_version_of_everything_runs(tmp_path: Path) -> None:
    _, page = small(tmp_path, [claim.name for claim in CLAIMS])
    assert page.count("<svg") == len(CLAIMS)
    assert "NaN" not in page
    assert "nan times" not in page


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

"""The examples run and say what they should."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_preferences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(EXAMPLES / "preferences.py"))
    example["main"](str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == [
        "after  10 duels",
        "after  30 duels",
        "after 100 duels",
    ]
    assert float(lines[2].split()[-4]) < 0.1  # below the best
    assert (tmp_path / "preferences.png").stat().st_size > 20_000


def test_shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(EXAMPLES / "shop.py"))
    example["main"](str(tmp_path))
    said = capsys.readouterr().out
    assert said.split()[:2] == ["action", "earns"]
    assert "'$19' looks best" in said
    assert (tmp_path / "learner.png").stat().st_size > 20_000


def test_every_example_is_tried() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "__init__.py",
        "preferences.py",
        "shop.py",
    }

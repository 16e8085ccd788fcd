"""``pm status``: the table, the picture and JSON of a saved learner."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import partial_monitoring as pm
from partial_monitoring.cli import main


def pm_command(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    learner.tell_past(["$1", "$2"] * 20, ["yes", "no"] * 20)
    learner.save(tmp_path / "learner.json")
    return tmp_path / "learner.json"


@pytest.fixture
def segments(tmp_path: Path) -> Path:
    learner = pm.Learner(pm.games.segment_pricing(), seed=1)
    learner.save(tmp_path / "segments.json")
    return tmp_path / "segments.json"


def test_the_table_comes_first(saved: Path) -> None:
    done = pm_command("status", saved)
    assert done.exit_code == 0
    assert done.output.split()[:4] == ["action", "earns", "from", "to"]
    assert "looks best" in done.output


def test_json_and_a_picture(saved: Path, tmp_path: Path) -> None:
    picture = tmp_path / "learner.svg"
    done = pm_command("status", saved, "--json", "--plot", picture)
    assert json.loads(done.output) == pm.Learner.load(saved).status().to_dict()
    assert picture.read_text().startswith("<?xml")
    assert f"The picture: {picture}" in pm_command("status", saved, "--plot", picture).output


def test_contexts(segments: Path, tmp_path: Path) -> None:
    every = pm_command("status", segments)
    assert every.output.count("Context '") == 2
    names = pm.Learner.load(segments).game.contexts  # type: ignore[attr-defined]
    assert list(json.loads(pm_command("status", segments, "--json").output)) == list(names)
    one = pm_command("status", segments, "--context", names[1], "--plot", tmp_path / "one.png")
    assert one.exit_code == 0
    assert one.output.count("Context '") == 1
    refused = pm_command("status", segments, "--plot", tmp_path / "all.png")
    assert refused.exit_code == 2
    assert "say with --context which" in refused.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--plot", "learner.txt"), "a picture ends in"),
        (("--context", "a"), "context must be left out"),
    ],
)
def test_refusals_are_one_sentence(saved: Path, words: tuple[str, ...], said: str) -> None:
    done = pm_command("status", saved, *words)
    assert done.exit_code == 2
    assert said in done.output
    assert done.output.count("\n") == 1
    assert pm_command("status", saved.parent / "missing.json").exit_code == 2

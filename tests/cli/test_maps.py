"""``pm map``: the table, the picture, the file, and policies beside options of the game."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import partial_monitoring as pm
from partial_monitoring.cli import main

SMALL = ("--horizon", "20", "--seeds", "2", "--points", "4", "--quiet")


def pm_command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_a_map_is_a_table_a_picture_and_a_file(tmp_path: Path) -> None:
    picture, kept = tmp_path / "map.svg", tmp_path / "map.parquet"
    done = pm_command("map", "apple_tasting", *SMALL, "--plot", str(picture), "--out", str(kept))
    assert done.exit_code == 0
    assert "Worst of calibrated, 20 rounds, 2 seeds per point" in done.output
    assert picture.read_text().startswith("<?xml")
    assert pm.RegretMap.load(kept).mean.shape == (4,)


def test_a_policy_may_be_named_before_options_of_the_game() -> None:
    words = ("map", "dynamic_pricing", "ids:gap=relaxed", "--prices", "1,2", *SMALL, "--json")
    rows = json.loads(pm_command(*words).output)
    game, policy = pm.games.dynamic_pricing(prices=[1, 2]), pm.IDS(gap=pm.gaps.relaxed)
    found = pm.regret_map(game, policy, horizon=20, seeds=2, points=4)
    assert rows == found.table()


def test_coordinates_and_theta_are_read() -> None:
    words = ("map", "dynamic_pricing", "--prices", "1,2,3,4", *SMALL, "--json")
    rows = json.loads(pm_command(*words, "--coordinates", "2", "--theta", "0.1,0.2,0.3,0.4").output)
    assert sorted(row["theta"][2] for row in rows) == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_refusals_are_one_sentence() -> None:
    done = pm_command("map", "apple_tasting", *SMALL, "--plot", "map.txt")
    assert done.exit_code == 2
    done = pm_command("map", "dynamic_pricing", "--prices", "1,2,3,4", *SMALL)
    assert done.exit_code == 2
    assert "coordinates must be one or two" in done.output


def test_help_teaches() -> None:
    text = pm_command("map", "--help").output
    assert "GAME [POLICY] [--NAME VALUE]..." in text
    assert "where it is weak" in " ".join(text.split())

"""``pm plan``: the table, the picture, JSON, and help that teaches."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

import partial_monitoring as pm
from partial_monitoring.cli import main

SMALL = ("--horizon", "100", "--seeds", "10", "--quiet")


def pm_command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_a_plan_is_a_table_and_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    words = ("plan", "apple_tasting", "--theta", "0.9,0.1", *SMALL, "--plot", str(picture))
    done = pm_command(*words)
    assert done.exit_code == 0
    assert "known with" in done.output
    assert picture.read_text().startswith("<?xml")


def test_json_is_the_table() -> None:
    words = ("plan", "dynamic_pricing", "ids", "--prices", "1,2", *SMALL, "--json")
    rows = json.loads(pm_command(*words, "--within", "0.1", "--chance", "0.6").output)
    game = pm.games.dynamic_pricing(prices=[1, 2])
    found = pm.plan(game, "ids", horizon=100, seeds=10, within=0.1, chance=0.6)
    assert rows == found.table()


def test_refusals_are_one_sentence() -> None:
    done = pm_command("plan", "apple_tasting", *SMALL, "--plot", "plan.txt")
    assert done.exit_code == 2
    done = pm_command("plan", "apple_tasting", *SMALL, "--chance", "2")
    assert done.exit_code == 2
    assert "chance must lie between 0 and 1" in done.output


def test_help_teaches() -> None:
    text = " ".join(pm_command("plan", "--help").output.split())
    assert "until the best action is known" in text
    assert "what an action may lose per round and still count as best" in text

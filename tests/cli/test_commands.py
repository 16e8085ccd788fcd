import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import partial_monitoring as pm
from partial_monitoring.cli import main


def pm_command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_games_lists_every_game() -> None:
    text = pm_command("games").output
    assert all(name in text for name in pm.games.GAMES)
    rows = json.loads(pm_command("games", "--json").output)
    assert [row["name"] for row in rows] == list(pm.games.GAMES)


def test_show_reads_options_in_all_spellings() -> None:
    first = pm_command("show", "dynamic_pricing", "--prices", "1,2,3,4", "--cost=1", "--json")
    other = pm_command(
        "show", "dynamic_pricing", "--json", "--param", "prices=[1,2,3,4]", "--param", "cost=1"
    )
    assert first.exit_code == 0
    data = json.loads(first.stdout)
    assert data == json.loads(other.stdout)
    assert data["actions"] == ["$1", "$2", "$3", "$4"]
    assert data["rewards"][1][0] == -1


def test_show_prints_labels_and_signals() -> None:
    text = pm_command("show", "dynamic_pricing").output
    assert "$2   -2  no     0  yes   -1  yes" in text


def test_show_takes_files_and_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert pm_command("show", "inspection", "--out", str(path)).exit_code == 0
    assert "inspect" in pm_command("show", str(path)).output
    table = tmp_path / "mine.csv"
    table.write_text("do,a,b\nx,1 s,2 s\n")
    assert pm_command("show", str(table)).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "dulling"), "pm: no game named 'dulling'; did you mean 'dueling'?"),
        (("show", "missing.json"), "pm: missing.json: no such file."),
        (("show", "inspection", "--price", "3"), "pm: no option of inspection named 'price'."),
        (("show", "inspection", "--cost"), "pm: --cost needs a value."),
        (("show", "inspection", "cost"), "pm: options of a game are written --NAME VALUE; got 'c"),
        (("show", "inspection", "--cost", "much"), "pm: cost must be real numbers"),
        (("show", "inspection", "--param", "cost"), "pm: --param must be NAME=VALUE; got 'cost'."),
        (
            ("show", "dueling", "--feedback", "loud"),
            "pm: feedback must be one of 'quantitative', 's",
        ),
        (("show", "inspection", "--out", "x.txt"), "pm: x.txt: a game file ends in .json or .toml"),
        (
            ("show", "inspection", "--out", "/nowhere/x.json"),
            "pm: /nowhere/x.json: cannot be writt",
        ),
        (
            ("analyze", "dueling", "--plot", "a.txt"),
            "pm: a.txt: a picture ends in .svg, .png, .pdf",
        ),
        (
            ("analyze", "dueling", "--plot", "/no/a.png"),
            "pm: /no/a.png: cannot be written: No such",
        ),
        (("advise", "survey"), "pm: survey has contexts; this command takes a game without."),
        (
            ("advise", "inspection", "--target", "trivial"),
            "pm: target must be one of 'easy', 'hard'",
        ),
    ],
)
def test_errors_are_one_sentence_and_exit_2(words: tuple[str, ...], message: str) -> None:
    result = pm_command(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


def test_contexts_are_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "survey.svg"
    assert pm_command("analyze", "survey", "--plot", str(picture)).exit_code == 0
    assert picture.read_text().startswith("<?xml")


def test_help_teaches() -> None:
    text = pm_command("--help").output
    assert "\n    pm show dynamic_pricing" in text
    assert "--prices 1,2,3" in pm_command("show", "--help").output


def test_analyze_prints_exactly_the_documented_json() -> None:
    found = json.loads(pm_command("analyze", "dynamic_pricing", "--json").output)
    assert list(found) == [
        "category",
        "regret_rate",
        "pareto",
        "degenerate",
        "dominated",
        "duplicates",
        "neighbors",
        "neighborhoods",
        "globally_observable",
        "locally_observable",
        "alignment",
        "dimension",
        "rank",
        "certified",
    ]
    assert found["category"] == "hard"
    assert found["neighborhoods"]["0,2"] == [0, 2]
    hopeless = pm_command("analyze", "matching_pennies", "--information", "none", "--json")
    assert json.loads(hopeless.output)["alignment"] == "inf"


def test_analyze_and_advise_speak(tmp_path: Path) -> None:
    assert pm_command("analyze", "label_efficient").output.startswith("Hard: regret can be kept")
    assert "becomes easy if" in pm_command("advise", "label_efficient").output
    advice = json.loads(pm_command("advise", "label_efficient", "--json").output)
    assert advice["achieved"]
    assert advice["measurements"][0]["action"] == 1
    picture = tmp_path / "cells.svg"
    assert pm_command("analyze", "dynamic_pricing", "--plot", str(picture)).exit_code == 0
    assert picture.read_text().startswith("<?xml")

"""Whatever is typed and wherever the output goes: one sentence, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import partial_monitoring as pm
from partial_monitoring import disk
from partial_monitoring.cli import main
from partial_monitoring.cli.common import read_policies, read_value
from partial_monitoring.cli.policies import POLICIES
from partial_monitoring.errors import InvalidInput

QUICK = ("--horizon", "30", "--seeds", "3")
LONG = "a" * 400
PM = [sys.executable, "-m", "partial_monitoring"]
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def pm_command(*words: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, list(words))


@pytest.mark.parametrize(
    "words",
    [
        ("show", LONG),
        ("analyze", LONG),
        ("advise", LONG),
        ("simulate", LONG),
        ("run", f"{LONG}.toml"),
        ("report", LONG),
        ("show", "apple_tasting", "--out", f"{LONG}.json"),
        ("simulate", "apple_tasting", *QUICK, "--out", LONG),
        ("show", "a\0b"),
        ("simulate", "a\0b"),
        ("show", "inspection", "--cost", "[" * 100_000),
        ("show", "inspection", "--cost", "1" * 5000),
        ("simulate", "apple_tasting", "--theta", "{" * 100_000),
    ],
    ids=lambda words: " ".join(words)[:30],
)
def test_names_and_values_that_cannot_be_are_refused(words: tuple[str, ...]) -> None:
    result = pm_command(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("pm: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@posix
@pytest.mark.parametrize(
    "words", [["games"], ["games", "--json"], ["--version"], ["show", "--help"]]
)
def test_a_full_disk_behind_the_output_is_said(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PM, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "pm: No space left on device.\n")


@posix
@pytest.mark.parametrize("words", [["games"], ["show", "inspection"], ["--help"]])
def test_a_closed_output_is_no_error(words: list[str]) -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *PM, *words]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@posix
def test_a_reader_that_leaves_is_no_error() -> None:
    command = " ".join([*PM, "games", "|", "head", "-1"])
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("game ")
    assert done.stderr == ""


@pytest.mark.parametrize("compiled", [False, True])
def test_an_interruption_is_one_sentence(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        if compiled:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr(pm.Experiment, "compare", interrupted)
    result = pm_command("simulate", "apple_tasting", *QUICK)
    assert result.exit_code == 130
    assert result.stderr == "pm: interrupted; runs that were kept are not played again.\n"


@pytest.mark.parametrize("word", ["False", "false", "FALSE"])
def test_decay_is_off_in_any_spelling(word: str) -> None:
    (policy,) = read_policies([f"epsilon_greedy:decay={word}"]).values()
    assert policy == pm.EpsilonGreedy(decay=False)
    words = ("apple_tasting", "--policy", "EPS", *QUICK, "--json")
    rows = [
        json.loads(pm_command("simulate", *(w.replace("EPS", name) for w in words)).stdout)[0][
            "regret_mean"
        ]
        for name in (
            f"p=epsilon_greedy:decay={word}",
            "p=epsilon_greedy",
            "p=epsilon_greedy:decay=true",
        )
    ]
    assert rows[0] == rows[1] != rows[2]


def test_words_stay_words() -> None:
    assert read_value("none") == "none"
    assert read_value("None") is read_value("null") is None
    assert read_value("True,false,x") == [True, False, "x"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "dynamic_pricing", "--prices", "1,2", "--prices", "3,4"), "'prices' of the game"),
        (("show", "inspection", "--cost", "1", "--param", "cost=2"), "option 'cost' of the game"),
        (
            ("show", "inspection", "--missed-fault", "1", "--missed_fault=2"),
            "option 'missed_fault' of the game",
        ),
        (
            ("simulate", "apple_tasting", "--policy", "ids:gap=mean,gap=exact"),
            "option 'gap' of --policy 'ids:gap=mean,gap=exact'",
        ),
    ],
)
def test_an_option_that_is_given_twice_is_refused(words: tuple[str, ...], message: str) -> None:
    result = pm_command(*words)
    assert result.exit_code == 2
    assert f"{message} is given twice." in result.stderr


@pytest.mark.parametrize("words", [("games",), ("policies",), ("show", "dynamic_pricing")])
def test_tables_keep_to_the_columns_and_end_without_blanks(words: tuple[str, ...]) -> None:
    for columns, width in (("80", 80), ("", 120)):
        lines = pm_command(*words, COLUMNS=columns).stdout.splitlines()
        assert max(map(len, lines)) <= width
        assert [line for line in lines if line != line.rstrip()] == []


def test_a_picture_is_announced(tmp_path: Path) -> None:
    picture = tmp_path / "cells.svg"
    words = ("analyze", "dynamic_pricing", "--plot", str(picture))
    assert pm_command(*words).stdout.endswith(f"The picture: {picture}\n")
    assert json.loads(pm_command(*words, "--json").stdout)["category"] == "hard"


@pytest.mark.usefixtures("no_drawing")
def test_run_reads_a_finished_store_that_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('horizon = 20\nseeds = 3\ngames = ["apple_tasting"]\npolicies = ["ids"]\n')
    words = ("run", str(file), "--json")
    rows = json.loads(pm_command(*words, "--no-page").stdout)

    def refuse(path: Any, data: Any) -> None:
        raise InvalidInput(f"{path}: cannot be written: Read-only file system.")

    monkeypatch.setattr(disk, "write_bytes", refuse)
    again = pm_command(*words)
    assert again.exit_code == 0
    assert json.loads(again.stdout)[0]["regret_mean"] == rows[0]["regret_mean"]
    assert all(line.endswith("Read-only file system.") for line in again.stderr.splitlines())


def test_the_policies_of_the_command_line_are_those_of_the_library() -> None:
    assert tuple(pm.policies.POLICIES) == POLICIES

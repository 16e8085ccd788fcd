"""``pm policies``, ``simulate``, ``run``, ``report`` and ``demo``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.cli.common import read_policies
from partial_monitoring.cli.policies import meanings_of
from partial_monitoring.policies import POLICIES

QUICK = ("--horizon", "60", "--seeds", "3")
KEYS = (
    "policy",
    "horizon",
    "seeds",
    "regret_mean",
    "regret_se",
    "regret_median",
    "regret_q95",
    "exponent",
    "seconds",
)


def pm_command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.mark.parametrize("name", POLICIES)
def test_policies_explains_a_policy_and_all_its_options(name: str) -> None:
    explained = [option for options, _ in meanings_of(name) for option in options]
    assert sorted(explained) == sorted(pm.policies.options_of(name))
    card = pm.policies.card(name)
    assert card is not None
    text = " ".join(pm_command("policies", name).output.split())
    assert pm.policies.summary(name) in text
    assert card.reference in text


def test_an_unknown_policy_is_not_explained() -> None:
    found = pm_command("policies", "nope")
    assert found.exit_code != 0
    assert "no policy named 'nope'" in found.output + found.stderr


def test_policies_lists_every_policy() -> None:
    text = pm_command("policies").output
    assert all(name in text for name in POLICIES)
    rows = json.loads(pm_command("policies", "--json").output)
    assert [row["name"] for row in rows] == list(POLICIES)
    assert {row["name"]: row["options"] for row in rows}["ids"]["gap"] == "exact"


def test_simulate_prints_one_json_list_with_the_numbers_of_simulate() -> None:
    result = pm_command(
        "simulate", "dynamic_pricing", "--policy", "ids", "--policy", "cbp",
        "--theta", "0.2,0.5,0.3", *QUICK, "--json",
    )  # fmt: skip
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["policy"] for row in rows] == ["ids", "cbp"]
    expected = pm.simulate(
        pm.games.dynamic_pricing(), ["ids", "cbp"], [0.2, 0.5, 0.3], horizon=60, seeds=3
    )
    for row in rows:
        assert set(KEYS) <= set(row)
        assert row["regret_mean"] == expected.mean(row["policy"])[-1]
        assert row["regret_se"] == expected.standard_error(row["policy"])[-1]
        assert row["exponent"] is None  # 60 rounds say nothing about growth
        assert (row["horizon"], row["seeds"]) == (60, 3)


def test_progress_and_json_do_not_mix() -> None:
    command = [sys.executable, "-m", "partial_monitoring", "simulate", "apple_tasting", *QUICK]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)) == 1
    assert done.stderr == ""  # not a terminal: quiet


def test_everything_of_a_file_can_be_said(tmp_path: Path) -> None:
    """The same runs from a file and from the command line, in one store, are played once."""
    file = tmp_path / "same.toml"
    file.write_text(
        'horizon = 50\nseeds = [4, 2]\ncheckpoints = [10, 20]\nnoise = "gaussian"\n'
        "[games.linear_bandit]\ntheta = [0.5, 0, 0]\n"
        '[policies.wide]\npolicy = "ids"\noptions = { gap = "relaxed", regularization = 2.0, '
        'sampling = ["generalized", 3.0] }\n'
    )
    store = tmp_path / "store"
    assert pm_command("run", str(file), "--out", str(store), "--no-page").exit_code == 0
    before = {path: path.stat().st_mtime_ns for path in store.glob("runs/*/*.parquet")}
    result = pm_command(
        "simulate", "linear_bandit", "--policy",
        "wide=ids:gap=relaxed,regularization=2.0,sampling=generalized,3.0",
        "--theta", "0.5,0,0", "--horizon", "50", "--seeds", "4,2", "--checkpoints", "10,20",
        "--noise", "gaussian", "--out", str(store),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    after = {path: path.stat().st_mtime_ns for path in store.glob("runs/*/*.parquet")}
    assert after == before


@pytest.mark.usefixtures("no_drawing")
def test_run_writes_the_page_and_resumes(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('horizon = 40\nseeds = 3\ngames = ["apple_tasting"]\npolicies = ["ids"]\n')
    first = pm_command("run", str(file), "--quiet")
    assert first.exit_code == 0, first.output
    page = tmp_path / "mine" / "report.html"
    assert page.exists()
    assert str(page) in re.sub(r"\n", "", first.output)
    rows = json.loads(pm_command("run", str(file), "--json", "--no-page").stdout)
    assert rows[0]["policy"] == "ids"


@pytest.mark.usefixtures("no_drawing")
def test_report_shows_what_is_kept(tmp_path: Path) -> None:
    for policy in ("ids", "cbp"):
        words = ("apple_tasting", "--policy", policy, "--theta", "0.7,0.3", *QUICK)
        assert pm_command("simulate", *words, "--out", str(tmp_path)).exit_code == 0
    rows = json.loads(pm_command("report", str(tmp_path), "--json").stdout)
    assert {row["policy"] for row in rows} == {"ids", "cbp"}
    result = pm_command("report", str(tmp_path), "--title", "Apples & pears")
    assert result.exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert "Apples &amp; pears" in page


def test_game_files_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "my: game? (2).json"
    pm.save_game(pm.games.apple_tasting(), path)
    result = pm_command("simulate", str(path), *QUICK, "--out", str(tmp_path / "kept"))
    assert result.exit_code == 0, result.output
    assert pm_command("report", str(tmp_path / "kept"), "--json").exit_code == 0


def test_policies_on_the_command_line() -> None:
    chosen = read_policies(["ids", "a=ids:gap=relaxed", "ids:sampling=e2d,2,regularization=3"])
    assert list(chosen) == ["ids", "a", "ids:sampling=e2d,2,regularization=3"]
    assert chosen["a"] == pm.IDS(gap=pm.gaps.relaxed)
    last = chosen["ids:sampling=e2d,2,regularization=3"]
    assert last == pm.IDS(sampling=pm.sampling.e2d(2), regularization=3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulate", "apple_tastin"), "pm: no game named 'apple_tastin'; did you mean"),
        (("simulate", "apple_tasting", "--policy", "idz"), "pm: no policy named 'idz'; did you"),
        (("simulate", "apple_tasting", "--policy", "ids:gapp=mean"), "pm: no option of ids named"),
        (("simulate", "apple_tasting", "--policy", "ids:mean"), "pm: --policy must be NAME"),
        (("simulate", "apple_tasting", "--policy", "ids", "--policy", "ids"), "appears twice"),
        (("simulate", "apple_tasting", "--horizon", "-1"), "pm: horizon must be a whole number"),
        (("simulate", "apple_tasting", "--theta", "0.5,0.6"), "a Simplex; got [0.5, 0.6]"),
        (("simulate", "apple_tasting", "--theta", "1,0,0"), "shape"),
        (("simulate", "apple_tasting", "--seeds", "0"), "pm: seeds must be a whole number >= 1"),
        (("simulate", "apple_tasting", "--policy", "linucb"), "LinUCB plays bandits"),
        (("simulate", "survey", "--policy", "cbp"), "CBP takes no contexts; the game has 2"),
        (("simulate", "apple_tasting", "--scheduler", "x"), "scheduler is for the engine 'dask'"),
        (("run", "nothing.toml"), "pm: nothing.toml: cannot be read: No such file or directory"),
        (("report", "nothing"), "pm: nothing: is not a folder with results of experiments"),
    ],
)
def test_errors_are_one_sentence_with_exit_code_2(words: tuple[str, ...], message: str) -> None:
    result = pm_command(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.usefixtures("no_drawing")
def test_the_demo_ends_with_the_table_and_the_page(tmp_path: Path) -> None:
    words = ("demo", "--out", str(tmp_path), "--horizon", "40", "--seeds", "2")
    result = pm_command(*words)
    assert result.exit_code == 0, result.output
    assert all(name in result.output for name in ("inspection", "dynamic_pricing", "randcbp"))
    assert (tmp_path / "report.html").exists()
    assert "The page:" in result.output


def test_names_are_completed() -> None:
    def completions(*words: str) -> list[str]:
        shell = ShellComplete(main, {}, "pm", "_PM_COMPLETE")
        return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]

    assert "simulate" in completions("sim")
    assert "randcbp" in completions("simulate", "apple_tasting", "--policy", "rand")


def test_names_are_completed_in_a_shell() -> None:
    asked = {"_PM_COMPLETE": "bash_complete", "COMP_WORDS": "pm show dyn", "COMP_CWORD": "2"}
    command = [str(Path(sys.executable).with_name("pm"))]
    done = subprocess.run(
        command, env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert "dynamic_pricing" in done.stdout


def test_simulate_takes_delays_and_batches() -> None:
    late = ("--delay", "0.5,0.5", "--batch", "4", "--pending", "ignored")
    found = pm_command("simulate", "apple_tasting", *QUICK, *late, "--json")
    assert found.exit_code == 0, found.output
    options = {"delay": [0.5, 0.5], "batch": 4, "pending": "ignored"}
    result = pm.simulate("apple_tasting", horizon=60, seeds=3, **options)  # type: ignore[arg-type]
    (row,) = json.loads(found.output)
    assert row["regret_mean"] == pytest.approx(result.mean("calibrated")[-1])
    refused = pm_command("simulate", "apple_tasting", *QUICK, "--delay", "-3")
    assert refused.exit_code != 0
    assert "delay must be" in refused.output + refused.stderr

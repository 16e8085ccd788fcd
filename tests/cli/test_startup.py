"""Commands load only what they use: ``pm --help`` answers at once."""

import json
import subprocess
import sys

import pytest

from partial_monitoring.cli import experiments
from partial_monitoring.experiments.workers import ENGINES

HEAVY = {"numba", "scipy.stats", "scipy.optimize", "scipy.spatial", "matplotlib", "plotly"}
CODE = """
import json, sys
from partial_monitoring.cli import main
main(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by(*words: str) -> set[str]:
    command = [sys.executable, "-c", CODE, *words]
    out = subprocess.run(command, capture_output=True, check=True, text=True)
    return set(json.loads(out.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["simulate", "--help"], ["demo", "--help"]]
)
def test_help_loads_no_numerical_library(words: list[str]) -> None:
    assert not loaded_by(*words) & {*HEAVY, "numpy", "rich", "partial_monitoring.policies"}


def test_listing_games_loads_no_solver() -> None:
    assert not loaded_by("games") & {*HEAVY, "partial_monitoring.policies"}


COMPLETE = """
import json, sys
from partial_monitoring.cli import main
from click.shell_completion import ShellComplete
shell = ShellComplete(main, {}, "pm", "_PM_COMPLETE")
found = shell.get_completions(["simulate", "apple_tasting", "--policy"], "rando")
assert [item.value for item in found] == ["random"]
print(json.dumps(sorted(sys.modules)))
"""


def test_completing_a_policy_loads_no_policy() -> None:
    out = subprocess.run(
        [sys.executable, "-c", COMPLETE], capture_output=True, check=True, text=True
    )
    assert not set(json.loads(out.stdout)) & {*HEAVY, "numpy", "partial_monitoring.policies"}


def test_the_engines_of_the_command_line_are_those_of_experiments() -> None:
    assert tuple(ENGINES) == experiments.ENGINES

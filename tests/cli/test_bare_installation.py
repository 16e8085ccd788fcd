"""Games, files and the command line work without any of the optional extras."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

EXTRAS = (
    "matplotlib",
    "pandas",
    "networkx",
    "cvxpy",
    "jinja2",
    "plotly",
    "distributed",
    "sklearn",
    "hypothesis",
    "pytest",
)


def test_core_needs_no_extras(tmp_path: Path) -> None:
    code = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import numpy as np
import partial_monitoring as pm
from click.testing import CliRunner
from partial_monitoring.cli import main
for name in pm.games.GAMES:
    game = pm.games.make(name)
    str(game), game._repr_html_()
    for ending in ("json", "toml"):
        pm.save_game(game, f"{tmp_path}/game.{{ending}}")
        pm.load_game(f"{tmp_path}/game.{{ending}}")
pm.Instance(pm.games.apple_tasting(), [0.5, 0.5]).observe(0, np.random.default_rng(0))
with open("e.toml", "w") as file:
    file.write("horizon = 20\\nseeds = 2\\ngames = ['apple_tasting']\\npolicies = ['ids']\\n")
commands = [
    ["games"],
    ["policies"],
    ["show", "dynamic_pricing"],
    ["simulate", "apple_tasting", "--horizon", "20", "--seeds", "2", "--out", "kept"],
    ["run", "e.toml"],
    ["report", "kept"],
    ["report", "kept", "--json"],
]
for command in commands:
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
said = CliRunner().invoke(main, ["report", "kept"]).stderr
assert "a report needs matplotlib; install it with" in said
pm.Experiment("apple_tasting", "ids", horizon=5, seeds=2).run(engine="processes", workers=1)
try:
    pm.Experiment("apple_tasting", "ids", horizon=5, seeds=2).run(engine="dask")
except pm.errors.InvalidInput as error:
    assert "needs Dask" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_the_extras_are_not_core_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = " ".join(project["dependencies"])
    assert not [extra for extra in EXTRAS if extra in core]

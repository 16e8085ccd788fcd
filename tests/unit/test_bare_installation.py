"""Games, files and the command line work without any of the optional extras."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

EXTRAS = ("matplotlib", "pandas", "networkx", "cvxpy", "jinja2", "hypothesis", "pytest")


def test_core_needs_no_extras(tmp_path: Path) -> None:
    code = f"""
import sys
for name in {EXTRAS!r}:
    sys.modules[name] = None
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
for command in (["games"], ["show", "dynamic_pricing"], ["demo"]):
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_the_extras_are_not_core_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = " ".join(project["dependencies"])
    assert not [extra for extra in EXTRAS if extra in core]

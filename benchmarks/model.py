"""What it costs to load the package, to reduce a game and to project onto a parameter set."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.timing import fastest, show
from partial_monitoring.model.game import ReducedGame


def run() -> Table:
    table = Table(title="The model")
    for column in ("what", "time", "compared with", "ratio"):
        table.add_column(column)

    def command(code: str) -> float:
        return fastest(lambda: subprocess.run([sys.executable, "-c", code], check=True), repeat=3)

    bare, numpy_only = command("pass"), command("import numpy")
    ours, used = (
        command("import partial_monitoring"),
        command("import partial_monitoring as pm; pm.games.dynamic_pricing()"),
    )
    table.add_row("import partial_monitoring", show(ours), "python -c pass", f"{ours / bare:.2f}")
    table.add_row("... and build a game", show(used), "import numpy", f"{used / numpy_only:.2f}")

    rng = np.random.default_rng(0)
    k, d = 100_000, 50
    features = rng.standard_normal((k, d))
    game = pm.games.linear_bandit(features)
    reduced = fastest(lambda: ReducedGame.of(game), repeat=2)
    product = fastest(lambda: features.T @ features)
    table.add_row(
        f"reduced coordinates, k={k}, d={d}",
        show(reduced),
        "one product F'F",
        f"{reduced / product:.1f}",
    )

    import cvxpy as cp

    for parameters in (pm.Simplex(10), pm.Box(np.zeros(10), np.ones(10)), pm.Ball(np.zeros(10), 1)):
        root = rng.standard_normal((10, 10))
        gram, point = root @ root.T + np.eye(10), rng.standard_normal(10)
        x = cp.Variable(10)
        constraints = {
            "Simplex": [x >= 0, cp.sum(x) == 1],
            "Box": [x >= 0, x <= 1],
            "Ball": [cp.norm(x) <= 1],
        }[type(parameters).__name__]
        problem = cp.Problem(cp.Minimize(cp.quad_form(x - point, cp.psd_wrap(gram))), constraints)
        mine = fastest(lambda p=parameters, z=point, g=gram: p.project(z, g))  # type: ignore[misc]
        theirs = fastest(lambda q=problem: q.solve(), repeat=3)  # type: ignore[misc]
        name = f"project, {type(parameters).__name__}, d=10"
        table.add_row(name, show(mine), "cvxpy", f"{mine / theirs:.4f}")
    return table

"""How the cost of a round grows with actions, dimension, rounds and seeds: a table and a figure.

``python -m benchmarks scaling`` draws docs/assets/cost.png, which docs/speed.md shows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.engine import unit_features
from benchmarks.timing import fastest, one_thread, show

TARGET = Path(__file__).parents[1] / "docs" / "assets" / "cost.png"
POLICIES: dict[str, Any] = {
    "default": pm.Calibrated(),
    "IDS": pm.IDS(),
    "LinTS": pm.LinTS(),
}
COLOURS = ("#0072b2", "#d55e00", "#009e73")
K, D, ROUNDS, SIMULATED = 100, 10, 100, 100


def bandit(k: int = K, d: int = D) -> pm.Game:
    return pm.games.linear_bandit(unit_features(k, d))


def live(policy: Any, k: int = K, d: int = D, t: int = 0) -> float:
    """Return the median time of one ask and one tell, after t rounds of logged data."""
    learner, rng, taken = pm.Learner(bandit(k, d), policy), np.random.default_rng(0), []
    if t:
        actions = rng.integers(k, size=t)
        learner.tell_past(actions.tolist(), rng.standard_normal((t, 1)).tolist())
    for _ in range(ROUNDS):
        start = process_time()
        learner.tell(learner.ask(), rng.standard_normal(1))
        taken.append(process_time() - start)
    return float(np.median(taken[5:]))


def simulated(policy: Any, seeds: int) -> float:
    """Return the time of a simulated round of all seeds together."""
    marks = {"horizon": SIMULATED, "checkpoints": [SIMULATED]}

    def play() -> None:
        pm.simulate(bandit(), {"one": policy}, "random", seeds=seeds, **marks)  # type: ignore[arg-type]

    return fastest(play, repeat=2, seconds=0.1, clock=process_time) / SIMULATED


AXES: dict[str, tuple[list[int], Callable[[Any, int], float]]] = {
    "actions k": ([10, 100, 1000, 10_000], lambda policy, n: live(policy, k=n)),
    "features d": ([2, 5, 10, 20, 50, 100], lambda policy, n: live(policy, d=n)),
    "rounds before": ([1, 10, 100, 1000, 10_000], lambda policy, n: live(policy, t=n)),
    "seeds, simulated": ([1, 10, 100], simulated),
}


def run() -> Table:
    """Measure all axes, others at k = 100 and d = 10, and draw them."""
    from matplotlib.figure import Figure

    table = Table(
        title=f"Time of a round of a linear bandit on a ball, k = {K}, d = {D} ({TARGET.name})"
    )
    for column in ("axis", "policy", "from", "to", "time at first", "at last", "last power"):
        table.add_column(column)
    figure = Figure(figsize=(10, 2.8), layout="constrained")
    panels = figure.subplots(1, len(AXES), sharey=True)
    with one_thread():
        for panel, (name, (sizes, measure)) in zip(panels, AXES.items(), strict=True):
            for colour, (own, policy) in zip(COLOURS, POLICIES.items(), strict=True):
                times = [measure(policy, size) for size in sizes]
                panel.loglog(sizes, np.array(times) * 1e6, marker=".", color=colour, label=own)
                power = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
                ends = show(times[0]), show(times[-1])
                table.add_row(name, own, str(sizes[0]), str(sizes[-1]), *ends, f"{power:.2f}")
            panel.set_xlabel(name)
            panel.grid(alpha=0.3)
    panels[0].set_ylabel("microseconds a round")
    panels[0].legend(frameon=False)
    figure.savefig(TARGET, dpi=150)
    return table

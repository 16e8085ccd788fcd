"""How the cost of a round grows with actions, dimension, rows, rounds and seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.table import Table

import partial_monitoring as pm

TARGET = Path(__file__).parent / "results" / "scaling.svg"
POLICY = pm.IDS(gap=pm.gaps.relaxed)


def game_of(k: int, d: int, m: int) -> pm.Game:
    rng = np.random.default_rng(0)
    phi = rng.standard_normal((k, d)) / np.sqrt(d)
    return pm.Game(phi, rng.standard_normal((k, m, d)) / np.sqrt(d), pm.AllParameters(d))


def per_round(k: int = 100, d: int = 10, m: int = 1, t: int = 0, seeds: int = 10) -> float:
    """Return the time of a round of all seeds, after t rounds were played."""
    game = game_of(k, d, m)
    state = POLICY.init(game, seeds)
    rng = np.random.default_rng(1)
    took = []
    for round_number in range(t + 12):
        start = perf_counter()
        choice = POLICY.decide(state, rng.random(seeds))
        state = POLICY.update(state, choice.action, rng.standard_normal((seeds, m)))
        if round_number >= t + 2:
            took.append(perf_counter() - start)
    return float(np.median(took))


AXES: dict[str, tuple[list[int], Callable[[int], float]]] = {
    "actions k": ([10, 100, 1000, 10_000, 100_000], lambda n: per_round(k=n, seeds=1)),
    "dimension d": ([2, 5, 10, 20, 50, 100], lambda n: per_round(d=n)),
    "rows m": ([1, 2, 4, 8], lambda n: per_round(m=n)),
    "rounds t": ([1, 10, 100, 1000, 5000], lambda n: per_round(t=n)),
    "seeds": ([1, 10, 100, 1000], lambda n: per_round(seeds=n)),
}


def run() -> Table:
    from matplotlib.figure import Figure

    table = Table(
        title=f"Growth of the time of a round, relaxed gaps on R^d (figure: {TARGET.name})"
    )
    for column in ("axis", "from", "to", "time at first", "time at last", "last power of growth"):
        table.add_column(column)
    figure = Figure(figsize=(12, 2.8), layout="constrained")
    panels = figure.subplots(1, len(AXES), sharey=True)
    per_round()
    for panel, (name, (sizes, measure)) in zip(panels, AXES.items(), strict=True):
        times = [measure(size) for size in sizes]
        panel.loglog(sizes, np.array(times) * 1e6, marker="o", color="#0072b2")
        panel.set_xlabel(name)
        panel.grid(alpha=0.3)
        power = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
        ends = (f"{times[0] * 1e6:.0f} us", f"{times[-1] * 1e6:.0f} us")
        table.add_row(name, str(sizes[0]), str(sizes[-1]), *ends, f"{power:.2f}")
    panels[0].set_ylabel("microseconds a round")
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET)
    return table

"""The batched and the compiled way to play a policy, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.play import play, play_batched
from partial_monitoring.simulation.run import Run
from partial_monitoring.simulation.truths import read_truth

TABLES = ("regret", "plays", "information", "ratio")


def environment(game: Any, seeds: int, noise: str | None = None) -> Environment:
    """A random parameter for every seed."""
    numbers = np.arange(seeds)
    theta = read_truth("random", game, rows=True).draw(game, numbers)
    return Environment(game, theta, numbers, noise)


def same(one: Run, other: Run) -> bool:
    """Whether two runs have the same bits."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in TABLES
    )


def compare(
    game: Any, policy: Any, rounds: int, *, seeds: int = 3, noise: str | None = None
) -> None:
    """Ask for the same bits in both ways, on one thread and on two."""
    marks = np.unique([1, min(2, rounds), min(513, rounds), rounds])
    slow = play_batched(game, policy, environment(game, seeds, noise), marks)
    for threads in (1, 2):
        quick = play(game, policy, environment(game, seeds, noise), marks, threads=threads)
        assert quick.backend == "compiled"
        assert same(quick, slow)

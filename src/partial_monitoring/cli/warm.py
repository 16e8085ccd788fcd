"""Compile what the library needs, once after installation.

``python -m partial_monitoring.cli.warm`` plays every game of the library for a few rounds with
every policy that plays it, so that all compiled functions are kept for later processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np

from partial_monitoring import kernels
from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.games import GAMES, dueling, linear_bandit
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.numerics.compiled.just_in_time import is_kept, notice
from partial_monitoring.numerics.compiled.linear import update
from partial_monitoring.parameter_sets import AllParameters, Box
from partial_monitoring.policies import PARTS, POLICIES, make
from partial_monitoring.simulation.delayed import Late
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.play import cores, play, play_batched
from partial_monitoring.simulation.truths import read_truth

ROUNDS = 3
SEEDS = 2


def games() -> dict[str, Callable[[], Any]]:
    """Return games of every kind and shape of the parameter set, by name."""
    points = np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    low, high = np.full(2, -1.0), np.ones(2)
    return {
        **GAMES,
        "linear_bandit, all parameters": lambda: linear_bandit(points, AllParameters(2)),
        "linear_bandit, a box of parameters": lambda: linear_bandit(points, Box(low, high)),
        "dueling, features": lambda: dueling(points),
        "box": lambda: KernelBoxGame(kernels.Matern(2.5, 0.3), low, high),
    }


def policies() -> Iterator[Any]:
    """Yield every policy, and IDS with each of its parts."""
    for name in POLICIES:
        yield make(name)
    yield make("contextual_ids", solver="frank_wolfe")
    yield make("ids", confidence=["likelihood_ratio", 0.05])
    yield make("ids", half_life=20.0)
    for key, parts in PARTS.items():
        for name, part in product(("ids", "contextual_ids"), parts):
            try:
                yield make(name, **{key: part})
            except PartialMonitoringError:
                continue  # not a part of this policy


def both_ways(game: Any, policy: Any) -> None:
    """Play a few rounds: as simulations do, and by the formulas that live decisions use.

    Answers to those come late, so that open decisions are expected as well.
    """
    numbers, marks = np.arange(SEEDS), np.array([ROUNDS])
    theta = read_truth("random", game, rows=True).draw(game, numbers)
    play(game, policy, Environment(game, theta, numbers), marks)
    play_batched(game, policy, Environment(game, theta, numbers), marks, late=Late(delay=1))


def compile_for(number: int) -> int:
    """Play every game with one of the policies; return how many functions were compiled."""
    before, policy = notice.compiled, tuple(policies())[number]
    for build in games().values():
        with suppress(PartialMonitoringError):  # not a game that this policy plays
            both_ways(build(), policy)
    return notice.compiled - before


def main(processes: int = 1) -> None:
    """Compile everything, in one or several processes, and say how much it was."""
    if not is_kept(update):
        print("No folder can keep compiled functions; set NUMBA_CACHE_DIR to one.")
        return
    numbers = range(len(tuple(policies())))
    if processes == 1:
        total = 0
        for number in numbers:
            notice.text = f"Compiling for this machine, {number} of {len(numbers)} policies ..."
            total += compile_for(number)
    else:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            total = sum(pool.map(compile_for, numbers))
    print(f"Functions compiled for this machine: {total}.")


if __name__ == "__main__":
    main(cores())

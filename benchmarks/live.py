"""Live decisions: one ask and one tell with default options, against peers, in processor time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.engine import by_bayesianbandits, by_vowpal_wabbit, unit_features
from benchmarks.timing import fastest, one_thread, show

Step = Callable[[], object]

SIZES = ((10, 10), (100, 20), (1000, 50))

PREPARED = 400
"""Games of contexts that are prepared before the time of a row is taken; each is used once."""

PEERS = {"bayesianbandits IDS": by_bayesianbandits, "Vowpal Wabbit": by_vowpal_wabbit}

FIRST = """
import time
started = time.perf_counter()
import partial_monitoring as pm
imported = time.perf_counter()
decision = pm.Learner({game}, {policy}).ask()
print(imported - started, time.perf_counter() - imported, decision.label)
"""


def steps(k: int, d: int) -> Iterator[tuple[str, Step]]:
    """Yield the kinds of learner by name, each as one ask and its tell."""
    phi, everywhere = unit_features(k, d), pm.AllParameters(d)
    whole = pm.games.linear_bandit(phi, everywhere)
    relaxed = pm.IDS(gap=pm.gaps.relaxed)
    yield "ball, default", in_rounds(pm.Learner(pm.games.linear_bandit(phi)))
    yield "ball, IDS", in_rounds(pm.Learner(pm.games.linear_bandit(phi), pm.IDS()))
    yield "R^d, default", in_rounds(pm.Learner(whole))
    yield "R^d, IDS, relaxed gaps", in_rounds(pm.Learner(whole, relaxed))
    for name, policy in (("default", None), ("IDS, relaxed gaps", relaxed)):
        learner = pm.Learner(pm.ContextualGame([whole]), policy)
        yield f"features at ask, {name}", in_contexts(learner, phi)


def in_rounds(learner: pm.Learner) -> Step:
    return lambda: learner.tell(learner.ask(), [0.1])


def in_contexts(learner: pm.Learner, phi: np.ndarray) -> Step:
    """Return a round in a context that comes with features which never came before."""
    rng = np.random.default_rng(1)
    drawn = (phi[rng.permutation(len(phi))] for _ in range(PREPARED))
    parameters = learner.game.parameters
    games = [pm.Game(own, own[:, None, :], parameters) for own in drawn]

    def step() -> None:
        context = games.pop() if games else pm.Game(phi, phi[:, None, :], parameters)
        learner.tell(learner.ask(context=context), [0.1])

    return step


def rounds() -> Table:
    """One ask and one tell; a ratio above 1 says how many times longer the peer takes."""
    table = Table(title="Live: one ask and one tell, processor time")
    for column in ("k, d", "here", "time", *(word for name in PEERS for word in (name, "ratio"))):
        table.add_column(column)
    for k, d in SIZES:
        peers = {name: peer(unit_features(k, d)) for name, peer in PEERS.items()}
        with one_thread():
            theirs = {name: None if step is None else time(step) for name, step in peers.items()}
            for name, step in steps(k, d):
                here = time(step)
                cells = [f"{k}, {d}", name, show(here)]
                for taken in theirs.values():
                    missing = ["not installed", "-"]
                    cells += missing if taken is None else [show(taken), f"{taken / here:.1f}"]
                table.add_row(*cells)
    table.caption = (
        "Features at ask: of a game that is new in every round. Vowpal Wabbit reads lines of text "
        "that are prepared, in all rows."
    )
    return table


def time(step: Step) -> float:
    return fastest(step, repeat=20, seconds=0.4, clock=process_time)


def first_decisions() -> Table:
    """Import and the first decision in a new process; at most 0.3 s and 3 s without a cache."""
    table = Table(title="The first decision of a process")
    for column in ("game", "policy", "import", "decision", "decision, nothing compiled", "same"):
        table.add_column(column)
    bandit = "pm.games.linear_bandit([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])"
    cases = (("pm.games.apple_tasting()", "None"), (bandit, "None"), (bandit, "pm.IDS()"))
    for game, policy in cases:
        code = FIRST.format(game=game, policy=policy)
        first_decision(code, os.environ)
        imported, warm, action = first_decision(code, os.environ)
        with TemporaryDirectory() as empty:
            _, cold, other = first_decision(code, {**os.environ, "NUMBA_CACHE_DIR": empty})
        same = "yes" if action == other else f"no: {action}, {other}"
        cells = game.partition("(")[0], "default" if policy == "None" else policy
        table.add_row(*cells, show(float(imported)), show(float(warm)), show(float(cold)), same)
    return table


def first_decision(code: str, environment: os._Environ[str] | dict[str, str]) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return found.stdout.split()


def run() -> list[Table]:
    return [rounds(), first_decisions()]

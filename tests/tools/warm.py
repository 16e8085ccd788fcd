"""Compile once what the tests need, before they run side by side: ``python -m tests.tools.warm``.

Every process that finds no compiled function compiles it for itself. This plays two rounds of every
kind of game with every policy in one process, so that all others read what it has compiled.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import partial_monitoring as pm  # noqa: E402
from tests.golden import runs  # noqa: E402

ROUNDS = 2


def main() -> None:
    games = {name: build() for name, (build, _) in runs.GAMES.items()}
    for name, policy, _ in runs.cases().values():
        pm.simulate(games[name], {"policy": policy}, runs.GAMES[name][1], horizon=ROUNDS, seeds=2)


if __name__ == "__main__":
    main()

"""Play compiled rounds as they are written, by the interpreter, which looks at every index.

``NUMBA_DISABLE_JIT=1 python -m tests.tools.uncompiled``: compiled code would read or write beyond
the end of an array without a word.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.simulation.play import play
from tests.oracles.context_games import COMPARING, POLICIES
from tests.oracles.context_games import GAMES as CONTEXTS
from tests.oracles.linear_games import CUT, GAMES
from tests.oracles.two_ways import environment

ROUNDS = 3

PLAIN = {
    "directed": pm.IDS(information=pm.information.directed),
    "relaxed": pm.IDS(gap=pm.gaps.mean, information=pm.information.directed_relaxed),
    "improving": pm.IDS(gap=pm.gaps.improvement, information=pm.information.improvement),
    "mixed": pm.IDS(gap=pm.gaps.improvement),
    "default": pm.Calibrated(),
}


def cases() -> Iterator[tuple[str, Any, str, Any]]:
    """Yield games and policies with their names."""
    for games, policies in ((GAMES | CUT, PLAIN), (CONTEXTS, POLICIES | COMPARING)):
        for name, game in games.items():
            for policy, own in policies.items():
                yield name, game, policy, own


def main() -> int:
    played = 0
    for name, game, policy, own in cases():
        run = play(game, own, environment(game, 1), np.array([ROUNDS]), threads=1)
        assert run.backend == "compiled", (name, policy, run.backend)
        played += 1
    print(f"{played} runs, all indices in bounds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Games that show signals: those of the library, and degenerate ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.estimation.profile.model import signal_model

LIBRARY = {name: build() for name, build in pm.games.GAMES.items()}
SIGNALS: dict[str, Any] = {
    **{name: game for name, game in LIBRARY.items() if signal_model(game) is not None},
    "sign duels": pm.games.dueling(np.eye(3), feedback="sign"),
    "sign duels on a graph": pm.games.graph_dueling(feedback="sign"),
    "sign duels in contexts": pm.ContextualGame(
        [
            pm.games.dueling(np.eye(3)[list(own)], feedback="sign", items=own)
            for own in ((0, 1), (1, 2))
        ]
    ),
    "pricing with five prices": pm.games.dynamic_pricing(range(1, 6)),
}
"""Every game of the library that the anticipating index plays."""

DEGENERATE: dict[str, Any] = {
    "one action": pm.FiniteGame([[1, 0]], ["ab"]),
    "nothing shown": pm.FiniteGame([[1, 0], [0, 1]], ["aa", "bb"]),
    "one outcome": pm.FiniteGame([[1], [0]], ["a", "b"]),
    "all the same": pm.FiniteGame([[1, 0], [1, 0]], ["ab", "aa"]),
    "always best": pm.FiniteGame([[1, 1], [0, 1], [1, 0]], ["aa", "ab", "ab"]),
    "no rewards": pm.FiniteGame([[0, 0], [0, 0]], ["ab", "aa"]),
    "no rows": pm.Game(
        [[1, 0], [0, 1]], np.zeros((2, 0, 2)), pm.Box([0, 0], [1, 1]), noise="bernoulli"
    ),
}

"""Simulate games on a device and on the processor, and print how they differ as JSON.

``python -m tests.tools.device_simulation ROUNDS SEEDS``, on a machine with a GPU, or simulated with
``NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1``. With the names of games as well it prints what the
default policy plays in these on the device, or why it is refused.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

RNG = np.random.default_rng(1)
FEATURES = RNG.normal(size=(4, 2)) / 2
ALL = pm.AllParameters(2)
MAPS = [RNG.normal(size=(rows, 2)) for rows in (0, 1, 2, 1)]

CASES: dict[str, tuple[Any, Any]] = {
    "relaxed": (pm.games.linear_bandit(FEATURES, ALL), pm.IDS(gap=pm.gaps.relaxed)),
    "mean": (pm.Game(FEATURES, MAPS, ALL), pm.IDS(gap=pm.gaps.mean)),
    "exact, several rows": (pm.Game(FEATURES, MAPS, ALL, 0.5), pm.IDS()),
    "optimism": (pm.games.linear_bandit(FEATURES), pm.LinUCB()),
    "optimism, relative": (
        pm.Game(FEATURES, MAPS, ALL, 0.5),
        pm.LinUCB(relative=True, allow_partial=True),
    ),
    "draws": (pm.games.linear_bandit(FEATURES), pm.LinTS()),
    "weights": (pm.games.linear_bandit(FEATURES, ALL), pm.SquareCB()),
    "probes": (pm.games.linear_bandit(FEATURES, ALL), pm.Probing(pm.EpsilonGreedy(), 0.2)),
    "default on a ball": (pm.games.linear_bandit(FEATURES), pm.Calibrated()),
    "default, prices": (pm.games.dynamic_pricing([1, 2, 3], cost=1), pm.Calibrated()),
    "default, apple tasting": (pm.games.apple_tasting(), pm.Calibrated()),
}


def compare(game: Any, policy: Any, rounds: int, seeds: int) -> dict[str, Any]:
    """Return how many seeds have the same plays at all checkpoints, and how far regrets differ."""
    options: dict[str, Any] = {"horizon": rounds, "seeds": seeds}
    host = pm.simulate(game, {"own": policy}, **options)
    device = pm.simulate(game, {"own": policy}, **options, device="cuda")
    same = (host.plays["own"] == device.plays["own"]).all(axis=(1, 2))
    return {
        "backend": device.backend["own"],
        "same": float(same.mean()),
        "regret": float(np.abs(host.regret["own"] - device.regret["own"]).max()),
    }


def played(game: str, rounds: int, seeds: int, device: str | None) -> list[Any] | str:
    """Return how often each action was played at each checkpoint of each seed, or why not."""
    points = range(10, rounds, 10)
    options: dict[str, Any] = {"horizon": rounds, "seeds": seeds, "checkpoints": points}
    try:
        found = pm.simulate(game, "calibrated", **options, device=device)
    except InvalidInput as refusal:
        return str(refusal)
    plays: list[Any] = found.plays["calibrated"].tolist()
    return plays


def main() -> None:
    rounds, seeds = map(int, sys.argv[1:3])
    if games := sys.argv[3:]:
        print(json.dumps({game: played(game, rounds, seeds, "cuda") for game in games}))
        return
    found = {name: compare(*case, rounds, seeds) for name, case in CASES.items()}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

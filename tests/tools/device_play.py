"""Play one learner on a device beside one without, and print what both decided as JSON.

``python -m tests.tools.device_play NAME ROUNDS``, on a machine with a GPU, or simulated with
``NUMBA_ENABLE_CUDASIM=1``. How many actions are the same is said on standard error.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numba import config

import partial_monitoring as pm
from tests.tools import simulator


def features(k: int, d: int) -> Any:
    """Features of which two are copies."""
    phi = np.random.default_rng(5).normal(size=(k, d)) / np.sqrt(d)
    phi[k // 2] = phi[1]
    return phi


def plain(k: int = 14, d: int = 3) -> Any:
    """A linear bandit over all of R^d."""
    return pm.games.linear_bandit(features(k, d), pm.AllParameters(d), noise_std=0.3)


def over_ball() -> Any:
    """The linear bandit over the unit ball."""
    return pm.games.linear_bandit(features(14, 3), noise_std=0.3)


def over_simplex() -> Any:
    """A linear bandit over distributions, whose span has one dimension less."""
    return pm.games.linear_bandit(features(10, 4), pm.Simplex(4), noise_std=0.2)


def single() -> Any:
    """Features that fit in single precision, which the device then uses."""
    phi = features(14, 3).astype(np.float32).astype(float)
    return pm.games.linear_bandit(phi, pm.AllParameters(3), noise_std=0.3)


CASES: dict[str, Any] = {
    "relaxed": (plain, lambda: pm.IDS(gap=pm.gaps.relaxed)),
    "mean": (plain, lambda: pm.IDS(gap=pm.gaps.mean)),
    "mean_ball": (over_ball, lambda: pm.IDS(gap=pm.gaps.mean)),
    "mean_simplex": (over_simplex, lambda: pm.IDS(gap=pm.gaps.mean)),
    "kappa": (plain, lambda: pm.IDS(gap=pm.gaps.relaxed, sampling=pm.sampling.generalized(3.0))),
    "few": (lambda: plain(2, 2), lambda: pm.IDS(gap=pm.gaps.relaxed)),
    "default": (over_ball, pm.Calibrated),
    "default_plain": (lambda: plain(11, 5), pm.Calibrated),
    "single": (single, lambda: pm.IDS(gap=pm.gaps.relaxed)),
}


def played(learner: Any, rounds: int) -> list[list[float]]:
    """Play and return the action, its probability, gap and information, and the ratio."""
    game, noise = learner.game, np.random.default_rng(0)
    theta, rows = np.full(game.d, 1.0 / game.d), []
    for _ in range(rounds):
        decision = learner.ask()
        gap, gain = decision.gaps[decision.place], decision.information[decision.place]
        rows.append([decision.action, decision.probability, gap, gain, decision.ratio])
        mean = float(game.features[decision.action] @ theta)
        learner.tell(decision, [mean + 0.3 * float(noise.normal())])
    return rows


def main(name: str, rounds: int) -> None:
    if config.ENABLE_CUDASIM:
        simulator.prepare()
    game, policy = CASES[name][0](), CASES[name][1]()
    host = played(pm.Learner(game, policy, seed=3), rounds)
    learner = pm.Learner(game, policy, seed=3, device="cuda")
    device = played(learner, rounds)
    same = sum(one[0] == two[0] for one, two in zip(host, device, strict=True))
    print(f"{name}: {same} of {rounds} actions are the same", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.json"
        learner.save(path)
        loaded = pm.Learner.load(path)
    following = [own.ask() for own in (learner, loaded)]
    try:
        learner.status()
    except pm.errors.InvalidInput as error:
        status = str(error)
    print(
        json.dumps(
            {
                "host": host,
                "device": device,
                "next": [[own.action, own.ratio] for own in following],
                "precision": learner._session.state.known.shelf.precision,
                "estimate": np.abs(learner.confidence_set().center - following[1].estimate).max(),
                "status": status,
                "explained": following[0].explain(),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""Confidence sets of every shape, and what they say by brute force over their support function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.estimation.state import Prior, initial_duels, initial_state
from tests.oracles.every_game import BUILD, environment_of, game_of, learned

Array = NDArray[np.float64]

SEEDS = np.array([2, 9])
PAPER = pm.confidence.paper()


def features(k: int, d: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(k, d)) / np.sqrt(d)


def bandit(phi: Array, parameters: Any) -> pm.Game:
    return pm.Game(phi, phi[:, None], parameters, 0.5)


def blind(phi: Array, parameters: Any, seen: int) -> pm.Game:
    """A game that shows only the first coordinates of what is earned."""
    maps = phi * (np.arange(phi.shape[1]) < seen)
    return pm.Game(phi, maps[:, None], parameters, 0.5)


def polytope(d: int = 3) -> pm.Polytope:
    rows = np.concatenate([np.eye(d), -np.eye(d), np.ones((1, d))])
    return pm.Polytope(rows, np.append(np.ones(2 * d), 0.8))


SETS: dict[str, Callable[[int], pm.ParameterSet]] = {
    "all": pm.AllParameters,
    "ball": lambda d: pm.Ball(np.full(d, 0.2), 0.8),
    "box": lambda d: pm.Box(np.full(d, -0.5), np.full(d, 1.0)),
    "flat box": lambda d: pm.Box(np.full(d, -0.5), np.append(np.ones(d - 1), -0.5)),
    "simplex": pm.Simplex,
    "polytope": polytope,
    "unbounded polytope": lambda d: pm.Polytope(-np.eye(d), np.zeros(d)),
}
"""Every parameter set that cuts ellipsoids differently, in R^d."""

PHI = features(6, 3)
TWICE = np.concatenate([PHI[:3], PHI[:2], PHI[[0]]])
LINE = PHI[:, :1] * np.ones((1, 3))


def _shapes(parameters: Callable[[int], pm.ParameterSet]) -> dict[str, Callable[[], Any]]:
    theta = parameters(3)
    return {
        "": lambda: bandit(PHI, theta),
        "hidden directions": lambda: blind(PHI, theta, 1),
        "nothing shown": lambda: blind(PHI, theta, 0),
        "one line": lambda: bandit(LINE, theta),
        "duplicates": lambda: bandit(TWICE, theta),
        "one action": lambda: bandit(PHI[:1], theta),
    }


def _contexts(parameters: Callable[[int], pm.ParameterSet]) -> pm.ContextualGame:
    """Groups of one, two, three actions and copies; one shows nothing, one has its own noise."""
    theta, phi = parameters(3), features(6, 3, 1)
    games = [
        bandit(phi[:1], theta),
        blind(phi[1:3], theta, 0),
        pm.Game(phi[3:6], phi[3:6, None], theta, 0.9, ["a", "b", "c"]),
        bandit(TWICE, theta),
    ]
    return pm.ContextualGame(games)


LINEAR: dict[str, Callable[[], Any]] = {
    ", ".join(filter(None, (kind, shape))): build
    for kind, parameters in SETS.items()
    for shape, build in _shapes(parameters).items()
}
LINEAR["all, 140 actions"] = lambda: bandit(features(140, 3), pm.AllParameters(3))
LINEAR["all, 140 actions, hidden directions"] = lambda: blind(
    features(140, 3), pm.AllParameters(3), 2
)
LINEAR["a point"] = lambda: bandit(PHI, pm.Box([0.5] * 3, [0.5] * 3))
LINEAR["equal on Theta"] = lambda: bandit(
    np.array([[0.0, 0, 0], [-1, 0, 0], [0, 0, 1], [0, -1, 2]]), pm.Box([0.5, 0, 0], [1, 1, 0])
)
LINEAR["own noise"] = pm.games.heteroscedastic_linear_bandit
LINEAR["several rows"] = pm.games.combinatorial_bandit

KERNEL: dict[str, Callable[[], Any]] = {
    "kernel": lambda: pm.games.kernelized_bandit(np.linspace(0, 1, 7)),
    "kernel, one action": lambda: pm.games.kernelized_bandit([0.3]),
    "kernel, duplicates": lambda: pm.games.kernelized_bandit([0.0, 0.5, 0.5, 1.0, 0.0]),
    "kernel, transductive": pm.games.kernelized_transductive,
    "kernel, localized duels": pm.games.kernelized_localized_dueling,
}
DUELS: dict[str, Callable[[], Any]] = {
    "kernel duels": pm.games.kernelized_dueling,
    **{
        f"duels, {kind}": (lambda own=own: pm.games.dueling(PHI, parameters=own(3)))
        for kind, own in SETS.items()
    },
}
GROUPS: dict[str, Callable[[], Any]] = {
    **{name: build for name, build in BUILD.items() if game_of(name).traits.contexts},
    **{f"contexts, {kind}": (lambda own=own: _contexts(own)) for kind, own in SETS.items()},
    "contexts, 130 actions": lambda: pm.ContextualGame(
        [bandit(features(130, 3), pm.AllParameters(3)), bandit(PHI, pm.AllParameters(3))]
    ),
}
"""Games with contexts, whose actions compete within groups."""

ALONE = (*LINEAR, *KERNEL, *DUELS)
NAMES = (*ALONE, *GROUPS)


@cache
def game(name: str) -> Any:
    return {**LINEAR, **KERNEL, **DUELS, **GROUPS}[name]()


@cache
def state_of(name: str, rounds: int) -> Any:
    """Return what two replicates know after some rounds."""
    own, n = game(name), len(SEEDS)
    if name in GROUPS:
        state: Any = pm.ContextualIDS().init(own, n)
    elif name in DUELS:
        state = initial_duels(own, n, Prior(), draws=True)
    else:
        state = initial_state(own, n, Prior(), functions=name in KERNEL, draws=name in KERNEL)
    return learned(state, environment_of(own, SEEDS), rounds)


@cache
def confidence_of(name: str, rounds: int = 0) -> Any:
    """Return E_t of two replicates after some rounds, of a game with contexts in groups."""
    state = state_of(name, rounds)
    return state.everywhere(PAPER) if name in GROUPS else state.confidence(PAPER)


def groups_of(confidence: Any) -> Iterator[tuple[slice, Any]]:
    """Yield the actions of each group, and the confidence set seen through them alone."""
    starts = confidence.groups.tolist()
    if len(starts) == 2:
        yield slice(0, starts[1]), confidence
        return
    for z, start in enumerate(starts[:-1]):
        yield slice(start, starts[z + 1]), confidence.group(z)


def supports(confidence: Any, phi: Array) -> Array:
    """max over E_t of <phi_b - phi_a, theta>, entry (row, a, b)."""
    k, d = phi.shape
    away = (phi[None] - phi[:, None]).reshape(k * k, d)
    return np.asarray(confidence.support(away).reshape(-1, k, k))


def brute_exact(confidence: Any) -> Array:
    return np.concatenate(
        [supports(own, own.game.features).max(axis=2) for _, own in groups_of(confidence)], axis=1
    )


def brute_relaxed(confidence: Any) -> Array:
    """delta + max(max over E_t of <phi_g - phi_a, theta>, 0); delta for g itself."""
    found = []
    for _, own in groups_of(confidence):
        ahead = supports(own, own.game.features)
        each, greedy = np.arange(len(ahead)), own.means.argmax(axis=1)
        delta = np.maximum(ahead[each, greedy].max(axis=1), 0.0)[:, None]
        gaps = delta + np.maximum(ahead[each, :, greedy], 0.0)
        np.put_along_axis(gaps, greedy[:, None], delta, axis=1)
        found.append(gaps)
    return np.concatenate(found, axis=1)


def brute_greedy(confidence: Any) -> Array:
    """delta + <phi_g - phi_a, theta_hat>, with delta over the ellipsoid, moved to theta_hat."""
    found = []
    for _, own in groups_of(confidence):
        phi, whole = own.game.features, own.uncut
        means = own.center @ phi.T
        each, greedy = np.arange(len(means)), own.means.argmax(axis=1)
        width = supports(whole, phi) - (
            (whole.center @ phi.T)[:, None, :] - (whole.center @ phi.T)[:, :, None]
        )
        lead = means[each, greedy][:, None]
        delta = np.maximum((means - lead + width[each, greedy]).max(axis=1), 0.0)[:, None]
        found.append(delta + lead - means)
    return np.concatenate(found, axis=1)

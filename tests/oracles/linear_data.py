"""Random linear games with observations, and what IDS learns from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from tests.oracles.bodies import Body, draw_body, point_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """What was played and seen, in the user's units."""

    game: pm.Game
    actions: NDArray[np.int64]
    observations: Array
    """Shape (t, m)."""

    def stacked(self) -> tuple[Array, Array]:
        """All whitened rows and observations: (rows, d) and (rows,)."""
        scale = 1.0 / np.broadcast_to(self.game.noise_std, (self.game.k,))
        if np.ndim(self.game.noise_std) == 0:
            scale = np.ones(self.game.k)
        rows, seen = [np.zeros((0, self.game.d))], [np.zeros(0)]
        for a, y in zip(self.actions, self.observations, strict=True):
            own = self.game.rows(int(a))
            rows.append(own * scale[a])
            seen.append(y[: len(own)] * scale[a])
        return np.concatenate(rows), np.concatenate(seen)

    def gram(self, regularization: float) -> Array:
        """V_t = lambda I + sum M' M."""
        rows, _ = self.stacked()
        return regularization * np.eye(self.game.d) + rows.T @ rows


def draw_game(rng: np.random.Generator, body: Body) -> pm.Game:
    """A game on a set, with maps of different heights, some seeing little, some with own noise."""
    d = len(body.inside)
    k = int(rng.integers(2, 6))
    maps = [np.round(rng.normal(size=(int(rng.integers(0, 3)), d)), 2) for _ in range(k)]
    if rng.random() < 0.4:
        maps = [rows * (np.arange(d) < (d + 1) // 2) for rows in maps]
    noise = rng.choice([0.5, 1.0, 2.0], size=k) if rng.random() < 0.4 else 0.7
    return pm.Game(rng.normal(size=(k, d)), maps, body.parameters, noise)


def draw_data(rng: np.random.Generator, game: pm.Game, theta: Array, rounds: int) -> Data:
    actions = rng.integers(0, game.k, rounds)
    means = (game.observation_maps @ theta)[actions]
    noise = np.broadcast_to(game.noise_std, (game.k,))[actions]
    return Data(game, actions, means + noise[:, None] * rng.normal(size=means.shape))


def learn(data: Data, policy: pm.IDS | None = None) -> ConfidenceSet:
    """Play everything and return E_t."""
    rule = policy or pm.IDS()
    state = rule.init(data.game, 1)
    for a, y in zip(data.actions, data.observations, strict=True):
        state = rule.update(state, np.array([a]), y[None])
    return rule.confidence_set(state)


def some_data(seed: int, kind: str, rounds: int = 15, most: int = 5) -> Data:
    rng = np.random.default_rng(seed)
    body = draw_body(rng, kind, int(rng.integers(2, most)))
    return draw_data(rng, draw_game(rng, body), point_of(rng, body), rounds)


def ridge(seed: int) -> float:
    return (0.3, 1.0, 4.0)[seed % 3]


KNOWN_GAMES: dict[str, Callable[[], pm.Game]] = {
    "pricing": pm.games.dynamic_pricing,
    "apples": pm.games.apple_tasting,
    "spam": pm.games.spam_filter,
    "bernoulli": pm.games.bernoulli_bandit,
    "bernoulli linear": pm.games.bernoulli_bandit_linear,
    "bandit": pm.games.linear_bandit,
    "heteroscedastic": pm.games.heteroscedastic_linear_bandit,
    "dueling": pm.games.graph_dueling,
    "combinatorial": pm.games.combinatorial_bandit,
    "feedback graph": pm.games.loopless_clique,
}


def half_log_det(shown: np.ndarray) -> np.ndarray:
    """1/2 log det(I + S), to all digits also for small S."""
    return np.asarray(0.5 * np.log1p(np.maximum(np.linalg.eigvalsh(shown), 0.0)).sum(axis=-1))

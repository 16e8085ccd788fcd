"""The anticipating index from its formulas, in plain NumPy and SciPy, one rival after the other.

Nothing is kept from one call to the next, every tie is found from scratch, and the probabilities
are read off the signals of the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import null_space, orth
from scipy.optimize import linprog
from scipy.stats import norm

import partial_monitoring as pm

Array = np.ndarray

MASS, DAMPING, WEIGHT, ROUNDS, RATE = 3.75, 3.0, 0.0075, 1500.0, 1.75
NEAR, REFINED, FEW = 0.05, 8, 20

KINDS = {
    "bernoulli": [(1.0, 0.0), (-1.0, 1.0)],
    "sign": [(0.5, 0.5), (-0.5, 0.5)],
}

MIXED = pm.Game(
    np.eye(4),
    [[[0.5, 0, 0.5, 0]], [[0, 1, 0, 0]], [[0.2, 0, 0.7, 0]], [[0, 0, 0, 1]]],
    pm.Box(np.zeros(4), np.ones(4)),
    0.5,
    noise="bernoulli",
)
"""Two arms of their own, and two that are seen through averages."""

GAMES: dict[str, Any] = {
    "apple tasting": pm.games.apple_tasting,
    "label efficient": pm.games.label_efficient,
    "pricing": lambda: pm.games.dynamic_pricing(range(1, 6)),
    "many prices": lambda: pm.games.dynamic_pricing(range(1, 31)),
    "bandit": lambda: pm.games.bernoulli_bandit_linear(3),
    "sign duels": lambda: pm.games.dueling(np.eye(3), feedback="sign"),
    "segments": pm.games.segment_pricing,
    "survey": pm.games.survey,
    "mixed": lambda: MIXED,
}
"""Games of every kind that shows signals."""


def signals_of(game: Any, action: int) -> tuple[Array, Array]:
    """Return vectors (m, d) and constants (m,): the probabilities of the signals are v theta + c.

    An action that always shows the same has no signals.
    """
    if game.traits.finite:
        symbols = list(dict.fromkeys(game.signals[action]))
        rows = [[float(shown == symbol) for shown in game.signals[action]] for symbol in symbols]
        if len(symbols) == 1:
            rows = []
        return np.array(rows).reshape(-1, game.d), np.zeros(len(rows))
    kinds = KINDS[game.noise]
    rows = [factor * row for row in game.rows(action) for factor, _ in kinds]
    return np.array(rows).reshape(-1, game.d), np.array(
        [c for _ in game.rows(action) for _, c in kinds]
    )


def trials_of(game: Any, action: int) -> int:
    """Return how many independent observations a play of the action makes."""
    return 1 if game.traits.finite else game.row_count(action)


@dataclass
class Tie:
    """How sure it is that b is behind g."""

    sure: float
    """R."""
    scale: float
    """s."""
    away: Array
    """v, shape (r,)."""
    point: Array | None = None
    multiplier: float = 0.0


class Oracle:
    """A game with signals: ``games`` are its contexts, actions are numbered through them."""

    def __init__(self, game: Any) -> None:
        self.games = list(game.games) if game.traits.contexts else [game]
        self.chances = np.array(game.context_distribution) if game.traits.contexts else np.ones(1)
        self.actions = [(z, a) for z, own in enumerate(self.games) for a in range(own.k)]
        parts = [signals_of(self.games[z], a) for z, a in self.actions]
        self.center = self.games[0].parameters.relative_interior_point()
        vectors = np.concatenate([rows for rows, _ in parts])
        q = self.games[0].parameters.difference_basis()
        seen = vectors @ q
        seen[np.abs(seen) < 1e-12] = 0.0
        self.basis = q @ orth(seen.T) if seen.any() else np.zeros((len(q), 0))
        self.r = self.basis.shape[1]
        self.rows = vectors @ self.basis
        self.base = vectors @ self.center + np.concatenate([c for _, c in parts])
        self.owner = np.repeat(np.arange(len(parts)), [len(rows) for rows, _ in parts])
        free = sum(
            len(rows) - trials_of(self.games[z], a)
            for (z, a), (rows, _) in zip(self.actions, parts, strict=True)
            if len(rows)
        )
        self.prior = MASS * self.r / max(free, 1) * self.base
        self.features = np.concatenate([own.features for own in self.games])
        self.slopes, self.offsets = self.features @ self.basis, self.features @ self.center

    # -- the likelihood ------------------------------------------------------------------------

    def likelihood(self, counts: Array, x: Array) -> float:
        p = self.base + self.rows @ x
        return float(counts @ np.log(p)) if (p > 0).all() else -np.inf

    def climb(self, counts: Array, x: Array, along: Array) -> Array:
        """Return the maximum of l on x + span(along): Newton with halved steps."""
        for _ in range(3000):
            p = self.base + self.rows @ x
            gradient = along.T @ (self.rows.T @ (counts / p))
            hessian = along.T @ (self.rows.T * (counts / p**2)) @ self.rows @ along
            step = along @ np.linalg.lstsq(hessian, gradient, rcond=None)[0]
            size = float(counts @ ((self.rows @ step) / p) ** 2)
            if size < 1e-22:
                break
            share, here = 1.0, self.likelihood(counts, x)
            while size > 1e-3 and (
                self.likelihood(counts, x + share * step) < here + 0.1 * share * size
            ):
                share /= 2
            x = x + share * step
        return x

    def estimate(self, counts: Array) -> Array:
        return self.climb(counts, np.zeros(self.r), np.eye(self.r))

    def hessian(self, counts: Array, x: Array) -> Array:
        p = self.base + self.rows @ x
        return (self.rows.T * (counts / p**2)) @ self.rows

    def on_plane(self, u: Array, level: float) -> Array:
        """Return the point of <u, x> = level whose smallest relative probability is largest."""
        found = linprog(
            np.append(np.zeros(self.r), -1.0),
            A_ub=np.column_stack([-self.rows, self.base]),
            b_ub=self.base,
            A_eq=np.append(u, 0.0)[None],
            b_eq=[level],
            bounds=[(None, None)] * self.r + [(None, 1.0)],
        )
        assert found.status == 0
        assert found.x[-1] > 0, "they tie nowhere"
        return np.asarray(found.x[:-1])

    def tie(self, counts: Array, x: Array, g: int, b: int, *, refined: bool = True) -> Tie | None:
        """Compare the best action g with a rival b; None if nothing is seen of their difference."""
        u = self.slopes[b] - self.slopes[g]
        if np.abs(u).max(initial=0.0) <= 1e-12 * np.abs(self.features).max():
            return None
        behind = (self.offsets[g] + self.slopes[g] @ x) - (self.offsets[b] + self.slopes[b] @ x)
        away = np.linalg.solve(self.hessian(counts, x), u)
        deviation = float(np.sqrt(u @ away))
        if not refined or behind <= NEAR * deviation:
            return Tie(behind / deviation, deviation, away)
        level = self.offsets[g] - self.offsets[b]
        point = self.climb(counts, self.on_plane(u, level), null_space(u[None]))
        lost = self.likelihood(counts, x) - self.likelihood(counts, point)
        sure = float(np.sqrt(2 * lost))
        gradient = self.rows.T @ (counts / (self.base + self.rows @ point))
        multiplier = float(gradient @ u / (u @ u))
        return Tie(sure, sure / abs(multiplier), point - x, point, multiplier)

    # -- the rule ------------------------------------------------------------------------------

    def pareto(self) -> list[list[int]]:
        """Return the Pareto actions of each context, numbered through all contexts."""
        found, start = [], 0
        for own in self.games:
            found.append([start + a for a in pm.analyze(own).representatives])
            start += own.k
        return found

    def worth(self, counts: Array, chances: Array, rivals: list[list[int]]) -> tuple[Array, float]:
        """Return what a play of each action saves per round, shape (K,), and the doubt."""
        x = self.estimate(counts)
        p, means = self.base + self.rows @ x, self.offsets + self.slopes @ x
        hessian, total, doubt = self.hessian(counts, x), np.zeros(len(self.actions)), 0.0
        for chance, group in zip(chances, rivals, strict=True):
            g = self.greedy(means, group)
            others = [b for b in group if b != g]
            rough = {b: self.tie(counts, x, g, b, refined=False) for b in others}
            others = [b for b in others if rough[b] is not None]
            chosen = sorted(others, key=lambda b: -weight(rough[b]))
            if len(others) > FEW or self.r > FEW:
                chosen = chosen[:REFINED]
            for b in others:
                tie = self.tie(counts, x, g, b, refined=b in chosen)
                assert tie is not None
                beyond = norm.pdf(tie.sure) - tie.sure * norm.sf(tie.sure)
                doubt += chance * tie.scale * beyond
                for a in range(len(self.actions)):
                    own = self.owner == a
                    shown = ((self.rows[own] @ tie.away) ** 2 / p[own]).sum()
                    rho = shown / (tie.away @ hessian @ tie.away)
                    total[a] += chance * weight(tie) * rho
        return total, doubt

    def greedy(self, means: Array, group: list[int]) -> int:
        """Return the action of a group with the largest mean, the first one up to rounding."""
        top = max(means[b] for b in group)
        return next(b for b in group if means[b] >= top - 1e-12 * np.abs(self.features).max())

    def index(
        self, counts: Array, t: int, seen: Array | None = None, rivals: Any = None
    ) -> list[Array]:
        """Return the index of the actions of each context in round t."""
        groups = self.pareto() if rivals is None else rivals
        contexts = len(self.games)
        came = np.array([t - 1]) if seen is None else np.asarray(seen)
        chances = (came + contexts * self.chances) / (t - 1 + contexts)
        worth, doubt = self.worth(counts, chances, groups)
        means = self.offsets + self.slopes @ self.estimate(counts)
        found, start = [], 0
        for own, group in zip(self.games, groups, strict=True):
            mine = slice(start, start + own.k)
            costs = np.maximum(max(means[b] for b in group) - means[mine], 0.0)
            costs[costs <= 1e-12 * np.abs(self.features).max()] = 0.0
            saved = WEIGHT * (t + ROUNDS) ** RATE * worth[mine]
            index = saved / np.where(costs + doubt > 0, costs + doubt, np.inf)
            index[(costs > 0) & (saved < costs)] = -np.inf
            found.append(index)
            start += own.k
        return found

    def counted(self, events: list[tuple[int, int, Any]]) -> Array:
        """Return the counts after events (context, action, encoded observation), with the prior."""
        counts = self.prior.copy()
        for z, a, shown in events:
            own = self.owner == self.actions.index((z, a))
            game = self.games[z]
            if game.traits.finite:
                values = np.asarray(shown)[: own.sum()]
            else:
                entries = np.repeat(shown[: game.row_count(a)], 2)
                kinds = KINDS[game.noise] * game.row_count(a)
                values = np.array(
                    [f * y + c for y, (f, c) in zip(entries, kinds, strict=True)], dtype=float
                )
            counts[own] += values
        return counts


def weight(tie: Tie | None) -> float:
    """Return s phi(R) (1 + R^2 / damping)^(-damping)."""
    assert tie is not None
    normal = np.exp(-(tie.sure**2) / 2) / np.sqrt(2 * np.pi)
    return float(tie.scale * normal * (1 + tie.sure**2 / DAMPING) ** -DAMPING)

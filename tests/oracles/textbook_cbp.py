"""CBP and RandCBP for one run, as one would write them down: loops, dictionaries, a plain LP."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

import partial_monitoring as pm
from partial_monitoring.policies.finite.geometry import Geometry

Array = NDArray[np.float64]


def feasible(losses: Array, ahead: list[Array], tied: list[Array]) -> bool:
    """Whether some distribution has <c, theta> > 0 for all c in ahead and = 0 for all in tied."""
    d = losses.shape[1]
    rows = [np.append(-c / np.abs(c).max(), 1.0) for c in ahead]
    ties = [np.append(c / np.abs(c).max(), 0.0) for c in tied]
    answer = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.array(rows) if rows else None,
        b_ub=np.zeros(len(rows)) if rows else None,
        A_eq=np.array([np.append(np.ones(d), 0.0), *ties]),
        b_eq=np.append(1.0, np.zeros(len(ties))),
        bounds=[(0, 1)] * d + [(-1, 1)],
    )
    return answer.status == 0 and -answer.fun > 1e-7


def left(shape: Geometry, signs: dict[int, int]) -> tuple[list[int], list[int]]:
    """Return P(t) and E(t)."""
    losses = -shape.game.features
    held = [s * (losses[shape.pairs[e][0]] - losses[shape.pairs[e][1]]) for e, s in signs.items()]
    actions = []
    for a in shape.actions:
        wins = [losses[c] - losses[a] for c in shape.actions if c != a]
        if feasible(losses, wins + held, []):
            actions.append(a)
    pairs = []
    for e, (a, b) in enumerate(shape.pairs):
        wins = [losses[c] - losses[a] for c in shape.actions if c not in (a, b)]
        if e not in signs and feasible(losses, wins + held, [losses[a] - losses[b]]):
            pairs.append(e)
    return actions, pairs


class Textbook:
    """The next action from the plays and the counts of symbols of one run."""

    def __init__(self, policy: pm.CBP, shape: Geometry) -> None:
        self.policy, self.shape = policy, shape
        k, m = shape.vectors.shape[1:]
        self.plays, self.counts = np.zeros(k, dtype=int), np.zeros((k, m))
        self.found: dict[frozenset[tuple[int, int]], tuple[list[int], list[int]]] = {}
        self.certain = self.left({})

    def left(self, signs: dict[int, int]) -> tuple[list[int], list[int]]:
        """Return P(t) and E(t), solved once for the same decisions."""
        key = frozenset(signs.items())
        if key not in self.found:
            self.found[key] = left(self.shape, signs)
        return self.found[key]

    def decisions(self, factors: list[float]) -> dict[int, int]:
        """Return the signs of the pairs that are decided."""
        signs = {}
        for e, z in enumerate(factors):
            observers = [c for c in range(len(self.plays)) if self.shape.vectors[e, c].any()]
            if any(self.plays[c] == 0 for c in observers):
                continue
            v = self.shape.vectors[e]
            difference = sum(float(v[c] @ self.counts[c]) / self.plays[c] for c in observers)
            width = z * sum(float(np.abs(v[c]).max()) / sqrt(self.plays[c]) for c in observers)
            if abs(difference) >= width and abs(difference) > 1e-12:
                signs[e] = 1 if difference > 0 else -1
        return signs

    def factors(self, uniforms: Array) -> list[float]:
        """Draw Z for every pair by running through the table of probabilities."""
        policy = self.policy
        bound = sqrt(policy.alpha * log(self.round))
        pairs = len(self.shape.pairs)
        if not isinstance(policy, pm.RandCBP):
            return [bound] * pairs
        levels = np.linspace(0, bound, policy.levels)
        weights = [exp(-(z**2) / (2 * policy.spread**2)) for z in levels[:-1]]
        shares = [w / sum(weights) * (1 - policy.top) for w in weights]
        numbers = [float(uniforms[0])] * pairs if policy.coupled else uniforms.tolist()
        return [float(levels[int((np.cumsum(shares) <= u).sum())]) for u in numbers]

    @property
    def round(self) -> int:
        return 1 + int(self.plays.sum())

    def action(self, uniforms: Array) -> int:
        shape, t = self.shape, self.round
        bound = sqrt(self.policy.alpha * log(t))
        found = self.left(self.decisions([bound] * len(shape.pairs)))
        if found[0]:
            self.certain = found
        actions, pairs = self.left(self.decisions(self.factors(uniforms)))
        if not actions:
            actions, pairs = self.certain
        k = len(self.plays)
        weight = [float(np.abs(shape.vectors[:, c]).max(initial=0.0)) for c in range(k)]
        for c in range(k):
            if self.plays[c] == 0 and (c in shape.actions or weight[c] > 0):
                return c
        rate = self.policy.alpha ** (1 / 3) * t ** (2 / 3) * log(t) ** (1 / 3)
        near = {c for e in pairs for c in np.flatnonzero(shape.neighborhoods[e])}
        seen = {c for e in pairs for c in range(k) if shape.vectors[e, c].any()}
        rare = {c for c in range(k) if self.plays[c] <= weight[c] ** (2 / 3) * rate}
        allowed = sorted({*actions, *near, *(seen & rare)})
        index = [weight[c] ** 2 / max(self.plays[c], 1) for c in allowed]
        return int(allowed[int(np.argmax(np.array(index) >= max(index) * (1 - 1e-8)))])

    def tell(self, action: int, observation: Array) -> None:
        self.plays[action] += 1
        self.counts[action] += observation

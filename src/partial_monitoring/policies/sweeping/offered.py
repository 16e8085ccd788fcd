"""Observers, best and second best actions of a game whose actions an oracle finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.oracle import OracleGame
from partial_monitoring.policies.sweeping.observers import (
    ALIKE,
    Frame,
    Plan,
    greedy_observers,
    plan,
)
from partial_monitoring.validation import Array, Indices, brief, real_array

SMALL = 1e-7
"""Differences below this fraction of the largest entry are rounding."""


@dataclass(frozen=True, eq=False)
class OfferedActions:
    """The actions of a game that may be played because they look best."""

    game: OracleGame
    frame: Frame

    listed = None

    @property
    def loops(self) -> Any:
        raise NotImplementedError

    @property
    def log_count(self) -> float:
        """Log k, or an upper bound."""
        return self.game.log_count

    def spread(self, plan: Plan) -> float:
        """Return an upper bound of the noise of one sweep in the difference of two actions.

        The largest length of a difference cannot be asked of an oracle; the range of each of its
        entries can, two calls each.
        """
        rows = (plan.matrix * plan.noise).T  # (R, d)
        ends = [self.game.best_action(sign * row) @ row for row in rows for sign in (1.0, -1.0)]
        return float(np.linalg.norm(np.diff(np.reshape(ends, (-1, 2)))))

    def choose(self, state: Any, ended: NDArray[np.bool_], *, second: bool) -> None:
        """Fill the best actions, and gaps if asked for, of replicates that completed a sweep."""
        for i in np.flatnonzero(ended):
            theta = state.theta[i].copy()
            best = self.game.best_action(theta)
            state.best[i] = self.game.number(best)
            if second:
                state.gap[i] = self.gap(theta, best)

    def gap(self, theta: Array, best: Array) -> float:
        """Return by how much the best action is ahead of the second best for theta (d,).

        If nobody finds the second best action: of sets of items it leaves out an item of the best
        set, or has one more. So each item of the best set is made worthless in turn, and each other
        item precious unless no set contains another; the best of these answers is the second best
        set (Lawler 1972; Lin et al. do so for matchings).
        """
        game = self.game
        if game.second is not None:
            answer = game.second(theta.copy())
            return float((best - real_array("what second returns", answer, (game.d,))) @ theta)
        gaps = [float((best - rival) @ theta) for rival in self._rivals(theta, best)]
        return max(min(gaps, default=0.0), 0.0)

    def _rivals(self, theta: Array, best: Array) -> Iterator[Array]:
        """Yield actions that are no duplicates of the best one, the second best among them."""
        game, inside = self.game, best > 0
        if not np.isin(best, (0.0, 1.0)).all():
            raise InvalidInput(
                f"second must be given for actions that are not sets of items; got "
                f"{brief(best.tolist())} as the best action."
            )
        large = 1.0 + 2.0 * float(np.abs(theta).sum())
        contained = getattr(game.oracle, "antichain", False)
        for item in np.flatnonzero(inside) if contained else range(game.d):
            changed = theta.copy()
            changed[item] += -large if inside[item] else large
            rival = game.best_action(changed)
            turned = (rival[item] > 0) != inside[item]
            if turned and np.abs((rival - best) @ self.frame.basis).max(initial=0.0) > ALIKE:
                yield rival

    def best_of(self, theta: Array, available: NDArray[np.bool_]) -> Indices:
        raise InvalidInput("available cannot be given to an oracle.")


def plan_offered(game: OracleGame, policy: str) -> tuple[Plan, OfferedActions]:
    """Return observers among the actions that a game offers, or refuse it if they do not suffice.

    Differences of actions are spanned by those of at most D + 1 of them, which the oracle finds.
    """
    frame = Frame.of(game.parameters)
    actions = OfferedActions(game, frame)
    spanning = _spanning_actions(game, frame)
    best = game.best_for(frame.center)
    pool = game.offered
    if game.given is None and game.shows != "semi-bandit":
        pool = np.unique(np.concatenate([pool, spanning]), axis=0)
    maps = [game.rows_of(phi) for phi in pool]
    units = np.zeros((len(pool), max(map(len, maps)), frame.basis.shape[1]))
    for place, rows in enumerate(maps):
        units[place, : len(rows)] = frame.unit(rows)
    chosen, seen = greedy_observers(units, frame.differences(spanning))
    if not seen:
        raise InvalidInput(
            f"{policy} needs observers that show the difference of any two actions together; those "
            f"of {brief(game)} do not."
        )
    numbers = np.array([game.number(pool[a]) for a in chosen], dtype=np.int64)
    noise = np.full(len(chosen), game.noise_std)
    return plan(frame, numbers, [maps[a] for a in chosen], noise, best), actions


def _spanning_actions(game: OracleGame, frame: Frame) -> Array:
    """Return actions (c, d) whose differences span those of all actions, on Theta.

    Along a direction that is orthogonal to all differences so far, the oracle knows the largest and
    the smallest reward: either one of them is a new difference, or there is none along it.
    """
    first = game.best_action(frame.center)
    found, size = [first], float(np.abs(first).max()) or 1.0
    count = frame.basis.shape[1]
    done = np.zeros((count, 0))  # orthonormal: differences, and directions without any
    for axis in np.eye(count):
        while done.shape[1] < count:
            turn = _beyond(axis, done)
            length = float(np.linalg.norm(turn))
            if length <= SMALL:
                break
            turn = new = turn / length
            for sign in (1.0, -1.0):
                phi = game.best_action(sign * (frame.basis @ turn))
                step = (phi - first) @ frame.basis
                if abs(float(step @ turn)) > SMALL * size:
                    found.append(phi)
                    new = _beyond(step, done)
                    new = new / np.linalg.norm(new)
                    break
            done = np.column_stack([done, new])
    return np.array(found)


def _beyond(vector: Array, basis: Array) -> Array:
    """Return what a vector (D,) has beyond an orthonormal basis (D, q); twice, against rounding."""
    rest = vector - basis @ (basis.T @ vector)
    return np.asarray(rest - basis @ (basis.T @ rest))

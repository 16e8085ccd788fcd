"""A global observer set: a few actions that together show which action is best.

Actions x_1 ... x_s with maps M_sigma, one below the other, observe a game globally if the
difference of the features of any two actions is in the span of their rows, on the directions Q of
Theta. They are found greedily: the action whose rows add most to the rank comes next, the lowest of
ties, until all differences are seen. What counts as a new direction is decided on rows of length
one with an absolute tolerance: a row that shows nothing of Theta is zero only up to rounding, and
would count with a tolerance that is relative to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.classify import analyze
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import RANK_TOLERANCE, equal_rows, row_space, singular
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, Indices, brief

MOST_PAIRED = 300
"""Largest number of actions of which all pairs are compared."""

SEEN = 1e-8
"""Differences of features are seen if less than this fraction of the largest is left over."""

ALIKE = 1e-9
"""Features closer than this fraction of the largest are those of duplicates."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates of the affine hull of Theta: theta = center + basis x."""

    center: Array
    """Shape (d,)."""
    basis: Array
    """Q, shape (d, D)."""

    @classmethod
    def of(cls, parameters: ParameterSet) -> Frame:
        """Return those of a parameter set."""
        center, basis = parameters.relative_interior_point(), parameters.difference_basis()
        return cls(np.array(center, dtype=float), np.array(basis, dtype=float))

    def unit(self, maps: Array) -> Array:
        """Return rows (..., d), scaled to length one, in these coordinates, (..., D)."""
        lengths = np.linalg.norm(maps, axis=-1, keepdims=True)
        return np.asarray((maps / np.where(lengths > 0, lengths, 1.0)) @ self.basis)

    def differences(self, features: Array) -> Array:
        """Return vectors, shape (D, q), that are as large as the differences of features (c, d).

        In units of the largest one: a map sees all differences as well as it sees these.
        """
        away = features - features[0]
        size = float(np.abs(away).max(initial=0.0)) or 1.0
        values, right = singular((away / size) @ self.basis)
        return np.asarray((right * values[:, None] / np.sqrt(len(away))).T)


def greedy_observers(units: Array, wanted: Array) -> tuple[list[int], bool]:
    """Return places of observers among maps (q, m, D), rows of length one, and if all is seen.

    ``wanted`` (D, c) are vectors in the span of which everything must be seen, up to ``SEEN``.
    """
    left, places, hidden = units.copy(), np.arange(len(units)), wanted.copy()
    chosen: list[int] = []
    while hidden.size and np.linalg.norm(hidden, axis=0).max() > SEEN:
        rows = (np.linalg.norm(left, axis=2) > RANK_TOLERANCE).sum(axis=1)
        left, places, rows = left[rows > 0], places[rows > 0], rows[rows > 0]
        if len(places) == 0:
            return chosen, False
        best, basis = 0, np.zeros((units.shape[2], 0))
        for a in np.argsort(-rows, kind="stable"):
            if rows[a] <= basis.shape[1]:
                break
            found = row_space(left[a])
            if found.shape[1] > basis.shape[1]:
                best, basis = int(a), found
        chosen.append(int(places[best]))
        left -= (left @ basis) @ basis.T
        hidden -= basis @ (basis.T @ hidden)
    return chosen, True


@dataclass(frozen=True, eq=False)
class Plan:
    """Which actions are swept, how theta is estimated, and among which actions the best is."""

    observers: Indices
    """Numbers of actions, shape (s,); none if the best action is known from the start."""
    starts: Indices
    """Where the rows of each observer begin, then R, shape (s + 1,)."""
    matrix: Array
    """From what is observed beyond the center to theta, shape (d, R)."""
    frame: Frame
    expected: Array
    """What the observers show at the center, shape (R,)."""
    noise: Array
    """The noise of these rows, shape (R,)."""
    best: int
    """What is played if nothing was observed."""

    @property
    def sweep(self) -> Any:
        """The plan for compiled loops."""
        from partial_monitoring.numerics.compiled.sweeps import Sweep

        return Sweep(self.observers, self.starts, self.matrix, self.frame.center, self.expected)

    def deviations(self, features: Array) -> Array:
        """Return the noise of one sweep along features (c, d), as vectors of length R, (c, R)."""
        return np.asarray((features @ self.matrix) * self.noise)


def plan(frame: Frame, numbers: Indices, maps: list[Array], noise: Array, best: int) -> Plan:
    """Return the plan that sweeps actions with given numbers, maps (m_a, d) and noise (s,)."""
    counts = [len(rows) for rows in maps]
    rows = np.concatenate([np.zeros((0, len(frame.center))), *maps])
    seen = row_space(frame.unit(rows))  # (D, r)
    inner = frame.basis @ seen  # (d, r)
    matrix = inner @ np.linalg.pinv(rows @ inner, rcond=1e-15) if seen.size else rows.T * 0.0
    return Plan(
        np.asarray(numbers, dtype=np.int64),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.ascontiguousarray(matrix),
        frame,
        rows @ frame.center,
        np.repeat(noise, counts),
        best,
    )


@dataclass(frozen=True, eq=False)
class ListedActions:
    """The actions of a game that may be played because they look best."""

    game: Game
    frame: Frame
    numbers: Indices
    """Shape (c,)."""

    @cached_property
    def features(self) -> Array:
        """Shape (c, d)."""
        return np.array(self.game.features[self.numbers])

    @cached_property
    def loops(self) -> Any:
        """These actions for compiled loops."""
        from partial_monitoring.numerics.compiled.sweeps import Actions

        rewards = np.column_stack(
            [self.features @ self.frame.center, self.features @ self.frame.basis]
        )
        size = float(np.abs(self.features).max()) or 1.0
        copies = equal_rows(np.round(rewards / (size * ALIKE)))
        return Actions(np.array(self.numbers), self.features, copies)

    @property
    def listed(self) -> int | None:
        """k, the number of actions."""
        return self.game.k

    @property
    def log_count(self) -> float:
        """Log k."""
        return float(np.log(self.game.k))

    def spread(self, plan: Plan) -> float:
        """Return the largest noise of one sweep in the difference of two actions.

        Of many actions an upper bound, at most twice as large.
        """
        own = plan.deviations(self.features)
        if len(own) <= MOST_PAIRED:
            return float(np.linalg.norm(own[:, None] - own[None], axis=2).max())
        return 2.0 * float(np.linalg.norm(own - own.mean(axis=0), axis=1).max())

    def choose(self, state: Any, ended: NDArray[np.bool_], *, second: bool) -> None:
        """Fill the best actions, and gaps, of replicates that completed a sweep."""
        from partial_monitoring.numerics.compiled.sweeps import choose_each

        choose_each(self.loops, state, ended)

    def best_of(self, theta: Array, available: NDArray[np.bool_]) -> Indices:
        """Return the best of the actions that are available (k,) for parameters (n, d), (n,)."""
        values = (theta[:, None, :] * self.game.features).sum(axis=2)
        return np.asarray(np.where(available, values, -np.inf).argmax(axis=1))


def plan_listed(game: Any, policy: str) -> tuple[Plan, ListedActions]:
    """Return observers of a game with listed actions, and the actions that may be best.

    These are all actions, as the authors of PEGE and GCB have it; if the differences of some cannot
    be observed, only those that are best for some parameter, which an analysis finds.
    """
    linear: Game = game.linear
    frame = Frame.of(linear.parameters)
    everything = np.arange(linear.k)
    dominant = _always_best(linear)
    if dominant >= 0:
        nothing = plan(frame, everything[:0], [], np.zeros(0), dominant)
        return nothing, ListedActions(linear, frame, np.array([dominant]))
    units = frame.unit(linear.observation_maps)
    numbers = everything
    chosen, seen = greedy_observers(units, frame.differences(linear.features))
    if not seen:
        numbers = np.array(analyze(game).pareto)
        chosen, seen = greedy_observers(units, frame.differences(linear.features[numbers]))
    if not seen:
        raise InvalidInput(
            f"{policy} plays games that can be learned; some actions of {brief(game)} cannot be "
            f"told apart by any feedback."
        )
    noise = np.broadcast_to(linear.noise_std, (linear.k,))[chosen]
    maps = [linear.rows(a) for a in chosen]
    first = numbers[int((linear.features[numbers] @ frame.center).argmax())]
    return plan(frame, np.array(chosen), maps, noise, int(first)), ListedActions(
        linear, frame, numbers
    )


def _always_best(game: Game) -> int:
    """Return the lowest action that is best whatever the parameter; -1 if there is none."""
    features, parameters = game.features, game.parameters
    best = int((features @ parameters.relative_interior_point()).argmax())
    rivals = features - features[best]
    rivals = rivals[rivals.any(axis=1)]
    zero = 1e-12 * parameters.magnitude * np.abs(rivals).max(initial=0.0)
    if len(rivals) and parameters.support(rivals).max() > zero:
        return -1
    return best

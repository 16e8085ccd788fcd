"""NeighborhoodWatch and NeighborhoodWatch2: learners that compare an action with its neighbours.

Foster and Rakhlin, "No internal regret via neighborhood watch" (AISTATS 2012); Lattimore and
Szepesvari, "Cleaning up the neighborhood: a full classification for adversarial partial monitoring"
(ALT 2019) and "Bandit algorithms" (2020), chapter 37. For neighbours a, b in A (see ``geometry``)
there are vectors v^ab of the actions in N_ab with sum_c S_c' v_c^ab = l_a - l_b. In every round

    Q_ja ~ exp(-eta C_ja)               for j in A and its neighbours a, with C_jj = 0,
    p~ = p~ Q                           the stationary distribution,
    p = (1 - gamma) R(p~) + gamma / k   is played, a ~ p, which shows s,
    C_jb += p~_j v^bj(a, s) / p_a       for all j and its neighbours b,

where k actions are in A or between neighbours, and R moves a little probability from a and b to the
actions e between them, l_e = w l_a + (1 - w) l_b: x = min(p~_a / w, p~_b / (1 - w)) / (2 k) to e, w
x from a and (1 - w) x from b. That is NeighborhoodWatch2. NeighborhoodWatch plays actions of A only
and explores inside the learners, Q_ja = (1 - gamma) (softmax) + gamma / |N_j|, so that p = p~.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.analysis.cells import Pair
from partial_monitoring.analysis.observability import span_of
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.finite.estimation import unbiased_vectors
from partial_monitoring.policies.finite.geometry import learnable, unit_of
from partial_monitoring.policies.needs import Needs, refuse, refuse_available
from partial_monitoring.policies.policy import Choices
from partial_monitoring.policies.program import Loops
from partial_monitoring.validation import (
    Array,
    Indices,
    boolean,
    brief,
    real_number,
    whole_number,
)


@dataclass(frozen=True, eq=False)
class WatchState:
    """What the learners know after some rounds."""

    shape: Any
    """What does not change, for the compiled rounds."""
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    sums: Array
    """C, the sums of estimated differences, shape (n, N, N) with N actions in A."""


class Watch(ABC):
    """What both algorithms share; see the module."""

    needs: ClassVar[Needs] = Needs(finite=True, contexts=False, hardest="easy")

    horizon: int | None
    allow_outside: bool

    def _check(self) -> None:
        if self.horizon is not None:
            whole_number("horizon", self.horizon, at_least=1)
        boolean("allow_outside", self.allow_outside)

    @abstractmethod
    def _near(self, game: FiniteGame, analysis: Analysis, pair: Pair) -> tuple[int, ...]:
        """Return the actions that observe a pair of neighbours."""

    @abstractmethod
    def _rates(self, actions: int, playable: int, degree: int, size: float) -> dict[str, Any]:
        """Return the constants of ``watch.Shape`` after the game itself.

        N actions in A, k actions that can be played, learners with at most that many actions, and
        V, the largest entry of the estimation vectors.
        """

    def init(self, game: FiniteGame, replicates: int) -> WatchState:
        refuse(self, game)
        shape = self._shape(game, learnable(game, type(self).__name__))
        own = len(shape.actions)
        rounds = np.ones(replicates, dtype=np.int64)
        return WatchState(shape, rounds, np.zeros((replicates, own, own)))

    def decide(self, state: WatchState, uniforms: Array, available: Array | None = None) -> Choices:
        from partial_monitoring.numerics.compiled.watch import decide_each

        refuse_available(self, available)
        room, action = _room(state), np.empty(len(state.round), dtype=np.int64)
        decide_each(state.shape, state.round, state.sums, uniforms, room, action)
        return Choices(action, room.chances)

    def update(self, state: WatchState, action: Indices, observation: Array) -> WatchState:
        from partial_monitoring.numerics.compiled.watch import learn_each

        sums = state.sums.copy()
        learn_each(state.shape, state.round, sums, action, observation, _room(state))
        return replace(state, round=state.round + 1, sums=sums)

    def program(self, state: WatchState) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled.watch import play

        return Loops(play, (state.shape, state.sums.copy(), _room(state)))

    def _shape(self, game: FiniteGame, analysis: Analysis) -> Any:
        from partial_monitoring.numerics.compiled.watch import Shape

        own, pairs = analysis.representatives, analysis.neighboring_cells
        place, losses = {a: j for j, a in enumerate(own)}, -game.rewards / unit_of(game)
        vectors, near = np.zeros((len(pairs), game.k, game.m)), np.zeros((len(pairs), game.k), bool)
        linked, playable = np.eye(len(own), dtype=bool), np.zeros(game.k, dtype=bool)
        playable[own] = True
        between: dict[int, tuple[Pair, float]] = {}
        for e, (a, b) in enumerate(pairs):
            apart = losses[a] - losses[b]
            around = self._near(game, analysis, (a, b))
            near[e, list(around)] = True
            linked[place[a], place[b]] = linked[place[b], place[a]] = True
            seen = span_of(analysis.game, analysis.exact, around).certify(a, b).seen
            vectors[e] = (unbiased_vectors if seen else _fitted)(game, apart, around)
            for c in set(around) - {a, b}:  # a copy of a with every b, which takes no part
                weight = _weight(losses[c], losses[a], losses[b])
                between[c] = ((a, b), weight) if weight > 0 else ((b, a), 1.0)
        playable[list(between)] = True
        ends = [[place[a], place[b]] for (a, b), _ in between.values()]
        degree = int(linked.sum(axis=1).max())
        size = float(np.abs(vectors).max(initial=0.0)) or 1.0
        return Shape(
            vectors=vectors,
            pairs=np.array([[place[a], place[b]] for a, b in pairs], np.int64).reshape(-1, 2),
            actions=np.array(own, np.int64),
            linked=linked,
            between=np.array(list(between), np.int64),
            ends=np.array(ends, np.int64).reshape(-1, 2),
            weights=np.array([weight for _, weight in between.values()]),
            near=near,
            explored=playable / playable.sum(),
            horizon=self.horizon or 0,
            **self._rates(len(own), int(playable.sum()), degree, size),
        )


@dataclass(frozen=True)
class NeighborhoodWatch(Watch):
    """Local learners around each action, for easy games in which neighbours suffice.

    Parameters
    ----------
    horizon
        The number n of rounds that eta and gamma are tuned to; without it they follow the rounds,
        with t in place of n.
    allow_outside
        Play also games in which some neighbours are not distinguished by the two alone, with
        estimates that are then biased: regret may grow linearly.

    Notes
    -----
    With N actions in A, learners of at most D actions and estimation vectors up to V,
    eta = (N log D / (2 V^2 (1 + D) n))^(1/2) and gamma = min(1/2, 2 eta V D): the expected regret
    is at most of order V (N D n log D)^(1/2). Foster and Rakhlin draw a learner kappa ~ p and then
    the action from its distribution, and estimate with 1{kappa = j, a = b} / Q_jb; here it is the
    expectation of that given the action, p_j / p_b, with the same mean and less variance. All
    learners are updated in every round, not only kappa with what was collected since its last turn.
    Duplicates of an action other than the first are never played.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.apple_tasting()
    >>> result = pm.simulate(game, "neighborhood_watch", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["neighborhood_watch"] < 160).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="adversarial",
        games="finite, locally observable by the two neighbours alone",
        guarantee="O(n^(1/2)) in expectation",
        cost="O(N^3) operations for N actions that can be best",
        reference="Foster and Rakhlin (2012)",
    )

    horizon: int | None = None
    allow_outside: bool = False

    def __post_init__(self) -> None:
        self._check()

    def _near(self, game: FiniteGame, analysis: Analysis, pair: Pair) -> tuple[int, ...]:
        seen = span_of(analysis.game, analysis.exact, pair).certify(*pair).seen
        if not (seen or self.allow_outside):
            a, b = (brief(game.actions[c]) for c in pair)
            raise InvalidInput(
                f"NeighborhoodWatch plays games in which neighbours show their own difference, and "
                f"actions {a} and {b} need a third one; use NeighborhoodWatch2, or pass "
                f"allow_outside=True to play anyway."
            )
        return pair

    def _rates(self, actions: int, playable: int, degree: int, size: float) -> dict[str, Any]:
        return {
            "eta": sqrt(actions / (2.0 * (1.0 + degree))) / size,
            "constant": log(degree),
            "growth": 0.0,
            "gamma": 2.0 * size * degree,
            "inside": True,
            "bias": 0.0,
        }


@dataclass(frozen=True)
class NeighborhoodWatch2(Watch):
    """Local learners around each action, for all easy finite games against any opponent.

    Parameters
    ----------
    horizon
        The number n of rounds that eta and gamma are tuned to; without it they follow the rounds,
        with t in place of n.
    bias
        Subtract eta V^2 p~_j^2 sum_b 1 / p_b over b in N_aj from the estimates, which makes the
        bound hold with high probability; without it the expected regret is up to 7 times smaller.
    delta
        With V the largest entry of the estimation vectors, eta = (log(k / delta) / (n k))^(1/2) / V
        and gamma = min(1/2, V k eta); 1 / n unless given.
    allow_outside
        Play also hard games, with estimates that are then biased: regret may grow linearly.

    Notes
    -----
    Actions that are neither in A nor between two neighbours are never played. Of duplicates the
    first is in A, and the others count as between.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.apple_tasting()
    >>> result = pm.simulate(game, "neighborhood_watch2", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["neighborhood_watch2"] < 160).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="adversarial",
        games="finite, locally observable",
        guarantee="O(n^(1/2)), up to a logarithm",
        cost="O(N^3) operations for N actions that can be best",
        reference="Lattimore and Szepesvari (2019)",
    )

    horizon: int | None = None
    bias: bool = False
    delta: float | None = None
    allow_outside: bool = False

    def __post_init__(self) -> None:
        self._check()
        boolean("bias", self.bias)
        if self.delta is not None and not 0 < real_number("delta", self.delta) < 1:
            raise InvalidInput(f"delta must lie between 0 and 1; got {brief(self.delta)}.")

    def _near(self, game: FiniteGame, analysis: Analysis, pair: Pair) -> tuple[int, ...]:
        return analysis.cells.faces[pair].neighborhood

    def _rates(self, actions: int, playable: int, degree: int, size: float) -> dict[str, Any]:
        return {
            "eta": 1.0 / (size * sqrt(playable)),
            "constant": log(playable) - (log(self.delta) if self.delta is not None else 0.0),
            "growth": 1.0 if self.delta is None else 0.0,
            "gamma": size * playable,
            "inside": False,
            "bias": size**2 if self.bias else 0.0,
        }


def _weight(middle: Array, one: Array, other: Array) -> float:
    """Return w with middle = w one + (1 - w) other (d,), exactly 0 or 1 at the ends."""
    apart = one - other
    weight = float((middle - other) @ apart / (apart @ apart))
    return round(weight) if abs(weight - round(weight)) < 1e-12 else weight


def _fitted(game: FiniteGame, target: Array, observers: tuple[int, ...]) -> Array:
    """Return vectors (k, m) that estimate a difference as well as observers can."""
    used = [(c, s) for c in observers for s in range(game.row_count(c))]
    rows = np.array([game.observation_maps[place] for place in used])  # (q, d)
    vectors = np.zeros((game.k, game.m))
    for place, entry in zip(used, np.linalg.lstsq(rows.T, target)[0], strict=True):
        vectors[place] = entry
    return vectors


def _room(state: WatchState) -> Any:
    """Return scratch for all replicates."""
    from partial_monitoring.numerics.compiled.watch import Room

    n, own, (_, k, m) = len(state.round), len(state.shape.actions), state.shape.vectors.shape
    return Room(np.empty((n, own, own)), np.empty((n, own)), np.empty((n, k)), np.empty((n, m)))

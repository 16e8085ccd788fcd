"""FeedExp3: exponential weights on estimated losses, for outcomes that an opponent may choose.

Piccolboni and Schindelhauer, "Discrete prediction games with arbitrary feedback and loss" (COLT
2001); Cesa-Bianchi, Lugosi and Stoltz, "Regret minimization under partial monitoring" (Mathematics
of Operations Research 2006). For every action i in A (see ``geometry``) there are numbers K_i, one
for each symbol s of each action c, with

    sum_c K_i(c, symbol of c in x) = l_i(x) - mean of l_j(x) over A      for every outcome x.

After action a showed s, K_i(a, s) / p_a is therefore an unbiased estimate of the right-hand side,
and with Lhat_i the sum of these estimates

    q_i ~ exp(-eta Lhat_i),     p = (1 - gamma) q + gamma (uniform)

is played. The papers estimate l_i itself; only differences matter to q, and those can be estimated
in more games and with smaller K. Subtracting the mean, rather than the loss of some action, makes
the law of play independent of the order of the actions. Pseudo-actions, which give every symbol an
action of its own, are not needed: K has an entry for each symbol. Copies of an action are played
equally often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import e, log, sqrt
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.finite.estimation import unbiased_vectors
from partial_monitoring.policies.finite.geometry import learnable, unit_of
from partial_monitoring.policies.needs import Needs, refuse, refuse_available
from partial_monitoring.policies.policy import Choices
from partial_monitoring.policies.program import Loops
from partial_monitoring.validation import Array, Indices, one_of, whole_number

TUNINGS = ("cbls", "ps")
"""The constants of Cesa-Bianchi, Lugosi and Stoltz, or those of Piccolboni and Schindelhauer."""

EXPLORATIONS = ("observers", "all")
"""Which actions are mixed in."""


@dataclass(frozen=True, eq=False)
class FeedExp3State:
    """What FeedExp3 knows after some rounds."""

    shape: Any
    """What does not change, for the compiled rounds."""
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    losses: Array
    """Lhat, the sums of estimated losses of the N actions in A, shape (n, N)."""


@dataclass(frozen=True)
class FeedExp3:
    """Exponential weights on estimated losses, for finite games against any opponent.

    Parameters
    ----------
    horizon
        The number n of rounds that eta and gamma are tuned to; without it they follow the rounds,
        with t in place of n.
    tuning
        With N actions in A, m explored ones and k* the largest entry of K, at least 1: "cbls" is
        eta = (log(N) / (m n))^(2/3) / C, gamma = min(1, C (m^2 log(N) / n)^(1/3)) with
        C = (k* (e - 2)^(1/2))^(2/3), and has regret of order n^(2/3); "ps" is
        eta = (log(N) / n)^(1/2), gamma = min(1, m^(1/2) (log(N) / n)^(1/4)), of order n^(3/4).
    exploration
        Explore the actions that observe something ("observers"), or all k actions with N = m = k in
        the constants, as in the papers ("all").

    Notes
    -----
    The expected regret against any sequence of outcomes is at most
    3 (k* (e - 2)^(1/2) m n)^(2/3) log(N)^(1/3) in units of the largest difference of two losses,
    with "cbls" and the right horizon; it is never of order n^(1/2), also on easy games. As long as
    gamma = 1, for about C^3 m^2 log(N) rounds, play is uniform. Estimates need the probability with
    which an action was drawn, so ``available`` cannot be given, and in a live problem each
    observation should be told before the next action is asked for.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.label_efficient()
    >>> result = pm.simulate(game, "feedexp3", [0.9, 0.1], horizon=500, seeds=4)
    >>> bool((result.regret["feedexp3"] < 200).all())
    True
    """

    needs: ClassVar[Needs] = Needs(finite=True, contexts=False)
    card: ClassVar[Card] = Card(
        setting="adversarial",
        games="finite, globally observable",
        guarantee="O(n^(2/3)) in expectation, also on easy games",
        cost="O(k) operations",
        reference="Piccolboni and Schindelhauer (2001); Cesa-Bianchi, Lugosi and Stoltz (2006)",
    )

    horizon: int | None = None
    tuning: str = "cbls"
    exploration: str = "observers"

    def __post_init__(self) -> None:
        if self.horizon is not None:
            whole_number("horizon", self.horizon, at_least=1)
        one_of("tuning", self.tuning, TUNINGS)
        one_of("exploration", self.exploration, EXPLORATIONS)

    def init(self, game: FiniteGame, replicates: int) -> FeedExp3State:
        refuse(self, game)
        shape = self._shape(game, learnable(game, type(self).__name__))
        rounds = np.ones(replicates, dtype=np.int64)
        return FeedExp3State(shape, rounds, np.zeros((replicates, shape.estimates.shape[2])))

    def decide(
        self, state: FeedExp3State, uniforms: Array, available: Array | None = None
    ) -> Choices:
        from partial_monitoring.numerics.compiled.feedexp3 import decide_each

        refuse_available(self, available)
        room, action = _room(state), np.empty(len(state.round), dtype=np.int64)
        decide_each(state.shape, state.round, state.losses, uniforms, room, action)
        return Choices(action, room.chances)

    def update(self, state: FeedExp3State, action: Indices, observation: Array) -> FeedExp3State:
        from partial_monitoring.numerics.compiled.feedexp3 import learn_each

        losses = state.losses.copy()
        learn_each(state.shape, state.round, losses, action, observation, _room(state))
        return replace(state, round=state.round + 1, losses=losses)

    def program(self, state: FeedExp3State) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled.feedexp3 import play

        return Loops(play, (state.shape, state.losses.copy(), _room(state)))

    def _shape(self, game: FiniteGame, analysis: Analysis) -> Any:
        from partial_monitoring.numerics.compiled.feedexp3 import Shape

        own, k = analysis.representatives, game.k
        estimates = self._estimates(game, own)
        observers = np.asarray(estimates.any(axis=(1, 2)))
        explored = np.full(k, 1.0 / k) if self.exploration == "all" else observers / k
        if len(own) == 1:
            explored[:] = 0.0
        owner, share = np.full(k, -1, dtype=np.int64), np.zeros(k)
        for j, a in enumerate(own):
            copies = next((list(group) for group in analysis.duplicates if a in group), [a])
            owner[copies], share[copies] = j, 1.0 / len(copies)
        rates = self._rates(len(own), int(np.count_nonzero(explored)), np.abs(estimates).max())
        explored /= explored.sum() or 1.0
        return Shape(estimates, owner, share, explored, *rates, self.horizon or 0)

    def _estimates(self, game: FiniteGame, own: list[int]) -> Array:
        """Return K, shape (k, m, N); with one action in A there is nothing to estimate.

        Actions that show the same in every outcome are no observers unless all are explored.
        """
        losses = -game.rewards / unit_of(game)
        estimates = np.zeros((game.k, game.m, len(own)))
        if len(own) > 1:
            silent = self.exploration == "all"
            seeing = [c for c in range(game.k) if silent or np.ptp(game.rows(c), axis=1).any()]
            for j, a in enumerate(own):
                target = losses[a] - losses[own].mean(axis=0)
                estimates[:, :, j] = unbiased_vectors(game, target, seeing)
        return estimates

    def _rates(self, compared: int, explored: int, largest: float) -> tuple[float, float, float]:
        """Return eta, gamma and the power of ``feedexp3.Shape``."""
        if compared == 1:
            return 0.0, 0.0, 0.0
        logarithm = log(explored if self.exploration == "all" else compared)
        if self.tuning == "ps":
            return sqrt(logarithm), sqrt(explored) * logarithm**0.25, 0.25
        size = (max(1.0, largest) * sqrt(e - 2.0)) ** (2.0 / 3.0)
        eta = (logarithm / explored) ** (2.0 / 3.0) / size
        return eta, size * (explored**2 * logarithm) ** (1.0 / 3.0), 1.0 / 3.0


def _room(state: FeedExp3State) -> Any:
    """Return scratch for all replicates."""
    from partial_monitoring.numerics.compiled.feedexp3 import Room

    n, (k, m, compared) = len(state.round), state.shape.estimates.shape
    return Room(np.empty((n, compared)), np.empty((n, k)), np.empty((n, m)))

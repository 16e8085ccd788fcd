"""Tsallis-INF: one policy for plain bandits whose rewards are random or chosen by an opponent.

Zimmert and Seldin, "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits" (JMLR
2021). With estimated losses Lhat it plays

    w_a = 4 / (eta_t (Lhat_a - x))^2,    where x < min Lhat makes the sum one,

and after action a with loss l in [0, 1] it adds

    importance weighting:  1{b = a} l / w_b                           eta_t = 2 / t^(1/2),
    reduced variance:      B_b + 1{b = a} (l - B_b) / w_b             eta_t = 4 / t^(1/2),

B_b = 1/2 if w_b >= eta_t^2 and 0 otherwise, to the estimated loss of every action b.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.policies.bandit.readout import Readout, readout
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.needs import Needs, refuse, refuse_available
from partial_monitoring.policies.policy import Choices, probability_or_nan
from partial_monitoring.policies.program import Loops
from partial_monitoring.validation import Array, Indices, boolean, one_of

ESTIMATORS = ("reduced variance", "importance weighting")


@dataclass(frozen=True, eq=False)
class TsallisINFState:
    """What Tsallis-INF knows after some rounds."""

    rule: Any
    """What does not change, for the compiled rounds."""
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    losses: Array
    """Lhat, the sums of estimated losses, shape (n, k)."""


@dataclass(frozen=True)
class TsallisINF:
    """For plain bandits: logarithmic regret if rewards are random, order n^(1/2) against anyone.

    Parameters
    ----------
    estimator
        "reduced variance" or "importance weighting"; the first loses about a third less.
    allow_partial
        Play games whose actions do not show their own reward, as a negative control.

    Notes
    -----
    Losses are measured between the largest and the least reward that can be observed. Where noise
    is not bounded they may leave [0, 1]: the unit is then the range of the mean rewards over Theta
    (for theta of length at most one, if Theta is unbounded) plus four standard deviations, and no
    bound is proven. Estimates need the probability with which an action was drawn, so
    ``available`` cannot be given.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("bernoulli_bandit", "tsallis_inf", "random", horizon=100, seeds=4)
    >>> bool((result.regret["tsallis_inf"] <= 100).all())
    True
    """

    weighted: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(duels=False, contexts=False, own_reward=True)
    card: ClassVar[Card] = Card(
        setting="adversarial",
        games="plain bandits: each action shows its own reward",
        guarantee="O((k n)^(1/2)); O(sum_a log n / gap_a) if rewards are random",
        cost="O(k) operations, some five times",
        reference="Zimmert and Seldin (2021)",
    )

    estimator: str = "reduced variance"
    allow_partial: bool = False

    def __post_init__(self) -> None:
        one_of("estimator", self.estimator, ESTIMATORS)
        boolean("allow_partial", self.allow_partial)

    def init(self, game: Any, replicates: int) -> TsallisINFState:
        from partial_monitoring.numerics.compiled.tsallis_inf import Rule

        refuse(self, game)
        read = readout(game)
        low, high = _bounds(game, read) or _likely(game, read)
        reduced = self.estimator == ESTIMATORS[0]
        shown = np.array(read.weights), np.array(read.constants)
        rule = Rule(*shown, high, high - low or 1.0, 4.0 if reduced else 2.0, reduced)
        rounds = np.ones(replicates, dtype=np.int64)
        return TsallisINFState(rule, rounds, np.zeros((replicates, game.k)))

    def decide(
        self, state: TsallisINFState, uniforms: Array, available: Array | None = None
    ) -> Choices:
        from partial_monitoring.numerics.compiled.tsallis_inf import decide_each

        refuse_available(self, available)
        action, chances = np.empty(len(state.round), np.int64), np.empty(state.losses.shape)
        decide_each(state.rule, state.round, state.losses, uniforms, action, chances)
        return Choices(action, chances)

    def update(
        self,
        state: TsallisINFState,
        action: Indices,
        observation: Array,
        probability: Array | None = None,
    ) -> TsallisINFState:
        from partial_monitoring.numerics.compiled.tsallis_inf import learn_each

        losses = state.losses.copy()
        drawn, room = probability_or_nan(probability, len(action)), np.empty(losses.shape)
        learn_each(state.rule, state.round, losses, action, observation, drawn, room)
        return replace(state, round=state.round + 1, losses=losses)

    def program(self, state: TsallisINFState) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled.tsallis_inf import play

        losses, m = state.losses.copy(), state.rule.weights.shape[1]
        return Loops(play, (state.rule, losses, np.empty(losses.shape), np.empty((len(losses), m))))


def _bounds(game: Any, read: Readout) -> tuple[float, float] | None:
    """Return the least and the largest reward that can be observed; None if noise is unbounded."""
    if np.isfinite(read.high):
        return read.low, read.high
    feedback = game.feedback()
    if not np.isfinite([feedback.low, feedback.high]).all():
        return None
    ends = read.weights[:, :, None] * np.array([feedback.low, feedback.high])  # (k, m, 2)
    low, high = (read.constants + f(ends, axis=2).sum(axis=1) for f in (np.min, np.max))
    return float(low.min()), float(high.max())


def _likely(game: Any, read: Readout) -> tuple[float, float]:
    """Return between which bounds most rewards lie; as for |theta| <= 1 if Theta is unbounded."""
    own = game.linear
    high = float(own.parameters.support(own.features).max())
    low = -float(own.parameters.support(-own.features).max())
    if not np.isfinite([low, high]).all():
        high = float(np.linalg.norm(own.features, axis=1).max())
        low = -high
    return low - 2.0 * read.deviation, high + 2.0 * read.deviation

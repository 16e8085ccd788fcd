"""Plain bandits: UCB1 and Thompson sampling, which treat every action on its own.

Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem" (2002), and
Thompson (1933) with Agrawal and Goyal, "Analysis of Thompson sampling for the multi-armed bandit
problem" (2012). With n_a plays of action a, whose rewards have the mean x_a, the largest index is
played,

    UCB1        x_a + sigma (8 log t / n_a)^(1/2),    (2 log t / n_a)^(1/2) for rewards in [0, 1],
    Thompson    a draw of the posterior: Beta(s + sum of rewards, f + n_a - sum of rewards) for
                rewards in [0, 1], N(x_a, sigma^2 / n_a) for rewards with unbounded noise,

where rewards are sub-Gaussian with constant sigma, half their range if they are bounded. What one
action shows about another is not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.estimation.state import Pending
from partial_monitoring.model.game import Game
from partial_monitoring.policies.bandit.readout import readout
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.program import Loops
from partial_monitoring.validation import Array, Indices, boolean, positive_number


@dataclass(frozen=True, eq=False)
class ArmsState:
    """What is known about each arm."""

    rule: Any
    """See ``numerics.compiled.arms``."""
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    known: Any
    """Counts and sums of rewards."""


class ArmsPolicy:
    """What UCB1 and Thompson sampling share: they play the largest index of an arm."""

    needs: ClassVar[Needs] = Needs(duels=False, contexts=False, own_reward=True)
    allow_partial: bool

    def rule(self, game: Game) -> Any:
        """Return the rule of compiled rounds."""
        raise NotImplementedError

    def init(self, game: Game, replicates: int) -> ArmsState:
        from partial_monitoring.numerics.compiled.arms import Known

        refuse(self, game)
        shape = replicates, game.k
        known = Known(np.zeros(shape, dtype=np.int64), np.zeros(shape))
        return ArmsState(self.rule(game), np.ones(replicates, dtype=np.int64), known)

    def decide(self, state: ArmsState, uniforms: Array, available: Array | None = None) -> Choices:
        from partial_monitoring.numerics.compiled import arms

        index = np.empty(state.known.plays.shape)
        arms.fill_all(state.rule, state.known, state.round, uniforms, index)
        if available is not None:
            index = np.where(np.asarray(available, dtype=bool), index, -np.inf)
        action = index.argmax(axis=1)
        return Choices(action, point_mass(action, index.shape[1]), index=index)

    def update(self, state: ArmsState, action: Indices, observation: Array) -> ArmsState:
        from partial_monitoring.numerics.compiled import arms

        known = arms.Known(*(own.copy() for own in state.known))
        arms.learn_all(state.rule, known, action, observation)
        return replace(state, round=state.round + 1, known=known)

    def expecting(self, state: ArmsState, pending: Pending) -> ArmsState:
        """Return the state with open decisions among the plays, their rewards as before on average.

        Arms without an answer count as average ones. Draws from posteriors differ by themselves:
        with these only arms without an answer, which come first, count as played.
        """
        from partial_monitoring.numerics.compiled import arms

        plays, sums = state.known
        if state.rule.kind == arms.BETA:
            return state
        count = np.zeros_like(plays)
        count[:, pending.action] = pending.often
        if state.rule.kind == arms.NORMAL:
            count[plays > 0] = 0
        average = sums.sum(axis=1, keepdims=True) / np.maximum(plays.sum(axis=1), 1)[:, None]
        means = np.where(plays > 0, sums / np.maximum(plays, 1), average)
        known = arms.Known(plays + count, sums + count * means)
        return replace(state, round=state.round + pending.often.sum(axis=1), known=known)

    def program(self, state: ArmsState) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled import arms

        return Loops(arms.play, (state.rule, arms.Known(*(own.copy() for own in state.known))))


@dataclass(frozen=True)
class UCB1(ArmsPolicy):
    """Optimism for plain bandits: play the arm whose mean may be the largest.

    Parameters
    ----------
    factor
        Of the width; 1 as in the paper.
    allow_partial
        Play games whose actions do not show their own reward, as a negative control.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("bernoulli_bandit", "ucb1", "random", horizon=100, seeds=4)
    >>> bool((result.regret["ucb1"] <= 100).all())
    True
    """

    factor: float = 1.0
    allow_partial: bool = False

    card: ClassVar[Card] = Card(
        "stochastic",
        "plain bandits: each action shows its own reward",
        "O(sum_a log n / gap_a), and O((k n log n)^(1/2)) for all games",
        "O(k)",
        "Auer, Cesa-Bianchi and Fischer (2002)",
    )

    def __post_init__(self) -> None:
        positive_number("factor", self.factor)
        boolean("allow_partial", self.allow_partial)

    def rule(self, game: Game) -> Any:
        from partial_monitoring.numerics.compiled import arms

        read = readout(game)
        width = self.factor * read.deviation * np.sqrt(8.0)
        own = np.array(read.weights), np.array(read.constants)
        return arms.Rule(arms.OPTIMISTIC, float(width), 0.0, 0.0, 0.0, 1.0, *own)


@dataclass(frozen=True)
class Thompson(ArmsPolicy):
    """Thompson sampling for plain bandits: draw the mean of each arm from its posterior.

    Parameters
    ----------
    wins, losses
        The prior Beta(wins, losses) of arms with bounded rewards, in units of their range.
    allow_partial
        Play games whose actions do not show their own reward, as a negative control.

    Notes
    -----
    Rewards between the least and the largest one count as that fraction of a win; Agrawal and Goyal
    toss a coin instead. With unbounded noise every arm is played once, and then the posterior has a
    flat prior.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("bernoulli_bandit", "thompson", "random", horizon=100, seeds=4)
    >>> bool((result.regret["thompson"] <= 100).all())
    True
    """

    wins: float = 1.0
    losses: float = 1.0
    allow_partial: bool = False

    card: ClassVar[Card] = Card(
        "stochastic",
        "plain bandits: each action shows its own reward",
        "O(sum_a log n / gap_a), and O((k n log n)^(1/2)) for all games",
        "O(k), one draw from a beta distribution for each action",
        "Thompson (1933); Agrawal and Goyal (2012)",
    )

    def __post_init__(self) -> None:
        positive_number("wins", self.wins)
        positive_number("losses", self.losses)
        boolean("allow_partial", self.allow_partial)

    def rule(self, game: Game) -> Any:
        from partial_monitoring.numerics.compiled import arms

        read = readout(game)
        own = np.array(read.weights), np.array(read.constants)
        prior = float(self.wins), float(self.losses)
        if np.isinf(read.high):
            return arms.Rule(arms.NORMAL, read.deviation, *prior, 0.0, 1.0, *own)
        unit = read.high - read.low or 1.0
        return arms.Rule(arms.BETA, 0.0, *prior, read.low, unit, *own)

"""TSPM: Thompson sampling with the exact posterior of a finite game.

Tsuchiya, Honda and Sugiyama, "Analysis and design of Thompson sampling for stochastic partial
monitoring" (NeurIPS 2020). With p_a the frequencies of the n_a symbols that action a has shown, and
S_a its signal matrix, theta is drawn on the simplex from

    F(theta) = exp(-lam |theta|^2 / 2) prod_a exp(-n_a KL(p_a || S_a theta)),

and the action with the least loss for theta is played. TSPM-Gaussian draws from

    G(theta) = exp(-lam |theta|^2 / 2) prod_a exp(-n_a |p_a - S_a theta|^2 / 2)

instead. How F is drawn from is in ``numerics.compiled.posterior_draw``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.finite.posterior import (
    LAM,
    Drawing,
    Posterior,
    initial_posterior,
)
from partial_monitoring.policies.needs import Needs, analysis_of, refuse
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.program import Loops
from partial_monitoring.policies.promise import Promise, practical
from partial_monitoring.validation import Array, Indices

REFERENCE = "Tsuchiya, Honda and Sugiyama (NeurIPS 2020)"


@dataclass(frozen=True, eq=False)
class TSPMState:
    """What TSPM knows after some rounds."""

    posterior: Posterior
    shape: Any
    """Rewards, and the initial rounds; there are none if one action is always best."""


class PosteriorSampling:
    """What TSPM and TSPM-Gaussian share; they differ in what they draw from."""

    needs: ClassVar[Needs] = Needs(finite=True, contexts=False, hardest="easy")

    lam: float
    envelope: int
    initial: int
    allow_outside: bool

    @property
    def drawing(self) -> Drawing:
        """What is drawn from."""
        raise NotImplementedError

    def init(self, game: FiniteGame, replicates: int) -> TSPMState:
        """Return the state before the first round."""
        from partial_monitoring.numerics.compiled.play_tspm import Shape

        refuse(self, game)
        first = self.initial if len(analysis_of(game).representatives) > 1 else 0
        initial, allowed = np.full(game.k, first, dtype=np.int64), np.ones(game.k, dtype=bool)
        shape = Shape(np.array(game.rewards), initial, allowed)
        return TSPMState(initial_posterior(game, replicates), shape)

    def draws(self, state: TSPMState) -> int:
        """Return 1: a private stream of random numbers starts with one uniform number."""
        return 1

    def decide(self, state: TSPMState, uniforms: Array, available: Array | None = None) -> Choices:
        """Choose actions; with ``available``, the best one among these."""
        from partial_monitoring.numerics.compiled import play_tspm

        known, shape = state.posterior, state.shape
        if available is not None:
            shape = shape._replace(allowed=np.array(available, dtype=bool))
        index = np.empty(known.plays.shape)
        actions = np.empty(len(index), dtype=np.int64)
        own = shape, known.parts, self.drawing.law, known.belief, known.work()
        play_tspm.decide_all(*own, np.array(uniforms[:, 0], dtype=float), index, actions)
        distribution = point_mass(actions, known.game.k)
        return Choices(actions, distribution, estimate=known.middle, index=index)

    def update(self, state: TSPMState, action: Indices, observation: Array) -> TSPMState:
        """Return the state after one more observation."""
        return replace(state, posterior=state.posterior.after(action, observation))

    def program(self, state: TSPMState) -> Loops:
        """Return the compiled rounds."""
        from partial_monitoring.numerics.compiled import play_tspm

        known = state.posterior.copied()
        own = state.shape, known.parts, self.drawing.law, known.belief, known.work()
        return Loops(play_tspm.play, (*own, np.empty(known.plays.shape)))

    def promise(self, game: AnyGame | None) -> Promise:
        """Return what is proven."""
        return practical("a logarithmic one is, for a version with normal observations")

    def _check(self) -> None:
        validation.positive_number("lam", self.lam)
        validation.whole_number("envelope", self.envelope, at_least=1, at_most=2)
        validation.whole_number("initial", self.initial, at_least=0)
        validation.boolean("allow_outside", self.allow_outside)


@dataclass(frozen=True)
class TSPM(PosteriorSampling):
    """Thompson sampling on finite games: draw from the exact posterior, play what is best.

    Parameters
    ----------
    lam
        The prior is N(0, I / lam) on the simplex: the default is nearly uniform.
    envelope
        The normal density above the posterior, of precision n_a S_a' S_a (1, as published) or twice
        that (2), which accepts more and is as exact.
    R
        A draw from that density G is accepted with probability F / (R G). 1 is exact; below 1, a
        heuristic of the authors, more is accepted and theta varies too much. 0 is TSPM-Gaussian
        with this envelope.
    initial
        How often every action is played before the first draw.
    allow_outside
        Play games that are not locally observable, too; the regret may grow linearly.

    Notes
    -----
    No bound is proven for the game itself. Where neighbours are not compared by their own two
    actions, as with a helper between them, Thompson sampling may never play what it must see; use
    :class:`Mario`. The distribution of a decision is given the draw, so it is all on one action.
    Draws are exact unless 100 attempts fail; then they come from a Markov chain.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.apple_tasting(), "tspm", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["tspm"] < 40).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="finite, locally observable",
        guarantee="O(log n) for a version with normal observations; none for the game itself",
        cost="one posterior draw: O(d^3) operations and O(d^2) per attempt, at most 200",
        reference=REFERENCE,
    )

    lam: float = LAM
    envelope: int = 2
    R: float = 1.0
    initial: int = 1
    allow_outside: bool = False

    def __post_init__(self) -> None:
        self._check()
        if not 0 <= validation.real_number("R", self.R) <= 1:
            raise InvalidInput(f"R must lie between 0 and 1; got {validation.brief(self.R)}.")

    @property
    def drawing(self) -> Drawing:
        return Drawing(self.lam, self.envelope, self.R)


@dataclass(frozen=True)
class TSPMGaussian(PosteriorSampling):
    """Thompson sampling on finite games with a normal posterior, cut off at the simplex.

    Parameters
    ----------
    lam, initial, allow_outside
        As for :class:`TSPM`.
    envelope
        1 takes symbols for normal with variance 1, as published; 2 for half of that.

    Notes
    -----
    This is TSPM without its last step, the comparison with the exact posterior: wider draws, and
    the version for which a bound is proven (for normal observations).

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(
    ...     pm.games.apple_tasting(), "tspm_gaussian", [0.9, 0.1], horizon=200, seeds=4
    ... )
    >>> bool((result.regret["tspm_gaussian"] < 60).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="finite, locally observable",
        guarantee="O(log n) for normal observations; none for the game itself",
        cost="one normal draw: O(d^3) operations and O(d^2) per attempt, at most 100",
        reference=REFERENCE,
    )

    lam: float = LAM
    envelope: int = 1
    initial: int = 1
    allow_outside: bool = False

    def __post_init__(self) -> None:
        self._check()

    @property
    def drawing(self) -> Drawing:
        return Drawing(self.lam, self.envelope, ratio=0.0)

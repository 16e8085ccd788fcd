"""Bayesian information-directed sampling, from draws of the posterior.

Russo and Van Roy, "Learning to optimize via information-directed sampling" (2014, 2018). Draws
theta_1, ..., theta_M of the posterior say how likely each action b is best (P_b), where (the mean
theta_b of the draws for which it is), and what is lost,

    gap_a = mean of max_b r_b(theta_i) - r_a(mean of theta_i).

What an action tells about the best one is measured by how much its observation depends on it:

    variance    sum_b P_b |M_a (theta_b - mean)|^2, over 2 rho^2 where the noise is normal,
    mutual      sum_b P_b KL(S_a theta_b || S_a mean), the mutual information of finite games,

of which the first is a lower bound of the mutual information. The distribution of least gap^2 /
information is played. Gaps and information come from the same draws, so no gap is negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.state import Prior, State, initial_state
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.finite.posterior import Drawing, Posterior, initial_posterior
from partial_monitoring.policies.ids.ratio import ZERO_GAP
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices
from partial_monitoring.policies.program import Loops, NotCompiled
from partial_monitoring.policies.promise import Promise, practical
from partial_monitoring.policies.units import Units
from partial_monitoring.validation import Array, Indices

GAINS = ("variance", "mutual")
"""How information is measured."""


class Belief(Protocol):
    """What is known of n replicates, and how decisions are drawn from it."""

    @property
    def k(self) -> int:
        """The number of actions."""
        ...

    def after(self, action: Indices, observation: Array) -> Self:
        """Return what is known after one more observation."""
        ...

    def shape(self, actions: Indices) -> tuple[Array, Array, Array, float]:
        """Return offsets, slopes, maps and scale of some actions, as ``play_bayesian`` reads."""
        ...

    def choose(self, shape: Any, sums: Any, uniforms: Array) -> tuple[Indices, Array]:
        """Return actions and ratios (n,); the rest is left in the sums."""
        ...

    def estimate(self) -> Array:
        """Return the posterior mean, nearly, shape (n, d)."""
        ...

    def loops(self, shape: Any) -> Loops:
        """Return compiled rounds, or say why there are none."""
        ...


@dataclass(frozen=True, eq=False)
class FiniteBelief:
    """The posterior of a finite game."""

    posterior: Posterior

    @property
    def k(self) -> int:
        return self.posterior.game.k

    def after(self, action: Indices, observation: Array) -> FiniteBelief:
        return replace(self, posterior=self.posterior.after(action, observation))

    def shape(self, actions: Indices) -> tuple[Array, Array, Array, float]:
        game = self.posterior.game
        maps = np.array(game.observation_maps[actions])
        return np.zeros(len(actions)), np.array(game.rewards[actions]), maps, 1.0

    def choose(self, shape: Any, sums: Any, uniforms: Array) -> tuple[Indices, Array]:
        from partial_monitoring.numerics.compiled import play_bayesian

        actions, ratios = np.empty(len(uniforms), dtype=np.int64), np.empty(len(uniforms))
        own = _drawn_from(self.posterior)
        play_bayesian.decide_all(shape, *own, sums, uniforms, actions, ratios)
        return actions, ratios

    def estimate(self) -> Array:
        return self.posterior.middle

    def loops(self, shape: Any) -> Loops:
        from partial_monitoring.numerics.compiled import play_bayesian

        known = self.posterior.copied()
        own = shape, *_drawn_from(known), _sums(shape, known.replicates)
        return Loops(play_bayesian.play, own)


@dataclass(frozen=True, eq=False)
class NormalBelief:
    """The normal posterior N(theta_hat, rho^2 V^-1) of a linear game."""

    state: State

    @property
    def k(self) -> int:
        return len(self.state.design.offsets)

    def after(self, action: Indices, observation: Array) -> NormalBelief:
        return replace(self, state=self.state.after(action, observation))

    def shape(self, actions: Indices) -> tuple[Array, Array, Array, float]:
        own = self.state.design
        arrays = own.offsets[actions], own.slopes[actions], own.maps[actions]
        offsets, slopes, maps = (np.array(array) for array in arrays)
        return offsets, slopes, maps, 0.5 / own.noise_std**2

    def choose(self, shape: Any, sums: Any, uniforms: Array) -> tuple[Indices, Array]:
        from partial_monitoring.numerics.compiled import play_bayesian

        own, known = self.state.design, self._known
        n, r = known.coordinates.shape
        actions, ratios = np.empty(n, dtype=np.int64), np.empty(n)
        scratch = (
            np.zeros((n, 1), dtype=np.uint64),
            np.zeros((n, shape.slopes.shape[1])),
            np.zeros((r, r)),
        )
        gram, center = np.array(known.gram), np.array(known.coordinates)
        play_bayesian.decide_normal(
            *(shape, gram, center, float(own.noise_std), float(own.regularization), *scratch),
            *(sums, uniforms, actions, ratios),
        )
        return actions, ratios

    def estimate(self) -> Array:
        return self.state.confidence(schedules.paper()).estimate

    def loops(self, shape: Any) -> Loops:
        raise NotCompiled("posteriors of linear games are drawn in batches")

    @property
    def _known(self) -> Any:
        return self.state.estimate  # type: ignore[attr-defined]


@dataclass(frozen=True)
class BayesianIDS:
    """Bayesian information-directed sampling: gaps and information of posterior draws.

    Parameters
    ----------
    gain
        "variance", for all games; or "mutual", the exact mutual information of the observation and
        the best action in finite games.
    samples
        The number of draws in each round; with 1000 instead of 100 the regret of 400 rounds of
        apple tasting is 7.7 instead of 9.4, for ten times the work.
    regularization
        The prior of linear games is N(theta_0, rho^2 / lambda I), as that of :class:`LinTS`; in
        finite games it is nearly uniform on the simplex.

    Notes
    -----
    Finite games have their exact posterior (see :class:`TSPM`); all others that of normal noise,
    without the limits of Theta. Unlike Thompson sampling it learns hard games too. Few draws make
    information noisy and raise it a little; but what none of them finds best is found by those of
    later rounds, so exploration does not end too soon.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> policy = pm.BayesianIDS(gain="mutual", samples=200)
    >>> game = pm.games.apple_tasting()
    >>> result = pm.simulate(game, {"ids": policy}, [0.9, 0.1], horizon=100, seeds=4)
    >>> bool((result.regret["ids"] < 40).all())
    True
    """

    needs: ClassVar[Needs] = Needs(contexts=False)
    card: ClassVar[Card] = Card(
        setting="Bayesian",
        games="all with listed actions",
        guarantee="(Psi H n)^(1/2) on average over the prior, Psi the largest ratio, H the entropy "
        "of the best action",
        cost="100 posterior draws, each with O(k d) operations, and O(k^2 m d)",
        reference="Russo and Van Roy (2014, 2018)",
    )

    gain: str = "variance"
    samples: int = 100
    regularization: float = 1.0

    def __post_init__(self) -> None:
        validation.one_of("gain", self.gain, GAINS)
        validation.whole_number("samples", self.samples, at_least=10, at_most=1_000_000)
        validation.positive_number("regularization", self.regularization)

    def draws(self, state: Belief) -> int:
        """Return the number of uniform numbers that a round needs: for theta, and the action."""
        return 2

    def init(self, game: Any, replicates: int) -> Belief:
        """Return the state before the first round."""
        refuse(self, game)
        if game.traits.finite:
            return FiniteBelief(initial_posterior(game, replicates))
        if self.gain == "mutual":
            raise InvalidInput(
                f"gain='mutual' plays finite games (pm.FiniteGame); got {validation.brief(game)}."
            )
        return NormalBelief(initial_state(game, replicates, Prior(self.regularization)))

    def decide(self, state: Belief, uniforms: Array, available: Array | None = None) -> Choices:
        """Choose actions; with ``available``, as if the game had no others."""
        k, n = state.k, len(uniforms)
        actions = np.arange(k) if available is None else np.flatnonzero(available)
        shape = self._shape(state, actions)
        sums = _sums(shape, n)
        drawn, ratios = state.choose(shape, sums, np.array(uniforms, dtype=float))
        distribution, gaps = np.zeros((n, k)), np.full((n, k), np.inf)
        information = np.zeros((n, k))
        distribution[:, actions], gaps[:, actions] = sums.distribution, sums.gaps
        information[:, actions] = sums.information
        return Choices(
            *(actions[drawn], distribution, gaps, information, ratios), estimate=state.estimate
        )

    def update(self, state: Belief, action: Indices, observation: Array) -> Belief:
        """Return the state after one more observation."""
        return state.after(action, observation)

    def program(self, state: Belief) -> Loops:
        """Return the compiled rounds of finite games."""
        return state.loops(self._shape(state, np.arange(state.k)))

    def units(self, state: Belief) -> Units:
        """Return what gaps and information are measured in."""
        bound = "a lower bound of the " if self.gain == "variance" else ""
        return Units(
            "what is expected to be lost per round, in units of reward",
            f"{bound}information about which action is best, in nats",
        )

    def promise(self, game: AnyGame | None) -> Promise:
        """Return what is proven."""
        return practical("a bound holds on average over the prior, with exact probabilities")

    def _shape(self, state: Belief, actions: Indices) -> Any:
        """Return what rounds need of some actions."""
        from partial_monitoring.numerics.compiled.play_bayesian import Shape

        offsets, slopes, maps, scale = state.shape(actions)
        mutual = self.gain == "mutual"
        return Shape(offsets, slopes, maps, mutual, scale, self.samples, ZERO_GAP)


def _drawn_from(posterior: Posterior) -> tuple[Any, ...]:
    """Return what compiled loops need to draw."""
    return posterior.parts, Drawing().law, posterior.belief, posterior.work()


def _sums(shape: Any, n: int) -> Any:
    """Return scratch for n replicates."""
    from partial_monitoring.numerics.compiled.play_bayesian import Sums

    k, width = shape.slopes.shape
    return Sums(
        values=np.zeros((n, k)),
        counts=np.zeros((n, k)),
        sums=np.zeros((n, k, width)),
        mean=np.zeros((n, width)),
        gaps=np.zeros((n, k)),
        information=np.zeros((n, k)),
        spare=np.zeros((n, 2, k)),
        distribution=np.zeros((n, k)),
    )

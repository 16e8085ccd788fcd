"""Asymptotically optimal information-directed sampling for linear bandits.

Kirschner, Lattimore, Vernade and Szepesvari, "Asymptotically optimal information-directed sampling"
(COLT 2021). It explores until no alternative is plausible that another action is best, and learns
only from exploration: s counts these rounds, t all. With the leader g = argmax <phi, theta_hat>, an
alternative nu_y is the parameter nearest to theta_hat, in the norm of V, for which y is no worse
than g ("halfspace") or than any action ("cell"), and N_y = |nu_y - theta_hat|_V^2:

    min_y N_y >= beta_t(1 / (t log t)):  play g and learn nothing; otherwise
    q_y   ~ exp(-eta_s N_y),   eta_s = min(eta_(s-1), (min_y N_y)^(-1/2)),  eta_0 = 1,
    I(x)  = 1/2 sum_y q_y (|M_x (nu_y - theta_hat)| + beta_s^(1/2) |M_x|)^2,
    gap x = max_b [<phi_b - phi_g, theta_hat> + beta_s^(1/2) |phi_b - phi_g|] + <phi_g - phi_x,
            theta_hat>,

with norms of V^-1 and beta_s of 1 / (s log s), and the distribution with the least gap^2 / I. The
least N_y is the same for both kinds of alternatives. Where actions show several numbers, |M_x| is
the Frobenius norm of M_x V^(-1/2), an upper bound of the largest singular value. N_y is taken in
units of the squared noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import paper
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import Estimate, initial
from partial_monitoring.estimation.linear.state import linear_design
from partial_monitoring.estimation.linear.updating import updated
from partial_monitoring.estimation.state import Prior
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.ids.cells import cell_information
from partial_monitoring.policies.ids.gaps import AT_MOST
from partial_monitoring.policies.ids.program import (
    LeastSquaresProgram,
    actions_of,
    known_of,
    scratch_for,
    upkeep_of,
)
from partial_monitoring.policies.ids.sampling import Generalized
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices
from partial_monitoring.policies.program import NotCompiled, Rounds, bound
from partial_monitoring.policies.units import Units
from partial_monitoring.validation import Array, Indices, one_of, positive_number

Mask = NDArray[np.bool_]

ALTERNATIVES = ("halfspace", "cell")
"""Parameters for which an action is no worse than the leader, or than any other action."""


@dataclass(frozen=True, eq=False)
class AsymptoticState:
    """What n replicates know; arrays as in ``compiled.asymptotic.Lead``."""

    estimate: Estimate
    """From the rounds that explored."""
    rule: Any
    """A ``compiled.asymptotic.Rule``."""
    actions: Any
    """The game for compiled loops."""
    round: Indices
    leader: Indices
    nearest: Array
    largest: Array

    @property
    def lead(self) -> Any:
        """The arrays for compiled loops, which may change them."""
        from partial_monitoring.numerics.compiled.asymptotic import Lead

        return Lead(*(getattr(self, name).copy() for name in Lead._fields))

    @property
    def exploring(self) -> Mask:
        """Which replicates must still explore, shape (n,)."""
        from partial_monitoring.numerics.compiled.asymptotic import explores_each

        found = np.zeros(len(self.round), dtype=np.bool_)
        explores_each(known_of(self.estimate)[0], self.lead, self.rule, found)
        return found

    def settled(self, chosen: Mask) -> AsymptoticState:
        """Return the state with the leaders of replicates whose estimates have changed."""
        from partial_monitoring.numerics.compiled.asymptotic import settle_each

        lead, known = self.lead, known_of(self.estimate)[0]
        room = scratch_for(self.actions, paired=False)
        settle_each(self.actions, known, lead, self.rule, np.flatnonzero(chosen), room)
        return replace(self, **lead._asdict())


@dataclass(frozen=True)
class AsymptoticIDS:
    """Information-directed sampling with the least regret that is possible in the long run.

    Parameters
    ----------
    alternatives
        "halfspace", in closed form, or "cell", by a quadratic program for every action in every
        round that explores.
    eta
        Learning rate of the weights of alternatives; by default it follows their distances.
    regularization, prior_mean, norm_bound
        lambda, theta_0 and B, as for :class:`partial_monitoring.IDS`.

    Notes
    -----
    Made for linear bandits with normal noise: regret over log n tends to the least constant that is
    possible there, where optimism and posterior sampling may pay many times that. It plays every
    game with listed actions; of Theta only the affine hull counts, and an action that is best
    everywhere in it.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.linear_bandit([[1, 0], [0, 1], [0.9, 0.4]])
    >>> result = pm.simulate(game, "asymptotic_ids", [0.8, 0.1], horizon=100, seeds=4)
    >>> result.backend
    {'asymptotic_ids': 'compiled'}
    """

    needs: ClassVar[Needs] = Needs(contexts=False)
    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="linear bandits; plays all with listed actions",
        guarantee="c*(theta) log n with the least possible constant; O(n^(1/2) log n)",
        cost="O(k^2 m d) operations while it explores, O(k) afterwards",
        reference="Kirschner, Lattimore, Vernade and Szepesvari (COLT 2021)",
    )

    alternatives: str = "halfspace"
    eta: float | None = None
    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None

    def __post_init__(self) -> None:
        one_of("alternatives", self.alternatives, ALTERNATIVES)
        if self.eta is not None:
            positive_number("eta", self.eta)
        checked_options(self, ())

    def init(self, game: AnyGame, replicates: int) -> AsymptoticState:
        from partial_monitoring.numerics.compiled.asymptotic import Rule

        refuse(self, game)
        prior = Prior(self.regularization, self.prior_mean, self.norm_bound)
        design = linear_design(game.linear, prior)
        shift = float(np.sqrt(design.regularization) * design.norm_bound)
        eta = 0.0 if self.eta is None else float(self.eta)
        rule = Rule(float(design.noise_std), shift, eta, *upkeep_of(design), 0.0)
        nothing = np.zeros(replicates, dtype=np.int64)
        blank = AsymptoticState(
            initial(design, replicates),
            rule,
            actions_of(design, paired=False),
            round=nothing + 1,
            leader=nothing,
            nearest=np.zeros(replicates),
            largest=np.ones(replicates),
        )
        return blank.settled(np.ones(replicates, dtype=bool))

    def decide(
        self, state: AsymptoticState, uniforms: Array, available: Array | None = None
    ) -> Choices:
        from partial_monitoring.numerics.compiled.asymptotic import decide_each

        if available is not None:
            raise InvalidInput(
                "available cannot be given with AsymptoticIDS, which plans for all actions."
            )
        estimate, (n, k) = state.estimate, state.estimate.means.shape
        action, ratio = np.empty(n, dtype=np.int64), np.empty(n)
        mu, gaps, gained = np.zeros((n, k)), np.empty((n, k)), np.empty((n, k))
        room = scratch_for(state.actions, paired=False)
        own = state.actions, known_of(estimate)[0], state.lead, state.rule
        decide_each(*own, np.ascontiguousarray(uniforms), room, action, mu, gaps, gained, ratio)
        if self.alternatives == "cell":
            rows = state.exploring
            if rows.any():
                gained[rows] = cell_information(state, np.flatnonzero(rows))
                answer = Generalized().pairs(gaps[rows], gained[rows])
                action[rows], mu[rows] = answer.play(uniforms[rows], k)
                ratio[rows] = answer.ratio
        return Choices(action, mu, gaps, gained, ratio, estimate=self._center(state))

    def update(
        self, state: AsymptoticState, action: Indices, observation: Array
    ) -> AsymptoticState:
        exploring = state.exploring
        moved = replace(state, round=state.round + 1)
        if not exploring.any():
            return moved
        before = state.estimate
        learned = updated(before.of(exploring), action[exploring], observation[exploring])
        if not exploring.all():
            learned = _scattered(before, learned, exploring)
        return replace(moved, estimate=learned).settled(exploring)

    def program(self, state: AsymptoticState) -> AsymptoticProgram:
        """Return rounds in compiled code, from the initial state."""
        if self.alternatives == "cell":
            raise NotCompiled("quadratic programs find the nearest parameters of cells")
        return AsymptoticProgram(self, state.estimate, state.rule, state)

    def units(self, state: AsymptoticState) -> Units:
        """Return what gaps and information are measured in."""
        return Units(AT_MOST, "evidence against the nearest parameters with another best action")

    def confidence_set(self, state: AsymptoticState) -> Ellipsoid:
        """Return the confidence set of the exploring rounds, which ``Learner.status`` reports."""
        return Ellipsoid.around(state.estimate, paper())

    @staticmethod
    def _center(state: AsymptoticState) -> Callable[[], Array]:
        from partial_monitoring.estimation.linear.least_squares import affine_estimate

        return lambda: affine_estimate(state.estimate)


@dataclass(eq=False)
class AsymptoticProgram(LeastSquaresProgram):
    """Compiled rounds of all replicates, and what these know."""

    state: Any = None
    paired = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lead = self.state.lead

    def loops(self, world: Any, totals: Any, reached: Indices, due: Mask, unproven: Mask) -> Rounds:
        from partial_monitoring.numerics.compiled.asymptotic import play

        own = self.actions, self.known, self.lead, self.rule, self.scratch(), due
        return bound(play, (world, totals, self.data, reached), own)

    def settle(self, rows: Indices) -> None:
        from partial_monitoring.numerics.compiled.asymptotic import settle_each

        super().settle(rows)
        settle_each(self.actions, self.known, self.lead, self.rule, rows, self.scratch())

    def kernel(self, world: Any, totals: Any) -> Any:
        raise InvalidInput("AsymptoticIDS is compiled for the processor only.")


def _scattered(before: Estimate, some: Estimate, rows: Mask) -> Estimate:
    """Return estimates of which those of some replicates have changed."""
    changed = {}
    for field in fields(Estimate):
        if field.name != "design":
            changed[field.name] = getattr(before, field.name).copy()
            changed[field.name][rows] = getattr(some, field.name)
    return replace(before, **changed)

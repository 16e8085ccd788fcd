"""PM-DMED and PM-DMED-Hinge: explore every action at the rates of the asymptotic lower bound.

Komiyama, Honda and Nakagawa, "Regret lower bound and optimal algorithm in finite stochastic partial
monitoring" (NeurIPS 2015). Actions are played in lists, one list after the other. After every round
theta_hat is the distribution that makes the signals most likely, and the action j that is best
there is the leader. Into the next list come, unless they are still to be played in this one,

    the leader,
    actions a that were played n_a < c sqrt(log t) times,
    if n_a / log t, a != j, do not tell theta_hat from all rivals (``asymptotic_constant``), actions
    with n_a < r_a log t for the cheapest rates r that do.

The hinge version, for which optimality is proven, ignores divergences up to f(n) = b / sqrt(n): its
theta_hat minimises sum_a n_a (KL_a - f(n_a))_+, the rates satisfy

    sum_a r_a (KL(frequencies of a | S_a q) - f(n_a))_+ >= 1
    for all q of rivals with  KL(frequencies of j | S_j q) <= f(n_j),

and all actions come into the next list if the leader is not ahead by a / log log t, some KL_a is
above f(n_a), or no rates suffice. In the plain version that is so if two actions are tied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from partial_monitoring import validation
from partial_monitoring.analysis.asymptotic import Rivals
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.linear.design import Design, design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import counted
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.finite.geometry import learnable
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.program import Loops
from partial_monitoring.policies.promise import CERTIFIED, Promise, practical
from partial_monitoring.validation import Array, Indices

ORDERS = ("ascending", "random")
"""In which order the actions of a list are played."""

REFERENCE = "Komiyama, Honda and Nakagawa (NeurIPS 2015)"


@dataclass(frozen=True, eq=False)
class DMEDState:
    """What PM-DMED knows after some rounds."""

    design: Design
    """Of the least-squares estimate that ``Learner.status`` reports."""
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    shape: Any
    """What does not change, a ``play_dmed.Shape``."""
    known: Any
    """What the replicates know, a ``play_dmed.State``."""


@dataclass(frozen=True)
class PMDMED:
    """Explore at the rates of the asymptotic lower bound, on finite games with random outcomes.

    Parameters
    ----------
    c
        Every action is played at least c sqrt(log t) times.
    refresh
        The estimate that rates belong to is kept until t has grown by this fraction, the leader
        changes, or n / log t passes from one side of the rates' constraints to the other; 0: until
        the next round, as in the paper.
    sweeps
        Sweeps of EM in a round, after which Newton's method takes over; the estimate is accepted
        when its log-likelihood is proven to be within 1e-6 of the largest.
    order
        Actions of a list are played in "ascending" or in "random" order. The paper allows any fixed
        one; only with "random" the law of play does not depend on how actions are numbered.

    Notes
    -----
    In experiments regret is near C(theta) log n (see :func:`asymptotic_constant`), but nothing is
    proven; :class:`PMDMEDHinge` has the proof. Rates are feasible and within 1e-4 of the cheapest;
    the search for them starts at the last ones. The first list has all actions, and lists grow from
    its first round on. Duplicates of the leader count as leaders. A trivial game is not explored.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.apple_tasting(), "pm_dmed", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["pm_dmed"] < 40).all())
    True
    """

    needs: ClassVar[Needs] = Needs(finite=True, contexts=False)
    card: ClassVar[Card] = Card(
        "stochastic",
        "finite, globally observable",
        "none is proven; near the asymptotic lower bound C(theta) log n in experiments",
        "EM, and now and then a semi-infinite linear program",
        REFERENCE,
    )

    c: float = 1.0
    refresh: float = 0.02
    sweeps: int = 5
    order: str = "ascending"

    def __post_init__(self) -> None:
        validation.positive_number("c", self.c)
        validation.non_negative_number("refresh", self.refresh)
        validation.whole_number("sweeps", self.sweeps, at_least=0, at_most=1_000_000)
        validation.one_of("order", self.order, ORDERS)

    def promise(self, game: FiniteGame | None = None) -> Promise:
        """Return what the theory says: nothing."""
        return practical("regret is near C(theta) log n in experiments")

    def init(self, game: FiniteGame, replicates: int) -> DMEDState:
        from partial_monitoring.numerics.compiled import play_dmed

        refuse(self, game)
        analysis = learnable(game, type(self).__name__)
        own, (k, d), n, m = Rivals(analysis, game), game.rewards.shape, replicates, game.m
        playable = np.ones(k, dtype=bool)
        if len(own.halves) == 0:
            playable = np.arange(k) == analysis.representatives[0]
        hinged, margin, width = self._hinge()
        shape = play_dmed.Shape(
            own.symbols,
            own.losses,
            own.groups,
            own.halves,
            own.starts,
            playable,
            float(self.c),
            1.0 + float(self.refresh),
            int(self.sweeps),
            self.order == "random",
            hinged,
            margin,
            width,
        )
        known = play_dmed.State(
            plays=np.zeros((n, k), dtype=np.int64),
            sums=np.zeros((n, k, m)),
            theta=np.full((n, d), 1.0 / d),
            left=np.tile(playable, (n, 1)),
            later=np.zeros((n, k), dtype=bool),
            leader=np.full(n, -1),
            due=np.zeros(n),
            status=np.zeros(n, dtype=np.int64),
            rates=np.zeros((n, k)),
            cuts=np.zeros((n, k + 1, k)),
            cut_count=np.zeros(n, dtype=np.int64),
            shown=np.zeros((n, m)),
        )
        return DMEDState(design(game), np.ones(n, dtype=np.int64), shape, known)

    def decide(self, state: DMEDState, uniforms: Array, available: Array | None = None) -> Choices:
        if available is not None:
            raise InvalidInput(
                f"available cannot be given with {type(self).__name__}, whose lists have all "
                f"actions."
            )
        left = state.known.left
        if self.order == "random":
            sizes = left.sum(axis=1)
            place = np.minimum((uniforms * sizes).astype(np.int64), sizes - 1)
            action = (np.cumsum(left, axis=1) > place[:, None]).argmax(axis=1)
            distribution = left / sizes[:, None]
        else:
            action = left.argmax(axis=1)
            distribution = point_mass(action, left.shape[1])
        return Choices(action, distribution, estimate=state.known.theta)

    def update(self, state: DMEDState, action: Indices, observation: Array) -> DMEDState:
        from partial_monitoring.numerics.compiled import play_dmed

        known = play_dmed.State(*(own.copy() for own in state.known))
        shown, room = np.array(observation, float), play_dmed.desk(state.shape, known.sums.shape[2])
        for i, (a, t) in enumerate(zip(action.tolist(), state.round.tolist(), strict=True)):
            play_dmed.learn(state.shape, known, a, shown[i], i, t, room)
        return replace(state, round=state.round + 1, known=known)

    def program(self, state: DMEDState) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled import play_dmed

        known = play_dmed.State(*(own.copy() for own in state.known))
        return Loops(play_dmed.play, (state.shape, known))

    def confidence_set(self, state: DMEDState) -> Ellipsoid:
        """Return the confidence set of least squares, which ``Learner.status`` reports."""
        estimate = counted(state.design, state.known.plays, state.known.sums)
        return Ellipsoid.around(estimate, schedules.paper())

    def _hinge(self) -> tuple[bool, float, float]:
        """Return whether divergences have hinges, and a and b."""
        return False, 0.0, 0.0


@dataclass(frozen=True)
class PMDMEDHinge(PMDMED):
    """PM-DMED that ignores small divergences, with which it is asymptotically optimal.

    Parameters
    ----------
    c, refresh, sweeps, order
        As for :class:`PMDMED`.
    a
        All actions are explored unless the leader is ahead by a / log log t, in units of the
        largest difference of losses; log log t is taken to be at least 1.
    b
        Divergences up to b / sqrt(n_a) are ignored.

    Notes
    -----
    On games that can be learned, if one action is best, regret is at most C(theta) log n + o(log n)
    for every a, b, c > 0. The paper names no values; these are small because all actions are
    explored while a / log log t is above the gap. What :class:`PMDMED` does for speed (``refresh``)
    is not part of the proof.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(
    ...     pm.games.apple_tasting(), "pm_dmed_hinge", [0.9, 0.1], horizon=200, seeds=4
    ... )
    >>> bool((result.regret["pm_dmed_hinge"] < 80).all())
    True
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "finite, globally observable",
        "C(theta) log n + o(log n), which is optimal, if one action is best",
        "EM, and now and then a semi-infinite linear program",
        REFERENCE,
    )

    a: float = 0.001
    b: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.positive_number("a", self.a)
        validation.positive_number("b", self.b)

    def promise(self, game: FiniteGame | None = None) -> Promise:
        """Return what the theory says."""
        if self.refresh > 0:
            return practical("proven is C(theta) log n + o(log n) with refresh=0")
        return Promise(
            CERTIFIED, "regret is at most C(theta) log n + o(log n) if one action is best"
        )

    def _hinge(self) -> tuple[bool, float, float]:
        return True, float(self.a), float(self.b)

"""CBP and RandCBP: decide comparisons of neighbours, play what the undecided ones need.

Bartok, Zolghadr and Szepesvari, "An adaptive algorithm for finite stochastic partial monitoring"
(ICML 2012); Heuillet, Ahmad and Durand, "Randomized confidence bounds for stochastic partial
monitoring" (ICML 2024). For neighbours i, j with estimation vectors v (see ``geometry``), in round
t and with n_c plays of action c,

    difference_ij = sum_c <v_ijc, frequencies of c>,
    width_ij      = Z_ij sum_c |v_ijc| / n_c^(1/2),     Z_ij = (alpha log t)^(1/2) for CBP.

A pair is decided when |difference| >= width. What the decided pairs leave (see ``patterns``) are
actions P and pairs E with their neighbourhoods N and observers V. Of

    S = P + N + (V and {c : n_c <= W_c^(2/3) f(t)}),    f(t) = alpha^(1/3) t^(2/3) log(t)^(1/3),

the action with the largest W_c^2 / n_c is played, W_c = max_ij |v_ijc|.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.linear.design import Design, design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import counted
from partial_monitoring.estimation.state import Pending
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.finite.estimation import NORMS
from partial_monitoring.policies.finite.geometry import Geometry, Mask, geometry
from partial_monitoring.policies.finite.patterns import Patterns, Signs
from partial_monitoring.policies.finite.program import CBPProgram
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.program import NotCompiled
from partial_monitoring.validation import Array, Indices

TIE = 1e-8
"""Indices closer than this fraction (estimation vectors are hardly more exact) are tied, and the
lowest action is played."""


@dataclass(frozen=True, eq=False)
class CBPState:
    """What CBP knows after some rounds: counts, and what the decided comparisons leave."""

    design: Design
    """Of the least-squares estimate that ``Learner.status`` reports."""
    patterns: Patterns
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    plays: Indices
    """n_c, shape (n, k)."""
    sums: Array
    """How often each symbol was seen, shape (n, k, m)."""
    signs: Signs
    """The comparisons that are decided in this round, shape (n, pairs)."""
    candidates: Mask
    """P and N, shape (n, k)."""
    observers: Mask
    """V, shape (n, k)."""
    pending: Indices | int = 0
    """How many decisions of each action are open, shape (n, k)."""

    @property
    def geometry(self) -> Geometry:
        """The geometry of the game."""
        return self.patterns.geometry


@dataclass(frozen=True)
class CBP:
    """Confidence bounds for partial monitoring, on finite games with random outcomes.

    Parameters
    ----------
    alpha
        Confidence level, above 1 for the guarantee.
    norm
        Estimation vectors with the least largest entry ("sup") or the least length ("euclidean").

    Notes
    -----
    Regret of order n^(1/2) on easy and n^(2/3) on hard games, up to logarithms. First every action
    that is needed (in A, or an observer) is played once. If decisions contradict each other, which
    is rare, those that held before stay. Decisions report no gaps, information or estimate: CBP
    has none. Linear programs are solved for new patterns of decided comparisons, until what the
    earlier ones showed settles those, too.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.apple_tasting(), "cbp", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["cbp"] < 100).all())
    True
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "finite, globally observable",
        "O~(n^(1/2)) on easy and O~(n^(2/3)) on hard games",
        "O(neighbours k m), linear programs for new patterns only",
        "Bartok, Zolghadr and Szepesvari (2012)",
    )

    needs: ClassVar[Needs] = Needs(finite=True, contexts=False)

    alpha: float = 1.01
    norm: str = "sup"

    def __post_init__(self) -> None:
        validation.positive_number("alpha", self.alpha)
        validation.one_of("norm", self.norm, NORMS)

    def init(self, game: FiniteGame, replicates: int) -> CBPState:
        refuse(self, game)
        shape = geometry(game, type(self).__name__, self.norm)
        n, k, count = replicates, game.k, len(shape.pairs)
        patterns = Patterns(shape)
        signs = np.zeros((n, count), dtype=np.int8)
        candidates, observers, _ = patterns.masks(signs)
        rounds, plays = np.ones(n, dtype=np.int64), np.zeros((n, k), dtype=np.int64)
        sums = np.zeros((n, k, game.m))
        return CBPState(design(game), patterns, rounds, plays, sums, signs, candidates, observers)

    def decide(self, state: CBPState, uniforms: Array, available: Array | None = None) -> Choices:
        self._refuse(available)
        return self._choices(state, state.candidates, state.observers)

    def update(self, state: CBPState, action: Indices, observation: Array) -> CBPState:
        each = np.arange(len(action))
        plays, sums = state.plays.copy(), state.sums.copy()
        plays[each, action] += 1
        sums[each, action] += observation
        moved = replace(state, round=state.round + 1, plays=plays, sums=sums)
        signs = decided(moved, self.bound(moved.round)[:, None])
        changed = np.flatnonzero((signs != state.signs).any(axis=1))
        if len(changed) == 0:
            return moved
        found_candidates, found_observers, consistent = state.patterns.masks(signs[changed])
        kept = changed[consistent]
        candidates, observers = state.candidates.copy(), state.observers.copy()
        candidates[kept] = found_candidates[consistent]
        observers[kept] = found_observers[consistent]
        return replace(moved, signs=signs, candidates=candidates, observers=observers)

    def expecting(self, state: CBPState, pending: Pending) -> CBPState:
        """Return the state with open decisions among the plays.

        Comparisons stay as they are: only answers decide them.
        """
        count = np.zeros(state.plays.shape, dtype=np.int64)
        count[:, pending.action] = pending.often
        return replace(state, round=state.round + count.sum(axis=1), pending=count)

    def bound(self, t: Indices) -> Array:
        """Return (alpha log t)^(1/2), shape (n,)."""
        return np.sqrt(self.alpha * np.log(t))

    def rate(self, t: Indices) -> Array:
        """Return f(t) = alpha^(1/3) t^(2/3) log(t)^(1/3), shape (n,)."""
        return np.cbrt(self.alpha * np.log(t) * np.square(t, dtype=float))

    def weights(self, bound: Array) -> tuple[Array, Array]:
        """Return the weights of random widths below bounds (n,), added up, and of all: here none.

        Shapes (n, levels - 1) and (n,).
        """
        return np.zeros((len(bound), 0)), np.zeros(len(bound))

    def program(self, state: CBPState) -> CBPProgram:
        """Return rounds in compiled code, from the initial state."""
        return self._program(state, 0, unused=1)

    def confidence_set(self, state: CBPState) -> Ellipsoid:
        """Return the confidence set of least squares, which ``Learner.status`` reports."""
        estimate = counted(state.design, state.plays, state.sums)
        return Ellipsoid.around(estimate, schedules.paper())

    def _program(self, state: CBPState, draws: int, *, unused: int = 0) -> CBPProgram:
        if type(self) not in (CBP, RandCBP):
            raise NotCompiled(f"{type(self).__name__} has no compiled rounds")
        return CBPProgram(self, state.patterns, len(state.round), draws, unused, TIE)

    def _refuse(self, available: Array | None) -> None:
        """Sets P and E are those of the whole game, which may not be there to be played."""
        if available is not None:
            raise InvalidInput(
                f"available cannot be given with {type(self).__name__}, which compares all actions."
            )

    def _choices(self, state: CBPState, candidates: Mask, observers: Mask) -> Choices:
        """Play the largest index; an action that is needed and was never played comes first."""
        shape, plays = state.geometry, state.plays + state.pending
        wanted = plays <= np.cbrt(shape.weights) ** 2 * self.rate(state.round)[:, None]
        allowed = candidates | (observers & wanted)
        index = np.where(allowed, shape.weights**2 / np.maximum(plays, 1), -np.inf)
        index = np.where(shape.useful & (plays == 0), np.inf, index)
        best = index.max(axis=1, keepdims=True)
        action = (index >= best * (1.0 - TIE)).argmax(axis=1)
        distribution = point_mass(action, index.shape[1])
        beta = self.bound(state.round) ** 2
        return Choices(action, distribution, beta=beta, index=index)


@dataclass(frozen=True)
class RandCBP(CBP):
    """CBP with random widths, which decides much earlier and still explores enough.

    Parameters
    ----------
    alpha, norm
        As for :class:`CBP`.
    spread, levels, top
        Z is one of ``levels`` equally spaced numbers from 0 to (alpha log t)^(1/2): the last with
        probability ``top``, z below it in proportion to exp(-z^2 / (2 spread^2)). Five levels are
        those of its authors' runs, and lose least.
    coupled
        Draw one Z per round for all pairs instead of one for each pair.

    Notes
    -----
    Random decisions often contradict each other. Then the certain ones, those of CBP, stand. The
    distribution of a decision is given the Z that were drawn, so it is all on one action.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.apple_tasting(), "randcbp", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["randcbp"] < 60).all())
    True
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "finite, globally observable",
        "O~(n^(1/2)) on easy and O~(n^(2/3)) on hard games",
        "O(neighbours k m), linear programs for new patterns only",
        "Heuillet, Ahmad and Durand (2024)",
    )

    spread: float = 1.0
    levels: int = 5
    top: float = 1e-6
    coupled: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.positive_number("spread", self.spread)
        validation.whole_number("levels", self.levels, at_least=2, at_most=10_000)
        if not 0 < validation.real_number("top", self.top) < 1:
            raise InvalidInput(f"top must lie between 0 and 1; got {validation.brief(self.top)}.")
        validation.boolean("coupled", self.coupled)

    def draws(self, state: CBPState) -> int:
        """Return the number of uniform numbers that a round needs."""
        return 1 if self.coupled else len(state.geometry.pairs)

    def program(self, state: CBPState) -> CBPProgram:
        return self._program(state, self.draws(state))

    def decide(self, state: CBPState, uniforms: Array, available: Array | None = None) -> Choices:
        self._refuse(available)
        signs = decided(state, self.factors(state.round, uniforms))
        candidates, observers, consistent = state.patterns.masks(signs)
        kept = ~consistent[:, None]
        return self._choices(
            state,
            np.where(kept, state.candidates, candidates),
            np.where(kept, state.observers, observers),
        )

    def factors(self, t: Indices, uniforms: Array) -> Array:
        """Return Z for every uniform number (n, q), shape (n, q)."""
        from partial_monitoring.numerics.compiled import comparisons

        bound, factors = self.bound(t), np.empty(uniforms.shape)
        comparisons.sample_factors(uniforms, bound, *self.weights(bound), factors)
        return factors

    def weights(self, bound: Array) -> tuple[Array, Array]:
        from partial_monitoring.numerics.compiled import comparisons

        cumulative, scale = np.empty((len(bound), self.levels - 1)), np.empty(len(bound))
        comparisons.accumulate(bound, float(self.spread), float(self.top), cumulative, scale)
        return cumulative, scale


def decided(state: CBPState, factors: Array) -> Signs:
    """Return which comparisons are decided with factors Z of shape (n, pairs) or (n, 1)."""
    from partial_monitoring.numerics.compiled import comparisons

    shape = state.geometry
    signs = np.zeros((len(state.round), len(shape.pairs)), dtype=np.int8)
    room = comparisons.no_sums(1, shape.game.k, len(shape.pairs))
    comparisons.decide(*shape.by_action, state.plays, state.sums, factors, room, signs)
    return signs

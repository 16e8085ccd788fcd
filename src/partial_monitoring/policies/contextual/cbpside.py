"""CBPside and RandCBPside: CBP where the chances of symbols are linear in a context vector.

Bartok and Szepesvari, "Partial monitoring with side information" (ALT 2012); Heuillet, Ahmad and
Durand, "Randomized confidence bounds for stochastic partial monitoring" (ICML 2024). In context x
action a shows its m_a symbols with the chances B_a x. Ridge regression over the rounds in which a
was played, G_a = lam I + sum x x', estimates them as pi_a = (sum e_s x') G_a^-1 x, with the width

    w_a = m_a (Z_a + lam^(1/2) m_a) |x|_a,    |x|_a^2 = x' G_a^-1 x,    Z_a^2 = (q + 4) log t.

For neighbours i, j of the context with estimation vectors v (see ``policies.finite.geometry``)

    difference_ij = sum_c <v_ijc, pi_c>,    width_ij = sum_c |v_ijc| w_c,

and as in CBP a pair is decided when |difference| >= width, decisions leave actions P and pairs E
with neighbourhoods N and observers V, and of

    S = P + N + (V and {c : |x|_c^2 W_c^(2/3) f(t) >= 1}),    f(t) = (alpha t^2 log t)^(1/3),

the action with the largest W_c w_c is played, W_c = max_ij |v_ijc|.

Z^2 is q log t + 2 log(1 / delta_t) with delta_t = t^-2; public code has log(t^-2) in its place,
which is the root of a negative number for q < 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.contextual.features import (
    check_features,
    features_of_maps,
    given_features,
    listed_context,
)
from partial_monitoring.policies.contextual.shape import ContextPatterns, shape_of
from partial_monitoring.policies.finite.cbp import TIE
from partial_monitoring.policies.finite.estimation import NORMS
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.program import NotCompiled
from partial_monitoring.validation import Array, Indices, brief

WIDTHS = {"paper": 2.0, "selfnorm": 1.0, "plays": np.inf}
"""How wide confidence intervals are, with the norm |v| that they use."""


@dataclass(frozen=True, eq=False)
class SideState:
    """What CBPside knows after some rounds."""

    patterns: ContextPatterns
    shape: Any
    """The tables of compiled code, ``play_side.Shape``."""
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    plays: Indices
    """Shape (n, k)."""
    triangle: Array
    """L with G_a = L L', shape (n, k, q, q)."""
    sums: Array
    """Of e_s x', shape (n, k, symbols, q)."""


@dataclass(frozen=True)
class CBPside:
    """CBP with contexts: chances of symbols are linear in a vector that describes the context.

    Parameters
    ----------
    features
        x, one row per context, shape (contexts, q); the chances of all symbols must be linear in
        it. Unless given, it is read off the observation maps of the game, in which they are. The
        rows of an identity matrix learn in each context separately.
    width
        "paper": as its authors; "selfnorm": Z_a^2 = (log(m_a t^2) + log det(G_a / lam) / 2) / 2 and
        w_a = (Z_a + (lam q)^(1/2)) |x|_a with |v| the sum of all entries, valid for every horizon
        if the entries of x are weights; "plays": Z^2 = alpha log t and w_a = Z |x|_a with |v| the
        largest entry, which is CBP, where |x|_a^2 is one over the number of plays.
    alpha
        As for :class:`partial_monitoring.CBP`.
    regularization
        lam.
    forced
        Play observers of undecided pairs while they are uncertain, the set with f(t) above. Hard
        games need it; in easy ones, for which CBPside was made without it, it changes nothing, as
        all observers are neighbours.
    norm
        As for :class:`partial_monitoring.CBP`.
    allow_outside
        Play contexts that are hard by themselves without ``forced``, too.

    Notes
    -----
    Contexts are finite games, or show numbers of which each value is a symbol (0 and 1). Their
    losses may differ; each must be learnable by what it shows itself. Actions that can be best or
    observe are played once before the rule applies. Decisions that contradict each other are
    dropped.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.contextual_apple_tasting()
    >>> theta = [0.1, 0.9, 0.1, 1.0]
    >>> result = pm.simulate(game, "cbpside", theta, horizon=200, seeds=4)
    >>> bool((result.regret["cbpside"] < 100).all())
    True
    """

    needs: ClassVar[Needs] = Needs(contexts=True, duels=False)
    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="finite feedback linear in contexts; each context learnable by itself",
        guarantee="O(n^(1/2) log n) on easy games",
        cost="O(k q (q + m)) operations; a linear program for a new pattern of signs",
        reference="Bartok and Szepesvari (2012)",
    )

    features: ArrayLike | None = None
    width: str = "paper"
    alpha: float = 1.01
    regularization: float = 0.05
    forced: bool = True
    norm: str = "sup"
    allow_outside: bool = False

    def __post_init__(self) -> None:
        check_features(self)
        validation.one_of("width", self.width, tuple(WIDTHS))
        validation.positive_number("alpha", self.alpha)
        validation.positive_number("regularization", self.regularization)
        validation.boolean("forced", self.forced)
        validation.one_of("norm", self.norm, NORMS)
        validation.boolean("allow_outside", self.allow_outside)

    def init(self, game: ContextualGame, replicates: int) -> SideState:
        from partial_monitoring.numerics.compiled import play_side

        refuse(self, game)
        own = shape_of(game, type(self).__name__, self.norm)
        if own.hard is not None and not (self.forced or self.allow_outside):
            raise InvalidInput(
                f"{type(self).__name__} with forced=False plays easy contexts, which "
                f"{brief(game.contexts[own.hard])} is not by itself; pass forced=True, or "
                f"allow_outside=True to play anyway."
            )
        x = given_features(game, self.features)
        x = np.ascontiguousarray(features_of_maps(game) if x is None else x)
        sizes = np.linalg.norm(own.vectors, WIDTHS[self.width], axis=3)
        shape = play_side.Shape(
            features=x,
            vectors=np.array(own.vectors),
            sizes=sizes,
            weights=sizes.max(axis=1, initial=0.0),
            useful=own.useful,
            rows=own.rows,
            pairs=own.pairs,
            chances=own.chances,
        )
        n, k, q = replicates, game.k, x.shape[1]
        triangle = np.zeros((n, k, q, q))
        triangle[:, :, np.arange(q), np.arange(q)] = np.sqrt(self.regularization)
        sums = np.zeros((n, k, own.vectors.shape[3], q))
        plays, rounds = np.zeros((n, k), dtype=np.int64), np.ones(n, dtype=np.int64)
        return SideState(ContextPatterns(own), shape, rounds, plays, triangle, sums)

    def decide(
        self,
        state: SideState,
        uniforms: Array,
        available: Array | None = None,
        context: Indices | Any = None,
    ) -> Choices:
        from partial_monitoring.numerics.compiled import play_side

        if available is not None:
            raise InvalidInput(
                f"available cannot be given with {type(self).__name__}, which compares all actions."
            )
        rule, scratch = self._rule(state), self._scratch(state)
        scratch.context[:] = listed_context(self, context)
        if rule.draws:
            scratch.uniforms[:] = uniforms
        known = play_side.State(state.triangle, state.sums, state.plays)
        action = np.empty(len(state.round), dtype=np.int64)
        play_side.consider_all(state.shape, rule, known, scratch, state.round)
        met = [state.patterns.numbers(signs) for signs in (scratch.drawn, scratch.certain)]
        table = state.patterns.table
        play_side.choose_all(state.shape, rule, table, known, scratch, state.round, *met, action)
        return Choices(action, point_mass(action, state.plays.shape[1]), index=scratch.index)

    def update(
        self, state: SideState, action: Indices, observation: Array, context: Indices | Any = None
    ) -> SideState:
        from partial_monitoring.numerics.compiled import play_side

        scratch = self._scratch(state)
        scratch.context[:] = listed_context(self, context)
        scratch.shown[:] = observation[:, : scratch.shown.shape[1]]
        triangle, sums, plays = state.triangle.copy(), state.sums.copy(), state.plays.copy()
        known = play_side.State(triangle, sums, plays)
        play_side.learn_all(state.shape, known, scratch, np.array(action, dtype=np.int64))
        return replace(state, round=state.round + 1, plays=plays, triangle=triangle, sums=sums)

    def program(self, state: SideState) -> SideProgram:
        """Return rounds in compiled code, from the initial state."""
        if type(self) not in (CBPside, RandCBPside):
            raise NotCompiled(f"{type(self).__name__} has no compiled rounds")
        return SideProgram(state, self._rule(state), self._scratch(state))

    def _rule(self, state: SideState) -> Any:
        from partial_monitoring.numerics.compiled import play_side

        return play_side.Rule(
            width=tuple(WIDTHS).index(self.width),
            alpha=float(self.alpha),
            regularization=float(self.regularization),
            forced=bool(self.forced),
            draws=0,
            spread=1.0,
            levels=2,
            top=0.5,
            tied=1.0 - TIE,
        )

    def _scratch(self, state: SideState) -> Any:
        from partial_monitoring.numerics.compiled import play_side

        n, k, symbols, q = state.sums.shape
        signs = np.zeros((n, 2 + state.shape.vectors.shape[1]), dtype=np.int8)
        return play_side.Scratch(
            line=np.zeros((n, q)),
            chances=np.zeros((n, k, symbols)),
            square=np.zeros((n, k)),
            bound=np.zeros((n, k)),
            factor=np.zeros((n, k)),
            certain=signs,
            drawn=signs.copy(),
            uniforms=np.zeros((n, k)),
            context=np.zeros(n, dtype=np.int64),
            started=np.zeros(n, dtype=np.int64),
            shown=np.zeros((n, state.patterns.shape.game.m)),
            index=np.zeros((n, k)),
        )


@dataclass(frozen=True)
class RandCBPside(CBPside):
    """CBPside with random widths, which decides much earlier and still explores enough.

    Parameters
    ----------
    features, width, alpha, regularization, forced, norm, allow_outside
        As for :class:`CBPside`. With ``forced`` it is what its authors call RandCBPside*.
    spread, levels, top
        Z_a of every action is one of ``levels`` equally spaced numbers from 0 to that of CBPside:
        the last with probability ``top``, z below it in proportion to exp(-z^2 / (2 spread^2)).

    Notes
    -----
    Random decisions often contradict each other. Then the certain ones, those of CBPside, stand.
    The distribution of a decision is given the Z that were drawn, so it is all on one action.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.contextual_apple_tasting()
    >>> theta = [0.1, 0.9, 0.1, 1.0]
    >>> result = pm.simulate(game, "randcbpside", theta, horizon=200, seeds=4)
    >>> bool((result.regret["randcbpside"] < 60).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="finite feedback linear in contexts; each context learnable by itself",
        guarantee="O(n^(1/2) log n) on easy, O(n^(2/3) log n) on hard games",
        cost="O(k q (q + m)) operations; a linear program for a new pattern of signs",
        reference="Heuillet, Ahmad and Durand (2024)",
    )

    spread: float = 1.0
    levels: int = 5
    top: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.positive_number("spread", self.spread)
        validation.whole_number("levels", self.levels, at_least=2, at_most=10_000)
        if not 0 < validation.real_number("top", self.top) < 1:
            raise InvalidInput(f"top must lie between 0 and 1; got {brief(self.top)}.")

    def draws(self, state: SideState) -> int:
        """Return the number of uniform numbers that a round needs."""
        return int(state.plays.shape[1])

    program = CBPside.program

    def _rule(self, state: SideState) -> Any:
        return (
            super()
            ._rule(state)
            ._replace(
                draws=self.draws(state),
                spread=float(self.spread),
                levels=int(self.levels),
                top=float(self.top),
            )
        )


class SideProgram:
    """Compiled rounds; a replicate that meets a new pattern waits until it is solved."""

    def __init__(self, state: SideState, rule: Any, scratch: Any) -> None:
        from partial_monitoring.numerics.compiled import play_side

        self.patterns, self.shape = state.patterns, state.shape
        self.rule, self.scratch = rule, scratch
        self.state = play_side.State(state.triangle.copy(), state.sums.copy(), state.plays.copy())

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        from partial_monitoring.numerics.compiled import play_side

        own, scratch = reached[first:last], self.scratch
        while own.min() < stop:
            place = world, totals, reached, stop, first, last
            table = self.patterns.table
            play_side.play(*place, self.shape, self.rule, table, self.state, scratch)
            stopped = first + np.flatnonzero(own < stop)
            if len(stopped):
                self.patterns.numbers(
                    np.concatenate([scratch.drawn[stopped], scratch.certain[stopped]])
                )

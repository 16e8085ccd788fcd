"""ExpByOpt: exponential weights whose exploration and estimates solve a convex program.

Lattimore and Szepesvari, "Exploration by optimisation in partial monitoring" (COLT 2020). The
competing actions A get exponential weights q of their estimated losses; what is played, p, and how
losses are estimated, G, minimise a bound of the regret (see ``exploration``):

    q_t ~ exp(-eta_t sum_{s<t} yhat_s),   yhat_t = G_t(A_t, symbol) / p_t(A_t),
    eta_t = min(eta_max, (log |A| / (1 + sum_{s<t} max(V_s, 0)))^(1/2)),

where V_s is the exact value of the program at what was played. For every sequence of outcomes the
regret is at most log |A| / eta_n + sum_t eta_t V_t, whether or not (p, G) is optimal.
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
from partial_monitoring.policies.finite.exploration import ESTIMATES, Solutions, solutions_of
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, probability_or_nan
from partial_monitoring.policies.promise import Promise, practical
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class ExpByOptState:
    """What ExpByOpt knows after some rounds, and what it plays next."""

    solutions: Solutions
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    scores: Array
    """Sums of the estimated losses of A, shape (n, a)."""
    spent: Array
    """The sum of the values V where they are positive, shape (n,)."""
    chances: Array
    """p of the playable actions, shape (n, g)."""
    weights: Array
    """G, shape (n, symbols, a)."""
    value: Array
    """V_q(eta) at (p, G), shape (n,)."""

    @property
    def known(self) -> Any:
        """What is learned, as compiled loops see it."""
        from partial_monitoring.numerics.compiled import play_exploration

        return play_exploration.State(
            self.scores, self.spent, self.chances, self.weights, self.value
        )

    def copy(self) -> ExpByOptState:
        """Return a state whose arrays can be changed."""
        names = ("scores", "spent", "chances", "weights", "value")
        return replace(self, **{name: getattr(self, name).copy() for name in names})


@dataclass(frozen=True)
class ExpByOpt:
    """Exponential weights that explore as a convex program finds best, against any outcomes.

    Parameters
    ----------
    estimates
        "bounded": estimated losses are at most 1/eta, so that estimates vary little; against random
        outcomes this mostly loses least. "free": any, which comes closer to the least bound of the
        regret, above all when one action has nearly all of the weight.
    spacing
        Programs are solved on a grid of the weights and the learning rate, in steps of this size of
        their logarithms, and solutions are interpolated. None: 0.5 with up to three competing
        actions, else 1.

    Notes
    -----
    A program is solved when a run first meets a corner of its cell of the grid, once for all runs
    of a game: in 1000 rounds of 100 seeds together about 200 programs with two competing actions,
    2000 to 3000 with three, 10,000 with five, of about a millisecond each. The value of an
    interpolated solution is mostly within 5 % of that of a solution of its own; the learning rate
    is computed from its exact value, so that the bound of the regret holds as it is. The constants
    of the adaptive rate are not known to be the paper's; eta_max is at most 1 / (2 g) for g
    playable actions. Weights below 1e-7 are raised to it.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.apple_tasting()
    >>> result = pm.simulate(game, "exp_by_opt", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["exp_by_opt"] < 60).all())
    True
    """

    weighted: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(finite=True, contexts=False)
    card: ClassVar[Card] = Card(
        setting="adversarial",
        games="finite, globally observable",
        guarantee="O((n log k)^(1/2)) on easy games, O(n^(2/3)) on hard ones",
        cost="O(k m |A|^2) operations; now and then a cone program, shared by all seeds",
        reference="Lattimore and Szepesvari (COLT 2020)",
    )

    estimates: str = "bounded"
    spacing: float | None = None

    def __post_init__(self) -> None:
        validation.one_of("estimates", self.estimates, tuple(ESTIMATES))
        if self.spacing is None:
            return
        if not 0.05 <= validation.positive_number("spacing", self.spacing) <= 2.0:
            raise InvalidInput(
                f"spacing must lie between 0.05 and 2; got {validation.brief(self.spacing)}."
            )

    def init(self, game: FiniteGame, replicates: int) -> ExpByOptState:
        refuse(self, game)
        solutions = solutions_of(game, type(self).__name__, self.estimates, self.spacing)
        own, n = solutions.program, replicates
        a, g, rows = len(own.competing), len(own.played), len(own.owner)
        state = ExpByOptState(
            solutions,
            np.ones(n, dtype=np.int64),
            scores=np.zeros((n, a)),
            spent=np.zeros(n),
            chances=np.zeros((n, g)),
            weights=np.zeros((n, rows, a)),
            value=np.zeros(n),
        )
        refreshed(solutions, state.known, scratch(solutions, n))
        return state

    def decide(
        self, state: ExpByOptState, uniforms: Array, available: Array | None = None
    ) -> Choices:
        from partial_monitoring.numerics.compiled import play_exploration

        if available is not None:
            raise InvalidInput(
                "available cannot be given with ExpByOpt, which plans with all actions."
            )
        n, shape = len(state.round), state.solutions.shape
        action, distribution = np.empty(n, dtype=np.int64), np.zeros((n, len(shape.place)))
        numbers = np.ascontiguousarray(uniforms, dtype=float)
        play_exploration.draw_all(shape, state.known, numbers, action, distribution)
        return Choices(action, distribution)

    def update(
        self,
        state: ExpByOptState,
        action: Indices,
        observation: Array,
        probability: Array | None = None,
    ) -> ExpByOptState:
        from partial_monitoring.numerics.compiled import play_exploration

        moved, shape = replace(state.copy(), round=state.round + 1), state.solutions.shape
        shown = np.ascontiguousarray(observation, dtype=float)
        drawn = probability_or_nan(probability, len(action))
        play_exploration.learn_all(shape, moved.known, np.asarray(action), shown, drawn)
        refreshed(state.solutions, moved.known, scratch(state.solutions, len(action)))
        return moved

    def program(self, state: ExpByOptState) -> Rounds:
        """Return rounds in compiled code, from the initial state."""
        return Rounds(state)

    def promise(self, game: AnyGame | None) -> Promise:
        """Return what is proven for programs that are solved exactly in every round."""
        return practical(
            "with programs solved in every round instead of interpolated ones, regret is of order "
            "n^(1/2) on easy and n^(2/3) on hard games against any outcomes"
        )


class Rounds:
    """Compiled rounds; a replicate that meets a new point of the grid waits until it is solved."""

    def __init__(self, state: ExpByOptState) -> None:
        self.solutions, self.state = state.solutions, state.copy().known
        self.scratch = scratch(state.solutions, len(state.round))
        self.scratch.pending[:] = False

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        """Play replicates ``first`` to before ``last`` until round ``stop``."""
        from partial_monitoring.numerics.compiled import play_exploration

        own, shape = self.solutions, self.solutions.shape
        while True:
            play_exploration.play(
                world,
                totals,
                reached,
                stop,
                first,
                last,
                shape,
                own.table,
                self.state,
                self.scratch,
            )
            stopped = first + np.flatnonzero(reached[first:last] < stop)
            if len(stopped) == 0:
                return
            own.add(wanted(self.scratch, stopped))


def refreshed(solutions: Solutions, known: Any, room: Any) -> None:
    """Find out what all replicates play next, and solve the programs that this takes."""
    from partial_monitoring.numerics.compiled import play_exploration

    while not play_exploration.refresh_all(solutions.shape, solutions.table, known, room):
        solutions.add(wanted(room, np.flatnonzero(room.pending)))


def wanted(room: Any, replicates: Indices) -> Any:
    """Return the points of the grid (n, a) that replicates need."""
    corners, parts = room.corners[replicates], room.parts[replicates]
    return np.unique(corners[parts > 0.0], axis=0)


def scratch(solutions: Solutions, n: int) -> Any:
    """Return room for n replicates, which all have to find out what to play."""
    from partial_monitoring.numerics.compiled import play_exploration

    own = solutions.program
    a = len(own.competing)
    return play_exploration.Scratch(
        q=np.zeros((n, a)),
        corners=np.zeros((n, a + 1, a), dtype=np.int16),
        parts=np.zeros((n, a + 1)),
        fractions=np.zeros((n, a)),
        costs=np.zeros((n, len(own.owner))),
        shown=np.zeros((n, own.geometry.game.m)),
        pending=np.ones(n, dtype=bool),
    )

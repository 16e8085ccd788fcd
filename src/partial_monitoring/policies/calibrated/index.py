"""The anticipating index: explore where what is learned saves more than it costs, and cheaply.

For games that show signals. In each context let g be the best Pareto action at the estimate. For
every other Pareto action b, R_b says by how many standard deviations it is behind (the root of
twice the likelihood that is lost at the best point where the two tie), and s_b how large one is
beyond the tie. If rewards were normal, b would be expected to be better than g by s_b psi(R_b) per
round, and one observation of an action that shows the share rho_b(a) of what is unknown about the
tie would take s_b phi(R_b) rho_b(a) / 2 off that. So

    worth(a) = sum_b s_b phi(R_b) (1 + R_b^2 / damping)^(-damping) rho_b(a)

is what one play of a saves in every later round, up to calibration; with contexts it is averaged
over them. Over the rounds to come it saves

    saved(a) = weight (t + rounds)^rate worth(a).

The horizon is unknown: as many rounds again are expected as were played, and some more. An action
pays if it saves no less than it costs now, saved(a) >= mean_g - mean_a. To find out takes the more
rounds, the less is shown in each, and in each of them the cost is lost, and what is lost anyway
until it is known which action is best: at most doubt = sum_b s_b psi(R_b) is expected, averaged
over contexts. So of the actions that pay, and g, play the one with the largest

    saved(a) / (mean_g - mean_a + doubt),

what is saved per unit lost, as in the inverse of an information ratio, but without a square. What g
itself shows comes without a price, and is waited for as long as it shows enough. No random numbers
are used.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.later import attribute
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.profile.model import signal_model
from partial_monitoring.estimation.profile.state import ProfileState, scratch
from partial_monitoring.estimation.state import Pending, some_action
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.numerics import compiled
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices
from partial_monitoring.policies.program import ByThread, Rounds, bound
from partial_monitoring.validation import Array, Indices, brief

WEIGHT, ROUNDS, RATE = 0.0075, 1500.0, 1.75
"""The constants of the rule, chosen once for all games, as the damping was: on the standard games
of ``benchmarks/regret.py``, so that regret is low after 10,000 rounds and few runs are still wrong
after 100,000. Random games, drawn afterwards, and the named games confirm them."""

SERVES = 0.5
"""What is forgotten serves as if at most this many half-lives had been played; chosen, with the
weights of ``estimation.forgetting``, on switching and still truths of apple tasting and pricing.
Larger values notice a switch a little sooner, but cost more in a still world: 4 more than twice
the regret of no forgetting on apple tasting."""

SHOWN = schedules.deviations(2.0)
"""The confidence set that is reported."""

MOST_ON_DEVICE = 20_000
"""Largest number of entries of matrices in the memory of a thread of a GPU."""


@dataclass(frozen=True)
class AnticipatingIndex:
    """Explore where what is learned saves more than it costs, and cheaply; games with signals."""

    needs: ClassVar[Needs] = Needs()

    def init(self, game: AnyGame, replicates: int) -> ProfileState:
        refuse(self, game)
        model = signal_model(game)
        if model is None:
            raise InvalidInput(f"game must show signals, and not too many; got {brief(game)}.")
        return ProfileState.initial(model, replicates)

    def decide(
        self,
        state: ProfileState,
        uniforms: Array,
        available: Array | None = None,
        context: Indices | None = None,
    ) -> Choices:
        model, n = state.model, len(state.round)
        own = model.contexts(context, n)
        positions, pareto = model.positions, model.rivals.pareto
        if available is not None:
            mask = np.asarray(available, dtype=bool)
            positions, pareto = np.where(mask, positions, -1), pareto.copy()
            some_action(positions[own] >= 0)
            for z in np.unique(own).tolist():
                rivals, group = model.available(z, mask), slice(*model.groups[z : z + 2])
                state = state.refreshed(own == z, rivals)
                pareto[group] = rivals.pareto[group]
        action, (costs, saved, mu) = np.zeros(n, dtype=np.int64), np.zeros((3, n, model.game.k))
        rule, known = _rule(model.forgetting.half_life), (state.means, state.worth, state.doubt)
        compiled.index.decide_each(
            rule, positions, pareto, state.round, own, *known, action, costs, saved, mu
        )
        return Choices(
            action,
            mu,
            lambda: model.unit * costs,
            lambda: model.unit * saved,
            estimate=attribute(state, "estimate"),
            index=lambda: _index(costs, saved, state.doubt),
            decided_by="savings",
        )

    def update(
        self,
        state: ProfileState,
        action: Indices,
        observation: Array,
        context: Indices | None = None,
    ) -> ProfileState:
        return state.after(action, observation, context)

    def update_often(
        self,
        state: ProfileState,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Indices | None = None,
    ) -> ProfileState | None:
        """Return the state after each observation came often (n,) times; weights must be 1."""
        if (weight != 1.0).any() or state.model.forgetting.active:
            return None
        return state.after_often(action, observation, often, context)

    def expecting(
        self, state: ProfileState, pending: Pending, context: Indices | None = None
    ) -> ProfileState:
        return state.expecting(pending, context)

    def program(self, state: ProfileState) -> IndexProgram:
        """Return the rule in compiled code, from a state on."""
        return IndexProgram(state)

    def confidence_set(self, state: ProfileState, context: Indices | None = None) -> Ellipsoid:
        """Return two standard deviations around the most likely parameter, for a status."""
        return state.confidence(SHOWN, context)


def _index(costs: Array, saved: Array, doubt: Array) -> Array:
    """Return what actions (n, k) save per unit lost with them; -inf for those that do not pay.

    What looks best is not asked to. It has 0 if nothing is left to save.
    """
    lost = costs + doubt
    found = np.divide(saved, lost, out=np.zeros(saved.shape), where=lost > 0.0)
    return np.where((costs > 0.0) & (saved < costs), -np.inf, found)


@cache
def _rule(half_life: float | None) -> Any:
    """Return the constants of the rule for compiled functions."""
    from partial_monitoring.numerics.compiled.index import Rule

    return Rule(WEIGHT, ROUNDS, RATE, np.inf if half_life is None else SERVES * half_life, 0.0)


class IndexProgram:
    """The anticipating index in compiled code; no random numbers are used but those of probes."""

    def __init__(self, state: ProfileState) -> None:
        self.actions, self.known = state.model.table, state.known()
        self.rule = _rule(state.model.forgetting.half_life)
        self._shown = state.model.game.m
        self._threads = ByThread()

    def probing(self, share: float) -> Self:
        """Return the program that plays a share of uniform actions as well."""
        found = copy(self)
        found.rule, found._threads = self.rule._replace(probe=share), ByThread()
        return found

    @property
    def states(self) -> tuple[Any, ...]:
        """What differs between replicates, as named tuples of arrays."""
        return (self.known,)

    @property
    def constants(self) -> tuple[Any, ...]:
        """What they share."""
        return (self.actions,)

    def kernel(self, world: Any, totals: Any) -> Any:
        """Return the loops for a GPU."""
        from partial_monitoring.numerics.cuda.play_index import kernel_for

        table, (_, contexts) = self.actions, self.known.seen.shape
        (actions, r), s, k = table.slopes.shape, len(table.base), table.positions.shape[1]
        if r == 0:
            raise InvalidInput("nothing can be learned in this game; play it on the processor.")
        if (3 * r + actions) * r > MOST_ON_DEVICE:
            raise InvalidInput("the game has too many actions for a GPU; play it on the processor.")
        return kernel_for(self.rule, contexts, actions, r, s, r + len(table.extra), k, self._shown)

    def scratch(self) -> Any:
        """Return room for the numbers of one round of one replicate."""
        return scratch(self.actions, self._shown)

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        self._threads.of(self._bound, world, totals, reached)(stop, first, last)

    def _bound(self, *run: Any) -> Rounds:
        from partial_monitoring.numerics.compiled import play_index

        own = self.actions, self.known, self.rule, self.scratch(), np.zeros(0, dtype=bool)
        return bound(play_index.play, run, own)

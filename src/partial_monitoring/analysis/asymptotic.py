"""How much regret no good policy avoids in the long run: the constant of log n.

Komiyama, Honda and Nakagawa, "Regret lower bound and optimal algorithm in finite stochastic partial
monitoring" (NeurIPS 2015): a policy whose regret is below every power of n on every distribution of
outcomes plays action a about r_a log n times, and the rates r must tell theta from every
distribution for which its best action j would be wrong,

    C(theta) = min sum_a r_a gap_a
    subject to   sum_{a != j} r_a KL(S_a theta | S_a q) >= 1
    for all q with  S_j q = S_j theta  and  <l_c, q> <= <l_j, q>  for some action c.

The actions c are the neighbours of j, whose cell has no other facets. Duplicates of j cost nothing
and are played as often as j, so that q must look like theta to all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partial_monitoring import games, validation
from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.analysis.classify import analyze
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.validation import Array, Indices, brief, frozen

PRECISION = 1e-7
"""Relative distance of the bounds that the search aims at."""

ACCEPTED = 1e-5
"""The largest relative distance of the bounds that is accepted."""

TIED = 1e-9
"""Actions whose expected losses differ by less, relative to the largest difference, are tied."""


class AsymptoticConstant(float):
    """The constant C(theta) (a number), with the rates that attain it and the proof."""

    leader: int
    """The best action under theta."""
    rates: Array
    """r, shape (k,): the leader and its duplicates have rate 0; NaN if no rates suffice."""
    rivals: Array
    """The distributions q whose constraints are active, shape (q, d)."""
    weights: Array
    """y, shape (q,), with sum_q y_q KL(S_a theta | S_a q) <= gap_a for all a: so C >= sum y."""
    gap: float
    """Relative difference of the value of the rates, which are feasible, and sum y."""

    def __new__(
        cls, value: float, leader: int, rates: Array, rivals: Array, weights: Array, gap: float
    ) -> AsymptoticConstant:
        self = super().__new__(cls, value)
        self.leader, self.rates, self.rivals = leader, rates, rivals
        self.weights, self.gap = weights, gap
        return self

    @property
    def value(self) -> float:
        """The constant as a plain number."""
        return float(self)


@dataclass(frozen=True, eq=False)
class Rivals:
    """The neighbours of every action of a finite game, as compiled functions read them.

    Arrays are not marked read-only: functions would be compiled once more for these.
    """

    analysis: Analysis
    game: FiniteGame

    @cached_property
    def unit(self) -> float:
        """The largest difference between the losses of two actions in one outcome."""
        return float(np.ptp(self.game.rewards, axis=0).max()) or 1.0

    @cached_property
    def losses(self) -> Array:
        """In units of the largest difference, shape (k, d)."""
        rewards = self.game.rewards
        return np.ascontiguousarray((rewards.max(axis=0) - rewards) / self.unit)

    @cached_property
    def symbols(self) -> Indices:
        """The symbol that each action shows in each outcome, shape (k, d)."""
        return np.ascontiguousarray(self.game.observation_maps.argmax(axis=1))

    @cached_property
    def groups(self) -> Indices:
        """The first duplicate of each action, shape (k,)."""
        first = np.arange(self.game.k)
        for group in self.analysis.cells.duplicates:
            first[list(group)] = min(group)
        return first

    @cached_property
    def neighbors(self) -> list[list[int]]:
        """The neighbours of each action without duplicates; none of actions that are no best."""
        found: list[list[int]] = [[] for _ in range(self.game.k)]
        chosen = set(self.analysis.representatives)
        for a, b in self.analysis.neighbors:
            if a in chosen and b in chosen:
                found[a].append(b)
                found[b].append(a)
        return found

    @cached_property
    def starts(self) -> Indices:
        """Where the rows of each action begin in ``halves``, shape (k + 1,)."""
        return np.cumsum([0, *map(len, self.neighbors)])

    @cached_property
    def halves(self) -> Array:
        """l_c - l_j for the neighbours c of each action j, scaled to size 1, shape (h, d)."""
        rows = [
            self.losses[c] - self.losses[j] for j, own in enumerate(self.neighbors) for c in own
        ]
        table = np.array(rows).reshape(-1, self.game.d)
        return np.ascontiguousarray(table / np.abs(table).max(axis=1, keepdims=True))


def asymptotic_constant(game: FiniteGame | str, theta: Array) -> AsymptoticConstant:
    """Return the constant C(theta) of a finite game, in its units: regret is at least C log n.

    Parameters
    ----------
    game
        A finite game, or its name in ``pm.games``.
    theta
        The distribution of outcomes, shape (d,), under which one action (with its duplicates) is
        best.

    Returns
    -------
    AsymptoticConstant
        A number, with ``leader``, ``rates``, and the proof: ``rivals`` and ``weights`` bound it
        from below and ``gap`` is the relative difference. It is 0 if the leader shows all that
        matters, and infinite if no feedback tells theta from a distribution where it is not best.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> found = pm.asymptotic_constant(pm.games.apple_tasting(), [0.6, 0.4])
    >>> f"{found:.3f}", found.leader, found.rates.round(2).tolist()
    ('9.933', 1, [49.66, 0.0])
    """
    known: Any = games.named(game)
    if not known.traits.finite:
        raise InvalidInput(
            f"asymptotic_constant needs a finite game (pm.FiniteGame); got {brief(game)}."
        )
    return _constant(known, theta)


def _constant(game: FiniteGame, theta: Array) -> AsymptoticConstant:
    """Return the constant of a finite game."""
    from partial_monitoring.numerics.compiled import exploration
    from partial_monitoring.numerics.compiled.rival_system import Signals

    truth = validation.real_array("theta", theta, (game.d,))
    if not game.parameters.contains(truth):
        raise InvalidInput(f"theta must be a distribution over {game.d} outcomes; got {truth}.")
    shape = Rivals(analyze(game), game)
    expected = shape.losses @ truth
    leader = int(shape.groups[expected.argmin()])
    gaps, held = expected - expected.min(), shape.groups == leader
    tied = np.flatnonzero(~held & (gaps <= TIED))
    if len(tied):
        raise InvalidInput(
            f"theta must have one best action; actions {brief(game.actions[leader])} and "
            f"{brief(game.actions[tied[0]])} are both best."
        )
    k, d = game.k, game.d
    none, halves = np.zeros(k), shape.halves[shape.starts[leader] : shape.starts[leader + 1]]
    nothing = AsymptoticConstant(0.0, leader, none, np.empty((0, d)), np.empty(0), 0.0)
    if len(halves) == 0:
        return nothing
    targets = np.ascontiguousarray(game.observation_maps @ truth)
    signals = Signals(shape.symbols, targets, none)
    rates, work = np.where(held, 0.0, 1.0), exploration.work(k, game.m, d)
    ended, lower, upper, count = exploration.explore(
        signals, none, gaps, held, False, halves, PRECISION, rates, work
    )
    if ended == exploration.NO_RIVALS:
        return nothing
    if ended == exploration.IMPOSSIBLE:
        rival = work.rivals[:1].copy()
        return AsymptoticConstant(np.inf, leader, np.full(k, np.nan), rival, np.ones(1), 0.0)
    count -= 1  # the last constraint is one that no plays violate
    if ended == exploration.FAILED or upper - lower > ACCEPTED * upper:
        raise SolverError("the rates of exploration were not found to the precision asked for.")
    return AsymptoticConstant(
        upper * shape.unit,
        leader,
        frozen(rates),
        frozen(work.rivals[:count].copy()),
        frozen(work.shares[:count] * shape.unit),
        (upper - lower) / upper,
    )

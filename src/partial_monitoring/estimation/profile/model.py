"""A game whose observations are signals, as its likelihood sees it.

A signal is a value that one entry of an observation can take: a symbol of a finite game, 0 or 1 of
a Bernoulli trial, -1 or 1 of a duel. Its probability is an affine function of theta. In coordinates
x, theta = theta_0 + W x with W the directions that the observations distinguish,

    p_i(x) = base_i + <rows_i, x>.

The actions of all contexts are in one list, each context a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.cells import ParetoActions
from partial_monitoring.estimation.linear.design import Design, design
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, Indices, frozen

MASS = 2.5
"""The prior weighs that many plays of every action that shows something of its own. With two, an
action with two signals has a uniform distribution of their probability."""

MOST_SIGNALS = 1000
"""Largest number of signals of all actions."""


class Signals(NamedTuple):
    """What all actions can show."""

    first: Indices
    """Where the signals of each action start, then R, shape (K + 1,)."""
    source: Indices
    """The entry of the observation that shows each signal, shape (R,)."""
    scale: Array
    shift: Array
    """scale y + shift is 1 if the entry y shows the signal and 0 if not; the probability of the
    signal is the same function of the mean of the entry. Shape (R,) each."""
    rows: Array
    base: Array
    """The probabilities of all signals, base + rows x; shapes (R, r) and (R,)."""
    prior: Array
    """Pseudo-counts of all signals: plays of every action at theta_0, shape (R,). Where several
    actions show the same they share them: what is assumed does not grow with their number."""


@dataclass(frozen=True, eq=False)
class SignalModel:
    """The actions of a game and their signals, in all its contexts."""

    games: tuple[Game, ...]
    """One per context."""
    joint: Game
    """The actions of all contexts as one game."""
    groups: Indices
    """Where the actions of each context start, then K, shape (contexts + 1,)."""
    positions: Indices
    """From (context, action of the whole game) to the list of all actions; -1 where the context
    does not offer it. Shape (contexts, k)."""
    slopes: Array
    """Features in the coordinates x, shape (K, r)."""
    offsets: Array
    """Rewards at theta_0, shape (K,)."""
    signals: Signals
    chances: Array
    """The distribution of the contexts, shape (contexts,)."""

    @cached_property
    def pareto(self) -> NDArray[np.bool_]:
        """The Pareto actions of each context, the first of duplicates, shape (K,)."""
        return np.concatenate([_pareto(own) for own in self.games])

    @cached_property
    def design(self) -> Design:
        """All actions as least squares sees them, for what a status reports."""
        return design(self.joint)

    @lru_cache(maxsize=256)  # noqa: B019 (models are few, and kept as long as their states)
    def available_pareto(self, context: int, available: bytes) -> NDArray[np.bool_]:
        """Return the Pareto actions if in one context only some of its actions are available.

        They are a mask over the actions of the whole game (k,), as bytes.
        """
        mask, found = np.frombuffer(available, dtype=bool), self.pareto.copy()
        start, stop = self.groups[context : context + 2]
        offered = self.positions[context, mask]
        own = offered[offered >= 0]
        found[start:stop] = False
        found[own] = _pareto(self.games[context].restricted(own - start))
        return found


def signal_model(game: AnyGame) -> SignalModel | None:
    """Return the signals of a game; None if it shows other things than signals, or very many."""
    if game.traits.function or not game.traits.listed:
        return None
    whole: Any = game
    contexts = game.traits.contexts
    games: tuple[Game, ...] = tuple(whole.games) if contexts else (whole,)
    kinds = {own.feedback().chances for own in games}
    if len(kinds) > 1 or not all(kinds):
        return None
    counts = [own.k for own in games]
    groups = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    positions = np.full((len(games), game.k), -1)
    for z, own in enumerate(games):
        numbers = whole.positions(z) if contexts else np.arange(own.k)
        positions[z, numbers] = groups[z] + np.arange(own.k)
    joint = _joint(games) if contexts else games[0]
    reduced = joint.reduced
    signals = _signals(joint, kinds.pop())
    if len(signals.base) > MOST_SIGNALS or (signals.base <= 0.0).any():
        return None
    return SignalModel(
        games,
        joint,
        groups,
        positions,
        frozen(np.ascontiguousarray(joint.features @ reduced.basis)),
        frozen(joint.features @ reduced.center),
        signals,
        np.asarray(whole.context_distribution) if contexts else np.ones(1),
    )


def _joint(games: Sequence[Game]) -> Game:
    """Return the actions of all contexts as one game."""
    features = np.concatenate([own.features for own in games])
    maps = [own.rows(a) for own in games for a in range(own.k)]
    noise = np.concatenate([np.broadcast_to(own.noise_std, own.k) for own in games])
    return Game(features, maps, games[0].parameters, noise)


def _signals(game: Game, kinds: tuple[tuple[float, float], ...]) -> Signals:
    """Return the signals of all actions, each entry with the given kinds of values.

    The entries of a finite game are the symbols of one trial, those of other games are trials of
    their own. An action with a single symbol shows nothing.
    """
    one_trial = len(kinds) == 1
    first, source, scale, shift, trials = [0], [], [], [], 0
    vectors: list[Array] = []
    for a in range(game.k):
        own = game.rows(a)
        if one_trial and len(own) == 1:
            own = own[:0]
        for entry, row in enumerate(own):
            for factor, constant in kinds:
                source.append(entry)
                scale.append(factor)
                shift.append(constant)
                vectors.append(factor * row)
        trials += min(len(own), 1) if one_trial else len(own)
        first.append(len(source))
    reduced = game.reduced
    stacked = np.array(vectors).reshape(len(source), game.d)
    rows, base = stacked @ reduced.basis, stacked @ reduced.center + np.array(shift)
    plays = MASS * rows.shape[1] / max(len(source) - trials, 1)
    return Signals(
        np.array(first),
        np.array(source, dtype=np.int64),
        np.array(scale, dtype=float),
        np.array(shift, dtype=float),
        np.ascontiguousarray(rows),
        base,
        plays * base,
    )


def _pareto(game: Game) -> NDArray[np.bool_]:
    """Return which actions are Pareto and the first of their duplicates, shape (k,)."""
    found = ParetoActions(game)
    return np.array([found.is_first(a) and a in found for a in range(game.k)])

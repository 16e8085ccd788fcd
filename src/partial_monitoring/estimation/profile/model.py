"""A game whose observations are signals, as its likelihood sees it.

A signal is a value that one entry of an observation can take: a symbol of a finite game, 0 or 1 of
a Bernoulli trial, -1 or 1 of a duel. Its probability is an affine function of theta. In coordinates
x, theta = theta_0 + W x with W the directions that the observations distinguish,

    p_i(x) = base_i + sign_i <e_i, x>,

where signals whose probabilities rise and fall together share a direction e_i. The actions of all
contexts are in one list, each context a group. Rewards are measured from those of the first action
of their context, in a unit of about their own size: nothing depends on either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.cells import ParetoActions
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.forgetting import REMEMBERING, Forgetting
from partial_monitoring.estimation.linear.design import Design, design
from partial_monitoring.estimation.profile.ties import ties
from partial_monitoring.model.alike import Alike
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, Indices, frozen

if TYPE_CHECKING:
    from partial_monitoring.numerics.compiled.profile import Table

MASS = 3.75
"""The prior weighs as much as this many plays of every action that shows something of its own. With
two, and two signals, their estimated probabilities would be those of Laplace's rule."""

DAMPING = 3.0
"""How much less than by the normal distribution a comparison counts that is nearly sure."""

GROWTH = 0.002
"""An estimate is brought up to date when the plays of an action have grown by this fraction."""

MOST_SIGNALS = 1000
"""Largest number of signals of all actions."""

NEARLY_PARALLEL = 1e-7
"""A direction this close to the span of others, relative to their size, is no axis."""

ROUNDING = 1e-12
"""A coordinate of a direction below this is taken for zero."""

MANY = 50
"""Of more actions than this, those that are clearly best somewhere are found without programs."""

CLEAR = 1e-6
"""By how much they lead there, relative to how much rewards differ."""

MOST_MASKS = 256
"""Number of sets of available actions whose Pareto actions are remembered."""


class Signals(NamedTuple):
    """What all actions can show: s signals in e directions."""

    first: Indices
    """Where the signals of each action start, then s, shape (K + 1,)."""
    source: Indices
    """The entry of the observation that shows each signal, shape (s,)."""
    scale: Array
    shift: Array
    """scale y + shift is 1 if the entry y shows the signal and 0 if not; the probability of the
    signal is the same function of the mean of the entry. Shape (s,) each."""
    extra: Array
    """The directions in which probabilities change, without the first r, which are those of the
    coordinates: shape (e - r, r)."""
    alone: NDArray[np.bool_]
    """Which coordinates are zero in all of these, shape (r,)."""
    direction: Indices
    """The direction of each signal, shape (s,)."""
    sign: Array
    """1 if its probability rises in this direction, -1 if it falls, shape (s,)."""
    base: Array
    """The probabilities at theta_0, shape (s,)."""
    prior: Array
    """Pseudo-counts of all signals: plays of every action at theta_0, shape (s,). Where several
    actions show the same they share them: what is assumed does not grow with their number."""


class Rivals(NamedTuple):
    """The actions that can be best in their context."""

    pareto: NDArray[np.bool_]
    """Which actions are Pareto, and the first of their duplicates, shape (K,)."""
    inside: Array
    """Coordinates of a point inside the cell of each of them, shape (K, r)."""


FOUND: WeakKeyDictionary[AnyGame, Rivals] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SignalModel:
    """The actions of a game and their signals, in all its contexts."""

    game: AnyGame
    games: tuple[Game, ...]
    """One per context."""
    joint: Game
    """The actions of all contexts as one game."""
    groups: Indices
    """Where the actions of each context start, then K, shape (contexts + 1,)."""
    positions: Indices
    """From (context, action of the whole game) to the list of all actions; -1 where the context
    does not offer it. Shape (contexts, k)."""
    axes: Array
    """A x: the coordinates x in the basis W of the game, shape (r, r)."""
    unit: float
    """The unit of rewards, a power of two."""
    slopes: Array
    """How rewards depend on the coordinates x, shape (K, r)."""
    offsets: Array
    """Rewards at theta_0, shape (K,)."""
    signals: Signals
    chances: Array
    """The distribution of the contexts, shape (contexts,)."""
    forgetting: Forgetting = REMEMBERING
    """How fast signals that were counted lose weight."""

    @cached_property
    def rivals(self) -> Rivals:
        """The Pareto actions of each context, found once for a game: it takes a few ms."""
        if (found := FOUND.get(self.game)) is None:
            found = Rivals(np.zeros(len(self.offsets), dtype=bool), np.zeros(self.slopes.shape))
            for z, own in enumerate(self.games):
                self._decide(found, own, np.arange(self.groups[z], self.groups[z + 1]))
            FOUND[self.game] = found
        return found

    @cached_property
    def table(self) -> Table:
        """The same, as compiled functions take it."""
        from partial_monitoring.numerics.compiled.profile import Table

        rewards = self.slopes, self.offsets, self.groups, self.positions, self.chances
        keep, memory, fade = self.forgetting.keep, self.forgetting.memory, self.forgetting.fade
        period = max(int(GROWTH / (1.0 - keep)), 1) if keep < 1.0 else memory
        constants = self.unit, GROWTH, DAMPING
        forgetting = self.signals.prior, keep, memory, period, fade
        every: tuple[Any, ...] = *self.signals[:-1], *rewards, *self.rivals, *constants, *forgetting
        return Table(*every)

    @cached_property
    def withholds(self) -> bool:
        """Whether a context does not offer all actions."""
        return bool((self.positions < 0).any())

    @cached_property
    def _masks(self) -> dict[tuple[int, bytes], Rivals]:
        """The Pareto actions among available ones, by context and mask."""
        return {}

    @cached_property
    def design(self) -> Design:
        """All actions as least squares sees them, for what a status reports."""
        return replace(design(self.joint), forgetting=self.forgetting)

    def contexts(self, context: Indices | None, replicates: int) -> Indices:
        """Return the contexts of all replicates (n,), which are 0 in a game without any."""
        if context is None and self.game.traits.contexts:
            raise InvalidInput("context must be given, the game has contexts.")
        return np.zeros(replicates, dtype=np.int64) if context is None else np.asarray(context)

    def available(self, context: int, mask: NDArray[np.bool_]) -> Rivals:
        """Return the Pareto actions if in one context only some of its actions are available.

        They are a mask over the actions of the whole game (k,).
        """
        key = context, mask.tobytes()
        if (known := self._masks.get(key)) is not None:
            return known
        start, stop = self.groups[context : context + 2]
        chosen = self.positions[context, mask]
        left = np.sort(chosen[chosen >= 0])
        pareto = self.rivals.pareto.copy()
        pareto[start:stop] = False
        pareto[left] = self.rivals.pareto[left]
        found = Rivals(pareto, self.rivals.inside.copy())
        if not pareto[left].all():  # without the others, some of these may have become Pareto
            game = self.games[context].restricted((left - start).tolist())
            self._decide(found, game, left)
        if len(self._masks) >= MOST_MASKS:
            self._masks.clear()
        self._masks[key] = found
        return found

    def _decide(self, found: Rivals, game: Game, places: Indices) -> None:
        """Fill in which actions of a game are Pareto, given their places in the list of all."""
        if game.k > MANY:
            clear, points = _clearly_best(game)
            new = clear & ~found.pareto[places]
            found.pareto[places[new]] = True
            found.inside[places[new]] = self._coordinates(points[new])
        if found.pareto[places].all():
            return
        cells = ParetoActions(game)
        for a, place in enumerate(places.tolist()):
            if found.pareto[place]:  # it stays so among fewer actions
                continue
            found.pareto[place] = cells.is_first(a) and a in cells
            if found.pareto[place]:
                found.inside[place] = self._coordinates(cells.inside(a))

    def parameter(self, x: Array) -> Array:
        """Return the parameters theta (..., d) of coordinates x (..., r)."""
        reduced = self.joint.reduced
        return np.asarray(reduced.center + x @ self.axes.T @ reduced.basis.T)

    def _coordinates(self, theta: Array) -> Array:
        """Return points (..., d) as (..., r), moved to theta_0 until probabilities are > 0."""
        reduced, signals = self.joint.reduced, self.signals
        x = (theta - reduced.center) @ reduced.basis @ self._measures
        along = np.concatenate([x, x @ signals.extra.T], axis=-1)
        change = signals.sign * along[..., signals.direction]
        fall = (-change / signals.base).max(axis=-1, initial=0.0, keepdims=True)
        return np.asarray(np.where(fall < 1.0, x, x * (0.99 / np.maximum(fall, 1.0))))

    @cached_property
    def _measures(self) -> Array:
        """What turns the coordinates of the basis W (..., r) into x, shape (r, r)."""
        return np.asarray(np.linalg.inv(self.axes).T)


def signal_model(game: AnyGame, forgetting: Forgetting = REMEMBERING) -> SignalModel | None:
    """Return the signals of a game; None if it shows other things than signals, or very many."""
    if game.traits.function or not game.traits.listed:
        return None
    whole: Any = game
    contexts = game.traits.contexts
    games: tuple[Game, ...] = tuple(whole.games) if contexts else (whole,)
    kinds = {own.feedback().chances for own in games}
    if len(kinds) > 1 or not all(kinds):
        return None
    if sum(sum(own.row_counts) for own in games) * len(kind := kinds.pop()) > MOST_SIGNALS:
        return None
    counts = [own.k for own in games]
    groups = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    positions = np.full((len(games), game.k), -1)
    for z, own in enumerate(games):
        numbers = whole.positions(z) if contexts else np.arange(own.k)
        positions[z, numbers] = groups[z] + np.arange(own.k)
    joint = _joint(games) if contexts else games[0]
    signals, axes = _signals(joint, kind, whole.alike if contexts else None)
    if (signals.base <= 0.0).any():
        return None
    reduced = joint.reduced
    features = joint.features - np.repeat(joint.features[groups[:-1]], counts, axis=0)
    largest = float(np.abs(features).max(initial=0.0))
    unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0.0 else 1.0
    return SignalModel(
        game,
        games,
        joint,
        groups,
        positions,
        axes,
        unit,
        frozen(np.ascontiguousarray((features / unit) @ reduced.basis @ axes)),
        frozen((features / unit) @ reduced.center),
        signals,
        np.asarray(whole.context_distribution) if contexts else np.ones(1),
        forgetting,
    )


def _joint(games: Sequence[Game]) -> Game:
    """Return the actions of all contexts as one game."""
    features = np.concatenate([own.features for own in games])
    maps = [own.rows(a) for own in games for a in range(own.k)]
    noise = np.concatenate([np.broadcast_to(own.noise_std, own.k) for own in games])
    return Game(features, maps, games[0].parameters, noise)


def _signals(
    game: Game, kind: tuple[tuple[float, float], ...], alike: Alike | None = None
) -> tuple[Signals, Array]:
    """Return the signals of all actions, whose entries have the given kind of values, and A.

    The entries of a finite game are the symbols of one trial, those of other games are trials of
    their own. An action with a single symbol shows nothing. Signals that only a prior on parts of
    theta that are alike has seen come last.
    """
    one_trial = len(kind) == 1
    first, source, scale, shift, trials = [0], [], [], [], 0
    vectors: list[Array] = []
    for a in range(game.k):
        own = game.rows(a)
        if one_trial and len(own) == 1:
            own = own[:0]
        for entry, row in enumerate(own):
            for factor, constant in kind:
                source.append(entry)
                scale.append(factor)
                shift.append(constant)
                vectors.append(factor * row)
        trials += min(len(own), 1) if one_trial else len(own)
        first.append(len(source))
    reduced = game.reduced
    stacked = np.array(vectors).reshape(len(source), game.d)
    base = stacked @ reduced.center + np.array(shift)
    plays = MASS * reduced.rank / max(len(source) - trials, 1)
    prior = plays * base
    if alike is not None:
        rows, weights, factors = ties(alike, stacked, plays / base)
        stacked, prior = np.concatenate([stacked, rows]), np.concatenate([factors * prior, weights])
        base = np.concatenate([base, np.full(len(rows), 0.5)])
        for unused in (source, scale, shift):
            unused.extend([0] * len(rows))
    directions, direction, sign = _shared(stacked @ reduced.basis)
    directions, numbers = _axes_first(directions)
    axes: Array = np.asarray(np.linalg.inv(directions[: reduced.rank]))
    extra = directions[reduced.rank :] @ axes
    extra[np.abs(extra) < ROUNDING] = 0.0
    signals = Signals(
        np.array(first),
        np.array(source, dtype=np.int64),
        np.array(scale, dtype=float),
        np.array(shift, dtype=float),
        extra,
        (extra == 0.0).all(axis=0),
        numbers[direction],
        sign,
        base,
        prior,
    )
    return signals, axes


def _shared(rows: Array) -> tuple[Array, Indices, Array]:
    """Return rows (s, r) as a few directions (e, r), with the number and the sign of each's own."""
    size = float(np.abs(rows).max(initial=0.0)) or 1.0
    rounded = np.column_stack([np.round(rows / size, 11), np.ones(len(rows))])
    leading = np.take_along_axis(rounded, (rounded != 0).argmax(axis=1)[:, None], axis=1)
    sign = np.where(leading[:, 0] < 0, -1.0, 1.0)
    keys = sign[:, None] * rounded[:, :-1] + 0.0  # no negative zeros
    _, where, direction = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    directions = np.ascontiguousarray(sign[where, None] * rows[where])
    return directions, direction.reshape(-1).astype(np.int64), sign


def _axes_first(rows: Array) -> tuple[Array, Indices]:
    """Return directions (e, r) with r independent ones first, and where each of them is now.

    They are chosen one by one, each the farthest from the span of those before, so that the others
    are combinations of them with small coefficients. What is nearly parallel to others is not
    chosen; axes that no signal changes along take its place.
    """
    e, r = rows.shape
    if e == r and (rows != 0).sum(axis=0).max(initial=0) <= 1:  # they are orthogonal already
        return rows, np.arange(e)
    size = float(np.abs(rows).max(initial=0.0))
    rows = np.concatenate([rows, NEARLY_PARALLEL * size * np.eye(r)])
    left, order = rows.copy(), []
    for _ in range(r):
        lengths = np.linalg.norm(left, axis=1)
        order.append(int(lengths.argmax()))
        axis = left[order[-1]] / lengths[order[-1]]
        left -= np.outer(left @ axis, axis)
    order = sorted(order)
    order += sorted({*range(e)}.difference(order))
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.arange(len(order))
    return rows[order], place[:e]


def _clearly_best(game: Game) -> tuple[NDArray[np.bool_], Array]:
    """Return actions (k,) that are seen to be best at a point inside of Theta, and points (k, d).

    From the middle of Theta the point of an action goes to where it gains most on the average of
    all, three quarters of a way that stays in Theta.
    """
    reduced, features = game.reduced, game.features
    away = (features - features.mean(axis=0)) @ reduced.difference_basis
    away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-300)
    steps = away @ reduced.difference_basis.T * min(game.parameters.diameter(), 1e3)
    for _ in range(60):
        out = ~game.parameters.contains(reduced.center + steps)
        if not out.any():
            break
        steps[out] *= 0.5
    points = reduced.center + 0.75 * steps
    rewards = points @ features.T
    own = rewards.diagonal().copy()
    spread = np.ptp(rewards, axis=1)
    np.fill_diagonal(rewards, -np.inf)
    return np.asarray(own > rewards.max(axis=1, initial=-np.inf) + CLEAR * spread), points

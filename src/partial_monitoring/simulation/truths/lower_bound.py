"""The constructions behind the lower bounds of the classes: two truths that are hard to tell apart.

Two neighbours a and b are equally good on the common face of their cells. From a point theta_0
inside the face the truth moves by +eps v or -eps v to where one of them is better:

* easy games: v is any direction. After n rounds with eps = c n^(-1/2) no policy can be sure of the
  sign, so it loses of the order n eps = n^(1/2).
* hard games: a and b are not locally observable, and no action that is good near theta_0 (none of
  the neighbourhood) shows a difference along v. The others cost a constant and have to be played
  eps^(-2) times. With eps = c n^(-1/3) the regret is of the order n^(2/3) either way.
* hopeless games: no action at all shows v. With constant eps regret is linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.analysis.cells import Pair
from partial_monitoring.analysis.classify import analyze
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import row_space
from partial_monitoring.simulation.truths.kinds import Among, Truth
from partial_monitoring.validation import Array, brief, positive_number, whole_number

POWERS = {"easy": 1 / 2, "hard": 1 / 3, "hopeless": 0.0}
"""The truths of n rounds differ by a multiple of n to minus this power."""

NOTHING = 1e-9
"""Differences of rewards along v below this share of the largest reward difference are rounding."""


class Direction(NamedTuple):
    """Where two neighbours are equally good, and what makes one of them better."""

    center: Array
    """theta_0, shape (d,)."""
    direction: Array
    """v, shape (d,)."""
    gained: float
    """How much the two rewards differ along v."""


@dataclass(frozen=True, eq=False)
class TwoPoints(Among):
    """One of two truths that are hard to tell apart, by the seed."""

    @property
    def name(self) -> str:
        return "lower_bound"


@dataclass(frozen=True, eq=False)
class LowerBound(Truth):
    """The construction of the class of a game that is not known yet."""

    size: float = 1.0
    horizon: int | None = None
    pair: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        return "lower_bound"

    def prepared(self, game: AnyGame, horizon: int) -> Truth:
        rounds = horizon if self.horizon is None else self.horizon
        return TwoPoints(two_points(game, rounds, self.size, self.pair), np.full(2, 0.5))


def lower_bound(
    game: Any = None,
    horizon: int | None = None,
    *,
    size: float = 1.0,
    pair: tuple[Any, Any] | None = None,
) -> Truth:
    """Two truths that no policy can tell apart in time: the lower bound of the game's class.

    Each seed meets one of the two, theta_0 + eps v or theta_0 - eps v, with the same probability,
    where theta_0 is in the middle of the common face of two neighbours; eps is a multiple of
    n^(-1/2) in easy games, of n^(-1/3) in hard ones, and constant in hopeless ones. Everything is
    computed from ``pm.analyze``.

    Parameters
    ----------
    game, horizon
        The finite game and the number n of rounds; those of the simulation unless given. The
        truths of a given game are its ``parameters``.
    size
        eps is size n^(-1/2) (or n^(-1/3), or 1), but never so large that a third action is best, or
        half of the way there. v has the length 1 in the metric of outcomes: sum_x v_x^2 / theta_0x.
    pair
        The two neighbours, by label or number; unless given those that differ most along v.

    Notes
    -----
    Easy games: v is the direction in which the two rewards differ most. Hard games: the same among
    the directions that the actions of their neighbourhood cannot see. Hopeless games: among those
    that no action can see. Regret is that of a fixed truth.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> pm.truths.lower_bound(pm.games.apple_tasting(), 10_000).parameters
    array([[0.495, 0.505],
           [0.505, 0.495]])
    """
    positive_number("size", size)
    if horizon is not None:
        horizon = whole_number("horizon", horizon, at_least=1)
    if pair is not None and (not isinstance(pair, tuple | list) or len(pair) != 2):
        raise InvalidInput(f"pair must be two actions; got {brief(pair)}.")
    given = LowerBound(float(size), horizon, None if pair is None else (pair[0], pair[1]))
    if game is None:
        return given
    if horizon is None:
        raise InvalidInput("horizon must be given with a game; got None.")
    return given.prepared(game, horizon)


def two_points(game: Any, horizon: int, size: float, pair: tuple[Any, Any] | None) -> Array:
    """Return theta_0 + eps v and theta_0 - eps v, shape (2, d)."""
    if not isinstance(game, AnyGame) or not game.traits.finite or game.traits.contexts:
        raise InvalidInput(
            f"lower bounds are constructed for finite games without contexts; got {brief(game)}."
        )
    return _two_points(game, horizon, size, pair)


def _two_points(game: Any, horizon: int, size: float, pair: tuple[Any, Any] | None) -> Array:
    analysis = analyze(game)
    if analysis.category == "trivial":
        raise InvalidInput("a trivial game has no lower bound: one action is best for every theta.")
    known = {own: _direction(game, analysis, own) for own in _pairs(analysis, game, pair)}
    best = max(known, key=lambda own: known[own].gained)
    center, direction, gained = known[best]
    if gained <= NOTHING * np.ptp(game.rewards):
        raise InvalidInput(
            f"pair must be neighbours that make the game {analysis.category}; got {brief(pair)}."
        )
    room = _room(game, analysis, best, center, direction)
    step = min(size * horizon ** -POWERS[analysis.category], room / 2)
    return np.stack([center + step * direction, center - step * direction])


def _pairs(analysis: Analysis, game: Any, pair: tuple[Any, Any] | None) -> list[Pair]:
    """Return the neighbours that make the game belong to its class, or those that are given."""
    if pair is not None:
        a, b = sorted(game.action_index(own) for own in pair)
        if (a, b) not in analysis.neighbors:
            raise InvalidInput(f"pair must be two neighbours; got {brief(pair)}.")
        return [(a, b)]
    if analysis.category == "hopeless":
        return [own for own in analysis.neighbors if own in analysis.unobservable]
    if analysis.category == "hard":
        return [own for own in analysis.neighbors if not analysis.local_readings[own].seen]
    return list(analysis.neighbors)


def _direction(game: Any, analysis: Analysis, pair: Pair) -> Direction:
    """Return where and in which direction the truths of two neighbours differ."""
    blind = {"easy": (), "hard": analysis.cells.faces[pair].neighborhood}
    hidden = blind.get(analysis.category, range(game.k))
    center = _center(game, analysis, pair)
    apart = game.rewards[pair[0]] - game.rewards[pair[1]]
    # In the coordinates v_x / theta_x^(1/2) the metric of outcomes is that of the plane.
    scale = np.sqrt(center)
    rows = [np.ones(game.d), *(row for c in hidden for row in game.rows(c))]
    seen = row_space(np.array(rows) * scale)
    best = apart * scale
    best = best - seen @ (seen.T @ best)
    length = float(np.linalg.norm(best))
    return Direction(center, scale * best / (length or 1.0), length)


def _center(game: Any, analysis: Analysis, pair: Pair) -> Array:
    """Return the middle of the common face: the point farthest from all that bounds it."""
    a, b = pair
    rewards, d = game.rewards, game.d
    near = analysis.cells.faces[pair].neighborhood
    better = np.array([rewards[a] - rewards[c] for c in range(game.k) if c not in near])
    better = better.reshape(-1, d)
    lengths = np.linalg.norm(better, axis=1)
    matrix = np.block(
        [
            [np.ones((1, d)), np.zeros((1, 1))],
            [(rewards[a] - rewards[b])[None], np.zeros((1, 1))],
            [np.eye(d), -np.ones((d, 1))],
            [better, -lengths[:, None]],
        ]
    )
    low = np.concatenate([[1.0, 0.0], np.zeros(d + len(better))])
    high = np.concatenate([[1.0, 0.0], np.full(d + len(better), np.inf)])
    none, most = np.zeros(d + 1), np.ones(d + 1)
    found = conic.LinearProgram(matrix, low, high, none, most).maximize(np.append(np.zeros(d), 1.0))
    if found is None or found.point[-1] <= 0:
        raise SolverError("the middle of a face was not found.")
    return np.asarray(found.point[:-1] / found.point[:-1].sum())


def _room(game: Any, analysis: Analysis, pair: Pair, center: Array, direction: Array) -> float:
    """Return how far the truth can move either way before a third action or an edge is reached."""
    rewards, near = game.rewards, analysis.cells.faces[pair].neighborhood
    rows = [rewards[own] - rewards[c] for c in range(game.k) if c not in near for own in pair]
    limits = np.vstack([np.eye(game.d), *rows])  # all must stay positive
    slack, change = limits @ center, np.abs(limits @ direction)
    moved = change > NOTHING * np.abs(change).max()
    return float((slack[moved] / change[moved]).min())

"""All actions of all possible contexts, as the actions of one plain game.

The observations of all contexts together are those of this game, so spans over contexts are
computed, and checked in exact arithmetic, like those of a plain game. Its cells have no meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partial_monitoring.analysis.cells import floats
from partial_monitoring.analysis.contextual.alignment import possible_contexts
from partial_monitoring.analysis.coordinates import (
    LocalCoordinates,
    all_actions,
    local_coordinates,
)
from partial_monitoring.analysis.exact import ExactGame
from partial_monitoring.analysis.observability import Certificate
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.numerics.rational import Rational, scaled
from partial_monitoring.validation import Array

PARALLEL = 2e-8
"""In floating point, a reward difference off by more than this fraction of its size is another one.
Above the tolerance of cells, so that what ties almost is not excluded for lack of an advantage."""


@dataclass(frozen=True, eq=False)
class JointGame:
    """A plain game whose actions are pairs of a possible context and one of its actions."""

    game: Game
    places: tuple[tuple[int, int], ...]
    """(context, action) of every action."""
    exact: ExactGame | None
    """In integers, if all data are rational and every context rounds them to the same fractions."""

    @cached_property
    def index(self) -> dict[tuple[int, int], int]:
        """The position of each (context, action)."""
        return {place: i for i, place in enumerate(self.places)}

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """The actions of every context, as actions of this game."""
        found: dict[int, list[int]] = {}
        for i, (z, _) in enumerate(self.places):
            found.setdefault(z, []).append(i)
        return found

    def same(self, other: JointGame) -> bool:
        """Whether two joint games are the same, in the same numbers."""
        return (
            same_game(self.game, other.game)
            and self.places == other.places
            and (self.exact is None) == (other.exact is None)
        )

    def informs(self, context: int) -> bool:
        """Whether anything about the parameter can be observed in a context."""
        own = self.members[context]
        if self.exact is not None:
            return bool(self.exact.map_rows[own].any())
        shown = np.linalg.norm(self.game.reduced.observation_maps[own], axis=2)
        raw = np.linalg.norm(self.game.observation_maps[own], axis=2)
        return bool((shown > RANK_TOLERANCE * raw).any())

    def tied(self, pair: tuple[int, int], action: int) -> list[int]:
        """Return the actions of one context that earn what an action earns where a pair ties.

        Rewards agree on the hyperplane of the tie iff their difference is a multiple of that of the
        pair. The actions are those of the context of the given action, itself included.
        """
        own = self.members[self.places[action][0]]
        if self.exact is not None:
            line = self.exact.lines
            step = line[pair[1]] - line[pair[0]]
            j = int(np.flatnonzero(step)[0])
            away = {c: line[c] - line[action] for c in own}
            return [c for c in own if not (away[c] * step[j] - step * away[c][j]).any()]
        chart = self._chart
        line = np.column_stack([chart.offsets, chart.slopes])
        step = line[pair[1]] - line[pair[0]]
        away = line[own] - line[action]
        rest = away - np.outer(away @ step / (step @ step), step)
        size = np.abs(away).max(axis=1, initial=0.0)
        slack = PARALLEL * size + chart.noise[own] + chart.noise[action]
        same = np.abs(rest).max(axis=1, initial=0.0) <= slack
        return [c for c, alike in zip(own, same, strict=True) if alike]

    @cached_property
    def _chart(self) -> LocalCoordinates:
        return local_coordinates(self.game)


@dataclass(frozen=True, eq=False)
class JointCertificate:
    """Whether the observations of all contexts reveal the difference of two actions of one."""

    context: int
    first: int
    second: int
    places: tuple[tuple[int, int], ...]
    """(context, action) of every observer."""
    reading: Certificate
    """The proof, in exact numbers where the data are rational."""

    @property
    def seen(self) -> bool:
        """Whether the difference can be observed at all."""
        return self.reading.seen

    @property
    def weights(self) -> dict[tuple[int, int], Array] | None:
        """Coefficients of the observations, by (context, action); None if they do not suffice."""
        if self.reading.weights is None:
            return None
        pairs = zip(self.places, floats(self.reading.weights), strict=True)
        return {place: own for place, own in pairs if own.any()}

    @property
    def blind(self) -> Array | None:
        """A direction of the parameter that changes the difference and no observation."""
        return None if self.reading.blind is None else floats(self.reading.blind)


def same_game(one: Game, other: Game) -> bool:
    """Whether two plain games have the same rewards, observations and parameter set."""
    return one is other or (
        np.array_equal(one.features, other.features)
        and np.array_equal(one.observation_maps, other.observation_maps)
        and one.parameters is other.parameters
    )


def joint_game(game: ContextualGame) -> JointGame:
    """Return the plain game of all actions of the possible contexts."""
    possible = possible_contexts(game)
    places = tuple((z, c) for z in possible for c in range(game.at(z).k))
    joint = all_actions([game.at(z) for z in possible])
    return JointGame(joint, places, _exact(game, joint, possible))


def _exact(game: ContextualGame, joint: Game, possible: list[int]) -> ExactGame | None:
    """Return the game in integers, unless a context alone has other fractions for its numbers."""
    exact = ExactGame.of(joint)
    if exact is None:
        return None
    start = 0
    for z in possible:
        own = ExactGame.of(game.at(z))
        if own is None:
            return None
        end = start + game.at(z).k
        maps, width = exact.maps, own.maps.numerators.shape[1]
        alike = _same(
            Rational(exact.features[start:end], exact.feature_denominator),
            Rational(own.features, own.feature_denominator),
        ) and _same(Rational(maps.numerators[start:end, :width], maps.denominator), own.maps)
        if not alike:
            return None
        start = end
    return exact


def _same(one: Rational, other: Rational) -> bool:
    left = scaled(one.numerators, other.denominator)
    return bool((left == scaled(other.numerators, one.denominator)).all())

"""The cells, neighbours and estimation vectors of every context, and what patterns of signs leave.

In context z the signs of the comparisons of neighbours leave actions, as in a finite game without
contexts (``policies.finite``); the tables here are those of all contexts together, with actions
numbered over all of them. A context whose rows are numbers with few values, such as 0 and 1, is a
finite game as well: each value of each row is a symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.parameter_sets import AllParameters
from partial_monitoring.policies.finite.estimation import estimation_vectors
from partial_monitoring.policies.finite.geometry import Geometry, geometry
from partial_monitoring.policies.finite.patterns import ROOM, Patterns
from partial_monitoring.policies.needs import analysis_of
from partial_monitoring.validation import Array, Indices, brief, frozen

Chances = Sequence[tuple[float, float]]

BASE = 100
"""Patterns begin with the number of their context, as two digits of this base."""


@dataclass(frozen=True, eq=False)
class Shape:
    """What algorithms need to know about the contexts of a game; symbols are padded to M."""

    game: ContextualGame
    geometries: tuple[Geometry, ...]
    """One per context; the same object for contexts that are the same."""
    chances: Array
    """Of symbol j of a row with mean y: chances[j, 0] y + chances[j, 1], shape (values, 2)."""

    @cached_property
    def vectors(self) -> Array:
        """v, shape (contexts, pairs, k, M), M = values times rows."""
        count, k, rows = len(self.geometries), self.game.k, self.game.m
        most = max(len(own.pairs) for own in self.geometries)
        found = np.zeros((count, most, k, len(self.chances), rows))
        for z, own in enumerate(self.geometries):
            for local, a in enumerate(self.game.positions(z)):
                seen = self.game.games[z].row_count(local)
                used = own.vectors[:, local, : len(self.chances) * seen]
                shape = (len(own.pairs), len(self.chances), seen)
                found[z, : len(own.pairs), a, :, :seen] = used.reshape(shape)
        return frozen(found.reshape(count, most, k, len(self.chances) * rows))

    @cached_property
    def rows(self) -> Indices:
        """The number of rows that each action shows, shape (contexts, k)."""
        found = np.zeros((len(self.geometries), self.game.k), dtype=np.int64)
        for z, own in enumerate(self.game.games):
            found[z, self.game.positions(z)] = [own.row_count(a) for a in range(own.k)]
        return found

    @cached_property
    def pairs(self) -> Indices:
        """The number of pairs of neighbours, shape (contexts,)."""
        return np.array([len(own.pairs) for own in self.geometries])

    @cached_property
    def useful(self) -> NDArray[np.bool_]:
        """The actions that can be best or observe some pair, shape (contexts, k)."""
        found = np.zeros((len(self.geometries), self.game.k), dtype=bool)
        for z, own in enumerate(self.geometries):
            found[z, self.game.positions(z)] = own.useful
        return found

    @property
    def hard(self) -> int | None:
        """The first context that is not locally observable by itself, if there is one."""
        categories = [own.analysis.category for own in self.geometries]
        return next((z for z, c in enumerate(categories) if c not in ("trivial", "easy")), None)


class ContextPatterns:
    """What patterns of signs leave in their contexts, each considered once.

    A row of signs (2 + pairs,) begins with the number of its context. The first patterns of the
    table decide nothing, one for each context. Threads may share it; copies start anew.
    """

    def __init__(self, shape: Shape) -> None:
        from partial_monitoring.numerics.compiled.sign_table import Table

        self.shape = shape
        self._own: dict[Geometry, Patterns] = {own: Patterns(own) for own in shape.geometries}
        k, width = shape.game.k, 2 + shape.vectors.shape[1]
        self.table = Table(
            slots=np.full(2 * ROOM, -1, dtype=np.int64),
            signs=np.zeros((ROOM, width), dtype=np.int8),
            left=np.zeros((ROOM, 0), dtype=bool),
            candidates=np.zeros((ROOM, k), dtype=bool),
            observers=np.zeros((ROOM, k), dtype=bool),
            consistent=np.zeros(ROOM, dtype=bool),
            known=0,
        )
        self._adding = RLock()
        empty = np.zeros((len(shape.geometries), width), dtype=np.int8)
        empty[:, 0], empty[:, 1] = np.divmod(np.arange(len(empty)), BASE)
        self.numbers(empty)

    def __reduce__(self) -> tuple[Any, ...]:
        return ContextPatterns, (self.shape,)

    def numbers(self, signs: NDArray[np.int8]) -> Indices:
        """Return the numbers of patterns (n, 2 + pairs) in the table, (n,), and add new ones."""
        from partial_monitoring.numerics.compiled import sign_table

        found = np.empty(len(signs), dtype=np.int64)
        with self._adding:
            for i in range(len(signs)):
                found[i] = sign_table.find(self.table, signs, i)
                if found[i] < 0:
                    found[i] = self._add(signs[i])
        return found

    def _add(self, signs: NDArray[np.int8]) -> int:
        from partial_monitoring.numerics.compiled import sign_table

        if self.table.known == len(self.table.consistent):
            self.table = sign_table.grown(self.table)
        table, number = self.table, self.table.known
        z = BASE * int(signs[0]) + int(signs[1])
        own, count = self.shape.geometries[z], int(self.shape.pairs[z])
        candidates, observers, consistent = self._own[own].masks(signs[None, 2 : 2 + count])
        places = self.shape.game.positions(z)
        table.candidates[number, places] = candidates[0]
        table.observers[number, places] = observers[0]
        table.consistent[number] = consistent[0]
        table.signs[number] = signs
        table.slots[sign_table.slot_of(table, number, table.signs, number)] = number
        self.table = table._replace(known=number + 1)
        return number


def shape_of(game: ContextualGame, policy: str, norm: str) -> Shape:
    """Return the shape of a game, or refuse it in the name of a policy.

    It must show symbols, and every context must be learnable by itself.
    """
    chances = game.feedback().chances
    if not chances:
        raise InvalidInput(
            f"{policy} plays contexts with finite feedback: finite games, or numbers that are 0 or "
            f"1 (noise='bernoulli') or signs; got {brief(game)}."
        )
    if len(game.contexts) > BASE**2:
        raise InvalidInput(f"{policy} plays at most {BASE**2} contexts; got {len(game.contexts)}.")
    found: dict[tuple[bytes, bytes], Geometry] = {}
    geometries = []
    for z, own in enumerate(game.games):
        key = own.features.tobytes(), own.observation_maps.tobytes()
        if key not in found:
            found[key] = _geometry(own, game.contexts[z], chances, policy, norm)
        geometries.append(found[key])
    return Shape(game, tuple(geometries), np.array(chances))


def _geometry(game: Game, context: str, chances: Chances, policy: str, norm: str) -> Geometry:
    """Return the geometry of one context, or refuse one that is hopeless by itself."""
    analysis: Analysis = analysis_of(game)
    if analysis.category == "hopeless":
        a, b = next(p for p, reading in analysis.global_readings.items() if not reading.seen)
        raise InvalidInput(
            f"{policy} learns in each context by itself; what context {brief(context)} shows "
            f"cannot tell its actions {brief(game.actions[a])} and {brief(game.actions[b])} apart."
        )
    if game.traits.finite:
        return geometry(game, policy, norm)  # type: ignore[arg-type]
    return geometry_of_values(game, analysis, chances, norm)


def geometry_of_values(game: Game, analysis: Analysis, chances: Chances, norm: str) -> Geometry:
    """Return the geometry of a game whose rows take few values, each of which is a symbol.

    On Theta the chances of symbols and the losses are affine: theta = center + Q x, so they are
    linear in (x, 1), where the estimation vectors are found.
    """
    reduced, losses = game.reduced, -game.features
    maps = []
    for c in range(game.k):
        rows, own = game.row_count(c), reduced.observation_maps[c]
        means = np.column_stack([own[:rows], game.observation_maps[c, :rows] @ reduced.center])
        one = np.eye(means.shape[1])[-1]
        maps.append(np.concatenate([scale * means + shift * one for scale, shift in chances]))
    width = reduced.dimension + 1
    lines = np.column_stack([reduced.features, reduced.offsets])
    lifted = Game(lines, maps, AllParameters(width), actions=game.actions)
    apart = (losses[:, None] - losses[None]).reshape(-1, game.d)
    unit = float(np.max(game.parameters.support(apart))) or 1.0
    actions = analysis.representatives
    pairs = [(a, b) for a, b in analysis.neighbors if a in actions and b in actions]
    vectors = np.zeros((len(pairs), game.k, lifted.m))
    for i, (a, b) in enumerate(pairs):
        local = analysis.local_readings[a, b].seen
        near = analysis.cells.faces[a, b].neighborhood if local else range(game.k)
        shown = np.abs(reduced.observation_maps).max(axis=(1, 2), initial=0.0) > RANK_TOLERANCE
        seeing = [c for c in near if c in actions or shown[c]]
        vectors[i] = estimation_vectors(lifted, (lines[b] - lines[a]) / unit, seeing, norm)
    return Geometry(analysis, tuple(actions), tuple(pairs), frozen(vectors), unit)

"""Cells, their neighbours and neighbourhoods (section 4.1), each with its proof."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.advantage import Advantage, AdvantageProgram, advantage_program
from partial_monitoring.analysis.coordinates import LocalCoordinates, local_coordinates
from partial_monitoring.analysis.exact import ExactGame, Proof
from partial_monitoring.display import counted
from partial_monitoring.errors import SolverError
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import halved
from partial_monitoring.numerics.rational import Rational
from partial_monitoring.validation import Array

TOLERANCE = 1e-8
"""Without exact arithmetic an advantage below this fraction of the largest one is a tie."""

_LOCK = Lock()
"""Runs in several threads ask about the same actions."""

Numbers = Rational | Array
"""Exact numbers where the data are rational, floats otherwise."""

Pair = tuple[int, int]
"""Two actions (a, b) with a < b."""


def floats(numbers: Numbers) -> Array:
    """Return exact or floating-point numbers as floats."""
    return numbers.floats() if isinstance(numbers, Rational) else numbers


@dataclass(frozen=True, eq=False)
class Cell:
    """The set of parameters for which one action is best, and why it is what it is."""

    kind: str
    """ "pareto" (full dimension), "degenerate" (lower dimension) or "dominated" (empty)."""
    advantage: float
    """By how much the action can beat all others, between -1 and 1."""
    witness: Numbers | None
    """A parameter where it is best (up to duplicates uniquely, if Pareto)."""
    mixture: Numbers | None
    """Weights of the other actions, (k,), that are at least as good everywhere."""


@dataclass(frozen=True, eq=False)
class Face:
    """What two Pareto actions have in common, and why."""

    pair: Pair
    """The pair for which it was decided: the first actions of two duplicate classes."""
    neighbors: bool
    advantage: float
    """By how much both together can beat all actions outside their neighbourhood."""
    witness: Numbers | None
    """A parameter where both are equally good and better than all outside the neighbourhood."""
    mixture: Numbers | None
    """Weights of other actions that are at least as good wherever the two tie."""
    tie_weight: object
    """The multiple of r_a - r_b that has to be added to prove that."""
    neighborhood: tuple[int, ...]
    """N_ab: the actions whose reward lies on the segment between the two."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cell decomposition of a game."""

    cells: tuple[Cell, ...]
    duplicates: tuple[tuple[int, ...], ...]
    """Classes of two or more actions that earn the same everywhere."""
    faces: dict[Pair, Face]
    """Every pair a < b of Pareto actions that are no duplicates."""
    exact: bool
    """Whether every entry was decided in exact arithmetic."""

    def of_kind(self, kind: str) -> list[int]:
        """Return the actions whose cell is of the given kind."""
        return [a for a, cell in enumerate(self.cells) if cell.kind == kind]

    @cached_property
    def neighbors(self) -> list[Pair]:
        """Pairs of Pareto actions whose cells share a facet."""
        return [pair for pair, face in self.faces.items() if face.neighbors]

    @property
    def neighborhoods(self) -> dict[Pair, list[int]]:
        """N_ab of every neighbour pair: the actions that are best wherever both are."""
        return {pair: list(self.faces[pair].neighborhood) for pair in self.neighbors}

    @cached_property
    def representatives(self) -> list[int]:
        """The lowest Pareto action of each duplicate class."""
        later = {a for group in self.duplicates for a in group[1:]}
        return [a for a in self.of_kind("pareto") if a not in later]


def find_cells(game: Game, exact: ExactGame | None) -> Cells:
    """Decide the cell of every action and the face of every pair of Pareto actions.

    Raises
    ------
    SolverError
        If no action is best anywhere, or if the cells are not connected by neighbours.
    """
    finder = CellFinder(game, exact)
    twins = finder.twins
    cells: dict[int, Cell] = {}
    for a in counted(range(game.k), game.k, "cells"):
        first = min(twins[a])
        cells[a] = cells[first] if first < a else finder.cell(a)
    pareto = [a for a in range(game.k) if cells[a].kind == "pareto" and a == min(twins[a])]
    degenerate = [a for a in range(game.k) if cells[a].kind == "degenerate"]
    inner = {a: finder.deepened(a, cells[a]) for a in pareto}
    classes = {}
    for a, b in counted(combinations(pareto, 2), len(pareto) * (len(pareto) - 1) // 2, "faces"):
        classes[a, b] = finder.face(a, b, inner[a], inner[b], degenerate)
    faces = {
        (a, b): classes[min(p, q), max(p, q)]
        for a in range(game.k)
        for b in range(a + 1, game.k)
        if cells[a].kind == cells[b].kind == "pareto"
        and (p := min(twins[a])) != (q := min(twins[b]))
    }
    groups = {twins[a] for a in range(game.k) if len(twins[a]) > 1}
    found = Cells(
        tuple(cells[a] for a in range(game.k)),
        tuple(sorted(groups)),
        faces,
        exact is not None and not finder.undecided,
    )
    if not connected(found.of_kind("pareto"), found.duplicates, found.neighbors):
        raise SolverError(
            "the cells were not decided: their margins are too small for floating point."
        )
    return found


def connected(
    pareto: Sequence[int], duplicates: Iterable[Sequence[int]], pairs: Iterable[Pair]
) -> bool:
    """Whether there are Pareto actions, and pairs and duplicates lead from each to each other."""
    edges = [*pairs, *((group[0], a) for group in duplicates for a in group[1:])]
    reached = set(pareto[:1])
    grown = True
    while grown:
        new = {b for pair in edges if reached & set(pair) for b in pair} - reached
        reached |= new
        grown = bool(new)
    return len(pareto) > 0 and set(pareto) <= reached


class CellFinder:
    """The programs of one game, with their answers proved in exact arithmetic."""

    def __init__(self, game: Game, exact: ExactGame | None) -> None:
        self.game, self.exact = game, exact
        self.chart = local_coordinates(game)
        self.program: AdvantageProgram = advantage_program(self.chart)
        self.center = game.reduced.center
        self.undecided = False
        self.twins = self._twins()

    def _twins(self) -> list[tuple[int, ...]]:
        """For every action the class of actions with the same rewards on Theta."""
        classes: dict[object, list[int]] = {}
        if self.exact is not None:
            for a, line in enumerate(self.exact.lines):
                classes.setdefault(tuple(map(int, line)), []).append(a)
        else:
            for a in range(self.game.k):
                first = int(np.flatnonzero(self.chart.same(a))[0])
                classes.setdefault(first, []).append(a)
        member_of = {a: tuple(members) for members in classes.values() for a in members}
        return [member_of[a] for a in range(self.game.k)]

    def cell(self, a: int) -> Cell:
        """Decide the cell of an action."""
        found, proof = self._decide(a, self.twins[a], self.center)
        kind = {1: "pareto", 0: "degenerate", -1: "dominated"}[proof.sign]
        return Cell(kind, found.value, proof.theta, proof.mixture)

    def deepened(self, a: int, cell: Cell) -> Array:
        """Return a point of a Pareto cell inside Theta: the witness, moved towards the centre."""
        witness = cell.witness
        assert witness is not None
        theta = floats(witness)
        rivals = [c for c in range(self.game.k) if c not in self.twins[a]]
        lead = self.game.features[a] - self.game.features[rivals]
        for share in 0.25 / 2 ** np.arange(29):
            inside: Array = (1 - share) * theta + share * self.center
            if (lead @ inside > 0).all():
                break
        return inside

    def face(self, a: int, b: int, at_a: Array, at_b: Array, degenerate: list[int]) -> Face:
        """Decide whether two Pareto actions are neighbours, given points inside their cells."""
        near = self._neighborhood(a, b, degenerate)
        crossing = self._crossing(a, b, at_a, at_b)
        found, proof = self._decide(a, near, crossing, tied=b)
        return Face(
            (a, b), proof.sign > 0, found.value, proof.theta, proof.mixture, proof.tie_weight, near
        )

    def _crossing(self, a: int, b: int, at_a: Array, at_b: Array) -> Array:
        """Return where the segment from one cell to the other meets their tie."""
        lead = self.game.features[a] - self.game.features[b]
        ahead, behind = lead @ at_a, lead @ at_b
        share = ahead / (ahead - behind) if ahead > behind else 0.5
        crossing: Array = (1 - share) * at_a + share * at_b
        return crossing

    def _decide(
        self, action: int, ignored: Collection[int], interior: Array, tied: int | None = None
    ) -> tuple[Advantage, Proof]:
        """Let exact arithmetic decide where it can, the tolerance where it cannot."""
        if len(ignored) == self.game.k:
            found = Advantage(1.0, interior, np.zeros(self.game.k))
            proof = (
                None
                if self.exact is None
                else self.exact.prove(found, action, ignored, interior, tied)
            )
        else:
            found, proof = solved(self.program, self.exact, action, ignored, interior, tied)
        if proof is not None:
            if proof.sign > 0 and not found.value > 0:  # floating point was wrong
                found = replace(found, value=self._lead(proof.theta, action, ignored, tied))
            return found, proof
        self.undecided = True
        if np.isnan(found.value):
            raise SolverError(
                f"the cell of action {action} was decided neither in floating point nor exactly."
            )
        sign = 0 if abs(found.value) <= TOLERANCE else int(np.sign(found.value))
        theta = found.theta if sign >= 0 else None
        mixture = found.mixture if sign <= 0 else None
        return found, Proof(sign, theta, mixture, found.tie_weight)  # type: ignore[arg-type]

    def _lead(
        self, theta: Numbers | None, action: int, ignored: Collection[int], tied: int | None
    ) -> float:
        """Return by how much an action beats the others at theta, relative to their sizes."""
        assert theta is not None
        others = [c for c in range(self.game.k) if c not in {action, tied, *ignored}]
        ahead = (self.game.features[action] - self.game.features[others]) @ floats(theta)
        return float((ahead / self.chart.sizes(action)[others]).min(initial=1.0))

    def _neighborhood(self, a: int, b: int, degenerate: list[int]) -> tuple[int, ...]:
        """Return N_ab: duplicates of both, and degenerate actions on the segment between them."""
        if self.exact is not None:
            near = self.exact.on_segment(a, b, degenerate)
        else:
            pool = np.array(degenerate, dtype=int)
            near = pool[on_segment(self.chart, a, b, pool)].tolist()
        return tuple(sorted({*self.twins[a], *self.twins[b], *near}))


class ParetoActions:
    """Which actions of a game are Pareto, each decided when it is first asked for."""

    def __init__(self, game: Game) -> None:
        self._finder = CellFinder(game, ExactGame.of(game))
        self._known: dict[int, Cell | None] = {}
        self.firsts = np.array([min(self._finder.twins[a]) for a in range(game.k)], dtype=np.int64)
        """The first of the duplicates of each action, shape (k,)."""
        self.table = np.full(game.k, -1, dtype=np.int8)
        """Which of them are Pareto, 1 or 0; -1 while nobody has asked."""

    def _cell(self, action: int) -> Cell | None:
        """Return the cell of an action and its duplicates, or None if it is undecided."""
        first = int(self.firsts[action])
        with _LOCK:
            if first not in self._known:
                try:
                    self._known[first] = self._finder.cell(first)
                except SolverError:
                    self._known[first] = None
        return self._known[first]

    def __contains__(self, action: int) -> bool:
        cell = self._cell(action)
        found = cell is None or cell.kind == "pareto"
        self.table[self.firsts == self.firsts[action]] = found
        return found

    def is_first(self, action: int) -> bool:
        """Whether an action is the first of its duplicates."""
        return bool(action == self.firsts[action])

    def inside(self, action: int) -> Array:
        """Return a point inside the cell of a Pareto action, shape (d,); if undecided, of Theta."""
        cell = self._cell(action)
        return self._finder.center if cell is None else self._finder.deepened(action, cell)

    def compete(self, a: int, b: int) -> bool:
        """Whether two actions are Pareto and no duplicates."""
        return b not in self._finder.twins[a] and a in self and b in self


def solved(
    program: AdvantageProgram,
    exact: ExactGame | None,
    action: int,
    ignored: Collection[int],
    interior: Array,
    tied: int | None,
) -> tuple[Advantage, Proof | None]:
    """Solve a program in floating point and prove the answer where there is an exact game.

    Where floating point fails, the answer (a value that is no number) is left to the proof.
    """
    try:
        found = program.solve(action, ignored, tied)
    except SolverError:
        if exact is None:
            raise
        found = Advantage(np.nan, interior, np.zeros(exact.game.k))
    return found, None if exact is None else exact.prove(found, action, ignored, interior, tied)


def on_segment(
    chart: LocalCoordinates, a: int, b: int, pool: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Whether the rewards of some actions are mixtures of those of a and b, up to rounding."""
    line = np.column_stack([chart.offsets, chart.slopes])
    step = line[b] - line[a]
    away = line[pool] - line[a]
    unit, _ = halved(step)
    share = (away @ unit) / (step @ unit)
    off = np.abs(away - share[:, None] * step).max(axis=1, initial=0.0)
    slack = (
        TOLERANCE * float(np.abs(step).max()) + chart.noise[a] + chart.noise[b] + chart.noise[pool]
    )
    between = (share > -TOLERANCE) & (share < 1 + TOLERANCE)
    return np.asarray((off <= slack) & between)

"""Whether two neighbours of a context are told apart by what is best, in all contexts, at a tie.

Local observability of the contextual game asks that alpha(E, chi) stays bounded over all convex E
in Theta. It holds iff for every context z that may come, every pair a, b of neighbours there, and
every region R into which the cells of the other contexts cut the common face F of a and b,

    phi_a^z - phi_b^z  is a combination of the rows of M_c^z' over all z' and all c best on R.

Let H be the hyperplane on which a and b tie. It meets the relative interior of Theta, F has full
dimension in H, and the regions of full dimension in H cover F. On such a region the best actions of
a context z' are those that earn the same on H as one of them. Their rewards differ by multiples of
r_a - r_b, so at an inner point of R the two with the extreme multiples are Pareto (each is best on
one side of H), and the others are mixtures of these two.

If: let a, b be plausible in z for a convex E, in P(E, z). A segment in E leads from the cell of
a to that of b; where it changes cells, neighbours e, f that tie at some theta in E follow each
other, each action once. theta lies in a region R of the face of e and f. Actions c of z' best
on R are best at theta: if Pareto, they are in P(E, z'), and if mixtures of such, their gap is at
most that of the two. So all of them are in the extended set of E with eta = 1 (read with E8), and
the differences along the way are combinations of what they show, with finitely many weights that
do not depend on E. By the programs of ``contextual_programs`` this bounds alpha(E, chi).

Only if: for E = {theta} with theta inside R the extended set is what is best at theta, whatever eta
is, and alpha(E, chi) is infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partial_monitoring.analysis.advantage import Advantage, AdvantageProgram, advantage_program
from partial_monitoring.analysis.cells import TOLERANCE, Numbers
from partial_monitoring.analysis.contextual.joint_game import JointGame
from partial_monitoring.analysis.coordinates import local_coordinates
from partial_monitoring.analysis.exact import ExactGame, Proof
from partial_monitoring.analysis.observability import Reading, View, floats, view
from partial_monitoring.errors import SolverError
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.rational import Rational, total
from partial_monitoring.validation import Array

MOST_REGIONS = 500
"""A face that falls into more regions is left open."""

MOST_REGIONS_IN_ALL = 2000
"""So many regions are looked at in all faces of a game."""

MOST_ROWS = 4000
"""Contexts with more pairs of Pareto actions are left open."""

Cells = dict[int, int]
"""By context: an action (of the joint game) that is best on a region."""


@dataclass(frozen=True, eq=False)
class Region:
    """A part of a face on which the same actions are best, as far as contexts were looked at."""

    cells: Cells
    reading: Reading
    """What the actions best there say about the pair."""
    witness: Numbers | None
    """A parameter inside the region, where the pair is not told apart."""


@dataclass(frozen=True, eq=False)
class Excluded:
    """Cells that have no region of the face in common, and the mixture that proves it."""

    cells: Cells
    mixture: Numbers
    tie_weight: object


@dataclass(frozen=True, eq=False)
class FaceReading:
    """What the best actions of all contexts say about two neighbours wherever these tie."""

    pair: tuple[int, int]
    """Two actions of the joint game, of one context."""
    regions: tuple[Region, ...]
    excluded: tuple[Excluded, ...]
    finished: bool
    """Whether the regions cover the face, or one is not told apart; if not, nothing is known."""
    certain: bool
    """Whether all regions were decided in the arithmetic of the game."""

    @property
    def seen(self) -> bool:
        """Whether the pair is told apart on every region."""
        return self.finished and all(region.reading.seen for region in self.regions)


class FaceReader:
    """Divides faces into regions.

    Parameters
    ----------
    joint
        The actions of all contexts that may come.
    pareto
        One Pareto action of each duplicate class, for every such context.
    """

    def __init__(self, joint: JointGame, pareto: dict[int, list[int]]) -> None:
        self.joint = joint
        self.pareto = {z: [joint.index[z, a] for a in actions] for z, actions in pareto.items()}
        self.telling = [z for z in self.pareto if joint.tells(z)]
        self.rows = [(e, c) for own in self.pareto.values() for e in own for c in own if e != c]
        self.place = {row: i + 1 for i, row in enumerate(self.rows)}
        self.left = MOST_REGIONS_IN_ALL
        self._tied: dict[tuple[int, int, int], list[int]] = {}

    @cached_property
    def duels(self) -> tuple[Game, ExactGame | None]:
        """A game whose action 0 earns 0 and whose others earn r_c - r_e, for all pairs (e, c)."""
        features = self.joint.game.features
        first, second = [e for e, _ in self.rows], [c for _, c in self.rows]
        zero = np.zeros((1, self.joint.game.d))
        game = Game(
            np.concatenate([zero, features[second] - features[first]]),
            np.zeros((1 + len(self.rows), 0, self.joint.game.d)),
            self.joint.game.parameters,
        )
        known = self.joint.exact
        if known is None:
            return game, None
        apart = total(known.features[second], -known.features[first])
        exact = ExactGame(
            game,
            Rational(np.concatenate([zero.astype(np.int64), apart]), known.feature_denominator),
            Rational(np.zeros(game.observation_maps.shape, dtype=np.int64), 1),
            (known.a_ub, known.b_ub, known.a_eq, known.b_eq),
        )
        return game, exact

    @cached_property
    def _program(self) -> AdvantageProgram:
        return advantage_program(local_coordinates(self.duels[0]))

    def tied(self, pair: tuple[int, int], action: int) -> list[int]:
        """Return the actions of a context that earn what one of them earns where a pair ties."""
        key = (*pair, action)
        if key not in self._tied:
            self._tied[key] = self.joint.tied(pair, action)
        return self._tied[key]

    def rivals(self, pair: tuple[int, int], cells: Cells) -> list[int]:
        """Return the actions of the duels that a point inside the cells must beat."""
        return [
            self.place[e, c]
            for z, e in cells.items()
            for c in self.pareto[z]
            if c not in self.tied(pair, e)
        ]

    def read(self, pair: tuple[int, int], witness: Numbers) -> FaceReading:
        """Divide the face of two neighbours until they are told apart, or are not.

        The witness is a parameter inside the face.
        """
        search = _Search(self, pair, witness, min(self.left, MOST_REGIONS))
        own = self.joint.places[pair[0]][0]
        finished = len(self.rows) <= MOST_ROWS and search.visit({own: pair[0]}, witness)
        self.left -= len(search.regions) + len(search.excluded)
        return FaceReading(
            pair, tuple(search.regions), tuple(search.excluded), finished, search.certain
        )

    def decide(self, pair: tuple[int, int], cells: Cells, interior: Array) -> tuple[Proof, bool]:
        """Return whether cells have a region of the face in common, and whether that is certain."""
        game, exact = self.duels
        rivals, tied = self.rivals(pair, cells), self.place[pair]
        ignored = set(range(1, game.k)) - set(rivals) - {tied}
        try:
            found = self._program.solve(0, ignored, tied)
        except SolverError:
            if exact is None:
                raise
            found = Advantage(np.nan, interior, np.zeros(game.k))
        if exact is not None:
            proof = exact.prove(found, 0, ignored, interior, tied)
            if proof is not None:
                return proof, True
        sure = exact is None
        if found.value > TOLERANCE:
            return Proof(1, found.theta, None), sure  # type: ignore[arg-type]
        if np.isnan(found.value):  # kept without a witness: one condition too many does no harm
            return Proof(1, None, None), sure
        return Proof(-1, None, found.mixture, found.tie_weight), sure  # type: ignore[arg-type]

    def classes(self, pair: tuple[int, int], context: int) -> list[list[int]]:
        """Return the Pareto actions of a context, grouped by what they earn where a pair ties."""
        found: list[list[int]] = []
        for e in self.pareto[context]:
            if not any(e in members for members in found):
                tied = self.tied(pair, e)
                found.append([c for c in self.pareto[context] if c in tied])
        return found


class _Search:
    """The search of one face, depth first."""

    def __init__(
        self, reader: FaceReader, pair: tuple[int, int], witness: Numbers, most: int
    ) -> None:
        self.reader, self.pair, self.most = reader, pair, most
        self.interior = floats(witness)
        self.regions: list[Region] = []
        self.excluded: list[Excluded] = []
        self.certain = True

    def visit(self, cells: Cells, witness: Numbers | None) -> bool:
        """Divide a region further; False if it is left open.

        After a region that is not told apart there is nothing more to look at.
        """
        if len(self.regions) + len(self.excluded) >= self.most:
            return False
        joint = self.reader.joint
        reading = view(joint.game, joint.exact, self._best(cells)).read(*self.pair)
        if reading.seen:
            self.regions.append(Region(cells, reading, None))
            return True
        z = self._next(cells)
        if z is None and witness is None:
            return False
        if z is None:
            self.regions.append(Region(cells, reading, witness))
            return True
        before = len(self.regions)
        for members in self.reader.classes(self.pair, z):
            deeper = {**cells, z: members[0]}
            proof, certain = self.reader.decide(self.pair, deeper, self.interior)
            self.certain &= certain
            if proof.sign > 0:
                if not self.visit(deeper, proof.theta):
                    return False
                if not self.regions[-1].reading.seen:
                    return True
            else:
                assert proof.mixture is not None
                self.excluded.append(Excluded(deeper, proof.mixture, proof.tie_weight))
        # Cells cover everything: if none is left, floating point was not good enough.
        return len(self.regions) > before

    def _best(self, cells: Cells) -> Sequence[int]:
        return sorted(c for e in cells.values() for c in self.reader.tied(self.pair, e))

    def _next(self, cells: Cells) -> int | None:
        """Return the context whose cells leave the fewest cases open, or None if none is left."""
        left = [z for z in self.reader.telling if z not in cells]

        def cases(z: int) -> tuple[int, int]:
            classes = self.reader.classes(self.pair, z)
            game = self.reader.joint.game
            views = [View(game, self._best({**cells, z: members[0]})) for members in classes]
            return sum(not own.read(*self.pair).seen for own in views), len(classes)

        return min(left, key=cases, default=None)

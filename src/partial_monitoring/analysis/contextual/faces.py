"""Whether the best actions of all contexts distinguish two neighbours of a context at a tie.

Local observability of the contextual game asks that alpha(E, chi) stays bounded over all convex E
in Theta. It holds iff for every possible context z, every pair a, b of neighbours there, and
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
do not depend on E. By the programs of ``programs`` this bounds alpha(E, chi).

Only if: for E = {theta} with theta inside R the extended set is what is best at theta, whatever eta
is, and alpha(E, chi) is infinite.

``face_problems`` checks a certificate again. It takes for granted what was proved for every context
by itself: its Pareto actions, whose cells cover Theta.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partial_monitoring.analysis import form
from partial_monitoring.analysis.advantage import AdvantageProgram, advantage_program
from partial_monitoring.analysis.cells import TOLERANCE, Numbers, Pair, floats, solved
from partial_monitoring.analysis.contextual.joint_game import JointGame
from partial_monitoring.analysis.coordinates import local_coordinates
from partial_monitoring.analysis.exact import ExactGame, Proof
from partial_monitoring.analysis.observability import Certificate, FloatSpan, span_of
from partial_monitoring.analysis.verify import judge_of, mixes
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.rational import Rational, total
from partial_monitoring.validation import Array

MOST_REGIONS = 500
"""Largest number of regions of one face; a face with more is left undecided."""

MOST_REGIONS_IN_ALL = 2000
"""Largest number of regions of all faces of a game together."""

MOST_ROWS = 4000
"""Games with more ordered pairs of Pareto actions are left undecided."""

BestActions = dict[int, int]
"""By context: an action (of the joint game) that is best on a region."""


@dataclass(frozen=True, eq=False)
class FaceRegion:
    """A part of a face on which the same actions are best in the contexts considered so far."""

    cells: BestActions
    reading: Certificate
    """Whether the actions that are best there observe the difference of the pair."""
    witness: Numbers | None
    """A parameter inside the region, where the pair is not distinguished."""


@dataclass(frozen=True, eq=False)
class ExcludedCells:
    """Cells that have no region of the face in common, and the mixture that proves it."""

    cells: BestActions
    mixture: Numbers
    tie_weight: object


@dataclass(frozen=True, eq=False)
class FaceCertificate:
    """Whether the best actions of all contexts distinguish two neighbours wherever these tie."""

    pair: Pair
    """Two actions of the joint game, of one context."""
    regions: tuple[FaceRegion, ...]
    excluded: tuple[ExcludedCells, ...]
    finished: bool
    """Whether the regions cover the face, or the pair is not distinguished on one of them; if not,
    nothing is known."""
    certain: bool
    """Whether all regions were decided in the arithmetic of the game."""

    @property
    def size(self) -> int:
        """The number of regions that were considered."""
        return len(self.regions) + len(self.excluded)

    @property
    def seen(self) -> bool:
        """Whether the pair is distinguished on every region."""
        return self.finished and all(region.reading.seen for region in self.regions)

    @property
    def refuted(self) -> bool:
        """Whether the pair is not distinguished on some region."""
        return self.finished and not self.seen


class FaceDivider:
    """Divides faces into regions.

    ``joint`` has the actions of all possible contexts, ``pareto`` one Pareto action of each
    duplicate class for every such context.
    """

    def __init__(self, joint: JointGame, pareto: dict[int, list[int]]) -> None:
        self.joint = joint
        self.pareto = {z: [joint.index[z, a] for a in actions] for z, actions in pareto.items()}
        self.informative = [z for z in self.pareto if joint.informs(z)]
        self.rows = [(e, c) for own in self.pareto.values() for e in own for c in own if e != c]
        self.place = {row: i + 1 for i, row in enumerate(self.rows)}
        self.left = MOST_REGIONS_IN_ALL
        self._tied: dict[tuple[int, int, int], list[int]] = {}

    @cached_property
    def comparisons(self) -> tuple[Game, ExactGame | None]:
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
            known.halfspaces,
        )
        return game, exact

    @cached_property
    def _program(self) -> AdvantageProgram:
        return advantage_program(local_coordinates(self.comparisons[0]))

    def tied(self, pair: Pair, action: int) -> list[int]:
        """Return the actions of a context that earn what one of them earns where a pair ties."""
        key = (*pair, action)
        if key not in self._tied:
            self._tied[key] = self.joint.tied(pair, action)
        return self._tied[key]

    def rivals(self, pair: Pair, cells: BestActions) -> list[int]:
        """Return the comparisons that a point inside the cells must beat."""
        return [
            self.place[e, c]
            for z, e in cells.items()
            for c in self.pareto[z]
            if c not in self.tied(pair, e)
        ]

    def start(self, pair: Pair) -> BestActions:
        """Return the whole face of a pair: only the cell of its own context is considered."""
        return {self.joint.places[pair[0]][0]: pair[0]}

    def certify(self, pair: Pair, witness: Numbers) -> FaceCertificate:
        """Divide the face of two neighbours until it is decided whether they are distinguished.

        The witness is a parameter inside the face.
        """
        search = _FaceSearch(self, pair, witness, min(self.left, MOST_REGIONS))
        finished = len(self.rows) <= MOST_ROWS and search.visit(self.start(pair), witness)
        self.left -= len(search.regions) + len(search.excluded)
        return FaceCertificate(
            pair, tuple(search.regions), tuple(search.excluded), finished, search.certain
        )

    def decide(self, pair: Pair, cells: BestActions, interior: Array) -> tuple[Proof, bool]:
        """Return whether cells have a region of the face in common, and whether that is certain."""
        game, exact = self.comparisons
        rivals, tied = self.rivals(pair, cells), self.place[pair]
        ignored = set(range(1, game.k)) - set(rivals) - {tied}
        found, proof = solved(self._program, exact, 0, ignored, interior, tied)
        if proof is not None:
            return proof, True
        sure = exact is None
        if found.value > TOLERANCE:
            return Proof(1, found.theta, None), sure  # type: ignore[arg-type]
        if np.isnan(found.value):  # kept without a witness: one condition too many does no harm
            return Proof(1, None, None), sure
        return Proof(-1, None, found.mixture, found.tie_weight), sure  # type: ignore[arg-type]

    def classes(self, pair: Pair, context: int) -> list[list[int]]:
        """Return the Pareto actions of a context, grouped by what they earn where a pair ties."""
        found: list[list[int]] = []
        for e in self.pareto[context]:
            if not any(e in members for members in found):
                tied = self.tied(pair, e)
                found.append([c for c in self.pareto[context] if c in tied])
        return found


class _FaceSearch:
    """Depth-first search for the regions of one face."""

    def __init__(self, divider: FaceDivider, pair: Pair, witness: Numbers, most: int) -> None:
        self.divider, self.pair, self.most = divider, pair, most
        self.interior = floats(witness)
        self.regions: list[FaceRegion] = []
        self.excluded: list[ExcludedCells] = []
        self.certain = True

    def visit(self, cells: BestActions, witness: Numbers | None) -> bool:
        """Divide a region further; False if it is left undecided.

        The search ends at the first region on which the pair is not distinguished.
        """
        if len(self.regions) + len(self.excluded) >= self.most:
            return False
        joint = self.divider.joint
        found = span_of(joint.game, joint.exact, self._best(cells)).certify(*self.pair)
        if found.seen:
            self.regions.append(FaceRegion(cells, found, None))
            return True
        z = self._next(cells)
        if z is None and witness is None:
            return False
        if z is None:
            self.regions.append(FaceRegion(cells, found, witness))
            return True
        before = len(self.regions)
        for members in self.divider.classes(self.pair, z):
            deeper = {**cells, z: members[0]}
            proof, certain = self.divider.decide(self.pair, deeper, self.interior)
            self.certain &= certain
            if proof.sign > 0:
                if not self.visit(deeper, proof.theta):
                    return False
                if not self.regions[-1].reading.seen:
                    return True
            else:
                assert proof.mixture is not None
                self.excluded.append(ExcludedCells(deeper, proof.mixture, proof.tie_weight))
        # Cells cover everything: if none is left, floating point was not good enough.
        return len(self.regions) > before

    def _best(self, cells: BestActions) -> Sequence[int]:
        return sorted(c for e in cells.values() for c in self.divider.tied(self.pair, e))

    def _next(self, cells: BestActions) -> int | None:
        """Return the context whose cells leave the fewest cases undecided, None if none is left."""
        left = [z for z in self.divider.informative if z not in cells]

        def cases(z: int) -> tuple[int, int]:
            classes = self.divider.classes(self.pair, z)
            game = self.divider.joint.game
            spans = [FloatSpan(game, self._best({**cells, z: members[0]})) for members in classes]
            return sum(not own.certify(*self.pair).seen for own in spans), len(classes)

        return min(left, key=cases, default=None)


def face_problems(
    divider: FaceDivider, found: FaceCertificate, all_faces: Collection[FaceCertificate]
) -> Iterator[str]:
    """Yield one sentence for every proof of a face that does not hold.

    All faces of the game, which count together, must be :func:`well_formed`.
    """
    pair = found.pair
    game, exact = divider.comparisons
    margins = judge_of(game, exact if found.certain else None)
    joint = judge_of(divider.joint.game, divider.joint.exact)
    tied = divider.place[pair]
    for region in found.regions:
        best = {c for e in region.cells.values() for c in divider.tied(pair, e)}
        if set(region.reading.actions) != best or not joint.accepts(region.reading, *pair):
            yield f"the certificate of {pair} on a region of their face does not hold."
        if region.reading.seen:
            continue
        if set(divider.informative) - set(region.cells):
            yield f"a region of the face of {pair} leaves contexts out."
        elif region.witness is None or not margins.inside(region.witness):
            yield f"a region of the face of {pair} has no witness in the parameter set."
        else:
            leads = margins.leads(region.witness, 0)
            if leads[tied] != 0 or not (leads[divider.rivals(pair, region.cells)] > 0).all():
                yield f"the witness of a region of the face of {pair} is not inside."
    for out in found.excluded:
        rivals = divider.rivals(pair, out.cells)
        others = [c for c in range(game.k) if c not in rivals]
        if (
            not mixes(out.mixture, others)
            or margins.least(out.mixture, 0, tied, out.tie_weight) < 0
        ):
            yield f"cells are excluded from the face of {pair} without proof."
    unseen = any(not region.reading.seen for region in found.regions)
    decided = unseen or _covered(divider, found, divider.start(pair))
    if found.finished and not decided:
        yield f"the regions of the face of {pair} do not cover it."
    many = len(divider.rows) > MOST_ROWS or found.size >= MOST_REGIONS
    many |= sum(face.size for face in all_faces) >= MOST_REGIONS_IN_ALL
    if not found.finished and (decided or (found.certain and exact is not None and not many)):
        yield f"the face of {pair} was left undecided without need."


def well_formed(divider: FaceDivider, found: FaceCertificate) -> bool:
    """Whether a certificate is complete, with every entry of the right kind and shape."""
    game, exact = divider.comparisons
    joint, proved = divider.joint, divider.joint.exact is not None
    sure = found.certain is True and exact is not None
    if not form.is_actions(found.pair, joint.game.k) or found.pair not in divider.place:
        return False
    start = divider.start(found.pair).items()

    def cells(own: object) -> bool:
        return (
            isinstance(own, dict)
            and start <= own.items()
            and form.is_actions(tuple(own.values()), joint.game.k)
            and all(z in divider.pareto and e in divider.pareto[z] for z, e in own.items())
        )

    return (
        isinstance(found.finished, bool)
        and isinstance(found.certain, bool)
        and form.is_tuple(found.regions, FaceRegion)
        and form.is_tuple(found.excluded, ExcludedCells)
        and all(
            cells(own.cells)
            and form.is_certificate(joint.game, proved, own.reading)
            and (own.witness is None or form.is_numbers(own.witness, (game.d,), sure))
            for own in found.regions
        )
        and all(
            cells(own.cells)
            and form.is_numbers(own.mixture, (game.k,), sure)
            and form.is_number(own.tie_weight, sure)
            for own in found.excluded
        )
    )


def _covered(divider: FaceDivider, found: FaceCertificate, cells: BestActions) -> bool:
    """Whether regions and exclusions fill what the given cells leave of a face."""
    parts = [region.cells for region in found.regions]
    parts += [out.cells for out in found.excluded]
    if cells in parts:
        return True
    deeper = [own for own in parts if len(own) > len(cells) and cells.items() <= own.items()]
    if not deeper:
        return False
    z = next(z for z in deeper[0] if z not in cells)
    classes = divider.classes(found.pair, z)
    return all(_covered(divider, found, {**cells, z: members[0]}) for members in classes)

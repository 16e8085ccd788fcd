"""What is known about a game before it is played: sets of actions, observability, constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partial_monitoring.analysis.alignment import (
    NOTHING,
    Alignment,
    AlignmentProgram,
    largest_alignment,
    pair_alignment,
)
from partial_monitoring.analysis.cells import TOLERANCE, Cells, Pair, floats
from partial_monitoring.analysis.coordinates import local_coordinates
from partial_monitoring.analysis.exact import ExactGame
from partial_monitoring.analysis.observability import Certificate
from partial_monitoring.analysis.verify import problems_of
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, brief

RATES = {"trivial": "0", "easy": "n^1/2", "hard": "n^2/3", "hopeless": "n"}
"""Minimax regret of each class in the number n of rounds, up to logarithms."""


@dataclass(frozen=True, eq=False, repr=False)
class Facts:
    """What is known about a game before it is played, with proofs.

    Actions are indices from 0; pairs are tuples (a, b) with a < b.
    """

    game: Game
    cells: Cells
    """Every cell and every pair of Pareto actions, with witnesses and dominating mixtures."""
    local_readings: dict[Pair, Certificate]
    """For every neighbour pair, whether the actions of its neighbourhood observe its difference."""
    global_readings: dict[Pair, Certificate]
    """For pairs that connect all Pareto actions, whether all actions observe their difference."""
    certified: bool
    """Whether the sets and the class were decided and verified in exact arithmetic."""
    sound: bool
    """Whether every certificate was found to hold, exactly or within floating-point tolerances."""

    @property
    def category(self) -> str:
        """One of "trivial", "easy", "hard" and "hopeless"."""
        if len(self.representatives) == 1:
            return "trivial"
        if not self.globally_observable:
            return "hopeless"
        return "easy" if self.locally_observable else "hard"

    @property
    def regret_rate(self) -> str:
        """How the regret of the best algorithm grows in the worst case."""
        return RATES[self.category]

    @property
    def pareto(self) -> list[int]:
        """Actions that are best on a set of full dimension."""
        return self.cells.of_kind("pareto")

    @property
    def degenerate(self) -> list[int]:
        """Actions that are best only where they tie with others."""
        return self.cells.of_kind("degenerate")

    @property
    def dominated(self) -> list[int]:
        """Actions that are never best."""
        return self.cells.of_kind("dominated")

    @property
    def duplicates(self) -> list[list[int]]:
        """Groups of two or more actions that earn the same whatever is true."""
        return [list(group) for group in self.cells.duplicates]

    @property
    def representatives(self) -> list[int]:
        """The lowest Pareto action of each duplicate class."""
        return self.cells.representatives

    @property
    def neighbors(self) -> list[Pair]:
        """Pairs of Pareto actions whose cells share a facet."""
        return self.cells.neighbors

    @property
    def neighborhoods(self) -> dict[Pair, list[int]]:
        """N_ab of every neighbour pair: the actions that are best wherever both are."""
        return self.cells.neighborhoods

    @property
    def neighboring_cells(self) -> list[Pair]:
        """The neighbours, one pair for two duplicate classes."""
        return [pair for pair in self.neighbors if set(pair) <= set(self.representatives)]

    @property
    def globally_observable(self) -> bool:
        """Whether all actions together distinguish all Pareto actions."""
        return all(certificate.seen for certificate in self.global_readings.values())

    @property
    def locally_observable(self) -> bool:
        """Whether every neighbour pair is distinguished by its own neighbourhood."""
        return all(certificate.seen for certificate in self.local_readings.values())

    @property
    def unobservable(self) -> list[Pair]:
        """Pairs of Pareto actions that all actions together do not distinguish."""
        return [pair for pair, found in self.global_readings.items() if not found.seen]

    @property
    def dimension(self) -> int:
        """D, the dimension of the parameter set."""
        return self.game.dimension

    @property
    def rank(self) -> int:
        """r, the number of directions of the parameter set that can be observed."""
        return self.game.rank if self.exact is None else self.exact.rank

    @cached_property
    def exact(self) -> ExactGame | None:
        """The game in integers, if everything was decided in exact arithmetic."""
        return ExactGame.of(self.game) if self.cells.exact else None

    @property
    def alignment(self) -> float:
        """alpha, the global alignment constant; computed on first use."""
        return float(self.alignment_details)

    @cached_property
    def alignment_details(self) -> Alignment:
        """The global alignment constant with its pair, direction, weights and duality gap."""
        if self.category == "trivial":
            return NOTHING
        if self.category == "hopeless":
            return Alignment(np.inf, 0.0, self.unobservable[0])
        program = AlignmentProgram(self.game, range(self.game.k), self.rank)
        found = largest_alignment(program, self.representatives)
        if np.isinf(found):
            raise SolverError(
                "the alignment constant is too large for floating point: what has to be learned "
                "is seen only through a difference of almost equal observations."
            )
        return found

    @property
    def margin(self) -> float:
        """The smallest advantage or disadvantage that decided a cell or a face.

        Between 0 and 1; a small margin makes an uncertified answer doubtful. Ties that exact
        arithmetic proved do not count. Other ties do, since floating point cannot tell them from
        tiny differences; but cells that are cones all meet where all rewards agree, and of these
        ties only mixtures of two neighbours count.
        """
        found, chart = self.cells, local_coordinates(self.game)
        cones = bool(np.ptp(chart.offsets) <= 2 * chart.noise.max())
        ties = set() if found.exact else {*range(self.game.k)}
        if cones:
            ties &= {c for near in self.neighborhoods.values() for c in near}
        sizes = [
            abs(cell.advantage)
            for a, cell in enumerate(found.cells)
            if a in ties or cell.kind != "degenerate"
        ]
        sizes += [
            abs(face.advantage)
            for face in found.faces.values()
            if not (found.exact or cones) or abs(face.advantage) > TOLERANCE
        ]
        return min(sizes, default=0.0)

    def witness(self, action: int | str) -> Array | None:
        """Return a parameter for which the action is best, or None if there is none."""
        found = self.cells.cells[self.game.action_index(action)].witness
        return None if found is None else floats(found)

    def face_witness(self, a: int | str, b: int | str) -> Array | None:
        """Return a parameter on the common face of two neighbours, or None for other pairs."""
        face = self.cells.faces.get(self._pair(a, b))
        return None if face is None or face.witness is None else floats(face.witness)

    def dominating_mixture(self, action: int | str) -> Array | None:
        """Return weights (k,) of other actions that do at least as well everywhere, or None."""
        found = self.cells.cells[self.game.action_index(action)].mixture
        return None if found is None else floats(found)

    def estimation_weights(self, a: int | str, b: int | str) -> Array:
        """Return weights w, shape (k, m), that estimate the reward difference of two actions.

        sum_c <w_c, M_c v> = <phi_a - phi_b, v> for every direction v of the parameter set; of all
        such weights those with the smallest sum of lengths. They use only the neighbourhood of the
        pair where that suffices, and all actions otherwise.
        """
        i, j = self.game.action_index(a), self.game.action_index(b)
        face = self.cells.faces.get(self._pair(i, j))
        near = () if face is None else face.neighborhood
        for actions in (near, range(self.game.k)):
            found = pair_alignment(self.game, i, j, actions) if len(actions) else None
            if found is not None and found.weights is not None:
                return found.weights if i < j else -found.weights
        raise InvalidInput(
            f"actions {brief(self.game.actions[i])} and {brief(self.game.actions[j])} "
            f"cannot be told apart "
            f"by any feedback, so there are no estimation weights."
        )

    def verify(self) -> bool:
        """Check every certificate again, independently of how it was found."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Return one sentence for every certificate that does not hold."""
        found = problems_of(
            self.game, self.exact, self.cells, self.local_readings, self.global_readings
        )
        if self.certified and self.exact is None:
            found.append("not everything was decided in exact arithmetic, but called certified.")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain numbers, strings and lists, as ``pm analyze --json`` prints."""
        alignment = self.alignment
        return {
            "category": self.category,
            "regret_rate": self.regret_rate,
            "pareto": self.pareto,
            "degenerate": self.degenerate,
            "dominated": self.dominated,
            "duplicates": self.duplicates,
            "neighbors": [list(pair) for pair in self.neighbors],
            "neighborhoods": {f"{a},{b}": near for (a, b), near in self.neighborhoods.items()},
            "globally_observable": self.globally_observable,
            "locally_observable": self.locally_observable,
            "alignment": alignment if np.isfinite(alignment) else "inf",
            "dimension": self.dimension,
            "rank": self.rank,
            "certified": self.certified,
        }

    def _pair(self, a: int | str, b: int | str) -> Pair:
        i, j = self.game.action_index(a), self.game.action_index(b)
        return min(i, j), max(i, j)

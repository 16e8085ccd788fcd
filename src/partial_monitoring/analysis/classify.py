"""The class of a game, trivial, easy, hard or hopeless, with its reasons (section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from partial_monitoring.analysis import explain as words
from partial_monitoring.analysis import verify
from partial_monitoring.analysis.alignment import (
    NOTHING,
    Alignment,
    AlignmentProgram,
    largest_alignment,
    pair_alignment,
)
from partial_monitoring.analysis.cells import TOLERANCE, Cells, find_cells
from partial_monitoring.analysis.exact import ExactGame
from partial_monitoring.analysis.observability import Reading, floats, view
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis

Pair = tuple[int, int]

RATES = {"trivial": "0", "easy": "n^1/2", "hard": "n^2/3", "hopeless": "n"}
"""Minimax regret of each class in the number n of rounds, up to logarithms."""


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """What there is to know about a game before it is played, with proofs.

    Made by :func:`analyze`. Actions are indices from 0; pairs are tuples (a, b) with a < b.
    """

    game: Game
    cells: Cells
    """Every cell and every pair of Pareto actions, with witnesses and dominating mixtures."""
    local_readings: dict[Pair, Reading]
    """For every neighbour pair, what the actions of its neighbourhood say about it."""
    global_readings: dict[Pair, Reading]
    """For pairs that connect all Pareto actions, what all actions together say about them."""
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

    @cached_property
    def neighbors(self) -> list[Pair]:
        """Pairs of Pareto actions whose cells share a facet."""
        return [pair for pair, face in self.cells.faces.items() if face.neighbors]

    @property
    def neighborhoods(self) -> dict[Pair, list[int]]:
        """N_ab of every neighbour pair: the actions that are best wherever both are."""
        return {pair: list(self.cells.faces[pair].neighborhood) for pair in self.neighbors}

    @property
    def globally_observable(self) -> bool:
        """Whether all actions together tell all Pareto actions apart."""
        return all(reading.seen for reading in self.global_readings.values())

    @property
    def locally_observable(self) -> bool:
        """Whether every neighbour pair is told apart by its own neighbourhood."""
        return all(reading.seen for reading in self.local_readings.values())

    @property
    def dimension(self) -> int:
        """D, the dimension of the parameter set."""
        return self.game.dimension

    @property
    def rank(self) -> int:
        """r, how many directions of the parameter set can be observed."""
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
            unseen = next(pair for pair, r in self.global_readings.items() if not r.seen)
            return Alignment(np.inf, 0.0, unseen)
        program = AlignmentProgram(self.game, range(self.game.k), self.rank)
        features = self.game.reduced.features
        first, *others = self.representatives
        if not all(program.sees(features[a] - features[first]) for a in others):
            raise SolverError(
                "the alignment constant is too large for floating point: what has to be learned "
                "is seen only through a difference of almost equal observations."
            )
        return largest_alignment(program, self.representatives)

    @cached_property
    def representatives(self) -> list[int]:
        """One Pareto action of each duplicate class, the lowest."""
        later = {a for group in self.cells.duplicates for a in group[1:]}
        return [a for a in self.pareto if a not in later]

    @property
    def margin(self) -> float:
        """The smallest advantage or disadvantage that decided a cell or a face, ties apart.

        Between 0 and 1; a small margin makes an uncertified answer doubtful.
        """
        decided = [cell.advantage for cell in self.cells.cells if cell.kind != "degenerate"]
        faces = self.cells.faces.values()
        decided += [face.advantage for face in faces if abs(face.advantage) > TOLERANCE]
        return min(map(abs, decided), default=0.0)

    def witness(self, action: int | str) -> Array | None:
        """Return a parameter for which the action is best, or None if there is none."""
        found = self.cells.cells[self.game.action_index(action)].witness
        return None if found is None else floats(found)

    def face_witness(self, a: int | str, b: int | str) -> Array | None:
        """Return a parameter on the common face of two neighbours, or None for other pairs."""
        pair = self._pair(a, b)
        face = self.cells.faces.get(pair)
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
            f"actions {self.game.actions[i]!r} and {self.game.actions[j]!r} cannot be told apart "
            f"by any feedback, so there are no estimation weights."
        )

    def verify(self) -> bool:
        """Check every certificate again, independently of how it was found."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Return what is wrong with the certificates, a sentence each; nothing if all hold."""
        return verify.problems(self)

    def explain(self) -> str:
        """Say in plain sentences what kind of game this is and why."""
        return words.explain(self)

    def plot(self, ax: Any = None) -> Figure:
        """Draw the cells, or the graph of neighbours if the cells have no plane picture."""
        from partial_monitoring.analysis import pictures

        return pictures.plot(self, ax)

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

    def __repr__(self) -> str:
        proof = "certified" if self.certified else f"margin {self.margin:.2g}"
        return f"Analysis({self.category}, regret {self.regret_rate}, {proof})"

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return words.as_html(self)


@overload
def analyze(game: Game) -> Analysis: ...
@overload
def analyze(game: ContextualGame) -> ContextualAnalysis: ...


def analyze(game: AnyGame) -> Analysis | ContextualAnalysis:
    """Classify a game and prove it.

    Parameters
    ----------
    game
        Any game over R^d, a ball, a box, the simplex or a polytope, also with contexts; a kernel
        game in the coordinates of its linear game.

    Returns
    -------
    Analysis
        The class, the sets of actions, the neighbours, what can be observed, and the certificates;
        with contexts a ``ContextualAnalysis``: that of each context, and of all together.

    Notes
    -----
    One linear program (over a ball: a second-order cone program) per action and per pair of Pareto
    actions. When the data are rational and the parameter set is polyhedral, every answer is proved
    in exact arithmetic; where floating point was wrong, the exact answer stands.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> analysis = pm.analyze(pm.games.dynamic_pricing())
    >>> analysis
    Analysis(hard, regret n^2/3, certified)
    >>> analysis.neighbors
    [(0, 1), (0, 2), (1, 2)]

    References
    ----------
    Section 4 of the paper; Bartok et al. (2014); Lattimore and Szepesvari (2019).
    """
    if isinstance(game, ContextualGame):
        from partial_monitoring.analysis.contextual.analysis import analyze_contexts

        return analyze_contexts(game)
    if not isinstance(game, AnyGame):
        raise InvalidInput(f"game must be a Game or a ContextualGame; got {game!r}.")
    linear: Game = game.linear
    if linear is not game:
        return analyze(linear)
    exact = ExactGame.of(game)
    cells = find_cells(game, exact)
    _refuse_nonsense(cells)
    local, everything = _readings(game, exact, cells)
    analysis = Analysis(game, cells, local, everything, False, False)
    sound = analysis.verify()
    return Analysis(game, cells, local, everything, sound and cells.exact, sound)


def _refuse_nonsense(cells: Cells) -> None:
    """Some action is best somewhere, and one can walk from each cell to each other one."""
    pareto = cells.of_kind("pareto")
    reached = set(pareto[:1])
    edges = [pair for pair, face in cells.faces.items() if face.neighbors]
    edges += [(group[0], a) for group in cells.duplicates for a in group[1:]]
    grown = True
    while grown:
        new = {b for pair in edges if reached & set(pair) for b in pair} - reached
        reached |= new
        grown = bool(new)
    if not pareto or not set(pareto) <= reached:
        raise SolverError(
            "the cells were not decided: their margins are too small for floating point."
        )


def _readings(
    game: Game, exact: ExactGame | None, cells: Cells
) -> tuple[dict[Pair, Reading], dict[Pair, Reading]]:
    """Return the local readings of neighbours and the global readings of a connecting star."""
    neighbors = [pair for pair, face in cells.faces.items() if face.neighbors]
    views: dict[tuple[int, ...], Any] = {}
    local = {}
    for pair in neighbors:
        near = cells.faces[pair].neighborhood
        if near not in views:
            views[near] = view(game, exact, near)
        local[pair] = views[near].read(*pair)
    if not neighbors:
        return {}, {}
    whole = view(game, exact, range(game.k))
    first = neighbors[0][0]
    same = {a for group in cells.duplicates if first in group for a in group}
    others = sorted({a for pair in neighbors for a in pair} - {first} - same)
    star = {
        (min(first, b), max(first, b)): whole.read(min(first, b), max(first, b)) for b in others
    }
    if all(reading.seen for reading in star.values()):
        return local, star
    return local, star | {pair: whole.read(*pair) for pair in neighbors}

"""The class of games of duels from their items, without listing the pairs.

A duel (i, j) earns <phi_i + phi_j, theta> and shows <phi_i - phi_j, theta>. Let C_i be the set of
parameters for which item i is best. Then everything follows from the items:

1. C_ij = C_i & C_j, because a sum of two is largest iff both terms are.
2. (i, j) is Pareto iff item i is Pareto and j earns the same everywhere: on a set of full dimension
   two items tie only if they earn the same everywhere.
3. Let (i, i) and (j, j) be neighbours. On C_i & C_j the duel (i, j) is best, so it belongs to their
   neighbourhood, and it shows half of their difference 2 <phi_i - phi_j, theta>. Hence every game
   of duels is locally observable: trivial if one item is best everywhere, easy otherwise.
4. Two points of Theta at which different items are the only best ones (up to items that earn the
   same) prove that no item is best everywhere.
5. For Pareto items i and j, alpha of ((i, i), (j, j)) is 4 t^2 with

       t = max <phi_i - phi_j, v>  over v in V and s with  s <= <phi_k, v> <= s + 1 for all items k,

   because |<phi_k - phi_l, v>| <= 1 for all pairs means that all <phi_k, v> lie in an interval of
   length 1. So alpha <= 4, with equality iff in some direction one Pareto item is the first and
   another the last of all items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from partial_monitoring.analysis.alignment import NOTHING, Alignment
from partial_monitoring.analysis.analysis import analyze_game
from partial_monitoring.analysis.cells import Cell, CellFinder
from partial_monitoring.analysis.exact import ExactGame
from partial_monitoring.analysis.explain import HEADLINES, html_lines, verification
from partial_monitoring.analysis.facts import RATES
from partial_monitoring.analysis.form import is_actions, is_numbers, is_tuple
from partial_monitoring.analysis.verify import Judge, judge_of
from partial_monitoring.display import counted
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.conic import LinearProgram
from partial_monitoring.numerics.rational import Rational, rationalize
from partial_monitoring.validation import Array, set_fields

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DUELS = 200
"""Largest number of pairs that are analysed one by one; larger games are decided by their items."""

DIRECTIONS = 32
"""Number of directions in which items are ranked before programs are solved."""

MOST_DRAWN = 60
"""Largest number of items in a picture."""

ATTAINED = 1 - 1e-9
"""A constant this close to its upper bound attains it."""


def many_duels(game: AnyGame) -> bool:
    """Whether a game consists of duels, too many of them to be analysed one by one."""
    return game.traits.duels and game.k > MOST_DUELS


def items_of(game: Any) -> Game:
    """Return the items of a game of duels as a linear game: they earn utilities, show nothing."""
    if game.traits.function:
        linear: Game = game.as_items().linear
        return linear
    nothing = [np.zeros((0, game.d))] * game.item_count
    return Game(game.item_features, nothing, game.parameters, actions=game.items)


@dataclass(frozen=True, eq=False, repr=False)
class DuelAnalysis:
    """The class of a game of many duels, decided by its items.

    Items are numbered from 0; the pair of items i and j is action ``i * items + j``.
    """

    game: Any
    """The game of duels."""
    rivals: dict[int, Cell]
    """Two items, each the only best one somewhere (up to items that earn the same), with witnesses;
    the single one that is best everywhere if the game is trivial."""
    certified: bool
    """Whether the class was decided and verified in exact arithmetic."""
    sound: bool
    """Whether every certificate was found to hold, exactly or within floating-point tolerances."""

    @cached_property
    def items(self) -> Game:
        """The items as a linear game, without observations."""
        return items_of(self.game)

    @cached_property
    def finder(self) -> CellFinder:
        """Decides the cells of items, in exact arithmetic if their features are rational."""
        rational = rationalize(self.items.features[:1]) is not None
        return CellFinder(self.items, ExactGame.of(self.items) if rational else None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the programs of a solver, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "finder"}

    @property
    def category(self) -> str:
        """One of "trivial" and "easy"."""
        return "easy" if len(self.rivals) > 1 else "trivial"

    @property
    def regret_rate(self) -> str:
        """How the regret of the best algorithm grows in the worst case."""
        return RATES[self.category]

    @property
    def globally_observable(self) -> bool:
        """Duels together distinguish all items."""
        return True

    @property
    def locally_observable(self) -> bool:
        """The duel of two items that compete shows which is better."""
        return True

    @property
    def dimension(self) -> int:
        """D, the dimension of the parameter set."""
        return self.items.dimension

    @cached_property
    def rank(self) -> int:
        """r, the number of directions of the parameter set that duels show."""
        away = self.items.reduced.features - self.items.reduced.features[0]
        return int(np.linalg.matrix_rank(away)) if away.size else 0

    @cached_property
    def pareto_items(self) -> list[int]:
        """The items that are best on a set of full dimension: one program per item."""
        every = counted(range(self.items.k), self.items.k, "items")
        return [i for i in every if self._is_pareto(i)]

    @property
    def pareto(self) -> list[int]:
        """The duels that are best on a set of full dimension: Pareto items of equal utility."""
        n, twins = self.items.k, self.finder.twins
        return [i * n + j for i in self.pareto_items for j in twins[i]]

    @property
    def alignment(self) -> float:
        """alpha, the global alignment constant, at most 4; computed on first use."""
        return float(self.alignment_details)

    @cached_property
    def alignment_details(self) -> Alignment:
        """The global alignment constant with its pair and direction."""
        if self.category == "trivial":
            return NOTHING
        reduced, best = self.items.reduced, NOTHING
        rng = np.random.default_rng(0)
        for v in rng.standard_normal((DIRECTIONS, reduced.dimension)):
            values = reduced.features @ v
            first, last = int(values.argmax()), int(values.argmin())
            if self._is_pareto(first) and self._is_pareto(last):
                return self._alignment(1.0, first, last, v / np.ptp(values))
        actions = [i for i in self.pareto_items if i == min(self.finder.twins[i])]
        pairs = list(combinations(actions, 2))
        program = _interval_program(reduced.features)
        for i, j in counted(pairs, len(pairs), "pairs of items"):
            step = reduced.features[i] - reduced.features[j]
            found = program.maximize(np.append(step, 0.0))
            if found is not None and 4 * found.value**2 > best:
                best = self._alignment(float(found.value), i, j, found.point[:-1])
            if best >= 4 * ATTAINED:
                break
        return best

    def _alignment(self, t: float, i: int, j: int, direction: Array) -> Alignment:
        i, j, direction = (i, j, direction) if i < j else (j, i, -direction)
        pair = i * (self.items.k + 1), j * (self.items.k + 1)
        return Alignment(4 * t**2, 0.0, pair, self.items.reduced.difference_basis @ direction)

    def _is_pareto(self, item: int) -> bool:
        if item not in self._known:
            self._known[item] = self.finder.cell(item).kind == "pareto"
        return self._known[item]

    @cached_property
    def _known(self) -> dict[int, bool]:
        return {item: cell.kind == "pareto" for item, cell in self.rivals.items()}

    def verify(self) -> bool:
        """Check the certificates again, independently of how they were found."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Return one sentence for every certificate that does not hold."""
        return list(self._problems())

    def _problems(self) -> Iterator[str]:
        if not self._well_formed():
            yield "the items that prove the class are missing or malformed."
            return
        if self.certified and self.finder.exact is None:
            yield "not everything was decided in exact arithmetic, but called certified."
        judge = judge_of(self.items, self.finder.exact)
        alone: list[set[int]] = []
        for item, cell in self.rivals.items():
            name = self.items.actions[item]
            assert cell.witness is not None  # well formed
            if not judge.inside(cell.witness):
                yield f"item {name!r} has no witness in the parameter set."
                continue
            leads = judge.leads(cell.witness, item)
            alone.append({int(c) for c in np.flatnonzero(leads <= 0)})
            if not all(judge.same(item, c) for c in alone[-1]):
                yield f"item {name!r} is not the only best one at its witness."
        if len(alone) > 1 and set.intersection(*alone):
            yield "the witnesses of two items have a best item in common."
        if self.category == "trivial":
            yield from self._contenders(judge)

    def _well_formed(self) -> bool:
        """Whether there are different Pareto items, each with a witness in numbers."""
        own, exact = self.rivals, self.finder.exact is not None
        return (
            isinstance(own, dict)
            and len(own) > 0
            and is_actions(tuple(own), self.items.k)
            and is_tuple(tuple(own.values()), Cell)
            and all(cell.kind == "pareto" for cell in own.values())
            and all(is_numbers(cell.witness, (self.items.d,), exact) for cell in own.values())
        )

    def _contenders(self, judge: Judge) -> Iterator[str]:
        """Name the items that are somewhere better than the one that should always be best."""
        (best,) = self.rivals
        weights = np.arange(self.items.k) == best
        exact = self.finder.exact is not None
        mixture = Rational(weights.astype(int), 1) if exact else weights.astype(float)
        for i in range(self.items.k):
            if not judge.same(best, i) and judge.least(mixture, i, None, 0) < 0:
                names = self.items.actions
                yield f"item {names[i]!r} is somewhere better than {names[best]!r}."

    def explain(self) -> str:
        """Say in plain sentences what kind of game this is and why."""
        names = [f"'{self.items.actions[item]}'" for item in self.rivals]
        count = f"{self.items.k:,} items, {self.game.k:,} duels"
        if len(names) == 1:
            reason = f"Of {count}: {names[0]} is at least as good as every item, whatever is true."
        else:
            reason = (
                f"Of {count}: {names[0]} and {names[1]}, among others, can be best, and whichever "
                f"items compete, their own duel shows which is better and loses no more than they "
                f"do."
            )
        undecided = "Decided for the items, in floating point; the rest holds for all duels."
        proof = verification(self.certified, [] if self.sound else self.problems(), undecided)
        return "\n".join([HEADLINES[self.category], reason, proof])

    def plot(self, ax: Any = None) -> Figure:
        """Draw the cells or neighbours of the items.

        The duel of two neighbours shows which is better, so they are drawn as items that show
        theta.
        """
        from partial_monitoring.analysis import pictures

        own = self.items
        if own.k > MOST_DRAWN:
            raise InvalidInput(f"a picture shows at most {MOST_DRAWN} items; the game has {own.k}.")
        telling = Game(own.features, [np.eye(own.d)] * own.k, own.parameters, 1.0, own.actions)
        return pictures.plot(analyze_game(telling), ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data; of the Pareto items only those that prove the class."""
        return {
            "category": self.category,
            "regret_rate": self.regret_rate,
            "rivals": list(self.rivals),
            "globally_observable": True,
            "locally_observable": True,
            "alignment": self.alignment,
            "dimension": self.dimension,
            "rank": self.rank,
            "certified": self.certified,
        }

    def __repr__(self) -> str:
        proof = "certified" if self.certified else "in floating point"
        return f"DuelAnalysis({self.category}, regret {self.regret_rate}, {proof})"

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return html_lines(self.explain())


def analyze_duels(game: Any) -> DuelAnalysis:
    """Classify a game of many duels by its items, and prove it."""
    found = dict[int, Cell]()
    draft = DuelAnalysis(game, found, False, False)
    items, finder = draft.items, draft.finder
    taken: set[int] = set()
    likely = _leaders(items)
    order = [*likely, *(i for i in range(items.k) if i not in set(likely))]
    for i in counted(order, len(order), "items"):
        if i in taken:
            continue
        taken |= set(finder.twins[i])
        cell = finder.cell(i)
        if cell.kind == "pareto":
            found[i] = cell
        if len(found) == 2:
            break
    sound = draft.verify()
    exact = finder.exact is not None and not finder.undecided
    decided = DuelAnalysis(game, found, sound and exact, sound)
    set_fields(decided, items=items, finder=finder)
    return decided


def _leaders(items: Game) -> list[int]:
    """Return items that are best at some points of Theta, likely to be Pareto."""
    reduced, rng = items.reduced, np.random.default_rng(0)
    away = rng.standard_normal((DIRECTIONS, reduced.dimension)) @ reduced.difference_basis.T
    reach = 1 + np.linalg.norm(reduced.center)
    points = [items.parameters.project(reduced.center + reach * v) for v in away]
    best = (np.array(points) @ items.features.T).argmax(axis=1)
    return [int(i) for i in dict.fromkeys(best.tolist())]


def _interval_program(features: Array) -> LinearProgram:
    """Return the program over (v, s) in which 0 <= <phi_k, v> - s <= 1 for all items k."""
    n, dimension = features.shape
    rows, free = np.column_stack([features, -np.ones(n)]), np.full(dimension + 1, np.inf)
    return LinearProgram(rows, np.zeros(n), np.ones(n), -free, free)


def telling_duels(game: Any) -> Game:
    """Return a game of few duels with the same largest gap, norms and span as all of them.

    The duels of each item with itself (largest gaps: a gap is a sum of two differences of items),
    those of the first item with each (the span), and the two with the longest sum and difference.
    """
    items = items_of(game)
    phi, n = items.features, items.k
    seen = items.reduced.features - items.reduced.features[0]  # what duels show, shape (n, D)
    sums, shown = phi @ phi.T, seen @ seen.T
    squares, lengths = np.diag(sums), np.diag(shown)
    longest = divmod(int((squares[:, None] + squares + 2 * sums).argmax()), n)
    widest = divmod(int((lengths[:, None] + lengths - 2 * shown).argmax()), n)
    pairs = [*((i, i) for i in range(n)), *((0, i) for i in range(1, n)), longest, widest]
    first, second = np.array(pairs).T
    maps = list((phi[first] - phi[second])[:, None, :])
    return Game(phi[first] + phi[second], maps, items.parameters, game.noise_std)


def never_hopeless(game: AnyGame) -> None:
    """Accept every game of duels: each can be learned."""


def refuse_many_duels(game: AnyGame, confidence: object, integrated: bool) -> Alignment:
    """Refuse the local alignment of many duels, which would consider every pair of actions."""
    raise InvalidInput(
        f"local alignment considers every pair of actions, of at most {MOST_DUELS} duels; got "
        f"{game.k:,} duels, for which 4 is an upper bound whatever is plausible."
    )

"""Alignment constants of a game with contexts near the plausible parameters (equations 34, 35).

``uniform_contextual_alignment`` bounds alpha(E, chi) for every convex set E of plausible parameters
at once. Let a and b be plausible in context z, best for some parameters in E. Then three kinds of
actions are in the extended sets of E with eta = 1 (E8):

* in z, actions on the segment between a and b, whose gaps are no larger than those of the two;
* in another context, an action whose cell contains that of a or of b, so that it is plausible as
  well, and actions on the segment between two such ones;
* along a chain of neighbours from a to b, those of a region of every face that is passed, as
  proved in ``faces``.

Where the first two kinds distinguish a and b, that difference is a contrast with these observers.
Where they do not, the difference is a sum of l <= n - 1 steps between neighbours, n the number of
Pareto actions: the average of l times a step drawn at random. The root of the constant is

    min over weights w of (sum_z' 1 / chi(z') (sum_c (sum_z chi(z) |w_c^z'z|^2)^(1/2))^2)^(1/2),

a norm of weights with which contexts z' observe the differences of contexts z. Averages of weights
serve averages of differences, and a norm is convex. So alpha_1(E, chi) is at most the largest
constant over all choices of one contrast per context, steps taken n - 1 times.

With weights that only use the own context, it is also at most the sum over the contexts of what
bounds alpha_1(E, z), if every context is locally observable by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from partial_monitoring.analysis.alignment import by_level, plausible_in
from partial_monitoring.analysis.bounds import uniform_local_alignment
from partial_monitoring.analysis.cells import floats
from partial_monitoring.analysis.contextual import alignment as alignments
from partial_monitoring.analysis.contextual.alignment import ContextualAlignment, possible_contexts
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis
from partial_monitoring.analysis.contextual.programs import Contrast, ObservingActions
from partial_monitoring.analysis.coordinates import local_coordinates
from partial_monitoring.errors import SolverError
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.numerics.conic import Cone, minimize_conic
from partial_monitoring.validation import Array

MOST_CELLS = 60
"""With more cells than this in all contexts, cells are not compared across contexts."""

INSIDE = 1e-9
"""A cell lies in another one if it reaches out by less than this fraction of the rewards."""

Place = tuple[int, int]
"""A context and one of its actions."""


def contextual_local_alignment(
    game: ContextualGame, confidence: Any, integrated: bool = False
) -> ContextualAlignment:
    """Return alpha(E, chi) = inf over eta of eta^2 alpha_eta(E, chi), for plausible parameters E.

    ``integrated`` is for gaps that are estimated over whole plans: alpha-bar(E, chi), which is
    never larger.
    """
    near = {z: plausible_in(game.at(z), confidence) for z in possible_contexts(game)}
    plausible = _by_context(game, {z: own for z, (own, _) in near.items()})
    constant = alignments.integrated_alignment if integrated else alignments.contextual_alignment

    def at(eta: float) -> ContextualAlignment:
        allowed = {z: np.flatnonzero(levels <= eta).tolist() for z, (_, levels) in near.items()}
        return constant(game, plausible, _by_context(game, allowed))

    # If the best actions everywhere in E show all that matters, they do so for every eta.
    if all(len(own) < 2 for own in plausible) or np.isfinite(at(0.0)):
        return alignments.NO_CONTRAST
    levels = np.concatenate([own for _, own in near.values()])
    tried = by_level(levels, at, lambda found: found.lower)
    best = min((square * found for square, found in tried), default=np.inf)
    if not np.isfinite(best):
        return alignments.UNOBSERVABLE
    lower = min(square * found.lower for square, found in tried)
    return ContextualAlignment(best, all(found.exact for _, found in tried), lower)


def _by_context(game: ContextualGame, found: dict[int, list[int]]) -> Sequence[list[int]]:
    return [found.get(z, []) for z in range(len(game.games))]


def uniform_contextual_alignment(analysis: ContextualAnalysis) -> float:
    """Return a bound of alpha(E, chi) for all convex E; infinite if none is known."""
    if analysis.category == "trivial":
        return 0.0
    if not analysis.locally_observable:
        return np.inf
    contrasts = _Contrasts(analysis)
    options = [contrasts.of_context(z) for z in analysis.possible]
    chances = [float(analysis.game.context_distribution[z]) for z in analysis.possible]
    bound = float(alignments.largest_constant(options, chances, contrasts.observers))
    return min(bound, sum(uniform_local_alignment(analysis.contexts[z]) for z in analysis.possible))


class _Contrasts:
    """What has to be observed in every context, and the observers that are always available."""

    def __init__(self, analysis: ContextualAnalysis) -> None:
        self.analysis = analysis
        self.places = alignments.observing_places(analysis.game)
        self.observers: ObservingActions = alignments.observing_actions(analysis.game)
        self.implied = _implied(analysis)

    def of_context(self, z: int) -> list[Contrast]:
        """Return the contrasts of a context: pairs, or steps between neighbours if pairs fail."""
        own = self.analysis.contexts[z]
        actions = own.representatives
        found, chains = [], False
        for a, b in combinations(actions, 2):
            contrast = self._contrast(z, a, b, self._sure(z, a, b))
            if self.observers.sees(contrast):
                found.append(contrast)
            else:
                chains = True
        if chains:
            for a, b in own.neighboring_cells:
                for near in self._regions(z, a, b):
                    found.append(self._contrast(z, a, b, near, len(actions) - 1))
        return found

    def _contrast(self, z: int, a: int, b: int, near: set[Place], times: int = 1) -> Contrast:
        features = self.analysis.game.at(z).features
        q = self.analysis.game.parameters.difference_basis()
        mask = np.array([place in near for place in self.places], dtype=bool)
        return Contrast(times * (features[b] - features[a]) @ q, mask)

    def _sure(self, z: int, a: int, b: int) -> set[Place]:
        """Return the actions that are in the extended sets whenever a and b are plausible."""
        near = {(z, c) for c in self.analysis.contexts[z].cells.faces[a, b].neighborhood}
        one, two = self.implied.get((z, a), {}), self.implied.get((z, b), {})
        for y in one.keys() | two.keys():
            cells = self.analysis.contexts[y].cells
            for e in one.get(y, []) + two.get(y, []):
                near.add((y, e))
            for e in one.get(y, []):
                for f in two.get(y, []):
                    face = cells.faces.get((min(e, f), max(e, f)))
                    near |= {(y, c) for c in face.neighborhood} if face is not None else set()
        return near

    def _regions(self, z: int, a: int, b: int) -> list[set[Place]]:
        """Return the actions that are sure to be available on each region of a face."""
        face = self.analysis.faces.get((z, a, b))
        if face is None:
            return [self._sure(z, a, b)]
        places = self.analysis.joint.places
        return [
            {places[c] for c in region.reading.actions} | self._sure(z, a, b)
            for region in face.regions
        ]


def _implied(analysis: ContextualAnalysis) -> dict[Place, dict[int, list[int]]]:
    """For every Pareto action, by other context: the actions whose cells contain its cell."""
    joint = analysis.joint
    pareto = {z: analysis.contexts[z].representatives for z in analysis.possible}
    if sum(map(len, pareto.values())) > MOST_CELLS:
        return {}
    chart = local_coordinates(joint.game)
    found: dict[Place, dict[int, list[int]]] = {}
    for z, actions in pareto.items():
        own = [joint.index[z, c] for c in actions]
        for a in actions:
            i = joint.index[z, a]
            witness = analysis.contexts[z].cells.cells[a].witness
            if witness is None:
                continue
            apart = chart.slopes[own] - chart.slopes[i]
            level = chart.offsets[i] - chart.offsets[own]
            # Rows are put on one scale, which does not change the cell.
            size = np.maximum(np.abs(apart).max(axis=1, initial=0.0), np.abs(level))
            kept = size > 0
            cell = Cone("nonnegative", apart[kept] / size[kept, None], level[kept] / size[kept])
            region = [*chart.cones(), cell]
            rewards = joint.game.features @ floats(witness)
            for y, others in pareto.items():
                if y == z:
                    continue
                rivals = [joint.index[y, c] for c in others]
                best = rivals[int(rewards[rivals].argmax())]
                if all(
                    _never_better(chart.offsets, chart.slopes, region, c, best)
                    for c in rivals
                    if c != best
                ):
                    e = joint.places[best][1]
                    twins = [list(group) for group in analysis.contexts[y].duplicates if e in group]
                    found.setdefault((z, a), {})[y] = twins[0] if twins else [e]
    return found


def _never_better(offsets: Array, slopes: Array, region: list[Cone], rival: int, best: int) -> bool:
    """Whether an action earns at least as much as another everywhere in a region."""
    slope, level = slopes[best] - slopes[rival], float(offsets[best] - offsets[rival])
    size = max(float(np.abs(slope).max(initial=0.0)), abs(level))
    if size == 0.0:
        return True
    try:
        least = minimize_conic(slope / size, region)
    except SolverError:
        return False
    return least is not None and least.value + level / size >= -INSIDE

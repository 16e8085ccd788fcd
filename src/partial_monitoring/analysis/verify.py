"""Check certificates against the game, from the definitions.

The checks do not depend on how the certificates were found: parameters are put into the
inequalities of Theta, rewards are compared, mixtures are minimised over Theta, weights are
multiplied out. With rational data all of it is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from partial_monitoring.analysis.cells import (
    Cells,
    Numbers,
    Pair,
    connected,
    floats,
    on_segment,
)
from partial_monitoring.analysis.coordinates import NOISE, local_coordinates
from partial_monitoring.analysis.exact import ExactGame
from partial_monitoring.analysis.form import form_problems
from partial_monitoring.analysis.observability import Certificate
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import halved
from partial_monitoring.numerics.rational import Integers, Rational, product, scaled, total
from partial_monitoring.validation import Array

LOOSE = 5e-9
"""In floating point, a lead below this fraction of the largest possible one counts as a tie."""

SIGHT = 1e-6
"""In floating point, the relative error allowed to weights and blind directions."""


def problems_of(
    game: Game,
    exact: ExactGame | None,
    cells: Cells,
    local: Mapping[Pair, Certificate],
    everywhere: Mapping[Pair, Certificate],
) -> list[str]:
    """Return one sentence for every proof of a cell, face or certificate that does not hold.

    Local certificates are those of neighbours by their neighbourhoods.
    """
    malformed = list(form_problems(game, exact is not None, cells, local, everywhere))
    if malformed:
        return malformed
    judge = judge_of(game, exact)
    return [
        *_cell_problems(game, cells, judge),
        *_face_problems(game, cells, judge),
        *_certificate_problems(game, cells, local, everywhere, judge),
    ]


def _cell_problems(game: Game, cells: Cells, judge: Judge) -> Iterable[str]:
    """Check that every cell has its witness or mixture and that duplicates are complete."""
    names = game.actions
    twins = {a: {a} for a in range(game.k)}
    for group in cells.duplicates:
        for a in group:
            twins[a] = set(group)
        if not all(judge.same(group[0], c) for c in group[1:]):
            yield f"the group {list(group)} does not consist of duplicates."
    firsts = [a for a in range(game.k) if a == min(twins[a])]
    for a, c in combinations(firsts, 2):
        if judge.same(a, c):
            yield f"the actions {(a, c)} are duplicates but appear in no group."
    for a, cell in enumerate(cells.cells):
        others = [c for c in range(game.k) if c not in twins[a]]
        if cell.kind in ("pareto", "degenerate"):
            if cell.witness is None or not judge.inside(cell.witness):
                yield f"action {names[a]!r} has no witness in the parameter set."
                continue
            leads = judge.leads(cell.witness, a)[others]
            if not ((leads > 0).all() if cell.kind == "pareto" else (leads >= 0).all()):
                yield f"action {names[a]!r} is not best at its witness."
        if cell.kind in ("degenerate", "dominated"):
            if cell.mixture is None or not mixes(cell.mixture, twins[a]):
                yield f"action {names[a]!r} has no mixture of other actions against it."
                continue
            sign = judge.least(cell.mixture, a, None, 0)
            if sign < 0 or (cell.kind == "dominated" and sign == 0):
                yield f"action {names[a]!r} is not dominated by its mixture."


def mixes(mixture: Numbers, excluded: Iterable[int]) -> bool:
    """Whether weights form a mixture of actions outside the excluded ones."""
    weights = mixture.numerators if isinstance(mixture, Rational) else mixture
    return bool((weights >= 0).all() and weights.sum() > 0 and not weights[list(excluded)].any())


def _face_problems(game: Game, cells: Cells, judge: Judge) -> Iterable[str]:
    """Check that every pair of Pareto actions that are no duplicates is decided, with a proof."""
    twins = {frozenset((a, b)) for group in cells.duplicates for a in group for b in group}
    pareto = cells.of_kind("pareto")
    pairs = {(a, b) for a in pareto for b in pareto if a < b and frozenset((a, b)) not in twins}
    if pairs != set(cells.faces):
        yield "the pairs of Pareto actions are not complete."
    if not connected(pareto, cells.duplicates, cells.neighbors):
        yield "the Pareto actions are not connected by neighbours."
    degenerate = cells.of_kind("degenerate")
    same = [{c for c in range(game.k) if _alike(a, c, twins)} for a in range(game.k)]
    checked = set()
    for pair, face in cells.faces.items():
        a, b = face.pair
        if not any(_alike(a, pair[i], twins) and _alike(b, pair[1 - i], twins) for i in (0, 1)):
            yield f"the face of {pair} was decided for other actions."
            continue
        if id(face) in checked:
            continue
        checked.add(id(face))
        near = face.neighborhood
        pool = same[a] | same[b]
        if set(near) != judge.between(a, b, sorted({*pool, *degenerate})):
            yield f"the neighbourhood of {(a, b)} does not hold exactly the mixtures of the two."
        if face.neighbors:
            if face.witness is None or not judge.inside(face.witness):
                yield f"the pair {(a, b)} has no witness in the parameter set."
                continue
            leads = judge.leads(face.witness, a)
            outside = [c for c in range(game.k) if c not in near]
            if leads[b] != 0 or not (leads[outside] > 0).all():
                yield f"the witness of {(a, b)} is not on a common face of their own."
        elif (
            face.mixture is None
            or not mixes(face.mixture, near)
            or judge.least(face.mixture, a, b, face.tie_weight) < 0
        ):
            yield f"the pair {(a, b)} is not separated by its mixture."


def _alike(a: int, b: int, twins: set[frozenset[int]]) -> bool:
    return a == b or frozenset((a, b)) in twins


def _certificate_problems(
    game: Game,
    cells: Cells,
    local: Mapping[Pair, Certificate],
    everywhere: Mapping[Pair, Certificate],
    judge: Judge,
) -> Iterable[str]:
    """Check the certificates of neighbours, and of a connected set of pairs by all actions."""
    neighborhoods = cells.neighborhoods
    if set(neighborhoods) != set(local):
        yield "the local certificates are not those of the neighbours."
    for (a, b), certificate in local.items():
        own = list(certificate.actions) == neighborhoods.get((a, b))
        if not own or not judge.accepts(certificate, a, b):
            yield f"the local certificate of {(a, b)} does not hold."
    pareto = cells.of_kind("pareto")
    for (a, b), certificate in everywhere.items():
        whole = certificate.actions == tuple(range(game.k))
        if not whole or not {a, b} <= set(pareto) or not judge.accepts(certificate, a, b):
            yield f"the global certificate of {(a, b)} does not hold."
    if not connected(pareto, cells.duplicates, everywhere):
        yield "the global certificates do not connect all Pareto actions."


class ExactJudge:
    """Decides statements about one game in integers."""

    def __init__(self, exact: ExactGame) -> None:
        self.exact = exact

    def inside(self, theta: Numbers) -> bool:
        """Whether theta lies in Theta."""
        assert isinstance(theta, Rational)
        matrix, right = self.exact.equal
        rest = total(product(matrix, theta.numerators), -scaled(right, theta.denominator))
        return not rest.any() and self.exact.contains(theta)

    def leads(self, theta: Numbers, a: int) -> Integers:
        """Return r_a(theta) - r_c(theta) for all c, up to a positive factor, shape (k,)."""
        assert isinstance(theta, Rational)
        values = product(self.exact.features, theta.numerators)
        leads: Integers = values[a] - values
        return leads

    def least(self, mixture: Numbers, a: int, tied: int | None, tie_weight: Any) -> int:
        """Return the sign of min over Theta of sum q_c (r_c - r_a) + w (r_a - r_b)."""
        assert isinstance(mixture, Rational)
        if (mixture.numerators < 0).any():
            return -1
        weight = Fraction(tie_weight) * mixture.denominator
        least = self.exact.slack(a, mixture.numerators, tied, weight)
        return -1 if least is None else (least > 0) - (least < 0)

    def _constant(self, vector: Integers) -> bool:
        """Whether <vector, theta> is zero on all of Theta."""
        return self.exact.minimum(vector) == 0 and self.exact.minimum(-vector) == 0

    def same(self, a: int, c: int) -> bool:
        """Whether two actions earn the same on all of Theta."""
        return self._constant(total(self.exact.features[a], -self.exact.features[c]))

    def between(self, a: int, b: int, pool: Sequence[int]) -> set[int]:
        """Return the actions of a pool whose rewards are mixtures of those of a and b on Theta."""
        features, line = self.exact.features.astype(object), self.exact.lines
        step = line[b] - line[a]
        j = int(np.flatnonzero(step)[0])
        found = {a, b} & set(pool)
        for c in self.exact.on_segment(a, b, [c for c in pool if c not in found]):
            share = Fraction(int(line[c][j] - line[a][j]), int(step[j]))
            one, other = share.denominator - share.numerator, share.numerator
            mixed = one * features[a] + other * features[b]
            if self._constant(share.denominator * features[c] - mixed):
                found.add(c)
        return found

    def accepts(self, certificate: Certificate, a: int, b: int) -> bool:
        """Whether the weights or the blind direction of a certificate prove what they should."""
        exact = self.exact
        target = total(exact.features[a], -exact.features[b])
        maps = exact.maps.numerators[list(certificate.actions)]
        flat = maps.reshape(-1, maps.shape[2])
        if isinstance(certificate.weights, Rational):
            mixed = product(certificate.weights.numerators.ravel(), flat)
            left = scaled(mixed, exact.feature_denominator)
            right = scaled(target, exact.maps.denominator * certificate.weights.denominator)
            return not product(total(left, -right), exact.directions).any()
        assert isinstance(certificate.blind, Rational)
        direction = certificate.blind.numerators
        still = np.concatenate([exact.equalities[0], flat])
        return not product(still, direction).any() and bool(product(target, direction))


class FloatJudge:
    """Decides the same statements in floating point, with tolerances."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.chart = local_coordinates(game)

    def inside(self, theta: Numbers) -> bool:
        point = floats(theta)
        nearest = self.game.parameters.project(point)
        to_theta = self.chart.to_theta
        extent = 1.0 if to_theta is None else float(np.abs(to_theta).max(initial=0.0))
        size = float(np.abs(self.game.reduced.center).max()) * NOISE + LOOSE * extent
        return bool(np.abs(nearest - point).max() <= size)

    def leads(self, theta: Numbers, a: int) -> Array:
        values = (self.game.features[a] - self.game.features) @ floats(theta)
        noise = self.chart.noise + self.chart.noise[a]
        leads: Array = np.where(np.abs(values) <= noise, 0.0, values) / self.chart.sizes(a)
        return _without_noise(leads)

    def least(self, mixture: Numbers, a: int, tied: int | None, tie_weight: Any) -> int:
        weights, chart = floats(mixture), self.chart
        slope = weights @ chart.slopes - weights.sum() * chart.slopes[a]
        offset = float(weights @ chart.offsets - weights.sum() * chart.offsets[a])
        size = float(weights @ chart.sizes(a))
        if tied is not None:
            slope = slope + float(tie_weight) * (chart.slopes[a] - chart.slopes[tied])
            offset += float(tie_weight) * float(chart.offsets[a] - chart.offsets[tied])
        # What is left of slopes that cancel is noise, which an unbounded set would magnify.
        slope = np.where(np.abs(slope) <= LOOSE * size, 0.0, slope)
        least = chart.minimum(offset, slope) / size
        return int(np.sign(_without_noise(np.array(least))))

    def same(self, a: int, c: int) -> bool:
        return bool(self.chart.same(a)[c])

    def between(self, a: int, b: int, pool: Sequence[int]) -> set[int]:
        near = on_segment(self.chart, a, b, np.array(pool, dtype=int))
        return {c for c, on in zip(pool, near, strict=True) if on}

    def accepts(self, certificate: Certificate, a: int, b: int) -> bool:
        q = self.game.reduced.difference_basis
        target = self.game.features[a] - self.game.features[b]
        maps = self.game.observation_maps[list(certificate.actions)]
        size = max(float(np.linalg.norm(target @ q)), 1e-300)
        if certificate.weights is not None:
            mixed = np.einsum("cm,cmd->d", floats(certificate.weights), maps)
            return float(np.linalg.norm((mixed - target) @ q)) <= SIGHT * size
        direction, _ = halved(floats(certificate.blind))  # type: ignore[arg-type]
        length = float(np.linalg.norm(direction))
        off_hull = float(np.linalg.norm(direction - q @ (q.T @ direction)))
        largest = max(float(np.abs(maps).max(initial=0.0)), 1e-300)
        observed = float(np.linalg.norm(maps @ direction)) / largest
        changed = abs(float(target @ direction)) > 1e-9 * size * length
        return max(off_hull, observed) <= SIGHT * length and changed


def _without_noise(values: Array) -> Array:
    """Set values below the tolerance to zero."""
    return np.where(np.abs(values) <= LOOSE, 0.0, values)


Judge = ExactJudge | FloatJudge


def judge_of(game: Game, exact: ExactGame | None) -> Judge:
    """Return the judge of a game: in integers if it has them."""
    return FloatJudge(game) if exact is None else ExactJudge(exact)

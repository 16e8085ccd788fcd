"""Alignment constants: how well observations line up with what has to be learned (section 4.1).

For a pair of actions and a set B of observing actions

    alpha_ab(B) = (max <phi_a - phi_b, v> : v in V, |M_c v| <= 1 for c in B)^2
                = (min sum_c |w_c|        : sum_c M_c' w_c = phi_a - phi_b on V)^2.

Both programs are solved at once; the gap between them is reported. The global constant alpha is the
largest alpha_ab(all actions) over pairs of Pareto actions; its square root is the diameter of the
reward features in the norm of the second program, which the triangle inequality helps to find.
The local constant alpha(E) compares only actions that are best for a plausible parameter in E.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from partial_monitoring.analysis.advantage import advantage_program
from partial_monitoring.analysis.cells import Pair, find_cells
from partial_monitoring.analysis.coordinates import LocalCoordinates, local_coordinates
from partial_monitoring.analysis.exact import ExactGame
from partial_monitoring.analysis.observability import SEEN
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.game import Game
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import RANK_TOLERANCE, singular
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.parameter_sets.coordinates import norm_cone, pulled_back
from partial_monitoring.validation import Array, brief

PRECISION = 1e-9
"""Pairs whose upper bound exceeds the best lower bound by less than this fraction are done."""

PLAUSIBLE = 1e-7
"""An action counts as plausibly best if it falls short of that by less than this."""

ROUNDED = 1 + 1e-12
"""Factor by which levels are raised, so that actions whose levels differ by rounding join."""

Constant = TypeVar("Constant", bound=float)


class Alignment(float):
    """An alignment constant (a number), with the pair and the direction that attain it.

    0 if no two actions have to be distinguished, infinite if two of them cannot be.
    """

    gap: float
    """Relative difference of the dual bound (weights) and the primal bound (direction)."""
    pair: Pair | None
    direction: Array | None
    """The direction v in V, shape (d,), with |M_c v| <= 1 for all observing actions."""
    weights: Array | None
    """The weights w_c, shape (k, m), zero for actions that do not observe."""

    def __new__(
        cls,
        value: float,
        gap: float = 0.0,
        pair: Pair | None = None,
        direction: Array | None = None,
        weights: Array | None = None,
    ) -> Alignment:
        self = super().__new__(cls, value)
        self.gap, self.pair, self.direction, self.weights = gap, pair, direction, weights
        return self

    @property
    def value(self) -> float:
        """The constant as a plain number."""
        return float(self)


NOTHING = Alignment(0.0)
"""The constant where no two actions have to be distinguished."""


class AlignmentProgram:
    """The two programs for one set of observing actions, on the span of what they show.

    With the stacked maps = U S V' on that span the directions are written v = V S^-1 z. The rows in
    z are those of U, whose columns are orthonormal, so that almost parallel observations and maps
    of very different size do no harm. Unless the dimension of the span, ``rank``, is known, small
    singular values are dropped.
    """

    def __init__(self, game: Game, actions: Sequence[int], rank: int | None = None) -> None:
        from scipy import sparse

        self.game, self.actions = game, list(actions)
        reduced = game.reduced
        maps = reduced.observation_maps[self.actions]  # (B, m, D)
        raw = np.linalg.norm(game.observation_maps[self.actions], axis=2)
        # Rows that vanish on the directions of Theta are rounding noise.
        informative = np.linalg.norm(maps, axis=2) > RANK_TOLERANCE * raw
        maps = maps * informative[:, :, None]
        flat = maps.reshape(len(self.actions) * game.m, reduced.dimension)
        unit = flat / np.where(raw > 0, raw, 1.0).reshape(-1, 1)
        values, right = singular(unit)
        if rank is None:
            rank = int((values > RANK_TOLERANCE).sum())
        seen = right[:rank].T
        self.scale, turn = singular(flat @ seen)
        self.basis = seen @ turn.T
        self.rows = maps @ self.basis / self.scale  # (B, m, r)
        self.kept = [np.flatnonzero(rows) for rows in informative]
        self.used = [i for i, kept in enumerate(self.kept) if len(kept)]
        sizes = [len(self.kept[i]) for i in self.used]
        starts = np.cumsum([0, *(1 + size for size in sizes)])
        columns = int(starts[-1])
        self.objective = np.zeros(columns)
        self.objective[starts[:-1]] = 1.0
        # Variables (s_c, w_c) for each used action: minimise sum s_c with |w_c| <= s_c.
        stacked = np.zeros((rank, columns))
        for i, start, size in zip(self.used, starts, sizes, strict=False):
            stacked[:, start + 1 : start + 1 + size] = self.rows[i][self.kept[i]].T
        self.starts, self.sizes = starts, sizes
        self.equality = sparse.csc_matrix(stacked)
        minus = -sparse.identity(columns, format="csr")
        self.cones = [
            conic.Cone("norm", minus[start : start + 1 + size], np.zeros(1 + size))
            for start, size in zip(starts, sizes, strict=False)
        ]

    def sees(self, target: Array) -> bool:
        """Whether a reward difference (in reduced coordinates) is in the span of what is shown."""
        rest = target - self.basis @ (self.basis.T @ target)
        return bool(np.linalg.norm(rest) <= SEEN * max(float(np.linalg.norm(target)), 1e-300))

    def weigh(self, target: Array) -> tuple[Array, Array]:
        """Return the weights (B, m) of least total length and the direction that proves it (D,)."""
        inner = self.basis.T @ target / self.scale
        size = float(np.linalg.norm(inner))
        weights = np.zeros(self.rows.shape[:2])
        if size == 0 or not self.used:
            return weights, np.zeros(len(target))
        best = conic.minimize_conic(
            self.objective, [conic.Cone("zero", self.equality, inner / size), *self.cones]
        )
        if best is None:
            raise SolverError("the alignment program has no feasible weights.")
        for i, start, length in zip(self.used, self.starts, self.sizes, strict=False):
            weights[i, self.kept[i]] = best.point[start + 1 : start + 1 + length] * size
        # Make the equation hold to the last digit by the smallest change of the weights.
        flat = self.rows.reshape(-1, len(inner))
        rest = inner - flat.T @ weights.ravel()
        weights += (flat @ rest).reshape(weights.shape)
        direction = -best.multipliers[: len(inner)]
        largest = float(np.linalg.norm(self.rows @ direction, axis=1).max())
        return weights, self.basis @ (direction / largest / self.scale)


def pair_alignment(game: Game, a: int, b: int, actions: Sequence[int] | None = None) -> Alignment:
    """Return alpha_ab(B) for one pair and the observing actions B (all of them unless given)."""
    return largest_alignment(
        AlignmentProgram(game, range(game.k) if actions is None else actions), (a, b)
    )


def largest_alignment(program: AlignmentProgram, actions: Sequence[int]) -> Alignment:
    """Return the largest alpha_ab over pairs of the given actions; infinite if one is not seen.

    One program per action gives the weights w_a of its difference to a reference action. The
    weights w_a - w_b serve the pair (a, b), so they bound alpha_ab from above; every direction
    found bounds all pairs from below. Pairs are then solved in the order of their upper bounds
    until no other pair can be larger.
    """
    features = program.game.reduced.features[list(actions)]
    n = len(actions)
    for i in range(1, n):
        if not program.sees(features[i] - features[0]):
            return Alignment(np.inf, 0.0, (actions[0], actions[i]))
    star = [(np.zeros(program.rows.shape[:2]), np.zeros(features.shape[1]))]
    star += [program.weigh(features[i] - features[0]) for i in range(1, n)]
    weights = np.array([w for w, _ in star])
    upper = np.stack([np.linalg.norm(weights - own, axis=2).sum(axis=1) for own in weights])
    best, lower = None, 0.0
    for i in range(1, n):
        own = float((features[i] - features[0]) @ star[i][1])
        if own > lower:
            best, lower = (i, 0, *star[i]), own
    pairs = sorted(combinations(range(n), 2), key=lambda pair: -upper[pair])
    for i, j in pairs:
        if upper[i, j] <= lower * (1 + PRECISION):
            break
        found = program.weigh(features[i] - features[j])
        value = float((features[i] - features[j]) @ found[1])
        if value > lower:
            best, lower = (i, j, *found), value
    if best is None:
        return NOTHING
    i, j, w, v = best
    return _alignment(program, (actions[i], actions[j]), w, v)


def _alignment(
    program: AlignmentProgram, pair: Pair, weights: Array, direction: Array
) -> Alignment:
    features = program.game.reduced.features
    primal = float((features[pair[0]] - features[pair[1]]) @ direction)
    dual = float(np.linalg.norm(weights, axis=1).sum())
    if pair[0] > pair[1]:
        pair, weights, direction = (pair[1], pair[0]), -weights, -direction
    placed = np.zeros((program.game.k, program.game.m))
    placed[program.actions] = weights
    return Alignment(
        dual * primal,
        (dual - primal) / dual if dual > 0 else 0.0,
        pair,
        program.game.reduced.difference_basis @ direction,
        placed,
    )


def alignment_near(game: Game, confidence: Any, integrated: bool = False) -> Alignment:
    """Return alpha(E) = inf over eta of eta^2 alpha_eta(E), equation (14) of the paper.

    Integrated or not makes no difference without contexts.
    """
    plausible, levels = plausible_in(game, confidence)
    if len(plausible) < 2:
        return NOTHING

    def at(eta: float) -> Alignment:
        observers = np.flatnonzero(levels <= eta).tolist()
        return largest_alignment(AlignmentProgram(game.linear, observers), plausible)

    tied = at(0.0)
    if np.isfinite(tied):
        return NOTHING
    tried = by_level(levels, at, float)
    if not tried:
        return tied
    square, found = min(tried, key=lambda own: own[0] * own[1])
    return Alignment(square * found, found.gap, found.pair, found.direction, found.weights)


def by_level(
    levels: Array, at: Callable[[float], Constant], least: Callable[[Constant], float]
) -> list[tuple[float, Constant]]:
    """Return eta^2 and alpha_eta for all eta > 0 that can attain the least eta^2 alpha_eta.

    alpha_eta decreases in steps, at the levels at which another action joins the extended set, so
    levels are tried from below until the last constant, of which ``least`` is a lower bound, rules
    out all others.
    """
    steps = np.unique(levels[np.isfinite(levels) & (levels > 0)]) * ROUNDED
    if len(steps) == 0:
        return []
    last, best, tried = least(at(float(steps[-1]))), np.inf, []
    for eta in map(float, steps):
        if eta**2 * last >= best:
            break
        tried.append((eta**2, at(eta)))
        best = min(best, eta**2 * tried[-1][1])
    return tried


def plausible_in(game: Game, confidence: Any) -> tuple[list[int], Array]:
    """Return the actions that are best somewhere in E, and the level of every action, shape (k,).

    Of duplicates only the first is listed. The level is the least eta for which the action is in
    the extended set, whose actions have a largest gap over E of at most eta times that of a
    plausible one (E8). Where all plausible actions tie on E, only those as good as they are belong
    to it, whatever eta is, and the level of the others is infinite.
    """
    linear, chart = game.linear, local_coordinates(game.linear)
    cells = find_cells(linear, ExactGame.of(linear))
    region = chart.pulled_back(region_cones(confidence, game))
    gaps = _largest_gaps(chart, region)
    program = advantage_program(chart, region)
    kept = [a for a in cells.representatives if program.solve(a, ()).value >= -PLAUSIBLE]
    widest, slack = float(gaps[kept].max(initial=0.0)), PLAUSIBLE * float(gaps.max())
    others = gaps / widest if widest > slack else np.inf
    return kept, np.where(gaps <= slack, 0.0, others)


def _largest_gaps(chart: LocalCoordinates, region: list[conic.Cone]) -> Array:
    """Return the largest gap of every action over a region, shape (k,)."""
    k = len(chart.offsets)
    gaps = np.zeros(k)
    for a in range(k):
        sizes = chart.sizes(a)
        for b in range(k):
            if a == b:
                continue
            try:
                best = conic.minimize_conic((chart.slopes[a] - chart.slopes[b]) / sizes[b], region)
            except SolverError:
                raise InvalidInput(
                    "confidence must be a bounded set; got an unbounded one."
                ) from None
            if best is None:
                raise InvalidInput(
                    "confidence must meet the game's parameter set; got one that does not."
                )
            gaps[a] = max(gaps[a], chart.offsets[b] - chart.offsets[a] - best.value * sizes[b])
    return gaps


def region_cones(confidence: Any, game: Game) -> list[conic.Cone]:
    """Return a set of plausible parameters, cut by Theta, as conic constraints on those of a game.

    The set is a parameter set, or a confidence set of one replicate with ``center``, ``gram`` and
    ``beta``. It contains the d numbers of a kernel game, whose constraints are on the coordinates
    of its linear game.
    """
    cones = _cones(confidence, game.d)
    if game.traits.function:
        cones = pulled_back(cones, np.zeros(game.d), game.root)  # type: ignore[attr-defined]
    return [*game.linear.parameters.cones(), *cones]


@singledispatch
def _cones(confidence: Any, d: int) -> list[conic.Cone]:
    """Return a set of plausible parameters in R^d as conic constraints; here an ellipsoid."""
    try:
        center, gram, beta = confidence.center, confidence.gram, confidence.beta
    except AttributeError:
        raise InvalidInput(
            f"confidence must be a parameter set or a confidence set; got {brief(confidence)}."
        ) from None
    if np.size(beta) != 1:
        raise InvalidInput(f"confidence must be the set of one replicate; got {np.size(beta)}.")
    _check_dimension(np.size(center), d)
    # A root by eigenvalues, which exists even where rounding has made a small one negative.
    squares, turn = np.linalg.eigh(np.reshape(gram, (d, d)))
    least = float(np.finfo(float).eps) * squares[-1]
    root = np.sqrt(np.maximum(squares, least))[:, None] * turn.T
    return [norm_cone(root, root @ np.ravel(center), np.sqrt(float(np.ravel(beta)[0])))]


@_cones.register
def _(confidence: ParameterSet, d: int) -> list[conic.Cone]:
    _check_dimension(confidence.d, d)
    return confidence.cones()


def _check_dimension(given: int, d: int) -> None:
    if given != d:
        raise InvalidInput(f"confidence must lie in dimension {d} like the game; got {given}.")

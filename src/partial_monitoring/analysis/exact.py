"""A game in integers: what floating point suggests is proved or refuted here.

Parameters are written theta = (base + directions x) / denominator with rational free coordinates
x, so that every equality of Theta holds by construction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.advantage import Advantage
from partial_monitoring.model.game import Game
from partial_monitoring.numerics import exact_lp
from partial_monitoring.numerics.rational import (
    Integers,
    Rational,
    compact,
    eliminate,
    from_fractions,
    integer_rows,
    kernel,
    product,
    rationalize,
    rounded,
    scaled,
    total,
)
from partial_monitoring.validation import Array

GRIDS = (2**24, 2**36, 2**50)
"""Denominators to which a witness is rounded, the coarsest that works."""

SIMPLE = 10_000
"""Largest denominator of the fractions that are tried first: small games need no larger one."""


@dataclass(frozen=True, eq=False)
class Proof:
    """The sign of t*, with what proves it."""

    sign: int
    theta: Rational | None
    """A point where the action is best (uniquely if the sign is +1); None if the sign is -1."""
    mixture: Rational | None
    """Weights (k,) of the other actions that are at least as good everywhere; None if +1."""
    tie_weight: Fraction = Fraction(0)


class ExactGame:
    """The rewards, maps and parameter set of a game with rational data, in integers."""

    def __init__(
        self, game: Game, features: Rational, maps: Rational, halfspaces: Sequence[Rational]
    ) -> None:
        self.game = game
        self.parameters = game.parameters
        self.features, self.feature_denominator = features
        self.maps = maps
        self.halfspaces = halfspaces
        a_ub, b_ub, a_eq, b_eq = halfspaces
        self.upper, self.equal = integer_rows(a_ub, b_ub), integer_rows(a_eq, b_eq)

    @classmethod
    def of(cls, game: Game) -> ExactGame | None:
        """Return the exact game, or None if a number is not rational or Theta is curved."""
        halfspaces = game.parameters.halfspaces()
        if halfspaces is None:
            return None
        data = [rationalize(a) for a in (game.features, game.observation_maps, *halfspaces)]
        if any(array is None for array in data):
            return None
        features, maps, *rest = data
        exact = cls(game, features, maps, rest)  # type: ignore[arg-type]
        return exact if exact.consistent else None

    # -- the affine hull ---------------------------------------------------------------------

    @cached_property
    def equalities(self) -> tuple[Integers, Integers]:
        """All equalities a theta = b, including those hidden in the inequalities."""
        matrix, right = self.upper
        apparent = self.parameters.apparent_equalities()
        implied = [i for i in apparent if self.minimum(matrix[i]) == int(right[i])]
        return (
            np.concatenate([self.equal[0], matrix[implied]]),
            np.concatenate([self.equal[1], right[implied]]),
        )

    @cached_property
    def _hull(self) -> tuple[Integers, Integers, int, NDArray[np.intp]]:
        """Theta denominator = base + directions theta[free], as (base, directions, ..., free)."""
        matrix, right = self.equalities
        d = self.game.d
        reduced = eliminate(np.column_stack([matrix, right]), d)
        pivots = list(reduced.columns)
        base = np.zeros(d, dtype=object)
        base[pivots] = reduced.matrix[: len(pivots), d]
        sign = 1 if reduced.pivot > 0 else -1
        free = np.setdiff1d(np.arange(d), pivots)
        directions = kernel(reduced, d)
        return compact(base * sign), scaled(directions, sign), abs(reduced.pivot), free

    @property
    def directions(self) -> Integers:
        """Integer columns that span V = span(Theta - Theta), shape (d, D)."""
        return self._hull[1]

    @cached_property
    def consistent(self) -> bool:
        """Whether the hull is complete, and as large as in floating point."""
        return self.directions.shape[1] == self.game.dimension and self.interior is not None

    @cached_property
    def interior(self) -> Rational | None:
        """A point of Theta where no inequality that cuts the hull holds with equality.

        It proves that the hull is no larger than that of Theta.
        """
        free = self.game.reduced.center[self._hull[3]]
        for grid in GRIDS:
            theta = self.lift(Rational(rounded(free, grid), grid))
            if self._strictly_inside(theta):
                return theta
        found = exact_lp.implied_equalities(self.upper, self.equal)
        if found is None or not self._strictly_inside(from_fractions(found[1])):
            return None
        return from_fractions(found[1])

    def _strictly_inside(self, theta: Rational) -> bool:
        room = self._room(theta)
        cuts = product(self.upper[0], self.directions).any(axis=1)
        return bool((room >= 0).all() and (room[cuts] > 0).all())

    def _room(self, theta: Rational) -> Integers:
        """Return how far theta is from the bound of every inequality, up to scale."""
        matrix, right = self.upper
        return total(scaled(right, theta.denominator), -product(matrix, theta.numerators))

    @cached_property
    def rewards(self) -> tuple[Integers, Integers]:
        """(offsets (k,), slopes (k, D)) of the rewards in the free coordinates, jointly scaled."""
        base, directions, _, _ = self._hull
        return product(self.features, base), product(self.features, directions)

    @cached_property
    def lines(self) -> Integers:
        """Offsets and slopes of the rewards side by side, shape (k, 1 + D), without overflow."""
        return np.column_stack(self.rewards).astype(object)

    @cached_property
    def map_rows(self) -> Integers:
        """The observation maps on V in integers, shape (k, m, D), all scaled by one factor."""
        k, m, d = self.maps.numerators.shape
        rows = product(self.maps.numerators.reshape(k * m, d), self.directions)
        return rows.reshape(k, m, self.directions.shape[1])

    @cached_property
    def rank(self) -> int:
        """Return r, the dimension of what the observations show of V."""
        k, m, dimension = self.map_rows.shape
        return eliminate(self.map_rows.reshape(k * m, dimension)).rank

    def lift(self, free: Rational) -> Rational:
        """Return the parameter with the given free coordinates."""
        base, directions, denominator, _ = self._hull
        numerators = total(scaled(base, free.denominator), product(directions, free.numerators))
        return Rational(numerators, denominator * free.denominator)

    # -- exact facts -------------------------------------------------------------------------

    def contains(self, theta: Rational) -> bool:
        """Whether theta satisfies all inequalities (the equalities hold by construction)."""
        return bool((self._room(theta) >= 0).all())

    def minimum(self, vector: Integers) -> Fraction | None:
        """Return the minimum of <vector, theta> over Theta; None if there is none or no answer."""
        known = self.parameters.exact_minimum(vector)
        if known is not None:
            return known
        (upper, upper_right), (equal, equal_right) = self.upper, self.equal
        matrix = np.concatenate([upper, equal, -equal])
        if exact_lp.too_large(matrix):
            return None
        right = np.concatenate([upper_right, equal_right, -equal_right])
        best = exact_lp.maximize(-vector.astype(object), matrix, right)
        return None if isinstance(best, str) else -best.value

    def beats(
        self, theta: Rational, action: int, ignored: Collection[int], *, strict: bool
    ) -> bool:
        """Whether an action is (strictly) better at theta than all others that are not ignored."""
        values = product(self.features, theta.numerators)
        lead = values[action] - np.delete(values, list({action, *ignored}))
        return bool((lead > 0).all() if strict else (lead >= 0).all())

    def slack(
        self, action: int, mixture: Integers, tied: int | None, tie: Fraction
    ) -> Fraction | None:
        """Return min over Theta of sum q_c (r_c - r_a) + tie_weight (r_a - r_b), up to scale."""
        ahead = total(
            product(mixture, self.features), -scaled(self.features[action], int(mixture.sum()))
        )
        if tied is not None:
            push = total(self.features[action], -self.features[tied])
            ahead = total(scaled(ahead, tie.denominator), scaled(push, tie.numerator))
        return self.minimum(ahead)

    def on_segment(self, a: int, b: int, pool: Sequence[int]) -> list[int]:
        """Return the actions of a pool whose rewards are mixtures of those of a and b."""
        if len(pool) == 0:
            return []
        line = self.lines
        step, away = line[b] - line[a], line[list(pool)] - line[a]
        j = int(np.flatnonzero(step)[0])
        aligned = (away * step[j] == np.outer(away[:, j], step)).all(axis=1)
        share = away[:, j] * step[j]
        between = np.asarray(aligned & (share >= 0) & (share <= step[j] ** 2), dtype=bool)
        return [c for c, on in zip(pool, between, strict=True) if on]

    # -- proofs ------------------------------------------------------------------------------

    def prove(
        self,
        found: Advantage,
        action: int,
        ignored: Collection[int],
        interior: Array,
        tied: int | None = None,
    ) -> Proof | None:
        """Turn an answer of the advantage program into an exact one; None if that is not possible.

        ``interior`` is a point inside Theta (for a pair: one with both equally good) towards which
        a witness is moved, so that rounding cannot leave Theta.
        """
        others = {action, *ignored} | ({tied} if tied is not None else set())
        if np.isnan(found.value):
            return self._decide(action, others, tied)
        if found.value > 0:
            share = min(found.value, 1.0) / 4
            theta = self._witness(
                (1 - share) * found.theta + share * interior, action, others, tied
            )
            if theta is not None:
                return Proof(1, theta, None)
        else:
            proof = self._prove_no_advantage(found, action, others, tied)
            if proof is not None:
                return proof
        return self._decide(action, others, tied)

    def _witness(
        self, theta: Array, action: int, others: Collection[int], tied: int | None
    ) -> Rational | None:
        """Round a point so that the action is strictly better than all but the others there."""
        free = theta[self._hull[3]]
        for grid in GRIDS:
            candidate = Rational(rounded(free, grid), grid)
            if tied is not None:
                candidate = self._onto_tie(candidate, action, tied)
            lifted = self.lift(candidate)
            if self.contains(lifted) and self.beats(lifted, action, others, strict=True):
                return lifted
        return None

    def _onto_tie(self, free: Rational, action: int, tied: int) -> Rational:
        """Move one free coordinate so that two actions earn exactly the same."""
        offsets, slopes = self.rewards
        slope = total(slopes[action], -slopes[tied])
        j = int(np.abs(slope).argmax())
        lead = int(slope[j])
        if lead == 0:
            return free
        constant = (int(offsets[action]) - int(offsets[tied])) * free.denominator
        gap = constant + int(product(slope, free.numerators))
        moved = scaled(free.numerators, abs(lead)).astype(object)
        moved[j] -= gap if lead > 0 else -gap
        return Rational(compact(moved), free.denominator * abs(lead))

    def _prove_no_advantage(
        self, found: Advantage, action: int, others: Collection[int], tied: int | None
    ) -> Proof | None:
        """Find simple fractions near the mixture (and the tie point) that prove t* <= 0."""
        for mixture, tie in _nearby(found.mixture, found.tie_weight):
            mixture[list(others)] = 0
            if not mixture.any():
                continue
            slack = self.slack(action, mixture, tied, tie)
            if slack is None or slack < 0:
                continue
            proof = Rational(mixture, int(mixture.sum()))
            tie = tie / int(mixture.sum())
            if slack > 0 or tied is not None:
                return Proof(-1, None, proof, tie)
            free = [Fraction(x).limit_denominator(SIMPLE) for x in found.theta[self._hull[3]]]
            theta = self.lift(from_fractions(np.array(free, dtype=object)))
            if self.contains(theta) and self.beats(theta, action, others, strict=False):
                return Proof(0, theta, proof, tie)
        return None

    def _decide(self, action: int, others: Collection[int], tied: int | None) -> Proof | None:
        """Solve the advantage program in exact arithmetic."""
        offsets, slopes = self.rewards
        base, directions, denominator, _ = self._hull
        rivals = [c for c in range(self.game.k) if c not in others]
        if not rivals:
            return None
        n = slopes.shape[1]
        # t - (slope_a - slope_c) x <= offset_a - offset_c, and the inequalities of Theta.
        duel = np.column_stack([total(slopes[rivals], -slopes[action]), np.ones(len(rivals), int)])
        duel_right = total(np.full(len(rivals), offsets[action]), -offsets[rivals])
        upper, upper_right = self.upper
        inside = product(upper, directions)
        inside_right = total(scaled(upper_right, denominator), -product(upper, base))
        rows = [duel, np.column_stack([inside, np.zeros(len(inside), int)])]
        right = [duel_right, inside_right]
        if not len(upper) + len(self.equal[0]):  # R^d: cells are cones
            box = np.concatenate([np.eye(n, dtype=int), -np.eye(n, dtype=int)])
            rows.append(np.column_stack([box, np.zeros(2 * n, int)]))
            right.append(np.ones(2 * n, int))
        rows.append(np.append(np.zeros(n, int), 1)[None])  # t <= 1, else Theta may be too large
        right.append(np.ones(1, int))
        if tied is not None:
            tie = np.append(total(slopes[action], -slopes[tied]), 0)[None]
            level = np.array([int(offsets[tied]) - int(offsets[action])], dtype=object)
            rows += [tie, -tie]
            right += [level, -level]
        matrix = np.concatenate([block.astype(object) for block in rows])
        if exact_lp.too_large(matrix):
            return None
        target = np.zeros(n + 1, dtype=object)
        target[-1] = 1
        best = exact_lp.maximize(
            target, matrix, np.concatenate([block.astype(object) for block in right])
        )
        if isinstance(best, str):
            return None
        mixture = np.full(self.game.k, Fraction(0), dtype=object)
        mixture[rivals] = best.multipliers[: len(rivals)]
        last = best.multipliers[-2:]
        sign = (best.value > 0) - (best.value < 0)
        return Proof(
            sign,
            self.lift(from_fractions(best.point[:n])) if sign >= 0 else None,
            from_fractions(mixture) if sign <= 0 else None,
            last[0] - last[1] if tied is not None else Fraction(0),
        )


def _nearby(mixture: Array, tie_weight: float) -> list[tuple[Integers, Fraction]]:
    """Return integer weights near a mixture: with simple fractions, then on a fine grid."""
    simple = np.array([Fraction(q).limit_denominator(SIMPLE) for q in mixture], dtype=object)
    weights = from_fractions(simple)
    near = Fraction(tie_weight).limit_denominator(SIMPLE) * weights.denominator
    grid = GRIDS[1]
    fine = rounded(mixture, grid)
    return [
        (np.array(weights.numerators), near),
        (np.array(fine), Fraction(round(tie_weight * grid))),
    ]

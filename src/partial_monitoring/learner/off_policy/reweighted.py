"""Unbiased scores of reward differences, one per logged decision.

In coordinates x of Theta the reward of action a is b_a + <g_a, x>, and action c shows H_c x on
average, beside a known constant. A difference of rewards is b + <g, x>, and weights with

    sum_c H_c' v_c = g        (the certificate of ``pm.analyze``, over actions that may be played)

turn what the played action A shows, y, into

    score = b + sum_c <v_c, B_c> + <v_A, y - B_A> / p(A),

whose expectation is b + <g, x>, whatever the baseline B is: zero, what each action showed on
average, or H_c x' for a least-squares estimate x' from earlier decisions. Of all weights those are
taken that have the least sum_c |v_c|^2 / q_c, where q is the distribution from which the action was
drawn, if that is known, and how often each action was played before otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.learner.off_policy.logged import CERTAIN, Log, Place
from partial_monitoring.validation import Array, Indices

GROWTH = 1.1
"""What is learned from earlier decisions is computed again when they have become this many times
as many."""

RIDGE = 1.0
"""The regularization of the least-squares estimate."""

SMALLEST = 1e-9
"""Singular values below this fraction of the largest one are zero."""

SEEN = 1e-7
"""A difference is observed if its residual is below this fraction."""

ROUNDING = 1e-13
"""The length of a difference that is nothing but rounding."""

TOGETHER = 2**22
"""Numbers that the weights hold which are computed at the same time, about."""

PSEUDO = 4.0
"""Pseudo-observations, equally of all signals, in their variances (Agresti and Coull 1998): that a
signal was not seen in a few plays does not mean that it never comes."""

METHODS = ("doubly_robust", "self_normalised", "importance")
"""The baselines: least squares, averages of what actions showed, and none."""


class Rewards(NamedTuple):
    """The reward of each action in terms of what it shows itself."""

    offsets: Array
    """Shape (k,)."""
    weights: Array
    """Of what it shows, measured from the middle of Theta, shape (k, m)."""


class Difference(NamedTuple):
    """Reward differences that are to be estimated, one per decision of a place."""

    offset: Array
    """b, shape (n,)."""
    slope: Array
    """g, shape (n, D)."""
    played: Rewards | None = None
    """The reward of the played action as it shows it itself, which is subtracted."""


class Blind(NamedTuple):
    """Decisions from which a difference cannot be estimated."""

    rows: Indices
    """Their numbers in the log."""
    missing: int | None
    """An action that would show it and could not be played there; None if none shows it."""
    place: Place


class Scores(NamedTuple):
    """What is computed from the decisions of one place, with n rows."""

    values: Array
    """The scores, shape (n,)."""
    weight: Array
    """The lengths of v_A / p(A), shape (n,)."""
    low: Array
    high: Array
    """Bounds of what the scores could have been, shape (n,); infinite without bounds of y."""
    variance: Array
    """Their conditional variances at the estimated parameter, (n,), from how often actions were
    played where distributions are not known; 0 if what the played action earned is subtracted."""


class Reweighting:
    """The estimators from one log; what all differences share is computed once.

    Parameters
    ----------
    log
        The decisions.
    method
        One of ``METHODS``.
    observers
        The labels of the actions that may be used, where distributions are not known; those that
        were played unless given.
    """

    def __init__(self, log: Log, method: str, observers: list[str] | None = None) -> None:
        self.log, self.method, self.places = log, method, log.places
        self.epochs = _epochs(len(log))
        self.centered = np.zeros_like(log.observation)
        for place in self.places:
            game, played = place.context.game.linear, log.action[place.rows]
            means = game.observation_maps[played] @ game.reduced.center
            wide = means.shape[1]
            self.centered[place.rows, :wide] = log.observation[place.rows, :wide] - means
            shown = np.arange(wide) < np.array(game.row_counts)[played][:, None]
            self.centered[place.rows, :wide] *= shown
        self.observers, self.plays = observers, self._plays()
        self.designs = [self._design(place) for place in self.places]
        estimates, last = self._least_squares()
        self.estimates = estimates if method == "doubly_robust" else None
        reduced = self.places[0].context.game.linear.reduced
        guess = reduced.center + reduced.difference_basis @ last
        self.theta = self.places[0].context.game.linear.parameters.project(guess)
        self.averages = self._averages() if method == "self_normalised" else {}

    # -- what is shared ----------------------------------------------------------------------

    def _design(self, place: Place) -> Array:
        """Return q for each decision of a place, shape (n, k)."""
        log, rows, k = self.log, place.rows, place.context.game.k
        if log.distributions is not None:
            return np.array([log.distributions[row] for row in rows])
        action, each = log.action[rows], np.arange(len(rows))
        played = np.zeros((len(rows), k))
        played[each, action] = 1.0
        before = np.vstack([np.zeros(k), played.cumsum(axis=0)])
        starts = np.searchsorted(rows, self.epochs[rows])  # rows before the epoch of each
        if self.observers is None:
            used = played.any(axis=0) | (not place.listed)
        else:
            used = np.array([label in self.observers for label in place.context.game.actions])
        design = np.where(used, 1.0 + before[starts], 0.0)
        certain = log.probability[rows] >= 1 - CERTAIN
        design[certain] = played[certain]
        return np.asarray(design / np.maximum(design.sum(axis=1, keepdims=True), CERTAIN))

    def _least_squares(self) -> tuple[Array, Array]:
        """Return estimates of x: from the decisions before the epoch of each, (n, D), and all."""
        log, dimension = self.log, self.places[0].context.game.linear.reduced.dimension
        maps = np.zeros((len(log), log.observation.shape[1], dimension))
        for place in self.places:
            own = place.context.game.linear.reduced.observation_maps[log.action[place.rows]]
            maps[place.rows, : own.shape[1]] = own
        gram, moment = RIDGE * np.eye(dimension), np.zeros(dimension)
        found, last = np.zeros((len(log), dimension)), 0
        for start in [*np.unique(self.epochs), len(log)]:
            new = slice(last, start)
            gram = gram + np.einsum("tmi,tmj->ij", maps[new], maps[new])
            moment = moment + np.einsum("tmi,tm->i", maps[new], self.centered[new])
            estimate = np.linalg.solve(gram, moment)
            found[self.epochs == start] = estimate
            last = start
        return found, estimate

    def _plays(self) -> dict[Any, Indices]:
        """Return how often each action was played, (k,), in listed contexts and in all others."""
        most = max(place.context.game.k for place in self.places)
        found: dict[Any, Indices] = {}
        for place in self.places:
            plays = found.setdefault(kind_of(place), np.zeros(most, dtype=np.int64))
            plays += np.bincount(self.log.action[place.rows], minlength=most)
        return found

    def _averages(self) -> dict[tuple[Any, int], Array]:
        """Return what each action showed on average, reweighted, by context and action, (m,)."""
        sums: dict[tuple[Any, int], list[Any]] = {}
        for place in self.places:
            for row in place.rows:
                total = sums.setdefault((kind_of(place), int(self.log.action[row])), [0.0, 0.0])
                total[0] += 1 / self.log.probability[row]
                total[1] = total[1] + self.centered[row] / self.log.probability[row]
        return {key: shown / weight for key, (weight, shown) in sums.items()}

    # -- one difference ----------------------------------------------------------------------

    def scores(
        self, number: int, difference: Difference, bounds: tuple[float, float]
    ) -> Scores | Blind:
        """Return the scores of a difference at a place, or why there are none."""
        place, design = self.places[number], self.designs[number]
        game = place.context.game.linear
        maps = game.reduced.observation_maps  # (k, m, D)
        size = max(1, TOGETHER // max(1, maps.size))
        parts = []
        for first in range(0, len(place.rows), size):
            own = slice(first, first + size)
            found = self._some(place, game, design[own], difference, own, bounds)
            if isinstance(found, Blind):
                return self._counted(place, design, difference, found)
            parts.append(found)
        return Scores(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _some(
        self,
        place: Place,
        game: Any,
        design: Array,
        difference: Difference,
        own: slice,
        bounds: tuple[float, float],
    ) -> Scores | Blind:
        """Return the scores of some of the decisions."""
        rows, each = place.rows[own], np.arange(len(design))
        log, slope = self.log, difference.slope[own]
        weights, seen = weights_of(game.reduced.observation_maps, design, slope)
        if not seen.all():
            return Blind(rows[~seen], None, place)
        action, probability = log.action[rows], log.probability[rows]
        m = game.m
        baseline, total = self._baseline(place, game, rows, weights, slope)
        shown = self.centered[rows, :m]
        used = weights[each, action] / probability[:, None]
        values = difference.offset[own] + total
        values += (used * (shown - baseline[each, action])).sum(axis=1)
        if (played := difference.played) is not None:
            values -= played.offsets[action] + (played.weights[action] * shown).sum(axis=1)
        total = difference.offset[own] + total
        low, high = self._range(game, design, weights, baseline, total, played, bounds)
        variance = np.zeros(len(design))
        if played is None:
            variance = self._variance(place, game, design, weights, baseline)
        return Scores(values, np.linalg.norm(used, axis=1), low, high, variance)

    def _variance(
        self, place: Place, game: Any, design: Array, weights: Array, baseline: Array
    ) -> Array:
        """Return the conditional variances of the scores, shape (n,), if theta is what it seems.

        They know of rare actions that happened not to be played, as the scores themselves do not.
        """
        means = game.observation_maps @ self.theta  # (k, m)
        if game.traits.signals:
            rows = np.array(game.row_counts)[:, None]
            often = self.plays[kind_of(place)][: len(rows), None]
            shown = (np.arange(game.m) < rows) * PSEUDO / rows
            means = (often * np.maximum(means, 0.0) + shown) / (often + PSEUDO)
            spread = (weights**2 * means).sum(axis=2) - (weights * means).sum(axis=2) ** 2
        else:
            spread = (weights**2).sum(axis=2) * np.square(game.noise_std)
        center = game.observation_maps @ game.reduced.center
        shift = (weights * (means - center - baseline)).sum(axis=2)  # (n, k)
        squares = (np.maximum(spread, 0.0) + shift**2) / np.where(design > 0, design, np.inf)
        return np.asarray(np.maximum(squares.sum(axis=1) - shift.sum(axis=1) ** 2, 0.0))

    def _baseline(
        self, place: Place, game: Any, rows: Indices, weights: Array, slope: Array
    ) -> tuple[Array, Array]:
        """Return B for each decision and action, (n, k, m), and sum_c <v_c, B_c>, (n,)."""
        if self.estimates is not None:
            x = self.estimates[rows]
            return np.einsum("kmd,td->tkm", game.reduced.observation_maps, x), (slope * x).sum(1)
        baseline = np.zeros(weights.shape[1:])
        for c in range(len(baseline)):
            known = self.averages.get((kind_of(place), c))
            if known is not None:
                baseline[c] = known[: game.m]
        total = np.einsum("tkm,km->t", weights, baseline)
        return np.broadcast_to(baseline, weights.shape), total

    def _range(
        self,
        game: Any,
        design: Array,
        weights: Array,
        baseline: Array,
        total: Array,
        played: Rewards | None,
        bounds: tuple[float, float],
    ) -> tuple[Array, Array]:
        """Return the least and the largest score that the decisions (n,) could have led to.

        Without distributions, no probability is taken to be below the smallest logged one. Scores
        are linear in one over the probability: its ends are enough.
        """
        known = self.log.distributions is not None
        ends = [design] if known else [float(self.log.probability.min()), 1.0]
        center = game.observation_maps @ game.reduced.center
        lows, highs = [], []
        for end in ends:
            used = weights / np.where(design > 0, end, np.inf)[:, :, None]
            flat, factor = -(used * baseline).sum(axis=2), used
            if played is not None:
                flat, factor = flat - played.offsets, used - played.weights
            if game.traits.signals:  # one signal is shown: one entry is 1, the others are 0
                shown = np.arange(game.m) < np.array(game.row_counts)[:, None]
                each = np.where(shown, factor, 0.0)
                flat = flat - (factor * center).sum(axis=2)
                low, high = each.min(axis=2), each.max(axis=2)
            else:
                with np.errstate(invalid="ignore"):
                    both = [factor * (bound - center) for bound in bounds]
                both = [np.where(factor == 0, 0.0, bound) for bound in both]
                low, high = (x.sum(axis=2) for x in (np.minimum(*both), np.maximum(*both)))
            lows.append((flat + low).min(axis=1))
            highs.append((flat + high).max(axis=1))
        return total + np.min(lows, axis=0), total + np.max(highs, axis=0)

    def _counted(self, place: Place, design: Array, difference: Difference, found: Blind) -> Blind:
        """Return all decisions of a place that are blind, and which action they would need."""
        maps = place.context.game.linear.reduced.observation_maps
        slope = difference.slope
        size = max(1, TOGETHER // max(1, maps.size))
        blind = np.concatenate(
            [
                ~weights_of(maps, design[i : i + size], slope[i : i + size])[1]
                for i in range(0, len(design), size)
            ]
        )
        first = int(np.flatnonzero(blind)[0])
        everything, seen = weights_of(maps, np.ones((1, len(maps))), slope[first : first + 1])
        if not seen[0]:
            return found._replace(rows=place.rows[blind])
        lengths = np.linalg.norm(everything[0], axis=1)
        missing = int(np.where(design[first] > 0, -1.0, lengths).argmax())
        return Blind(place.rows[blind], missing, place)


def weights_of(maps: Array, design: Array, slope: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the weights v of differences, (n, k, m), and whether they give them, (n,).

    Parameters
    ----------
    maps
        H, shape (k, m, D).
    design
        q, shape (n, k): actions with q = 0 are not used.
    slope
        g, shape (n, D).
    """
    k, m, dimension = maps.shape
    unique, inverse = np.unique(design, axis=0, return_inverse=True)
    root = np.sqrt(unique)  # (u, k)
    rows = (root[:, :, None, None] * maps).reshape(len(unique), k * m, dimension)
    inverses = np.linalg.pinv(rows.swapaxes(1, 2), rcond=SMALLEST)  # (u, km, D)
    solver = root[:, :, None, None] * inverses.reshape(len(unique), k, m, dimension)
    weights = np.einsum("tkmd,td->tkm", solver[inverse.reshape(-1)], slope)
    rest = slope - np.einsum("tkm,kmd->td", weights, maps)
    seen = np.linalg.norm(rest, axis=1) <= SEEN * np.linalg.norm(slope, axis=1) + ROUNDING
    return weights, seen


def _epochs(count: int) -> Indices:
    """Return for each decision the number of those before it from which it may learn, (n,)."""
    starts, last = [0], 0
    while last < count:
        last = max(last + 1, int(GROWTH * last))
        starts.append(last)
    places = np.searchsorted(starts, np.arange(count), side="right") - 1
    return np.asarray(np.array(starts)[places])


def kind_of(place: Place) -> Any:
    """Return by what averages are kept: the label of a context, one key for unlisted ones."""
    return place.context.name if place.listed else "unlisted"

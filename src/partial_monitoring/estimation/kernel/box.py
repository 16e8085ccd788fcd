"""What is known about a function over a box, and the candidate points of a round.

Any point may be played, so the estimate is computed for the candidates of a round: the points
that were played, points that fill the box evenly (others in each round), and points close to
where the function seems largest, may be largest, or is least known. The last three are searched
from the best of the others, along the gradient, or closer and closer around it if the kernel has
none. None of this is random.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import solve_triangular

from partial_monitoring.estimation.kernel.append_only import AppendOnly, stacked
from partial_monitoring.estimation.kernel.covariance import Covariance
from partial_monitoring.estimation.kernel.design import KernelDesign, kernel_design
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.kernels.gram import cholesky
from partial_monitoring.model.over_box import GameOverBox
from partial_monitoring.validation import Array, Indices

GLOBAL = 256
"""Points that fill the box, in each round."""

CYCLE = 2**20
"""Number of rounds after which these points repeat."""

KEPT = 64
"""Number of these points kept, by upper bound."""

CLOUD = 16
"""Points around each point that is refined, on each scale."""

SCALES = (0.1, 0.03, 0.01, 0.003, 0.001)
"""Of the clouds, in edges of the box."""

STARTS = 3
"""Number of points from which each of the three searches starts."""

STEPS = 30
"""Steps of a search, at most."""

MOST_CORNERS = 5
"""Largest dimension in which the corners of the box are candidates, too."""

MOST_PLAYED = 500
"""Largest number of played points that are candidates again, by their estimate."""

FEW = 512
"""All points of a lattice with at most this many are candidates."""


@dataclass(frozen=True, eq=False)
class BoxData:
    """What one replicate has seen."""

    actions: AppendOnly
    """The numbers of the points (in duels, of the pairs) that were played, shape (t, 1)."""
    shown: AppendOnly
    """What they showed, shape (t, 1)."""

    @classmethod
    def empty(cls) -> BoxData:
        """Return what is known before the first round."""
        return cls(AppendOnly.empty(1, dtype=np.int64), AppendOnly.empty(1))

    def after(self, action: int, shown: float) -> BoxData:
        """Return the data with one more observation."""
        return BoxData(self.actions.added([action]), self.shown.added([shown]))


@dataclass(frozen=True, eq=False)
class BoxPosterior:
    """The estimate of a function on a box, ready to be evaluated anywhere.

    Points (in duels, pairs of them) that were played n times with mean y are one row with noise
    lambda / n; what is factored is I + N^(1/2) K N^(1/2) with N = diag(n / lambda).
    """

    game: GameOverBox
    design: KernelDesign
    """Of the reference points; for lambda, rho and B."""
    actions: Indices
    """The different points that were played, shape (z,)."""
    points: Array
    """Shape (z, p)."""
    pairs: Indices | None
    """In duels, the points of each row, (q, 2), by their place; None if each point is a row."""
    often: Indices
    """How often each row was observed, shape (q,)."""
    means: Array
    """What they showed on average, shape (q,)."""
    inverse: Array
    """The inverse of the Cholesky factor, times N^(1/2), shape (q, q)."""
    target: Array
    """What it makes of the means, shape (q,)."""
    log_det: Array
    """log det(I + K / lambda) of all that was seen, shape (1,)."""
    rounds: int

    @classmethod
    def on(cls, game: GameOverBox, design: KernelDesign, data: BoxData) -> BoxPosterior:
        """Return the estimate from all that was seen."""
        played = data.actions.rows[:, 0]
        different, place, often = np.unique(played, return_inverse=True, return_counts=True)
        means = np.bincount(np.ravel(place), data.shown.rows[:, 0], len(different)) / often
        numbers, pairs = game.places_of(different)
        points = game.points_of(numbers)
        root = np.sqrt(often / design.regularization)
        whole = np.eye(len(root))
        if len(different):
            gram = shown_of(pairs, game.computed.kernel.evaluate(points))
            whole += root[:, None] * shown_of(pairs, gram.T) * root
        low = cholesky(whole)
        inverse = solve_triangular(low, np.diag(root), lower=True) if len(root) else whole
        log_det = np.array([2.0 * np.log(low.diagonal()).sum()])
        return cls(
            game,
            design,
            numbers,
            points,
            pairs,
            often,
            means,
            inverse,
            inverse @ means,
            log_det,
            len(played),
        )

    @property
    def round(self) -> Indices:
        """t, shape (1,)."""
        return np.array([self.rounds + 1])

    def reach(self, points: Array) -> Array:
        """Return the rows w with C = K - w' w at points (z, p), shape (q, z)."""
        if len(self.points) == 0:
            return np.zeros((0, len(points)))
        columns = self.game.computed.kernel.evaluate(self.points, points)
        return np.asarray(self.inverse @ shown_of(self.pairs, columns))

    def shown_by(self, actions: Indices) -> Array:
        """Return what actions (c,), points or pairs of them, are expected to show, shape (c,)."""
        numbers, pairs = self.game.places_of(actions)
        return shown_of(pairs, self.at(self.game.points_of(numbers))[0])

    def at(self, points: Array) -> tuple[Array, Array]:
        """Return the estimated values at points (z, p) and the roots of their variances."""
        reach = self.reach(points)
        spread = self.game.computed.kernel.evaluate_diagonal(points)
        variances = np.maximum(spread - (reach**2).sum(axis=0), 0.0)
        return self.target @ reach, np.sqrt(variances / self.design.regularization)

    def score(self, points: Array, seems: float, unsure: float) -> Array:
        """Return the sums of estimate and root at points (z, p), with these weights, shape (z,)."""
        means, roots = self.at(points)
        return seems * means + unsure * roots

    def slope(self, point: Array, seems: float, unsure: float) -> tuple[float, Array]:
        """Return the score at one point (p,) and its gradient, for kernels that have one."""
        kernel, lam = self.game.computed.kernel, self.design.regularization
        x = point[None]
        reach = self.reach(x)[:, 0]
        away = kernel.evaluate_gradient(x, self.points)[0] if len(reach) else np.zeros((0, x.size))
        pulled = self.inverse @ shown_of(self.pairs, away)  # (q, p)
        variance = max(float(kernel.evaluate_diagonal(x)[0] - reach @ reach), 0.0)
        root = np.sqrt(variance / lam)
        rise = 2.0 * (kernel.evaluate_gradient(x, x)[0, 0] - reach @ pulled)
        bend = rise / (2.0 * lam * root) if root > 0 else np.zeros(len(point))
        value = seems * float(self.target @ reach) + unsure * root
        return value, seems * (self.target @ pulled) + unsure * bend

    def estimate(self, actions: Indices, *, named: bool = False) -> KernelEstimate:
        """Return the estimate of the game that has only some points (z,) as actions (or items).

        The points that were played are among its numbers, so that it holds all that was seen.
        """
        names = self.game.labels_of(actions) if named else None
        numbers = np.unique(np.concatenate([self.actions, actions]))
        chosen = np.searchsorted(numbers, actions)
        game = self.game.listed_at(self.game.points_of(numbers), names, chosen)
        lam, gram = self.design.regularization, game.gram
        # No two values differ by more than twice the largest possible one.
        widest = 2 * self.design.norm_bound * float(np.sqrt(gram.diagonal.max()))
        whitening = self.design.whitening
        design = KernelDesign(
            game, lam, self.design.norm_bound, self.design.noise_std, whitening, widest
        )
        reach = self.reach(game.computed.points)
        variances = np.maximum(gram.diagonal - (reach**2).sum(axis=0), 0.0)[chosen] / lam
        signals = (variances * whitening**2)[None, :, None, None]
        return KernelEstimate(
            design,
            self.round,
            self.log_det,
            (self.target @ reach)[None],
            variances[None],
            signals[:, :, : game.m, : game.m],
            (Covariance(gram, None, stacked(reach)),),
            (stacked(self._log(np.searchsorted(numbers, self.actions))),),
            np.array([np.iinfo(np.int64).max]),
        )

    def _log(self, places: Indices) -> Array:
        """Return what was seen, as rows of places, weights and what they showed, from (z,)."""
        scale = float(self.design.whitening[0])
        pairs, weights = places[:, None], [scale]
        if self.pairs is not None:
            pairs, weights = places[self.pairs], [scale, -scale]
        rows = np.column_stack([pairs, np.tile(weights, (len(pairs), 1)), scale * self.means])
        return np.repeat(rows, self.often, axis=0)


def shown_of(pairs: Indices | None, values: Array) -> Array:
    """Return what rows show when points (z, ...) have these values, shape (q, ...)."""
    return values if pairs is None else values[pairs[:, 0]] - values[pairs[:, 1]]


def box_design(
    game: GameOverBox, *, regularization: float | None = 1.0, norm_bound: float | None = None
) -> KernelDesign:
    """Return the design of the reference points of a box."""
    reference = game.listed_at(game.computed.points)
    return kernel_design(reference, regularization=regularization, norm_bound=norm_bound)


def candidate_points(known: BoxPosterior, width: float) -> Indices:
    """Return the numbers of the points to choose from in a round.

    ``width`` is beta^(1/2), how many roots of its variance a value may be above its estimate.
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    game, p = known.game, len(known.game.low)
    if game.lattice.count <= FEW:
        return np.arange(game.lattice.count)
    spread = qmc.Sobol(p, seed=np.random.default_rng(0))
    spread.fast_forward(GLOBAL * (1 + known.rounds % CYCLE))
    even = game.low + spread.random(GLOBAL) * (game.high - game.low)
    means, roots = known.at(even)
    played = known.at(known.points)[0] if len(known.points) else np.zeros(0)
    best = np.argsort(-played, kind="stable")[:MOST_PLAYED]
    pool = np.concatenate([known.points[best], even, _corners(game)])
    clouds = [even[np.argsort(-(means + width * roots), kind="stable")[:KEPT]]]
    normal = ndtri(np.clip(spread.random(CLOUD), 1e-6, 1 - 1e-6))
    for weights in ((1.0, 0.0), (1.0, width), (0.0, 1.0)):
        first = np.argsort(-known.score(pool, *weights), kind="stable")[:STARTS]
        peaks = np.array([_ascended(known, start, weights, normal) for start in pool[first]])
        around = peaks[int(known.score(peaks, *weights).argmax())]
        clouds += [peaks, *(_cloud(game, around, scale * normal) for scale in SCALES)]
    fresh = game.nearest(np.concatenate(clouds))
    return np.asarray(np.unique(np.concatenate([known.actions[best], fresh])))


def _ascended(
    known: BoxPosterior, start: Array, weights: tuple[float, float], normal: Array
) -> Array:
    """Return a point with a larger score than the start: by its gradient, or closer and closer."""
    game = known.game
    if game.computed.kernel.differentiable:
        from scipy.optimize import minimize

        def downhill(x: Array) -> tuple[float, Array]:
            value, slope = known.slope(x, *weights)
            return -value, -slope

        edges = list(zip(game.low, game.high, strict=True))
        found = minimize(
            downhill, start, jac=True, method="L-BFGS-B", bounds=edges, options={"maxiter": STEPS}
        )
        return np.asarray(np.clip(found.x, game.low, game.high))
    around = start
    for scale in SCALES:
        cloud = np.concatenate([around[None], _cloud(game, around, scale * normal)])
        around = cloud[int(known.score(cloud, *weights).argmax())]
    return around


def _cloud(game: GameOverBox, around: Array, steps: Array) -> Array:
    """Return points around a point of the box, by steps (z, p) in edges."""
    return np.clip(around + (game.high - game.low) * steps, game.low, game.high)


def _corners(game: GameOverBox) -> Array:
    """Return the corners of the box, if they are few."""
    p = len(game.low)
    if p > MOST_CORNERS:
        return np.zeros((0, p))
    return np.array(list(product(*zip(game.low, game.high, strict=True))))

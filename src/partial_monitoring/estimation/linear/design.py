"""A game as an estimate sees it: prior mean, regularisation, whitened maps in the right basis.

Parameters are written theta = prior_mean + basis x, where the first r columns of the basis are W
(what the observations see of Theta) and the others complete it to span(Theta - Theta).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.analysis.cells import ParetoActions
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence_set import first_of
from partial_monitoring.estimation.forgetting import REMEMBERING, Forgetting, checked_half_life
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import equal_rows, in_basis, null_space
from partial_monitoring.parameter_sets.cut import Cut, Uncut
from partial_monitoring.validation import (
    Array,
    Indices,
    brief,
    frozen,
    non_negative_number,
    positive_number,
    real_array,
    set_fields,
)

if TYPE_CHECKING:
    from partial_monitoring.numerics.compiled import directed

MOST_IN_COLUMNS = 4096
"""Largest number of actions whose features are kept by coordinate as well."""

LARGEST_LEVERAGE = 1e12
"""Rows whose squared length is above this many lambda are refused."""

MOST_PAIRED = 300
"""Largest number of actions of which all pairs are compared for the largest gap."""


@dataclass(frozen=True, eq=False)
class Design:
    """A game with what the estimate needs: prior mean, regularisation, whitened maps.

    Noise that depends on the action is divided out of maps and observations; then rho is 1.
    """

    learned: ClassVar[tuple[str, ...]] = ("leverage",)
    """What may change while it is played: contexts come whose rows are longer."""

    game: Game
    regularization: float
    norm_bound: float
    """B: how far the truth may be from the prior mean."""
    noise_std: float
    """rho: the sub-Gaussian constant of the whitened noise."""
    prior_mean: Array
    """theta_0, projected onto the affine hull of Theta, shape (d,)."""
    basis: Array
    """Columns W, then U: a basis of span(Theta - Theta), shape (d, D), orthonormal unless the
    prior is ``correlated``."""
    rank: int
    """r, the number of columns of W."""
    offsets: Array
    """Rewards at the prior mean, shape (k,)."""
    slopes: Array
    """Features in the basis, shape (k, D)."""
    maps: Array
    """Whitened M_a W, shape (k, m, r)."""
    expected: Array
    """Whitened M_a theta_0, shape (k, m)."""
    whitening: Array
    """What observations are multiplied with, shape (k,)."""
    leverage: float
    """The largest squared length of a row of a whitened map, in units of lambda."""
    cut: Cut
    """Theta in the coordinates x."""
    groups: Indices
    """Where each group of competing actions starts, then k: [0, k] unless there are contexts."""
    parts: tuple[Design, ...] = ()
    """The designs of the groups, if there are several."""
    reported: Array | None = None
    """What decisions report theta_hat through, shape (q, d): the features of a kernel game that is
    played in coordinates, whose estimate is f_hat; None for theta_hat itself."""
    correlated: bool = False
    """Whether the prior correlates entries of theta; it is plain in the coordinates x."""
    forgetting: Forgetting = REMEMBERING
    """How fast observations lose weight."""

    def __post_init__(self) -> None:
        # Functions are compiled once more for arrays that can be written to.
        for array in (self.offsets, self.slopes, self.maps, self.expected, self.whitening):
            frozen(array)

    @cached_property
    def observed_features(self) -> Array:
        """The features in the observation basis, shape (k, r)."""
        return frozen(np.ascontiguousarray(self.slopes[:, : self.rank]))

    @cached_property
    def centred_features(self) -> Array:
        """The seen features minus their mean, shape (k, r)."""
        if self.parts:
            return np.concatenate([part.centred_features for part in self.parts])
        return np.ascontiguousarray(self.observed_features - self.observed_features.mean(axis=0))

    @cached_property
    def identity(self) -> bool:
        """Whether the coordinates are theta - theta_0 itself."""
        d, count = self.basis.shape
        return d == count and bool(np.array_equal(self.basis, np.eye(d)))

    @cached_property
    def features_by_coordinate(self) -> Array:
        """The seen features by coordinate, shape (r, k); empty if there are very many actions."""
        if self.game.k > MOST_IN_COLUMNS:
            return np.zeros((0, 0))
        return self.observed_features.T.copy()

    @cached_property
    def shows_own_reward(self) -> bool:
        """Whether every action shows its own reward, so that maps and features are the same."""
        return self.maps.shape[1] == 1 and np.array_equal(self.maps[:, 0], self.observed_features)

    @cached_property
    def counts(self) -> Indices:
        """The number of rows of each map, shape (k,)."""
        return np.array(self.game.row_counts, dtype=np.int64)

    @cached_property
    def full(self) -> bool:
        """Whether all maps have the same number of rows."""
        return bool(min(self.game.row_counts) == self.maps.shape[1])

    @cached_property
    def hidden_distances(self) -> Array:
        """Squared distances of features in unseen directions over lambda, shape (k, k)."""
        off = self.hidden_features[:, None] - self.hidden_features[None]
        return np.asarray((off**2).sum(axis=-1) / self.regularization)

    @cached_property
    def hidden_lengths(self) -> Array:
        """Squared lengths of features in unseen directions over lambda, shape (k,)."""
        return np.asarray((self.hidden_features**2).sum(axis=1) / self.regularization)

    @cached_property
    def copies(self) -> Indices:
        """Numbers (k,) that are the same for actions of a group that always earn the same."""
        if self.parts:
            own = zip(self.groups, self.parts, strict=False)
            return np.concatenate([start + part.copies for start, part in own])
        return equal_rows(self.game.features)

    @cached_property
    def rivals(self) -> NDArray[np.bool_]:
        """Which actions are the first of their copies, shape (1, k)."""
        return np.asarray(self.copies == np.arange(len(self.copies)))[None]

    @property
    def rows(self) -> Array:
        """The rows of all maps, shape (k m, r)."""
        k, m, r = self.maps.shape
        return self.maps.reshape(k * m, r)

    @cached_property
    def largest_gap(self) -> float:
        """T: no gap exceeds it for any parameter in Theta (on R^d: within B of the prior mean).

        Exact for up to a few hundred actions, at most twice as large beyond.
        """
        features, k = self.game.features, self.game.k
        if k <= MOST_PAIRED:
            return self.reach((features[:, None] - features[None]).reshape(k * k, -1))
        middle = features - features.mean(axis=0)
        return self.reach(middle) + self.reach(-middle)

    @cached_property
    def gap_ceiling(self) -> Array:
        """T of the group of each action, shape (k,)."""
        if self.parts:
            return np.concatenate([part.gap_ceiling for part in self.parts])
        return np.broadcast_to(self.largest_gap, self.offsets.shape)

    @cached_property
    def pair_ceilings(self) -> Array:
        """Max over Theta of <phi_b - phi_a, theta> for pairs of a group, row a, shape (k, q).

        The first column is that of the first action of the group, q the size of the largest.
        """
        if self.parts:
            ceilings = np.zeros((len(self.offsets), int(np.diff(self.groups).max())))
            for start, part in zip(self.groups, self.parts, strict=False):
                own = part.pair_ceilings
                ceilings[start : start + len(own), : len(own)] = own
            return frozen(ceilings)
        features = self.game.features
        return frozen(np.stack([self.game.parameters.support(features - phi) for phi in features]))

    @cached_property
    def pareto(self) -> ParetoActions:
        """The Pareto actions, of which only those that are asked for are decided."""
        return ParetoActions(self.game)

    @cached_property
    def contest(self) -> directed.Contest:
        """The actions as compiled functions compare them for directed information."""
        from partial_monitoring.numerics.compiled.directed import Contest

        arrays = np.array(self.slopes), np.array(self.offsets), np.array(self.maps)
        return Contest(*arrays, self.pareto.firsts, self.pareto.table, float(self.regularization))

    @cached_property
    def always_best(self) -> NDArray[np.bool_]:
        """Actions that are best whatever the parameter in Theta, shape (k,).

        Only one that is best in the relative interior can be, and those that earn the same.
        """
        if self.parts:
            return np.concatenate([part.always_best for part in self.parts])
        features, parameters = self.game.features, self.game.parameters
        if self.cut.whole and self.basis.shape[1]:  # on R^d, only if all earn the same
            return np.full(len(features), bool((features == features[0]).all()))
        best = int((features @ parameters.relative_interior_point()).argmax())
        away, zero = features - features[best], 1e-12 * parameters.magnitude
        # In blocks: in most games some of the first rivals show that there is nothing dominant.
        for start in range(0, len(away), 64):
            part = away[start : start + 64]
            if parameters.support(part).max() > zero * np.abs(part).max():
                return np.zeros(len(features), dtype=bool)
        return np.asarray(parameters.support(-away) <= zero * np.abs(away).max(axis=1))

    @cached_property
    def dominant(self) -> int | None:
        """The first of these actions, if there are any."""
        return first_of(self.always_best)

    def reach(self, directions: Array) -> float:
        """Return the largest <c, theta> over Theta, or within B of the prior mean if unbounded."""
        if np.isfinite(self.game.parameters.diameter()):
            return float(self.game.parameters.support(directions).max())
        lengths = np.linalg.norm(in_basis(directions, self.basis), axis=1)
        return float((directions @ self.prior_mean + self.norm_bound * lengths).max())

    @cached_property
    def hidden_features(self) -> Array:
        """The features in directions that no observation sees, shape (k, D - r)."""
        return self.slopes[:, self.rank :].copy()

    @cached_property
    def central(self) -> bool:
        """Whether the prior mean is zero."""
        return not self.prior_mean.any()

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What ``through`` keeps of the last game that was seen in these coordinates."""
        return {}

    def joined(self, parts: Sequence[Design]) -> Design:
        """Return the actions of several designs in the same coordinates, each a group."""
        counts = [len(part.offsets) for part in parts]
        groups = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        maps = np.zeros((sum(counts), max(part.maps.shape[1] for part in parts), self.rank))
        for start, part in zip(groups, parts, strict=False):
            maps[start : start + len(part.maps), : part.maps.shape[1]] = part.maps
        return replace(
            self,
            offsets=np.concatenate([part.offsets for part in parts]),
            slopes=np.concatenate([part.slopes for part in parts]),
            maps=maps,
            groups=groups,
            parts=tuple(parts),
        )

    def restricted(self, actions: Indices) -> Design:
        """Return the design of the game that has only some of the actions."""
        return replace(
            self,
            game=self.game.restricted(actions),
            offsets=self.offsets[actions],
            slopes=np.ascontiguousarray(self.slopes[actions]),
            maps=np.ascontiguousarray(self.maps[actions]),
            expected=self.expected[actions],
            whitening=self.whitening[actions],
            groups=np.array([0, len(actions)]),
        )


def checked_options(policy: object, parts: Sequence[str]) -> None:
    """Check the options that policies share, from inside the ``__post_init__`` of one.

    Parts must be functions. The prior mean becomes a tuple of numbers, so that policies can be
    compared.
    """
    for name in parts:
        if not callable(getattr(policy, name)):
            raise InvalidInput(f"{name} must be a function; got {brief(getattr(policy, name))}.")
    prior = getattr(policy, "prior_mean", None)
    if prior is not None:
        set_fields(policy, prior_mean=tuple(real_array("prior_mean", prior, ("d",)).tolist()))
    half_life = getattr(policy, "half_life", None)
    if half_life is not None:
        set_fields(policy, half_life=checked_half_life(half_life))


def leverage_of(maps: Array, lam: float) -> float:
    """Return the largest squared row over lambda, or refuse it."""
    return checked_leverage(float((maps**2).sum(axis=-1).max(initial=0.0)) / lam)


def checked_leverage(leverage: float) -> float:
    """Return the largest squared row over lambda, or refuse it."""
    if not leverage <= LARGEST_LEVERAGE:
        raise InvalidInput(
            f"observation maps must not be so large next to noise and regularization: the largest "
            f"squared row over its squared noise_std and regularization is {leverage:.3g}, above "
            f"{LARGEST_LEVERAGE:g}; raise regularization or noise_std, or rescale the maps."
        )
    return leverage


def design(
    game: Game,
    *,
    regularization: float | None = 1.0,
    prior_mean: ArrayLike | None = None,
    norm_bound: float | None = None,
) -> Design:
    """Return the design of a game.

    Parameters
    ----------
    game
        The game.
    regularization
        lambda > 0.
    prior_mean
        theta_0; by default 0, the centre, the midpoint, the uniform distribution or a point of the
        relative interior, depending on Theta. It is projected onto the affine hull of Theta.
    norm_bound
        B; by default the largest distance of Theta from the prior mean, and 1 on unbounded sets.
    """
    reduced = game.reduced
    q, w, center = reduced.difference_basis, reduced.basis, reduced.center
    prior = center
    if prior_mean is not None:
        given = real_array("prior_mean", prior_mean, (game.d,))
        prior = center + q @ (q.T @ (given - center))
    if norm_bound is None:
        bound = game.parameters.assumed_bound(prior)
    else:
        bound = non_negative_number("norm_bound", norm_bound)
    rest = q @ null_space(w.T @ q) if w.shape[1] < q.shape[1] else np.zeros((game.d, 0))
    basis = np.concatenate([w, rest], axis=1)
    varies = np.ndim(game.noise_std) > 0
    whitening = 1.0 / np.asarray(game.noise_std) if varies else np.ones(game.k)
    rows = game.observation_maps * whitening[:, None, None] if varies else game.observation_maps
    lam = positive_number("regularization", regularization)
    maps = in_basis(rows, w)
    return Design(
        game,
        lam,
        bound,
        1.0 if varies else float(game.noise_std),
        frozen(np.array(prior)),
        frozen(basis),
        game.rank,
        game.features @ prior,
        in_basis(game.features, basis),
        maps,
        rows @ prior,
        whitening,
        leverage_of(maps, lam),
        game.parameters.cut(prior, basis) if basis.shape[1] else Uncut(),
        np.array([0, game.k]),
    )

"""LinUCB (OFUL) and linear Thompson sampling, for bandits: actions that show their own reward.

Abbasi-Yadkori, Pal and Szepesvari, "Improved algorithms for linear stochastic bandits" (2011);
Agrawal and Goyal (2013) and Abeille and Lazaric (2017) for Thompson sampling. With the estimate of
least squares over the affine hull of Theta and the norm of V_t^-1,

    LinUCB   plays the largest  <phi_a, theta_hat> + beta_t^(1/2) |phi_a|,
    LinTS    plays the largest  <phi_a, theta> of a draw  theta ~ N(theta_hat, c^2 V_t^-1).

Neither looks at what an action tells. Where an action does not show its own reward they may never
find out what is best, so such games are refused unless asked for, as a negative control.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import (
    AnyConfidence,
    ConfidenceSet,
    Schedule,
    confidence_set,
)
from partial_monitoring.estimation.kernel.box_state import BoxState
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.linear.least_squares import Estimate, affine_estimate
from partial_monitoring.estimation.shapes import Shape
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.policies.bandit.duels import refuse_duels
from partial_monitoring.policies.estimating import AnyState, KernelState, LinearPolicy
from partial_monitoring.policies.ids.information import log_det
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.policy import Choices, all_on
from partial_monitoring.validation import Array, boolean, one_of, positive_number

SHOWN = 1e-8
"""A reward is shown by an action if less than this fraction of it is left over."""

WIDTHS = ("posterior", "confidence")
"""How widely LinTS draws: c is rho, the size of the noise, or beta_t^(1/2)."""


@dataclass(frozen=True)
class _Linear(LinearPolicy):
    """What LinUCB and LinTS share: the estimate, and everything but the index."""

    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None
    allow_partial: bool = False

    def __post_init__(self) -> None:
        checked_options(self, ("confidence",))
        boolean("allow_partial", self.allow_partial)

    def accept(self, game: AnyGame) -> None:
        """Refuse duels, and games whose actions do not show their own reward."""
        name = type(self).__name__
        refuse_duels(name, game)
        for own in game.games if isinstance(game, ContextualGame) else (game,):
            if not self.allow_partial:
                refuse_silent(name, own)

    def _choices(
        self, confidence: ConfidenceSet, width: Array, index: Array, available: Array | None
    ) -> Choices:
        """Play the largest index (n, k), and say what may be lost and what is told."""
        choices = largest_index(confidence, width, index, available)
        return replace(choices, estimate=affine_estimate(confidence.data))


@dataclass(frozen=True)
class LinUCB(_Linear):
    """Optimism: play the action whose reward may be the largest.

    Parameters
    ----------
    confidence, regularization, prior_mean, norm_bound
        As for :class:`partial_monitoring.IDS`; E_t is not cut by Theta here.
    allow_partial
        Play games whose actions do not show their own reward, as a negative control.
    relative
        Compare with the action g that looks best: play the largest <phi_a - phi_g, theta_hat> +
        beta_t^(1/2) |phi_a - phi_g|. What all features have in common then plays no role.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.linear_bandit()
    >>> result = pm.simulate(game, "linucb", [0.5, 0, 0], horizon=50, seeds=4)
    >>> result.regret["linucb"].shape == (4, len(result.checkpoints))
    True
    """

    relative: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        boolean("relative", self.relative)

    def choose(
        self, estimate: Estimate, shape: Shape, uniforms: Array, available: Array | None
    ) -> Choices:
        """Choose actions."""
        confidence = confidence_set(estimate, shape, self.confidence)
        reach = np.sqrt(confidence.beta)[:, None]
        width = reach * np.sqrt(squared_lengths(estimate))
        if self.relative:
            index = self._relative_index(estimate, reach, available)
        else:
            index = estimate.means + width
        return self._choices(confidence, width, index, available)

    def _relative_index(self, data: Estimate, reach: Array, available: Array | None) -> Array:
        """Return <phi_a - phi_g, theta_hat> + beta_t^(1/2) |phi_a - phi_g|, shape (n, k)."""
        model = data.model
        means = data.means if available is None else np.where(available, data.means, -np.inf)
        greedy = means.argmax(axis=1)
        away = model.seen - model.seen[greedy][:, None, :]  # (n, k, r)
        rest = model.unseen - model.unseen[greedy][:, None, :]
        squared = ((away @ data.inverse) * away).sum(axis=2)
        squared += (rest**2).sum(axis=2) / model.regularization
        ahead = data.means - np.take_along_axis(data.means, greedy[:, None], axis=1)
        return np.asarray(ahead + reach * np.sqrt(np.maximum(squared, 0.0)))


@dataclass(frozen=True)
class LinTS(_Linear):
    """Thompson sampling: draw a parameter from the posterior, play what is best for it.

    Parameters
    ----------
    confidence, regularization, prior_mean, norm_bound, allow_partial
        As for :class:`LinUCB`.
    width
        "posterior": c = rho, the posterior of normal noise and the prior N(theta_0, rho^2/lambda
        I); "confidence": c = beta_t^(1/2), for which there are bounds of the regret.
    factor
        c is multiplied with it.

    Notes
    -----
    Theta only enters through its affine hull; a draw may lie outside. The index of a decision are
    the rewards of the draw; its distribution is given the draw, so it is all on one action (the
    probabilities of Thompson sampling have no closed form).

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.linear_bandit()
    >>> result = pm.simulate(game, "lints", [0.5, 0, 0], horizon=50, seeds=4)
    >>> result.regret["lints"].shape == (4, len(result.checkpoints))
    True
    """

    width: str = "posterior"
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("width", self.width, WIDTHS)
        positive_number("factor", self.factor)

    def draws(self, state: AnyState) -> int:
        """Return the number of uniform numbers per round: one for each direction of Theta."""
        assert not isinstance(state, KernelState | BoxState)
        return int(state.estimate.model.basis.shape[1])

    def choose(
        self, estimate: Estimate, shape: Shape, uniforms: Array, available: Array | None
    ) -> Choices:
        """Choose actions."""
        confidence = confidence_set(estimate, shape, self.confidence)
        radius = np.sqrt(confidence.beta)[:, None]
        index = self.sampled_rewards(confidence, uniforms)
        width = radius * np.sqrt(squared_lengths(estimate))
        return self._choices(confidence, width, index, available)

    def sampled_rewards(self, confidence: ConfidenceSet, uniforms: Array) -> Array:
        """Return <phi_a, theta> for one draw of theta per replicate, shape (n, k).

        With W_t = L L' the coordinates are x = x_hat + c L^-T z in the directions that are seen
        and c lambda^(-1/2) z in the others, z standard normal.
        """
        from partial_monitoring.numerics.compiled import posterior

        data, model = confidence.data, confidence.data.model
        z = randomness.normals(uniforms)
        seen = np.ascontiguousarray(z[:, : model.rank])
        deviation = posterior.deviations(data.gram, seen, model.regularization)
        rest = z[:, model.rank :] / np.sqrt(model.regularization)
        away = (model.seen @ deviation[:, :, None])[:, :, 0]
        away += (model.unseen @ rest[:, :, None])[:, :, 0]
        wide = self.width == "confidence"
        c = np.sqrt(confidence.beta)[:, None] if wide else model.noise_std
        return np.asarray(data.means + self.factor * c * away)


def largest_index(
    confidence: AnyConfidence, width: Array, index: Array, available: Array | None
) -> Choices:
    """Play the largest index (n, k); with the widths (n, k) of rewards, say what may be lost."""
    data = confidence.data
    game = data.model.game
    open_ = np.ones(game.k, dtype=bool) if available is None else np.asarray(available)
    index = np.where(open_, index, -np.inf)
    action = index.argmax(axis=1)
    distribution = all_on(action, game.k)
    # What may be lost: the highest upper bound minus the lower bound of the action.
    highest = np.where(open_, data.means + width, -np.inf).max(axis=1, keepdims=True)
    gaps = np.minimum(highest - (data.means - width), data.model.largest_gap)
    information = np.where(open_, log_det(game, confidence), 0.0)
    return Choices(
        action,
        distribution,
        np.where(open_, gaps, np.inf),
        information,
        information_ratio(distribution, gaps, information),
        confidence.beta,
        confidence.estimate,
        index=index,
    )


def refuse_silent(name: str, game: Any) -> None:
    """Refuse a game for a policy of this name if an action does not show its own reward."""
    if game.traits.function and game.shows_own_reward:
        return
    silent = np.flatnonzero(~shows_reward(game))
    if len(silent):
        raise InvalidInput(
            f"{name} plays bandits, whose actions show their own reward, which action "
            f"{game.actions[silent[0]]!r} does not; pass allow_partial=True to play anyway."
        )


def squared_lengths(estimate: Estimate) -> Array:
    """Return |phi_a|^2 in the norm of V_t^-1, on the directions of Theta, shape (n, k)."""
    model = estimate.model
    return np.asarray(estimate.variances + (model.unseen**2).sum(axis=1) / model.regularization)


def shows_reward(game: Game) -> NDArray[np.bool_]:
    """Return which actions show their own reward: phi_a is in the span of the rows of M_a, (k,).

    On the directions of Theta; a constant part of the reward is known and need not be shown.
    """
    if isinstance(game, KernelGame):
        return np.ones(game.k, dtype=bool) if game.mirrored else shows_reward(game.linear)
    features, maps = game.reduced.features, game.reduced.observation_maps
    if game.m == 1 and np.array_equal(maps[:, 0], features):
        return np.ones(game.k, dtype=bool)
    if game.m == 0:
        return np.asarray(~features.any(axis=1))
    lengths = np.linalg.norm(game.observation_maps, axis=2, keepdims=True)
    unit = maps / np.where(lengths > 0, lengths, 1.0)
    # A row that shows nothing of Theta is rounding noise.
    unit = unit * (np.linalg.norm(unit, axis=2, keepdims=True) > RANK_TOLERANCE)
    weights = features[:, None, :] @ np.linalg.pinv(unit, rcond=RANK_TOLERANCE)  # (k, 1, m)
    rest = features - (weights @ unit)[:, 0]
    sizes = np.linalg.norm(game.features, axis=1)
    return np.asarray(np.linalg.norm(rest, axis=1) <= SHOWN * sizes)

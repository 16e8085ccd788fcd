"""What policies share that play the largest index of a bandit, and which games they accept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import ConfidenceSet, Schedule
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.state import View
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.dueling import Duels
from partial_monitoring.model.game import Game
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.policies.bandit.duels import refuse_duels
from partial_monitoring.policies.estimating import EstimatingPolicy
from partial_monitoring.policies.ids.information import log_det
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.policy import Choices, all_on
from partial_monitoring.validation import Array, boolean

SHOWN = 1e-8
"""A reward is shown by an action if less than this fraction of it is left over."""


class IndexPolicy(EstimatingPolicy):
    """A policy that plays the largest index, computed from the whole ellipsoid.

    A subclass is a dataclass with the options of an :class:`EstimatingPolicy`, ``allow_partial``,
    and a method ``index``.
    """

    allow_partial: bool

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

    def index(self, confidence: ConfidenceSet, uniforms: Array) -> Array:
        """Return what is played the largest of, shape (n, k)."""
        raise NotImplementedError

    def choose(self, view: View, uniforms: Array) -> Choices:
        """Play the largest index, and say what may be lost and what it tells."""
        confidence = view.confidence.uncut
        index = self.index(confidence, uniforms)
        action = self.best(confidence, index)
        means, k = confidence.means, index.shape[1]
        distribution = all_on(action, k)
        # What may be lost: the highest upper bound minus the lower bound of the action.
        width = np.sqrt(confidence.beta)[:, None] * confidence.lengths
        highest = (means + width).max(axis=1, keepdims=True)
        gaps = np.minimum(highest - (means - width), confidence.gap_ceiling)
        information = log_det(confidence.game, confidence)
        return Choices(
            action,
            distribution,
            gaps,
            information,
            information_ratio(distribution, gaps, information),
            confidence.beta,
            confidence.estimate,
            index=index,
        )

    def best(self, confidence: ConfidenceSet, index: Array) -> NDArray[np.int64]:
        """Return the actions with the largest index, shape (n,)."""
        return np.asarray(index.argmax(axis=1))


@dataclass(frozen=True)
class LinearIndexPolicy(IndexPolicy):
    """The options of LinUCB and LinTS."""

    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None
    allow_partial: bool = False


@dataclass(frozen=True)
class FunctionIndexPolicy(IndexPolicy):
    """The options of policies for kernelized bandits; the prior mean is zero."""

    kernelized: ClassVar[bool] = True

    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float | None = None
    norm_bound: float | None = None
    allow_partial: bool = False

    prior_mean = None

    def accept(self, game: AnyGame) -> None:
        """Refuse what is not a kernel game, duels, and actions that hide their own reward."""
        name = type(self).__name__
        if isinstance(game, Duels):
            raise InvalidInput(
                f"{name} cannot play duels, which show differences; use DuelingIDS or DuelingTS."
            )
        if not isinstance(game, KernelGame):
            raise InvalidInput(f"{name} plays kernel games (pm.KernelGame); got {game!r}.")
        if not self.allow_partial:
            refuse_silent(name, game)


def refuse_silent(name: str, game: Game) -> None:
    """Refuse a game for a policy of this name if an action does not show its own reward."""
    if isinstance(game, KernelGame) and game.mirrored:
        return
    silent = np.flatnonzero(~shows_reward(game))
    if len(silent):
        raise InvalidInput(
            f"{name} plays bandits, whose actions show their own reward, which action "
            f"{game.actions[silent[0]]!r} does not; pass allow_partial=True to play anyway."
        )


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

"""What gaps and information need in games with listed contexts, see ``parts`` and ``listed``."""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import bodies, directed, improvement
from partial_monitoring.numerics.compiled.bodies import Cut
from partial_monitoring.numerics.compiled.directed import Contest
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.parts import Parts
from partial_monitoring.numerics.compiled.play_cut import Rewards
from partial_monitoring.numerics.compiled.play_improvement import Rivals


class ListedRewards(NamedTuple):
    """The rewards of the actions of all contexts on Theta, N in all, and room for one context."""

    slopes: np.ndarray
    """Shape (N, D)."""
    limits: np.ndarray
    """[0, k] of each context, shape (contexts, 2)."""
    cut: Cut
    """Theta without anything that belongs to a game."""
    ceilings: np.ndarray
    """Flat, (k, k) each, or empty."""
    x: np.ndarray
    """Shape (D,)."""
    means: np.ndarray
    """As many as the largest context has actions."""
    body: bodies.Scratch


class ListedParts(NamedTuple):
    """What gaps and information need besides an estimate, and room for one context."""

    information: int
    rewards: ListedRewards
    firsts: np.ndarray
    """Of the duplicates of each action, in its context, shape (N,), or empty."""
    pareto: np.ndarray
    """Shape (N,), or empty."""
    counted: np.ndarray
    """Shape (N,)."""
    chances: np.ndarray
    """[1.0]."""
    noise: float
    room: directed.Room | None
    weights: improvement.Scratch | None
    """Either may be None, see ``Parts``."""
    squares: np.ndarray
    """Room for what actions show, shape (2, m^2)."""
    other: np.ndarray


@compiled(inline="always", allocates=False)
def rewards_at(rewards, listed, z):
    """Return the rewards of the actions of a context."""
    k, first = listed.sizes[z, 0], listed.starts[z, 0]
    return Rewards(
        rewards.slopes[first : first + k], rewards.limits[z], rewards.x, rewards.means[:k]
    )


@compiled(inline="always", allocates=False)
def cut_at(rewards, listed, z):
    """Return Theta with how far actions of a context can be ahead of each other on it."""
    k, pair, cut = listed.sizes[z, 0], listed.starts[z, 2], rewards.cut
    q = k if len(rewards.ceilings) else 0
    ceilings = rewards.ceilings[pair : pair + q * q].reshape((q, q))
    return Cut(cut.kind, cut.center, cut.radius, cut.facets, cut.bounds, ceilings)


@compiled(inline="always", allocates=False)
def contest_at(parts, listed, z):
    """Return the actions of a context as those that compete."""
    (k, m), r = listed.sizes[z], listed.seen.shape[1]
    first, row, end = listed.starts[z, 0], listed.starts[z, 1], listed.starts[z, 0] + k
    return Contest(
        parts.rewards.slopes[first:end],
        listed.offsets[first:end],
        listed.maps[row * r : (row + k * m) * r].reshape((k, m, r)),
        parts.firsts[first:end],
        parts.pareto[first:end],
        listed.regularization,
    )


@compiled(inline="always", allocates=False)
def parts_at(parts, listed, z):
    """Return what gaps and information need in a context."""
    k, first = listed.sizes[z, 0], listed.starts[z, 0]
    return Parts(
        parts.information,
        contest_at(parts, listed, z),
        Rivals(
            parts.counted[first : first + k], parts.rewards.limits[z], parts.chances, parts.noise
        ),
        rewards_at(parts.rewards, listed, z),
        cut_at(parts.rewards, listed, z),
        parts.rewards.body,
        parts.room,
        parts.weights,
        parts.squares,
        parts.other[:k],
    )

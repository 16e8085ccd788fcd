"""The vectors x_z that describe contexts to algorithms which learn in all of them together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.validation import Array, Indices, brief, real_array, set_fields

NEW = 1e-9
"""A vector has a part of its own if at least this fraction of it is left over by the others."""


def check_features(policy: Any) -> None:
    """Check the option ``features`` of a policy and keep it as rows of numbers."""
    if policy.features is not None:
        rows = real_array("features", policy.features, ("contexts", "q"))
        if rows.size == 0:
            raise InvalidInput(f"features must have entries; got shape {rows.shape}.")
        set_fields(policy, features=tuple(map(tuple, rows.tolist())))


def given_features(game: ContextualGame, features: ArrayLike | None) -> Array | None:
    """Return the option ``features`` as an array (contexts, q), if it has a row per context."""
    if features is None:
        return None
    rows = np.asarray(features, dtype=float)
    if len(rows) != len(game.contexts):
        raise InvalidInput(
            f"features must have one row for each of the {len(game.contexts)} contexts; got "
            f"{len(rows)}."
        )
    return rows


def features_of_maps(game: ContextualGame) -> Array:
    """Return vectors x_z in which the chances of all symbols are linear, shape (contexts, q).

    What action a shows in context z has the mean M_a^z theta, which is linear in the entries of
    the maps M^z; x_z are their coordinates in an orthonormal basis of their span, the longest one
    with length 1. The chances of all symbols of an action sum to 1, so 1 must be linear in x_z as
    well: if it is not, it becomes one more coordinate.
    """
    maps = game.observation_maps.reshape(len(game.contexts), -1)
    basis: list[Array] = []
    for row in maps:
        rest = row.copy()
        for _ in range(2):  # once more, against rounding
            for own in basis:
                rest -= (rest @ own) * own
        length = float(np.linalg.norm(rest))
        if length > NEW * max(float(np.linalg.norm(row)), 1.0):
            basis.append(rest / length)
    x = maps @ np.array(basis).T if basis else np.zeros((len(maps), 0))
    if basis:
        x /= np.linalg.norm(x, axis=1).max()
    one = np.ones(len(x))
    weights = np.linalg.lstsq(x, one, rcond=NEW)[0] if basis else np.zeros(0)
    if np.abs(x @ weights - one).max() > 1e-6:
        x = np.hstack([x, one[:, None]])
    return x


def listed_context(policy: Any, context: Indices | Any) -> Indices:
    """Return contexts (n,) by number; one that the game does not list is refused."""
    if context is None:
        raise InvalidInput("context must be given, the game has contexts.")
    if not isinstance(context, np.ndarray):
        name = type(policy).__name__
        raise InvalidInput(f"{name} plays the contexts that the game lists; got {brief(context)}.")
    return np.array(context, dtype=np.int64)

"""Alignment constants of a game with contexts near the plausible parameters (equations 34, 35)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring.analysis.alignment import PLAUSIBLE
from partial_monitoring.analysis.contextual.alignment import (
    contextual_alignment,
    integrated_alignment,
    possible_contexts,
)
from partial_monitoring.analysis.contextual.choices import NOTHING, UNSEEN, ContextualAlignment
from partial_monitoring.analysis.regions import plausible_actions
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.validation import Array

ROUNDED = 1 + 1e-12
"""Actions whose levels differ by rounding come in together."""


@dataclass(frozen=True, eq=False)
class Near:
    """What a set E of plausible parameters leaves of one context."""

    plausible: list[int]
    """P(E, z): one action of each duplicate class that is best somewhere in E."""
    levels: Array
    """By action: from which eta on it belongs to the extended set (E8), infinite for never."""


def contextual_local_alignment(
    game: ContextualGame, confidence: Any, *, integrated: bool = False
) -> ContextualAlignment:
    """Return alpha(E, chi) = inf over eta of eta^2 alpha_eta(E, chi), for plausible parameters E.

    Parameters
    ----------
    game
        The game.
    confidence
        The convex set E, as for :func:`partial_monitoring.local_alignment`.
    integrated
        Whether gaps are estimated over whole plans: alpha-bar(E, chi), which is never larger.

    Notes
    -----
    The extended set of a context has the actions whose largest gap is at most eta times that of a
    plausible one (E8). Where all plausible actions of a context tie on E, only those as good as
    they belong to it, whatever eta is. alpha_eta changes only where another action comes in.
    """
    near = {z: _near(game, z, confidence) for z in possible_contexts(game)}
    plausible = _by_context(game, {z: own.plausible for z, own in near.items()})
    if all(len(own) < 2 for own in plausible):
        return NOTHING
    constant = integrated_alignment if integrated else contextual_alignment

    def at(eta: float) -> ContextualAlignment:
        allowed = {z: np.flatnonzero(own.levels <= eta).tolist() for z, own in near.items()}
        return constant(game, plausible, _by_context(game, allowed))

    entries = np.concatenate([own.levels for own in near.values()])
    levels = np.unique(entries[np.isfinite(entries) & (entries > 0)])
    if np.isfinite(at(0.0)):
        return NOTHING  # what is as good as the best everywhere in E tells all, for every eta
    least = at(float(levels[-1]) * ROUNDED).lower if len(levels) else np.inf
    tried: list[tuple[float, ContextualAlignment]] = []
    best = np.inf
    for eta in levels * ROUNDED:
        if eta**2 * least >= best:
            break
        tried.append((float(eta), at(float(eta))))
        best = min(best, eta**2 * tried[-1][1])
    if not np.isfinite(best):
        return UNSEEN
    lower = min(eta**2 * found.lower for eta, found in tried)
    return ContextualAlignment(best, all(found.exact for _, found in tried), lower)


def _near(game: ContextualGame, z: int, confidence: Any) -> Near:
    plausible, gaps = plausible_actions(game.at(z), confidence)
    widest, spread = float(gaps[plausible].max(initial=0.0)), float(gaps.max())
    tied = gaps <= PLAUSIBLE * spread
    if widest <= PLAUSIBLE * spread:
        return Near(plausible, np.where(tied, 0.0, np.inf))
    return Near(plausible, np.where(tied, 0.0, gaps / widest))


def _by_context(game: ContextualGame, found: dict[int, list[int]]) -> Sequence[list[int]]:
    return [found.get(z, []) for z in range(len(game.games))]

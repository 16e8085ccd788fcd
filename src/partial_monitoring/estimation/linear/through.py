"""The design of another game over the same parameters, in the coordinates of a design."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.later import filled
from partial_monitoring.estimation.linear.design import (
    MOST_IN_COLUMNS,
    Design,
    checked_leverage,
    leverage_of,
)
from partial_monitoring.model.game import Game
from partial_monitoring.numerics import compiled
from partial_monitoring.numerics.linalg import in_basis
from partial_monitoring.validation import Array, Indices, frozen


class Blank(NamedTuple):
    """What designs of k actions with maps of m rows share, whatever their features."""

    ones: Array
    """Shape (k,)."""
    offsets: Array
    """Zeros (k,)."""
    expected: Array
    """Zeros (k, m)."""
    groups: Indices
    """[0, k]."""
    rivals: NDArray[np.bool_]
    """All of them, shape (1, k)."""
    none: NDArray[np.bool_]
    """Shape (k,)."""

    @classmethod
    def of(cls, k: int, m: int) -> Blank:
        numbers = frozen(np.ones(k)), frozen(np.zeros(k)), frozen(np.zeros((k, m)))
        masks = np.ones((1, k), dtype=bool), np.zeros(k, dtype=bool)
        return cls(*numbers, np.array([0, k]), *masks)


def through(whole: Design, game: Game) -> Design:
    """Return the design of another game over the same parameters, in the same coordinates.

    Noise of another size is brought to that of the given design. The last design is kept: a context
    that is not listed is decided in and then learned from.
    """
    last: tuple[Game, Design] | None = whole.kept.get("last")
    if last is None or last[0] is not game:
        whole.kept["last"] = last = game, _made(whole, game)
    return last[1]


def _blank(whole: Design, k: int, m: int) -> Blank:
    """Return what designs of as many actions and rows share; the last one is kept."""
    blank: Blank | None = whole.kept.get("blank")
    if blank is None or blank.expected.shape != (k, m):
        whole.kept["blank"] = blank = Blank.of(k, m)
    return blank


def _made(whole: Design, game: Game) -> Design:
    maps, slopes, noise = game.observation_maps, game.features, game.noise_std
    blank = _blank(whole, *maps.shape[:2])
    whitening = blank.ones
    if not (type(noise) is float and noise == whole.noise_std):
        whitening = frozen(whole.noise_std / np.full(len(maps), noise))
        maps = maps * whitening[:, None, None]
    offsets, expected = blank.offsets, blank.expected
    if not whole.central:
        offsets, expected = frozen(slopes @ whole.prior_mean), frozen(maps @ whole.prior_mean)
    if not (whole.identity and whole.rank == game.d):
        maps = in_basis(maps, whole.basis[:, : whole.rank])
        slopes = in_basis(slopes, whole.basis)
    seen = slopes if whole.rank == slopes.shape[1] else slopes[:, : whole.rank]
    seen, maps = frozen(np.ascontiguousarray(seen)), frozen(np.ascontiguousarray(maps))
    known: dict[str, Any] = {"observed_features": seen}
    if len(maps) > MOST_IN_COLUMNS:
        leverage = leverage_of(maps, whole.regularization)
    else:
        found = compiled.context_actions.facts(frozen(game.features), seen, maps)
        columns, largest, known["shows_own_reward"], same, apart = found
        leverage = checked_leverage(largest / whole.regularization)
        known["features_by_coordinate"] = columns
        if apart:
            known["rivals"] = blank.rivals
        if not same and whole.cut.whole and whole.basis.shape[1]:
            known["always_best"], known["dominant"] = blank.none, None
    made: Design = filled(
        Design,
        game=game,
        regularization=whole.regularization,
        norm_bound=whole.norm_bound,
        noise_std=whole.noise_std,
        prior_mean=whole.prior_mean,
        basis=whole.basis,
        rank=whole.rank,
        offsets=offsets,
        slopes=frozen(slopes),
        maps=maps,
        expected=expected,
        whitening=whitening,
        leverage=leverage,
        cut=whole.cut,
        groups=blank.groups,
        parts=(),
        reported=whole.reported,
        correlated=whole.correlated,
        forgetting=whole.forgetting,
        **known,  # what is computed when it is first read, otherwise
    )
    return made
